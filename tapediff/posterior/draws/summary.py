"""A table of draws: moments, quantiles, errors, effective sizes, R-hat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import PosteriorError
from ..density import NamedDensity
from ..transforms import Array
from . import diagnostics
from .groups import Draws, labels_of

# The formats of these columns.
FORMATS = {"ess_bulk": ".0f", "ess_tail": ".0f", "r_hat": ".3f", "unreliable": ".0f"}


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers in rows and columns with names; prints as a table. `table["tau"]["r_hat"]` is one entry.

    Attributes:
        names: of the rows, such as "mu" and "z[A]", with the names that coords has.
        columns: arrays by name, with an entry for each row.
    """

    names: tuple[str, ...]
    columns: dict[str, Array]

    def __getitem__(self, name: str) -> dict[str, float]:
        if name not in self.names:
            raise KeyError(name)
        return {column: float(values[self.names.index(name)]) for column, values in self.columns.items()}

    def __str__(self) -> str:
        cells = [["", *self.names], *([c, *(f"{x:{FORMATS.get(c, '.3g')}}" for x in values)] for c, values in self.columns.items())]
        widths = [max(map(len, column)) for column in cells]
        rows = ([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in zip(*cells))
        return "\n".join("  ".join(row) for row in rows)


@np.errstate(invalid="ignore")
def summarise(posterior: NamedDensity, draws: Draws, quantiles: Sequence[float], names: Sequence[str] | None) -> Table:
    """Moments, quantiles, errors and effective sizes of every number."""
    if not all(0.0 <= q <= 1.0 for q in quantiles):
        raise PosteriorError("quantiles are between 0 and 1", got=quantiles, fix="quantiles=(0.05, 0.5, 0.95)")
    rows, x = flat(posterior, draws, names)
    # a draw that is not finite has a row of NaN
    levels = zip(quantiles, np.quantile(x, list(quantiles), axis=(0, 1)))
    columns = {
        "mean": np.mean(x, axis=(0, 1)), "sd": np.std(x, axis=(0, 1), ddof=1), **{f"{100 * q:.10g}%": level for q, level in levels},
        "mcse_mean": diagnostics.mean_error(x), "mcse_sd": diagnostics.sd_error(x),
        "ess_bulk": diagnostics.bulk_size(x), "ess_tail": diagnostics.tail_size(x), "r_hat": diagnostics.r_hat(x),
    }  # fmt: skip
    return Table(tuple(rows), columns)


def flat(posterior: NamedDensity, draws: Draws, names: Sequence[str] | None = None) -> tuple[list[str], Array]:
    """The names of all numbers, and these with the shape (chains, draws, numbers)."""
    wanted = list(draws) if names is None else [names] if isinstance(names, str) else list(names)
    if not wanted or not set(wanted) <= set(draws):
        raise PosteriorError("no draws of these names", got=", ".join(wanted), fix=f"names= some of {', '.join(draws)}")
    lead = draws[wanted[0]].shape[:2]
    if lead[1] < diagnostics.FEWEST:
        raise PosteriorError(f"chains need at least {diagnostics.FEWEST} draws", got=f"(chains, draws) = {lead}", fix="draw more")
    rows = [label for name in wanted for label in row_names(posterior, name, draws[name].shape[2:])]
    return rows, np.concatenate([draws[name].reshape(*lead, -1) for name in wanted], axis=2).astype(np.float64)


def row_names(posterior: NamedDensity, name: str, shape: tuple[int, ...]) -> list[str]:
    """`z[A]` for each entry, by the names of coords, or numbered from 0."""
    axes, labels = labels_of(posterior, name, shape)
    entries = [labels[dim] or list(range(n)) for dim, n in zip(axes, shape)]
    return [f"{name}[{', '.join(str(e[k]) for e, k in zip(entries, index))}]" if index else name for index in np.ndindex(shape)]
