"""What rewritten functions call while they are recorded: choices by a mask, and checks that the values are of the kinds that allow them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from types import CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from ...ir.instruction import BOOL, FLOAT64, FLOAT_SCALAR, INT64, Operand, is_tracked
from ...ops import Op
from ...ops.elementwise.comparison import LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR
from ...recording.aliases import ALWAYS
from ...recording.arrays.tracked import TrackedArray
from ...recording.call_arrays import watch_results
from ...recording.choices import logical, select
from ...recording.python_state.object_snapshot import LARGEST_COMPARED
from ...recording.recorder import current_recorder
from ..captured.freeze import Frozen, freeze
from ..captured.outside_state import OutsideState, TooMuchState, names_of, watch_arrays
from ..loops import while_loop
from .plain_numbers import check_numbers, checked, is_wide, may_be_plain, note_plain
from .prepare.loop_run_time import LoopRunTime
from .prepare.reductions import Element, among, extreme, total
from .purity import is_operand, is_pure, is_pure_method, is_users
from .regions.region_calls import RefusingAliases, Region
from .regions.region_run_time import RegionCalls
from .rules import BOOLS, FLOATS, INTS, INTS_BESIDE_FLOATS, VARYING, Place, is_large, is_small


class RunTime(LoopRunTime, RegionCalls):
    """Called by one rewritten function.

    Args:
        code: of the function.
        merged: the rewritten form of a function that this one calls, or the function itself.
        checked: the form of a function that only computes values; None if it does more.
        is_helper: whether others of the user's functions get its results.
        regions: those of all functions, by code and place.
        states: what loops read besides their variables.
    """

    def __init__(
        self, code: CodeType, merged: Callable[[FunctionType], FunctionType], checked: Callable[[FunctionType], FunctionType | None],
        is_helper: bool, regions: dict[object, Region] | None = None, states: dict[Hashable, OutsideState] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(code)
        self._merged, self._checked, self._is_helper = merged, checked, is_helper
        self._regions: dict[object, Region] = {} if regions is None else regions
        self._states: dict[Hashable, OutsideState] = {} if states is None else states

    def _tapediff_rebuilt(self, _: Callable[[object], Any]) -> RunTime:
        """Functions that close over it are frozen without it."""
        return self

    # Values

    def number(self, place: Place, value: Operand) -> Operand:
        """A value that may be computed with on the side that is not taken, and that `+=` replaces instead of changing it."""
        kind = type(value)
        if kind is TrackedArray:
            if value.type.shape or value._view is not None:
                raise self._refuse("scalars", place, f"it computes with an array of shape {value.type.shape}")
            if value.type.dtype not in _DTYPES:
                raise self._refuse("float32", place, f"it computes with {value.type.dtype}")
            return value
        if kind not in _PLAIN:
            raise self._refuse("scalars", place, f"it computes with {kind.__name__}")
        return value

    def operand(self, place: Place, value: Any) -> Any:
        """A value that is computed with: none with operators, or other special methods, of its own."""
        if type(value) not in _PLAIN and not is_operand(value):
            raise self._refuse("calls", place, f"it computes with {type(value).__name__}")
        return value

    def sequence(self, place: Place, values: Any) -> Any:
        """What is iterated over: nothing that is used up."""
        if type(values) not in _SEQUENCES and not (isinstance(values, tuple) and is_operand(values)):
            raise self._refuse("calls", place, f"it iterates over {type(values).__name__}")
        return values

    def entry(self, place: Place, array: Any, index: Any) -> Any:
        """array[index], of what has no code of its own for it."""
        if type(array) not in _CONTAINERS:
            raise self._refuse("calls", place, f"it looks up an entry of {type(array).__name__}")
        try:
            return array[index]
        except (IndexError, KeyError, TypeError) as error:
            # It may be that of the side that is not taken; if it is the program's own, the branch raises it again.
            raise self._refuse("calls", place, f"an index that fails: {error}") from error

    def attribute(self, place: Place, owner: Any, name: str) -> Any:
        """owner.name, of what has no code of its own for it."""
        if type(owner) is ModuleType:
            return vars(owner)[name]
        kind = type(owner)
        if kind.__getattribute__ not in _PLAIN_GETTERS or type(kind) is not type:
            raise self._refuse("calls", place, f"it asks {kind.__name__} for .{name}")
        on_class = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
        own = getattr(owner, "__dict__", {})
        if isinstance(on_class, MemberDescriptorType) or type(on_class).__name__ == "_tuplegetter":
            return getattr(owner, name)
        if hasattr(type(on_class), "__set__") or isinstance(on_class, GetSetDescriptorType):
            raise self._refuse("calls", place, f"it calls .{name} of {kind.__name__}")
        if name in own:
            return own[name]
        if on_class is None or hasattr(type(on_class), "__get__"):
            raise self._refuse("calls", place, f"it calls .{name} of {kind.__name__}")
        return on_class

    section = staticmethod(slice)

    def divisor(self, place: Place, dividend: Operand, value: Operand) -> Operand:
        """A divisor. For plain numbers, which both may be in the function itself, Python raises an error if it is zero."""
        if type(value) is TrackedArray and may_be_plain(value) and may_be_plain(dividend) and value == 0:
            raise self._refuse("zero", place, "the divisor is zero", is_all=True)
        return checked(value) if may_be_plain(value) and may_be_plain(dividend) else value

    def quotient(self, place: Place, dividend: Operand, value: Operand) -> Operand:
        return dividend / self.divisor(place, dividend, value)

    def power(self, place: Place, base: Operand, exponent: Operand) -> Operand:
        """A power. Those of plain numbers may be complex, and Python raises an error where they are too large, or 1 / 0."""
        found = base**exponent
        if type(found) is TrackedArray and may_be_plain(base) and may_be_plain(exponent):
            if not np.logical_and(base > 0, np.isfinite(found)):
                raise self._refuse("powers", place, f"it computes {base!r}**{exponent!r}", is_all=True)
            checked(found)
        return found

    def beside(self, place: Place, name: str, left: Operand, right: Operand) -> Operand:
        """left op right, of which one is a float64 and no plain number: what the other one is, if it is a number, makes no difference."""
        if not is_wide(left) and not is_wide(right):
            raise self._refuse("beside", place, f"neither side of {name} is an array")
        return _OPERATORS[name](left, right)

    def asks(self, place: Place, function: Callable[..., Any]) -> Callable[..., Any]:
        """type or isinstance, which tell plain numbers from others."""

        def asked(value: Any, *kinds: Any) -> Any:
            if type(value) is TrackedArray and may_be_plain(value):
                raise self._refuse("numbers", place, "it asks for the type of what may be a plain number", is_all=True)
            return function(value, *kinds)

        return asked

    def helper(self, function: Any) -> Any:
        """A function that is called, with its branches merged where it is the user's."""
        if type(function) is FunctionType:
            return self._merged(function)
        if type(function) is MethodType and type(function.__func__) is FunctionType:
            return MethodType(self._merged(function.__func__), function.__self__)
        return function

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

    # Loops

    def loop(
        self, place: Place, condition: Callable[..., Operand], turn: Callable[..., Any], first: tuple[Any, ...], flags: tuple[int, ...],
    ) -> tuple[Any, ...]:  # fmt: skip
        """The variables after `while condition: turn`."""
        start = tuple(self._first(place, value, flag) for value, flag in zip(first, flags))

        frozen = freeze(turn, condition)
        captured = tuple(map(may_be_plain, frozen.tracked))
        state = self._loop_state(place, turn, condition, frozen)

        # Any variable of the loop may be a plain number, in its first turn or later.
        def step(carry: tuple[Operand, ...]) -> tuple[Operand, ...]:
            # Another path may be recorded much later.
            if not (state.is_same() and state.are_arrays_same()):
                raise self._refuse("calls", place, "what it reads has changed")
            recorder = carry[0]._recorder
            for number, is_plain in zip(recorder.inputs[len(carry) :], captured):
                recorder.plain_numbers[number] = is_plain
            found = tuple(self._carry(place, value, flag) for value, flag in zip(turn(*map(note_plain, carry)), flags))
            check_numbers(recorder)
            return found

        found = while_loop(lambda carry: condition(*map(note_plain, carry)), step, start)
        self._watch(place, found, [[value] for value in start] + frozen.originals)
        return tuple(map(note_plain, found))

    def _loop_state(
        self, place: Place, turn: Callable[..., Any], condition: Callable[..., Operand], frozen: Frozen
    ) -> OutsideState:  # fmt: skip
        """What a loop reads, the same object as long as nothing in it changes: others make other callees."""
        key = self._code, place, id(turn.__globals__), frozen.key
        known = self._states.get(key)
        if known is None or not known.is_same():
            try:
                known = OutsideState((turn, condition), names_of(self._code))
            except TooMuchState as error:
                raise self._refuse("calls", place, str(error)) from error
            self._states[key] = known = self._states.setdefault((key, known.key), known)
        if known.has_large_arrays:
            watch_arrays(known, lambda: self._refuse("calls", place, "what it reads has changed"))
        return known

    def _first(self, place: Place, value: Operand, flags: int) -> Operand:
        """A value that the first turn gets, as data: also a plain array. No turn may give one; writes to large ones may be missed."""
        is_array = type(value) is np.ndarray and value.dtype == FLOAT64 and value.shape and value.nbytes <= LARGEST_COMPARED
        if is_array and flags & VARYING and not self._is_helper:
            return value
        return self._carry(place, value, flags)

    def _carry(self, place: Place, value: Operand, flags: int) -> Operand:
        """A value that one turn hands to the next one, as data."""
        kind = type(value)
        if kind is TrackedArray:
            if value.type.dtype not in _DTYPES:
                raise self._refuse("float32", place, f"it computes with {value.type.dtype}")
            if value._view is not None and not value.type.shape:
                raise self._refuse("scalars", place, "a variable of the loop is an array without axes, which `+=` changes")
            return value
        is_float = kind is float and flags & FLOATS and not is_large(value)
        allowed = kind is np.float64 or is_float or (kind in (bool, np.bool_) and flags & BOOLS)
        if allowed:
            return value
        if kind is int and flags & INTS and is_small(value, flags):
            return float(value)
        got = f"a variable of the loop is {value!r}, of type {kind.__name__}"
        raise self._refuse("numbers", place, got, needed=self._needed(value, flags))

    def _watch(self, place: Place, results: Sequence[Operand], given: Sequence[Sequence[Operand]]) -> None:
        """Refuse writes to arrays that a loop has handed on: without merging they may be those that it was given."""
        arrays = [result for result in results if is_tracked(result) and result.shape]
        aliases = RefusingAliases("a merged loop")
        aliases.refuse = lambda: self._refuse("scalars", place, "an array that goes through it may be written to afterwards")
        partners = [("argument", j) for j in range(len(given))] + [("result", m) for m in range(len(arrays))]
        for k in range(len(arrays)):
            for partner in partners:
                if partner != ("result", k):
                    aliases.share(k, partner, ALWAYS)
        kept = [[a for a in same if isinstance(a, (TrackedArray, np.ndarray)) and a.shape] for same in given]
        watch_results(aliases, arrays, kept, _Nothing())

    # Calls

    def pure(self, place: Place, function: Any, count: int) -> Any:
        """A function that computes values and nothing else, called with so many positional arguments."""
        if is_users(function):
            return self._pure_helper(place, function)
        if not is_pure(function, count):
            raise self._refuse("calls", place, f"it calls {getattr(function, '__name__', function)!s}")
        return function

    def pure_method(self, place: Place, owner: Any, name: str, count: int) -> Any:
        """owner.name, a function that computes values and nothing else, called with so many positional arguments."""
        if is_pure_method(owner, name, count):
            return getattr(owner, name)
        if type(owner) is ModuleType:
            return self.pure(place, getattr(owner, name), count)
        found = next((vars(base)[name] for base in type(owner).__mro__ if name in vars(base)), None)
        if type(found) is FunctionType and name not in getattr(owner, "__dict__", {}):
            return MethodType(self.pure(place, found, count), owner)
        raise self._refuse("calls", place, f"it calls .{name} of {type(owner).__name__}")

    def _pure_helper(self, place: Place, function: FunctionType) -> FunctionType:
        made = self._checked(function)
        if made is None:
            raise self._refuse("calls", place, f"it calls {function.__name__}, which does more than compute values")
        return made

    # Choices

    def begin(self) -> int:
        """The number of guards so far in the current recordings."""
        return _guard_count()

    def end(self, mark: int, place: Place) -> None:
        """Raise if a guard was made since `mark`."""
        if _guard_count() != mark:
            raise self._refuse("guards", place, "it looks at a value")

    def extreme(self, function: Callable[..., Any], place: Place, flags: int, *values: Operand) -> Operand:
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

    def reduced(
        self, function: Callable[..., Any], mark: int, place: Place, flags: int, elements: Sequence[Element], rest: Operand = None,
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
        self.end(mark, place)
        if not is_tracked(test):
            return yes if test else no
        if _is_same(yes, no):
            return yes
        return _where(test, *self._sides(place, yes, no, flags))

    def choose_steps(
        self, mark: int, place: Place, test: Operand, flags: int, operators: str, base: Operand, *operands: tuple[Operand, Operand]
    ) -> Operand:  # fmt: skip
        """As `choose`, of two values that are base op operand op operand: so that sums over all turns of a loop stay sums.

        Args:
            operands: for each operator that of either side, or None where the side does not have it.
        """
        self.end(mark, place)
        if not is_tracked(test):
            return _chain(operators, base, operands, 0 if test else 1)
        is_data = [_is_float(base) or any(_is_float(pair[side]) for pair in operands) for side in (0, 1)]
        if not all(is_data) or not all(_is_number(v) for v in (base, *(v for pair in operands for v in pair))):
            yes, no = (_chain(operators, base, operands, side) for side in (0, 1))
            if _is_same(yes, no):
                return yes
            sides = self._sides(place, yes, no, flags)
            if any(is_tracked(side) and side.dtype != FLOAT64 for side in sides):
                return _where(test, *sides)
        found = base
        for name, (first, second) in zip(operators, operands):
            first, second = (_NEUTRAL[name] if v is None else self.number(place, v) for v in (first, second))
            found = _OPERATORS[name](found, first if _is_same(first, second) else _where(test, first, second))
        return found

    def _sides(self, place: Place, yes: Operand, no: Operand, flags: int) -> tuple[Operand, Operand]:
        """Both values, as a mask may choose between them."""
        if _is_float(yes) and _is_float(no):
            return yes, no
        yes, no = self.number(place, yes), self.number(place, no)
        if is_tracked(yes) and is_tracked(no):
            if yes.dtype != no.dtype or any(side._id in side._recorder.python_ints for side in (yes, no)):
                raise self._refuse("numbers", place, f"one side gives {yes.type}, the other {no.type}")
            return yes, no
        first, second = (self._plain_side(place, side, other, flags) for side, other in ((yes, no), (no, yes)))
        dtypes = {side.dtype if is_tracked(side) else np.asarray(side).dtype for side in (first, second)}
        if len(dtypes) != 1 or dtypes.pop() not in (FLOAT64, BOOL):
            raise self._refuse("numbers", place, f"one side gives {yes!r}, the other {no!r}")
        return first, second

    def _plain_side(self, place: Place, side: Operand, other: Operand, flags: int) -> Operand:
        """One of two values, of which one at least is plain."""
        kind = type(side)
        if kind is TrackedArray or kind is np.float64:
            return side
        if kind is float and flags & FLOATS and not is_large(side):
            return side
        if kind is int:
            is_mixed = type(other) in (float, np.float64) or (is_tracked(other) and other.dtype == FLOAT64)
            if flags & (INTS_BESIDE_FLOATS if is_mixed else INTS) and is_small(side, flags):
                return float(side)
        # NumPy's functions of a bool give float16; those of one that is data give float64.
        if kind in (bool, np.bool_) and flags & BOOLS:
            return side
        raise self._refuse("numbers", place, f"one side gives {side!r}, of type {kind.__name__}", needed=self._needed(side, flags))


def _where(test: Operand, yes: Operand, no: Operand) -> Operand:
    found = select(test, yes, no)
    return note_plain(found) if may_be_plain(yes) or may_be_plain(no) else found


def _is_float(value: Operand) -> bool:
    """Whether a value is a tracked float64, which is no view of an array."""
    return type(value) is TrackedArray and value.type == FLOAT_SCALAR and value._view is None


def _is_number(value: Operand) -> bool:
    """Whether a value is a float, plain or tracked, or None."""
    return value is None or type(value) is float or type(value) is np.float64 or _is_float(value)


def _chain(operators: str, base: Operand, operands: Sequence[tuple[Operand, Operand]], side: int) -> Operand:
    """What one side makes of a value."""
    for name, pair in zip(operators, operands):
        if pair[side] is not None:
            base = _OPERATORS[name](base, pair[side])
    return base


class _Nothing:
    """A function that closes over no plain arrays."""

    arrays: tuple[tuple[np.ndarray, Hashable], ...] = ()

    def state_changed(self) -> bool:
        return False


_PLAIN_GETTERS = (object.__getattribute__, tuple.__getattribute__)
_DTYPES = (FLOAT64, INT64, BOOL)
_PLAIN = frozenset((float, int, bool, np.float64, np.int64, np.bool_))
_CONTAINERS = frozenset((TrackedArray, np.ndarray, list, tuple, dict))
_SEQUENCES = frozenset((TrackedArray, np.ndarray, list, tuple, dict, range, str, set, frozenset))


def _guard_count() -> int:
    count, recorder = 0, current_recorder()
    while recorder is not None:
        count, recorder = count + recorder.guard_count, recorder.outer
    return count


# base op neutral is base, to the bit.
_NEUTRAL = {"+": -0.0, "-": 0.0, "*": 1.0}
_OPERATORS: dict[str, Callable[[Operand, Operand], Operand]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip


def _is_same(a: Operand, b: Operand) -> bool:
    """Whether two values are one, or plain ones of equal type and bits."""
    return a is b or (type(a) is type(b) and not is_tracked(a) and type(a) in _PLAIN and repr(a) == repr(b))
