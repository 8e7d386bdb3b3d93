"""Loops of so many turns that these are not recorded one by one: where they stand, and what they go over."""

from __future__ import annotations

import ast
from types import CodeType

from ..nodes import children, walk
from .source import NoSource, definition_of

# The last part of the place of such a loop.
LONG = 11

# In reports.
LONG_LOOP = "a loop of which one turn is recorded"


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
