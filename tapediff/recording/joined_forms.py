"""The transform that records all paths of a function: set by targets/evaluate/joined.py, above this folder; for bodies of sub-tapes and
loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ..ir.instruction import UserFunction

# form(function, note): calls `note` with the report of each recording.
Form: TypeAlias = Callable[[UserFunction, Callable[[Any], None]], UserFunction]

_forms: list[Form] = []


def record_joined_by(form: Form) -> None:
    """Record functions in this form from now on."""
    _forms[:] = [form]


def joined_form(f: UserFunction, note: Callable[[Any], None]) -> UserFunction:
    """A function whose recordings hold all paths that can be joined."""
    return _forms[0](f, note)
