"""What rewritten functions call while they are recorded: loops as one instruction, calls, and checks of what they compute with."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable, Sequence
from types import CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType, ModuleType

import numpy as np

from ....errors import UnsupportedFunction
from ....ir.instruction import BOOL, FLOAT_SCALAR, INT64, Operand, Tree
from ....recording.arrays.tracked import TrackedArray
from ....recording.masks import holds
from ....recording.recorder import UsersLine
from ...captured.outside_state import OutsideState
from ..plain_numbers import checked, is_wide, may_be_plain, may_be_pythons_bool
from ..purity import (
    asks_types,
    asks_types_later,
    is_named_tuple,
    is_operand,
    is_pure,
    is_pure_attribute,
    is_pure_method,
    is_users,
)
from ..regions.region_calls import Region
from ..regions.region_run_time import RegionCalls
from ..rules import ASK_TYPES, Place
from ..uses.kinds import is_one
from .array_copies import ArrayCopies
from .choices import OPERATORS, PLAIN, Choices
from .container_calls import ContainerCalls, looked_up
from .loops import Loops, Scan, WhileLoop
from .reductions import least_at
from .whole_numbers.int_arrays import as_int


class RunTime(Choices, Loops, RegionCalls, ContainerCalls, ArrayCopies):
    """Called by one rewritten function.

    Args:
        code: of the function.
        merged: the rewritten form of a function that this one calls, or the function itself.
        checked: the form of a function that only computes values; None if it does more.
        is_helper: whether others of the user's functions get its results.
        is_body: of a callee; see MergedFunctions.
        regions: those of all functions, by code and place.
        states: what loops read besides their variables.
        note_around, turns_around: note the loops around one that data ends, and count the turns of those around lines; see MergedFunctions.
        while_loop, scan: td.while_loop, and the loop of td.scan; None where long loops are not asked for.
    """

    def __init__(
        self, code: CodeType, merged: Callable[[FunctionType], FunctionType], checked: Callable[[FunctionType], FunctionType | None],
        is_helper: bool, is_body: bool, while_loop: WhileLoop, scan: Scan | None, regions: dict[object, Region],
        states: dict[Hashable, OutsideState], note_around: Callable[[Sequence[UsersLine]], bool],
        turns_around: Callable[[Sequence[UsersLine]], int],
    ) -> None:  # fmt: skip
        super().__init__(code)
        self._merged, self._checked, self._is_helper, self._is_body = merged, checked, is_helper, is_body
        self.counts, self.whole_turns, self.written_dtypes = {}, set(), {}
        self._while_loop, self._scan, self._regions, self._states = while_loop, scan, regions, states
        self._note_around, self._turns_around = note_around, turns_around

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
        if type(values) not in _SEQUENCES and not is_named_tuple(type(values)) and not (isinstance(values, tuple) and is_operand(values)):
            raise self._refuse("calls", place, f"it iterates over {type(values).__name__}")
        return values

    def entry(self, place: Place, array: Tree, index: Tree) -> Tree:
        """array[index], of what has no code of its own for it."""
        if type(array) not in _CONTAINERS and not is_named_tuple(type(array)):
            raise self._refuse("calls", place, f"it looks up an entry of {type(array).__name__}")
        try:
            found = looked_up(array, index)
            if found is None:
                return array[index]
            self.note_row(place, array, found)
            return found
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
        if type(on_class) is property and type(on_class.fget) is FunctionType and is_users(on_class.fget):
            return self._pure_helper(place, on_class.fget)(owner)
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
        are_plain = may_be_plain(value) and (may_be_plain(dividend) or _may_be_pythons(dividend))
        if type(value) is TrackedArray and are_plain and holds(lambda: value == 0):
            raise self._refuse("zero", place, "the divisor is zero", is_all=True)
        return checked(value) if are_plain else value

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

    def no_nan(self, place: Place, *values: Tree) -> Tree:
        """The first of some numbers that are to be sorted; refuses those that are in no order."""
        for value in values:
            if type(value) is TrackedArray and value.type == FLOAT_SCALAR:
                if holds(lambda value=value: np.isnan(value)):
                    raise self._refuse("numbers", place, "it sorts NaN")
            elif type(value) not in (int, float, np.float64) or value != value:
                raise self._refuse("containers", place, f"it sorts {type(value).__name__}")
        return values[0]

    def least_at(
        self, place: Place, values: Tree, function: Callable[..., Operand], count: int | None = None, is_numbered: bool = False,
        is_last: bool = False,
    ) -> int:  # fmt: skip
        """Where the least of some values is; see reductions.least_at.

        Args:
            count: of how many values; of all of them unless given.
            is_numbered: they are those that enumerate gives, which has to be by their positions.
        """
        if is_numbered and type(values) in (TrackedArray, np.ndarray) and values.ndim == 1:
            values = [values[k] for k in range(len(values))]
        elif is_numbered and type(values) not in (list, tuple):
            raise self._refuse("containers", place, f"it numbers the values of {type(values).__name__}")
        elif count is not None and (type(count) is not int or type(values) is not list or count != len(values)):
            values = [values[k] for k in range(count)]
        return least_at(values, function, is_last)

    @staticmethod
    def as_int(_: Place, function: Callable[[Tree], Tree], value: Tree) -> Tree:
        """int(value), as data of a whole number or bool that is data."""
        found = as_int(value, holds) if function is int else None
        return function(value) if found is None else found

    def asks(self, place: Place, function: Callable[..., Tree]) -> Callable[..., Tree]:
        """type or isinstance, which tell plain numbers from others."""

        def asked(value: Tree, *kinds: Tree) -> Tree:
            if _may_be_pythons(value):
                got = "it asks for the type of what may be a plain number"
                if self._is_helper:
                    # Another function has chosen it, so that it is of no use that this one stays as it is.
                    raise UnsupportedFunction(f"{self._code.co_name}: {got}")
                raise self._refuse("numbers", place, got, is_all=True)
            return function(value, *kinds)

        return asked

    def is_constant(self, place: Place, value: Tree, constant: Tree) -> bool:
        """value is constant, a number or string: of what was a Python int or bool, and is data, nobody knows it."""
        if _may_be_pythons(value):
            raise self._refuse("test", place, f"it asks for identity: ... is {constant!r}", is_all=True)
        return value is constant

    def inverted(self, place: Place, value: Operand) -> Operand:
        """~value, which of Python's bools is a whole number."""
        if type(value) is TrackedArray and value.type.dtype == BOOL and _may_be_pythons(value):
            raise self._refuse("numbers", place, "it computes ~ of what may be a plain bool", is_all=True)
        return ~value

    def helper(self, function: Tree) -> Tree:
        """A function, method or callable object that is called, with its branches merged where it is the user's."""
        if type(function) is FunctionType:
            return self._merged_helper(function)
        if type(function) is MethodType and type(function.__func__) is FunctionType:
            return MethodType(self._merged_helper(function.__func__), function.__self__)
        if type(function) is functools.partial:
            inner = self.helper(function.func)
            return function if inner is function.func else functools.partial(inner, *function.args, **function.keywords)
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

    # Calls

    def require_module(self, given: Tree, name: str) -> None:
        """Refuse all of a function whose argument is not the module that it stands for by default."""
        if given is not sys.modules.get(name):
            line = self._code.co_firstlineno
            raise self._refuse("calls", (line, 0), f"it is called with {given!r} in place of {name}", is_all=True)

    def pure(self, place: Place, function: Tree, count: int) -> Tree:
        """A function that computes values and nothing else, called with so many positional arguments."""
        if is_users(function):
            return self._pure_helper(place, function)
        if not is_pure(function, count):
            raise self._refuse("calls", place, f"it calls {getattr(function, '__name__', function)!s}")
        return self.asks(place, function) if is_one(function, ASK_TYPES) else function

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


def _may_be_pythons(value: Tree) -> bool:
    """Whether a value may be a plain number in the function itself, also a whole number or bool that a loop goes over."""
    if type(value) is not TrackedArray or value.type.shape:
        return False
    recorder, number = value._recorder, value._id
    if may_be_plain(value) or (value.type.dtype == INT64 and number not in recorder.python_ints):
        return True
    return value.type.dtype == BOOL and may_be_pythons_bool(recorder, number)


def _without_plain_numbers(function: Callable[..., Tree]) -> Callable[..., Tree]:
    """A function or class that is not rewritten, and may ask for the types of what it gets."""

    @functools.wraps(function, updated=())
    def unchanged(*args: Tree, **named: Tree) -> Tree:
        if any(map(_may_be_pythons, (*args, *named.values()))):
            raise UnsupportedFunction(f"{function.__name__}: it gets what may be a plain number, and may ask for its type")
        return function(*args, **named)

    return unchanged


_PLAIN_GETTERS = (object.__getattribute__, tuple.__getattribute__)
_CONTAINERS = frozenset((TrackedArray, np.ndarray, list, tuple, dict))
_SEQUENCES = frozenset((TrackedArray, np.ndarray, list, tuple, dict, range, str, set, frozenset))
