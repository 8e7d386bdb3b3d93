"""Sets of array entries: products of index sets along the axes, stored as ranges where possible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..ops.arrays.regions import Region

# Indices along one axis, in ascending order.
Axis = range | np.ndarray


def axis_of(indices: np.ndarray) -> Axis:
    """Sorted indices, as a range if they are equally spaced."""
    count = len(indices)
    if count == 0:
        return range(0)
    first = int(indices[0])
    step = int(indices[1]) - first if count > 1 else 1
    if int(indices[-1]) == first + step * (count - 1) and (count < 3 or np.all(np.diff(indices) == step)):
        return range(first, first + step * count, step)
    return indices


def _same(a: Axis, b: Axis) -> bool:
    if isinstance(a, range) and isinstance(b, range):
        return a == b
    return not isinstance(a, range) and not isinstance(b, range) and np.array_equal(a, b)


def _either(a: Axis, b: Axis) -> Axis:
    if _same(a, b):
        return a
    if isinstance(a, range) and isinstance(b, range) and a.step == b.step == 1 and a.start <= b.stop and b.start <= a.stop:
        return range(min(a.start, b.start), max(a.stop, b.stop))
    return axis_of(np.union1d(np.asarray(a), np.asarray(b)))


@dataclass(frozen=True, eq=False)
class EntrySet:
    """A product of sets of indices.

    Attributes:
        of: the shape of the array.
        axes: the indices along each axis.
    """

    of: tuple[int, ...]
    axes: tuple[Axis, ...]

    @staticmethod
    def all_of(shape: tuple[int, ...]) -> EntrySet:
        return EntrySet(shape, tuple(map(range, shape)))

    @staticmethod
    def around(positions: np.ndarray, shape: tuple[int, ...]) -> EntrySet:
        """The smallest set with these flat positions."""
        coordinates = np.unravel_index(positions, shape) if shape else ()
        return EntrySet(shape, tuple(axis_of(np.unique(c)) for c in coordinates))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.axes))

    @cached_property
    def size(self) -> int:
        return math.prod(self.shape)

    @cached_property
    def is_all(self) -> bool:
        return self.shape == self.of

    @cached_property
    def positions(self) -> np.ndarray:
        """Flat positions of the entries, in the shape of the set."""
        if not self.of:
            return np.zeros((), np.int64)
        return np.asarray(np.ravel_multi_index(np.ix_(*map(np.asarray, self.axes)), self.of), np.int64).reshape(self.shape)

    @cached_property
    def region(self) -> Region | None:
        """The set as a strided box, read with its own shape."""
        ranges = [axis for axis in self.axes if isinstance(axis, range)]
        if len(ranges) < len(self.axes):
            return None
        return Region(tuple(a.start for a in ranges), tuple(a.step for a in ranges), self.shape, self.shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EntrySet) and self.of == other.of and all(map(_same, self.axes, other.axes))

    def __hash__(self) -> int:
        return hash((self.of, tuple(a if isinstance(a, range) else a.tobytes() for a in self.axes)))

    def local(self, positions: np.ndarray) -> np.ndarray:
        """Map flat positions of the array, which must be in the set, to positions among its entries."""
        if not self.of:
            return np.zeros_like(positions)
        found = [np.searchsorted(np.asarray(axis), c) for axis, c in zip(self.axes, np.unravel_index(positions, self.of))]
        return np.asarray(np.ravel_multi_index(tuple(found), self.shape), np.int64).reshape(positions.shape)

    def holds(self, positions: np.ndarray) -> np.ndarray:
        """Mark the flat positions of the array that are in the set."""
        if not self.of:
            return np.ones(positions.shape, bool)
        is_in = np.ones(positions.shape, bool)
        for axis, c in zip(self.axes, np.unravel_index(positions, self.of)):
            is_in &= np.isin(c, np.asarray(axis))
        return is_in

    def broadcast(self, shape: tuple[int, ...]) -> EntrySet:
        """Return the entries of a broadcast result that come from this set."""
        extra = len(shape) - len(self.of)
        axes = [range(n) for n in shape[:extra]]
        axes += [axis if old == new else range(new) for axis, old, new in zip(self.axes, self.of, shape[extra:])]  # type: ignore[misc]
        return EntrySet(shape, tuple(axes))

    def under(self, shape: tuple[int, ...]) -> EntrySet:
        """Return the entries of a broadcast operand of this shape that this set comes from."""
        extra = len(self.of) - len(shape)
        axes = [axis if old == new else range(old) for axis, old, new in zip(self.axes[extra:], shape, self.of[extra:])]
        return EntrySet(shape, tuple(axes))

    @staticmethod
    def steps(shape: tuple[int, ...], indices: Sequence[np.ndarray]) -> Region | None:
        """Return the strided box with these indices along each axis, ascending or descending; None if there is none."""
        steps = [int(i[1] - i[0]) if len(i) > 1 else 1 for i in indices]
        if any(len(i) > 2 and not np.all(np.diff(i) == step) for i, step in zip(indices, steps)):
            return None
        counts = tuple(map(len, indices))
        return Region(tuple(int(i[0]) for i in indices), tuple(steps), counts, counts)


def union(sets: Sequence[EntrySet]) -> EntrySet:
    """Return the smallest product set with all entries of sets of one array."""
    first, *rest = sets
    for other in rest:
        first = EntrySet(first.of, tuple(map(_either, first.axes, other.axes)))
    return first


def located(start: int, step: int, count: int, axis: Axis) -> tuple[Axis, np.ndarray]:
    """Of the indices start, start + step, ... select those in a set: their numbers, and their positions in the set."""
    indices = start + step * np.arange(count)
    known = np.asarray(axis)
    at = np.minimum(np.searchsorted(known, indices), max(len(known) - 1, 0))
    is_in = known[at] == indices if len(known) else np.zeros(count, bool)
    return axis_of(np.flatnonzero(is_in)), at[is_in]


def matched_axes(counts: Sequence[int], shape: Sequence[int], axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Return the nonempty sets of an array reshaped by adding or dropping axes of one entry."""
    rest = [axis for axis, n in zip(axes, counts) if n != 1]
    return tuple(rest.pop(0) if n != 1 else range(1) for n in shape)
