"""Completions: how a block of statements ends.

None is its normal end; a branch on data whose sides end differently has a conditional one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ...ir.instruction import Operand
from ..anything import Object


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
    """A data-dependent completion: `yes` where the test holds, else `no`."""

    __slots__ = ("no", "test", "yes")

    def __init__(self, test: Operand, yes: Completion, no: Completion) -> None:
        self.test, self.yes, self.no = test, yes, no


Completion: TypeAlias = Jump | Conditional | None

BREAK, CONTINUE = Jump("break"), Jump("continue")


def folded(
    completion: Completion, at_end: Callable[[Jump | None], Object], at_test: Callable[[Conditional, Object, Object], Object]
) -> Object:
    """Fold a completion from its ends up, visiting shared parts once."""
    if not isinstance(completion, Conditional):
        return at_end(completion)
    if not isinstance(completion.yes, Conditional) and not isinstance(completion.no, Conditional):
        yes = at_end(completion.yes)
        return at_test(completion, yes, yes if completion.no is completion.yes else at_end(completion.no))
    found: dict[int, Object] = {}
    pending: list[Completion] = [completion]
    while pending:
        part = pending[-1]
        if id(part) in found:
            pending.pop()
        elif not isinstance(part, Conditional):
            found[id(part)] = at_end(part)
        elif left := [inner for inner in (part.no, part.yes) if id(inner) not in found]:
            pending += left
        else:
            found[id(part)] = at_test(part, found[id(part.yes)], found[id(part.no)])
    return found[id(completion)]


def replaced(completion: Completion, change: Callable[[Jump | None], Completion]) -> Completion:
    """Replace each end of a completion."""
    return folded(completion, change, lambda part, yes, no: yes if yes is no else Conditional(part.test, yes, no))


def ends(completion: Completion) -> list[Jump | None]:
    """The distinct ends of a completion."""
    found: list[Jump | None] = []
    folded(completion, found.append, lambda *_: None)
    return found
