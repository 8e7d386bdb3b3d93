"""Lists that a long loop reads along its turns are arrays for it: a turn would get each of their entries by itself.

```
                                            .table, .plain = an array of the numbers in above, whether Python's own are among them
for j in range(m):                          for j in range(m):
    total += above[j + 1] * x                   total += .table[j + 1] * x
```
"""

from __future__ import annotations

import ast

from ...nodes import Transformer, call, load, near, place, walk
from ...rules import LONG, Known
from ...variables import Names, assigned, reads
from .entries_by_turn import counter_of
from .fixed_reads import FIXED


def lists_as_tables(facts: Known, node: ast.For) -> list[ast.stmt]:
    """Rewrites the reads in the body of a loop, in place; gives the statements before it."""
    counter, _ = counter_of(facts, node)
    if not counter:
        return []
    parts = [part for statement in node.body for part in walk(statement)]
    entries = [part for part in parts if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name)]
    names = {part.value.id for part in entries if isinstance(part.value, ast.Name) and counter in reads(part.slice)} - assigned([node])
    bases = {part.value for part in entries if isinstance(part.ctx, ast.Load)}
    used = {part.id for part in parts if isinstance(part, ast.Name) and part not in bases}
    names = {name for name in names - used if facts.is_own(name) and (not name.startswith(".") or name.startswith(FIXED))}
    if not names:
        return []
    tables = _Tables(frozenset(names), facts.number(), place(node, LONG))
    node.body = [tables.visit(statement) for statement in node.body]
    return [tables.made(name, node) for name in sorted(names)]


class _Tables(Transformer):
    def __init__(self, names: Names, number: int, at: ast.expr) -> None:
        self._names, self._number, self._place = names, number, at

    def _variables(self, name: str) -> tuple[str, str]:
        return f".table{self._number}.{name}", f".plain{self._number}.{name}"

    def made(self, name: str, node: ast.For) -> ast.stmt:
        targets: list[ast.expr] = [ast.Name(variable, ast.Store()) for variable in self._variables(name)]
        return near(ast.Assign([ast.Tuple(targets, ast.Store())], call("table_of", [load(name)], node)), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.value, ast.Name) or node.value.id not in self._names:
            return node
        table, plain = self._variables(node.value.id)
        node.value = near(load(table), node)
        return call("of_table", [load(plain), node, self._place], node)
