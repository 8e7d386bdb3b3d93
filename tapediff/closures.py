"""Functions as they are at one moment: the variables of enclosing functions are taken as they stand, tracked ones as arguments.

A sub-tape or the branch of a td.cond may be recorded for the first time when the recording around it has long ended. Then the
variables that it closes over may have changed, and tracked values among them belong to a recording that is over. So a frozen
function has copies of these variables, with a hole for each tracked value, which is filled with an input of the new recording.
"""

from __future__ import annotations

import copy
import dis
import functools
from collections.abc import Callable, Sequence
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from .errors import InvalidGuardValue
from .instruction import is_tracked
from .keys import value_key
from .tracked import TrackedArray

# Larger arrays are told apart by identity: their content is taken as it was when they were first met.
LARGEST_COMPARED = 1 << 16

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class Hole:
    """The place of a tracked value in a frozen function."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


class Frozen:
    """Functions as they were.

    Attributes:
        tracked: the tracked values that they close over.
        key: equal for functions of the same code that close over equal values.
    """

    def __init__(self, functions: Sequence[Any]) -> None:
        walk = _Freezing()
        self._functions = [walk.copy(function) for function in functions]
        self.tracked: list[Any] = walk.tracked
        self.key = tuple(walk.key)
        # The key holds identities, which are those of these objects as long as they live.
        self._alive = walk.alive
        self._copied: dict[int, Any] = {}
        self._globals = walk.globals

    def changed_global(self) -> tuple[str, Any, Any] | None:
        """A global number or array that is another one by now: its name, what it was, and what it is."""
        for names, name, value, key in self._globals:
            if name not in names or _global_key(names[name]) != key:
                return name, value, names.get(name)
        return None

    def owned(self) -> Frozen:
        """With copies of the arrays, which the program may change from now on."""
        walk = _Owning()
        self._functions = [walk.copy(function) for function in self._functions]
        self._copied = walk.copied
        return self

    def filled(self, values: Sequence[Any]) -> tuple[list[Any], Callable[[], bool]]:
        """The functions with these values in place of the tracked ones, and whether they have changed a copied container since."""
        walk = _Filling(values, self._copied)
        functions = [walk.copy(function) for function in self._functions]
        return functions, walk.containers_changed


class _Walk:
    """Copies what a function reaches, changing what `leaf` changes. Cycles are followed once."""

    def __init__(self) -> None:
        self.done: dict[int, Any] = {}

    def leaf(self, value: Any) -> Any:
        raise NotImplementedError

    def copy(self, value: Any) -> Any:
        kind = type(value)
        if kind in _PLAIN or is_tracked(value) or kind is Hole or isinstance(value, (np.ndarray, np.generic)):
            return self.leaf(value)
        known = self.done.get(id(value))
        if known is not None:
            return known[0]
        if kind is FunctionType:
            return self._function(value)
        if kind is list or kind is tuple or kind is dict or hasattr(value, "_fields"):
            return self._remember(value, self._container(value, kind))
        if kind is MethodType:
            owner = self.copy(value.__self__)
            return value if owner is value.__self__ else MethodType(value.__func__, owner)
        if kind is functools.partial:
            parts = [self.copy(part) for part in (value.func, value.args, value.keywords)]
            return self._remember(value, functools.partial(parts[0], *parts[1], **parts[2]))
        rebuild = getattr(kind, "_tapediff_rebuilt", None)
        if rebuild is not None:
            return self._remember(value, rebuild(value, self.copy))
        return self._object(value)

    def _remember(self, value: Any, made: Any) -> Any:
        self.done[id(value)] = (made, value)
        return made

    def _container(self, value: Any, kind: type) -> Any:
        """Lists and dicts without tracked values stay themselves: what a function appends to them is seen outside."""
        if kind in (list, dict) and not _holds_tracked(value):
            self.enter(kind, id(value))
            self.meet(value)
            return value
        self.enter(kind, len(value))
        if kind is dict:
            return self._changed(value, {key: self.copy(part) for key, part in value.items()}, value.values())
        parts = [self.copy(part) for part in value]
        return self._changed(value, kind(*parts) if hasattr(kind, "_fields") else kind(parts), value)

    def _changed(self, value: Any, made: Any, old: Any) -> Any:
        new = made.values() if type(made) is dict else made
        return value if all(a is b for a, b in zip(new, old)) else made

    def _function(self, function: FunctionType) -> Any:
        self.enter(FunctionType, id(function.__code__))
        self.meet(function)
        if not function.__closure__ and not function.__defaults__ and not function.__kwdefaults__:
            return self._remember(function, function)
        # A variable that the function assigns to (nonlocal) is shared with the enclosing function.
        assigned = _assigned(function.__code__)
        names = function.__code__.co_freevars
        cells = tuple(old if name in assigned else CellType() for name, old in zip(names, function.__closure__ or ()))
        made = FunctionType(function.__code__, function.__globals__, function.__name__, None, cells)
        self._remember(function, made)
        made.__dict__.update(function.__dict__)
        made.__qualname__, made.__module__ = function.__qualname__, function.__module__
        made.__defaults__ = None if function.__defaults__ is None else self.copy(function.__defaults__)
        made.__kwdefaults__ = None if function.__kwdefaults__ is None else self.copy(function.__kwdefaults__)
        for cell, old in zip(cells, function.__closure__ or ()):
            if cell is old:
                self.enter(CellType, id(cell))
                self.meet(cell)
                continue
            try:
                contents = old.cell_contents
            except ValueError:  # not assigned yet
                continue
            cell.cell_contents = self.copy(contents)
        return made

    def _object(self, value: Any) -> Any:
        """Any other object stays itself, unless its attributes hold tracked values."""
        attributes = getattr(value, "__dict__", None)
        self.enter(type(value), id(value))
        self.meet(value)
        if isinstance(value, type) or not isinstance(attributes, dict) or not _holds_tracked(attributes):
            return self._remember(value, value)
        made = copy.copy(value)
        self._remember(value, made)
        made.__dict__.update({name: self.copy(part) for name, part in attributes.items()})
        return made

    def enter(self, kind: Any, key: Any) -> None:
        """Called for every container, function and object."""

    def meet(self, value: Any) -> None:
        """Called for every function and object that is known by identity."""


class _Freezing(_Walk):
    def __init__(self) -> None:
        super().__init__()
        self.tracked: list[Any] = []
        self.key: list[Any] = []
        self.alive: list[Any] = []
        self.globals: list[tuple[dict[str, Any], str, Any, Any]] = []
        self._holes: dict[tuple[int, int], Hole] = {}

    def leaf(self, value: Any) -> Any:
        if is_tracked(value):
            value._refresh()
            place = (id(value._recorder), value._id)
            hole = self._holes.get(place)
            if hole is None:
                hole = self._holes[place] = Hole(len(self.tracked))
                self.tracked.append(TrackedArray(value._recorder, value._id, value._value, value.type))
            self.key.append((Hole, hole.index))
            return hole
        if isinstance(value, np.ndarray):
            return self._array(value)
        self.key.append(_plain_key(value))
        return value

    def _array(self, value: np.ndarray) -> Any:
        if value.dtype.hasobject:
            self.key.append((np.ndarray, value.shape))
            frozen = np.empty(value.shape, object)
            frozen.reshape(-1)[:] = [self.copy(entry) for entry in value.flat]
            return frozen
        if value.nbytes > LARGEST_COMPARED:
            self.alive.append(value)
            self.key.append((np.ndarray, id(value)))
        else:
            self.key.append((np.ndarray, value.dtype.str, value.shape, value.tobytes()))
        return value

    def enter(self, kind: Any, key: Any) -> None:
        self.key.append((kind, key))

    def meet(self, value: Any) -> None:
        self.alive.append(value)
        if type(value) is FunctionType:
            for name in _globals_of(value.__code__):
                found = value.__globals__.get(name, value)
                if type(found) in _PLAIN or type(found) is np.ndarray:
                    self.key.append((name, _global_key(found)))
                    self.globals.append((value.__globals__, name, found, self.key[-1][1]))


class _Owning(_Walk):
    def __init__(self) -> None:
        super().__init__()
        # The containers that are the program's no more, by identity.
        self.copied: dict[int, Any] = {}

    def _changed(self, value: Any, made: Any, old: Any) -> Any:
        result = super()._changed(value, made, old)
        if result is made:
            self.copied[id(made)] = made
        return result

    def leaf(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            value = value.copy()
            value.flags.writeable = False
        return value


class _Filling(_Walk):
    def __init__(self, values: Sequence[Any], copied: dict[int, Any]) -> None:
        super().__init__()
        self._values, self._copied = values, copied
        self._made: list[tuple[Any, Any]] = []

    def _changed(self, value: Any, made: Any, old: Any) -> Any:
        result = super()._changed(value, made, old)
        if type(result) in (list, dict) and (result is made or id(value) in self._copied):
            self._made.append((result, dict(result) if type(result) is dict else list(result)))
        return result

    def containers_changed(self) -> bool:
        return any(len(now) != len(then) or any(_differ(now, then)) for now, then in self._made)

    def leaf(self, value: Any) -> Any:
        if type(value) is Hole:
            return self._values[value.index]
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            filled = np.empty(value.shape, object)
            filled.reshape(-1)[:] = [self.copy(entry) for entry in value.flat]
            return filled
        return value


def _global_key(value: Any) -> Any:
    """Of a number by type and bits, of a small array by its content, of all else by identity."""
    if type(value) is np.ndarray and value.nbytes <= LARGEST_COMPARED and not value.dtype.hasobject:
        return np.ndarray, value.dtype.str, value.shape, value.tobytes()
    return _plain_key(value) if type(value) in _PLAIN else (type(value), id(value))


@functools.cache
def _globals_of(code: CodeType) -> tuple[str, ...]:
    """The names that a function, or one inside it, may look up among its globals."""
    own = (i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    inside = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return tuple(dict.fromkeys((*own, *(name for c in inside for name in _globals_of(c)))))


@functools.cache
def _assigned(code: CodeType) -> frozenset[str]:
    """The variables of enclosing functions that a function, or one inside it, assigns to."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname in ("STORE_DEREF", "DELETE_DEREF")}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _assigned(constant)
    return frozenset(names & set(code.co_freevars))


def _differ(now: Any, then: Any) -> Any:
    if type(now) is dict:
        return (key not in then or value is not then[key] for key, value in now.items())
    return (a is not b for a, b in zip(now, then))


def _plain_key(value: Any) -> Any:
    try:
        return value_key(value)
    except InvalidGuardValue:
        return type(value), id(value)


def _holds_tracked(value: Any, depth: int = 3) -> bool:
    if is_tracked(value) or type(value) is Hole:
        return True
    if depth == 0:
        return False
    if type(value) is dict:
        return any(_holds_tracked(part, depth - 1) for part in value.values())
    return type(value) in (list, tuple) and any(_holds_tracked(part, depth - 1) for part in value)


def freeze(*functions: Callable[..., Any]) -> Frozen:
    """The functions as they are now."""
    return Frozen(functions)
