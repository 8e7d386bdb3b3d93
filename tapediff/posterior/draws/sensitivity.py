"""Derivatives of posterior means by hyperparameters, from draws.

The derivative of E[q | data, h] by h is the posterior covariance of q with the derivative of the log density by h; terms without
parameters, as normalising constants, drop out.

Source: Gustafson (1996), Annals of Statistics 24(1); Giordano, Broderick and Jordan (2018), J. Machine Learning Research 19(51).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...base.wrapper import Wrapper
from ...errors import PosteriorError
from ...ir.arguments import Constant
from ...ir.instruction import Tree, UserFunction
from ...targets.guarded_tape import GuardedTape
from ..density import NamedDensity
from ..progress import with_progress
from ..signatures import arguments
from ..transforms import Array
from . import diagnostics
from .groups import Draws
from .summary import Table, flat, row_names


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Derivatives of posterior means by hyperparameters; prints as a table, with the change by 10 % of each in standard deviations.

    Attributes:
        derivatives: by hyperparameter, then by quantity: `derivatives["scale"]["z"]` has the shape of z, followed by that of scale.
        errors: their Monte Carlo standard errors, likewise.
        table: a row for each number and hyperparameter.
    """

    derivatives: dict[str, dict[str, Array]]
    errors: dict[str, dict[str, Array]]
    table: Table

    def __str__(self) -> str:
        return str(self.table)


def sensitivity(posterior: NamedDensity, draws: Draws, names: Sequence[str]) -> Sensitivity:
    """The covariances of all quantities with the derivatives of the log density by these data."""
    hyper = {name: _as_hyperparameter(posterior, name) for name in names}
    if not hyper:
        raise PosteriorError("no hyperparameters", got="no names", fix=f"some of the data: {', '.join(posterior.data)}")
    depends = hyper.keys() & (set() if posterior.generated is None else arguments(posterior.generated, set(hyper)))
    kept = [name for name in draws if name in posterior.shapes or not depends]  # what generated makes of h has a derivative of its own
    rows, q = flat(posterior, draws, kept)
    slopes = _slopes(posterior, draws, hyper)
    ends = np.cumsum([int(np.prod(draws[name].shape[2:])) for name in kept])[:-1]
    sd, q_centred = np.std(q, axis=(0, 1), ddof=1), q - np.mean(q, axis=(0, 1))
    found: tuple[dict[str, dict[str, Array]], ...] = {}, {}
    labels: list[str] = []
    columns: dict[str, list[Array]] = {"derivative": [], "error": [], "sd per 10%": []}
    for name, value in hyper.items():
        g = slopes[name].reshape(*q.shape[:2], -1)
        products = [q_centred * column[..., None] for column in np.moveaxis(g - np.mean(g, axis=(0, 1)), 2, 0)]
        slope = np.stack([np.sum(p, axis=(0, 1)) for p in products], axis=-1) / (q.shape[0] * q.shape[1] - 1)
        error = np.stack([diagnostics.mean_error(p) for p in products], axis=-1)
        for by_name, numbers in zip(found, (slope, error)):
            parts = zip(kept, np.split(numbers, ends))
            by_name[name] = {key: part.reshape((*draws[key].shape[2:], *value.shape)) for key, part in parts}
        labels += [f"{row} by {of}" for row in rows for of in row_names(posterior, name, value.shape)]
        relative = _relative(slope, value, sd)
        for column, numbers in zip(columns.values(), (slope, error, relative)):
            column.append(numbers.ravel())
    return Sensitivity(*found, Table(tuple(labels), {name: np.concatenate(parts) for name, parts in columns.items()}))


@np.errstate(invalid="ignore", divide="ignore")
def _relative(slope: Array, value: Array, sd: Array) -> Array:
    """The effect of a tenth of the value, in standard deviations."""
    return 0.1 * slope * value.ravel() / sd[:, None]


def _as_hyperparameter(posterior: NamedDensity, name: str) -> Array:
    """The value of data as an array of floats.

    Raises:
        PosteriorError: there are no such data, or they are no real numbers.
    """
    if name not in posterior.data:
        what = f"{name} is not among the data, as a hyperparameter has to be"
        raise PosteriorError(what, got=set(posterior.data), fix=f"data={{{name!r}: ...}}")
    value = posterior.data[name]
    array = np.asarray(value)
    if array.dtype.kind != "f" and type(value) is not int:
        got = f"{type(value).__name__} of {array.dtype}"
        raise PosteriorError(f"{name} has no derivatives", got=got, fix="a number, or an array of floats")
    return array.astype(np.float64)


def _slopes(posterior: NamedDensity, draws: Draws, hyper: Mapping[str, Array]) -> dict[str, Array]:
    """The derivatives of the log density by the hyperparameters at each draw, (chains, draws, ...)."""
    data = {name: value for name, value in posterior.data.items() if name not in hyper}
    tape = GuardedTape(_OfHyperparameters(posterior.function), name="log_density", on_new_tape="interpret")
    lead = draws[next(iter(posterior.shapes))].shape[:2]
    count = lead[0] * lead[1]
    rows = {name: draws[name].reshape(count, *shape) for name, shape in posterior.shapes.items()}
    found = [
        tape.value_and_gradient(dict(hyper), Constant({"values": {n: row[k] for n, row in rows.items()}, "data": data}))[1]
        for k in with_progress(range(count), count, "sensitivity")
    ]
    return {name: np.array([gradient[name] for gradient in found]).reshape(*lead, *value.shape) for name, value in hyper.items()}


class _OfHyperparameters(Wrapper):
    """The recorded function of (hyperparameters, parameters and other data)."""

    calls = "function"

    def __init__(self, function: UserFunction) -> None:
        self.function = function

    def __call__(self, hyper: Mapping[str, Tree], given: Mapping[str, Mapping[str, Tree]]) -> Tree:
        return self.function(**hyper, **given["values"], **given["data"])
