"""Sequences as tables of vectors: an entry at a data-dependent position is a gather of each column, a permutation is one, too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....base.current_recording import current_recorder
from ....ir.instruction import FLOAT64, INT64
from ....recording.arrays.numbers import all_entries
from ....recording.arrays.tracked import TrackedArray
from ...anything import Object
from ..joins import LEAST_GATHERED, join, maybe
from ..numbers.bounds import below, equals, smaller
from ..numbers.python_numbers import Kind, is_int, is_python, note_kind, one_more
from ..values import Unjoinable, counted_from, is_data, note_packed, on_path, packed_count, parted, state
from .forms import Constant, Form, Number, Options, Parts, form_of, number_form, reference_of

_DTYPES: tuple[set[Object], ...] = ({"<f8", float, np.float64}, {"<i8", int, np.int64}, {"<f4", np.float32})
# Larger ints, and their sums, may not fit into 64 bits.
_LARGE = 1 << 62


class Column:
    """Numbers of one dtype, or conditions."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: list[Object]) -> None:
        self.numbers = numbers

    def flags(self) -> tuple[Object, Object]:
        """True for Python's numbers, and for ints: a flag for all (None if unknown), or a list."""
        return _flags(list(map(is_python, self.numbers))), _flags(list(map(is_int, self.numbers)))

    def vector(self) -> Object:
        """The numbers as a tracked vector."""
        return stacked(self.numbers)

    def own_vector(self) -> Object:
        """A vector of the current recording that may be written to."""
        vector, recorder = self.vector(), current_recorder()
        return vector if vector._recorder is recorder else recorder.capture(vector).copy()

    def at(self, position: Object) -> Object:
        """The number at a position."""
        kind = Kind(*(_at(flags, position) for flags in self.flags()))
        return note_kind(np.take(self.vector(), position, mode="clip"), kind)

    def ordered(self, order: Object) -> list[Object]:
        """All numbers, permuted."""
        found = listed(np.take(self.vector(), order, mode="clip"))
        kinds = [listed(_at(flags, order)) if type(flags) is list else [flags] * len(found) for flags in self.flags()]
        return [note_kind(number, Kind(*kind)) for number, *kind in zip(found, *kinds)]

    def with_last_at(self, position: Object) -> list[Object]:
        """All numbers but the last one, which replaces the one at a position."""
        *others, number = self.numbers
        vector, last = Column(others).own_vector(), len(others) - 1
        # One write, which a loop does in place; the position may be behind the end.
        vector[smaller(position, last)] = np.where(below(last, position), vector[last], number)
        made, kind = listed(vector), Kind(*self.flags())
        if list not in map(type, kind):
            return [note_kind(entry, kind) for entry in made]
        return [note_kind(entry, (equals(position, k), number, old)) for k, (entry, old) in enumerate(zip(made, others))]

    def with_last_where(self, mask: Object) -> list[Object]:
        """All numbers but the last one, which replaces those that a mask selects."""
        *others, number = self.numbers
        made, kind = listed(np.where(mask, number, stacked(others))), Kind(*self.flags())
        if list not in map(type, kind):
            return [note_kind(entry, kind) for entry in made]
        return [note_kind(entry, (truth, number, old)) for truth, entry, old in zip(mask, made, others)]

    def halves_joined(self, test: Object) -> list[Object]:
        """The first half of the numbers where a test holds, else the second one."""
        half = len(self.numbers) // 2
        yes, no = self.numbers[:half], self.numbers[half:]
        if all(a is b for a, b in zip(yes, no)):
            return yes
        made, kind = listed(np.where(test, stacked(yes), stacked(no))), Kind(*self.flags())
        if list not in map(type, kind):
            return [note_kind(entry, kind) for entry in made]
        return [note_kind(entry, (test, a, b)) for entry, a, b in zip(made, yes, no)]


class Table:
    """Values of one form: a column for each of its leaves."""

    __slots__ = ("columns", "count", "form")

    def __init__(self, form: Form, columns: list[Column], count: int) -> None:
        self.form, self.columns, self.count = form, columns, count

    def at(self, position: Object) -> Object:
        """The value at a position."""
        return self.form.made(column.at(position) for column in self.columns)

    def ordered(self, order: Object) -> list[Object]:
        """All values, permuted."""
        return self._values([column.ordered(order) for column in self.columns], self.count)

    def with_last_at(self, position: Object) -> list[Object]:
        """All values but the last one, which replaces the one at a position."""
        return self._values([column.with_last_at(position) for column in self.columns], self.count - 1)

    def with_last_where(self, mask: Object) -> list[Object]:
        """All values but the last one, which replaces those that a mask selects."""
        return self._values([column.with_last_where(mask) for column in self.columns], self.count - 1)

    def halves_joined(self, test: Object) -> list[Object]:
        """The first half of the values where a test holds, else the second one."""
        return self._values([column.halves_joined(test) for column in self.columns], self.count // 2)

    def _values(self, columns: list[list[Object]], count: int) -> list[Object]:
        return [self.form.made(iter(row)) for row in (zip(*columns) if columns else [()] * count)]


def table_of(values: Sequence[Object]) -> Table | None:
    """A table of numbers, constants, choices of these, equal-length tuples of them, or references; None for anything else."""
    is_of_numbers = _is_uniform(values)
    form = number_form(values[0]) if is_of_numbers else _form_of(values)
    if form is not None and is_of_numbers:
        return Table(form, [Column(list(values))], len(values))
    if form is None:
        return None
    columns = list(map(list, zip(*map(form.leaves, values))))
    is_flat = all(type(blank) is bool or _is_uniform(column) for blank, column in zip(form.blank(), columns))
    return Table(form, list(map(Column, columns)), len(values)) if is_flat else None


def _form_of(values: Sequence[Object]) -> Form | None:
    """The narrowest form of all values; None if it holds others than numbers, constants, tuples, and mutable objects by reference."""
    if (references := reference_of(values)) is not None:
        return references
    form = None
    try:
        for value in values:
            if form is None:
                form = form_of(value)
            elif form.leaves(value) is None:
                form = form.wider(value)
            if not _is_of_values(form):
                return None
    except Unjoinable:
        return None
    return form


def _is_of_values(form: Form) -> bool:
    parts = form.parts if isinstance(form, Parts) and issubclass(form.kind, tuple) else form.options if isinstance(form, Options) else None
    if parts is not None:
        return all(map(_is_of_values, parts))
    return isinstance(form, Constant) or (isinstance(form, Number) and not form.shape)


def joined_by_columns(test: Object, yes: Sequence[Object], no: Sequence[Object]) -> list[Object] | None:
    """The entries after a branch of a long sequence that a loop carries, changed in many places; None for others."""
    if not state.is_in_loop or sum(a is not b for a, b in zip(yes, no)) < LEAST_GATHERED:
        return None
    first, second = (_packed(list(map(parted, side))) for side in (yes, no))
    if first is None or second is None:
        return None
    (count, ours), (other, theirs) = first, second
    table = table_of([*ours, *theirs[len(ours) :], *theirs, *ours[len(theirs) :]])
    return None if table is None else by_position(join(test, count, other), table.halves_joined(test))


def _packed(entries: list[tuple[Object, Object]]) -> tuple[Object, list[Object]] | None:
    """The number of entries that exist, and the values by position; None where that takes more than a few writes."""
    conditions, values = [condition for condition, _ in entries], [value for _, value in entries]
    ready = packed_count(conditions)
    known = next((k for k, one in enumerate(conditions) if one is not True), ready)
    covered, count = counted_from(conditions[:ready], known) if known < ready else (0, 0)
    if covered < ready - known or len(entries) - ready > _MOST_APPENDED:
        return None
    count, found = known + count if known else count, values[:ready]
    for condition, value in entries[ready:]:
        found = appended(found, value, count)
        if found is None:
            return None
        count = one_more(count, condition)
    return count, found


# Maximum number of entries written one after the other.
_MOST_APPENDED = 4


def appended(values: list[Object], value: Object, count: Object) -> list[Object] | None:
    """The first `count` values and another one behind them, by position; None for a few, and others than a table's."""
    table = table_of([*values, value]) if len(values) >= LEAST_GATHERED else None
    return None if table is None else [*table.with_last_at(count), value]


def counted(conditions: list[Object]) -> Object:
    """The number of conditions that hold."""
    total, k = 0, 0
    while k < len(conditions):
        covered, count = counted_from(conditions, k) if is_data(conditions[k]) else (0, None)
        if covered:
            count = smaller(count, covered)
            total, k = (count if type(total) is int and not total else total + count), k + covered
        else:
            total, k = one_more(total, on_path(conditions[k])), k + 1
    return total


def by_position(count: Object, values: list[Object]) -> list[Object]:
    """The first `count` values, as conditional entries."""
    conditions = [below(k, count) for k in range(len(values))]
    note_packed(conditions, count)
    return [maybe(condition, value) for condition, value in zip(conditions, values) if condition is not False]


def slots(numbers: list[Object], order: Object = None) -> Object:
    """Stack numbers or arrays of one shape and dtype, permuted; the vector has their common kind."""
    column = Column(numbers)
    kind = Kind(*(None if type(flags) is list else flags for flags in column.flags()))
    return note_kind(column.vector() if order is None else np.take(column.vector(), order, axis=0, mode="clip"), kind, of_entries=True)


def of_slots(vector: TrackedArray) -> list[Object]:
    """The numbers that `slots` stacked; each has the vector's kind."""
    return [note_kind(entry, (True, vector, vector)) for entry in listed(vector)]


def _flags(flags: list[Object]) -> Object:
    """A common flag, or one for each."""
    if all(flag is flags[0] for flag in flags):
        return flags[0]
    return None if any(flag is None for flag in flags) else flags


def _at(flags: Object, position: Object) -> Object:
    return np.take(stacked(flags), position, mode="clip") if type(flags) is list else flags


def _is_uniform(numbers: Sequence[Object]) -> bool:
    """True for numbers of one dtype, and ints that fit into 64 bits."""
    kinds = {v.type.dtype.str if is_data(v) and not v.type.shape else type(v) for v in numbers}
    if not kinds or not any(kinds <= dtype for dtype in _DTYPES):
        return False
    return int not in kinds or all(is_data(v) or abs(v) < _LARGE for v in numbers)


def is_real(value: Object) -> bool:
    """True for ints and floats, tracked or not."""
    return type(value) in (int, float, np.float64) or (
        type(value) is TrackedArray and not value.type.shape and value.type.dtype.kind in "fi"
    )


def stacked(numbers: list[Object]) -> Object:
    """Stack numbers into a tracked vector."""
    return np.stack(numbers) if any(map(is_data, numbers)) else current_recorder().tracked_constant(np.array(numbers))


def listed(array: TrackedArray) -> list[Object]:
    """The entries of an array; of a vector of numbers, so that stacking them gives the vector."""
    if array.ndim > 1 or not len(array) or array.dtype not in (FLOAT64, INT64):
        return list(array)
    found = all_entries(array)
    array._recorder.entry_runs.append((found[0]._id, array))
    return found
