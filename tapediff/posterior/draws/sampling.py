"""Draws from a posterior by nutpie: its model, and the conversion of its results."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from ...adapters import nutpie
from ...adapters.shards import pickled
from ...base.wrapper import Wrapper
from ...errors import PosteriorError
from ...ir.instruction import Tree
from ...targets.guarded_tape import GuardedTape
from ..density import NamedDensity
from ..layout import Layout
from ..progress import with_progress
from ..signatures import arguments, as_dict
from ..transforms import Array, Shape
from .generated import draws_at_random
from .groups import complete_tree
from .metric import Metric, Whitened, laplace_metric


class Future(Protocol):
    """The future of a task."""

    def result(self) -> Any:
        """Return the task's result or raise its exception."""


class Executor(Protocol):
    """Runs tasks: concurrent.futures.Executor, dask.distributed.Client."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future:
        """Run fn(*args) in a worker."""
        ...


class Expanded(Wrapper):
    """The function from (u, data) to all numbers kept of a draw, concatenated: parameters, then generated quantities."""

    calls = "generated"

    def __init__(self, layout: Layout, generated: Tree, names: tuple[str, ...]) -> None:
        self.layout, self.generated, self.names = layout, generated, names

    def __call__(self, u: Array, data: Mapping[str, Tree]) -> Tree:
        kept = self.by_name(u, data)
        return np.concatenate([np.ravel(value) for value in kept.values()])

    def by_name(self, u: Array, data: Mapping[str, Tree]) -> dict[str, Tree]:
        """The same numbers as a dict by name."""
        values = self.layout.constrain(u)[0]
        if self.generated is None:
            return dict(values)
        given = {**values, **data}
        return {**values, **as_dict(self.generated(**{name: given[name] for name in self.names}))}


def nutpie_model(posterior: NamedDensity, metric: Metric | None = None) -> Tree:
    """The model for `nutpie.sample`: named draws, with coordinates, by compiled functions only."""
    generated = None if draws_at_random(posterior) else posterior.generated  # random ones are called afterwards
    names = () if generated is None else tuple(sorted(arguments(generated, {*posterior.shapes, *posterior.data})))
    expanded = Expanded(posterior.layout, generated, names)
    start, data = posterior.example_point(), posterior.constants
    example = expanded.by_name(start, posterior.data)
    shapes: dict[str, Shape] = {name: np.shape(value) for name, value in example.items()}
    unknown = posterior.dims.keys() - shapes.keys() - posterior.data.keys()
    if unknown and not draws_at_random(posterior) and not callable(posterior.pointwise):
        what = f"dims names {', '.join(sorted(unknown))}, and draws have {', '.join(shapes)}"
        raise PosteriorError(what, got=unknown, fix="the names that generated returns")
    tape = GuardedTape(expanded, name="draws")
    density, expand = posterior.c_function(), tape.c_function("value", start, data)
    if metric is not None:
        density, expand = Whitened(density, metric), Whitened(expand, metric)
    return nutpie.model(
        density, expand=expand, shapes=shapes, coords=posterior.coords,
        dims={name: dims for name, dims in posterior.dims.items() if name in shapes},
    )  # fmt: skip


def sample(
    posterior: NamedDensity, draws: int, chains: int, tune: int, seed: int | None, options: Mapping[str, Tree]
) -> Tree:
    """nutpie's draws, with random generated quantities, log likelihoods and the data in ArviZ's groups."""
    metric, options = _metric(posterior, **options)
    trace = nutpie.sample(nutpie_model(posterior, metric), draws=draws, chains=chains, tune=tune, seed=seed, **options)
    complete_tree(posterior, trace, seed)
    return trace


def _metric(
    posterior: NamedDensity, metric: str | None = None, random: str | Sequence[str] = (), **options: Tree
) -> tuple[Metric | None, dict[str, Tree]]:
    """The metric that options ask for, and the options of nutpie."""
    names = (random,) if isinstance(random, str) else tuple(random)
    if metric not in (None, "laplace") or (names and metric is None):
        what = "metric is None, for nutpie's diagonal one, or 'laplace', which takes random="
        raise PosteriorError(what, got=metric, fix="metric='laplace'")
    return (None if metric is None else laplace_metric(posterior, names, 0)), options


def sample_by_tasks(
    posterior: NamedDensity, draws: int, chains: int, tune: int, seed: int | None, options: Mapping[str, Tree], executor: Executor
) -> Tree:  # fmt: skip
    """Run each chain as a task; join the chains in one trace."""
    seeds = np.random.SeedSequence(seed).generate_state(chains)
    sent, of_nutpie = pickled((posterior, draws, tune)), {"cores": 1, "progress_bar": False, **options}
    futures = [executor.submit(_chain, sent, of_nutpie, int(of_chain)) for of_chain in seeds]
    shown = with_progress(futures, chains, "chains") if options.get("progress_bar", True) else futures
    traces = [future.result() for future in shown]
    return _joined(traces)


def _joined(traces: Sequence[Tree]) -> Tree:
    """Join the chains in one trace: ArviZ 0.x has a function for its own trees, 1.0 uses xarray's."""
    concat = getattr(import_module("arviz"), "concat", None)
    if concat is not None:
        return concat(*traces, dim="chain")
    xarray = import_module("xarray")
    groups: dict[str, Tree] = {}
    for name in traces[0].children:
        parts = [trace[name].to_dataset() for trace in traces]
        if "chain" in parts[0].dims:
            numbered = [part.assign_coords(chain=[k]) for k, part in enumerate(parts)]
            parts[0] = xarray.concat(numbered, dim="chain", combine_attrs="override", join="outer")
        groups[name] = parts[0]
    return xarray.DataTree.from_dict(groups)


def _chain(sent: bytes, options: Mapping[str, Tree], seed: int) -> Tree:
    """Run one chain in a worker."""
    posterior, draws, tune = pickle.loads(sent)
    return sample(posterior, draws, 1, tune, seed, options)
