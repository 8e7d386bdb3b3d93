"""Whose code a function is: the user's is translated, libraries' runs unchanged."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType, MethodType

from ..base.source_location import TRANSLATED, is_installed, is_library_file
from .anything import Object


def is_users(function: object) -> bool:
    """True for Python functions in the user's files or in TRANSLATED libraries, except those of named tuples."""
    if type(function) is not FunctionType:
        return False
    code = function.__code__
    return is_users_file(code.co_filename) and not (code.co_filename in TRANSLATED and code.co_qualname.startswith("namedtuple."))


# Libraries treated as the user's code, and builtins in Python.
_TRANSLATED = (*TRANSLATED, str(Path(__file__).parent / "in_python.py"))


class _Files(dict[str, bool]):
    def __missing__(self, filename: str) -> bool:
        is_library = is_library_file(filename) or is_installed(filename) or filename.startswith("<frozen")
        known = self[filename] = filename in _TRANSLATED or not is_library
        return known


is_users_file = _Files().__getitem__


class _Known:
    """Facts about classes, kept until a class attribute is set.

    Attributes:
        simple: the user's code takes no part in attribute look-up, except by descriptors.
        native: the user's code defines no operator of the class.
    """

    def __init__(self) -> None:
        self.simple: dict[type, bool] = {}
        self.native: dict[type, bool] = {}

    def forget(self) -> None:
        """Forget all facts, as classes may have changed."""
        self.simple, self.native = {}, {}


KNOWN = _Known()


def has_simple_attributes(kind: type) -> bool:
    """True if the user's code takes no part in getting, setting and deleting attributes, except by descriptors."""
    found = KNOWN.simple.get(kind)
    if found is None:
        found = KNOWN.simple[kind] = not any(users_method(kind, name) for name in _ATTRIBUTE_METHODS)
    return found


_ATTRIBUTE_METHODS = ("__getattr__", "__getattribute__", "__setattr__", "__delattr__")


def users_method(kind: type, name: str) -> FunctionType | None:
    """A class's method of this name if it is the user's code; else None."""
    found: Object = getattr(kind, name, None)
    while type(found) is MethodType:
        found = found.__func__
    return found if is_users(found) else None
