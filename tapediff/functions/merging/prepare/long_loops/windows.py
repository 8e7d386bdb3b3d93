"""Slices that go along with the turns of a long loop are made of their entries, at positions that are data.

```
for t in range(3, n):                        for t in range(3, n):
    total += np.sum(y[t - 3 : t] * x)            total += np.sum(window(y, t, -3, 0) * x)
    h[t] = np.sum(h[t - 2 : t])                  h[t] = np.sum(window_of(h[t - 2], h[t - 1]))
```
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ...nodes import ARITHMETIC, Transformer, call, copied, load, near, place, walk, whole_number
from ...rules import LONG, Broken, Known
from ...variables import assigned
from .entries_by_turn import MOST_BEFORE, counter_of, offset_from, stored_to
from .own_arrays import changed_in_place


def windows_by_turn(facts: Known, node: ast.For) -> None:
    """Rewrites such slices in the body of a loop, in place.

    Raises:
        Broken: a turn changes in place what may be one of them; the body is spoilt then.
    """
    counter, _ = counter_of(facts, node)
    if not counter or counter in assigned(node.body):
        return
    windows = _Windows(node, counter)
    for statement in node.body:
        windows.visit(statement)
    if windows.arrays and not windows.arrays.isdisjoint(changed_in_place(facts, node.body)):
        raise Broken("writes", node, "it changes variables in place that may be slices of arrays")


class _Windows(Transformer):
    """Slices as calls of the run time. `arrays`: what they are slices of."""

    def __init__(self, loop: ast.For, counter: str) -> None:
        self._loop, self._counter = loop, counter
        self._bound, self._written = assigned([loop]), stored_to(loop.body)
        self.arrays: set[str] = set()

    def _stay(self, node: ast.AST) -> ast.AST:
        return node

    # What is in these is computed at another time.
    visit_Lambda = visit_FunctionDef = visit_ClassDef = _stay

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        array = node.value
        index = node.slice
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if not isinstance(node.ctx, ast.Load) or not isinstance(array, ast.Name) or not isinstance(parts[0], ast.Slice):
            return node
        part, rest = parts[0], parts[1:]
        if part.step is not None or part.lower is None or part.upper is None or not all(map(_is_fixed, rest)):
            return node
        if array.id in self._written:
            return self._of_entries(node, part.lower, part.upper, rest)
        if array.id in self._bound or not all(self._is_linear(bound) for bound in (part.lower, part.upper)):
            return node
        self.arrays.add(array.id)
        ends = [self._at(bound, turn) for turn in (0, 1) for bound in (part.lower, part.upper)]
        others = ast.Tuple([_index(other) for other in rest], ast.Load())
        return call("window", [place(self._loop, LONG), array, load(self._counter), ast.Tuple(ends, ast.Load()), others], node)

    def _of_entries(self, node: ast.Subscript, lower: ast.expr, upper: ast.expr, rest: Sequence[ast.expr]) -> ast.AST:
        """Of an array that turns write: each entry by itself, which entries_by_turn takes from there."""
        first, last = offset_from(lower, self._counter), offset_from(upper, self._counter)
        if first is None or last is None or not 0 < last - first <= MOST_BEFORE:
            return node
        entries: list[ast.expr] = []
        for offset in range(first, last):
            at = ast.BinOp(load(self._counter), ast.Add() if offset >= 0 else ast.Sub(), ast.Constant(abs(offset)))
            index = ast.Tuple([at, *map(copied, rest)], ast.Load()) if rest else at
            entries.append(near(ast.copy_location(ast.Subscript(node.value, index, ast.Load()), node), node))
        return call("window_of", entries, node)

    def _is_linear(self, node: ast.expr) -> bool:
        """Whether a bound is linear in the number of the turn, and else made of what no turn changes."""
        parts = walk(node)
        if any(not isinstance(part, ARITHMETIC) or isinstance(part, ast.FloorDiv) for part in parts):
            return False
        if any(isinstance(part, ast.Constant) and type(part.value) is not int for part in parts):
            return False
        names = {part.id for part in parts if isinstance(part, ast.Name)}
        products = [part for part in parts if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult)]
        are_linear = all(not (self._counts(product.left) and self._counts(product.right)) for product in products)
        return self._counter in names and are_linear and self._bound.isdisjoint(names - {self._counter})

    def _counts(self, node: ast.expr) -> bool:
        return any(isinstance(part, ast.Name) and part.id == self._counter for part in walk(node))

    def _at(self, bound: ast.expr, turn: int) -> ast.expr:
        """A bound at one of the turns."""
        made = copied(bound)
        if isinstance(made, ast.Name):
            return near(ast.Constant(turn), bound)
        for part in walk(made):
            for name, value in ast.iter_fields(part):
                if isinstance(value, ast.Name) and value.id == self._counter:
                    setattr(part, name, near(ast.Constant(turn), bound))
        return made


def _is_fixed(node: ast.expr) -> bool:
    """Whether an index is a whole number that is written out, or a slice between two of them."""
    if isinstance(node, ast.Slice):
        return all(part is None or whole_number(part) is not None for part in (node.lower, node.upper, node.step))
    return whole_number(node) is not None


def _index(node: ast.expr) -> ast.expr:
    """An index as a value."""
    if not isinstance(node, ast.Slice):
        return node
    parts = [part if part is not None else ast.Constant(None) for part in (node.lower, node.upper, node.step)]
    return call("part", parts, node)
