"""Completions: how a block of statements ends.

None is its normal end; a branch on data whose sides end differently has a conditional one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ...ir.instruction import Operand


class Jump:
    """The end of a block by `break` or `continue`."""

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return self.kind


class Return(Jump):
    """The end of a block by `return`, with its value."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.kind, self.value = "return", value


class Conditional:
    """The end of a block that a test decides: `yes` where it holds, `no` elsewhere."""

    __slots__ = ("no", "test", "yes")

    def __init__(self, test: Operand, yes: Completion, no: Completion) -> None:
        self.test, self.yes, self.no = test, yes, no


Completion: TypeAlias = Jump | Conditional | None

BREAK, CONTINUE = Jump("break"), Jump("continue")


def replaced(completion: Completion, change: Callable[[Jump | None], Completion]) -> Completion:
    """The completion with each of its ends changed."""
    if not isinstance(completion, Conditional):
        return change(completion)
    yes, no = replaced(completion.yes, change), replaced(completion.no, change)
    return None if yes is None and no is None else Conditional(completion.test, yes, no)
