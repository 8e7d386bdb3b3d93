"""Writes of rows and slices in a branch go to a copy of the array, which is written back afterwards whichever side is taken.

```
if x[i] > 0:                 copy = whole(y)
    y[i, :] = x[i]           if x[i] > 0: copy = fresh(copy); copy[i, :] = x[i]
                             else: copy = fresh(copy)
                             y[...] = copy
```
The branch is a sub-tape then, which gets one array and gives another one.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..nodes import WHOLE, assign, call, load, near
from ..rules import REGION
from ..variables import Names, assigned, read_first

_STATEMENTS = (ast.Assign, ast.AugAssign, ast.If, ast.For, ast.Pass, ast.Expr)

# What the index of an entry that is written may consist of.
_OF_INDICES = (
    ast.Name, ast.Load, ast.Constant, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.Add, ast.Sub, ast.Mult, ast.USub, ast.Slice, ast.FloorDiv,
    ast.Mod,
)  # fmt: skip


def on_copies(node: ast.If, bound: Names | None, number: int) -> list[ast.stmt] | None:
    """The branch with its writes to copies, between what makes these and what writes them back; None if it has none, or writes to others.

    Args:
        bound: the variables that surely have a value before it.
        number: of the branch.
    """
    parts = list(ast.walk(node))
    stores = [n for n in parts if isinstance(n, ast.Subscript) and not isinstance(n.ctx, ast.Load)]
    written = {n.value.id for n in stores if isinstance(n.value, ast.Name)}
    are_plain = all(isinstance(n, _STATEMENTS) for n in parts if isinstance(n, ast.stmt))
    if not stores or not are_plain or not all(isinstance(n.value, ast.Name) and isinstance(n.ctx, ast.Store) for n in stores):
        return None
    if not all(isinstance(n, _OF_INDICES) for store in stores for n in ast.walk(store.slice)):
        return None
    if bound is None or not written <= bound or written & assigned([node]):
        return None
    names = {name: f"{WHOLE}{number}.{name}" for name in sorted(written)}
    others = sorted(read_first([node]) - written)
    _Renamed(names).visit(node)
    for side in (node.body, node.orelse):
        side[:0] = [assign(copy, call("fresh", [load(copy)], node), node) for copy in names.values()]
    return [*_made(node, names, others), node, *_written_back(node, names)]


def _made(node: ast.If, names: dict[str, str], others: Sequence[str]) -> list[ast.stmt]:
    at = ast.Tuple([ast.Constant(k) for k in (node.lineno, node.col_offset, REGION)], ast.Load())
    both: list[ast.expr] = [ast.Tuple([load(name) for name in each], ast.Load()) for each in (names, others)]
    targets = ast.Tuple([ast.Name(copy, ast.Store()) for copy in names.values()], ast.Store())
    return [near(ast.copy_location(ast.Assign([targets], call("whole", [at, *both], node)), node), node)]


def _written_back(node: ast.If, names: dict[str, str]) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for name, copy in names.items():
        target = ast.Subscript(load(name), ast.Constant(...), ast.Store())
        made.append(near(ast.copy_location(ast.Assign([target], load(copy)), node), node))
    return made


class _Renamed(ast.NodeTransformer):
    """Arrays as their copies."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(ast.Name(self._names.get(node.id, node.id), node.ctx), node)
