"""Numbers of sequences as vectors: an entry at a data-dependent position is a gather, a permutation is one, too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....base.current_recording import current_recorder
from ....ir.instruction import FLOAT64, INT64
from ....recording.arrays.numbers import all_entries
from ....recording.arrays.tracked import TrackedArray
from ...anything import Object
from ..values import is_data
from .bounds import below, equals, smaller
from .python_numbers import Kind, is_int, is_python, note_kind

_DTYPES: tuple[set[Object], ...] = ({"<f8", float, np.float64}, {"<i8", int, np.int64}, {"<f4", np.float32})
# Minimum number of entries for a gather at a data-dependent position.
LEAST_GATHERED = 9
# Larger ints, and their sums, may not fit into 64 bits.
_LARGE = 1 << 62


class Column:
    """Numbers of one dtype."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: list[Object]) -> None:
        self.numbers = numbers

    def flags(self) -> tuple[Object, Object]:
        """True for Python's numbers, and for ints: a flag for all (None if unknown), or a list."""
        return _flags(list(map(is_python, self.numbers))), _flags(list(map(is_int, self.numbers)))

    def vector(self) -> Object:
        """The numbers as a tracked vector."""
        return stacked(self.numbers)

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
        """All numbers, and the last one also at a position, in place of what was there."""
        *others, number = self.numbers
        vector, last = stacked(others), len(others) - 1
        # One write, which a loop does in place; the position may be that of the last one itself.
        vector[smaller(position, last)] = np.where(below(last, position), vector[last], number)
        made, kind = listed(vector), Kind(*self.flags())
        if list not in map(type, kind):
            return [*(note_kind(entry, kind) for entry in made), number]
        return [*(note_kind(entry, (equals(position, k), number, old)) for k, (entry, old) in enumerate(zip(made, others))), number]


def slots(numbers: list[Object]) -> Object:
    """Stack numbers or arrays of one shape and dtype; the vector has their common kind."""
    column = Column(numbers)
    kind = Kind(*(None if type(flags) is list else flags for flags in column.flags()))
    return note_kind(column.vector(), kind, of_entries=True)


def of_slots(vector: TrackedArray) -> list[Object]:
    """The numbers that `slots` stacked; each has the vector's kind."""
    return [note_kind(entry, (True, vector, vector)) for entry in listed(vector)]


def appended(values: list[Object], value: Object, count: Object) -> list[Object] | None:
    """The first `count` of numbers or tuples, and another one behind them; None for other things, and a few."""
    columns = columns_of([*values, value]) if len(values) >= LEAST_GATHERED else None
    if columns is None:
        return None
    made = [column.with_last_at(count) for column in columns]
    return list(zip(*made)) if type(value) is tuple else made[0]


def _flags(flags: list[Object]) -> Object:
    """A common flag, or one for each."""
    if all(flag is flags[0] for flag in flags):
        return flags[0]
    return None if any(flag is None for flag in flags) else flags


def _at(flags: Object, position: Object) -> Object:
    return np.take(stacked(flags), position, mode="clip") if type(flags) is list else flags


def columns_of(values: Sequence[Object]) -> list[Column] | None:
    """Numbers as one column, equal-length tuples of numbers as several; None for anything else."""
    if values and all(type(v) is tuple and len(v) == len(values[0]) for v in values):
        columns = [list(column) for column in zip(*values)]
    else:
        columns = [list(values)]
    return list(map(Column, columns)) if columns and all(map(_is_uniform, columns)) else None


def entry_at(columns: list[Column], position: Object, like: Object) -> Object:
    """The number or tuple at a position; `like` is one of them."""
    found = [column.at(position) for column in columns]
    return tuple(found) if type(like) is tuple else found[0]


def in_order(columns: list[Column], order: Object, like: Object) -> list[Object]:
    """The numbers or tuples, permuted by data; `like` is one of them."""
    made = [column.ordered(order) for column in columns]
    return list(zip(*made)) if type(like) is tuple else made[0]


def _is_uniform(numbers: list[Object]) -> bool:
    kinds = {v.type.dtype.str if is_data(v) and not v.type.shape else type(v) for v in numbers}
    is_small = int not in kinds or all(is_data(v) or abs(v) < _LARGE for v in numbers)
    return bool(kinds) and any(kinds <= dtype for dtype in _DTYPES) and is_small


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
