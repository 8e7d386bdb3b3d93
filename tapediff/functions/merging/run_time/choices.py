"""Choices by a mask: conditions, the value of the side that is taken, and whether values are of the kinds that can be chosen."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

import numpy as np

from ....ir.instruction import BOOL, FLOAT64, FLOAT_SCALAR, INT64, Operand, Tree, ValueType, is_tracked
from ....ops import Op
from ....ops.elementwise.arithmetic import ADD, DIVIDE, MULTIPLY, SUBTRACT
from ....ops.elementwise.comparison import LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR, SELECT
from ....recording import masks
from ....recording.arrays.numbers import logical, of_two
from ....recording.arrays.tracked import TrackedArray
from ....recording.choices import select
from ....recording.recorder import current_recorder
from ..plain_numbers import note_chosen
from ..rules import BOOLS, FLOATS, INTS, INTS_BESIDE_FLOATS, Place, Refusing, is_large, is_small
from .reductions import Element, among, extreme, total
from .whole_numbers.counting import as_float


class Choices(Refusing):
    """The part of the run time that is for selects.

    Attributes:
        whole_turns: the long loops of which turns are computed that do not count.
    """

    whole_turns: set[Place]

    def number(self, place: Place, value: Operand) -> Operand:
        """A value that may be computed with on the side that is not taken, and that `+=` replaces instead of changing it."""
        kind = type(value)
        if kind is TrackedArray:
            if value.type.shape or value._view is not None:
                raise self._refuse("scalars", place, f"it computes with an array of shape {value.type.shape}")
            if value.type.dtype not in DTYPES:
                raise self._refuse("float32", place, f"it computes with {value.type.dtype}")
            return value
        if kind not in PLAIN:
            raise self._refuse("scalars", place, f"it computes with {kind.__name__}")
        return value

    # Conditions

    def every(self, place: Place, *tests: Operand) -> Operand:
        """Whether all conditions hold."""
        if len(tests) == 1 and type(tests[0]) is TrackedArray:
            return self._condition(place, tests[0])
        return self._together(place, tests, True, LOGICAL_AND)

    def some(self, place: Place, *tests: Operand) -> Operand:
        """Whether one of the conditions holds."""
        return self._together(place, tests, False, LOGICAL_OR)

    def negated(self, place: Place, test: Operand) -> Operand:
        """Whether the condition does not hold."""
        test = self._condition(place, test)
        return logical(LOGICAL_NOT, test) if is_tracked(test) else not test

    def _together(self, place: Place, tests: tuple[Operand, ...], neutral: bool, join: Op) -> Operand:
        found: Operand = neutral
        for test in tests:
            test = self._condition(place, test)
            if not is_tracked(test):
                if bool(test) is not neutral:
                    return not neutral
            else:
                found = logical(join, found, test) if is_tracked(found) else test
        return found

    def _condition(self, place: Place, test: Operand) -> Operand:
        if type(test) is TrackedArray:
            if test.type.shape or test._view is not None or test.type.dtype != BOOL:
                raise self._refuse("test", place, f"it asks for {test.type}")
        elif type(test) not in (bool, np.bool_):
            raise self._refuse("test", place, f"it asks for {type(test).__name__}")
        return test
    # Choices

    # What is computed between these is reached on one side of a test, on the other, and always.
    enter, turn, leave = staticmethod(masks.enter), staticmethod(masks.turn), staticmethod(masks.leave)

    def begin(self) -> int:
        """The number of guards so far in the current recordings, but for those that ask whether they are reached, too."""
        return _guard_count()

    def end(self, mark: int, place: Place) -> None:
        """Raise if a guard was made since `mark`."""
        if _guard_count() != mark:
            raise self._refuse("guards", place, "it looks at a value")

    def extreme(self, function: Callable[..., Tree], place: Place, flags: int, *values: Operand) -> Operand:
        """max or min of numbers, which keep the first of equal ones."""
        if not any(map(is_tracked, values)) or not (function is max or function is min):
            return function(*values)
        found = self.number(place, values[0])
        for value in values[1:]:
            mark = self.begin()
            value = self.number(place, value)
            is_next = value > found if function is max else value < found
            found = self.choose(mark, place, self._condition(place, is_next), value, found, flags)
        return found

    def extreme_of(self, function: Callable[..., Tree], place: Place, flags: int, values: Tree) -> Tree:
        """max(values) or min(values), of a short list or tuple of numbers as those of the numbers."""
        if type(values) not in (list, tuple) or not 0 < len(values) <= MOST_IN_LIST:
            return function(values)
        if not all(type(v) in PLAIN or (type(v) is TrackedArray and not v.shape) for v in values):
            return function(values)
        return self.extreme(function, place, flags, *values)

    def reduced(
        self, function: Callable[..., Tree], mark: int, place: Place, flags: int, elements: Sequence[Element], rest: Operand = None,
    ) -> Operand:  # fmt: skip
        """A built-in function of the values among (whether it counts, value) that count. `rest`: the start of a sum, or a default."""
        self.end(mark, place)
        if function is sum or function is len:
            return total(self, mark, place, flags, elements, 0 if rest is None else rest)
        if function is max or function is min:
            return extreme(self, mark, place, flags, elements, function, rest)
        found = among(self, place, elements, function is any)
        if is_tracked(found) and not flags & BOOLS:
            raise self._refuse("numbers", place, "a bool is used as such", needed=self._needed(True, flags))
        return found

    def choose(self, mark: int, place: Place, test: Operand, yes: Operand, no: Operand, flags: int) -> Operand:
        """The value of the side that is taken."""
        if _guard_count() != mark:
            self.end(mark, place)
        if type(test) is not TrackedArray:
            return yes if test else no
        if _is_same(yes, no):
            return yes
        return _where(test, *self._sides(place, yes, no, flags), type(yes) is int or type(no) is int)

    @staticmethod
    def set_aside(value: Operand) -> Operand:
        """A value that nothing changes any more."""
        return value.copy() if type(value) in (TrackedArray, np.ndarray) and (value.shape or type(value) is np.ndarray) else value

    def choose_turn(self, place: Place, has_left: Operand, before: Operand, after: Operand) -> Operand:
        """A value after some statements, or before them where the loop or the turn has been left."""
        if type(has_left) is not TrackedArray:
            return before if has_left else after
        self.whole_turns.add(place)
        if type(after) is not TrackedArray or not after.shape:
            return self.choose(self.begin(), place, has_left, before, after, FLOATS | BOOLS)
        if np.shape(before) not in ((), after.shape) or after.dtype != FLOAT64 or before.dtype != FLOAT64:
            raise self._refuse("scalars", place, f"one side gives {getattr(before, 'type', before)!r}, the other {after.type}")
        return SELECT(has_left, before, after)

    def at_end(self, place: Place, has_left: Operand, now: Operand, end: Operand) -> Operand:
        """What a variable that counts the turns of a loop is after it, where an exit may have been taken."""
        if type(has_left) is not TrackedArray:
            return now if has_left else end
        return self.choose(self.begin(), place, has_left, now, np.float64(end), FLOATS)

    def choose_steps(
        self, mark: int, place: Place, test: Operand, flags: int, operators: str, base: Operand, *operands: tuple[Operand, Operand]
    ) -> Operand:  # fmt: skip
        """As `choose`, of two values that are base op operand op operand: so that sums over all turns of a loop stay sums.

        Args:
            operands: for each operator that of either side, or None where the side does not have it.
        """
        if _guard_count() != mark:
            self.end(mark, place)
        if type(test) is not TrackedArray:
            return _chain(operators, base, operands, 0 if test else 1)
        are_numbers = _are_floats(base, operands)
        if not are_numbers:
            yes, no = (_chain(operators, base, operands, side) for side in (0, 1))
            if _is_same(yes, no):
                return yes
            sides = self._sides(place, yes, no, flags)
            if any(is_tracked(side) and side.dtype != FLOAT64 for side in sides):
                return _where(test, *sides)
        found = base
        for name, (first, second) in zip(operators, operands):
            has_ints = type(first) is int or type(second) is int
            first, second = [_NEUTRAL[name] if v is None else v if are_numbers else self.number(place, v) for v in (first, second)]
            chosen = first if _is_same(first, second) else _where(test, first, second, has_ints)
            together = of_two(OPS[name], found, chosen) if is_tracked(found) or is_tracked(chosen) else None
            found = OPERATORS[name](found, chosen) if together is None else together
        return found

    def _sides(self, place: Place, yes: Operand, no: Operand, flags: int) -> tuple[Operand, Operand]:
        """Both values, as a mask may choose between them."""
        if _is_float(yes):
            if _is_float(no) or type(no) is np.float64 or (type(no) is float and flags & FLOATS and not is_large(no)):
                return yes, no
        elif _is_float(no) and (type(yes) is np.float64 or (type(yes) is float and flags & FLOATS and not is_large(yes))):
            return yes, no
        yes, no = self.number(place, yes), self.number(place, no)
        if is_tracked(yes) and is_tracked(no):
            if yes.dtype != no.dtype and flags & INTS_BESIDE_FLOATS:
                yes, no = (as_float(side) if other.dtype == FLOAT64 else side for side, other in ((yes, no), (no, yes)))
            if yes.dtype != no.dtype or any(side._id in side._recorder.python_ints for side in (yes, no)):
                raise self._refuse("numbers", place, f"one side gives {yes.type}, the other {no.type}")
            return yes, no
        first, second = (self._plain_side(place, side, other, flags) for side, other in ((yes, no), (no, yes)))
        dtypes = {side.dtype if is_tracked(side) else np.asarray(side).dtype for side in (first, second)}
        if len(dtypes) != 1 or dtypes.pop() not in DTYPES:
            raise self._refuse("numbers", place, f"one side gives {yes!r}, the other {no!r}")
        return first, second

    def _plain_side(self, place: Place, side: Operand, other: Operand, flags: int) -> Operand:
        """One of two values, of which one at least is plain."""
        kind, other_kind = type(side), type(other)
        if kind is TrackedArray or kind is np.float64:
            return side
        if kind is float and flags & FLOATS and not is_large(side):
            return side
        is_beside_int = other_kind is np.int64 or (is_tracked(other) and other.type == ValueType((), INT64))
        if kind is np.int64 and (is_beside_int or (other_kind is int and flags & INTS and is_small(int(other), flags))):
            return side
        if kind is int:
            if flags & INTS and is_small(side, flags) and is_beside_int:
                return np.int64(side)  # as the ints that a loop carries are
            is_mixed = type(other) in (float, np.float64) or (is_tracked(other) and other.dtype == FLOAT64)
            if flags & (INTS_BESIDE_FLOATS if is_mixed else INTS) and is_small(side, flags):
                return float(side)
        # NumPy's functions of a bool give float16; those of one that is data give float64.
        if kind in (bool, np.bool_) and flags & BOOLS:
            return side
        raise self._refuse("numbers", place, f"one side gives {side!r}, of type {kind.__name__}", needed=self._needed(side, flags))



def _where(test: Operand, yes: Operand, no: Operand, has_ints: bool = False) -> Operand:
    found = select(test, yes, no)
    if has_ints and type(found) is TrackedArray:
        found._recorder.has_ints.add(found._id)
    return note_chosen(found, yes, no)


def _is_float(value: Operand) -> bool:
    """Whether a value is a tracked float64, which is no view of an array."""
    return type(value) is TrackedArray and value.type == FLOAT_SCALAR and value._view is None


def _are_floats(base: Operand, operands: Sequence[tuple[Operand, Operand]]) -> bool:
    """Whether a value and the operands of its steps are floats, where there are any, and tracked ones are among those of both sides."""
    is_data = [_is_float(base)] * 2
    if not is_data[0] and type(base) is not float and type(base) is not np.float64:
        return False
    for pair in operands:
        for side in (0, 1):
            value = pair[side]
            if _is_float(value):
                is_data[side] = True
            elif value is not None and type(value) is not float and type(value) is not np.float64:
                return False
    return is_data[0] and is_data[1]


def _chain(operators: str, base: Operand, operands: Sequence[tuple[Operand, Operand]], side: int) -> Operand:
    """What one side makes of a value."""
    for name, pair in zip(operators, operands):
        if pair[side] is not None:
            base = OPERATORS[name](base, pair[side])
    return base


# Of longer lists the largest number is found by guards.
MOST_IN_LIST = 32

DTYPES = (FLOAT64, INT64, BOOL)
PLAIN = frozenset((float, int, bool, np.float64, np.int64, np.bool_))


def _guard_count() -> int:
    recorder = current_recorder()
    if recorder is None:
        return 0
    count, recorder = recorder.guard_count - recorder.masked_guards, recorder.outer
    while recorder is not None:
        count, recorder = count + recorder.guard_count - recorder.masked_guards, recorder.outer
    return count


OPS = {"+": ADD, "-": SUBTRACT, "*": MULTIPLY, "/": DIVIDE}

# base op neutral is base, to the bit.
_NEUTRAL = {"+": -0.0, "-": 0.0, "*": 1.0}
OPERATORS: dict[str, Callable[[Operand, Operand], Operand]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip


def _is_same(a: Operand, b: Operand) -> bool:
    """Whether two values are one, or plain ones of equal type and bits."""
    return a is b or (type(a) is type(b) and not is_tracked(a) and type(a) in PLAIN and repr(a) == repr(b))
