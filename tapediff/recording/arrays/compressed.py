"""Compressed arrays: parts whose lengths are data, such as the entries `x[x > 0]` that a mask selects.

They are kept in place: the whole array, and a mask for each axis of data-dependent length. Elementwise functions compute all entries,
reductions read the selected ones; the others contribute exactly zero to derivatives. What has no such form takes the masks at this
point, by a guard. A part that shares memory in NumPy shares it here, as the whole array does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import DTypeLike

from ... import numpy_api as functions
from ...base.current_recording import current_recorder
from ...ir.instruction import BOOL, FLOAT64, INT64, Computes, Operand, is_tracked
from ...numpy_api.composed.ordering import positions_along
from ...numpy_api.writing import require_same_kind
from ...ops.arrays.indexing import GATHER, put
from ...ops.elementwise.comparison import EXISTS
from .compressed_functions import ACCUMULATED, FORMS, FUNCTIONS, METHODS, REDUCED, elementwise, product, sort
from .compressed_lengths import (
    aligned,
    are_alike,
    from_start,
    greater,
    is_same_length,
    lesser,
    of_full_length,
    raise_where,
    settled,
)
from .tracked import TrackedArray

_ALL = slice(None)
# Of arrays that are kept whole.
DTYPES = (FLOAT64, np.dtype(np.float32), INT64, BOOL)
# Maximum number of entries of one that is not a part of another.
MOST_ENTRIES = 1 << 20
# Sizes of arguments that are data are never less: NumPy's rules differ for axes of one entry, and of none.
LEAST_SIZE = 2
_OUTSIDE = "an index is out of bounds of an array whose length depends on data"


def _out_of_bounds() -> IndexError:
    return IndexError(_OUTSIDE)


@dataclass(frozen=True, eq=False, slots=True)
class Kept:
    """What is selected along an axis.

    Attributes:
        mask: bools, of one axis.
        length: the number of selected entries, if these come first; else None.
        is_size: the length is the size of an argument, and Python's int wherever the program sees it.
    """

    mask: Operand
    length: Operand | None = None
    is_size: bool = False

    @classmethod
    def first(cls, length: Operand, extent: int, *, is_size: bool = False) -> Kept:
        """The first entries of an axis."""
        places = np.arange(extent)
        mask = EXISTS(places, length) if is_tracked(length) else current_recorder().tracked_constant(places < length)
        return cls(mask, length, is_size)

    @property
    def extent(self) -> int:
        return self.mask.type.shape[0]

    def count(self) -> Operand:
        return np.sum(self.mask) if self.length is None else self.length


class CompressedArray(NDArrayOperatorsMixin, Computes):
    """The selected entries of `whole`. It behaves like the array that NumPy makes of them.

    Attributes:
        whole: a tracked array.
        kept: what is selected along each axis of data-dependent length; axes are counted from the end.
    """

    __slots__ = ("kept", "whole")

    __array_priority__ = 2e6

    def __init__(self, whole: Operand, kept: dict[int, Kept]) -> None:
        self.whole, self.kept = whole, kept

    @classmethod
    def selected(cls, array: Operand, index: Operand) -> Operand:
        """array[index], with one mask of data in the index; None if NumPy's result has no such form, or is an error."""
        entries = list(index) if type(index) is tuple else [index]
        masks = [k for k, entry in enumerate(entries) if is_mask(entry)]
        if len(masks) != 1:
            return None
        (place,) = masks
        mask, rest = entries[place], entries[:place] + entries[place + 1 :]
        kinds = {*map(type, rest)}
        if not (kinds <= {slice} or kinds <= {int}):
            return None
        dims = mask.type.shape
        if array.shape[place : place + len(dims)] != dims or len(rest) + len(dims) > array.ndim or not mask.type.size:
            return None
        part = array[(*entries[:place], *[_ALL] * len(dims), *entries[place + 1 :])]
        before = sum(type(entry) is slice for entry in entries[:place])
        whole = np.reshape(part, (*part.shape[:before], mask.type.size, *part.shape[before + len(dims) :]))
        mask = np.reshape(mask, (-1,)) if len(dims) > 1 else functions.copy(mask)
        return cls(functions.copy(whole), {before - whole.ndim: Kept(mask)})

    @classmethod
    def nonzero(cls, mask: Operand) -> tuple[Operand, ...]:
        """np.nonzero of a mask of data."""
        shape = mask.type.shape
        kept = {-1: Kept(np.reshape(mask, (-1,)) if len(shape) > 1 else functions.copy(mask))}
        make = mask._recorder.tracked_constant
        return tuple(cls(make(places.reshape(-1)), kept) for places in np.indices(shape))

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]  # as of TrackedArray
        return np.ndarray

    _recorder = property(lambda self: self.whole._recorder)
    dtype = property(lambda self: self.whole.type.dtype)
    ndim = property(lambda self: len(self.whole.type.shape))
    T = property(lambda self: type(self)(self.whole.T, {-1 - self.ndim - axis: kept for axis, kept in self.kept.items()}))
    real = property(lambda self: self)
    base = property(lambda self: None)
    flags = property(lambda self: self.whole.flags)

    @property
    def size(self) -> Operand:
        size: Operand = 1
        for extent in self.shape:
            size = size * extent
        return size

    @property
    def shape(self) -> tuple[Operand, ...]:
        shape: list[Operand] = list(self.whole.type.shape)
        for axis, kept in self.kept.items():
            shape[axis] = self.length_of(kept)
        return tuple(shape)

    @staticmethod
    def length_of(kept: Kept) -> Operand:
        """The number of selected entries, by a guard."""
        return int(kept.count())

    @staticmethod
    def by_own_code(function: Callable[..., Operand], args: tuple[Operand, ...], named: dict[str, Operand]) -> Operand:
        """The result of a NumPy function by its Python code; None if it has none, or needs the entries."""
        return None

    @staticmethod
    def most(length: Operand) -> int | None:
        """The largest value of a length; None if it is not known."""
        return length if type(length) is int else None

    @staticmethod
    def is_below(a: Operand, b: Operand) -> Operand:
        """a < b for lengths; a plain bool where that is known."""
        return a < b

    @staticmethod
    def are_equal(a: Operand, b: Operand) -> Operand:
        """a == b for lengths; a plain bool where that is known."""
        return a == b

    def settled(self) -> Operand:
        """The array that NumPy makes at this point; a guard on each mask."""
        positions = np.arange(self.whole.type.size).reshape(self.whole.type.shape)
        for axis, kept in self.kept.items():
            positions = np.compress(kept.mask._recorder.observe(kept.mask, "array"), positions, axis)
        return self._gathered(positions)

    def first_entries(self) -> tuple[Sequence[int], Sequence[Operand]] | None:
        if not current_recorder().returns_first_entries:
            return None
        made, axes = self, sorted(self.kept)
        for axis in axes:
            made = made.packed(axis)
        return axes, [made.whole, *[made.kept[axis].count() for axis in axes]]

    def _gathered(self, positions: Operand) -> Operand:
        """The entries at flat positions, sharing memory with these."""

        def read(base: Operand) -> Operand:
            # NumPy's result is a new array, laid out row by row.
            return GATHER(base, positions) if is_tracked(base) else np.zeros(np.shape(positions))

        def write(base: Operand, part: Operand) -> Operand:
            made = put(base, part, positions)
            if is_tracked(made) and is_tracked(positions):
                made._recorder.written_at[made._id] = positions
            return made

        return read(self.whole)._as_view(self.whole, read, write)

    def _along(self, places: Operand, axis: int) -> Operand:
        """The entries at places along an axis, which are selected there."""
        spread = np.reshape(places, (-1, *[1] * (-1 - axis)))
        return self._gathered(positions_along(self.whole.type.shape, spread, axis % self.ndim))

    def mask_of(self, axes: Collection[int]) -> Operand:
        """The masks of some axes together, in as many axes as the array has."""
        found: Operand = None
        for axis in axes:
            mask = np.reshape(self.kept[axis].mask, (-1, *[1] * (-1 - axis)))
            found = mask if found is None else found & mask
        return found

    def filled(self, value: Operand, axes: Collection[int] | None = None) -> Operand:
        """The whole array with a value in place of the entries that are not selected along some axes."""
        axes = self.kept if axes is None else axes
        if not axes:
            return self.whole
        return np.where(self.mask_of(axes), self.whole, value if self.dtype.kind == "f" else self.dtype.type(value))

    def with_kept(self, axis: int, whole: Operand, kept: Kept | None) -> CompressedArray:
        """Other entries, and another selection along an axis."""
        others = {k: v for k, v in self.kept.items() if k != axis}
        return type(self)(whole, others if kept is None else {**others, axis: kept})

    def packed(self, axis: int = -1) -> CompressedArray:
        """The same entries, those selected along an axis moved to the front."""
        kept = self.kept[axis]
        if kept.length is not None:
            return self
        order = np.argsort(np.where(kept.mask, 0, 1), kind="stable")
        return self.with_kept(axis, self._along(order, axis), Kept.first(np.sum(kept.mask), kept.extent))

    def resized(self, axis: int, kept: Kept) -> CompressedArray:
        """The first entries along an axis, in an array of another extent."""
        missing = kept.extent - self.kept[axis].extent
        whole = self.whole
        if missing > 0:
            whole = np.pad(whole, [(0, missing if k - self.ndim == axis else 0) for k in range(self.ndim)])
        elif missing < 0:
            whole = whole[(*[_ALL] * (axis % self.ndim), slice(kept.extent))]
        return self.with_kept(axis, whole, kept)

    # Python

    def __len__(self) -> int:
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Operand]:
        return iter(self.settled())

    def __bool__(self) -> bool:
        return bool(self.settled())

    def __contains__(self, item: Operand) -> bool:
        return bool(np.any(self == item))

    def __hash__(self) -> int:  # type: ignore[override]
        raise TypeError("unhashable type: 'numpy.ndarray'")

    def __float__(self) -> float:
        return float(self.settled())

    def __int__(self) -> int:
        return int(self.settled())

    def __index__(self) -> int:
        return self.settled().__index__()

    def __repr__(self) -> str:
        return f"<{self.whole!r}, of which data select entries along {[axis % self.ndim for axis in self.kept]}>"

    def __str__(self) -> str:
        return str(self.settled())

    def __copy__(self) -> Operand:
        return type(self)(functions.copy(self.whole), self.kept)

    def __deepcopy__(self, _: object) -> Operand:
        return self.__copy__()

    def __reduce__(self) -> Operand:
        return self.whole.__reduce__()

    @property
    def __array__(self) -> Callable[..., np.ndarray]:
        return self.settled().__array__

    # Parts

    def __getitem__(self, index: Operand) -> Operand:
        found = self._part(index)
        return self.settled()[settled(index)] if found is None else found

    def _part(self, index: Operand) -> Operand:
        """A part that needs no guard; None for others."""
        if -self.ndim in self.kept and isinstance(index, np.ndarray) and index.dtype.kind == "i" and index.ndim:
            return self._taken(index)
        entries = list(index) if type(index) is tuple else [index]
        masks = [k for k, entry in enumerate(entries) if is_mask(entry) or (type(entry) is type(self) and entry.dtype == BOOL)]
        if not masks:
            return self._basic(entries)
        (place, *more) = masks
        given: Operand = entries[place]
        if len(entries) == 1 and type(given) is type(self) and given.ndim > 1 and (mask := self._mask_of_all(given)) is not None:
            return type(self)(functions.copy(np.reshape(self.whole, (-1,))), {-1: Kept(np.reshape(mask, (-1,)))})
        if more or any(entry is None or type(entry) not in (slice, int) for k, entry in enumerate(entries) if k != place):
            return None
        if any(type(entry) is int for entry in entries) and any(type(entry) is slice for entry in entries):
            return None
        rest: Operand = self._basic([_ALL if k == place else entry for k, entry in enumerate(entries)])
        if rest is None or type(rest) is not type(self):
            return None
        return rest._masked(entries[place], sum(type(entry) is slice for entry in entries[:place]) - rest.ndim)

    def _taken(self, index: Operand) -> Operand:
        """A copy of the entries at positions along the first axis."""
        axis = -self.ndim
        is_whole = type(index) is not type(self)
        made, places = self.packed(axis), index if is_whole else index.filled(0)
        count = made.kept[axis].count()
        places = np.where(places < 0, places + count, places)
        is_outside = (places < 0) | (places >= count)
        raise_where(np.any(is_outside if is_whole else index.mask_of(index.kept) & is_outside), _out_of_bounds)
        whole = np.take(made.whole, np.clip(places, 0, made.kept[axis].extent - 1), axis=0)
        kept = {k: one for k, one in self.kept.items() if k != axis}
        if not is_whole:
            kept.update({k - self.ndim + 1: one for k, one in index.kept.items()})
        return type(self)(whole, kept) if kept else whole

    def _masked(self, index: Operand, axis: int) -> Operand:
        """A copy of the entries that one more mask selects along an axis."""
        kept = self.kept.get(axis)
        if type(index) is type(self):
            if kept is None or index.ndim != 1:
                return None
            ours, given = aligned([(self, axis), (index, -1)])
            if ours is None:
                return None
            mask = ours.kept[axis].mask & given.whole
        elif kept is not None or index.type.shape != (self.whole.type.shape[axis],):
            return None
        else:
            ours, mask = self, functions.copy(index)
        return ours.with_kept(axis, functions.copy(ours.whole), Kept(mask))

    def _basic(self, entries: list[Operand]) -> Operand:
        """A part by slices, positions and new axes; None for other indices."""
        entries = list(map(_with_ints, entries))
        rest = [k for k, entry in enumerate(entries) if entry is Ellipsis]
        missing = self.ndim - sum(entry is not None and entry is not Ellipsis for entry in entries)
        if len(rest) > 1 or missing < 0:
            return None
        place = rest[0] if rest else len(entries)
        entries = [*entries[:place], *[_ALL] * missing, *entries[place + 1 :]]
        used = [k for k, entry in enumerate(entries) if entry is not None]
        made: Operand = self
        for axis in range(-self.ndim, 0):
            key = entries[used[axis]]
            if axis in self.kept and not (type(key) is slice and key == _ALL):
                made = made._slice(axis, key) if type(key) is slice else made._entry(axis, key) if _is_position(key) else None
            elif axis not in self.kept and type(key) is slice and key.step in (None, 1) and (is_tracked(key.start) or is_tracked(key.stop)):
                made = made._cut(axis, key.start, key.stop, made.whole.type.shape[axis])
            else:
                continue
            if made is None:
                return None
            entries[used[axis]] = _ALL if type(key) is slice else 0
        if not all(type(entry) in (slice, int, type(None)) for entry in entries):
            return None
        if all(type(entry) is slice and entry == _ALL for entry in entries):
            return type(self)(made.whole[...], made.kept) if made is self else made if made.kept else made.whole
        if not made.kept and self.ndim == 1 and entries == [0]:
            return made.whole[0]
        whole = made.whole[tuple(entries)]
        behind = {axis: sum(type(entry) is not int for entry in entries[used[axis] + 1 :]) for axis in made.kept}
        return type(self)(whole, {-1 - behind[axis]: kept for axis, kept in made.kept.items()}) if made.kept else whole

    def _slice(self, axis: int, key: slice) -> CompressedArray | None:
        """The entries of a slice along an axis; None for what needs a guard."""
        kept, before = self.kept[axis], (_ALL,) * (axis % self.ndim)
        step = 1 if key.step is None else key.step
        if type(step) is not int or not step or not all(end is None or _is_position(end) for end in (key.start, key.stop)):
            return None
        start, stop, made = key.start, key.stop, self
        if (start, stop, step) == (None, None, -1) and kept.length is None:
            return self.with_kept(axis, self.whole[(*before, key)], Kept(kept.mask[::-1]))
        made = self.packed(axis)
        count = made.kept[axis].count()
        if step < 0:
            start, stop = (None if end is None else _behind(end, count) for end in (stop, start))
        if start is not None or stop is not None:
            made = made._cut(axis, start, stop, count)
        if step < 0:
            # The last entry first: loops end behind the last one.
            count, extent = made.kept[axis].count(), made.kept[axis].extent
            places = count - 1 - np.arange(extent)
            made = made.with_kept(axis, made._along(np.where(places < 0, places + extent, places), axis), made.kept[axis])
        return made if abs(step) == 1 else made._strided(axis, abs(step))

    def _strided(self, axis: int, step: int) -> CompressedArray:
        """Each entry whose position along an axis, of which the first ones exist, is a multiple of a step."""
        whole = self.whole[(*(_ALL,) * (axis % self.ndim), slice(None, None, step))]
        return self.with_kept(axis, whole, Kept.first((self.kept[axis].count() + (step - 1)) // step, whole.type.shape[axis]))

    def _cut(self, axis: int, start: Operand, stop: Operand, count: Operand) -> CompressedArray:
        """The entries from start to stop along an axis, of which the first `count` exist."""
        n, before = self.whole.type.shape[axis], (_ALL,) * (axis % self.ndim)
        made = self
        if stop is not None:
            if type(stop) is int:
                made = self.with_kept(axis, self.whole[(*before, slice(stop) if stop >= 0 else slice(max(n + stop, 0)))], None)
                count = lesser(count, stop) if stop >= 0 else greater(count + stop, 0)
            else:
                count = greater(lesser(from_start(stop, count), count), 0)
            n = made.whole.type.shape[axis]
        if type(start) is int and start >= 0:
            made = made.with_kept(axis, made.whole[(*before, slice(start, None))], None)
            count = greater(count - start, 0)
        elif start is not None:
            all_of_it = self.kept[axis].count() if axis in self.kept else self.whole.type.shape[axis]
            first = greater(lesser(from_start(start, all_of_it), n), 0)
            most = min(n, -start) if type(start) is int and stop is None else n
            # Different places, also of entries behind the last one: a write to the part must not reach one twice.
            made = made.with_kept(axis, made._along((first + np.arange(most)) % max(n, 1), axis), None)
            count = greater(count - first, 0)
        if type(count) is int:
            return made.with_kept(axis, made.whole[(*before, slice(count))], None)
        return made.with_kept(axis, made.whole, Kept.first(count, made.whole.type.shape[axis]))

    def _entry(self, axis: int, key: Operand) -> CompressedArray:
        """The entry at a position along an axis, which may be data, as an axis of length 1."""
        kept = self.kept[axis]
        if kept.length is None and type(key) is int and key in (0, -1):
            raise_where(~np.any(kept.mask), _out_of_bounds)
            place = np.argmax(kept.mask) if key == 0 else kept.extent - 1 - np.argmax(kept.mask[::-1])
            return self.with_kept(axis, self._along(place, axis), None)
        made = self.packed(axis)
        return made.with_kept(axis, made._along(made._place(axis, key), axis), None)

    def _place(self, axis: int, key: Operand) -> Operand:
        """The place of a position along an axis whose first entries exist."""
        kept, inside = self.kept[axis], current_recorder().inside
        count = kept.count()
        if inside is not None:
            return inside(key, kept.extent, _OUTSIDE, count)
        place = np.where(key < 0, key + count, key)
        raise_where((place < 0) | (place >= count), _out_of_bounds)
        return np.clip(place, 0, kept.extent - 1)

    def __setitem__(self, index: Operand, value: Operand) -> None:
        of_bools: Operand = index if type(index) is type(self) and index.dtype == BOOL else None
        if index is Ellipsis or (type(index) is slice and index == _ALL):
            # Other entries may belong to another part that shares memory.
            there, new = self.mask_of(self.kept), self._given(value)
        elif of_bools is not None:
            kept = self.kept.get(-self.ndim)
            is_own = kept is not None and of_bools.ndim == 1 and are_alike(of_bools.kept[-1], kept)
            chosen = self._masked(of_bools, -self.ndim) if is_own else None
            new = None if chosen is None else chosen._given(value)
            there = None if chosen is None else chosen.mask_of(chosen.kept)
            if np.shape(value) == () and (mask := self._mask_of_all(of_bools)) is not None:
                there, new = mask, value
        elif self.ndim == 1 and np.shape(value) == () and _is_position(index) and self.kept[-1].length is not None:
            self.whole[self._place(-1, index)] = value
            return
        elif self.ndim == 1 and np.shape(value) == () and (_is_position(index) or (type(index) is slice and index.step in (None, 1))):
            there, new = self._within(index), value
        else:
            entries: list[Operand] = list(index) if type(index) is tuple else [index]
            masks = [k for k, entry in enumerate(entries) if type(entry) is type(self)]
            # A part of one entry shares memory, where the entry would be a number.
            one = [None] if all(map(_is_position, entries)) and len(entries) == self.ndim else []
            rest = self._basic([_ALL if k in masks else entry for k, entry in enumerate(entries)] + one)
            if rest is None or len(masks) > 1 or any(entries[k].dtype != BOOL for k in masks):
                self.settled()[settled(index)] = settled(value)
            else:
                rest[entries[masks[0]] if masks else ...] = value
            return
        if there is None or new is None:
            self.settled()[settled(index)] = settled(value)
        else:
            self.whole[...] = np.where(there, new, self.whole)

    def _mask_of_all(self, index: Operand) -> Operand:
        """The entries that a mask of all axes selects of these; None for other masks."""
        if index.ndim != self.ndim or index.whole.type.shape != self.whole.type.shape or {*index.kept} != {*self.kept}:
            return None
        if not all(are_alike(kept, self.kept[axis]) for axis, kept in index.kept.items()):
            return None
        return index.whole & self.mask_of(self.kept)

    def _given(self, value: Operand) -> Operand:
        """Values for these entries in the shape of the whole, or one that broadcasts; None if lengths are not known to agree."""
        for axis, own in self.kept.items():
            shape = value.whole.type.shape if type(value) is type(self) else np.shape(value)
            if -axis > len(shape) or (shape[axis] == 1 and not (type(value) is type(self) and axis in value.kept)):
                continue
            if type(value) is not type(self) or axis not in value.kept:
                value = of_full_length(value, axis, self)
            if are_alike(own, value.kept[axis]):
                continue
            value = value.packed(axis)
            if own.length is None or not is_same_length(own.length, value.kept[axis].length):
                return None
            value = value.resized(axis, own)
        if type(value) is not type(self):
            return value
        return value.whole if value.kept.keys() <= self.kept.keys() else None

    def _within(self, key: Operand) -> Operand:
        """The places of a position or slice of one axis; None for others."""
        kept = self.kept[-1]
        count, rank = kept.count(), np.arange(kept.extent) if kept.length is not None else np.cumsum(kept.mask) - 1
        if type(key) is not slice:
            place = np.where(key < 0, key + count, key)
            raise_where((place < 0) | (place >= count), _out_of_bounds)
            return kept.mask & (rank == place)
        if not all(end is None or _is_position(end) for end in (key.start, key.stop)):
            return None
        start, stop = (end if end is None else np.where(end < 0, count + end, end) for end in (key.start, key.stop))
        there = kept.mask if start is None else kept.mask & (rank >= start)
        return there if stop is None else there & (rank < stop)

    # Hooks of tracked arrays

    def applied(self, form: str, function: Callable[..., Operand], args: tuple[Operand, ...], named: dict[str, Operand]) -> Operand:
        found = _called(partial(FORMS[form], function), args, named)
        return function(*settled(args), **{key: settled(value) for key, value in named.items()}) if found is None else found

    def read_from(self, array: Operand, index: Operand) -> Operand:
        """array[index], where the index has compressed arrays: of positions, as np.nonzero gives them."""
        parts = index if type(index) is tuple else (index,)
        if all((type(part) is type(self) and part.dtype.kind == "i") or _is_position(part) for part in parts):
            filled = [type(self)(part.filled(0), part.kept) if type(part) is type(self) else part for part in parts]
            behind = array.ndim - len(parts)
            found = elementwise(lambda *places: array[places if type(index) is tuple else places[0]], filled, behind)
            if found is not None:
                return found
        return array[settled(index)]

    def written_at(self, array: Operand, index: Operand) -> Operand:
        through: Operand = index if type(index) is type(self) and index is not self else None
        if through is not None:
            return through.written_through(array, index, self)
        made = functions.copy(array)
        entries = list(index) if type(index) is tuple else [index]
        given = type(self).selected(array, index)
        new = None if given is None else given._given(self)
        if new is not None:
            (place,) = (k for k, entry in enumerate(entries) if is_mask(entry))
            mask = entries[place]
            there = (*entries[:place], *[_ALL] * mask.ndim, *entries[place + 1 :])
            part = made[there]
            behind = part.ndim - mask.ndim - sum(type(entry) is slice for entry in entries[:place])
            spread, values = functions.reshape(mask, (*mask.shape, *[1] * behind)), functions.reshape(new, part.shape)
            made[there] = np.where(spread, values, part)
        else:
            made[settled(index)] = self.settled()
        return made

    def written_through(self, array: Operand, index: Operand, value: Operand) -> Operand:
        if index is self and self.ndim == 1 and array.shape == self.whole.type.shape and self._are_places():
            new = self._given(value) if type(value) is type(self) or np.shape(value) == () else None
            if new is not None:
                return np.where(self.kept[-1].mask, new, array)
        made = functions.copy(array)
        made[settled(index)] = settled(value)
        return made

    def _are_places(self) -> bool:
        """True for the places that the mask selects."""
        recorder = self.whole._recorder
        return recorder.is_constant(self.whole._id) and np.array_equal(self.whole._value, np.arange(self.kept[-1].extent))

    # NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Operand, **kwargs: Operand) -> Operand:
        kwargs.pop("subok", None)
        out = kwargs.get("out")
        if method == "__call__" and out is not None and len(out) == 1 and type(out[0]) is type(self) and len(kwargs) == 1:
            result = ufunc(*inputs)
            require_same_kind(result, out[0], ufunc.__name__)
            out[0][...] = result
            return out[0]
        if method == "outer" and not kwargs and all(np.ndim(value) == 1 for value in inputs):
            return ufunc(inputs[0][:, None], inputs[1][None, :])
        if method == "__call__" and not kwargs:
            if ufunc is np.matmul:
                found = product(*inputs)
            else:
                found = elementwise(ufunc, inputs) if ufunc.signature is None else None
            if found is not None:
                return found
        elif method == "accumulate" and ufunc in ACCUMULATED and not kwargs and inputs[0].ndim == 1:
            # Entries behind the last one change no entry before it.
            made = inputs[0].packed()
            return type(made)(ufunc.accumulate(made.filled(ACCUMULATED[ufunc](made.dtype))), made.kept)
        elif method == "reduce" and ufunc in REDUCED and len(inputs) == 1 and set(kwargs) <= {"axis", "keepdims"}:
            found = REDUCED[ufunc](inputs[0], **{"axis": 0, **kwargs})
            if found is not None:
                return found
        return getattr(ufunc, method)(*map(settled, inputs), **{key: settled(value) for key, value in kwargs.items()})

    def __array_function__(
        self, function: Callable[..., Operand], types: Collection[type], args: tuple[Operand, ...], kwargs: dict[str, Operand]
    ) -> Operand:
        found = _called(FUNCTIONS.get(function), args, kwargs)
        found = self.by_own_code(function, args, kwargs) if found is None else found
        return function(*settled(args), **{key: settled(value) for key, value in kwargs.items()}) if found is None else found

    def __getattr__(self, name: str) -> Operand:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        own = METHODS.get(name)
        if own is None:
            return getattr(self.settled(), name)

        def method(*args: Operand, **named: Operand) -> Operand:
            found = _called(own, (self, *args), named)
            return getattr(self.settled(), name)(*settled(args), **named) if found is None else found

        return method

    def astype(self, dtype: DTypeLike, *args: Operand, **named: Operand) -> Operand:
        return type(self)(self.whole.astype(dtype, *args, **named), self.kept)

    def copy(self, order: str = "C") -> Operand:
        return self.__copy__()

    def reshape(self, *shape: Operand, order: str = "C") -> Operand:
        wanted = tuple(shape[0]) if len(shape) == 1 and type(shape[0]) in (tuple, list) else shape
        made = self._reshaped(wanted) if order == "C" else None
        return self.settled().reshape(*shape, order=order) if made is None else made

    def _reshaped(self, shape: tuple[Operand, ...]) -> Operand:
        """The entries, row by row, in another shape; None if that needs a guard."""
        made: Operand = self
        for axis in self.kept:
            made = made.packed(axis)
        old: tuple[Operand, ...] = made.shape
        total: Operand = math.prod(old)
        unknown = [k for k, extent in enumerate(shape) if type(extent) is int and extent == -1]
        if len(unknown) == 1:
            others = math.prod(extent for k, extent in enumerate(shape) if k not in unknown)
            if type(others) is int and others < 1:
                return None
            rest = 1 if self.are_equal(total, others) is True else total // others
            shape = tuple(rest if k in unknown else extent for k, extent in enumerate(shape))
        if self.are_equal(total, math.prod(shape)) is not True:
            raise_where(total != math.prod(shape), lambda: ValueError("cannot reshape an array of this size"))
        flat: Operand = np.reshape(made.whole, (-1,))
        extents = [self.most(extent) or 0 for extent in shape]
        data = [k for k, extent in enumerate(shape) if is_tracked(extent)]
        if not 0 < math.prod(extents) <= MOST_ENTRIES or (not data and math.prod(extents) > flat.type.size):
            return None
        if {*made.kept} == {-made.ndim} and (not data or (len(data) == 1 and math.prod(extents[: data[0]]) == 1)):
            for k in data:
                extents[k] = flat.type.size // math.prod(extents[k + 1 :])
            whole = np.reshape(flat[: math.prod(extents)], extents)
        else:
            places: Operand = np.int64(0)
            for extent, most in zip(shape, extents):
                places = (places * extent)[..., None] + np.arange(most)
            if {*made.kept} != {-made.ndim}:
                places = made._flat_places(places, old)
            whole = made._gathered(np.clip(places, 0, flat.type.size - 1))
        return type(self)(whole, {k - len(shape): Kept.first(shape[k], extents[k]) for k in data}) if data else whole

    def _flat_places(self, places: Operand, shape: tuple[Operand, ...]) -> Operand:
        """Positions in the whole array, row by row, of positions among the entries."""
        found, step = 0, 1
        for extent, whole in zip(shape[::-1], self.whole.type.shape[::-1]):
            found = found + places % np.maximum(extent, 1) * step
            places, step = places // np.maximum(extent, 1), step * whole
        return found

    def ravel(self, order: str = "C") -> Operand:
        made = self if self.ndim == 1 else self._reshaped((-1,)) if order == "C" else None
        return self.settled().ravel(order) if made is None else made

    def flatten(self, order: str = "C") -> Operand:
        made = self if self.ndim == 1 else self._reshaped((-1,)) if order == "C" else None
        return self.settled().flatten(order) if made is None else made.__copy__()

    def sort(self, axis: int = -1, kind: object = None, order: object = None, *, stable: object = None) -> None:
        if self.ndim > 1:
            self.settled().sort(axis)
            return
        rank = np.cumsum(self.kept[-1].mask) - 1
        self.whole[...] = np.take(sort(self).whole, rank, mode="clip")


def _called(own: Callable[..., Operand] | None, args: tuple[Operand, ...], named: dict[str, Operand]) -> Operand:
    """The result of a function of compressed arrays; None if it needs settled ones."""
    if own is None:
        return None
    try:
        return own(*args, **named)
    except TypeError:  # arguments that only NumPy's function knows
        return None


def is_mask(index: Operand) -> bool:
    """True for an array of bools that is data, as an index."""
    return type(index) is TrackedArray and index.type.dtype == BOOL and bool(index.type.shape)


def _with_ints(entry: Operand) -> Operand:
    """An entry of an index, with Python's ints in place of NumPy's."""
    if type(entry) is slice:
        return slice(*map(_with_ints, (entry.start, entry.stop, entry.step)))
    return int(entry) if isinstance(entry, np.integer) and not is_tracked(entry) else entry


def _behind(position: Operand, count: Operand) -> Operand:
    """The position behind one, as an end of a slice that goes on to lower positions."""
    if type(position) is int:
        return count if position == -1 else position + 1
    return greater(from_start(position, count) + 1, 0)


def _is_position(key: Operand) -> bool:
    return type(key) is int or (type(key) is TrackedArray and not key.type.shape and key.type.dtype.kind == "i")
