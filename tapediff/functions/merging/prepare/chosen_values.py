"""Conditional expressions whose sides call functions, as branches: these may become sub-tapes, expressions may not."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ..nodes import branch, copied, walk
from ..rules import ELEMENTWISE, MATH
from ..variables import blocks_of


class ChosenValues:
    """Rewrites `y = f(x) if test else g(x)`, also with `+=` or `return`, as an `if`.

    Args:
        looks_at_data: whether recordings had a guard in an expression.
        is_library: whether a function is surely none of the user's.
    """

    def __init__(self, looks_at_data: Callable[[ast.expr], bool], is_library: Callable[[ast.expr], bool]) -> None:
        self._looks_at_data, self._is_library = looks_at_data, is_library

    def of_function(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements, with such branches."""
        made: list[ast.stmt] = []
        for node in body:
            for block in blocks_of(node):
                block[:] = self.of_function(block)
            made.append(self._statement(node))
        return made

    def _statement(self, node: ast.stmt) -> ast.stmt:
        value = getattr(node, "value", None)
        if not isinstance(value, ast.IfExp) or not _takes_any(node) or not self._looks_at_data(value.test):
            return node
        if self._calls(value.test) or not (self._calls(value.body) or self._calls(value.orelse)):
            return node
        sides = [self._statement(_with_value(node, side)) for side in (value.body, value.orelse)]
        made = branch(value.test, [sides[0]], [sides[1]], node)
        # Several may begin on one line.
        made.col_offset, made.lineno = value.col_offset, value.lineno
        return made

    def _calls(self, node: ast.expr) -> bool:
        """Whether an expression calls what a select cannot compute: functions of the user's, or of libraries that are not elementwise."""
        return any(isinstance(n, ast.Call) and not (self._is_library(n.func) and _is_elementwise(n.func)) for n in walk(node))


def _is_elementwise(function: ast.expr) -> bool:
    """Whether a function of a library has the name of one of numbers."""
    if isinstance(function, ast.Attribute):
        return isinstance(function.value, ast.Name) and (function.attr in ELEMENTWISE or function.attr in MATH)
    return isinstance(function, ast.Name) and (function.id in ELEMENTWISE or function.id in MATH or function.id in _BUILT_IN)


_BUILT_IN = ("abs", "max", "min", "float", "int", "bool", "len", "round")


def _takes_any(node: ast.stmt) -> bool:
    """Whether a statement is a `return`, or an assignment to variables."""
    if isinstance(node, ast.Assign):
        return all(isinstance(n, (ast.Name, ast.Tuple)) for target in node.targets for n in walk(target))
    return isinstance(node, ast.Return) or (isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name))


def _with_value(node: ast.stmt, value: ast.expr) -> ast.stmt:
    made = copied(node)
    made.value = value  # type: ignore[attr-defined]  # of a kind that has one
    return ast.copy_location(made, value)
