"""Lists of numbers that the turns of a long loop hand on: arrays between the turns, and lists within each."""

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
    """The lists among the variables that the turns of one loop hand on.

    Args:
        place: of the loop.
        first: the variables before it.
    """

    def __init__(self, code: CodeType, place: Place, first: Sequence[Tree]) -> None:
        super().__init__(code)
        self._place = place
        self._lengths = {k: len(value) for k, value in enumerate(first) if type(value) is list and 0 < len(value) <= MOST_ENTRIES}
        # The lists of the turn that is being recorded, as it was given them.
        self._opened: dict[int, tuple[Tree, ...]] = {}

    def may_be_plain(self, value: Tree) -> bool:
        """Whether a variable may be a plain number, or a list with one."""
        return any(map(may_be_plain, value)) if type(value) is list else may_be_plain(value)

    def as_arrays(self, values: Sequence[Tree]) -> tuple[Tree, ...]:
        """Variables with an array for each list of numbers."""
        return tuple([self._array(value, self._lengths[k]) if k in self._lengths else value for k, value in enumerate(values)])

    def _array(self, value: Tree, length: int) -> Operand:
        if type(value) is not list or len(value) != length:
            what = f"one of {len(value)}" if type(value) is list else type(value).__name__
            raise self._refuse("containers", self._place, f"a turn makes a list of {length} numbers {what}")
        if not all(map(is_number, value)):
            raise self._refuse("containers", self._place, "a list that turns hand on has other entries than numbers")
        return array_of(value)

    def opened(self, values: Sequence[Operand], are_plain: Sequence[bool]) -> tuple[Tree, ...]:
        """Variables with their lists. `are_plain`: which may be plain numbers, or have some in them."""
        found = tuple([self._list(value, are_plain[k]) if k in self._lengths else value for k, value in enumerate(values)])
        self._opened = {k: tuple(found[k]) for k in self._lengths}
        return found

    def _list(self, array: TrackedArray, is_plain: bool) -> list[Tree]:
        found = all_entries(array)
        array._recorder.entry_runs.append((found[0]._id, array))
        return [note_plain(entry) for entry in found] if is_plain else list(found)

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
