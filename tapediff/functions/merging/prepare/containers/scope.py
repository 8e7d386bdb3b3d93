"""What is known of the names and places of one function, for all that makes variables of its containers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from dataclasses import dataclass
from types import CodeType

from ...rules import Place


@dataclass(frozen=True, slots=True)
class Scope:
    """The names and places of one function.

    Attributes:
        names: the variables that no other function sees.
        resolve: the object that a name stands for; None for variables.
        is_builtin: whether an expression is a call of one of these functions, by its name.
        looks_at_data: whether recordings had a guard in an expression.
        lines_of: the lines at which recordings of a code had guards.
        filename: where the function stands.
        may_merge: whether what is made or read at a place may become variables; it was not refused at run time.
        is_long: whether one turn of a loop is recorded in place of them all.
        is_library: whether a function is surely none of the user's.
    """

    names: frozenset[str]
    resolve: Callable[[str], object]
    is_builtin: Callable[..., bool]
    looks_at_data: Callable[[ast.expr], bool]
    may_merge: Callable[[Place], bool]
    lines_of: Callable[[CodeType], Collection[int]] = lambda _: ()
    filename: str = ""
    is_long: Callable[[ast.For], bool] = lambda _: False
    is_library: Callable[[ast.expr], bool] = lambda _: False
