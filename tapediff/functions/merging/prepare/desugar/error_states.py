"""`with np.errstate(...)` as the statements in it: a recording says nothing of overflow and the like, so they compute the same."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import ModuleType

import numpy as np

from ...variables import replace_each


def without_error_states(body: Sequence[ast.stmt], resolve: Callable[[str], object]) -> list[ast.stmt]:
    """Statements without the contexts in which NumPy ignores an error, warns of it or prints it."""

    def replaced(node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.With) and all(_is_quiet(item, resolve) for item in node.items):
            return node.body
        return [node]

    made = list(body)
    replace_each(made, replaced)
    return made


def _is_quiet(item: ast.withitem, resolve: Callable[[str], object]) -> bool:
    """Whether it is np.errstate, under which nothing is raised or called."""
    made = item.context_expr
    if item.optional_vars is not None or not isinstance(made, ast.Call) or made.args or _called(made.func, resolve) is not np.errstate:
        return False
    return all(k.arg is not None and isinstance(k.value, ast.Constant) and k.value.value in _QUIET for k in made.keywords)


def _called(function: ast.expr, resolve: Callable[[str], object]) -> object:
    if isinstance(function, ast.Name):
        return resolve(function.id)
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        module = resolve(function.value.id)
        return getattr(module, function.attr, None) if isinstance(module, ModuleType) else None
    return None


_QUIET = ("ignore", "warn", "print")
