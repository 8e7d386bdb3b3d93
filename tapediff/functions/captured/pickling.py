"""Pickle functions by name. A callee is pickled with those of its functions that can be found by name."""

from __future__ import annotations

import functools
import importlib
import io
import pickle
import sys
from collections.abc import Callable
from types import FunctionType, MethodType, ModuleType
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ...base.source_location import Site
from ...errors import UnsupportedFunction
from ...ir.instruction import Operand, Tree
from ...recording.python_state.object_snapshot import LARGEST_COMPARED, PLAIN, PythonValue
from .freeze import Frozen, freeze
from .frozen_walk import global_key

# The attributes under which td.subtape, td.primitive and decorators keep the wrapped function.
_WRAPPED = ("", "f", "forward", "__wrapped__")

Made = TypeVar("Made")

# The recipe of `__reduce__` to make an object again; or NotImplemented.
Reduced: TypeAlias = tuple[Any, ...]


def place_of(value: object) -> tuple[str, str, str] | None:
    """Module, name and attribute that locate a function or its wrapper in another process; None if they would not."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    try:
        found = _named(sys.modules[module], name)
    except (KeyError, AttributeError):
        return None
    for attribute in _WRAPPED:
        candidate = getattr(found, attribute, None) if attribute else found
        if candidate is value or _is_same_function(candidate, value):
            return module, name, attribute
    return None


def _named(module: ModuleType, name: str) -> PythonValue:
    return functools.reduce(getattr, name.split("."), module)


def _is_same_function(a: object, b: object) -> bool:
    """True if both are one function; frozen functions with default arguments are copies of the program's."""
    return type(a) is FunctionType and type(b) is FunctionType and a.__code__ is b.__code__ and not b.__closure__


def found(module: str, name: str, attribute: str) -> PythonValue:
    """The function at a place, in this process."""
    value = _named(importlib.import_module(module), name)
    return getattr(value, attribute) if attribute else value


def reduced(value: PythonValue) -> Reduced:
    """The `__reduce__` recipe of a function, partial or method that pickle would not find itself; else NotImplemented."""
    kind = type(value)
    if kind is functools.partial:
        return _partial, (Portable(value.func), value.args, value.keywords)
    if kind is MethodType:
        return _method, (Portable(value.__func__), value.__self__)
    if kind is not FunctionType:
        return NotImplemented
    place = place_of(value)
    if place is not None:
        return NotImplemented if found(*place) is value and not place[2] else (found, place)
    if "cloudpickle" in sys.modules:
        return pickle.loads, (sys.modules["cloudpickle"].dumps(value),)
    raise UnsupportedFunction(
        f"{value.__name__} cannot be pickled, as other processes would not find it by its name", at=Site(value.__code__, 0),
        got=f"{value.__module__}.{value.__qualname__}", fix="define it with def at the top level of a module",
    )  # fmt: skip


def _method(function: Callable[..., object], owner: object) -> MethodType:
    return MethodType(function, owner)


def _partial(function: Callable[..., Made], args: tuple[object, ...], keywords: dict[str, object]) -> functools.partial[Made]:
    return functools.partial(function, *args, **keywords)


class Portable:
    """A function in a pickle, unpickled as itself even if its name refers to its wrapper."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __reduce__(self) -> tuple[object, ...]:
        how = reduced(self.value)
        return (_itself, (self.value,)) if how is NotImplemented else how


def _itself(value: Made) -> Made:
    return value


class _Pickler(pickle.Pickler):
    """Finds functions by the names of their wrappers too, anywhere in a pickle."""

    def reducer_override(self, obj: object) -> Reduced:
        return _reduced_frozen(obj) if type(obj) is Frozen else reduced(obj)


def _reduced_frozen(frozen: Frozen) -> Reduced:
    if frozen.hole_count:
        raise UnsupportedFunction("a function that closes over tracked values cannot be pickled")
    kept = [
        (names["__name__"], name, value)
        for names, name, value, _ in frozen._globals
        if type(value) in PLAIN or (isinstance(value, np.ndarray) and value.nbytes <= LARGEST_COMPARED)
    ]
    return _frozen_again, (frozen._functions, kept)


def _frozen_again(functions: list[Callable[..., object]], kept: list[tuple[str, str, PythonValue]]) -> Frozen:
    """Freeze this process's functions of these names; globals must hold the same numbers as when they were recorded."""
    frozen = freeze(*functions).owned()
    frozen._globals = [
        (importlib.import_module(module).__dict__, name, value, global_key(value)) for module, name, value in kept
    ]
    return frozen


class Remembered:
    """A pickled function with which a callee records new paths; unpickled at its first call.

    Attributes:
        is_needed: as of the user's guard of a sub-tape.
    """

    is_needed = True

    def __init__(self, name: str, parts: bytes | None, why: str, part: int) -> None:
        self.name, self.parts, self.why, self.part = name, parts, why, part
        self._loaded: PythonValue = None

    def __call__(self, *args: Operand) -> Tree:
        if self._loaded is None:
            if self.parts is None:
                raise UnsupportedFunction(
                    f"{self.name} takes a path that was not recorded before it was pickled, and its function was not pickled",
                    got=self.why, fix="let it take that path before; or define its functions at the top level of a module",
                )  # fmt: skip
            self._loaded = pickle.loads(self.parts)[self.part]
        return self._loaded(*args)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_loaded": None}


def remembered(name: str, *parts: object) -> list[Remembered | None]:
    """Each part in a picklable form; a part that cannot be pickled is dropped, and raises when it is called."""
    content, why, file = None, "", io.BytesIO()
    try:
        _Pickler(file).dump(parts)
        content = file.getvalue()
    except Exception as error:  # noqa: BLE001 -- user code pickles itself as it likes, and none of it is needed to go on
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
    return [None if part is None else Remembered(name, content, why, k) for k, part in enumerate(parts)]
