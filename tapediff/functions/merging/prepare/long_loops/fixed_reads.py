"""Entries and rows that all turns of a long loop read are read once, before it.

```
                                        .fixed0, .fixed1 = x[i], cost[i]
for j in range(m):                      for j in range(m):
    total += x[i] * cost[i, j]              total += .fixed0 * .fixed1[j]
```
In the turn of an inner loop the number of an outer one's turn is some value, so that it would ask at every turn whether there is such an
entry; in that of the outer one all the numbers are known.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from ...nodes import ARITHMETIC, Transformer, copied, is_call_of_run_time, load, near, walk
from ...rules import Known
from ...variables import Names, assigned, reads
from .entries_by_turn import stored_to
from .own_arrays import changed_in_place

# So begin the names of their variables.
FIXED = ".fixed"


def fixed_reads(facts: Known, node: ast.For) -> list[ast.stmt]:
    """Rewrites such reads in the body of a loop, in place; gives the statements before it."""
    bound, parts = assigned([node]), [part for statement in node.body for part in walk(statement)]
    calls = [part for part in parts if isinstance(part, ast.Call)]
    only_library = all(is_call_of_run_time(part) or facts.is_library(part.func) for part in calls)
    bases = {part.value for part in parts if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Load)}
    changing = {part.id for part in parts if isinstance(part, ast.Name) and part not in bases} | stored_to(node.body) | bound
    changing |= changed_in_place(facts, node.body)
    made = _FixedReads(bound, lambda name: name not in changing and (only_library or facts.is_own(name)), facts.number())
    node.body = [made.visit(statement) for statement in node.body]
    return [near(ast.Assign([ast.Name(name, ast.Store())], value), node) for name, value in made.before.values()]


class _FixedReads(Transformer):
    """Reads as variables. `before`: by their text, these and what they are."""

    def __init__(self, bound: Names, is_fixed: Callable[[str], bool], number: int) -> None:
        self._bound, self._is_fixed, self._number = bound, is_fixed, number
        self.before: dict[str, tuple[str, ast.expr]] = {}

    def _stay(self, node: ast.AST) -> ast.AST:
        return node

    # What is in these is computed at another time.
    visit_Lambda = visit_FunctionDef = visit_ClassDef = visit_GeneratorExp = visit_ListComp = _stay

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or not isinstance(node.value, ast.Name):
            return node
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        count = next((k for k, part in enumerate(parts) if not self._is_number(part)), len(parts))
        if not any(reads(part) for part in parts[:count]) or not self._is_fixed(node.value.id):
            return node
        index = parts[0] if count == 1 else ast.Tuple([copied(part) for part in parts[:count]], ast.Load())
        whole = near(ast.copy_location(ast.Subscript(load(node.value.id), copied(index), ast.Load()), node), node)
        name, _ = self.before.setdefault(ast.dump(whole), (f"{FIXED}{self._number}.{len(self.before)}", whole))
        if count == len(parts):
            return near(load(name), node)
        rest = parts[count] if len(parts) == count + 1 else ast.Tuple(parts[count:], ast.Load())
        return near(ast.copy_location(ast.Subscript(load(name), rest, ast.Load()), node), node)

    def _is_number(self, node: ast.expr) -> bool:
        """Whether a part of an index is arithmetic of what the loop does not change."""
        return all(isinstance(part, ARITHMETIC) for part in walk(node)) and reads(node).isdisjoint(self._bound)
