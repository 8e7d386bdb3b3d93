"""What long loops call of which turns write entries of arrays and lists; see prepare/long_loops/entries_by_turn.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import NamedTuple

import numpy as np

from ....base.current_recording import current_recorder
from ....ir.auxiliary import EMPTY_CELL
from ....ir.instruction import BOOL, FLOAT64, INT64, Operand, Tree
from ....numpy_api.joining import stack
from ....recording.arrays.numbers import all_entries
from ....recording.arrays.tracked import TrackedArray
from ....recording.masks import holds
from ....recording.python_state.filled_arrays import Replacement
from ..plain_numbers import may_be_plain, note_plain
from ..prepare.long_loops.which_loops import SHORTEST
from ..rules import Place, Refusing
from .array_copies import require_filled, root_of
from .carried_lists import array_of, is_number
from .gone_over.entries import Count, Over, counted
from .whole_numbers.int_arrays import WRITTEN, as_stored
from .whole_numbers.int_lists import Kept, as_kept_int, note_read, table_of_ints
from .whole_numbers.int_lists import kept as kept_of

# What else a turn reads is looked through for the arrays that it writes to, up to so many objects.
MOST_OBJECTS = 10_000

# Turns that write at positions which are data copy the array.
LARGEST_AT_POSITIONS = 64


class Column(NamedTuple):
    """Entries that turns write.

    Attributes:
        array: an array, or a list that turns append to.
        rest: the indices behind the first one.
        written: the distance of the entry from the number of the turn; of a list that is to be its length, None where it is not asked.
        step: by which the turns are counted.
        has_in_place: turns change variables in place that may be entries.
        name: of the variable that an entry is in a turn.
    """

    array: Tree
    rest: tuple[int, ...]
    is_list: bool
    written: int | None
    step: int
    has_in_place: bool
    name: str

    @property
    def row(self) -> tuple[int, ...]:
        """The shape of an entry of the array."""
        return self.array.shape[1 + len(self.rest) :]


class TurnEntries(Refusing):
    """The part of the run time that is for entries which turns write.

    Attributes:
        open_turns: how many turns are being recorded, one within the other.
        counts: how the loops count their turns.
        written_dtypes: by loop and column, of the array to which its turns write; None of lists.
    """

    counts: dict[Place, Count]
    written_dtypes: dict[tuple[Place, str], np.dtype | None]
    open_turns = 0

    def first_entries(
        self, place: Place, values: Tree, columns: Sequence[Sequence[Tree]], asked: Sequence[tuple[int, Sequence[int]]],
        others: Sequence[Tree],
    ) -> tuple[Operand, ...]:  # fmt: skip
        """What arrays and lists hold before a loop: by column the newest entries, then the rows that turns read of what was there.

        Args:
            values: what the loop goes over.
            columns: see Column.
            asked: for each, how many of the newest entries, and the distances of the rows.
            others: all else that turns read, none of which may show one of the arrays.
        """
        found = [Column(*column) for column in columns]
        self.written_dtypes.update({(place, c.name): getattr(c.array, "dtype", None) for c in found})
        start, _, length = counted(values)
        if not length:
            raise self._refuse("bound", place, "the loop has no turns, or not a known number of them")
        for column, (count, _) in zip(found, asked):
            self._check(place, column, start, length)
            if not column.is_list and count > len(column.array):
                raise self._refuse("writes", place, f"a turn reads an array of {len(column.array)} entries beyond its beginning")
        arrays = {id(column.array): column.array for column in found}.values()
        roots = {id(root_of(array)) if type(array) is TrackedArray else id(array) for array in arrays}
        if len(roots) < len(arrays):
            raise self._refuse("writes", place, "it writes to an array by two names")
        if _may_show(others, roots):
            raise self._refuse("writes", place, "it may read what it writes to by another name")
        try:
            newest = [_newest(column, start, k) for column, (count, _) in zip(found, asked) for k in range(1, count + 1)]
        except IndexError as error:
            raise self._refuse("writes", place, f"a turn reads what is not there: {error}") from error
        rows = [(column, by) for column, (_, distances) in zip(found, asked) for by in distances]
        return (*newest, *(self._rows(place, column, (start or 0) + by, length) for column, by in rows))

    def _check(self, place: Place, column: Column, start: int | None, length: int) -> None:
        """Refuse what is no list or array in which all turns can write their entries."""
        array, written = column.array, column.written
        if column.is_list:
            if type(array) is not list:
                raise self._refuse("containers", place, f"it appends to {type(array).__name__}")
            if written is not None and (start is None or len(array) != start + written):
                raise self._refuse("containers", place, "it reads a list at the number of the turn, which is not its length")
            return
        require_filled(array)
        if type(array) is list and not column.rest and not self.open_turns and start is not None and written is not None:
            if not all(0 <= k < len(array) for k in (start + written, start + written + column.step * (length - 1))):
                raise self._refuse("writes", place, f"it writes beyond the end of a list of {len(array)}")
            return
        if type(array) is not TrackedArray or array.type.dtype not in WRITTEN or array.ndim <= len(column.rest):
            raise self._refuse("writes", place, f"it writes to {getattr(array, 'type', type(array).__name__)}")
        # What a turn writes to it has made, by its text.
        is_outside = self.open_turns and (array._recorder is not current_recorder() or array._view is not None)
        if is_outside or start is None or written is None or any(k >= n for k, n in zip(column.rest, array.shape[1:])):
            raise self._refuse("writes", place, "it writes to an array that a turn of another loop has not made, or beyond its end")
        ends = start + written, start + written + column.step * (length - 1)
        if not all(0 <= k < len(array) for k in ends):
            raise self._refuse("writes", place, f"it writes the entries {ends[0]} to {ends[1]} of an array of {len(array)}")
        if column.row and column.has_in_place:
            raise self._refuse("scalars", place, "it changes variables in place that may be rows of an array which it writes to")

    def _rows(self, place: Place, column: Column, first: int, length: int) -> Operand:
        """The entries that are there before a loop, one for each of its turns."""
        if type(column.array) is list:
            raise self._refuse("writes", place, "not every turn writes an entry of a list")
        if not all(0 <= k < len(column.array) for k in (first, first + column.step * (length - 1))):
            raise self._refuse("writes", place, "a turn reads what is not there")
        return column.array[(_part(first, length, column.step), *column.rest)].copy()

    def last_of(self, place: Place, values: Tree) -> int:
        """The last number of a range that a loop goes over, maybe with rows beside it."""
        numbers = values if type(values) is range else values.args[0]
        if not numbers:
            raise self._refuse("bound", place, "the loop has no turns")
        return numbers[-1]

    @staticmethod
    def sum_of_entries(total: Callable[[Tree], Operand], values: Tree) -> Operand:
        """sum(values)"""
        if type(values) is not list or len(values) < SHORTEST or not set(map(type, values)) <= _NUMBERS:
            return total(values)
        tracked = [value for value in values if type(value) is TrackedArray]
        return np.sum(stack(values)) if tracked and not any(value.type.shape for value in tracked) else total(values)

    @staticmethod
    def as_data(value: Operand) -> Operand:
        """What a loop goes over, with its whole numbers as data is."""
        return value.astype(FLOAT64) if type(value) is TrackedArray and value.type.dtype == INT64 and not value.shape else value

    def as_counted(self, place: Place, value: Operand) -> Operand:
        """What counts the turns of a loop, as data behind it: a whole number again, where it was one."""
        is_float = type(value) is TrackedArray and value.type.dtype == FLOAT64 and not value.shape
        known = self.counts.get(place)
        return value.astype(INT64) if is_float and known is not None and known.first is not None else value

    @staticmethod
    def table_of(values: Tree) -> tuple[Tree, bool]:
        """What a loop reads along its turns: an array of the numbers of a list; and whether Python's own are among them."""
        if type(values) is not list or not any(type(value) is TrackedArray for value in values):
            return values, False
        if all(map(is_number, values)):
            return array_of(values), any(map(may_be_plain, values))
        found = table_of_ints(values)
        return (values, False) if found is None else found

    def of_table(self, is_plain: bool, value: Operand, place: Place) -> Operand:
        """An entry of it."""
        found = note_read(value, holds) if is_plain else value
        if found is None:
            raise self._refuse("large", place, "it reads a list of large whole numbers")
        return found

    def kept_int(self, place: Place, value: Tree) -> Tree:
        """An int of Python's that a turn puts into a list, as a whole number where it is data, or the turn is one of a long loop."""
        if type(value) is int and not self.open_turns:
            return value
        found = as_kept_int(value, holds)
        if found is None:
            raise self._refuse("large", place, "it puts large whole numbers into a list")
        return found

    def require_apart(self, place: Place, arrays: Sequence[Tree], others: Sequence[Tree]) -> None:
        """Refuse arrays to whose entries turns write if one of them shows another one, or something else that turns read does."""
        roots = [id(root_of(each)) for each in arrays if type(each) is TrackedArray]
        if len(set(roots)) < len(roots) or _may_show(others, set(roots)):
            raise self._refuse("writes", place, "it may read what it writes to by another name")

    def state_to_write(self, place: Place, array: Tree, at_positions: bool) -> Tree:
        """An array to whose entries turns write, apart from it. `at_positions`: they write at whole numbers that may be data."""
        require_filled(array)
        if type(array) is not TrackedArray or array.type.dtype not in WRITTEN or not array.type.shape:
            raise self._refuse("writes", place, f"it writes to {getattr(array, 'type', type(array).__name__)}")
        if at_positions and array.size > LARGEST_AT_POSITIONS:
            raise self._refuse("cost", place, f"each turn would copy an array of {array.size} entries")
        return array.copy()

    def put_back(
        self, place: Place, values: Tree, arrays: Sequence[Tree], states: Sequence[Tree], given: Sequence[int]
    ) -> tuple[Tree, ...]:
        """Arrays that change places in every turn, with what is in them after the last one.

        Args:
            values: what the loop has gone over.
            given: for each name the number of the one whose array it gets.
        """
        # Whose array each name has after no turn, after one, and so on, until it has its own again.
        orders = [list(range(len(arrays)))]
        while (after := [orders[-1][k] for k in given]) != orders[0]:
            orders.append(after)
        turns = counted(values).length
        if not turns:
            raise self._refuse("bound", place, "the loop has no turns, or not a known number of them")
        held = [arrays[k] for k in orders[turns % len(orders)]]
        for array, state in zip(held, states):
            array[...] = state
        return tuple(held)

    @staticmethod
    def state_of_turn(array: Tree) -> Tree:
        """The same array of one turn."""
        return array.copy()

    def check_states(self, place: Place, after: Sequence[Tree], states: Sequence[int], kept: Sequence[Operand]) -> None:
        """Refuse a turn that hands on, or keeps, parts of arrays to which the next one writes."""
        roots = {id(root_of(after[k])) for k in states if type(after[k]) is TrackedArray}
        others = [value for k, value in enumerate(after) if k not in states]
        if roots and _may_show([*others, *kept], roots):
            raise self._refuse("scalars", place, "a variable may be a part of an array that turns write to")

    @staticmethod
    def append_own(values: list[Tree], value: Tree) -> None:
        """values.append(value), of a list that the turn has made."""
        values.append(value)

    def row_to_write(self, place: Place, row: Tree, others: Sequence[int], table: Tree = None) -> Tree:
        """A row of a table, apart from it. `others`: how far from it are rows that are read."""
        if type(row) is not TrackedArray or row.type.dtype not in WRITTEN or not row.type.shape:
            raise self._refuse("writes", place, f"it writes to {getattr(row, 'type', type(row).__name__)}")
        if table is not None and any(by % len(table) == 0 for by in others):
            raise self._refuse("writes", place, "rows of a table that it reads and writes are the same")
        return row.copy()

    @staticmethod
    def zipped(values: Tree, *rows: Operand) -> Over:
        """What a loop goes over, with rows beside it."""
        return Over(zip, [values, *rows])

    def stored_by_turn(self, place: Place, value: Operand, column: str) -> Operand:
        """A value as the array of a column has it, apart from its variable."""
        dtype = self.written_dtypes[place, column]
        if dtype is None:
            return value.copy() if type(value) is TrackedArray and value.shape else value
        found = as_stored(value, dtype, bool)
        if found is None:
            raise self._refuse("writes", place, f"it writes {getattr(value, 'type', value)!r}")
        return found

    def _check_kept(
        self, place: Place, columns: Sequence[Column], kept: Sequence[Operand], kinds: dict[str, Kept] | None
    ) -> None:
        """Refuse what a turn writes unless it is a whole entry. `kinds`: what the turns of a long loop put into lists, by column."""
        for column, value in zip(columns, kept):
            if type(column.array) is list:
                self._check_put(place, column, value, kinds)
            elif np.shape(value) != column.row or value.dtype != column.array.dtype:
                raise self._refuse("writes", place, f"it writes {value.dtype}{[*np.shape(value)]} to {column.array.dtype}{[*column.row]}")

    def _check_put(self, place: Place, column: Column, value: Operand, kinds: dict[str, Kept] | None) -> None:
        """Refuse what a turn puts into a list unless all turns put the like there."""
        found = kept_of(value)
        if found is None and kinds is None and type(value) is int:
            return
        if found is None or (found.shape and not column.is_list):
            raise self._refuse("containers", place, f"it puts {getattr(value, 'type', type(value).__name__)} into a list")
        if kinds is not None and kinds.setdefault(column.name, found) != found:
            raise self._refuse("containers", place, f"it puts {found} into a list, and {kinds[column.name]}")
        if found.shape and column.has_in_place:
            raise self._refuse("scalars", place, "it changes variables in place that may be arrays which it appends")

    def numbers_of(self, place: Place, values: Tree) -> range:
        """The numbers of the turns of a loop."""
        first, step, length = counted(values)
        if first is None or not length:
            raise self._refuse("bound", place, "the loop has no turns, or not a known number of them")
        return range(first, first + step * length, step)

    def require_kept_apart(self, place: Place, kept: Tree, others: Sequence[Tree]) -> None:
        """Refuse a list or array in which some turns keep something where something else that turns read may show it."""
        require_filled(kept)
        is_list = type(kept) is list
        if not is_list and (type(kept) is not TrackedArray or kept.type.dtype != FLOAT64):
            raise self._refuse("writes", place, f"it writes to {getattr(kept, 'type', type(kept).__name__)}")
        if _may_show(others, {id(kept) if is_list else id(root_of(kept))}):  # type: ignore[arg-type]  # no list
            raise self._refuse("writes", place, "it may read what it writes to by another name")

    def append_where(self, place: Place, where: Sequence[Tree], values: list[Tree], kept: Tree) -> None:
        """Append what some turns keep, of what all turns gave."""
        chosen = self._chosen(place, where, values)
        if type(kept) is not list:
            raise self._refuse("containers", place, f"it appends to {type(kept).__name__}")
        kept.extend(_all_of(chosen))

    def write_where(self, place: Place, where: Sequence[Tree], values: list[Tree], kept: Tree, index: Sequence[Tree]) -> None:
        """Write what some turns keep, of what all turns gave, to entries of an array."""
        at = [k for k, is_kept in zip(index, where) if is_kept]
        if type(kept) is not TrackedArray or not all(type(k) is int and -len(kept) <= k < len(kept) for k in at):
            raise self._refuse("writes", place, "it writes beyond the end of an array, or where data says")
        if len({k % len(kept) for k in at}) < len(at):
            raise self._refuse("writes", place, "it writes to an entry in several turns")
        chosen = self._chosen(place, where, values)
        rows = np.stack(chosen) if type(chosen) is list else chosen
        if np.shape(rows)[1:] != kept.shape[1:]:
            raise self._refuse("writes", place, "it writes parts of rows")
        if at:
            kept[np.array(at)] = rows

    def _chosen(self, place: Place, where: Sequence[Tree], values: list[Tree]) -> Operand | list[Tree]:
        """The values of some turns: an array of numbers, or a list of arrays."""
        if not set(map(type, where)) <= {bool, np.bool_} or len(where) != len(values):
            raise self._refuse("guards", place, "it keeps values where data says")
        at = [k for k, is_kept in enumerate(where) if is_kept]
        if at and all(map(is_number, values)) and any(type(value) is TrackedArray for value in values):
            if any(map(may_be_plain, values)):
                raise self._refuse("numbers", place, "it keeps plain numbers")
            return array_of(values)[np.array(at)]
        return [values[k] for k in at]

    def _write(self, columns: Sequence[Column], values: Tree, kept: Sequence[Operand], kinds: Mapping[str, Kept] = {}) -> None:
        """Write what all turns have kept: for each column an array of their entries, or a list of these."""
        start = counted(values).first
        for column, entries in zip(columns, kept):
            if type(column.array) is list:
                found = _all_of(entries)
                if column.name in kinds and kinds[column.name].is_plain:
                    found = [*map(note_plain, found)]
                if column.is_list:
                    column.array.extend(found)
                else:
                    column.array[_part((start or 0) + (column.written or 0), len(found), column.step)] = found
                continue
            assert start is not None
            assert column.written is not None
            rows = np.stack(entries) if type(entries) is list else entries
            column.array[(_part(start + column.written, len(rows), column.step), *column.rest)] = rows


def _all_of(entries: Operand | Sequence[Tree]) -> list[Tree]:
    """The entries of an array, or of a list of them."""
    if type(entries) is not TrackedArray or entries.ndim > 1 or entries.type.dtype == BOOL or not entries._recorder.concrete:
        return [entries[k] for k in range(len(entries))]
    found = all_entries(entries)
    entries._recorder.entry_runs.append((found[0]._id, entries))
    return found


def _newest(column: Column, start: int | None, turns: int) -> Operand:
    """The entry that would have been written so many turns before the first one."""
    if column.is_list:
        return column.array[-turns]
    assert start is not None
    assert column.written is not None
    if type(column.array) is list:
        found = column.array[start + column.written - turns * column.step]
        return as_kept_int(found, holds) if type(found) is int else found
    found = column.array[(start + column.written - turns * column.step, *column.rest)]
    return found.copy() if found.shape else found


def _part(first: int, length: int, step: int) -> slice:
    last = first + step * length
    return slice(first, last if last >= 0 else None, step)


def _may_show(values: Iterable[Tree], roots: set[int]) -> bool:
    """Whether values may show one of some arrays, or be one of some lists."""
    pending, seen = list(values), set[int]()
    while pending:
        part = pending.pop()
        kind = type(part)
        if id(part) in roots or len(seen) > MOST_OBJECTS:
            return True
        if id(part) in seen or kind in _APART or isinstance(part, (type, np.generic)):
            continue
        seen.add(id(part))
        if kind is TrackedArray:
            if id(root_of(part)) in roots:
                return True
        elif kind in (list, tuple):
            if not set(map(type, part)) <= _APART:
                pending += part
        elif kind is dict:
            pending += part.values()
        elif kind is FunctionType:
            pending += [cell.cell_contents for cell in part.__closure__ or () if cell != EMPTY_CELL]
            pending += [*(part.__defaults__ or ()), *(part.__kwdefaults__ or {}).values()]
        elif kind is MethodType:
            pending.append(part.__self__)
        elif kind is np.ndarray:
            if part.dtype == object:
                return True
        elif hasattr(part, "__dict__") and not isinstance(part, Replacement):
            pending += vars(part).values()
        elif not isinstance(part, (range, np.ufunc, np.dtype, Replacement)):
            return True
    return False


_NUMBERS = frozenset((TrackedArray, float, np.float64))
_APART = frozenset((float, int, bool, str, type(None), BuiltinFunctionType, ModuleType, range, np.float64, np.int64, np.bool_))
