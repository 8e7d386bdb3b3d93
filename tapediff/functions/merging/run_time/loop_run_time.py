"""What rewritten loops and writes call while they are recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from types import CodeType
from typing import TypeVar

import numpy as np

from ....errors import TapediffError
from ....ir.instruction import BOOL, FLOAT64, INT64, Operand, Tree, ValueType
from ....recording.arrays.tracked import TrackedArray
from ..plain_numbers import is_wide, may_be_plain
from ..rules import Place, Refusing
from .array_copies import require_filled
from .gone_over.entries import LONGEST_RANGE, Over, after_first, counted
from .whole_numbers.int_arrays import WRITTEN, as_stored, is_surely_whole

# A loop that goes on after its end takes the time of all its turns at every call.
MOST_TURNS = 1_000

# Going over these changes nothing, and ends.
_VALUES = frozenset((list, tuple, range, dict, str, np.ndarray, TrackedArray, type({}.items()), type({}.keys()), type({}.values())))

_SEQUENCES = frozenset((list, tuple, range, np.ndarray, TrackedArray))

_NUMBERS = frozenset((TrackedArray, float, int, bool, np.float64, np.int64, np.bool_))
_NUMBER = ValueType((), FLOAT64)

# So many first and last turns may be others than those between them.
MOST_PEELED = 32

_COMPARISONS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal}

# Loops by other numbers than whole ones have at most so many turns; rounding may let them have a few more than their quotient says.
MOST_STEPS, STEPS_MORE = 1 << 24, 1e-6

# Larger whole numbers may not be floats.
LARGEST_INT = 1 << 53

Values = TypeVar("Values", bound=Iterable[Tree])


class LoopRunTime(Refusing):
    """Called by the loops and writes of one rewritten function."""

    def __init__(self, code: CodeType) -> None:
        super().__init__(code)
        # The branches that have written to lists.
        self._in_lists: set[Place] = set()
        # Those that have written to arrays of whole numbers or bools.
        self._in_others: set[Place] = set()

    # In place of a value that is never used.
    nothing = np.float64(1.0)

    def values(self, place: Place, values: Values, has_turns: bool) -> Values:
        """What a loop goes over, also after its end. `has_turns`: there must be at least one."""
        if type(values) not in _VALUES:
            raise self._refuse("iterables", place, f"it loops over {type(values).__name__}")
        length = len(values)  # type: ignore[arg-type]  # all of them have one
        if has_turns and not length:
            raise self._refuse("bound", place, "the loop has no turns")
        if length > MOST_TURNS:
            raise self._refuse("cost", place, f"the loop has {length} turns")
        return values

    @staticmethod
    def end_of_range(values: range) -> int:
        """What counts the turns of a loop when it has ended."""
        return values.start + values.step * len(values)

    def end_of_count(self, place: Place, values: Tree, start: Tree, step: int) -> int:
        """What a variable that counts the turns of a loop is after it."""
        length = counted(values).length
        if type(start) is not int or not length:
            raise self._refuse("numbers", place, f"it counts from {start!r} the turns over {type(values).__name__}")
        return start + step * length

    def peeled(self, place: Place, values: range, comparisons: Sequence[tuple[str, Tree]]) -> tuple[Tree, ...]:
        """The numbers of a range as three parts.

        Args:
            comparisons: of each number with others, by operator.

        Returns:
            Where the first part begins and where each part ends, and for each part what the comparisons are for all its numbers,
            None where they are not the same.
        """
        if not values or not {type(bound) for _, bound in comparisons} <= {int, float}:
            raise self._refuse("guards", place, "the number of a turn decides what it does")
        if len(values) > LONGEST_RANGE:
            raise self._refuse("cost", place, f"it has {len(values)} turns")
        numbers = np.arange(values.start, values.stop, values.step)
        found = [_COMPARISONS[name](numbers, bound) for name, bound in comparisons]
        is_other = np.logical_or.reduce([part[1:] != part[:-1] for part in found])
        count = len(numbers)
        ends = [0, *(1 + np.flatnonzero(is_other)).tolist(), count]
        if len(ends) > 4:
            longest = int(np.argmax(np.diff(ends)))
            ends = [0, *ends[longest : longest + 2], count]
            if count - (ends[2] - ends[1]) > MOST_PEELED:
                raise self._refuse("guards", place, "the number of a turn decides what it does")
        ends = [0, 0, count, count] if len(ends) == 2 else [*ends, count] if len(ends) == 3 else ends
        known = [tuple([_same(part[a:b].tolist()) for part in found]) for a, b in pairwise(ends)]
        return (*(values.start + values.step * end for end in ends), *known)

    def first_number(self, place: Place, values: Tree) -> list[int]:
        """The number of the first turn of a loop, alone in a list."""
        first, _, length = counted(values)
        if first is None or not length:
            raise self._refuse("bound", place, "the loop has no turns, or not a known number of them")
        return [first]

    def require_first(self, place: Place, found: Sequence[Tree]) -> None:
        """Refuse a test that the first turn does not pass."""
        if found != [True] or type(found[0]) not in (bool, np.bool_):
            raise self._refuse("bound", place, "its first turn does not bind a variable")

    def range_after_first(self, place: Place, values: range) -> tuple[int, int, int, int]:
        """The first number of a range, and where the rest begins, where it ends, and by which steps it goes on."""
        if not values:
            raise self._refuse("bound", place, "the loop has no turns")
        return values.start, values.start + values.step, values.stop, values.step

    def values_after_first(self, place: Place, values: Tree) -> tuple[Tree, Over]:
        """The first of some values, and what a loop over the rest goes over."""
        if type(values) not in _SEQUENCES or not len(values):
            raise self._refuse("bound", place, f"the loop goes over {type(values).__name__}, or has no turns")
        return values[0], Over(after_first, (values,))

    def there(self, place: Place, value: Tree) -> Tree:
        """A value that is not None."""
        if value is None:
            raise self._refuse("outcomes", place, "a variable is None after a turn")
        return value

    @staticmethod
    def is_so(known: bool | None, now: Operand) -> Operand:
        """A comparison of the number of the turn, which may be known for all of a loop's turns."""
        return now if known is None else known

    def steps_to(self, place: Place, start: Tree, end: Tree, by: Tree, is_within: bool) -> tuple[Tree, Tree]:
        """The values of a variable to which each turn adds a number, as Python does, and the first one behind the end."""
        if {type(start), type(end), type(by)} == {int} and by > 0:
            values = range(start, end + is_within, by)
            return values, self.end_of_range(values)
        if not {type(start), type(end), type(by)} <= {int, float, np.float64} or not by > 0.0 or type(start + by) is int:
            raise self._refuse("numbers", place, f"it counts from {start!r} by {by!r} to {end!r}")
        most = (end - start) / by * (1.0 + STEPS_MORE) + 2.0
        if not most <= MOST_STEPS:
            raise self._refuse("cost", place, f"it has about {most:.0f} turns")
        sums = np.full(max(int(most), 0) + 2, by, np.float64)
        sums[0] = start
        sums = np.add.accumulate(sums)  # one after the other
        turns = int(np.searchsorted(sums, end, "right" if is_within else "left"))
        if turns == len(sums):
            raise self._refuse("numbers", place, "its steps are too small to count")
        values = sums[: turns + 1] if np.float64 in (type(start), type(end), type(by)) else sums[: turns + 1].tolist()
        return values[:-1], values[-1]

    def turns(self, place: Place, values: range, has_turns: bool) -> int:
        """The number of turns of a loop over a range."""
        if has_turns and not values:
            raise self._refuse("bound", place, "the loop has no turns")
        return len(values)

    def entries(
        self, place: Place, entries: Sequence[tuple[Tree, Tree]], others: Sequence[Tree], written: Sequence[bool]
    ) -> tuple[Operand, ...]:  # fmt: skip
        """The values of array[index], for entries of arrays, lists and dicts that a branch writes to, all of them apart.

        Args:
            others: arrays, lists and other values that the branch reads entries of.
            written: whether both sides write to an entry.
        """
        seen: set[tuple[Tree, ...]] = set()
        found: list[Operand] = []
        for (array, index), is_written in zip(entries, written):
            if type(array) in _DICTS:
                found.append(self._entry_of_dict(place, array, index, is_written))
                seen.add((id(array), index))
                continue
            shape = self._shape(place, array)
            place_of = index if type(index) is tuple else (index,)
            if len(place_of) != len(shape) or not all(_is_whole(k) and -n <= k < n for k, n in zip(place_of, shape)):
                raise self._refuse("writes", place, f"it writes at {index!r} in an array of shape {shape}")
            seen.add((id(array), *(int(k) % n for k, n in zip(place_of, shape))))
            try:
                found.append(array[index])  # type: ignore[call-overload, index]  # of a list it is an int
            except TapediffError as error:
                raise self._refuse("writes", place, f"it writes where nothing was written before: {error}") from error
            if type(array) is list and type(found[-1]) not in (TrackedArray, np.float64, float):
                raise self._refuse("writes", place, f"it writes to a list with a {type(found[-1]).__name__}")
        arrays = {id(array): array for array, _ in entries}.values()
        roots = [id(_root(array)) for array in arrays]
        if len(seen) < len(entries) or len(set(roots)) < len(roots):
            raise self._refuse("writes", place, "it writes to an entry in two ways")
        if any(type(other) in (TrackedArray, list, *_DICTS) and id(_root(other)) in roots for other in others):
            raise self._refuse("writes", place, "it reads the array that it writes to by another name")
        return tuple(found)

    def _entry_of_dict(self, place: Place, entries: dict[Tree, Tree], key: Tree, is_written: bool) -> Operand:
        """An entry of a dict, which keeps plain numbers as a list does; one that is made now has to be written by both sides."""
        self._in_lists.add(place)
        if any(type(part) is TrackedArray for part in (key if type(key) is tuple else (key,))):
            raise self._refuse("writes", place, "the key is data")
        if not is_written and key not in entries:
            raise self._refuse("writes", place, f"one side alone makes the entry {key!r} of a dict")
        try:
            found = entries[key]
        except KeyError as error:
            raise self._refuse("writes", place, f"it reads an entry that is not there: {error}") from error
        if type(found) not in (TrackedArray, np.float64, float):
            raise self._refuse("writes", place, f"it writes to a dict with a {type(found).__name__}")
        return found

    def _shape(self, place: Place, array: Tree) -> tuple[int, ...]:
        """The shape of an array, or list of numbers, to which a branch writes."""
        if type(array) is list:
            self._in_lists.add(place)
            return (len(array),)
        require_filled(array)
        if type(array) is not TrackedArray or array.type.dtype not in WRITTEN:
            raise self._refuse("writes", place, f"it writes to {getattr(array, 'type', type(array).__name__)}")
        if array.type.dtype != FLOAT64:
            self._in_others.add(place)
        return array.type.shape

    def row_lengths(self, place: Place, rows: Sequence[tuple[TrackedArray, int, int]]) -> None:
        """Raise unless arrays have so many entries along an axis, as are written."""
        for array, axis, count in rows:
            if array.shape[axis] != count:
                raise self._refuse("writes", place, f"it writes {count} entries to rows of {array.shape[axis]}")

    def stored(self, place: Place, value: Operand, before: Operand = None) -> Operand:
        """A number as an array has it, or a list, which keeps plain numbers as they are. `before`: what the entry was."""
        if place in self._in_lists and not is_wide(value):
            if type(value) is not float and not (type(value) is TrackedArray and value.type == _NUMBER):
                raise self._refuse("writes", place, f"it writes {value!r} to a list")
            return value
        if place in self._in_others and (before is None or before.dtype != FLOAT64):
            found = None if before is None else as_stored(value, before.dtype)
            if found is None or found.shape:
                raise self._refuse("writes", place, f"it writes {getattr(value, 'type', value)!r} to an array of whole numbers or bools")
            return found
        if type(value) is TrackedArray:
            if value.type != _NUMBER or value._view is not None:
                raise self._refuse("writes", place, f"it writes {value.type}")
            return value
        if type(value) not in (float, int, bool, np.float64) or (type(value) is int and abs(value) > LARGEST_INT):
            raise self._refuse("writes", place, f"it writes {value!r}")
        return np.float64(value)

    def kept(self, place: Place, value: Tree, array: Tree, operator: str = "") -> Tree:
        """What is stored into an array of float64, which has an int, float or bool of Python's as the same number, or one of others.

        Args:
            operator: that of `array[...] += value` and the like.
        """
        if type(array) in (TrackedArray, np.ndarray) and array.dtype == FLOAT64:
            return value
        if type(array) is TrackedArray and array.dtype in (INT64, BOOL) and type(value) is TrackedArray and may_be_plain(value):
            # With what is no whole number an entry would be cut off after the operation.
            is_whole = value.dtype != FLOAT64 or is_surely_whole(value)
            found = as_stored(value, INT64 if operator else array.dtype, None if operator else bool) if is_whole or not operator else None
            if found is not None and (not operator or operator in "+-*"):
                return found
        if type(value) is TrackedArray:
            require_filled(array)
        if type(value) not in _NUMBERS or (type(value) is TrackedArray and may_be_plain(value)):
            raise self._refuse("numbers", place, f"it is stored into {type(array).__name__}")
        return value

    def written(self, value: Operand) -> Operand:
        """What an entry becomes after a branch."""
        return value

    def is_over(self, stop: Operand) -> bool:
        """Whether a loop has ended as plain Python sees it."""
        return stop is True


def _is_whole(position: Tree) -> bool:
    """Whether it is a whole number: bools are masks."""
    return type(position) is int or isinstance(position, np.integer)


_DICTS = (dict, defaultdict)


def _root(array: Tree) -> object:
    """The array whose memory this one shows."""
    return array if type(array) is not TrackedArray or array._view is None else array._view.root  # type: ignore[union-attr]  # of an array


def _same(values: list[bool]) -> bool | None:
    """What all of some values are; None if they are not the same."""
    return None if not values or min(values) != max(values) else values[0]
