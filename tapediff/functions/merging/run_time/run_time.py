"""What rewritten functions call while they are recorded: loops as one instruction, calls, and checks of what they compute with."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from types import CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType, ModuleType
from typing import TypeAlias

import numpy as np

from ....errors import UnsupportedFunction
from ....ir.instruction import FLOAT64, Operand, Tree, is_tracked
from ....ops.control.calls import GET
from ....recording.aliases import ALWAYS
from ....recording.arrays.tracked import TrackedArray
from ....recording.call_arrays import watch_results
from ....recording.masks import holds
from ....recording.python_state.object_snapshot import LARGEST_COMPARED
from ...captured.freeze import Frozen, freeze
from ...captured.outside_state import OutsideState, TooMuchState, names_of, watch_arrays
from ..plain_numbers import check_numbers, checked, is_wide, may_be_plain, note_plain
from ..purity import asks_types, asks_types_later, is_operand, is_pure, is_pure_attribute, is_pure_method, is_users
from ..regions.region_calls import RefusingAliases, Region
from ..regions.region_run_time import RegionCalls
from ..rules import BOOLS, FIRST_PLAIN, FLOATS, INTS, VARYING, Place, Refused, is_large, is_small
from .array_copies import ArrayCopies
from .choices import DTYPES, OPERATORS, PLAIN, Choices
from .container_calls import ContainerCalls, looked_up
from .loop_run_time import LoopRunTime

# Of condition, body and first value.
WhileLoop: TypeAlias = Callable[[Callable[[Tree], Operand], Callable[[Tree], Tree], Tree], Tree]


class RunTime(Choices, LoopRunTime, RegionCalls, ContainerCalls, ArrayCopies):
    """Called by one rewritten function.

    Args:
        code: of the function.
        merged: the rewritten form of a function that this one calls, or the function itself.
        checked: the form of a function that only computes values; None if it does more.
        is_helper: whether others of the user's functions get its results.
        is_body: of a callee; see MergedFunctions.
        regions: those of all functions, by code and place.
        states: what loops read besides their variables.
        while_loop: td.while_loop.
    """

    def __init__(
        self, code: CodeType, merged: Callable[[FunctionType], FunctionType], checked: Callable[[FunctionType], FunctionType | None],
        is_helper: bool, is_body: bool, while_loop: WhileLoop, regions: dict[object, Region], states: dict[Hashable, OutsideState],
    ) -> None:  # fmt: skip
        super().__init__(code)
        self._merged, self._checked, self._is_helper, self._is_body = merged, checked, is_helper, is_body
        self._while_loop, self._regions, self._states = while_loop, regions, states

    def _tapediff_rebuilt(self, _: Callable[[object], Tree]) -> RunTime:
        """Functions that close over it are frozen without it."""
        return self

    # Values

    def operand(self, place: Place, value: Tree) -> Tree:
        """A value that is computed with: none with operators, or other special methods, of its own."""
        if type(value) not in PLAIN and not is_operand(value):
            raise self._refuse("calls", place, f"it computes with {type(value).__name__}")
        return value

    def sequence(self, place: Place, values: Tree) -> Tree:
        """What is iterated over: nothing that is used up."""
        if type(values) not in _SEQUENCES and not (isinstance(values, tuple) and is_operand(values)):
            raise self._refuse("calls", place, f"it iterates over {type(values).__name__}")
        return values

    def entry(self, place: Place, array: Tree, index: Tree) -> Tree:
        """array[index], of what has no code of its own for it."""
        if type(array) not in _CONTAINERS:
            raise self._refuse("calls", place, f"it looks up an entry of {type(array).__name__}")
        try:
            found = looked_up(array, index)
            return array[index] if found is None else found
        except (IndexError, KeyError, TypeError) as error:
            # It may be that of the side that is not taken; if it is the program's own, the branch raises it again.
            raise self._refuse("calls", place, f"an index that fails: {error}") from error

    def length(self, place: Place, values: Tree) -> int:
        """len(values) in an index, by which may be divided."""
        if type(values) not in _SEQUENCES or not len(values):
            raise self._refuse("calls", place, f"it asks for the length of {type(values).__name__}")
        return len(values)

    def attribute(self, place: Place, owner: Tree, name: str) -> Tree:
        """owner.name, of what has no code of its own for it."""
        if type(owner) is ModuleType:
            return vars(owner)[name]
        if is_pure_attribute(owner, name):
            return getattr(owner, name)
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
        if type(value) is TrackedArray and may_be_plain(value) and may_be_plain(dividend) and holds(lambda: value == 0):
            raise self._refuse("zero", place, "the divisor is zero", is_all=True)
        return checked(value) if may_be_plain(value) and may_be_plain(dividend) else value

    def quotient(self, place: Place, dividend: Operand, value: Operand) -> Operand:
        return dividend / self.divisor(place, dividend, value)

    def power(self, place: Place, base: Operand, exponent: Operand) -> Operand:
        """A power. Those of plain numbers may be complex, and Python raises an error where they are too large, or 1 / 0."""
        found = base**exponent
        if type(found) is TrackedArray and may_be_plain(base) and may_be_plain(exponent):
            if holds(lambda: np.logical_not(np.logical_and(base > 0, np.isfinite(found)))):
                raise self._refuse("powers", place, f"it computes {base!r}**{exponent!r}", is_all=True)
            checked(found)
        return found

    def beside(self, place: Place, name: str, left: Operand, right: Operand) -> Operand:
        """left op right, of which one is a float64 and no plain number: what the other one is, if it is a number, makes no difference."""
        if not is_wide(left) and not is_wide(right):
            raise self._refuse("beside", place, f"neither side of {name} is an array")
        return OPERATORS[name](left, right)

    def asks(self, place: Place, function: Callable[..., Tree]) -> Callable[..., Tree]:
        """type or isinstance, which tell plain numbers from others."""

        def asked(value: Tree, *kinds: Tree) -> Tree:
            if type(value) is TrackedArray and may_be_plain(value):
                got = "it asks for the type of what may be a plain number"
                if self._is_helper:
                    # Another function has chosen it, so that it is of no use that this one stays as it is.
                    raise UnsupportedFunction(f"{self._code.co_name}: {got}")
                raise self._refuse("numbers", place, got, is_all=True)
            return function(value, *kinds)

        return asked

    def helper(self, function: Tree) -> Tree:
        """A function, method or callable object that is called, with its branches merged where it is the user's."""
        if type(function) is FunctionType:
            return self._merged_helper(function)
        if type(function) is MethodType and type(function.__func__) is FunctionType:
            return MethodType(self._merged_helper(function.__func__), function.__self__)
        if isinstance(function, type):
            return _without_plain_numbers(function) if asks_types_later(function) else function
        method = getattr(type(function), "__call__", None)  # noqa: B004 -- asks for the function behind the call
        if type(method) is FunctionType and is_users(method) and type(type(function)) is type:
            return MethodType(self._merged_helper(method), function)
        return function

    def _merged_helper(self, function: FunctionType) -> Callable[..., Tree]:
        merged = self._merged(function)
        is_unchecked = merged is function and is_users(function) and asks_types(function.__code__)
        return _without_plain_numbers(function) if is_unchecked else merged

    # Loops

    def loop(
        self, place: Place, condition: Callable[..., Operand], turn: Callable[..., Tree], first: tuple[Tree, ...], flags: tuple[int, ...],
        all_plain: bool,
    ) -> tuple[Tree, ...]:  # fmt: skip
        """The variables after `while condition: turn`.

        Args:
            all_plain: any of them may be a plain number, in its first turn or later; else only those that are one before it.
        """
        start = tuple(self._first(place, value, flag) for value, flag in zip(first, flags))

        frozen = freeze(turn, condition)
        captured = tuple(map(may_be_plain, frozen.tracked))
        unbound = [k for k, value in enumerate(first) if value is self.nothing]
        state = self._loop_state(place, turn, condition, frozen)

        plain = tuple([all_plain or may_be_plain(value) for value in start])

        def step(carry: tuple[Operand, ...]) -> tuple[Operand, ...]:
            # Another path may be recorded much later.
            if not (state.is_same() and state.are_arrays_same()):
                raise self._refuse("calls", place, "what it reads has changed")
            recorder = carry[0]._recorder
            for number, is_plain in zip(recorder.inputs[len(carry) :], captured):
                recorder.plain_numbers[number] = is_plain
            found = tuple(self._carry(place, value, flag) for value, flag in zip(turn(*_noted(carry, plain)), flags))
            check_numbers(recorder)
            arrays = {k: np.ones(found[k].shape, found[k].dtype) for k in unbound if found[k].shape and not carry[k].shape}
            if arrays:
                raise _OtherArrays(arrays)
            if any(may_be_plain(value) and not was for value, was in zip(found, plain)):
                raise self._refuse("numbers", (*place[:2], FIRST_PLAIN), "a turn gives a plain number where there was none before")
            return found

        check = lambda carry: condition(*_noted(carry, plain))  # noqa: E731 -- its name is its use
        found, start = self._recorded_loop(place, check, step, start)
        if self._is_body and _looks_at_values(found[0]):
            raise self._refuse("guards", place, "a turn of it looks at a value")
        self._watch(place, found, [[value] for value in start] + frozen.originals)
        return _noted(found, plain)

    def _recorded_loop(
        self, place: Place, check: Callable[[Tree], Operand], step: Callable[[Tree], Tree], start: tuple[Tree, ...]
    ) -> tuple[tuple[Tree, ...], tuple[Tree, ...]]:
        """The variables after a loop, and before it."""
        while True:
            try:
                return self._while_loop(check, step, start), start
            except _OtherArrays as other:
                start = tuple(other.arrays.get(k, value) for k, value in enumerate(start))
            except Exception as error:
                if not self._is_body or isinstance(error, Refused):
                    raise
                # Of a turn that there may be none of at this point.
                raise self._refuse("calls", place, f"a turn of it fails: {error}") from error

    def _loop_state(
        self, place: Place, turn: Callable[..., Tree], condition: Callable[..., Operand], frozen: Frozen
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
            if value.type.dtype not in DTYPES:
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

    def pure(self, place: Place, function: Tree, count: int) -> Tree:
        """A function that computes values and nothing else, called with so many positional arguments."""
        if is_users(function):
            return self._pure_helper(place, function)
        if not is_pure(function, count):
            raise self._refuse("calls", place, f"it calls {getattr(function, '__name__', function)!s}")
        return function

    def pure_method(self, place: Place, owner: Tree, name: str, count: int) -> Tree:
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


def _without_plain_numbers(function: Callable[..., Tree]) -> Callable[..., Tree]:
    """A function or class that is not rewritten, and may ask for the types of what it gets."""

    @functools.wraps(function, updated=())
    def unchanged(*args: Tree, **named: Tree) -> Tree:
        if any(type(value) is TrackedArray and may_be_plain(value) for value in (*args, *named.values())):
            raise UnsupportedFunction(f"{function.__name__}: it gets what may be a plain number, and may ask for its type")
        return function(*args, **named)

    return unchanged


def _looks_at_values(result: TrackedArray) -> bool:
    """Whether the turns of a loop that gave a result have guards, or its first test."""
    made = result._recorder.instructions
    loop = made[made[result._id].inputs[0]]
    test = made[loop.inputs[0]]
    callees = [loop.params[0], *([made[test.inputs[0]].params[0]] if test.op is GET else [])]
    return any(variant.tape.guards for callee in callees for variant in callee.variants.values())


class _OtherArrays(Exception):
    """Variables of a loop that its first turn binds are arrays. `arrays`: by their numbers, others of these types, which are never used."""

    def __init__(self, arrays: dict[int, np.ndarray]) -> None:
        super().__init__()
        self.arrays = arrays


def _noted(values: Sequence[Operand], plain: Sequence[bool]) -> tuple[Operand, ...]:
    """Values, of which is noted which may be plain numbers."""
    return tuple([note_plain(value) if is_plain else value for value, is_plain in zip(values, plain)])


class _Nothing:
    """A function that closes over no plain arrays."""

    arrays: tuple[tuple[np.ndarray, Hashable], ...] = ()

    def state_changed(self) -> bool:
        return False


_PLAIN_GETTERS = (object.__getattribute__, tuple.__getattribute__)
_CONTAINERS = frozenset((TrackedArray, np.ndarray, list, tuple, dict))
_SEQUENCES = frozenset((TrackedArray, np.ndarray, list, tuple, dict, range, str, set, frozenset))
