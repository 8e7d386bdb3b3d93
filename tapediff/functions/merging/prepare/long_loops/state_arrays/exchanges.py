"""Variables of a long loop that change places, also by a third name, as one assignment.

```
for t in range(n):                 for t in range(n):
    tmp = u
    v[1:] = f(u)                       v[1:] = f(u)
    u = v                              u, v = v, u
    v = tmp
```
What each name holds afterwards is the same, and nothing else reads the third name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ....nodes import load, near, walk
from ....rules import Known
from ....variables import Liveness, Names, assigned, read_first, replace_each, surely_assigned

# A name and that of which it gets the value.
Move = tuple[str, str]


class Exchange(NamedTuple):
    """Variables that change places in a turn, once or more often.

    Attributes:
        names: these.
        given: for each the number of the one whose value it has after a turn.
        statements: that do so.
    """

    names: list[str]
    given: list[int]
    statements: list[ast.stmt]


def with_exchanges(facts: Known, body: list[ast.stmt], is_long: Callable[[ast.For], bool]) -> None:
    """Lets variables of long loops change places by one statement, in place."""
    loops = [node for statement in body for node in walk(statement) if isinstance(node, ast.For) and is_long(node)]
    if not any(len(_moves(statement) or ()) == 1 for node in loops for statement in node.body):
        return
    after = Liveness(body).after

    def replaced(node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.For) and is_long(node):
            _without_third_names(facts, node, after[node])
        return [node]

    replace_each(body, replaced)


def exchanges(node: ast.For) -> list[Exchange]:
    """The variables of a loop that change places by statements like `u, v = v, u` of its own body, and that nothing else binds."""
    found: list[Exchange] = []
    for statement in node.body:
        moves = _moves(statement) or []
        if _is_exchange(moves):
            found.append(_composed([statement]))
    for made in [*found]:
        same = [each for each in found if not {*each.names}.isdisjoint(made.names)]
        if len(same) > 1:
            found = [each for each in found if each not in same]
            together = [statement for statement in node.body if any(statement in each.statements for each in same)]
            found.append(_composed(together))
    return [each for each in found if _bound_besides(node, each.statements).isdisjoint(each.names)]


def _composed(statements: list[ast.stmt]) -> Exchange:
    """What some exchanges do one after the other."""
    moves = [move for statement in statements for move in _moves(statement) or ()]
    names = sorted({name for name, _ in moves})
    held = dict(zip(names, names))
    for statement in statements:
        held |= {name: held[other] for name, other in _moves(statement) or ()}
    return Exchange(names, [names.index(held[name]) for name in names], statements)


def _bound_besides(node: ast.For, statements: Sequence[ast.stmt]) -> Names:
    return assigned([other for other in node.body if other not in statements]) | surely_assigned(node.target)


def _moves(statement: ast.stmt) -> list[Move] | None:
    """The variables that a statement gives the values of others, all at once; None if it is another one."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    targets, values = ([*part.elts] if isinstance(part, ast.Tuple) else [part] for part in (target, value))
    if len(targets) != len(values) or isinstance(target, ast.Tuple) != isinstance(value, ast.Tuple):
        return None
    found = [(a.id, b.id) for a, b in zip(targets, values) if isinstance(a, ast.Name) and isinstance(b, ast.Name)]
    return found if len(found) == len(targets) == len({name for name, _ in found}) else None


def _is_exchange(moves: Sequence[Move]) -> bool:
    """Whether as many variables have changed places."""
    return len(moves) > 1 and {name for name, _ in moves} == {other for _, other in moves}


def _without_third_names(facts: Known, node: ast.For, after: Names) -> None:
    """Replaces the statements of a loop by which variables change places, in place."""
    needed = after | read_first(node.body) | surely_assigned(node.target)
    only_moved = {name for name in assigned(node.body) - needed if facts.is_own(name) and _is_only_moved(node, name)}
    body, made = _late(node.body, only_moved), list[ast.stmt]()
    live = Liveness(body).after
    for is_moving, run in _runs(body):
        for part in _apart(run) if is_moving else [run]:
            third = only_moved - live[part[-1]]
            exchange = _exchange(part, third) if is_moving else None
            made += part if exchange is None else [exchange]
    node.body = made


def _is_only_moved(node: ast.For, name: str) -> bool:
    """Whether a loop uses a variable in nothing but moves of its own body."""
    rest = [statement for statement in [*node.body, *node.orelse] if _moves(statement) is None or statement in node.orelse]
    return not any(isinstance(part, ast.Name) and part.id == name for other in (*rest, node.target, node.iter) for part in walk(other))


def _late(body: Sequence[ast.stmt], only_moved: set[str]) -> list[ast.stmt]:
    """Statements, of which those that give such a variable a value come as late as they can."""
    made: list[ast.stmt] = []
    waiting: list[ast.stmt] = []
    for statement in body:
        moves = _moves(statement)
        if moves is not None and len(moves) == 1 and moves[0][0] in only_moved:
            waiting.append(statement)
            continue
        bound = assigned([statement])
        if waiting and (moves is not None or any(not bound.isdisjoint(move) for each in waiting for move in _moves(each) or ())):
            made += waiting
            waiting = []
        made.append(statement)
    return [*made, *waiting]


def _runs(body: Sequence[ast.stmt]) -> Iterator[tuple[bool, list[ast.stmt]]]:
    """Statements one after the other that are all moves, or none of which is one."""
    run: list[ast.stmt] = []
    for statement in body:
        if run and (_moves(statement) is None) != (_moves(run[-1]) is None):
            yield _moves(run[-1]) is not None, run
            run = []
        run.append(statement)
    if run:
        yield _moves(run[-1]) is not None, run


def _exchange(part: Sequence[ast.stmt], third: set[str]) -> ast.stmt | None:
    """Moves one after the other as one, where they do nothing but let variables change places, some by third names."""
    held = dict[str, str]()
    for statement in part:
        held |= {name: held.get(other, other) for name, other in _moves(statement) or ()}
    moves = [(name, other) for name, other in held.items() if name not in third and name != other]
    return _assignment(moves, part[-1]) if len(part) > 1 and _is_exchange(moves) else None


def _assignment(moves: Sequence[Move], at: ast.stmt) -> ast.stmt:
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name, _ in moves]
    values: list[ast.expr] = [load(other) for _, other in moves]
    made = ast.Assign([ast.Tuple(targets, ast.Store())], ast.Tuple(values, ast.Load()))
    return near(ast.copy_location(made, at), at)


def _apart(run: Sequence[ast.stmt]) -> list[list[ast.stmt]]:
    """The statements of a run, those that share variables together."""
    groups: list[tuple[set[str], list[ast.stmt]]] = []
    for statement in run:
        names = {name for move in _moves(statement) or () for name in move}
        mine = [group for group in groups if not group[0].isdisjoint(names)]
        groups = [group for group in groups if group not in mine]
        together = [*(part for group in mine for part in group[1]), statement]
        groups.append((names.union(*(group[0] for group in mine)), sorted(together, key=run.index)))
    return [statements for _, statements in groups]
