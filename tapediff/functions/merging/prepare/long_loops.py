"""Loops of so many turns that these are not recorded one by one: where they stand, and what they go over."""

from __future__ import annotations

import ast
from types import CodeType
from typing import Protocol

from ..nodes import call, children, walk
from .source import NoSource, definition_of

# The last part of the place of such a loop.
LONG = 11

# In reports.
LONG_LOOP = "a loop of which one turn is recorded"


class Known(Protocol):
    """What is asked about a function; see Facts."""

    def is_builtin(self, node: ast.expr, *wanted: object) -> bool: ...

    def is_own(self, name: str) -> bool: ...

    def number(self) -> int: ...


def loops_around(code: CodeType, line: int) -> list[ast.For]:
    """The `for` loops of a function around one of its lines, and those within them."""
    try:
        pending: list[ast.AST] = [definition_of(code)]
    except NoSource:
        return []
    found: list[ast.For] = []
    for node in pending:
        inner = [part for part in children(node) if not isinstance(part, (ast.FunctionDef, ast.Lambda, ast.AsyncFunctionDef, ast.ClassDef))]
        for part in inner:
            if isinstance(part, ast.For) and part.lineno <= line <= (part.end_lineno or part.lineno):
                found += [loop for loop in walk(part) if isinstance(loop, ast.For)]
            else:
                pending.append(part)
    return found


def place_of(node: ast.For) -> ast.expr:
    """The place of such a loop, for the run time."""
    return ast.Tuple([*map(ast.Constant, (node.lineno, node.col_offset, LONG))], ast.Load())


def gone_over(facts: Known, node: ast.expr) -> ast.expr:
    """What a long loop goes over; of zip, enumerate and reversed it is to be known what they are made of."""
    if facts.is_builtin(node, enumerate, zip, reversed):
        assert isinstance(node, ast.Call)
        if not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args):
            return call("over", [node.func, *(gone_over(facts, a) for a in node.args)], node)
    return node
