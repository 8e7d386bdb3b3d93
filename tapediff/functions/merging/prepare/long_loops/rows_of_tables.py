"""Rows of a table to whose entries a turn writes are variables of the turn.

```
for i in range(1, n):                                   for i in range(1, n):
    for j in range(1, m):                                   .row0, .row1 = own(table[i]), table[i - 1]
        table[i, j] = f(table[i - 1, j],        →           for j in range(1, m):
                        table[i, j - 1])                        .row0[j] = f(.row1[j], .row0[j - 1])
                                                            table[i] = .row0
```
The loop then writes rows, and the inner one the entries of an array; see entries_by_turn.py.
"""

from __future__ import annotations

import ast

from ...nodes import Transformer, assign, call, load, near, place, walk, whole_number
from ...rules import LONG, Known
from ...variables import assigned
from .entries_by_turn import MOST_BEFORE, counter_of, offset_from
from .own_arrays import ROW, used_up


def rows_of_tables(facts: Known, node: ast.For) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Rewrites the accesses to tables in the body of a loop, in place; gives the statements before and after it.

    Tables are read and written at rows that are counted from the number of the turn, or from a variable that the loop does not change.
    """
    counter, _ = counter_of(facts, node)
    bound, consumed = assigned([node]), used_up(facts, node.body)
    before, after = list[ast.stmt](), list[ast.stmt]()
    for name, accesses in _tables(node).items():
        if not facts.is_own(name) or name in bound:
            continue
        first = [_parts(access)[0] for access in accesses]
        variables = {part.id for index in first for part in walk(index) if isinstance(part, ast.Name)}
        if len(variables) != 1 or (not variables <= bound) == (variables == {counter}):
            continue
        (variable,) = variables
        offsets = [offset_from(index, variable) for index in first]
        written = {offset for offset, access in zip(offsets, accesses) if not isinstance(access.ctx, ast.Load)}
        if None in offsets or len(written) != 1:
            continue
        (row,) = written
        if any(abs((offset or 0) - (row or 0)) > MOST_BEFORE for offset in offsets):
            continue
        whole = {access for offset, access in zip(offsets, accesses) if offset == row and len(_parts(access)) == 1}
        if not {access for access in whole if isinstance(access.ctx, ast.Load)} <= consumed:
            continue
        rows = _Rows(name, variable, facts.number(), variable != counter)
        node.body = [rows.visit(statement) for statement in node.body]
        start, end = rows.around(row or 0, {offset or 0 for offset in offsets}, node)
        if variable == counter:
            node.body = [*start, *node.body, *end]
        else:
            before += start
            after += end
    return before, after


def _tables(node: ast.For) -> dict[str, list[ast.Subscript]]:
    """The accesses to variables by indices, of those that are used in no other way, and written at some that are no constants."""
    parts = [part for statement in node.body for part in walk(statement)]
    found: dict[str, list[ast.Subscript]] = {}
    for part in parts:
        if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name):
            found.setdefault(part.value.id, []).append(part)
    bases = {access.value for accesses in found.values() for access in accesses}
    others = {part.id for part in parts if isinstance(part, ast.Name) and part not in bases}
    return {name: accesses for name, accesses in found.items() if name not in others and any(map(_is_entry, accesses))}


def _parts(access: ast.Subscript) -> list[ast.expr]:
    return list(access.slice.elts) if isinstance(access.slice, ast.Tuple) else [access.slice]


def _is_entry(access: ast.Subscript) -> bool:
    """Whether an access writes an entry of a row, at an index that is no constant."""
    rest = _parts(access)[1:]
    return isinstance(access.ctx, ast.Store) and any(not isinstance(part, ast.Slice) and whole_number(part) is None for part in rest)


class _Rows(Transformer):
    """Accesses to a table as accesses to its rows. `is_before`: these are taken once, before the loop."""

    def __init__(self, table: str, variable: str, number: int, is_before: bool) -> None:
        self._table, self._variable, self._number, self._is_before = table, variable, number, is_before

    def _row(self, offset: int) -> str:
        return f"{ROW}{self._number}.{self._table}{offset:+}"

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.value, ast.Name) or node.value.id != self._table:
            return node
        first, *rest = _parts(node)
        row = load(self._row(offset_from(first, self._variable) or 0))
        if not rest and isinstance(node.ctx, ast.Load):
            return near(row, node)
        rest = rest or [ast.Slice()]
        index = rest[0] if len(rest) == 1 else ast.Tuple(rest, ast.Load())
        return near(ast.copy_location(ast.Subscript(row, index, node.ctx), node), node)

    def around(self, written: int, offsets: set[int], node: ast.For) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The statements that begin and end with the rows. `written`: the distance of the one that is written."""
        start: list[ast.stmt] = []
        for offset in sorted(offsets):
            row: ast.expr = self._access(offset, ast.Load())
            if offset == written:
                # Of a long loop that writes each row, the table has more rows than these are apart.
                table = [load(self._table)] if self._is_before else []
                others = ast.Tuple([ast.Constant(other - written) for other in sorted(offsets - {written})], ast.Load())
                row = call("row_to_write", [place(node, LONG), row, others, *table], node)
            start.append(assign(self._row(offset), row, node))
        end = near(ast.Assign([self._access(written, ast.Store())], load(self._row(written))), node)
        return start, [near(ast.copy_location(end, node), node)]

    def _access(self, offset: int, ctx: ast.expr_context) -> ast.expr:
        index: ast.expr = load(self._variable)
        if offset:
            index = ast.BinOp(index, ast.Add() if offset > 0 else ast.Sub(), ast.Constant(abs(offset)))
        return ast.Subscript(load(self._table), index, ctx)
