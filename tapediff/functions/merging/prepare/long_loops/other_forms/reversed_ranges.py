"""Long loops that go backwards over a range, as such over a range.

```
for t in reversed(range(a, b)):        for t in range(b - 1, a - 1, -1):
```
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from ....nodes import children, near
from ....rules import Known
from ....variables import replace_each


def without_reversed(facts: Known, body: list[ast.stmt], is_long: Callable[[ast.For], bool]) -> None:
    """Lets long loops go over ranges that count down, in place."""

    def replaced(node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.For) and is_long(node):
            node.iter = downwards(facts, node.iter) or node.iter
        return [node]

    replace_each(body, replaced)


def downwards(facts: Known, over: ast.expr) -> ast.expr | None:
    """A range that counts down, for a range that is reversed; None for anything else."""
    if not facts.is_builtin(over, reversed) or not isinstance(over, ast.Call) or over.keywords or len(over.args) != 1:
        return None
    (upwards,) = over.args
    if not facts.is_builtin(upwards, range) or not isinstance(upwards, ast.Call) or upwards.keywords:
        return None
    # Its ends are asked for in the other order.
    if len(upwards.args) not in (1, 2) or not all(_is_plain(facts, end) for end in upwards.args):
        return None
    first = upwards.args[0] if len(upwards.args) == 2 else ast.Constant(0)
    ends = [ast.BinOp(end, ast.Sub(), ast.Constant(1)) for end in (upwards.args[-1], first)]
    return near(ast.copy_location(ast.Call(upwards.func, [*ends, ast.Constant(-1)], []), over), over)


def _is_plain(facts: Known, end: ast.expr) -> bool:
    """Whether an expression is one of variables, constants and lengths."""
    if facts.is_builtin(end, len) and isinstance(end, ast.Call):
        return len(end.args) == 1 and isinstance(end.args[0], ast.Name)
    if isinstance(end, ast.BinOp):
        return all(_is_plain(facts, side) for side in children(end) if isinstance(side, ast.expr))
    return isinstance(end, (ast.Name, ast.Constant))
