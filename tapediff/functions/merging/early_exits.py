"""Early exits: `if test: ...; return`, or `continue`, or `break` in a `while`, become `if test: ... else: the rest`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TypeAlias

from .nodes import assign, load, near

# So many early exits become branches of branches.
MOST_NESTED = 16

JUMPS = (ast.Return, ast.Break, ast.Continue)

Jump: TypeAlias = ast.Return | ast.Break | ast.Continue


class EarlyExits:
    """Rewrites the early exits of a function's branches on data.

    Args:
        looks_at_data: whether recordings had a guard in a condition.
    """

    def __init__(self, looks_at_data: Callable[[ast.expr], bool]) -> None:
        self._looks_at_data = looks_at_data
        self._count = 0
        # Of the loop whose breaks are rewritten: the variable that ends it, and the condition of the first one.
        self._stop = ""
        self._first_break: ast.expr | None = None

    def of_function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The body of a function, with those of its loops."""
        breaks = _Breaks(self)
        made: list[ast.stmt] = []
        for statement in body:
            new = breaks.visit(statement)
            made += new if isinstance(new, list) else [new]
        return self._without(ast.Return, made, 0)

    def without_breaks(self, loop: ast.While) -> ast.While | list[ast.stmt]:
        """A loop that asks a variable whether to go on, after the statement that sets it."""
        self._stop, self._first_break = f".stop{self._count}", None
        self._count += 1
        body = self._without(ast.Break, loop.body, 0)
        if self._first_break is None:
            return loop
        goes_on = ast.UnaryOp(ast.Not(), load(self._stop))
        loop.body = body
        loop.test = near(ast.copy_location(ast.BoolOp(ast.And(), [goes_on, loop.test]), self._first_break), self._first_break)
        return [assign(self._stop, ast.Constant(False), loop), loop]

    def _without(self, kind: type[Jump], body: list[ast.stmt], depth: int) -> list[ast.stmt]:
        """Statements that end a function or the turn of a loop, without this kind of jump in its branches where that can be."""
        if depth > MOST_NESTED:
            return body
        for k, statement in enumerate(body):
            if kind is not ast.Break:
                self._in_loops(statement)
            # In a loop that data ends, counters are data too.
            if isinstance(statement, ast.If) and (kind is ast.Break or self._looks_at_data(statement.test)):
                made = self._branch(kind, statement, body[k + 1 :], depth)
                if made is not None:
                    return [*body[:k], *made]
        return body

    def _branch(self, kind: type[Jump], statement: ast.If, rest: list[ast.stmt], depth: int) -> list[ast.stmt] | None:
        """A branch with the rest in the side that goes on; None where it has other jumps, or none."""
        sides = [statement.body, statement.orelse]
        leaves = [bool(side) and isinstance(side[-1], kind) for side in sides]
        if not any(leaves) or any(has_jump(side[:-1] if left else side, JUMPS) for left, side in zip(leaves, sides)):
            return None
        if kind is ast.Return and not rest and not all(leaves):
            return None
        new = [self._without(kind, side[:-1] if left else [*side, *rest], depth + 1) for left, side in zip(leaves, sides)]
        if kind is ast.Break:
            if self._first_break is None and self._looks_at_data(statement.test):
                self._first_break = statement.test
            new = [[*side, assign(self._stop, ast.Constant(True), statement)] if left else side for left, side in zip(leaves, new)]
        if kind is not ast.Return:
            return [ast.copy_location(ast.If(statement.test, new[0] or [ast.Pass()], new[1]), statement)]
        self._count += 1
        result = f".result{self._count}"
        ends = [side[-1] if left else None for left, side in zip(leaves, sides)]
        first, second = (_assigning(side, end, result) for side, end in zip(new, ends))
        if first is None or second is None:
            return None
        made = ast.copy_location(ast.If(statement.test, first, second), statement)
        return [made, near(ast.Return(load(result)), statement)]

    def _in_loops(self, statement: ast.stmt) -> None:
        for node in ast.walk(statement):
            if isinstance(node, (ast.For, ast.While)) and has_jump(node.body, (ast.Continue,)):
                node.body = self._without(ast.Continue, node.body, 0)


class _Breaks(ast.NodeTransformer):
    """The loops of a function, from the innermost outwards; those of functions inside are left alone."""

    def __init__(self, exits: EarlyExits) -> None:
        self._exits = exits

    def _stay(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _stay

    def visit_While(self, node: ast.While) -> ast.While | list[ast.stmt]:
        self.generic_visit(node)
        return node if node.orelse or not has_jump(node.body, (ast.Break,)) else self._exits.without_breaks(node)


def _assigning(side: list[ast.stmt], end: ast.stmt | None, result: str) -> list[ast.stmt] | None:
    """A side that assigns what it returned to a variable; None where its end is not one `return`."""
    if end is None and side:
        end, side = side[-1], side[:-1]
    if not isinstance(end, ast.Return) or has_jump(side, (ast.Return,)):
        return None
    return [*side, assign(result, end.value or ast.Constant(None), end)]


def has_jump(body: Sequence[ast.stmt], kinds: tuple[type[ast.stmt], ...]) -> bool:
    """Whether statements hold a jump that leaves them; `break` and `continue` in loops inside do not, nor any in functions."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, kinds):
            return True
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(node, (ast.For, ast.While)):
            if ast.Return in kinds and any(isinstance(part, ast.Return) for part in ast.walk(node)):
                return True
            continue
        pending += ast.iter_child_nodes(node)
    return False
