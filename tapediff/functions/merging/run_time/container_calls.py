"""What rewritten functions call for containers that have become variables, and for entries at an index that data decides on."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from ....ir.instruction import BOOL, FLOAT64, INT64, Operand, Tree, ValueType, is_tracked
from ....numpy_api.indexing import in_range
from ....ops.arrays.indexing import GATHER
from ....recording.arrays.tracked import TrackedArray
from ....recording.masks import holds
from ....recording.recorder import current_recorder
from ..plain_numbers import may_be_plain, note_plain
from ..prepare.containers.records import record_class
from ..rules import Place, Refused, Refusing
from .carried_lists import array_of, is_number
from .gone_over.look_ups import item_at
from .reads.plain_rows import PlainRows
from .reads.selections import Selection, selected


class ContainerCalls(Refusing):
    """The part of the run time that is for containers."""

    def record_class(self, place: Place, kind: Tree, key: str) -> None:
        """Raise if a class has changed since objects of it became variables."""
        found = record_class(kind)
        if found is None or repr(found.key) != key:
            raise self._refuse("containers", place, f"{getattr(kind, '__name__', kind)} has changed")

    def index(self, place: Place, index: Tree, keys: tuple[int, ...], is_list: bool, is_whole: bool, is_positive: bool) -> Operand:
        """The entry that an index stands for, of a list with so many of them, or of a dict with these keys.

        Args:
            is_whole: the index is an int of Python's, or a float64 that stands for one.
            is_positive: it is not below zero.
        """
        if type(index) is not TrackedArray:
            return self._plain_index(place, index, keys, is_list)
        if index.type.shape or index._view is not None or not (index.type.dtype == INT64 or (index.type.dtype == FLOAT64 and is_whole)):
            raise self._refuse("containers", place, f"an index is {index.type}")
        if not is_list:
            if not _one_of(index, keys):
                raise KeyError(int(index._value))
            return index
        count = len(keys)
        is_within = index < count if is_positive else np.logical_and(index >= -count, index < count)
        if not is_within:
            raise IndexError("list index out of range")
        if is_positive:
            return index
        from_the_end: Operand = index < 0
        found: Operand = np.where(from_the_end, index + count, index)  # type: ignore[call-overload]  # of tracked values
        return note_plain(found)

    def entry_at(self, place: Place, index: Tree, array: Tree) -> Tree:
        """array[index]"""
        if type(index) is not TrackedArray:
            return array[index]
        index = self._whole(place, index)
        if type(array) is TrackedArray:
            return array[index.astype(np.int64)]
        if _are_tracked(array):
            found = array_of(array)[index.astype(np.int64)]
            return note_plain(found) if any(map(may_be_plain, array)) else found
        values = self._numbers_of(place, array)
        count = len(values)
        if not np.logical_and(index >= -count, index < count):
            raise IndexError(f"index {index._value} is out of bounds")
        return self._gathered(array, values, np.where(index < 0, index + count, index))  # type: ignore[call-overload]  # of tracked values

    def position(self, place: Place, index: Tree) -> Tree:
        """An index at which a turn writes to an array, as a whole number where it is data."""
        return self._whole(place, index).astype(np.int64) if type(index) is TrackedArray else index

    def gathered(self, place: Place, array: Tree, index: Tree, may_be_row: bool) -> Tree:
        """array[index]: gathered where the array is plain and the index data, and kept as a whole where a mask is.

        Args:
            may_be_row: nothing is written that may be a view of the array.
        """
        chosen = selected(array, index, partial(self._not_of_a_mask, place))
        if chosen is not None:
            return chosen
        found = looked_up(array, index)
        if found is None:
            return array[index]
        is_row = type(found) is TrackedArray and bool(found.ndim) and not _has_array_of_positions(index)
        if is_row and not may_be_row:
            return array[index]
        if is_row:
            self.note_row(place, array, found)
        return found

    def note_row(self, place: Place, array: Tree, row: Tree) -> None:
        """A row of a plain array is a view of it: refuse it at the end if either was written to."""
        if type(array) is np.ndarray and type(row) is TrackedArray and row.ndim:
            refuse = partial(self._refuse, "writes", place, "a row of an array is read, and it or the array is written to")
            PlainRows.of(row).note(array, row, refuse)

    def places(self, place: Place, function: Callable[..., Tree], a: Tree) -> Tree:
        """np.nonzero(a), np.flatnonzero(a), np.where(a): of a vector that is data the places are selected by a mask."""
        is_vector = type(a) is TrackedArray and a.ndim == 1
        found = selected(np.arange(len(a)), a if a.dtype == BOOL else a != 0, partial(self._not_of_a_mask, place)) if is_vector else None
        return function(a) if found is None else found if function == np.flatnonzero else (found,)

    def chosen_turns(self, place: Place, entries: Tree) -> list[tuple[Operand, Tree]]:
        """What a loop goes over: whether there is a turn for it, and the entry."""
        if type(entries) is not Selection:
            return [(True, entry) for entry in entries]
        found = entries.turns()
        if found is None:
            raise self._refuse("masks", place, "a loop over very many entries, or rows,")
        return found

    def _not_of_a_mask(self, place: Place, got: str) -> Refused:
        return self._refuse("masks", place, f"{got} of what a mask selects")

    def of_entries(self, function: Callable[[Tree], Operand], entries: Tree) -> Operand:
        """len(entries) or sum(entries), which is data where a mask that is data has selected them."""
        if type(entries) is not Selection:
            return function(entries)
        if function is len:
            return entries.length()
        # Of no entries it is an int.
        return 0 if holds(entries.is_empty) else entries.sum(axis=0)

    def entry_of_matrix(self, place: Place, index: tuple[Tree, ...], array: Tree) -> Tree:
        """array[index] of an array with several axes, where some of the indices may be data."""
        if not any(type(part) is TrackedArray for part in index):
            return array[index]
        parts = tuple([self._whole(place, part).astype(np.int64) if type(part) is TrackedArray else part for part in index])
        is_entry = type(array) in (TrackedArray, np.ndarray) and array.ndim == len(parts) and all(map(_is_whole, parts))
        found = None if not is_entry else array[parts] if type(array) is TrackedArray else looked_up(array, parts)
        if found is None:
            raise self._refuse("containers", place, f"it looks up {parts!r} in {type(array).__name__}")
        return found

    def entry_within(self, place: Place, index: Tree, array: Tree, limit: Tree) -> Tree:
        """array[index], which nobody asks for unless index < limit; it is not below zero."""
        if type(index) is not TrackedArray:
            try:
                return array[index] if index < limit else MISSING_ENTRY
            except IndexError as error:
                # Another condition may keep the program from asking.
                raise self._refuse("containers", place, f"an index that fails: {error}") from error
        index = self._whole(place, index)
        is_tracked_array = type(array) is TrackedArray and array.type.dtype == FLOAT64 and array.ndim == 1
        values: Operand = array if is_tracked_array else self._numbers_of(place, array)
        if type(limit) is not int or limit > len(values) or not len(values):
            raise self._refuse("containers", place, f"the index may be up to {limit}")
        at = np.minimum(index, len(values) - 1)
        return values[at.astype(np.int64)] if is_tracked_array else self._gathered(array, values, at)

    def appended(self, place: Place, value: Tree) -> Tree:
        """A number that a list gets, of which only the sum is used: a float64, or float."""
        is_number = type(value) is TrackedArray and not value.type.shape and value._view is None and value.type.dtype == FLOAT64
        if not is_number and type(value) not in (float, np.float64):
            raise self._refuse("containers", place, f"a list that data makes longer gets {getattr(value, 'type', type(value).__name__)}")
        return value

    def entry_of_some(self, part: str, is_one: Operand, value: Tree) -> Tree:
        """The largest, smallest or last entry of a list, of which there must be one."""
        if not is_one:
            raise IndexError("list index out of range") if part == "last" else ValueError(f"{part}() arg is an empty sequence")
        return value

    def sum_of(self, total: Tree) -> Tree:
        """The sum of a list, as NumPy has it."""
        found = np.add(total, 0.0)
        if type(found) is TrackedArray and found is not total and found._id != getattr(total, "_id", None):
            found._recorder.plain_numbers[found._id] = False  # NumPy's own
        return found

    def mean_of(self, total: Tree, count: Tree) -> Tree:
        """The mean of a list, as NumPy has it."""
        return np.divide(self.sum_of(total), count)

    def _whole(self, place: Place, index: TrackedArray) -> TrackedArray:
        """An index, which stands for an int of Python's."""
        if index.type.shape or index._view is not None or index.type.dtype not in (FLOAT64, INT64):
            raise self._refuse("containers", place, f"an index is {index.type}")
        return index

    def _numbers_of(self, place: Place, array: Tree) -> np.ndarray:
        """The entries of an array of float64, or list or tuple of floats."""
        if type(array) in (list, tuple) and 0 < len(array) <= LONGEST_LIST and all(type(v) is float for v in array):
            return np.array(array)
        if type(array) is not np.ndarray or array.dtype != FLOAT64 or array.ndim != 1:
            raise self._refuse("containers", place, f"data decides which entry of {type(array).__name__} is read")
        return array

    def _gathered(self, array: Tree, values: np.ndarray, index: TrackedArray) -> Operand:
        found = GATHER(values, index.astype(np.int64))
        return found if array is values else note_plain(found)

    def _plain_index(self, place: Place, index: Tree, keys: tuple[int, ...], is_list: bool) -> int:
        if type(index) not in (int, np.int64):
            raise self._refuse("containers", place, f"an index is {type(index).__name__}")
        return range(len(keys))[index] if is_list else keys[keys.index(index)]


def looked_up(array: Tree, index: Tree) -> Tree:
    """The entry, or row, of a plain array, or of a list of floats, at a whole number that is data; None of anything else.

    In the turns of long loops also an item of a list, tuple or dict; see look_ups.py.

    Of a tracked array as well, where the program may not reach this: it then counts only there whether there is such an entry.
    """
    parts = index if type(index) is tuple else (index,)
    if not any(type(part) is TrackedArray for part in parts):
        return None
    if type(array) is np.ndarray and _has_array_of_positions(parts):
        return current_recorder().tracked_constant(array)[index] if array.dtype in _TABLES else None
    if not all(map(_is_position, parts)):
        return None
    if type(array) in (list, tuple, dict):
        found = item_at(array, parts, lambda table: GATHER(table, _positions(parts, table.shape)))
        if found is not None or type(array) is dict:
            return found
        is_table = len(parts) == 1 and 0 < len(array) <= LONGEST_LIST and all(type(v) is float for v in array)
        return note_plain(GATHER(np.array(array), _positions(parts, (len(array),)))) if is_table else None
    is_plain = type(array) is np.ndarray and array.dtype in _TABLES
    if not is_plain and not (type(array) is TrackedArray and _is_masked()):
        return None
    return GATHER(array, _positions(parts, array.shape)) if array.size and len(parts) <= array.ndim else None


def _are_tracked(array: Tree) -> bool:
    """Whether an object is a short list or tuple of floats, with tracked ones among them."""
    if type(array) not in (list, tuple) or not any(type(entry) is TrackedArray for entry in array[:LONGEST_TRACKED]):
        return False
    return len(array) <= LONGEST_TRACKED and all(type(entry) is not int and is_number(entry) for entry in array)


def _is_whole(part: Tree) -> bool:
    return type(part) in (int, np.int64, TrackedArray)


def _has_array_of_positions(index: Tree) -> bool:
    """Whether there is an array of whole numbers that are data in an index, which selects a copy."""
    parts = index if type(index) is tuple else (index,)
    return any(type(part) is TrackedArray and part.type.dtype.kind == "i" and bool(part.type.shape) for part in parts)


def _is_position(part: Tree) -> bool:
    """Whether a part of an index is a whole number, which may be data, or a slice."""
    if type(part) is TrackedArray:
        return part.type == _WHOLE and part._view is None
    return isinstance(part, (int, np.integer, slice)) and type(part) is not bool


def _positions(parts: tuple[Operand, ...], shape: tuple[int, ...]) -> Operand:
    """Flat positions, in the shape of the result."""
    offset: Operand = 0
    grid = np.zeros((), np.int64)
    for axis, extent in enumerate(shape):
        part = parts[axis] if axis < len(parts) else slice(None)
        stride = math.prod(shape[axis + 1 :])
        if isinstance(part, slice):
            grid = grid[..., np.newaxis] + np.arange(extent)[part] * stride
        else:
            offset = offset + _entry_or_another(part, extent, axis) * stride
    return grid + offset


def _entry_or_another(part: Operand, extent: int, axis: int) -> Operand:
    """An index counted from the start; where the program does not reach this, of some entry that there is.

    Raises:
        IndexError: there is no such entry, which is a guard.
    """
    if not is_tracked(part) or not _is_masked():
        return in_range(part, extent, axis)
    if holds(lambda: np.logical_or(part < -extent, part >= extent)):
        raise IndexError(f"an index is out of bounds for axis {axis} with size {extent}")
    found = np.minimum(np.maximum(part, -extent), extent - 1)
    return np.where(found < 0, found + extent, found)


def _is_masked() -> bool:
    """Whether the program may not reach what is recorded now."""
    recorder = current_recorder()
    return recorder is not None and recorder.mask is not None


_WHOLE = ValueType((), INT64)
_TABLES = (FLOAT64, INT64, BOOL)


def _one_of(index: TrackedArray, keys: tuple[int, ...]) -> Operand:
    found: Operand = index == keys[0]
    for key in keys[1:]:
        found = np.logical_or(found, index == key)
    return found


# In place of an entry that there is not.
MISSING_ENTRY = 0.0

# A look-up in a list of tracked numbers copies them all.
LONGEST_TRACKED = 64

# Of longer lists it takes long to see what they consist of.
LONGEST_LIST = 1_000
