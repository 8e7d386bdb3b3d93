"""Arguments of the verbs: what was not given, and what they share."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from ...compiler.runtime.status import REFUSED
from ...ir.instruction import Tree


class Default(int):
    """A default value, told by identity from an equal number that the caller gave."""

    def __reduce__(self) -> str:
        return "FIRST"  # in copies and in other processes the same object


# The most common argnums.
FIRST = Default(0)

Argnums = int | Sequence[int]

# Marks a missing first argument.
ABSENT: Tree = inspect.Parameter.empty


def unknown_yet(*_: Tree) -> int:
    """Stub for a native function that is not compiled yet."""
    return REFUSED


def given(x: Tree, args: tuple[Tree, ...]) -> tuple[Tree, ...]:
    """The arguments of a call."""
    return () if x is ABSENT else (x, *args)
