"""Walks over functions' closure variables with their containers and objects: to freeze, to copy and to fill them."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator, Sequence
from types import CellType, CodeType, FunctionType, MethodType, ModuleType

import numpy as np

from ...base.byte_code import operands
from ...base.source_location import is_library_file
from ...ir.instruction import Operand, is_tracked
from ...numpy_api.complex_numbers.pair import Pair
from ...recording.arrays.tracked import TrackedArray
from ...recording.python_state.data_key import levels_of_data
from ...recording.python_state.object_snapshot import (
    PLAIN,
    IdentityKey,
    ObjectSnapshot,
    PythonValue,
    array_key,
    is_stateful,
    plain_key,
    shallow_copy,
)


class Hole:
    """The place of a tracked value in a frozen function."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


class Walk:
    """Copies a function and its closure variables; `leaf` may replace any of them. Cycles are followed once."""

    def __init__(self) -> None:
        self.done: dict[int, PythonValue] = {}

    def leaf(self, value: PythonValue) -> PythonValue:
        raise NotImplementedError

    def state(self, value: PythonValue) -> PythonValue:
        """Return the copy of a container or object; without tracked values it stays itself."""
        return value

    def copy(self, value: PythonValue) -> PythonValue:
        kind = type(value)
        if issubclass(kind, Pair):
            known = self.done.get(id(value))
            return known[0] if known is not None else self._remember(value, kind(self.copy(value.re), self.copy(value.im)))
        if kind in PLAIN or is_tracked(value) or kind is Hole or isinstance(value, (np.ndarray, np.generic)):
            return self.leaf(value)
        known = self.done.get(id(value))
        if known is not None:
            return known[0]
        if kind is FunctionType:
            return self._function(value)
        if _is_tuple(kind):
            return self._remember(value, self._container(value, kind))
        if kind is MethodType:
            owner, function = self.copy(value.__self__), self.copy(value.__func__)
            same = owner is value.__self__ and function is value.__func__
            return value if same else MethodType(function, owner)
        if kind is functools.partial:
            parts = [self.copy(part) for part in (value.func, value.args, value.keywords)]
            return self._remember(value, functools.partial(parts[0], *parts[1], **parts[2]))
        rebuild = getattr(kind, "_tapediff_rebuilt", None) if _is_ours(kind) else None
        if rebuild is not None:
            return self._remember(value, rebuild(value, self.copy))
        if is_stateful(value):
            if not _holds_tracked(value):
                return self._remember(value, self.state(value))
            return self._container(value, kind) if kind in (list, dict) else self._object(value)
        self.enter(kind, IdentityKey(value))
        return self._remember(value, value)

    def _remember(self, value: PythonValue, made: PythonValue) -> PythonValue:
        self.done[id(value)] = (made, value)
        return made

    def _container(self, value: PythonValue, kind: type) -> PythonValue:
        if kind is dict:
            self.enter(kind, len(value))
            return self.changed(value, {key: self.copy(part) for key, part in value.items()}, value.values())
        # A named tuple's class may override construction, length and iteration.
        old = list(tuple.__iter__(value)) if issubclass(kind, tuple) else value
        self.enter(kind, len(old))
        parts = [self.copy(part) for part in old]
        return self.changed(value, _tuple_of(kind, parts, value) if issubclass(kind, tuple) else parts, old)

    def changed(self, value: PythonValue, made: PythonValue, old: PythonValue) -> PythonValue:
        """Return the container itself if nothing in it has changed."""
        new = made.values() if type(made) is dict else tuple.__iter__(made) if isinstance(made, tuple) else made
        return value if all(a is b for a, b in zip(new, old)) else made

    def _function(self, function: FunctionType) -> FunctionType:
        self.enter(FunctionType, IdentityKey(function.__code__))
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
        kwdefaults = function.__kwdefaults__
        made.__kwdefaults__ = None if kwdefaults is None else {k: self.copy(v) for k, v in kwdefaults.items()}
        for cell, old in zip(cells, function.__closure__ or ()):
            if cell is old:
                self.enter(CellType, IdentityKey(cell))
                continue
            try:
                contents = old.cell_contents
            except ValueError:  # not assigned yet
                continue
            cell.cell_contents = self.copy(contents)
        return made

    def _object(self, value: PythonValue) -> PythonValue:
        """Copy an object whose attributes hold tracked values."""
        self.enter(type(value), IdentityKey(value))
        made = shallow_copy(value)
        self._remember(value, made)
        vars(made).update({name: self.copy(part) for name, part in vars(value).items()})
        return made

    def enter(self, kind: type, key: Hashable) -> None:
        """Called for every container, function and object."""

    def meet(self, function: FunctionType) -> None:
        """Called for every function."""


def _is_tuple(kind: type) -> bool:
    """True for tuple and named tuple classes: other classes may have `_fields`, too."""
    return kind is tuple or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def _tuple_of(kind: type, parts: Sequence[PythonValue], like: PythonValue) -> PythonValue:
    """Make a tuple of a class without calling its constructor, with the attributes of `like`."""
    made = tuple.__new__(kind, parts)
    if getattr(like, "__dict__", None):
        vars(made).update(vars(like))
    return made


def _is_ours(kind: type) -> bool:
    """True for classes of this package: others may respond to any attribute."""
    return str(kind.__module__).startswith("tapediff.")


class Freezing(Walk):
    """Replaces tracked values by holes; collects the key of a function and everything it depends on."""

    def __init__(self) -> None:
        super().__init__()
        self.tracked: list[TrackedArray] = []
        self.originals: list[list[TrackedArray]] = []
        self.arrays: list[tuple[np.ndarray, Hashable]] = []
        self.key: list[Hashable] = []
        self.held: list[ObjectSnapshot] = []
        self.globals: list[tuple[dict[str, PythonValue], str, PythonValue, Hashable]] = []
        self._holes: dict[tuple[int, int], Hole] = {}
        self._met: set[tuple[int, int]] = set()

    def leaf(self, value: PythonValue) -> PythonValue:
        if is_tracked(value):
            value._refresh()
            place = (id(value._recorder), value._id)
            hole = self._holes.get(place)
            if hole is None:
                hole = self._holes[place] = Hole(len(self.tracked))
                self.tracked.append(TrackedArray(value._recorder, value._id, value._value, value.type))
                self.originals.append([])
            self.originals[hole.index].append(value)
            self.key.append((Hole, hole.index))
            return hole
        if isinstance(value, np.ndarray):
            return self._array(value)
        self.key.append(plain_key(value))
        return value

    def _array(self, value: np.ndarray) -> np.ndarray:
        if not value.dtype.hasobject:
            self.key.append(array_key(value))
            self.arrays.append((value, self.key[-1]))
            return value
        self.key.append((np.ndarray, value.shape))
        frozen = np.empty(value.shape, object)
        frozen.reshape(-1)[:] = [self.copy(entry) for entry in value.flat]
        return frozen

    def state(self, value: PythonValue) -> PythonValue:
        self.held.append(ObjectSnapshot(value))
        self.key.append(self.held[-1])
        return value

    def enter(self, kind: type, key: Hashable) -> None:
        self.key.append((kind, key))

    def meet(self, function: FunctionType) -> None:
        """The globals of a function, and those of the functions among them."""
        # Functions in several namespaces may share a code object.
        identity = id(function.__code__), id(function.__globals__)
        if identity in self._met or is_library_file(function.__code__.co_filename):
            return
        self._met.add(identity)
        for name in globals_of(function.__code__):
            found = function.__globals__.get(name, _ABSENT)
            if found is _ABSENT or isinstance(found, ModuleType) or is_tracked(found):
                continue
            key = global_key(found)
            shown = found.copy() if type(key) is tuple and isinstance(found, np.ndarray) else found
            self.key.append((name, key))
            self.globals.append((function.__globals__, name, shown, key))
            inner = getattr(found, "f", found) if _is_ours(type(found)) else found  # of a sub-tape, too
            if type(inner) is FunctionType:
                self.meet(inner)


class Owning(Walk):
    """Copies arrays."""

    def leaf(self, value: PythonValue) -> PythonValue:
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            value = value.copy()
            value.flags.writeable = False
        return value


class Filling(Walk):
    """Fills holes with values, and replaces containers and objects that have changed."""

    def __init__(self, values: Sequence[Operand], replaced: dict[int, PythonValue]) -> None:
        super().__init__()
        self._values, self._replaced = values, replaced
        self.arrays: set[int] = set()
        self._made: list[tuple[PythonValue, PythonValue]] = []

    def copy(self, value: PythonValue) -> PythonValue:
        # Also an object that held no tracked values when it was frozen, and holds some now.
        return self._replaced[id(value)] if id(value) in self._replaced else super().copy(value)

    def changed(self, value: PythonValue, made: PythonValue, old: PythonValue) -> PythonValue:
        result = super().changed(value, made, old)
        if type(made) in (list, dict) and result is made:
            self._made.append((made, made.copy()))
        return result

    def _object(self, value: PythonValue) -> PythonValue:
        made = super()._object(value)
        self._made.append((vars(made), dict(vars(made))))
        return made

    def containers_changed(self) -> bool:
        return any(len(now) != len(then) or any(_differ(now, then)) for now, then in self._made)

    def leaf(self, value: PythonValue) -> PythonValue:
        if type(value) is Hole:
            return self._values[value.index]
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            filled = np.empty(value.shape, object)
            filled.reshape(-1)[:] = [self.copy(entry) for entry in value.flat]
            return filled
        if isinstance(value, np.ndarray):
            self.arrays.add(id(value))
        return value


_ABSENT = object()


def global_key(value: PythonValue) -> Hashable:
    """A key, equal while a global is the same."""
    if type(value) in PLAIN or isinstance(value, np.generic):
        return plain_key(value)
    if isinstance(value, np.ndarray):
        return array_key(value)
    return ObjectSnapshot(value) if is_stateful(value) else IdentityKey(value)


@functools.lru_cache(maxsize=1000)
def globals_of(code: CodeType) -> tuple[str, ...]:
    """The names that a function, or one inside it, may look up among its globals."""
    own = operands(code, "global")
    inside = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return tuple(dict.fromkeys((*own, *(name for c in inside for name in globals_of(c)))))


@functools.lru_cache(maxsize=1000)
def _assigned(code: CodeType) -> frozenset[str]:
    """The variables of enclosing functions that a function, or one inside it, assigns to."""
    names = set(operands(code, "store cell", "delete cell"))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _assigned(constant)
    return frozenset(names & set(code.co_freevars))


def _differ(now: PythonValue, then: PythonValue) -> Iterator[bool]:
    if type(now) is dict:
        return (key not in then or value is not then[key] for key, value in now.items())
    return (a is not b for a, b in zip(now, then))


def _holds_tracked(value: PythonValue, depth: int = 4) -> bool:
    if is_tracked(value) or type(value) is Hole or issubclass(type(value), Pair):
        return True
    if depth == 0 or levels_of_data(value):
        return False
    if type(value) is dict:
        return any(_holds_tracked(part, depth - 1) for part in list(value.values()))
    if type(value) in (list, tuple):
        return any(_holds_tracked(part, depth - 1) for part in value)
    if type(value) is set or not is_stateful(value):  # tracked values have no hash
        return False
    return any(_holds_tracked(part, depth - 1) for part in list(vars(value).values()))
