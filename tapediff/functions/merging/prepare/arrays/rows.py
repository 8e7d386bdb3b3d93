"""Rows of arrays that are assigned numbers which are written out become assignments to their entries.

```
y[i, :] = u, v               y[i, 0], y[i, 1] = u, v
y[i] += [u, v]               y[i, 0], y[i, 1] = y[i, 0] + u, y[i, 1] + v
a[i], b[i] = u, v            first, second = u, v; a[i] = first; b[i] = second
```
Whether a row has as many entries is asked at run time.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...nodes import assign, copied, load, near, walk
from ...uses.kinds import is_one
from ...variables import blocks_of

# So many entries of a row are written out.
MOST_ENTRIES = 12


class Row(NamedTuple):
    """An axis of an array that has to have so many entries."""

    array: ast.Name
    axis: int
    length: int


class Rows:
    """The assignments to rows in one branch, as such to their entries until `undo`.

    Args:
        node: the branch, which is changed.
        resolve: the object that a name stands for; None for variables.

    Attributes:
        found: the rows whose number of entries is to be checked.
    """

    def __init__(self, node: ast.If, resolve: Callable[[str], object]) -> None:
        self._resolve = resolve
        self.found: list[Row] = []
        self._was: list[tuple[list[ast.stmt], list[ast.stmt]]] = []
        self._blocks(node)

    def undo(self) -> None:
        """Put the assignments back."""
        for block, was in self._was:
            block[:] = was

    def _blocks(self, node: ast.stmt) -> None:
        for block in blocks_of(node):
            for statement in block:
                self._blocks(statement)
            made = [self._written_out(statement) or statement for statement in block]
            if any(new is not old for new, old in zip(made, block)):
                self._was.append((block, list(block)))
                block[:] = made

    def _written_out(self, node: ast.stmt) -> ast.stmt | None:
        """The assignment to entries that one to a row is; None of anything else."""
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else getattr(node, "target", None)
        if not (isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and isinstance(node, (ast.Assign, ast.AugAssign))):
            return None
        values = written_out(node.value, self._resolve)
        entries = None if values is None else self._entries(target, len(values))
        if values is None or entries is None:
            return None
        if isinstance(node, ast.AugAssign):
            if not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
                return None
            old = [near(ast.Subscript(load(target.value.id), copied(e.slice), ast.Load()), node) for e in entries]
            values = [near(ast.copy_location(ast.BinOp(o, node.op, v), v), v) for o, v in zip(old, values)]
        both = ast.Tuple(list[ast.expr](entries), ast.Store()), ast.Tuple(list[ast.expr](values), ast.Load())
        return near(ast.copy_location(ast.Assign([near(both[0], node)], near(both[1], node)), node), node)

    def _entries(self, target: ast.Subscript, count: int) -> list[ast.Subscript] | None:
        """The entries of a row that has so many; None where that cannot be told."""
        parts = list(target.slice.elts) if isinstance(target.slice, ast.Tuple) else [target.slice]
        slices = [k for k, part in enumerate(parts) if isinstance(part, ast.Slice)]
        if len(slices) > 1:
            return None
        axis, first = (slices or [len(parts)])[0], 0
        before, after = parts[:axis], parts[axis + 1 :]
        limits = _limits(parts[axis]) if slices else (0, None)  # type: ignore[arg-type]  # a slice
        if limits is None or (limits[1] is not None and limits[1] - limits[0] != count):
            return None
        first, last = limits
        assert isinstance(target.value, ast.Name)
        if last is None:
            self.found.append(Row(load(target.value.id), axis, first + count))
        found: list[ast.Subscript] = []
        for k in range(first, first + count):
            index = [*map(copied, before), ast.Constant(k), *map(copied, after)]
            at = ast.Tuple(list[ast.expr](index), ast.Load()) if len(index) > 1 else index[0]
            found.append(near(ast.Subscript(load(target.value.id), at, ast.Store()), target))
        return found


def _limits(node: ast.Slice) -> tuple[int, int | None] | None:
    """The first entry of a slice, and the one after its last; None where these are no constants."""
    found = [part.value if isinstance(part, ast.Constant) else None for part in (node.lower, node.upper)]
    are_known = all(part is None or (type(k) is int and k >= 0) for part, k in zip((node.lower, node.upper), found))
    return (found[0] or 0, found[1]) if are_known and node.step is None else None  # type: ignore[return-value]  # as was just asked


def written_out(node: ast.expr, resolve: Callable[[str], object]) -> list[ast.expr] | None:
    """The numbers in a tuple or list, or an array that is made of one; None of anything else."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords and isinstance(node.func, ast.Attribute):
        is_numpy = isinstance(node.func.value, ast.Name) and is_one(resolve(node.func.value.id), [np])
        node = node.args[0] if is_numpy and node.func.attr in ("array", "asarray", "stack") else node
    if not isinstance(node, (ast.Tuple, ast.List)) or not 0 < len(node.elts) <= MOST_ENTRIES:
        return None
    return None if any(isinstance(e, (ast.Starred, ast.Tuple, ast.List)) for e in node.elts) else list(node.elts)


class Apart:
    """Assignments to several entries at once as one after the other, of which each tells what kind of array it is to.

    Args:
        name: with which those of new variables begin.
    """

    def __init__(self, name: str = "") -> None:
        self._name = name
        self.made: frozenset[str] = frozenset()

    def of_function(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements of a function."""
        made: list[ast.stmt] = []
        for statement in body:
            for block in blocks_of(statement):
                block[:] = self.of_function(block)
            made += self._assignments(statement)
        return made

    def _assignments(self, node: ast.stmt) -> list[ast.stmt]:
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if not (isinstance(target, ast.Tuple) and isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)):
            return [node]
        both = [*zip(target.elts, node.value.elts)]
        are_entries = any(isinstance(t, ast.Subscript) for t in target.elts)
        if not are_entries or len(target.elts) != len(node.value.elts) or not all(isinstance(t, _TARGETS) for t in target.elts):
            return [node]
        if any(isinstance(v, ast.Starred) for v in node.value.elts) or any(isinstance(n, ast.NamedExpr) for n in walk(node)):
            return [node]
        names = [f".{self._name}part{len(self.made) + k}" for k in range(len(both))]
        self.made |= set(names)
        first: list[ast.stmt] = [assign(name, value, node) for name, (_, value) in zip(names, both)]
        return first + [near(ast.Assign([t], load(name)), node) for name, (t, _) in zip(names, both)]


_TARGETS = (ast.Name, ast.Subscript)
