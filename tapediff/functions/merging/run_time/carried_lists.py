"""Lists and tuples of numbers that the turns of a long loop hand on: arrays between the turns, and lists or tuples within each."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType

import numpy as np

from ....ir.instruction import FLOAT64, Operand, Tree
from ....numpy_api.joining import stack
from ....recording.arrays.numbers import all_entries
from ....recording.arrays.tracked import TrackedArray
from ..plain_numbers import may_be_plain, note_plain
from ..rules import SMALL, Place, Refusing, is_large, is_small

# Lists have an instruction for each of their entries, in every turn that is recorded.
MOST_ENTRIES = 100_000


class CarriedLists(Refusing):
    """The lists and tuples among the variables that the turns of one loop hand on.

    Args:
        place: of the loop.
        first: the variables before it.
    """

    def __init__(self, code: CodeType, place: Place, first: Sequence[Tree]) -> None:
        super().__init__(code)
        self._place = place
        found = {k: value for k, value in enumerate(first) if type(value) in (list, tuple) and 0 < len(value) <= MOST_ENTRIES}
        self._lengths, self._kinds = {k: len(value) for k, value in found.items()}, {k: type(value) for k, value in found.items()}
        # The lists of the turn that is being recorded, as it was given them.
        self._opened: dict[int, tuple[Tree, ...]] = {}

    def may_be_plain(self, value: Tree) -> bool:
        """Whether a variable may be a plain number, or a list or tuple with one."""
        return any(map(may_be_plain, value)) if type(value) in (list, tuple) else may_be_plain(value)

    def as_arrays(self, values: Sequence[Tree]) -> tuple[Tree, ...]:
        """Variables with an array for each list or tuple of numbers."""
        return tuple([self._array(k, value) if k in self._lengths else value for k, value in enumerate(values)])

    def _array(self, k: int, value: Tree) -> Operand:
        kind, length = self._kinds[k], self._lengths[k]
        if type(value) is not kind or len(value) != length:
            what = f"one of {len(value)}" if type(value) is kind else type(value).__name__
            raise self._refuse("containers", self._place, f"a turn makes a {kind.__name__} of {length} numbers {what}")
        if not all(map(is_number, value)):
            raise self._refuse("containers", self._place, f"a {kind.__name__} that turns hand on has other entries than numbers")
        return array_of(value)

    def opened(self, values: Sequence[Operand], are_plain: Sequence[bool]) -> tuple[Tree, ...]:
        """Variables with their lists. `are_plain`: which may be plain numbers, or have some in them."""
        found = tuple([self._list(k, value, are_plain[k]) if k in self._lengths else value for k, value in enumerate(values)])
        self._opened = {k: tuple(found[k]) for k in self._lengths}
        return found

    def _list(self, k: int, array: TrackedArray, is_plain: bool) -> Sequence[Tree]:
        found = all_entries(array)
        array._recorder.entry_runs.append((found[0]._id, array))
        return self._kinds[k](map(note_plain, found) if is_plain else found)

    def check(self, given: Sequence[Tree], after: Sequence[Tree]) -> None:
        """Refuse a turn that has changed a list that it was given, which others may know as well, or hands one on twice."""
        for k, before in self._opened.items():
            now = given[k]
            if len(now) != len(before) or any(entry is not known for entry, known in zip(now, before)):
                raise self._refuse("containers", self._place, "a turn changes a list that it was handed")
        handed_on = [id(value) for value in after if type(value) is list]
        if len(set(handed_on)) < len(handed_on):
            raise self._refuse("containers", self._place, "two variables are the same list")


def array_of(values: Sequence[Tree]) -> Operand:
    """An array of the numbers in a list."""
    if any(type(entry) is TrackedArray for entry in values):
        return stack([entry if type(entry) is TrackedArray else np.float64(entry) for entry in values])
    return np.array(values, FLOAT64)


def is_number(entry: Tree) -> bool:
    """Whether an entry of a list is a number that can be one of an array of float64."""
    kind = type(entry)
    if kind is TrackedArray:
        return entry.type.dtype == FLOAT64 and not entry.type.shape and entry._view is None
    return kind is np.float64 or (kind is float and not is_large(entry)) or (kind is int and is_small(entry, SMALL))
