"""Whose code a function is: the user's is translated, that of libraries runs as it is."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType, MethodType

from ..base.source_location import TRANSLATED, is_installed, is_library_file
from .anything import Object


def is_users(function: object) -> bool:
    """True for functions in Python of the user's own files, and of those that are run as these are, but for named tuples."""
    if type(function) is not FunctionType:
        return False
    code = function.__code__
    return is_users_file(code.co_filename) and not (code.co_filename in TRANSLATED and code.co_qualname.startswith("namedtuple."))


# Libraries that are run as the user's code is: what has it run within their own, and builtins in Python.
_TRANSLATED = (*TRANSLATED, str(Path(__file__).parent / "in_python.py"))


class _Files(dict[str, bool]):
    def __missing__(self, filename: str) -> bool:
        is_library = is_library_file(filename) or is_installed(filename) or filename.startswith("<frozen")
        known = self[filename] = filename in _TRANSLATED or not is_library
        return known


is_users_file = _Files().__getitem__


class _Known:
    """Facts about classes in this recording: kept until an attribute of a class is set.

    Attributes:
        simple: True if attributes of its objects are looked up without code of the user's, except descriptors.
        native: True if no operator of a class is in the user's code.
    """

    def __init__(self) -> None:
        self.simple: dict[type, bool] = {}
        self.native: dict[type, bool] = {}

    def forget(self) -> None:
        """Begin again, as classes may have changed."""
        self.simple, self.native = {}, {}


KNOWN = _Known()


def has_simple_attributes(kind: type) -> bool:
    """True if attributes of its objects are looked up, set and deleted without code of the user's, but for descriptors."""
    found = KNOWN.simple.get(kind)
    if found is None:
        found = KNOWN.simple[kind] = not any(users_method(kind, name) for name in _ATTRIBUTE_METHODS)
    return found


_ATTRIBUTE_METHODS = ("__getattr__", "__getattribute__", "__setattr__", "__delattr__")


def users_method(kind: type, name: str) -> FunctionType | None:
    """The method of this name that a class has in the user's code; None if it has another one, or none."""
    found: Object = getattr(kind, name, None)
    while type(found) is MethodType:
        found = found.__func__
    return found if is_users(found) else None
