"""`yield` on both sides of a branch as one after it:

```
if test: ...; yield a              if test: ...; value = a
else: ...; yield b                 else: ...; value = b
                                   yield value
```
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ...nodes import assign, load, near
from ...variables import blocks_of


def with_joined_yields(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Statements in which branches that end by handing out a value, on each side, only choose it."""
    made = list(body)
    blocks = [made]
    for block in blocks:
        blocks += [inner for node in block for inner in blocks_of(node)]
    # The inner ones first: what they hand out is the end of a side.
    for number, block in reversed([*enumerate(blocks)]):
        block[:] = [new for k, node in enumerate(block) for new in _joined(node, f".yielded{number}_{k}")]
    return made


def _joined(node: ast.stmt, name: str) -> list[ast.stmt]:
    if not isinstance(node, ast.If):
        return [node]
    values = [_handed_out(side) for side in (node.body, node.orelse)]
    if None in values:
        return [node]
    for side, value in zip((node.body, node.orelse), values):
        assert value is not None
        side[-1] = assign(name, value, side[-1])
    return [node, near(ast.Expr(ast.Yield(load(name))), node)]


def _handed_out(side: Sequence[ast.stmt]) -> ast.expr | None:
    """The value that the last statement hands out."""
    last = side[-1] if side else None
    return last.value.value if isinstance(last, ast.Expr) and isinstance(last.value, ast.Yield) else None
