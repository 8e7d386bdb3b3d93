"""The user's functions that a condition on data calls, as assignments before the branch:

```
if f(m) > y: hi = m                .left = f(m)
else: lo = m                       if .left > y: hi = m
                                   else: lo = m
```
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ...nodes import assign, load, near, walk
from ...variables import replace_each


def with_calls_before_tests(
    body: Sequence[ast.stmt], looks_at_data: Callable[[ast.expr], bool], is_library: Callable[[ast.expr], bool]
) -> list[ast.stmt]:
    """Statements whose branches compare what such calls have given.

    Args:
        looks_at_data: whether recordings had a guard in an expression.
        is_library: whether a function is surely none of the user's.
    """
    count = 0

    def calls_users(node: ast.expr) -> bool:
        return any(isinstance(part, ast.Call) and not is_library(part.func) for part in walk(node))

    def replaced(node: ast.stmt) -> list[ast.stmt]:
        nonlocal count
        test = _compared_first(node.test) if isinstance(node, ast.If) else None
        if test is None or not isinstance(node, ast.If) or not looks_at_data(node.test):
            return [node]
        last = max((k for k, side in enumerate((test.left, *test.comparators)) if calls_users(side)), default=-1)
        before: list[ast.stmt] = []
        if last >= 0:
            count += 1
            before, test.left = _named(test.left, f".left{count}")
        if last > 0:
            made, test.comparators[0] = _named(test.comparators[0], f".right{count}")
            before += made
        return [*before, node]

    made = list(body)
    replace_each(made, replaced)
    return made


def _compared_first(test: ast.expr) -> ast.Compare | None:
    """The comparison that a condition computes first, and in any case."""
    while not isinstance(test, ast.Compare):
        if isinstance(test, ast.BoolOp):
            test = test.values[0]
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test = test.operand
        else:
            return None
    return test if len(test.ops) == 1 else None


def _named(node: ast.expr, name: str) -> tuple[list[ast.stmt], ast.expr]:
    """The assignment of what an expression gives, and the variable; a variable or a constant stays."""
    if isinstance(node, ast.Constant):
        return [], node
    return [assign(name, node, node)], near(ast.copy_location(load(name), node), node)
