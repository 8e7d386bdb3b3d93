"""Draws from a posterior by nutpie: its model, and the conversion of its results."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from ..adapters import nutpie
from ..adapters.shards import pickled
from ..base.wrapper import Wrapper
from ..ir.instruction import Tree
from ..targets.guarded_tape import GuardedTape
from .density import NamedDensity
from .generated import as_dict, generate
from .layout import Layout
from .progress import with_progress
from .signatures import arguments, random_argument
from .transforms import Array, Shape


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


def nutpie_model(posterior: NamedDensity) -> Tree:
    """The model for `nutpie.sample`: named draws, with coordinates, by compiled functions only."""
    generated = None if draws_at_random(posterior) else posterior.generated  # random ones are called afterwards
    names = () if generated is None else tuple(sorted(arguments(generated, {*posterior.shapes, *posterior.data})))
    expanded = Expanded(posterior.layout, generated, names)
    start, data = posterior.example_point(), posterior.constants
    example = expanded.by_name(start, posterior.data)
    shapes: dict[str, Shape] = {name: np.shape(value) for name, value in example.items()}
    unknown = posterior.dims.keys() - shapes.keys()
    if unknown and not draws_at_random(posterior):
        fix = "fix: the names that generated returns"
        raise ValueError(f"dims names {', '.join(sorted(unknown))}, and draws have {', '.join(shapes)}; {fix}")
    tape = GuardedTape(expanded, name="draws")
    return nutpie.model(
        posterior.c_function(), expand=tape.c_function("value", start, data), shapes=shapes, coords=posterior.coords,
        dims={name: dims for name, dims in posterior.dims.items() if name in shapes},
    )  # fmt: skip


def sample(
    posterior: NamedDensity, draws: int, chains: int, tune: int, seed: int | None, options: Mapping[str, Tree]
) -> Tree:
    """nutpie's draws, and the random generated quantities."""
    trace = nutpie.sample(nutpie_model(posterior), draws=draws, chains=chains, tune=tune, seed=seed, **options)
    if draws_at_random(posterior):
        of_parameters = {name: np.asarray(trace.posterior[name].values) for name in posterior.shapes}
        predicted: dict[str, Tree] = {}
        for name, values in generate(posterior, of_parameters, seed).items():
            found = _labelled(posterior, name, values, ("chain", "draw"))
            if name in posterior.data:
                predicted[name] = found
            else:
                trace.posterior[name] = found
        if predicted:
            _add_predictions(trace, posterior, predicted)
    return trace


def draws_at_random(posterior: NamedDensity) -> bool:
    """True if `generated` draws at random, so that its results are not a function of the parameters alone."""
    names = {*posterior.shapes, *posterior.data}
    return posterior.generated is not None and random_argument(posterior.generated, names) is not None


def _labelled(posterior: NamedDensity, name: str, values: Array, lead: tuple[str, ...]) -> Tree:
    """An xarray.DataArray with the dimensions and coordinates of this name."""
    axes = posterior.dims.get(name, tuple(f"{name}_dim_{k}" for k in range(values.ndim - len(lead))))
    coords = {dim: list(posterior.coords[dim]) for dim in axes if dim in posterior.coords}
    return import_module("xarray").DataArray(values, coords, (*lead, *axes))


def _add_predictions(trace: Tree, posterior: NamedDensity, predicted: dict[str, Tree]) -> None:
    """Add quantities with the names of data to ArviZ's group for replicated data, and the data to theirs, as its plots expect."""
    xarray = import_module("xarray")
    observed = {name: _labelled(posterior, name, np.asarray(posterior.data[name]), ()) for name in predicted}
    for group, contents in (("posterior_predictive", predicted), ("observed_data", observed)):
        dataset = xarray.Dataset(contents)
        if hasattr(trace, "add_groups"):  # ArviZ's own trees, up to 0.x
            trace.add_groups({group: dataset})
        else:
            trace[group] = xarray.DataTree(dataset)


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
        parts = [trace[name].to_dataset().assign_coords(chain=[k]) for k, trace in enumerate(traces)]
        groups[name] = xarray.concat(parts, dim="chain", combine_attrs="override", join="outer")
    return xarray.DataTree.from_dict(groups)


def _chain(sent: bytes, options: Mapping[str, Tree], seed: int) -> Tree:
    """Run one chain in a worker."""
    posterior, draws, tune = pickle.loads(sent)
    return sample(posterior, draws, 1, tune, seed, options)
