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
from collections.abc import Sequence

from ....nodes import Transformer, assign, call, copied, is_call_of_run_time, load, near, place, walk
from ....rules import LONG, Known
from ....variables import read_first, reads, surely_assigned
from ..entries_by_turn import counter_of
from ..own_arrays import STATE, bound_otherwise, in_place_targets, own_arrays, used_up
from ..which_loops import gone_over
from .exchanges import Exchange, exchanges


def states_in_place(facts: Known, node: ast.For, may_end_early: bool) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Rewrites the accesses to such arrays in the body of a loop, in place; gives the statements before and after it."""
    counter, _ = counter_of(facts, node)
    # What a loop goes over that is no range are positions like others.
    items = surely_assigned(node.target) if not counter and not facts.is_builtin(node.iter, range) else frozenset[str]()
    counting = {counter} if counter else surely_assigned(node.target) - items
    own, consumed = own_arrays(facts, node.body), used_up(facts, node.body)
    changing_places = [] if may_end_early else exchanges(node)
    exchanged = {name for exchange in changing_places for name in exchange.names}
    moves = [statement for exchange in changing_places for statement in exchange.statements]
    parts = [part for statement in node.body if statement not in moves for part in walk(statement)]
    bound = bound_otherwise(parts) | surely_assigned(node.target)
    accesses = [part for part in parts if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name)]
    bases = {access.value for access in accesses} | in_place_targets(parts)
    positions = {access.value.id for access in accesses if isinstance(access.value, ast.Name) and _is_at_position(access)}
    of_items = [access.value for access in accesses if not items.isdisjoint(reads(access.slice))]
    positions |= {base.id for base in of_items if isinstance(base, ast.Name)}
    stored = {access.value.id for access in accesses if not isinstance(access.ctx, ast.Load) and isinstance(access.value, ast.Name)}
    moving = {access.value.id for access in accesses if isinstance(access.value, ast.Name) and not counting.isdisjoint(reads(access.slice))}
    # Those that change places with one of them are states as well.
    stored |= {name for exchange in changing_places if not stored.isdisjoint(exchange.names) for name in exchange.names}
    candidates = {name for name in stored - moving - bound - own if facts.is_own(name)}
    names = _seen_by_none(candidates, changing_places, parts, bases | consumed | _handed_over(parts))
    before, after = list[ast.stmt](), list[ast.stmt]()
    if not names:
        return before, after
    others_read = sorted(filter(facts.is_of_program, read_first(node.body) - surely_assigned(node.target) - {*names}))
    shown = ast.Tuple([load(name) for name in others_read], ast.Load())
    states = {name: f"{STATE}{facts.number()}.{name}" for name in names}
    node.body = [_Renamed(states).visit(statement) for statement in node.body]
    arrays = ast.Tuple([load(name) for name in names], ast.Load())
    before.append(near(ast.copy_location(ast.Expr(call("require_apart", [place(node, LONG), arrays, shown], node)), node), node))
    for name, state in states.items():
        made = call("state_to_write", [place(node, LONG), load(name), ast.Constant(name in positions)], node)
        before.append(assign(state, made, node))
        node.body.insert(0, assign(state, call("state_of_turn", [load(state)], node), node))
    for exchange in changing_places:
        if exchange.names[0] in states:
            after.append(_put_back(facts, node, exchange, states))
    for name in names:
        if name not in exchanged:
            whole = ast.Assign([ast.Subscript(load(name), ast.Constant(...), ast.Store())], load(states[name]))
            after.append(near(ast.copy_location(near(whole, node), node), node))
    return before, after


def _seen_by_none(candidates: set[str], changing_places: Sequence[Exchange], parts: Sequence[ast.AST], known: set[ast.AST]) -> list[str]:
    """Those of some arrays that a turn uses in no other ways than are known, or to copy all of one into another one."""
    names, before = candidates, set[str]()
    while names != before:
        before = names
        stores = [part for part in parts if isinstance(part, ast.Assign) and all(_is_within(target, names) for target in part.targets)]
        given = {store.value for store in stores}
        left = {part.id for part in parts if isinstance(part, ast.Name) and part not in known and part not in given}
        left |= {name for exchange in changing_places if not names - left >= {*exchange.names} for name in exchange.names}
        names = names - left
    return sorted(names)


def _handed_over(parts: Sequence[ast.AST]) -> set[ast.AST]:
    """What is given to functions and methods: these may show it to the rest of the turn, as in plain Python, and to no other one."""
    calls = [part for part in parts if isinstance(part, ast.Call) and not is_call_of_run_time(part)]
    given = set[ast.AST]()
    for node in calls:
        given.update(node.args, (keyword.value for keyword in node.keywords))
    return given | {part.value for part in parts if isinstance(part, ast.Attribute)}


def _is_at_position(access: ast.Subscript) -> bool:
    """Whether an index is a whole number that may be data."""
    parts = access.slice.elts if isinstance(access.slice, ast.Tuple) else [access.slice]
    calls = [part for part in parts if isinstance(part, ast.Call) and is_call_of_run_time(part)]
    return any(isinstance(part.func, ast.Attribute) and part.func.attr == "position" for part in calls)


def _is_within(target: ast.expr, names: set[str]) -> bool:
    """Whether an assignment is to a part of one of some arrays, which gets the numbers and not the array that has them."""
    return isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id in names


def _put_back(facts: Known, node: ast.For, exchange: Exchange, states: dict[str, str]) -> ast.stmt:
    """The statement behind a loop that writes the arrays which have changed places."""
    turns, names = gone_over(facts, copied(node.iter)), exchange.names
    arrays, last = (ast.Tuple([load(name) for name in each], ast.Load()) for each in (names, [states[name] for name in names]))
    order = ast.Tuple([ast.Constant(k) for k in exchange.given], ast.Load())
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    value = call("put_back", [place(node, LONG), turns, arrays, last, order], node)
    return near(ast.copy_location(ast.Assign([ast.Tuple(targets, ast.Store())], value), node), node)


class _Renamed(Transformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return near(ast.copy_location(ast.Name(self._names.get(node.id, node.id), node.ctx), node), node)
