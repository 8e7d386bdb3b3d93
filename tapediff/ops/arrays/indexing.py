"""Reading, assembling and replacing parts of arrays.

Basic indexing is a `Region`: start, step and count per axis, and the shape of the result. Every other index becomes an integer
array of positions in the flattened array.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy import array, asarray  # NumPy's own, also while recording; see recording/python_state/numpy_namespace.py

from ...ir.instruction import CONSTANT, Instruction, Operand, ValueType, is_tracked
from ..declaration.op import Batching, Op
from ..elementwise.arithmetic import ADD
from ..elementwise.comparison import SELECT
from .regions import Region, Regions, are_disjoint

# Boxes of a 5 by 9 array, and the halves of a 2 by 9 one, for the tests.
_REGIONS = (
    Region((0, 0), (1, 1), (5, 9), (5, 9)), Region((1, 8), (2, -1), (2, 9), (2, 9)), Region((3, 2), (1, 1), (1, 1), ()),
    Region((4, 1), (1, 3), (1, 3), (3,)), Region((4, 1), (-2, 1), (3, 1), (3, 1, 1)), Region((0, 0), (1, 1), (0, 9), (0, 9)),
)  # fmt: skip
_HALVES = (Region((1, 0), (1, 1), (1, 9), (9,)), Region((0, 0), (1, 1), (1, 9), (1, 9)))
_APART = Regions((
    Region((0, 0), (1, 1), (1, 9), (9,)), *(Region((1, k), (1, 1), (1, 1), ()) for k in range(5)),
    Region((4, 8), (-2, -3), (2, 3), (2, 3)),
))  # fmt: skip


def _index(x: Operand, region: Region) -> Operand:
    if region.shape == ():
        return asarray(x)[region.starts]
    return asarray(x)[region.slices].reshape(region.shape)


INDEX = Op(
    "index",
    evaluate=_index,
    infer=lambda x, region: ValueType(region.shape, x.dtype),
    vjp=(lambda z_bar, z, x, region: RegionCotangent(z_bar, region),),
    params=("region",),
    lower=lambda low, i: low.index(i),
    moves=True,
    is_view=True,
    batching=Batching(lambda batch, i: batch.index(i)),
    promote=(),
    masks=True,
    examples=lambda rng: [(lambda x, r=region: INDEX(x, region=r), (rng.normal(size=(5, 9)),)) for region in _REGIONS],
)


class RegionCotangent(NamedTuple):
    """A cotangent of one region only; `reverse` gathers all parts of a value into one `assemble`."""

    z_bar: Operand
    region: Region


def _write(out: np.ndarray, parts: Operand, regions: Regions, add: bool) -> np.ndarray:
    """Write, or add, every part into its region; of overlapping writes the last one stays."""
    flat = out.reshape(-1) if out.flags.c_contiguous else out.flat
    for start, end, positions in regions.stretches(out.shape):
        if positions is None:
            region = regions[start]
            box = np.reshape(parts[start], region.counts)
            if add:
                out[region.slices] += box
            else:
                out[region.slices] = box
        elif add:
            np.add.at(out.reshape(-1), positions, parts[start:end])
        else:
            flat[positions] = parts[start:end]
    return out


def _assemble(*parts_and_params: Operand) -> Operand:
    *parts, regions, shape, disjoint = parts_and_params
    if regions.is_vector:
        return array(parts)
    dtype = np.result_type(*{np.asarray(part).dtype for part in parts})
    return _write(np.zeros(shape, dtype), parts, regions, not disjoint)


ASSEMBLE = Op(
    "assemble",
    evaluate=_assemble,
    infer=lambda *parts, regions, shape, disjoint: ValueType(shape, parts[0].dtype),
    vjp=lambda z_bar, z, *parts, regions, shape, disjoint: [INDEX(z_bar, region=r) for r in regions],
    params=("regions", "shape", "disjoint"),
    lower=lambda low, i: low.assemble(i),
    batching=Batching(lambda batch, i: batch.assembled(i), lambda i, types, fixed: bool(i.params[2])),
    # A copy, and a loop to begin for each part.
    additions=lambda type_, parts: type_.size + 4.0 * len(parts),
    floats_only=False,
    examples=lambda rng: [
        (
            lambda *parts: assemble(list(parts), list(_REGIONS), (5, 9)),
            tuple(rng.normal(size=r.shape) for r in _REGIONS),
        ),
        (lambda x, y: assemble([x, y], list(_HALVES), (2, 9)), (rng.normal(size=9), rng.normal(size=(1, 9)))),
    ],
)


def assemble(parts: list[Operand], regions: Iterable[Region], shape: tuple[int, ...]) -> Operand:
    """Zeros of `shape` with every part added into its region."""
    regions = Regions(regions)
    return ASSEMBLE(*parts, regions=regions, shape=shape, disjoint=are_disjoint(regions, shape))


def _replace(*operands_and_regions: Operand) -> Operand:
    x, *parts, regions = operands_and_regions
    return _write(np.array(x), parts, regions, False)


def _replace_rules(z_bar: Operand, z: Operand, x: Operand, *parts: Operand, regions: Regions) -> list[Operand]:
    """The array gets the cotangent of the entries that were not overwritten; each part gets that of its region."""
    if len(regions) == 1:
        kept = replace(z_bar, np.zeros(regions[0].shape, x.dtype), regions[0])
    else:
        # One selection costs less than a write of zeros per part.
        mask = _write(np.zeros(x.shape, bool), [np.ones(r.shape, bool) for r in regions], regions, False)
        kept = SELECT(mask, 0.0, z_bar)
    return [kept, *(INDEX(z_bar, region=r) for r in regions)]


# The array x with every part in its region; the regions are disjoint.
REPLACE = Op(
    "replace",
    evaluate=_replace,
    infer=lambda x, *parts, regions: ValueType(x.shape, x.dtype),
    vjp=_replace_rules,
    params=("regions",),
    lower=lambda low, i: low.replace(i),
    exact=True,
    batching=Batching(lambda batch, i: batch.replaced(i)),
    floats_only=False,
    masks=True,
    examples=lambda rng: (
        [
            (lambda x, v, r=region: replace(x, v, r), (rng.normal(size=(5, 9)), rng.normal(size=region.shape)))
            for region in _REGIONS
        ]
        + [
            (
                lambda x, *parts: REPLACE(x, *parts, regions=_APART),
                (rng.normal(size=(5, 9)), *(rng.normal(size=r.shape) for r in _APART)),
            )
        ]
    ),
)


def replace(x: Operand, part: Operand, region: Region) -> Operand:
    """The array x with another part in a region."""
    return REPLACE(x, part, regions=Regions((region,)))


GATHER = Op(
    "gather",
    evaluate=lambda x, positions: np.ravel(x)[positions],
    infer=lambda x, positions: ValueType(positions.shape, x.dtype),
    vjp=(lambda z_bar, z, x, positions: SCATTER_ADD(z_bar, positions, shape=x.shape), None),
    lower=lambda low, i: low.gather(i),
    moves=True,
    positions=(1, 0),
    batching=Batching(lambda batch, i: batch.gathered(i), lambda i, types, fixed: fixed[0] or fixed[1]),
    promote=(),
    masks=True,
    examples=lambda rng: [
        (GATHER, (rng.normal(size=(3, 5)), rng.integers(0, 15, shape))) for shape in ((), (1,), (9,), (4, 6), (0,))
    ],
)


def known_positions(instructions: Sequence[Instruction], number: int) -> np.ndarray | None:
    """Positions that are constant, written out or as the first of each row plus those within a row; else None."""
    op, inputs, params, *_ = instructions[number]
    if op is ADD and all(instructions[i].op is CONSTANT for i in inputs):
        return instructions[inputs[0]].params[0] + instructions[inputs[1]].params[0]
    return params[0] if op is CONSTANT else None


def _scatter_add(v: Operand, positions: Operand, shape: tuple[int, ...]) -> Operand:
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
    positions=(1, None),
    promote=(),
    examples=lambda rng: [
        (lambda v, k: SCATTER_ADD(v, k, shape=(3, 5)), (rng.normal(size=shape), rng.integers(0, 15, shape)))
        for shape in ((), (1,), (9,), (4, 6), (0,))
    ],
)


def _put(x: Operand, v: Operand, positions: Operand, distinct: bool) -> Operand:
    out = np.array(x)
    # The copy of a transposed array is in column-major order, so its reshape is not a view.
    if out.flags.c_contiguous:
        out.reshape(-1)[positions] = v
    else:
        np.put(out, positions, v)
    return out


def _put_values_rule(z_bar: Operand, z: Operand, x: Operand, v: Operand, positions: Operand, distinct: bool) -> Operand:
    """Where positions repeat, only the value written last receives the cotangent."""
    gathered = GATHER(z_bar, positions)
    if distinct:
        return gathered
    count = math.prod(positions.shape)
    if count * count <= x.size:
        # A few pairwise comparisons cost less than an array of the last writers.
        flat = np.reshape(positions, (count,))
        again = np.where(np.equal(flat[:, None], flat), np.triu(np.ones((count, count)), 1), 0.0)
        return SELECT(np.equal(np.reshape(np.sum(again, axis=1), positions.shape), 0.0), gathered, 0.0)
    order = np.arange(count, dtype=np.float64).reshape(positions.shape)
    last = GATHER(PUT(np.zeros(x.shape), order, positions, distinct=False), positions)
    return SELECT(np.equal(last, order), gathered, 0.0)


# The array x with values at positions; `distinct`: no position is known to repeat.
PUT = Op(
    "put",
    evaluate=_put,
    infer=lambda x, v, positions, distinct: ValueType(x.shape, x.dtype),
    vjp=(
        lambda z_bar, z, x, v, positions, distinct: PUT(z_bar, np.zeros(positions.shape, z_bar.dtype), positions, distinct=distinct),
        _put_values_rule,
        None,
    ),
    params=("distinct",),
    lower=lambda low, i: low.put(i),
    exact=True,
    positions=(2, 0),
    promote=(0, 1),
    floats_only=False,
    masks=True,
    examples=lambda rng: [
        (lambda x, v, k, d=distinct: PUT(x, v, k, distinct=d), (rng.normal(size=(3, 5)), rng.normal(size=positions.shape), positions))
        for distinct, positions in (
            *((False, rng.integers(0, 15, shape)) for shape in ((), (1,), (9,), (4, 6), (0,))),
            *((True, rng.permutation(15)[:9].reshape(shape)) for shape in ((9,), (3, 3))),
        )
    ],
)


def put(x: Operand, v: Operand, positions: Operand) -> Operand:
    """The array x with values at positions; where positions repeat the last value stays."""
    return PUT(x, v, positions, distinct=are_distinct(positions))


def are_distinct(positions: Operand) -> bool:
    """True if positions are known to be distinct."""
    size = math.prod(np.shape(positions))
    if size <= 1:
        return True
    if is_tracked(positions):
        return _differ(positions._recorder.instructions, positions._id)
    return len(set(np.ravel(positions).tolist())) == size


def _differ(instructions: Sequence[Instruction], number: int) -> bool:
    """True for distinct constant positions, to which one number was added, as for a row of a matrix."""
    op, inputs, params, type_, *_ = instructions[number]
    if op is CONSTANT:
        return are_distinct(params[0])
    if len(inputs) == 1:
        return op.name == "reshape" and _differ(instructions, inputs[0])
    larger = [k for k in inputs if instructions[k].type.size > 1]
    if op.name not in ("add", "multiply") or len(larger) != 1 or instructions[larger[0]].type.size != type_.size:
        return False
    (other,) = (k for k in inputs if k not in larger)
    is_one = instructions[other].op is CONSTANT and np.ravel(instructions[other].params[0]).tolist() == [1]
    return (op.name == "add" or is_one) and _differ(instructions, larger[0])


def _neighbours(z: Operand, x: Operand, axis: int) -> tuple[Operand, Operand, Operand]:
    """Pairs of entries that are adjacent in sorted order."""
    ordered = np.moveaxis(np.sort(x, axis=axis), axis, -1)
    return ordered[..., 1:], ordered[..., :-1], True


ARGSORT = Op(
    "argsort",
    evaluate=lambda x, axis: np.argsort(x, axis=axis, kind="stable"),
    infer=lambda x, axis: ValueType(x.shape, np.dtype(np.int64)),
    vjp=(None,),
    params=("axis",),
    lower=lambda low, i: low.index_routine(i),
    compares=_neighbours,
    promote=(),
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


def _with_sorted(z: Operand, a: Operand, v: Operand, side: str) -> tuple[Operand, Operand, Operand]:
    value = np.asarray(v)[..., None]
    return value, a, np.greater(value, a)


SEARCHSORTED = Op(
    "searchsorted",
    evaluate=lambda a, v, side: np.asarray(np.searchsorted(a, v, side=side))[()],
    infer=lambda a, v, side: ValueType(v.shape, np.dtype(np.int64)),
    vjp=(None, None),
    params=("side",),
    lower=lambda low, i: low.index_routine(i),
    compares=_with_sorted,
    # Each step of a bisection waits for the comparison before it.
    additions=lambda type_, types: 10.0 * type_.size * (1 + types[0].size.bit_length()),
    batching=Batching(lambda batch, i: batch.searched(i), lambda i, types, fixed: fixed[0]),
    floats_only=True,
    examples=lambda rng: [
        (lambda a, v, s=side: SEARCHSORTED(a, v, side=s), (np.array([0.0, 1.0, 1.0, 2.5]), values))
        for side in ("left", "right")
        for values in (rng.uniform(-1.0, 3.0, 9), np.array([[0.0, 1.0], [2.5, np.nan]]), np.array(1.0))
    ],
)

# Each entry of the result is an entry of an input, or a sum of such.
PLACING = (ASSEMBLE, REPLACE, SCATTER_ADD, PUT)
OPS = (INDEX, ASSEMBLE, REPLACE, GATHER, SCATTER_ADD, PUT, ARGSORT, SEARCHSORTED)
