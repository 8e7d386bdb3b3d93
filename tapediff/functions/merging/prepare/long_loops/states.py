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
from typing import TypeAlias

from ...nodes import Transformer, assign, call, copied, load, near, place, walk
from ...rules import LONG, Known
from ...variables import assigned, read_first, reads, surely_assigned
from .entries_by_turn import counter_of
from .own_arrays import STATE, bound_otherwise, in_place_targets, own_arrays, used_up
from .which_loops import gone_over


def states_in_place(facts: Known, node: ast.For, may_end_early: bool) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Rewrites the accesses to such arrays in the body of a loop, in place; gives the statements before and after it."""
    counter, _ = counter_of(facts, node)
    counting = {counter} if counter else surely_assigned(node.target)
    own, consumed = own_arrays(facts, node.body), used_up(facts, node.body)
    exchanges = {} if may_end_early else _exchanges(node)
    exchanged = {name for names, _ in exchanges.values() for name in names}
    parts = [part for statement in node.body if statement not in exchanges for part in walk(statement)]
    bound = bound_otherwise(parts) | surely_assigned(node.target)
    accesses = [part for part in parts if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name)]
    bases = {access.value for access in accesses} | in_place_targets(parts)
    others = {part.id for part in parts if isinstance(part, ast.Name) and part not in bases and part not in consumed}
    stored = {access.value.id for access in accesses if not isinstance(access.ctx, ast.Load) and isinstance(access.value, ast.Name)}
    moving = {access.value.id for access in accesses if isinstance(access.value, ast.Name) and not counting.isdisjoint(reads(access.slice))}
    # Those that change places with one of them are states as well.
    stored |= {name for names, _ in exchanges.values() if not stored.isdisjoint(names) for name in names}
    left = moving | others | bound | own
    left |= {name for names, _ in exchanges.values() if not left.isdisjoint(names) for name in names}
    names = sorted(name for name in stored - left if facts.is_own(name))
    before, after = list[ast.stmt](), list[ast.stmt]()
    if not names:
        return before, after
    others_read = sorted(name for name in read_first(node.body) - surely_assigned(node.target) - {*names} if not name.startswith("."))
    shown = ast.Tuple([load(name) for name in others_read], ast.Load())
    states = {name: f"{STATE}{facts.number()}.{name}" for name in names}
    node.body = [_Renamed(states).visit(statement) for statement in node.body]
    arrays = ast.Tuple([load(name) for name in names], ast.Load())
    before.append(near(ast.copy_location(ast.Expr(call("require_apart", [place(node, LONG), arrays, shown], node)), node), node))
    for name, state in states.items():
        before.append(assign(state, call("state_to_write", [place(node, LONG), load(name)], node), node))
        node.body.insert(0, assign(state, call("state_of_turn", [load(state)], node), node))
    for exchange in exchanges.values():
        if exchange[0][0] in states:
            after.append(_put_back(facts, node, *exchange, states))
    for name in names:
        if name not in exchanged:
            whole = ast.Assign([ast.Subscript(load(name), ast.Constant(...), ast.Store())], load(states[name]))
            after.append(near(ast.copy_location(near(whole, node), node), node))
    return before, after


# Names, and for each the number of the one whose array it gets.
Exchange: TypeAlias = tuple[list[str], list[int]]


def _exchanges(node: ast.For) -> dict[ast.stmt, Exchange]:
    """The statements of a turn by which variables change places, `u, v = v, u`, where nothing else binds these."""
    found: dict[ast.stmt, Exchange] = {}
    for statement in node.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target, value = statement.targets[0], statement.value
        if not (isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)):
            continue
        names = [part.id for part in target.elts if isinstance(part, ast.Name)]
        given = [part.id for part in value.elts if isinstance(part, ast.Name)]
        is_all = len(names) == len(target.elts) and len(given) == len(value.elts)
        others = assigned([other for other in node.body if other is not statement]) | surely_assigned(node.target)
        if is_all and len(set(names)) == len(names) and set(names) == set(given) and others.isdisjoint(names):
            found[statement] = names, [names.index(name) for name in given]
    return found


def _put_back(facts: Known, node: ast.For, names: list[str], given: list[int], states: dict[str, str]) -> ast.stmt:
    """The statement behind a loop that writes the arrays which have changed places."""
    turns = gone_over(facts, copied(node.iter))
    arrays, last = (ast.Tuple([load(name) for name in each], ast.Load()) for each in (names, [states[name] for name in names]))
    order = ast.Tuple([ast.Constant(k) for k in given], ast.Load())
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    value = call("put_back", [place(node, LONG), turns, arrays, last, order], node)
    return near(ast.copy_location(ast.Assign([ast.Tuple(targets, ast.Store())], value), node), node)


class _Renamed(Transformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return near(ast.copy_location(ast.Name(self._names.get(node.id, node.id), node.ctx), node), node)
