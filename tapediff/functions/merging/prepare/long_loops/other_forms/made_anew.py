"""Arrays that each turn of a long loop makes of the one before, and then writes to, have a name of their own within the turn.

```
for v in values:                       for v in values:
    before = x                             before = x
    x = 0.5 * x                            .made = 0.5 * x
    x[0] += v * before[1]                  .made[0] += v * before[1]
                                           x = .made
```
So nothing is written to that another turn has made; see own_arrays.py.
"""

from __future__ import annotations

import ast

from ....nodes import Transformer, assign, load, near, walk
from ....rules import Known
from ...exits.jumps import JUMPS, has_jump
from ..own_arrays import is_made

_LATER = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.GeneratorExp, ast.NamedExpr, ast.Delete)


def arrays_made_anew(facts: Known, node: ast.For) -> None:
    """Renames such arrays where a turn has made them, in place."""
    if has_jump(node.body, JUMPS):
        return
    for at in range(len(node.body) - 1, -1, -1):
        name = _made_by(facts, node, at)
        if name is not None:
            new = f".made{facts.number()}.{name}"
            first = node.body[at]
            assert isinstance(first, ast.Assign)
            first.targets = [near(ast.copy_location(ast.Name(new, ast.Store()), first.targets[0]), first)]
            renamed = _Renamed(name, new)
            node.body[at + 1 :] = [*map(renamed.visit, node.body[at + 1 :]), assign(name, load(new), node)]


def _made_by(facts: Known, node: ast.For, at: int) -> str | None:
    """The variable that a statement binds to a new array, if only what follows in the turn writes to it, and nothing else binds it."""
    first = node.body[at]
    if not (isinstance(first, ast.Assign) and len(first.targets) == 1 and isinstance(first.targets[0], ast.Name)):
        return None
    name = first.targets[0].id
    if not is_made(facts, first.value) or not facts.is_own(name) or name.startswith("."):
        return None
    parts = [part for statement in (node.target, *node.body) for part in walk(statement)]
    if any(isinstance(part, _LATER) for part in parts):
        return None
    if sum(isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load) for part in parts) > 1:
        return None
    before = {part for statement in node.body[: at + 1] for part in walk(statement)}
    stores = [part for part in parts if isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load) and _base(part) == name]
    if not stores or not before.isdisjoint(stores):
        return None
    # Where the turn does not ask what the array was, it is known as one that it has made.
    return name if any(isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Load) for part in before) else None


def _base(part: ast.Subscript) -> str:
    base: ast.expr = part
    while isinstance(base, ast.Subscript):
        base = base.value
    return base.id if isinstance(base, ast.Name) else ""


class _Renamed(Transformer):
    def __init__(self, name: str, new: str) -> None:
        self._name, self._new = name, new

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return near(ast.copy_location(ast.Name(self._new, node.ctx), node), node) if node.id == self._name else node
