"""Turns an index expression `x[...]` into a Region (basic indexing) or an array of positions in the flattened array."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache, reduce

import numpy as np

from ..base.current_recording import current_recorder
from ..errors import UnsupportedFunction
from ..ir.instruction import Operand, Recorded, is_tracked
from ..ops.arrays.indexing import Region
from ..ops.elementwise.arithmetic import CONVERT
from ..ops.elementwise.comparison import SELECT


def is_basic(index: Operand) -> bool:
    entries = index if type(index) is tuple else (index,)
    return all(
        entry is None
        or entry is Ellipsis
        or type(entry) is slice
        or (isinstance(entry, (int, np.integer)) and not isinstance(entry, (bool, np.bool_, Recorded)))
        for entry in entries
    )


def is_tracked_index(index: Operand) -> bool:
    return is_tracked(index) or (type(index) in (list, tuple) and holds_tracked_index(index))


def with_known_entries(index: Operand) -> Operand:
    """Make tracked parts of an index plain if they depend on constants alone, in recordings that make tracked arrays of constants."""
    if is_tracked(index):
        plain = index._plain()
        return index if plain is None else plain
    return type(index)(map(with_known_entries, index)) if type(index) in (list, tuple) else index


def place_of(index: Operand) -> tuple[Operand, ...] | None:
    """A key of an index of slices and integers, some of them tracked, for which NumPy returns a view; None for any other index.

    0-d arrays are not integers here: NumPy copies for these.
    """
    entries = index if type(index) is tuple else (index,)
    if not all(is_basic(e) or (is_tracked(e) and not e.shape and e.dtype.kind == "i" and e._view is None) for e in entries):
        return None
    return tuple([(e._recorder, e._id) if is_tracked(e) else e for e in entries])


def at_first_entries(index: Operand) -> Operand:
    """An index with 0 in place of tracked entries, and zeros in place of arrays and lists of them."""
    if type(index) is tuple:
        return tuple(map(_first_entry, index))
    return _first_entry(index)


def _first_entry(entry: Operand) -> Operand:
    if issubclass(type(entry), list) and holds_tracked_index(entry):
        return [_first_entry(e) for e in entry]
    if not is_tracked(entry):
        return entry
    return np.zeros(entry.shape, np.int64) if entry.shape else 0


def holds_tracked_index(entries: Sequence[Operand]) -> bool:
    """True if a list or tuple, nested or not, holds a tracked value."""
    return any(is_tracked(entry) or (type(entry) in (list, tuple) and holds_tracked_index(entry)) for entry in entries)


def region_of(index: Operand, shape: tuple[int, ...]) -> Region:
    """The box that a basic index selects; raises IndexError as NumPy does."""
    if type(index) is int and len(shape) == 1:
        extent = shape[0]
        if not -extent <= index < extent:
            raise IndexError(f"index {index} is out of bounds for axis 0 with size {extent}")
        return Region((index + extent if index < 0 else index,), (1,), (1,), ())
    if type(index) is int and shape and -shape[0] <= index < shape[0]:
        return _row(index % shape[0], shape)
    entries = index if type(index) is tuple else (index,)
    key: list[Operand] = []
    for entry in entries:
        if type(entry) is slice:  # slices have no hash before Python 3.12
            entry = (entry.start, entry.stop, entry.step)
            if not _PLAIN.issuperset(map(type, entry)):
                return _region_of(entries, shape)
        elif type(entry) not in _PLAIN:
            return _region_of(entries, shape)
        key.append(entry)
    return _known_region(tuple(key), shape)


_PLAIN = frozenset((int, type(None), type(Ellipsis)))


@lru_cache(4096)
def _known_region(key: tuple[Operand, ...], shape: tuple[int, ...]) -> Region:
    """Cached, as loops read the same box at every iteration. (Slices of other objects bypass the cache: hashing these may be a guard.)"""
    return _region_of([slice(*entry) if type(entry) is tuple else entry for entry in key], shape)


def _region_of(index: Sequence[Operand], shape: tuple[int, ...]) -> Region:
    entries = list(index)
    used = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if used > len(shape):
        raise IndexError(f"too many indices: array is {len(shape)}-dimensional, but {used} were indexed")
    if Ellipsis in [e for e in entries if e is Ellipsis]:
        where = next(k for k, e in enumerate(entries) if e is Ellipsis)
        entries[where : where + 1] = [slice(None)] * (len(shape) - used)
    else:
        entries += [slice(None)] * (len(shape) - used)
    starts, steps, counts, out = [], [], [], []
    axis = 0
    for entry in entries:
        if entry is None:
            out.append(1)
            continue
        extent = shape[axis]
        if isinstance(entry, slice):
            start, stop, step = entry.indices(extent)
            count = len(range(start, stop, step))
            out.append(count)
            starts.append(start if count else 0)
            steps.append(step if count else 1)
        else:
            position = operator.index(entry)
            if not -extent <= position < extent:
                raise IndexError(f"index {position} is out of bounds for axis {axis} with size {extent}")
            count = 1
            starts.append(position % extent)
            steps.append(1)
        counts.append(count)
        axis += 1
    return Region(tuple(starts), tuple(steps), tuple(counts), tuple(out))


@lru_cache(1024)
def _row(index: int, shape: tuple[int, ...]) -> Region:
    """The region of x[k] for an array of several axes; cached, as loops read the same rows at every iteration."""
    rest = shape[1:]
    return Region((index, *(0 for _ in rest)), (1,) * len(shape), (1, *rest), rest)


def positions_of(index: Operand, shape: tuple[int, ...]) -> np.ndarray:
    """The flat positions selected by an advanced index of plain arrays, in the shape of the result."""
    return np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)[index]


# Positions of whole rows are recorded row by row from this number on; fewer are all looked at, to find boxes among them.
MOST_WRITTEN_OUT = 2**16


def recorded_positions(x: Operand, index: Operand) -> Operand:
    """positions_of, for the recording of x: the first position of each row plus those within a row, where an index selects many rows."""
    *used, last = entries = index if type(index) is tuple else (index,)
    while used and type(last) is slice and last == slice(None):
        *used, last = entries = tuple(used)
    if not any(e is None or e is Ellipsis for e in entries):
        axes = sum(np.ndim(e) if np.asarray(e).dtype == np.bool_ else 1 for e in entries if type(e) is not slice)
        axes += sum(type(e) is slice for e in entries)
        size = math.prod(x.shape[axes:])
        if size > 1:
            rows = positions_of(entries, x.shape[:axes])
            if rows.size * size >= MOST_WRITTEN_OUT and rows.size > 1:
                first = x._recorder.tracked_constant(np.reshape(rows * size, (*rows.shape, *(1 for _ in x.shape[axes:]))))
                return first + np.arange(size).reshape(x.shape[axes:])
    return positions_of(index, x.shape)


def tracked_positions_of(index: Operand, shape: tuple[int, ...]) -> Operand:
    """The flat positions selected by an index with tracked integers, computed by tracked integer arithmetic.

    The range check is a guard: a kernel has no bounds checks of its own.

    Raises:
        IndexError: out of bounds, as NumPy.
        UnsupportedFunction: tracked integers mixed with slices in a way this does not cover.
    """
    entries = _entry_of_each_axis(index if type(index) is tuple else (index,), shape)
    advanced = [k for k, entry in enumerate(entries) if not isinstance(entry, slice)]
    if advanced != list(range(advanced[0], advanced[-1] + 1)):
        raise UnsupportedFunction("tracked indices separated by a slice", fix="index in two steps")
    strides = [math.prod(shape[k + 1 :]) for k in range(len(shape))]
    index_shape = np.broadcast_shapes(*(np.shape(entries[k]) for k in advanced))
    trailing = len(entries) - 1 - advanced[-1]
    terms: list[Operand] = []
    for axis, entry in enumerate(entries):
        if isinstance(entry, slice):
            places = np.arange(shape[axis], dtype=np.int64)[entry] * strides[axis]
            after = (
                len(entries) - 1 - axis
                if axis > advanced[-1]
                else len(index_shape) + len(entries) - 1 - axis - len(advanced)
            )
            terms.append(places.reshape((-1,) + (1,) * after))
        else:
            term = in_range(entry, shape[axis], axis)
            term = term if strides[axis] == 1 else term * strides[axis]
            terms.append(np.reshape(term, np.shape(term) + (1,) * trailing) if trailing else term)
    return reduce(operator.add, terms)


def _entry_of_each_axis(index: tuple[Operand, ...], shape: tuple[int, ...]) -> list[Operand]:
    """The index with slices for `...` and what is left out, and with positions along each axis for masks of one or more axes."""
    if any(e is None or (not is_tracked(e) and np.ndim(e) == 0 and np.asarray(e).dtype == np.bool_) for e in index):
        raise UnsupportedFunction("a tracked index together with np.newaxis or a bool", fix="index first, then add the axis")
    masks = [not is_tracked(e) and np.ndim(e) > 0 and np.asarray(e).dtype == np.bool_ for e in index]
    left = len(shape) - sum(np.ndim(e) if is_mask else e is not Ellipsis for e, is_mask in zip(index, masks))
    entries: list[Operand] = []
    for entry, is_mask in zip(index, masks):
        if entry is Ellipsis:
            entries += [slice(None)] * left
        elif is_mask:
            at = shape[len(entries) : len(entries) + np.ndim(entry)]
            if np.shape(entry) != at:
                raise IndexError(f"boolean index of shape {np.shape(entry)} did not match indexed axes of shape {at}")
            entries += np.nonzero(entry)
        else:
            entries.append(np.zeros(0, np.int64) if type(entry) is list and not entry else entry)
    return entries + [slice(None)] * (len(shape) - len(entries))


def in_range(entry: Operand, extent: int, axis: int) -> Operand:
    """Index entries counted from the start; a guard checks that tracked ones are in range."""
    if not is_tracked(entry):
        entry = np.asarray(entry)
        if entry.dtype.kind not in "iu":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
    elif entry.dtype.kind == "f":
        raise IndexError("arrays used as indices must be of integer type; use .astype(int)")
    outside = f"an index is out of bounds for axis {axis} with size {extent}"
    recorder = current_recorder() if is_tracked(entry) else None
    if recorder is not None and recorder.inside is not None:
        return recorder.inside(entry, extent, outside)
    if not bool(np.all((entry >= -extent) & (entry < extent))):
        raise IndexError(outside)
    counted = entry if entry.dtype == np.int64 else CONVERT(entry, dtype=np.dtype(np.int64))
    return SELECT(entry < 0, entry + extent, counted)
