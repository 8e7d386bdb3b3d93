"""Entries of arrays and lists at whole numbers that data decides on are looked up by a function that takes data as an index.

```
while k < 100 and got < 5:                 while k < 100 and got < 5:
    if draws[k] < level:                       entry = entry_at(k, draws)
        got += 1                               if entry < level: got += 1
    k += 1                                     k += 1
```
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from ...nodes import Transformer, call, children, copied, is_call_of_run_time, load, near, walk
from ...rules import ELEMENTWISE
from ...uses.kinds import is_one
from ...variables import blocks_of, reads
from .decided import Decided
from .scope import Scope
from .uses import Uses
from .whole_numbers import WholeNumbers

# In places, of entries.
ENTRY = 7


class Lookups:
    """The entries that one function looks up.

    Args:
        scope: its names and places.

    Attributes:
        made: the variables that were made.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._before: list[ast.stmt] = []
        self.made: frozenset[str] = frozenset()

    def of_function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        nodes = [n for statement in body for n in walk(statement)]
        found = [n for n in nodes if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)]
        found = [n for n in found if not self._scope.names.isdisjoint(reads(n.slice))]
        if not found:
            return body
        # Of the turns of a long loop none may have been recorded.
        loops = [n for n in nodes if isinstance(n, ast.For) and self._scope.is_long(n)]
        tests = {n.test for loop in loops for n in walk(loop) if isinstance(n, (ast.If, ast.IfExp))}
        decided = Decided(body, lambda test: test in tests or self._scope.looks_at_data(test))
        found = [n for n in found if not decided.names.isdisjoint(reads(n.slice))]
        if not found:
            return body
        numbers = WholeNumbers(body, self._scope, lambda _: None)
        self._uses, self._numbers = Uses(body, self._scope.resolve, numbers, decided), numbers
        found = [n for n in found if self._scope.may_merge((n.lineno, n.col_offset, ENTRY))]
        for loop in loops:
            found = self._but_for_arrays_of_turns(loop, found, decided)
        found = [n for n in found if isinstance(n.ctx, ast.Load)]
        self._found = {n for n in found if numbers.is_whole(n.slice) or self._is_of_matrix(n, decided)}
        return self._block(body) if self._found else body

    def _block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in body:
            outer, self._before = self._before, []
            for name, value in ast.iter_fields(statement):
                if isinstance(value, ast.expr):
                    setattr(statement, name, _Entries(self).visit(value))
                elif isinstance(value, list) and value and isinstance(value[0], ast.expr):
                    setattr(statement, name, [_Entries(self).visit(v) for v in value])
            for part in blocks_of(statement):
                part[:] = self._block(part)
            made += [*self._before, statement]
            self._before = outer
        return made

    def _is_of_matrix(self, node: ast.Subscript, decided: Decided) -> bool:
        """Whether a node is an entry of an array with several axes, of which data decides some of the indices."""
        if not isinstance(node.slice, ast.Tuple) or any(isinstance(part, ast.Starred) for part in node.slice.elts):
            return False
        is_decided = lambda part: not decided.names.isdisjoint(reads(part))  # noqa: E731 -- used in the next line
        return all(self._numbers.is_whole(p) if is_decided(p) else isinstance(p, (ast.Constant, ast.Name)) for p in node.slice.elts)

    def _but_for_arrays_of_turns(self, loop: ast.For, found: Sequence[ast.Subscript], decided: Decided) -> list[ast.Subscript]:
        """Let the turns of a long loop, which have their own arrays to write to, do so at whole numbers that are data; gives the others."""
        within = set[ast.AST](walk(loop))
        stored = {n.value.id for n in found if n in within and not isinstance(n.ctx, ast.Load) and isinstance(n.value, ast.Name)}
        others: list[ast.Subscript] = []
        for node in found:
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            is_decided = [not decided.names.isdisjoint(reads(part)) for part in parts]
            are_whole = all(self._numbers.is_whole(part) for part, is_one in zip(parts, is_decided) if is_one)
            if node not in within or not isinstance(node.value, ast.Name) or node.value.id not in stored or not are_whole:
                others.append(node)
                continue
            at = ast.Tuple([ast.Constant(k) for k in (node.lineno, node.col_offset, ENTRY)], ast.Load())
            made = [call("position", [at, part], node) if is_one else part for part, is_one in zip(parts, is_decided)]
            node.slice = near(ast.Tuple([*made], ast.Load()), node) if isinstance(node.slice, ast.Tuple) else made[0]
        return others

    def is_found(self, node: ast.Subscript) -> bool:
        return node in self._found

    def looked_up(self, node: ast.Subscript) -> ast.expr:
        """An entry, looked up before the statement that it is in, or where it stands if it surely exists."""
        at = ast.Tuple([ast.Constant(k) for k in (node.lineno, node.col_offset, ENTRY)], ast.Load())
        if isinstance(node.slice, ast.Tuple):
            return node if self._uses.may_not_run(node) else call("entry_of_matrix", [at, node.slice, node.value], node)
        bounds = self._numbers.of(node.slice)
        is_positive = bounds is not None and bounds[0] >= 0
        if not self._uses.may_not_run(node) and not self._may_write(self._uses.statement(node)):
            name = f".entry.at{len(self.made)}"
            self.made |= {name}
            found = call("entry_at", [at, node.slice, node.value], node)
            statement = self._uses.statement(node)
            self._before.append(near(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], found), statement), statement))
            return near(ast.copy_location(load(name), node), node)
        if not self._uses.may_not_run(node):
            return call("entry_at", [at, node.slice, node.value], node)
        for test in self._uses.true_at(node):
            is_limit = len(test.ops) == 1 and isinstance(test.ops[0], ast.Lt) and ast.dump(test.left) == ast.dump(node.slice)
            if is_limit and is_positive and self._is_number(test.comparators[0]):
                return call("entry_within", [at, node.slice, node.value, copied(test.comparators[0])], node)
        return node

    def _may_write(self, statement: ast.stmt) -> bool:
        """Whether a statement calls what may write to an array or list before an entry of it is read."""
        parts = [part for part in children(statement) if isinstance(part, ast.expr)]
        calls = [n for part in parts for n in walk(part) if isinstance(n, ast.Call) and not is_call_of_run_time(n)]
        return not all(self._only_computes(node) for node in calls)

    def _only_computes(self, node: ast.Call) -> bool:
        function = node.func
        if isinstance(function, ast.Name):
            return is_one(self._scope.resolve(function.id), (abs, min, max, len, float, int, range))
        if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
            return False
        is_numpy = self._scope.resolve(function.value.id) is np
        return is_numpy and function.attr in ELEMENTWISE and not node.keywords and len(node.args) < 3

    def _is_number(self, node: ast.expr) -> bool:
        """Whether an expression is a number, or the length of something."""
        return isinstance(node, ast.Constant) or self._scope.is_builtin(node, len) or isinstance(node, ast.Name)


class _Entries(Transformer):
    """The entries in an expression."""

    def __init__(self, lookups: Lookups) -> None:
        self._lookups = lookups

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if self._lookups.is_found(node):
            return self._lookups.looked_up(node)
        return self.generic_visit(node)
