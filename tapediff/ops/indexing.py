"""Reading, assembling and replacing parts of arrays.

Basic indexing is a `Region`: start, step and count per axis, and the shape that the selected box is read with. Every other
index is turned into an integer array of positions in the flattened array.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..instruction import ValueType
from .declaration import Op


class Region(NamedTuple):
    """A strided box of an array: per axis the first position, the step and the count, and the shape it is read with."""

    starts: tuple[int, ...]
    steps: tuple[int, ...]
    counts: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def slices(self) -> tuple[slice, ...]:
        result = []
        for start, step, count in zip(self.starts, self.steps, self.counts):
            stop = start + step * count
            result.append(slice(start, stop if stop >= 0 else None, step))
        return tuple(result)


# Boxes of a 5 by 9 array, and the halves of a 2 by 9 one, for the tests.
_REGIONS = (
    Region((0, 0), (1, 1), (5, 9), (5, 9)), Region((1, 8), (2, -1), (2, 9), (2, 9)), Region((3, 2), (1, 1), (1, 1), ()),
    Region((4, 1), (1, 3), (1, 3), (3,)), Region((4, 1), (-2, 1), (3, 1), (3, 1, 1)), Region((0, 0), (1, 1), (0, 9), (0, 9)),
)  # fmt: skip
_HALVES = (Region((1, 0), (1, 1), (1, 9), (9,)), Region((0, 0), (1, 1), (1, 9), (1, 9)))


def _index(x: Any, region: Region) -> Any:
    box = np.asarray(x)[region.slices]
    return box.reshape(region.shape)[()] if region.shape == () else box.reshape(region.shape)


INDEX = Op(
    "index",
    evaluate=_index,
    infer=lambda x, region: ValueType(region.shape, x.dtype),
    vjp=(lambda z_bar, z, x, region: Part(z_bar, region),),
    params=("region",),
    lower=lambda low, i: low.index(i),
    promote=(),
    floats_only=False,
    linear=True,
    masks=True,
    examples=lambda rng: [(lambda x, r=region: INDEX(x, region=r), (rng.normal(size=(5, 9)),)) for region in _REGIONS],
)


class Part(NamedTuple):
    """A cotangent that concerns one region only; `reverse` gathers all parts of a value into one `assemble`."""

    z_bar: Any
    region: Region


def _assemble(*parts_and_params: Any) -> Any:
    *parts, regions, shape, disjoint = parts_and_params
    dtype = np.result_type(*parts)
    out = np.zeros(shape, dtype)
    for part, region in zip(parts, regions):
        box = np.reshape(part, region.counts)
        if disjoint:
            out[region.slices] = box
        else:
            out[region.slices] += box
    return out


ASSEMBLE = Op(
    "assemble",
    evaluate=_assemble,
    infer=lambda *parts, regions, shape, disjoint: ValueType(shape, parts[0].dtype),
    vjp=lambda z_bar, z, *parts, regions, shape, disjoint: [INDEX(z_bar, region=r) for r in regions],
    params=("regions", "shape", "disjoint"),
    lower=lambda low, i: low.assemble(i),
    floats_only=False,
    linear=True,
    examples=lambda rng: [
        (
            lambda *parts: assemble(list(parts), list(_REGIONS), (5, 9)),
            tuple(rng.normal(size=r.shape) for r in _REGIONS),
        ),
        (lambda x, y: assemble([x, y], list(_HALVES), (2, 9)), (rng.normal(size=9), rng.normal(size=(1, 9)))),
    ],
)


def assemble(parts: list[Any], regions: list[Region], shape: tuple[int, ...]) -> Any:
    """Zeros of `shape` with every part added into its region."""
    return ASSEMBLE(*parts, regions=tuple(regions), shape=shape, disjoint=are_disjoint(regions, shape))


def are_disjoint(regions: list[Region], shape: tuple[int, ...]) -> bool:
    if len(regions) == 1:
        return True
    times = np.zeros(shape, np.uint8)
    for region in regions:
        box = times[(*region.slices, ...)]  # the ellipsis keeps a 0-d box an array
        if box.any():
            return False
        box[...] = 1
    return True


def _replace(x: Any, v: Any, region: Region) -> Any:
    out = np.array(x)
    out[region.slices] = np.reshape(v, region.counts)
    return out


REPLACE = Op(
    "replace",
    evaluate=_replace,
    infer=lambda x, v, region: ValueType(x.shape, x.dtype),
    vjp=(
        lambda z_bar, z, x, v, region: REPLACE(z_bar, np.zeros(region.shape), region=region),
        lambda z_bar, z, x, v, region: INDEX(z_bar, region=region),
    ),
    params=("region",),
    lower=lambda low, i: low.replace(i),
    floats_only=False,
    linear=True,
    masks=True,
    examples=lambda rng: [
        (lambda x, v, r=region: REPLACE(x, v, region=r), (rng.normal(size=(5, 9)), rng.normal(size=region.shape)))
        for region in _REGIONS
    ],
)

GATHER = Op(
    "gather",
    evaluate=lambda x, positions: np.ravel(x)[positions],
    infer=lambda x, positions: ValueType(positions.shape, x.dtype),
    vjp=(lambda z_bar, z, x, positions: SCATTER_ADD(z_bar, positions, shape=x.shape), None),
    lower=lambda low, i: low.gather(i),
    promote=(),
    floats_only=False,
    linear=True,
    masks=True,
    examples=lambda rng: [
        (GATHER, (rng.normal(size=(3, 5)), rng.integers(0, 15, shape))) for shape in ((), (1,), (9,), (4, 6), (0,))
    ],
)


def _scatter_add(v: Any, positions: Any, shape: tuple[int, ...]) -> Any:
    size = int(np.prod(shape))
    sums = np.bincount(np.ravel(positions), np.ravel(v), size) if size else np.zeros(0)
    return sums.astype(np.asarray(v).dtype, copy=False).reshape(shape)


SCATTER_ADD = Op(
    "scatter_add",
    evaluate=_scatter_add,
    infer=lambda v, positions, shape: ValueType(shape, v.dtype),
    vjp=(lambda z_bar, z, v, positions, shape: GATHER(z_bar, positions), None),
    params=("shape",),
    lower=lambda low, i: low.scatter_add(i),
    promote=(),
    floats_only=False,
    linear=True,
    examples=lambda rng: [
        (lambda v, k: SCATTER_ADD(v, k, shape=(3, 5)), (rng.normal(size=shape), rng.integers(0, 15, shape)))
        for shape in ((), (1,), (9,), (4, 6), (0,))
    ],
)


def _put(x: Any, v: Any, positions: Any) -> Any:
    out = np.array(x)
    out.reshape(-1)[positions] = v
    return out


def _put_values_rule(z_bar: Any, z: Any, x: Any, v: Any, positions: Any) -> Any:
    """Where positions repeat, only the entry written last received its value and so the cotangent."""
    order = np.arange(int(np.prod(positions.shape)), dtype=np.float64).reshape(positions.shape)
    last = GATHER(PUT(np.zeros(x.shape), order, positions), positions)
    return GATHER(z_bar, positions) * np.where(np.equal(last, order), 1.0, 0.0)


PUT = Op(
    "put",
    evaluate=_put,
    infer=lambda x, v, positions: ValueType(x.shape, x.dtype),
    vjp=(
        lambda z_bar, z, x, v, positions: PUT(z_bar, np.zeros(positions.shape), positions),
        _put_values_rule,
        None,
    ),
    lower=lambda low, i: low.put(i),
    promote=(0, 1),
    floats_only=False,
    linear=True,
    masks=True,
    examples=lambda rng: [
        (PUT, (rng.normal(size=(3, 5)), rng.normal(size=shape), rng.integers(0, 15, shape)))
        for shape in ((), (1,), (9,), (4, 6), (0,))
    ],
)

ARGSORT = Op(
    "argsort",
    evaluate=lambda x, axis: np.argsort(x, axis=axis, kind="stable"),
    infer=lambda x, axis: ValueType(x.shape, np.dtype(np.int64)),
    vjp=(None,),
    params=("axis",),
    lower=lambda low, i: low.index_routine(i),
    promote=(),
    floats_only=False,
    examples=lambda rng: [
        (lambda x, a=axis: ARGSORT(x, axis=a), (values,))
        for values in (
            rng.normal(size=(3, 9)),
            rng.integers(0, 4, (3, 9)),
            np.array([[np.nan, 1.0, -np.inf], [2.0, 2.0, np.nan]]),
        )
        for axis in (0, 1)
    ],
)

SEARCHSORTED = Op(
    "searchsorted",
    evaluate=lambda a, v, side: np.asarray(np.searchsorted(a, v, side=side))[()],
    infer=lambda a, v, side: ValueType(v.shape, np.dtype(np.int64)),
    vjp=(None, None),
    params=("side",),
    lower=lambda low, i: low.index_routine(i),
    floats_only=True,
    examples=lambda rng: [
        (lambda a, v, s=side: SEARCHSORTED(a, v, side=s), (np.array([0.0, 1.0, 1.0, 2.5]), values))
        for side in ("left", "right")
        for values in (rng.uniform(-1.0, 3.0, 9), np.array([[0.0, 1.0], [2.5, np.nan]]), np.array(1.0))
    ],
)

OPS = (INDEX, ASSEMBLE, REPLACE, GATHER, SCATTER_ADD, PUT, ARGSORT, SEARCHSORTED)
