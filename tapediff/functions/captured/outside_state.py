"""What code that is recorded once and runs many times reads besides its arguments: and whether all that is still the same.

Freezing a function copies the variables that it closes over, a few levels deep. Everything else that Python may look up, in globals,
modules, classes, cells of other functions, and deeper in containers and objects, is watched here: a body is used again, and recorded
along another path, only while it has not changed.
"""

from __future__ import annotations

import functools
import sys
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from types import BuiltinMethodType, CellType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from ...base.source_location import is_library_file
from ...ir.instruction import is_tracked
from ...recording.python_state.data_key import data_key, levels_of_data
from ...recording.python_state.object_snapshot import (
    CONTAINERS,
    DEPTH,
    LARGEST_COMPARED,
    PLAIN,
    IdentityKey,
    array_key,
    is_stateful,
    plain_key,
)
from .code_keys import names_of

# A function that reaches more objects is not watched.
MOST_OBJECTS = 5_000


class TooMuchState(Exception):
    """There is more to be watched than is worth it."""


class OutsideState:
    """What functions may read that is neither an argument nor copied by freezing them.

    Args:
        functions: as they are frozen, with all that they close over.
        names: that they may ask objects for, besides those in their codes.

    Raises:
        TooMuchState: it cannot be watched.
    """

    def __init__(self, functions: Sequence[object], names: Iterable[str]) -> None:
        # How many levels of what is at a place are copied when a function is frozen.
        self._depths: dict[int, int] = {}
        self._held: list[object] = []
        self._names = set(names)
        self._pending: list[tuple[object, int]] = [(f, DEPTH) for f in functions]
        self._owners: list[tuple[object, Mapping[str, object]]] = []
        self._owned: set[int] = set()
        self._asked: set[tuple[int, str]] = set()
        self._places: list[tuple[Callable[[Any], Hashable], object]] = []
        self._large: list[np.ndarray] = []
        self._walk()
        # Others belong to one recording.
        self._held, self._depths, self._owners = [owner for _, owner in self._places], {}, []
        self._keys = [key(owner) for key, owner in self._places]
        self._sums = [_checksum(array) for array in self._large]

    @property
    def has_large_arrays(self) -> bool:
        """Whether there are arrays that `is_same` does not compare whole."""
        return bool(self._large)

    @property
    def key(self) -> Hashable:
        """Equal only while nothing has changed."""
        return tuple(self._keys)

    def is_same(self) -> bool:
        """Whether everything is as it was, but for large arrays, of which only a part is compared."""
        return all(key(owner) == before for (key, owner), before in zip(self._places, self._keys))

    def are_arrays_same(self) -> bool:
        """Whether large arrays are as they were."""
        return all(_checksum(array) == before for array, before in zip(self._large, self._sums))

    def _walk(self) -> None:
        while self._pending:
            while self._pending:
                self._visit(*self._pending.pop())
            # New names may be those of attributes of what was met before.
            for owner, attributes in self._owners:
                for name in self._names.intersection(attributes):
                    if (id(owner), name) not in self._asked:
                        self._asked.add((id(owner), name))
                        self._watch(_Entry(name), attributes)
                        self._pending.append((attributes[name], 0))

    def _watch(self, key: Callable[[Any], Hashable], owner: object) -> None:
        self._places.append((key, owner))

    def _visit(self, value: object, depth: int) -> None:
        kind = type(value)
        if kind in PLAIN or isinstance(value, (np.generic, ModuleType)) or is_tracked(value):
            if isinstance(value, ModuleType) and not _is_library(value.__name__):
                self._own(value, vars(value))
            return
        if self._depths.get(id(value), -1) >= depth:
            return
        if id(value) not in self._depths:
            self._held.append(value)
            if len(self._held) > MOST_OBJECTS:
                raise TooMuchState(f"it may read more than {MOST_OBJECTS} objects")
        self._depths[id(value)] = depth
        self._pending += [(part, below) for part, below in self._parts(value, kind, depth)]

    def _parts(self, value: Any, kind: type, depth: int) -> Iterator[tuple[object, int]]:
        """What is in an object, and how many levels of that are copied; notes what is to be watched."""
        if kind is FunctionType:
            yield from self._of_function(value, depth)
        elif isinstance(value, np.ndarray):
            self._array(value, depth)
            if value.dtype.hasobject:
                yield from ((part, 0) for part in value.flat)
        elif kind is tuple or kind in CONTAINERS or isinstance(value, (tuple, list, dict, set, frozenset)):
            levels = levels_of_data(value)
            if levels:
                if levels > depth:
                    self._watch(data_key, value)
                return
            # Of other classes, only the outermost is copied.
            below = depth - 1 if kind is tuple or kind in CONTAINERS else depth if depth == DEPTH and hasattr(kind, "_fields") else 0
            if depth == 0 and not isinstance(value, (tuple, frozenset)):
                self._watch(_contents, value)
            yield from ((part, max(below, 0)) for part in (value.values() if isinstance(value, dict) else value))
        elif isinstance(value, type):
            for base in value.__mro__:
                if not _is_library(base.__module__):
                    self._own(base, vars(base))
        elif kind in (MethodType, functools.partial, BuiltinMethodType, staticmethod, classmethod, property):
            of = [getattr(value, name, None) for name in ("__func__", "__self__", "func", "args", "keywords", "fget")]
            yield from ((part, depth) for part in of)
        elif kind.__module__.startswith("tapediff."):
            yield getattr(value, "f", None), 0
        else:
            yield from self._of_object(value, kind, depth)

    def _of_function(self, function: FunctionType, depth: int) -> Iterator[tuple[object, int]]:
        code = function.__code__
        if is_library_file(code.co_filename):
            return
        names = names_of(code)
        self._names |= names
        self._own(function.__globals__, function.__globals__, names)
        for cell in function.__closure__ or ():
            if depth == 0:
                self._watch(_contents_of_cell, cell)
            yield _inside(cell), depth
        for part in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            yield part, depth

    def _own(self, owner: object, attributes: Mapping[str, object], only: frozenset[str] | None = None) -> None:
        """Note an object whose attributes are looked up by name, or the globals of one function."""
        if only is None:
            if id(owner) not in self._owned:
                self._owned.add(id(owner))
                self._owners.append((owner, attributes))
            return
        for name in only:
            if name in attributes and (id(attributes), name) not in self._asked:
                self._asked.add((id(attributes), name))
                self._watch(_Entry(name), attributes)
                self._pending.append((attributes[name], 0))

    def _of_object(self, value: Any, kind: type, depth: int) -> Iterator[tuple[object, int]]:
        yield kind, 0
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            below = depth - 1 if is_stateful(value) else 0
            if depth == 0:
                self._own(value, attributes)
            else:
                yield from ((part, max(below, 0)) for part in attributes.values())
        for base in kind.__mro__:
            if "__slots__" in vars(base) and not _is_library(base.__module__):
                for name in [name for name, slot in vars(base).items() if isinstance(slot, MemberDescriptorType)]:
                    self._watch(_Slot(name), value)
                    yield getattr(value, name, None), 0

    def _array(self, array: np.ndarray, depth: int) -> None:
        if array.nbytes > LARGEST_COMPARED:
            self._large.append(array)
        if depth == 0 or array.nbytes > LARGEST_COMPARED:
            self._watch(array_key, array)


def _key(value: object) -> Hashable:
    """Equal while the same object, or an equal number or string, is at a place."""
    return plain_key(value) if type(value) in PLAIN or isinstance(value, np.generic) else IdentityKey(value)


class _Entry:
    """The key of an entry of a mapping."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, owner: Mapping[str, object]) -> Hashable:
        return _key(owner[self._name]) if self._name in owner else None


class _Slot:
    """The key of an attribute that has a slot."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, owner: object) -> Hashable:
        return _key(getattr(owner, self._name, None))


def _contents(container: Any) -> Hashable:
    if isinstance(container, dict):
        return tuple((_key(k), _key(v)) for k, v in list(container.items()))
    parts = [_key(part) for part in container]
    return frozenset(parts) if isinstance(container, set) else tuple(parts)


def _contents_of_cell(cell: CellType) -> Hashable:
    return _key(_inside(cell))


def _inside(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def _checksum(array: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


@functools.cache
def _is_library(module: str) -> bool:
    root = module.partition(".")[0]
    return root in ("numpy", "scipy", "tapediff") or root in sys.stdlib_module_names
