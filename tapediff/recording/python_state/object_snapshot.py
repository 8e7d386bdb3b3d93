"""Snapshots of mutable objects: keys that compare the contents of two objects, or of one at two moments; and deep copies."""

from __future__ import annotations

import copy
from collections.abc import Hashable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

import numpy as np

from ...base.held_locks import drop_oldest
from ...errors import InvalidGuardValue
from ...ir.keys import value_key
from .data_key import PythonValue as PythonValue, data_key, levels_of_data
from .process_state import process

# Larger arrays are compared by identity and a sample of so many entries: reading them whole at every call would take too long.
LARGEST_COMPARED = 1 << 16

SAMPLED = 1024

PLAIN = (bool, int, float, complex, str, bytes, type(None))
CONTAINERS = (list, dict, set)

# The depth to which containers and objects are compared.
DEPTH = 4

# Most objects that are remembered as mutable; the oldest are dropped.
_MOST_MUTABLE = 4096


class IdentityKey:
    """The identity of an object, as a key that keeps it alive."""

    __slots__ = ("held",)

    def __init__(self, held: object) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return type(other) is IdentityKey and self.held is other.held

    def __hash__(self) -> int:
        return id(self.held)


class ObjectSnapshot:
    """The contents of a container or object at one moment, as a key."""

    __slots__ = ("content", "held")

    def __init__(self, held: object) -> None:
        self.held = held
        self.content = content_key(held)

    def is_same(self) -> bool:
        """True if the contents are unchanged, or the object is known to be mutable."""
        return id(self.held) in process.mutable or self.content == content_key(self.held)

    def __eq__(self, other: object) -> bool:
        if type(other) is not ObjectSnapshot:
            return False
        return (self.held is other.held and id(self.held) in process.mutable) or self.content == other.content

    def __hash__(self) -> int:
        return hash(type(self.held))


def note_mutable(held: object) -> None:
    """Note that a recorded function changed this object: from now on it is compared by identity, not by contents."""
    drop_oldest(process.mutable, _MOST_MUTABLE - 1)
    process.mutable[id(held)] = held


def is_stateful(value: object) -> bool:
    """True if a value is a container, or an object with attributes."""
    if type(value) in CONTAINERS:
        return True
    if isinstance(value, (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, np.ufunc)):
        return False
    return isinstance(getattr(value, "__dict__", None), dict) and not type(value).__module__.startswith(
        ("tapediff", "numpy", "numba", "threading")
    )


def content_key(value: PythonValue, depth: int = DEPTH) -> Hashable:
    """A key that is equal for equal contents."""
    kind = type(value)
    if kind in PLAIN or isinstance(value, np.generic):
        return plain_key(value)
    if isinstance(value, np.ndarray):
        return array_key(value)
    if depth == 0:
        return IdentityKey(value)
    if 0 < levels_of_data(value) <= depth:
        return kind, data_key(value)
    if kind is list or kind is tuple:
        return kind, tuple(content_key(part, depth - 1) for part in value)
    if kind is dict:
        return kind, tuple((content_key(k, depth - 1), content_key(v, depth - 1)) for k, v in list(value.items()))
    if kind is set:
        return kind, frozenset(content_key(part, depth - 1) for part in value)
    if is_stateful(value):
        return IdentityKey(value), tuple((name, content_key(part, depth - 1)) for name, part in list(vars(value).items()))
    return IdentityKey(value)


def plain_key(value: PythonValue) -> Hashable:
    """The key of a number or string: type and bits."""
    try:
        return value_key(value)
    except InvalidGuardValue:
        return IdentityKey(value)


def array_key(value: np.ndarray) -> Hashable:
    """The key of an array: contents if it is small; identity and a sample of the contents if it is large."""
    if value.dtype.hasobject:
        return IdentityKey(value)
    if value.nbytes > LARGEST_COMPARED:
        step = value.size // SAMPLED + 1
        return IdentityKey(value), value.reshape(-1)[::step].tobytes() if value.flags.c_contiguous else b""
    return np.ndarray, value.dtype.str, value.shape, value.tobytes()


def shallow_copy(value: PythonValue) -> PythonValue:
    """copy.copy of an object with attributes, also if its class does not support or fails at copying."""
    try:
        return copy.copy(value)
    except Exception:  # noqa: BLE001 -- user code
        made = object.__new__(type(value))
        vars(made).update(vars(value))
        return made


def copied(value: PythonValue, depth: int = DEPTH) -> PythonValue:
    """A copy of a container or object, with copies of its mutable contents."""
    kind = type(value)
    if isinstance(value, np.ndarray):
        return value if value.dtype.hasobject or value.nbytes > LARGEST_COMPARED else value.copy()
    if depth == 0:
        return value
    if kind is list or kind is tuple:
        return kind(copied(part, depth - 1) for part in value)
    if kind is dict:
        return {key: copied(part, depth - 1) for key, part in value.items()}
    if kind is set:
        return set(value)
    if is_stateful(value):
        made = shallow_copy(value)
        if made is not value:
            vars(made).update({name: copied(part, depth - 1) for name, part in vars(value).items()})
        return made
    return value
