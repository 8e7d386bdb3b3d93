"""Groups of draws, as ArviZ has them: by name, with chains and draws as first axes; to trees of ArviZ, from these, and to files.

Tried with ArviZ 0.23, whose trees are arviz.InferenceData, and 1.3, where they are xarray.DataTree.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import numpy as np

from ...errors import PosteriorError
from ...ir.instruction import Tree
from ..density import NamedDensity
from ..transforms import Array
from .generated import draws_at_random, generate, leading_axes, log_likelihood, sample_prior

Group = dict[str, Array]
# The groups that are read from trees and files. All but the observed data begin with chains and draws.
GROUPS = ("posterior", "sample_stats", "log_likelihood", "posterior_predictive", "prior", "prior_predictive", "observed_data")
# In front of the names in a file.
FORMAT = "tapediff-draws-1"


@dataclass(frozen=True, eq=False)
class Draws(Mapping[str, Array]):
    """Draws with what belongs to them; a mapping from the names of parameters and generated quantities to arrays.

    Attributes:
        groups: arrays of shape (chains, draws, ...) by group and name; `observed_data` without these axes. The groups are ArviZ's:
            posterior, sample_stats, log_likelihood, posterior_predictive, prior, prior_predictive, observed_data.
    """

    groups: dict[str, Group] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Array:
        return self.groups["posterior"][name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.groups["posterior"])

    def __len__(self) -> int:
        return len(self.groups["posterior"])

    def __repr__(self) -> str:
        chains, draws = next(iter(self.values())).shape[:2]
        groups = "; ".join(f"{group}: {', '.join(found)}" for group, found in self.groups.items())
        return f"<Draws: {chains} chains of {draws}; {groups}>"


def as_draws(posterior: NamedDensity, given: Tree) -> Draws:
    """Draws by name, of shape (chains, draws, ...) or (draws, ...), or a tree of ArviZ, as `Draws` of this posterior.

    Raises:
        PosteriorError: a parameter is missing, or has another shape; numbers of chains and draws differ.
    """
    if isinstance(given, Draws):
        groups = given.groups
    elif hasattr(given, "posterior"):
        groups = {group: _arrays(given[group]) for group in GROUPS if group in _names(given)}
    elif isinstance(given, Mapping):
        groups = {"posterior": {name: np.asarray(values) for name, values in given.items()}}
    else:
        fix = "what post.sample(), post.load_draws(...) or post.laplace().sample() returns"
        raise PosteriorError("draws are a dict of arrays, or a tree of ArviZ", got=type(given).__name__, fix=fix)
    lead = leading_axes(posterior, groups["posterior"])
    if len(lead) not in (1, 2):
        raise PosteriorError("draws have one axis, or two: of chains and draws", got=f"leading axes {lead}", fix="reshape them")
    wrong = {name for name, values in groups["posterior"].items() if values.shape[: len(lead)] != lead}
    if wrong:
        raise PosteriorError(f"some draws do not begin with the axes {lead} of the others", got=wrong, fix="leave them out")
    if len(lead) == 1:
        groups = {**groups, "posterior": {name: values[None] for name, values in groups["posterior"].items()}}
    return Draws(groups)


def _names(tree: Tree) -> list[str]:
    """The groups of a tree: by a method in ArviZ 0.x, a property with slashes in xarray."""
    return list(tree.children) if hasattr(tree, "children") else list(tree.groups())


def _arrays(dataset: Tree) -> Group:
    """The arrays of a group; columns of Python objects, as in nutpie's statistics, are left out."""
    lead = [dim for dim in ("chain", "draw") if dim in dataset.dims]
    found = {name: dataset[name] for name in dataset.data_vars}
    ordered = {name: array.transpose(*(dim for dim in lead if dim in array.dims), ...) for name, array in found.items()}
    return {str(name): np.asarray(array.values) for name, array in ordered.items() if not array.dtype.hasobject}


def of_present_data(posterior: NamedDensity, given: Tree) -> Draws:
    """`as_draws`; a PosteriorError if the observed data that they have are not the present ones."""
    draws, here = as_draws(posterior, given), posterior.data
    there = draws.groups.get("observed_data", {})
    pairs = {name: (np.asarray(here[name]), there[name]) for name in there.keys() & here.keys()}
    changed = {name for name, (x, y) in pairs.items() if x.shape != y.shape or np.any((x != y) & ((x == x) | (y == y)))}  # NaN is NaN
    if changed:
        fix = "draw again after set_data; or set_data to what these draws were made with"
        raise PosteriorError("the draws were made with other data", got=changed, fix=fix)
    return draws


def complete(posterior: NamedDensity, given: Tree, prior: int, seed: int | None) -> Draws:
    """Add what is missing: generated quantities, replicated data, log likelihoods, draws of the prior, the data that these belong to."""
    draws = of_present_data(posterior, given)
    groups = {name: dict(group) for name, group in draws.groups.items()}
    kept = groups["posterior"]
    if posterior.generated is not None and not kept.keys() - posterior.shapes.keys() and "posterior_predictive" not in groups:
        kept.update(generate(posterior, draws, seed))
    pointwise = () if posterior.pointwise is None or callable(posterior.pointwise) else posterior.pointwise
    if posterior.pointwise is not None and "log_likelihood" not in groups:
        are_kept = pointwise and kept.keys() >= set(pointwise)
        groups["log_likelihood"] = {n: kept[n] for n in pointwise} if are_kept else log_likelihood(posterior, draws)
    if prior:
        drawn = {name: values[None] for name, values in sample_prior(posterior, prior, seed).items()}
        groups["prior"] = {name: values for name, values in drawn.items() if name not in pointwise}
    for group, predictive in (("posterior", "posterior_predictive"), ("prior", "prior_predictive")):
        here = groups.get(group, {})
        moved = {name: here.pop(name) for name in [*here] if draws_at_random(posterior) and name in posterior.data}
        if moved:
            groups[predictive] = {**groups.get(predictive, {}), **moved}
    groups["posterior"] = {name: values for name, values in kept.items() if name not in pointwise}
    belongs = {name for group in ("posterior_predictive", "prior_predictive", "log_likelihood") for name in groups.get(group, {})}
    if "observed_data" not in groups:
        groups["observed_data"] = {name: np.asarray(value) for name, value in posterior.data.items() if name in belongs}
    return Draws({name: group for name, group in groups.items() if group})


# Trees of ArviZ


def to_arviz(posterior: NamedDensity, groups: Mapping[str, Group]) -> Tree:
    """A tree of ArviZ with these groups."""
    arviz, datasets = import_module("arviz"), {name: dataset(posterior, name, group) for name, group in groups.items()}
    if "InferenceData" in vars(arviz):
        return arviz.InferenceData(**datasets)
    return import_module("xarray").DataTree.from_dict(datasets)


def complete_tree(posterior: NamedDensity, tree: Tree, seed: int | None) -> None:
    """Add what `complete` adds to a sampler's tree, and take out of its posterior what belongs to other groups."""
    before = as_draws(posterior, tree)
    after = complete(posterior, before, 0, seed).groups
    for name in before.keys() - after["posterior"].keys():
        del tree.posterior[name]
    for name, array in dataset(posterior, "posterior", {n: x for n, x in after["posterior"].items() if n not in before}).items():
        tree.posterior[name] = array
    for name in after.keys() - before.groups.keys():
        made = dataset(posterior, name, after[name])
        if hasattr(tree, "add_groups"):  # ArviZ's own trees, up to 0.x
            tree.add_groups({name: made})
        else:
            tree[name] = import_module("xarray").DataTree(made)


def dataset(posterior: NamedDensity, group: str, arrays: Mapping[str, Array]) -> Tree:
    """An xarray.Dataset with dimensions and coordinates by name."""
    xarray, lead, found = import_module("xarray"), () if group == "observed_data" else ("chain", "draw"), {}
    for name, values in arrays.items():
        axes, labels = labels_of(posterior, name, values.shape[len(lead) :])
        coords = {dim: np.arange(n) for dim, n in zip(lead, values.shape)} | {dim: entries for dim, entries in labels.items() if entries}
        found[name] = xarray.DataArray(values, coords, (*lead, *axes))
    return xarray.Dataset(found)


def labels_of(posterior: NamedDensity, name: str, shape: tuple[int, ...]) -> tuple[tuple[str, ...], dict[str, list[Tree]]]:
    """The dimensions of a value, and the names of the entries along each; numbers where a new length has outgrown counted ones.

    Raises:
        PosteriorError: the names of dimensions, or of the entries along them, do not fit the shape.
    """
    axes = posterior.dims.get(name, tuple(f"{name}_dim_{k}" for k in range(len(shape))))
    if len(axes) != len(shape):
        raise PosteriorError(f"{name!r} has {len(shape)} axes", got=f"dims {axes}", fix=f"dims={{{name!r}: ...}}, a name for each")
    labels: dict[str, list[Tree]] = {}
    for dim, length in zip(axes, shape):
        labels[dim] = list(posterior.coords.get(dim, ()))
        if labels[dim] == list(range(len(labels[dim]))):
            labels[dim] = list(range(length)) if dim in posterior.coords else []
        if labels[dim] and len(labels[dim]) != length:
            fix = f"post.coords[{dim!r}] = the {length} names"
            raise PosteriorError(f"{name!r} has {length} entries along {dim!r}", got=f"{len(labels[dim])} names in coords", fix=fix)
    return axes, labels


# Files


def save_draws(draws: Draws, path: str | os.PathLike[str]) -> None:
    """Write draws to an npz file, without pickle; an interrupted write leaves the old file."""
    target = Path(path)
    arrays: dict[str, Tree] = {f"{group}/{name}": values for group, found in draws.groups.items() for name, values in found.items()}
    objects = {name for name, values in arrays.items() if values.dtype.hasobject}
    if objects:
        raise PosteriorError("draws of Python objects cannot be written without pickle", got=objects, fix="arrays of numbers or strings")
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            np.savez_compressed(file, format=np.array(FORMAT), **arrays)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def load_draws(posterior: NamedDensity, path: str | os.PathLike[str]) -> Draws:
    """Read what `save_draws` wrote; checks that the parameters are this posterior's."""
    with np.load(path, allow_pickle=False) as file:
        if "format" not in file.files or str(file["format"]) != FORMAT:
            raise PosteriorError(f"{path} holds no draws of tapediff", got=set(file.files), fix="a file of post.save_draws(...)")
        groups: dict[str, Group] = {}
        for key in file.files:
            group, slash, name = key.partition("/")
            if slash:
                groups.setdefault(group, {})[name] = file[key]
    return as_draws(posterior, Draws(groups))
