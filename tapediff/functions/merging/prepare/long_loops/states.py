"""Arrays whose entries each turn of a long loop changes, at places that do not go along with it, are variables that turns hand on.

```
                                        .state = own(x)
for t in range(n):                      for t in range(n):
    x[0] += dt * x[1]                       .state = own(.state)
    x[1] -= dt * f(x[0], y[t])              .state[0] += dt * .state[1]
                                            .state[1] -= dt * f(.state[0], y[t])
                                        x[...] = .state
```
What else shows the array is written as well then, behind the loop; no turn may read it by another name.
"""

from __future__ import annotations

import ast

from ...nodes import Transformer, assign, call, load, near, place, walk
from ...rules import LONG, Known
from ...variables import assigned, read_first, reads, surely_assigned
from .entries_by_turn import counter_of
from .own_arrays import STATE, own_arrays, used_up


def states_in_place(facts: Known, node: ast.For) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Rewrites the accesses to such arrays in the body of a loop, in place; gives the statements before and after it."""
    counter, _ = counter_of(facts, node)
    counting = {counter} if counter else surely_assigned(node.target)
    own, bound, consumed = own_arrays(facts, node.body), assigned([node]), used_up(facts, node.body)
    parts = [part for statement in node.body for part in walk(statement)]
    accesses = [part for part in parts if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name)]
    bases = {access.value for access in accesses}
    others = {part.id for part in parts if isinstance(part, ast.Name) and part not in bases and part not in consumed}
    stored = {access.value.id for access in accesses if not isinstance(access.ctx, ast.Load) and isinstance(access.value, ast.Name)}
    moving = {access.value.id for access in accesses if isinstance(access.value, ast.Name) and not counting.isdisjoint(reads(access.slice))}
    names = sorted(name for name in stored - moving - others - bound - own if facts.is_own(name))
    before, after = list[ast.stmt](), list[ast.stmt]()
    if not names:
        return before, after
    others_read = sorted(name for name in read_first(node.body) - surely_assigned(node.target) - {*names} if not name.startswith("."))
    shown = ast.Tuple([load(name) for name in others_read], ast.Load())
    renamed = {name: f"{STATE}{facts.number()}.{name}" for name in names}
    node.body = [_Renamed(renamed).visit(statement) for statement in node.body]
    arrays = ast.Tuple([load(name) for name in names], ast.Load())
    before.append(near(ast.copy_location(ast.Expr(call("require_apart", [place(node, LONG), arrays, shown], node)), node), node))
    for name, state in renamed.items():
        before.append(assign(state, call("state_to_write", [place(node, LONG), load(name)], node), node))
        node.body.insert(0, assign(state, call("state_of_turn", [load(state)], node), node))
        whole = near(ast.Assign([ast.Subscript(load(name), ast.Constant(...), ast.Store())], load(state)), node)
        after.append(near(ast.copy_location(whole, node), node))
    return before, after


class _Renamed(Transformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return near(ast.copy_location(ast.Name(self._names.get(node.id, node.id), node.ctx), node), node)
