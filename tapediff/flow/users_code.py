"""Whose code a function is: the user's is translated, libraries' runs unchanged.

The user's is what lies outside of installed packages, and the installed packages of recorded functions.
"""

from __future__ import annotations

import os
import struct
import weakref
from collections import deque
from types import FunctionType, MemberDescriptorType, MethodType

from ..base.source_location import (
    TRANSLATED,
    installed_package,
    is_beside_compiled,
    is_in_package,
    is_installed,
    is_library_file,
)
from .anything import Object


def is_users(function: object) -> bool:
    """True for Python functions in the user's files or in TRANSLATED libraries, except look-ups in tables that have no effect."""
    if type(function) is not FunctionType:
        return False
    code = function.__code__
    if "is_numpys_own" in function.__dict__:
        return True
    return is_users_file(code.co_filename) and not (code.co_filename in TRANSLATED and code.co_qualname.startswith(_LOOK_UPS))


# Of named tuples, whose functions have no source, and of functions that are chosen by a type.
_LOOK_UPS = ("namedtuple.", "singledispatch.<locals>.dispatch")

# Libraries treated as the user's code, and builtins in Python.
_TRANSLATED = (*TRANSLATED, os.path.join(os.path.dirname(__file__), "in_python.py"))


class _Files(dict[str, bool]):
    def __missing__(self, filename: str) -> bool:
        is_library = is_library_file(filename) or _is_of_others(filename) or filename.startswith("<frozen")
        known = self[filename] = filename in _TRANSLATED or not is_library
        return known


def _is_of_others(filename: str) -> bool:
    return is_installed(filename) and (not is_in_package(filename) or installed_package(filename) not in KNOWN.packages)


class _Known:
    """Facts about classes, kept until a class attribute is set, and about files.

    Attributes:
        simple: the user's code takes no part in attribute look-up, except by properties.
        native: the user's code defines no operator of the class.
        packages: the installed packages of recorded functions.
        files: whether a file is the user's.
    """

    def __init__(self) -> None:
        self.packages: set[str] = set()
        self.files = _Files()
        self.simple: dict[type, bool] = {}
        self.native: dict[type, bool] = {}

    def forget(self) -> None:
        """Forget the facts about classes, as they may have changed."""
        self.simple, self.native = {}, {}


KNOWN = _Known()
is_users_file = KNOWN.files.__getitem__


def adopt(function: object) -> None:
    """Take the installed package of a recorded function for the user's code, unless it has compiled modules."""
    called = getattr(function, "__func__", function)
    code = getattr(called, "__code__", None) or getattr(getattr(type(called), "__call__", None), "__code__", None)  # noqa: B004 -- its code
    filename = "" if code is None else code.co_filename
    if is_in_package(filename) and not is_library_file(filename) and not is_beside_compiled(filename):
        package = installed_package(filename)
        if package not in KNOWN.packages:
            KNOWN.packages.add(package)
            KNOWN.files.clear()
            KNOWN.forget()


def has_simple_attributes(kind: type) -> bool:
    """True if the user's code takes no part in getting, setting and deleting attributes, except by properties."""
    found = KNOWN.simple.get(kind)
    if found is None:
        kinds = {type(member) for base in kind.__mro__ for member in vars(base).values()}
        has_descriptors = any(users_method(one, name) for one in kinds for name in _DESCRIPTOR_METHODS)
        found = KNOWN.simple[kind] = not has_descriptors and not any(users_method(kind, name) for name in _ATTRIBUTE_METHODS)
    return found


_ATTRIBUTE_METHODS = ("__getattr__", "__getattribute__", "__setattr__", "__delattr__")
_DESCRIPTOR_METHODS = ("__get__", "__set__", "__delete__")


def class_member(kind: type, name: str) -> Object:
    """A class's attribute as it is kept, which a descriptor's `__get__` may not return; None if it has none."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def users_method(kind: type, name: str) -> FunctionType | None:
    """A class's method of this name if it is the user's code; else None."""
    found: Object = getattr(kind, name, None)
    while type(found) is MethodType:
        found = found.__func__
    return found if is_users(found) else None


def shared_method(kinds: set[type], name: str) -> FunctionType | None:
    """The method of one class of the user's that may be called with a choice of its instances as self; else None."""
    (kind,) = kinds if len(kinds) == 1 else (None,)
    if kind is None or not has_simple_attributes(kind):
        return None
    found = class_member(kind, name)
    # super() takes no choice.
    return found if type(found) is FunctionType and is_users(found) and "__class__" not in found.__code__.co_freevars else None


def has_only_attributes(value: Object) -> bool:
    """True for instances of Python classes whose whole state is their attributes, in a dict or in slots."""
    kind = type(value)
    if not kind.__flags__ & _HEAP or isinstance(value, (type, BaseException)) or kind.__new__ is not object.__new__:
        return False
    if hasattr(kind, "__del__") or kind.__setattr__ is not object.__setattr__ or weakref.getweakrefcount(value):
        return False
    if str(getattr(kind, "__module__", "")).startswith(_PACKAGE):
        return False  # choices, tracked arrays
    if type(getattr(value, "__dict__", None)) is dict:
        return kind.__basicsize__ == _Plain.__basicsize__
    return kind.__basicsize__ == object.__basicsize__ + _POINTER * len(_slots(kind)) and not kind.__dictoffset__


_PACKAGE = __name__.partition(".")[0] + "."
_HEAP, _POINTER = 1 << 9, struct.calcsize("P")


class _Plain:
    pass


def _slots(kind: type) -> list[str]:
    return [name for base in kind.__mro__ for name, member in vars(base).items() if type(member) is MemberDescriptorType]


def attributes_of(value: Object) -> dict[str, Object]:
    """The attributes of an object that has only attributes."""
    if hasattr(value, "__dict__"):
        return vars(value)
    return {name: getattr(value, name) for name in _slots(type(value)) if hasattr(value, name)}


def with_attributes(kind: type, attributes: dict[str, Object]) -> Object:
    """A new object with these attributes, made without its constructor."""
    made = object.__new__(kind)
    if hasattr(made, "__dict__"):
        vars(made).update(attributes)
    else:
        for name, value in attributes.items():
            object.__setattr__(made, name, value)
    return made


def is_mutable(value: Object) -> bool:
    """True for a list, deque or dict, and an instance that has only attributes."""
    return type(value) in (list, deque, dict) or has_only_attributes(value)
