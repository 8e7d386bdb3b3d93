"""Whose code a function is: the user's is translated, that of libraries runs as it is."""

from __future__ import annotations

from types import FunctionType, MethodType

from ...base.source_location import is_installed, is_library_file
from ..anything import Object


def is_users(function: object) -> bool:
    """True for functions in Python of the user's own files."""
    return type(function) is FunctionType and _is_users_file(function.__code__.co_filename)


class _Files(dict[str, bool]):
    def __missing__(self, filename: str) -> bool:
        known = self[filename] = not (is_library_file(filename) or is_installed(filename) or filename.startswith("<frozen"))
        return known


_is_users_file = _Files().__getitem__


def users_method(kind: type, name: str) -> FunctionType | None:
    """The method of this name that a class has in the user's code; None if it has another one, or none."""
    found: Object = getattr(kind, name, None)
    while type(found) is MethodType:
        found = found.__func__
    return found if type(found) is FunctionType and _is_users_file(found.__code__.co_filename) else None
