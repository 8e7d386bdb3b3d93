"""Writes to entries of arrays in branches become variables, which are written afterwards whichever side is taken.

```
if x[i] > 0:                 entry = y[i]
    y[i] = x[i]              if x[i] > 0: entry = x[i]
else:                        else: entry = entry + 1.0
    y[i] += 1.0              y[i] = entry
```
Rows of which all entries are written out are such entries as well.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ...nodes import Transformer, call, copied, load, names_tuple, near, place, walk
from ...variables import NONE, Binding, Names, assigned, blocks_of
from .rows import Apart, Row, Rows
from .whole_arrays import loop_on_copies, on_copies

_STATEMENTS = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.If, ast.Pass, ast.Expr)

# What a static index may consist of.
_OF_INDICES = (ast.Name, ast.Load, ast.Constant, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.Add, ast.Sub, ast.Mult, ast.USub)


class Writes:
    """Rewrites the writes in the branches of one function.

    Args:
        is_merged: whether a branch or loop is to be merged.
        may_copy: whether it may be a sub-tape, which writes to copies of the arrays.
        resolve: the object that a name stands for; None for variables.

    Attributes:
        made: the branches whose writes were taken out, which are merged or left as they were.
        on_copies: those of them that write to copies of arrays.
    """

    def __init__(
        self, is_merged: Callable[[ast.If | ast.While], bool], may_copy: Callable[[ast.If | ast.While], bool],
        resolve: Callable[[str], object],
    ) -> None:  # fmt: skip
        self._is_merged, self._may_copy, self._resolve = is_merged, may_copy, resolve
        self.made: set[ast.stmt] = set()
        self.on_copies: set[ast.stmt] = set()
        self.parts: frozenset[str] = frozenset()
        self._count = 0

    def of_function(self, body: list[ast.stmt], arguments: Names) -> list[ast.stmt]:
        if not any(isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) for statement in body for n in walk(statement)):
            return body
        self._arguments = arguments
        self._bound = Binding(body, arguments).before
        apart = Apart()
        made = apart.of_function(self._block(body))
        self.parts = apart.made
        return made

    def _block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in body:
            new = self._branch_of_entries(statement) if isinstance(statement, ast.If) and self._is_merged(statement) else None
            new = new or self._of_copies(statement)
            if new is None:
                for block in blocks_of(statement):
                    block[:] = self._block(block)
            made += new or [statement]
        return made

    def _of_copies(self, statement: ast.stmt) -> list[ast.stmt] | None:
        """A branch or loop that writes to copies of arrays; None if it is none."""
        if not isinstance(statement, (ast.If, ast.While)) or not self._may_copy(statement):
            return None
        self._count += 1
        if isinstance(statement, ast.If):
            new = on_copies(statement, self._bound.get(statement), self._count)
        elif self._is_merged(statement):
            new = loop_on_copies(statement, self._bound.get(statement), self._count)
        else:
            return None
        if new is not None:
            self.made.add(statement)
            self.on_copies.add(statement)
        if new is not None and isinstance(statement, ast.While):
            self._bound |= Binding(new, self._bound.get(statement) or NONE).before
            statement.body[:] = self._block(statement.body)
        return new

    def _branch_of_entries(self, node: ast.If) -> list[ast.stmt] | None:
        """A branch between the entries before it and the writes after it, also those to rows that are written out."""
        rows = Rows(node, self._resolve)
        made = self._branch(node)
        if made is None:
            rows.undo()
        elif rows.found:
            made.insert(1, _checked(rows.found, node))
        return made

    def _branch(self, node: ast.If) -> list[ast.stmt] | None:
        """The entries before a branch, the branch, and the writes after it; None if it has no writes, or others."""
        parts = list(walk(node))
        entries = [n for n in parts if isinstance(n, ast.Subscript)]
        stores = [n for n in entries if not isinstance(n.ctx, ast.Load)]
        if not stores or not all(isinstance(n, _STATEMENTS) for n in parts if isinstance(n, ast.stmt)) or _is_annotated(stores, parts):
            return None
        bases = [entry.value for entry in entries]
        arrays = {base.id for base in bases if isinstance(base, ast.Name)}
        written = {entry.value.id for entry in stores if isinstance(entry.value, ast.Name)}
        if not all(isinstance(base, ast.Name) for base in bases) or not self._are_static(node, entries, written):
            return None
        if any(isinstance(n, ast.Name) and n.id in written and n not in bases for n in parts):
            return None
        self._count += 1
        keys: dict[tuple[str, str], str] = {}
        of_written = [entry for entry in entries if isinstance(entry.value, ast.Name) and entry.value.id in written]
        names = {e: keys.setdefault((ast.unparse(e.value), ast.unparse(e.slice)), f".entry{self._count}.{len(keys)}") for e in of_written}
        first = {names[entry]: entry for entry in reversed(of_written)}
        return self._made(node, names, first, sorted(arrays - written - assigned([node])), {names[entry] for entry in stores})

    def _are_static(self, node: ast.If, entries: Sequence[ast.Subscript], written: set[str]) -> bool:
        """Whether the indices and arrays of entries that are written to are the same before the branch."""
        changed, bound = assigned([node]), self._bound.get(node) or NONE
        of_written = [e for e in entries if isinstance(e.value, ast.Name) and e.value.id in written]
        parts = [n for entry in of_written for n in walk(entry.slice)]
        names = written | {n.id for n in parts if isinstance(n, ast.Name)}
        return all(isinstance(n, _OF_INDICES) for n in parts) and not names & changed and names <= bound

    def _made(
        self, node: ast.If, names: dict[ast.Subscript, str], first: dict[str, ast.Subscript], others: Sequence[str], stored: set[str]
    ) -> list[ast.stmt]:  # fmt: skip
        # One variable for each entry, at one index.
        order = sorted(first)
        entries = [copied(first[name]) for name in order]
        pairs: list[ast.expr] = [ast.Tuple([entry.value, entry.slice], ast.Load()) for entry in entries]
        surely = _surely_stored(node.body, names) & _surely_stored(node.orelse, names)
        on_both = ast.Tuple([ast.Constant(name in surely) for name in order], ast.Load())
        arguments = [place(node), ast.Tuple(pairs, ast.Load()), ast.Tuple([load(name) for name in others], ast.Load()), on_both]
        before = near(ast.Assign([names_tuple(order, ast.Store())], call("entries", arguments, node)), node)
        after: list[ast.stmt] = []
        for name in order:
            if name in stored:
                target = ast.Subscript(copied(first[name].value), copied(first[name].slice), ast.Store())
                after.append(near(ast.Assign([target], call("written", [load(name)], node)), node))
        _Entries(names, node).visit(node)
        self.made.add(node)
        return [before, node, *after]


def _surely_stored(side: Sequence[ast.stmt], names: dict[ast.Subscript, str]) -> frozenset[str]:
    """The variables of the entries that one side of a branch writes to in any case."""
    found: set[str] = set()
    for node in side:
        if isinstance(node, ast.If):
            found |= _surely_stored(node.body, names) & _surely_stored(node.orelse, names)
        elif isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = _targets(node) if isinstance(node, ast.Assign) else [node.target]
            found |= {names[target] for target in targets if isinstance(target, ast.Subscript) and target in names}
    return frozenset(found)


def _checked(rows: Sequence[Row], node: ast.If) -> ast.stmt:
    """A check that rows have as many entries as are written."""
    parts: list[ast.expr] = [ast.Tuple([row.array, ast.Constant(row.axis), ast.Constant(row.length)], ast.Load()) for row in rows]
    return near(ast.Expr(call("row_lengths", [place(node), ast.Tuple(parts, ast.Load())], node)), node)


def _is_annotated(stores: Sequence[ast.Subscript], parts: Sequence[ast.AST]) -> bool:
    return any(isinstance(n, ast.AnnAssign) and n.target in stores for n in parts)


def _targets(node: ast.Assign) -> list[ast.expr]:
    return [part for target in node.targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]


class _Entries(Transformer):
    """Entries of arrays as variables."""

    def __init__(self, names: dict[ast.Subscript, str], site: ast.If) -> None:
        self._names, self._site, self._entries = names, site, frozenset(names.values())

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if node not in self._names:
            return self.generic_visit(node)
        return ast.copy_location(ast.Name(self._names[node], node.ctx), node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        is_entry = any(isinstance(target, ast.Subscript) for target in _targets(node))
        self.generic_visit(node)
        if is_entry:
            # Of several targets each may have the value in another way.
            node.value = self._stored(node.value, _targets(node) if len(node.targets) == 1 else [])
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        is_entry = isinstance(node.target, ast.Subscript)
        self.generic_visit(node)
        if not is_entry:
            return node
        assert isinstance(node.target, ast.Name)
        value = near(ast.copy_location(ast.BinOp(load(node.target.id), node.op, node.value), node), node)
        return near(ast.copy_location(ast.Assign([node.target], self._stored(value, [node.target])), node), node)

    def _stored(self, value: ast.expr, targets: Sequence[ast.expr]) -> ast.expr:
        """A value, or each of several, as an array has it."""
        if isinstance(value, ast.Tuple):
            value.elts = [self._stored(e, targets[k : k + 1]) for k, e in enumerate(value.elts)]
            return value
        before = [load(target.id) for target in targets if isinstance(target, ast.Name) and target.id in self._entries]
        return call("stored", [place(self._site), value, *before], value)
