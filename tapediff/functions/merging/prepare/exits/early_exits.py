"""Early exits: `if test: ...; return` becomes `if test: ... else: the rest`, and one return at the end, if it returns something."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ...nodes import assign, load, near
from .jumps import JUMPS, MOST_NESTED, has_jump


class EarlyExits:
    """Rewrites the early exits of a function's branches on data.

    Args:
        looks_at_data: whether recordings had a guard in a condition.
    """

    def __init__(self, looks_at_data: Callable[[ast.expr], bool]) -> None:
        self._looks_at_data = looks_at_data
        self._count = 0

    def of_function(self, body: Sequence[ast.stmt], depth: int = 0) -> list[ast.stmt]:
        """Statements that end a function, without returns in their branches where that can be."""
        if depth <= MOST_NESTED:
            for k, statement in enumerate(body):
                if isinstance(statement, ast.If) and self._looks_at_data(statement.test):
                    made = self._branch(statement, body[k + 1 :], depth)
                    if made is not None:
                        return [*body[:k], *made]
        return list(body)

    def _branch(self, statement: ast.If, rest: Sequence[ast.stmt], depth: int) -> list[ast.stmt] | None:
        """A branch with the rest in the side that goes on; None where it has other jumps, or none."""
        sides = (statement.body, statement.orelse)
        leaves = [bool(side) and isinstance(side[-1], ast.Return) for side in sides]
        if not any(leaves) or any(has_jump(side[:-1] if left else side, JUMPS) for left, side in zip(leaves, sides)):
            return None
        if not rest and not all(leaves):
            return None
        new = [self.of_function(side[:-1] if left else [*side, *rest], depth + 1) for left, side in zip(leaves, sides)]
        ends = [side[-1] if left else None for left, side in zip(leaves, sides)]
        quiet = [_without_end(side, end) for side, end in zip(new, ends)]
        if quiet[0] is not None and quiet[1] is not None:
            body = quiet[0] or [ast.copy_location(ast.Pass(), statement)]
            return [ast.copy_location(ast.If(statement.test, body, quiet[1]), statement)]
        self._count += 1
        result = f".result{self._count}"
        first, second = (_assigning(side, end, result) for side, end in zip(new, ends))
        if first is None or second is None:
            return None
        made = ast.copy_location(ast.If(statement.test, first, second), statement)
        return [made, near(ast.Return(load(result)), statement)]


def _without_end(side: list[ast.stmt], end: ast.stmt | None) -> list[ast.stmt] | None:
    """A side of a function that returns nothing, where it ends as the function does; None where it may return something."""
    if end is None and side and isinstance(side[-1], ast.Return):
        end, side = side[-1], side[:-1]
    returns = isinstance(end, ast.Return) and end.value is not None
    return None if returns or has_jump(side, (ast.Return,)) else side


def _assigning(side: list[ast.stmt], end: ast.stmt | None, result: str) -> list[ast.stmt] | None:
    """A side that assigns what it returned to a variable; None where its end is not one `return`."""
    if end is None and side:
        end, side = side[-1], side[:-1]
    if not isinstance(end, ast.Return) or has_jump(side, (ast.Return,)):
        return None
    return [*side, assign(result, end.value or ast.Constant(None), end)]
