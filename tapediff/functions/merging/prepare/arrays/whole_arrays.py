"""Writes of rows and slices in a branch go to a copy of the array, which is written back afterwards whichever side is taken.

```
if x[i] > 0:                 copy = whole(y)
    y[i, :] = x[i]           if x[i] > 0: copy = fresh(copy); copy[i, :] = x[i]
                             else: copy = fresh(copy)
                             y[...] = copy
```
The branch is a sub-tape then, which gets one array and gives another one. Loops that data ends hand such a copy from turn to turn;
in them the index may be data, too:

```
while error > limit:         copy = whole(y)
    y[n] = error             while error > limit: copy = put(copy, n, error); n += 1
    n += 1                   y[...] = copy
```
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ...nodes import WHOLE, Transformer, assign, call, load, near, walk
from ...rules import REGION
from ...variables import Names, assigned, read_first
from .rows import Apart

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
    written = _written(node, bound)
    if written is None:
        return None
    names = {name: f"{WHOLE}{number}.{name}" for name in sorted(written)}
    others = sorted(read_first([node]) - written)
    _Renamed(names).visit(node)
    for side in (node.body, node.orelse):
        side[:0] = [assign(copy, call("fresh", [load(copy)], node), node) for copy in names.values()]
    return [*_made(node, names, others), node, *_written_back(node, names)]


def loop_on_copies(node: ast.While, bound: Names | None, number: int) -> list[ast.stmt] | None:
    """As `on_copies`, for a loop that data ends."""
    written = _written(node, bound)
    if written is None or node.orelse:
        return None
    names = {name: f"{WHOLE}{number}.{name}" for name in sorted(written)}
    others = sorted(read_first([node]) - written)
    _Renamed(names).visit(node)
    apart = Apart(f"{WHOLE[1:]}{number}.")
    puts = _Puts(frozenset(names.values()), assigned(node.body), _where(node))
    body = [puts.visit(statement) for statement in apart.of_function(node.body)]
    node.body[:] = [*(assign(copy, call("fresh", [load(copy)], node), node) for copy in names.values()), *body]
    return [*_made(node, names, others), node, *_written_back(node, names)]


def _written(node: ast.If | ast.While, bound: Names | None) -> Names | None:
    """The arrays that a branch or loop writes to; None if there are none, or others besides."""
    parts = list(ast.walk(node))
    stores = [n for n in parts if isinstance(n, ast.Subscript) and not isinstance(n.ctx, ast.Load)]
    written = frozenset(n.value.id for n in stores if isinstance(n.value, ast.Name))
    are_plain = all(isinstance(n, _STATEMENTS) or n is node for n in parts if isinstance(n, ast.stmt))
    if not stores or not are_plain or not all(isinstance(n.value, ast.Name) and isinstance(n.ctx, ast.Store) for n in stores):
        return None
    if not all(isinstance(n, _OF_INDICES) for store in stores for n in ast.walk(store.slice)):
        return None
    return None if bound is None or not written <= bound or written & assigned([node]) else written


class _Puts(Transformer):
    """Writes at indices that may change from turn to turn as new arrays.

    Args:
        names: of the copies.
        changing: the variables that a turn assigns.
        where: the place of the loop.
    """

    def __init__(self, names: frozenset[str], changing: Names, where: ast.expr) -> None:
        self._names, self._changing, self._where = names, changing, where

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        for copy in sorted(self._names & assigned([node])):
            for side in (node.body, node.orelse):
                side.insert(0, assign(copy, call("fresh", [load(copy)], node), node))
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        target = node.targets[0]
        return node if len(node.targets) > 1 or not self._is_put(target) else self._put(target, node.value, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if not self._is_put(node.target):
            return node
        assert isinstance(node.target, ast.Subscript)
        before = call("entry_of_copy", [self._where, _index(node.target.slice), node.target.value], node)
        return self._put(node.target, near(ast.BinOp(before, node.op, node.value), node), node)

    def _is_put(self, target: ast.expr) -> bool:
        is_copy = isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id in self._names
        return is_copy and any(isinstance(n, ast.Name) and n.id in self._changing for n in walk(target.slice))  # type: ignore[attr-defined]

    def _put(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> ast.AST:
        assert isinstance(target, ast.Subscript)
        assert isinstance(target.value, ast.Name)
        name = target.value.id
        if isinstance(value, (ast.Tuple, ast.List)):
            value = ast.Tuple([call("stored", [self._where, part], node) for part in value.elts], ast.Load())
        else:
            value = call("stored_row", [self._where, value], node)
        made = call("put", [self._where, _index(target.slice), load(name), value], node)
        return near(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], made), node), node)


def _where(node: ast.stmt) -> ast.expr:
    """The place of the form that writes to copies."""
    return ast.Tuple([ast.Constant(k) for k in (node.lineno, node.col_offset, REGION)], ast.Load())


def _index(node: ast.expr) -> ast.expr:
    """An index as an expression of its own: slices have no other form."""
    if isinstance(node, ast.Tuple):
        return ast.Tuple([_index(e) for e in node.elts], ast.Load())
    if not isinstance(node, ast.Slice):
        return node
    return call("section", [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)], node)


def _made(node: ast.If | ast.While, names: dict[str, str], others: Sequence[str]) -> list[ast.stmt]:
    both: list[ast.expr] = [ast.Tuple([load(name) for name in each], ast.Load()) for each in (names, others)]
    targets = ast.Tuple([ast.Name(copy, ast.Store()) for copy in names.values()], ast.Store())
    return [near(ast.copy_location(ast.Assign([targets], call("whole", [_where(node), *both], node)), node), node)]


def _written_back(node: ast.If | ast.While, names: dict[str, str]) -> list[ast.stmt]:
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
