"""`i = j = 0` as two assignments: `i = 0`, `j = 0`; and `a = b = f(x)` as `a = f(x)`, `b = a`, which are the same object."""

from __future__ import annotations

import ast

from ...nodes import copied, load, near
from ...variables import replace_each


def with_single_targets(body: list[ast.stmt]) -> None:
    """Rewrites such assignments, in place."""
    replace_each(body, _apart)


def _apart(node: ast.stmt) -> list[ast.stmt]:
    if not isinstance(node, ast.Assign) or len(node.targets) < 2:
        return [node]
    first, *others = node.targets
    if isinstance(node.value, ast.Constant):
        values: list[ast.expr] = [copied(node.value) for _ in others]
    elif isinstance(first, ast.Name) and not any(_stores(target, first.id) for target in others):
        values = [near(ast.copy_location(load(first.id), node.value), node.value) for _ in others]
    else:
        return [node]
    made = [ast.Assign([target], value) for target, value in zip(node.targets, [node.value, *values])]
    return [near(ast.copy_location(each, node), node) for each in made]


def _stores(target: ast.expr, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load) for part in ast.walk(target))
