"""The origins of an array's entries, each as a value and a position in it; boxes of entries are recovered here.

An entry is one integer, `value << 32 | position`. Reads and writes of parts, reshapes and transposes of an array are then the same
operations on its array of entries.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...ir.instruction import INT64, Instruction, ValueType
from ...ir.rewriter import Rewriter
from ...ops.arrays.indexing import GATHER, INDEX, Region
from ...ops.arrays.shape import TRANSPOSE
from ..rows import in_shape

SHIFT = 32
POSITION = (1 << SHIFT) - 1

# A value that fills more stretches of an array is gathered from by one instruction, unless it is a small part of the array.
MOST_STRETCHES = 8
SMALL_PART = 1 / 16

# At most so many entries of a box are written one by one after it.
MOST_HOLES = 64


class Piece(NamedTuple):
    """Entries of an array that come from one value: their flat positions in the array and in the value.

    Attributes:
        target: the box that they fill, or None if they are scattered.
        places: their positions in the array, flat.
        positions: their positions in the value, flat; in the shape of the box.
    """

    source: int
    target: Region | None
    places: np.ndarray
    positions: np.ndarray


def own_entries(number: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return the entries of value `number` itself."""
    start = number << SHIFT
    return np.arange(start, start + math.prod(shape), dtype=np.int64).reshape(shape)


def sources_of(entries: np.ndarray) -> np.ndarray:
    return np.unique(entries >> SHIFT)


def single_source(entries: np.ndarray) -> int | None:
    """Return the value that all of the entries come from, if there is only one."""
    first = int(entries.flat[0]) >> SHIFT
    return first if entries.size == 1 or bool((entries >> SHIFT == first).all()) else None


def entry_region(position: int, shape: tuple[int, ...]) -> Region:
    """The region of a single entry, given by its flat position."""
    starts = []
    for extent in reversed(shape):
        position, start = divmod(position, extent)
        starts.append(start)
    ones = (1,) * len(shape)
    return Region(tuple(reversed(starts)), ones, ones, ())


def region_in(positions: np.ndarray, shape: tuple[int, ...]) -> tuple[Region, tuple[int, ...]] | None:
    """Return the box of an array of `shape` that flat positions form, and the order of its axes in `positions`; None if there is none.

    Each axis of `positions` longer than 1 must step along a different axis; or all of them together along one.
    """
    found = _axis_by_axis(positions, shape)
    return _axis_by_axis(positions.reshape(-1), shape) if found is None and positions.ndim > 1 else found


def _axis_by_axis(positions: np.ndarray, shape: tuple[int, ...]) -> tuple[Region, tuple[int, ...]] | None:
    long = [a for a, extent in enumerate(positions.shape) if extent > 1]
    start = int(positions.flat[0])
    starts = entry_region(start, shape).starts
    steps, counts, axes = [1] * len(shape), [1] * len(shape), []
    expected = np.full((1,) * positions.ndim, start, np.int64)
    for a in long:
        extent = positions.shape[a]
        second = int(positions[tuple(1 if k == a else 0 for k in range(positions.ndim))])
        line = np.arange(extent, dtype=np.int64) * (second - start)
        expected = expected + line.reshape([-1 if k == a else 1 for k in range(positions.ndim)])
        last = start + int(line[-1])
        if not 0 <= last < math.prod(shape):
            return None
        moves = [(b, e - s) for b, (s, e) in enumerate(zip(starts, entry_region(last, shape).starts)) if e != s]
        if len(moves) != 1 or moves[0][1] % (extent - 1) or moves[0][0] in axes:
            return None
        axis, distance = moves[0]
        steps[axis], counts[axis] = distance // (extent - 1), extent
        axes.append(axis)
    if not np.array_equal(np.broadcast_to(expected, positions.shape), positions):
        return None
    order = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    return Region(starts, tuple(steps), tuple(counts), tuple(counts[b] for b in sorted(axes))), order


def read_box(made: Rewriter, source: int, positions: np.ndarray, shape: tuple[int, ...]) -> int | None:
    """Read the entries of a value at flat positions, if these form a box of it."""
    type_ = made.instructions[source].type
    if positions.size == type_.size and np.array_equal(positions.reshape(-1), np.arange(type_.size)):
        return in_shape(made, source, shape)
    found = region_in(positions, type_.shape)
    return None if found is None else read_region(made, source, *found, shape)


def read_at(made: Rewriter, source: int, positions: np.ndarray) -> int:
    """Read the entries of a value at flat positions, in their shape: as a box of it, as a slice of its flat entries, or one by one."""
    size = made.instructions[source].type.size
    number = read_box(made, source, positions, positions.shape) if positions.size else None
    if number is None and positions.size and region_in(positions, (size,)) is not None:
        number = read_box(made, in_shape(made, source, (size,)), positions, positions.shape)
    return made.make(GATHER, (source, made.constant(positions, ValueType(positions.shape, INT64)))) if number is None else number


def read_region(made: Rewriter, source: int, region: Region, order: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """Read a box with its axes in another order, as region_in finds them."""
    if list(order) == sorted(order):
        return made.make(INDEX, (source,), (region._replace(shape=shape),))
    axes = tuple(order.index(k) for k in range(len(order)))
    return in_shape(made, made.make(TRANSPOSE, (made.make(INDEX, (source,), (region,)),), (axes,)), shape)


def _target_of(places: np.ndarray, shape: tuple[int, ...]) -> Region | None:
    """The box that ascending flat positions fill, row by row."""
    starts, steps, counts = [], [], []
    for coordinates in np.unravel_index(places, shape):
        values = np.unique(coordinates)
        step = int(values[1] - values[0]) if values.size > 1 else 1
        if values.size > 2 and not bool((np.diff(values) == step).all()):
            return None
        starts.append(int(values[0]))
        steps.append(step)
        counts.append(int(values.size))
    if math.prod(counts) != places.size:
        return None
    return Region(tuple(starts), tuple(steps), tuple(counts), tuple(counts))


def split(places: np.ndarray, entries: np.ndarray, shape: tuple[int, ...], values: Sequence[Instruction]) -> list[Piece]:
    """Split the entries at ascending flat `places` of an array of `shape` into few disjoint pieces; `values` are on the same tape."""
    if not places.size:
        return []
    sources = entries >> SHIFT
    order = np.argsort(sources, kind="stable")
    sources, places, positions = sources[order], places[order], (entries & POSITION)[order]
    bounds = [0, *(np.flatnonzero(np.diff(sources)) + 1).tolist(), sources.size]
    result: list[Piece] = []
    for start, end in itertools.pairwise(bounds):
        source = int(sources[start])
        if end - start == 1:
            result.append(_entry(source, places[start:end], positions[start:end], shape))
        else:
            result += _boxes(source, places[start:end], positions[start:end], shape, values[source].type.shape)
    return result


def holes_in_a_box(entries: np.ndarray, shape: tuple[int, ...], values: Sequence[Instruction]) -> tuple[np.ndarray, np.ndarray] | None:
    """The few flat places in the box of an array's largest part that other values fill, and the entries with that part there as well.

    Such as a point that was written after the slice around it: the box is one piece, and what was written later replaces its entries.
    None if there are no such places.
    """
    sources, counts = np.unique(entries >> SHIFT, return_counts=True)
    source = int(sources[np.argmax(counts)])
    of = values[source].type.shape
    if sources.size == 1 or len(of) != len(shape) or 2 * counts.max() < entries.size:
        return None
    places = np.flatnonzero(entries >> SHIFT == source)
    groups = _by_shift(places, entries[places] & POSITION, shape, of)
    if groups is None:
        return None
    places = places[max(groups, key=len)]
    here = np.array(np.unravel_index(places, shape))
    low, high = here.min(axis=1), here.max(axis=1)
    offset = np.array(np.unravel_index(entries[places[:1]] & POSITION, of)) - here[:, :1]
    if not 0 < math.prod((high - low + 1).tolist()) - places.size <= MOST_HOLES:
        return None
    box = np.ravel_multi_index(np.indices(high - low + 1).reshape(len(shape), -1) + low[:, None], shape)
    holes = np.setdiff1d(box, places)
    filled = entries.copy()
    filled[holes] = (source << SHIFT) + np.ravel_multi_index(tuple(np.array(np.unravel_index(holes, shape)) + offset), of)
    return holes, filled


def _by_shift(
    places: np.ndarray, positions: np.ndarray, shape: tuple[int, ...], source_shape: tuple[int, ...]
) -> list[np.ndarray] | None:  # fmt: skip
    """The numbers of the entries that are equally far from their places in the source, group by group; None for many groups."""
    if len(shape) != len(source_shape):
        return None
    shifts = np.array(np.unravel_index(positions, source_shape)) - np.array(np.unravel_index(places, shape))
    code = np.zeros(places.size, np.int64)
    for shift, n, m in zip(shifts, shape, source_shape):
        code = code * (n + m) + shift
    _, group = np.unique(code, return_inverse=True)
    count = int(group.max()) + 1
    return None if count > MOST_STRETCHES else [np.flatnonzero(group == k) for k in range(count)]


def _entry(source: int, places: np.ndarray, positions: np.ndarray, shape: tuple[int, ...]) -> Piece:
    return Piece(source, entry_region(int(places[0]), shape), places, positions.reshape(()))


def _boxes(
    source: int, places: np.ndarray, positions: np.ndarray, shape: tuple[int, ...], source_shape: tuple[int, ...]
) -> list[Piece]:
    """Return one box if the entries fill one; else runs along the last axis, merged across rows; or one scattered piece if many."""
    target = _target_of(places, shape)
    if target is not None:
        box = positions.reshape(target.counts)
        if region_in(box, source_shape) is not None:
            return [Piece(source, target, places, box)]
    groups = _by_shift(places, positions, shape, source_shape)
    if groups is not None and len(groups) > 1:
        return [piece for k in groups for piece in _boxes(source, places[k], positions[k], shape, source_shape)]
    breaks = (np.diff(places) != 1) | (np.diff(positions) != 1)
    breaks |= (places[1:] % shape[-1] == 0) | (positions[1:] % max(1, source_shape[-1] if source_shape else 1) == 0)
    bounds = [0, *(np.flatnonzero(breaks) + 1).tolist(), places.size]
    if len(bounds) > MOST_STRETCHES + 1 and len(shape) > 1:
        columns = _columns(source, places, positions, np.array(bounds), shape, source_shape)
        if columns is not None:
            return columns
    if len(bounds) > MOST_STRETCHES + 1 and places.size >= SMALL_PART * math.prod(shape):
        return [Piece(source, None, places, positions)]
    result: list[Piece] = []
    for start, end in itertools.pairwise(bounds):
        if end - start == 1:
            result.append(_entry(source, places[start:end], positions[start:end], shape))
            continue
        first = entry_region(int(places[start]), shape)
        counts = (*first.counts[:-1], end - start)
        stretch = Region(first.starts, first.steps, counts, counts)
        result.append(Piece(source, stretch, places[start:end], positions[start:end].reshape(counts)))
    return result


def _columns(
    source: int, places: np.ndarray, positions: np.ndarray, bounds: np.ndarray, shape: tuple[int, ...], source_shape: tuple[int, ...]
) -> list[Piece] | None:  # fmt: skip
    """Merge runs with equal start column and length into boxes, such as both ends of all rows; None if they form no boxes."""
    starts, lengths = bounds[:-1], np.diff(bounds)
    kinds = places[starts] % shape[-1] * (shape[-1] + 1) + lengths
    found = np.unique(kinds)
    if found.size > MOST_STRETCHES:
        return None
    of_entry = np.repeat(kinds, lengths)
    pieces: list[Piece] = []
    for kind in found:
        chosen = np.flatnonzero(of_entry == kind)
        target = _target_of(places[chosen], shape)
        if target is None:
            return None
        box = positions[chosen].reshape(target.counts)
        if region_in(box, source_shape) is None:
            return None
        pieces.append(Piece(source, target, places[chosen], box))
    return pieces
