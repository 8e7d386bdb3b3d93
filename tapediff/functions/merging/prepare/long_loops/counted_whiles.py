"""`while` loops that count their turns, as `for` loops over a range, of which one turn can be recorded.

```
while t < n:                       .end = the end of range(t, n)
    s = f(s, y[t])                 for t in range(t, n):
    t += 1                             s = f(s, y[t])
                                   t = .end

while t < 10.0:                    .times, .end = all values of t, and the last one
    s = s + dt * f(s, t)           for t in .times:
    t += dt                            s = s + dt * f(s, t)
                                   t = .end
```
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...nodes import ARITHMETIC, assign, call, copied, load, near, place, walk, whole_number
from ...rules import LONG, Known
from ...variables import Names, assigned, blocks_of, replace_each

# So begin the names of what variables that count are after a loop.
END = ".end"


class Count(NamedTuple):
    """How a loop counts its turns.

    Attributes:
        name: the variable that counts.
        end: before this it ends.
        by: what each turn adds to the variable.
        step: the same as a whole number; None where it may be another one, so that `end` is as it is written.
        at: the number of the statement that does it.
        is_within: the variable may also be the end; only where `step` is None.
    """

    name: str
    end: ast.expr
    by: ast.expr
    step: int | None
    at: int
    is_within: bool = False


def counted_whiles(facts: Known, body: list[ast.stmt], is_long: Callable[[ast.While], bool], form: int = LONG) -> None:
    """Replaces `while` loops that are long and count their turns, in place. `form`: which is refused where one counts otherwise."""
    replace_each(body, lambda node: _as_for(facts, node, form) if isinstance(node, ast.While) and is_long(node) else [node])


def counted(node: ast.While) -> Count | None:
    """How a loop counts its turns: one of the statements of its body adds a number to a variable that no other one binds."""
    test = node.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    op, sides = type(test.ops[0]), (test.left, test.comparators[0])
    for (side, other), found in ((sides, op), (sides[::-1], _MIRRORED.get(op, op))):
        if not isinstance(side, ast.Name):
            continue
        binding = [k for k, statement in enumerate(node.body) if side.id in assigned([statement])]
        by = added(node.body[binding[0]], side.id) if len(binding) == 1 else None
        if by is None:
            continue
        step = whole_number(by)
        if step is None and found in (ast.Lt, ast.LtE):
            return Count(side.id, other, by, None, binding[0], found is ast.LtE)
        if step and found in ((ast.Lt, ast.LtE) if step > 0 else (ast.Gt, ast.GtE)):
            more = 0 if found in (ast.Lt, ast.Gt) else 1 if step > 0 else -1
            end = ast.BinOp(copied(other), ast.Add(), _constant(more)) if more else other
            return Count(side.id, near(end, other), by, step, binding[0])
    return None


_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}


def end_and_step(node: ast.While, name: str) -> tuple[ast.expr, ast.expr] | None:
    """Up to which value a loop without jumps counts by a variable, and by which steps, where it has it in one of its conditions."""
    tests = node.test.values if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And) else [node.test]
    sides = [(test.left, test.comparators[0]) for test in tests if isinstance(test, ast.Compare) and len(test.ops) == 1]
    ends = [end for pair in sides for side, end in (pair, pair[::-1]) if isinstance(side, ast.Name) and side.id == name]
    statements = [part for statement in node.body for part in walk(statement) if isinstance(part, ast.stmt)]
    steps = [by for statement in statements if (by := added(statement, name)) is not None]
    return (ends[0], steps[0]) if len(ends) == len(steps) == 1 else None


def added(node: ast.stmt, name: str) -> ast.expr | None:
    """The number, or variable, that a statement adds to a variable."""
    if isinstance(node, ast.AugAssign):
        if not isinstance(node.target, ast.Name) or node.target.id != name:
            return None
        op, by = node.op, node.value
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and all(isinstance(t, ast.Name) for t in node.targets):
        left, op, by = node.value.left, node.value.op, node.value.right
        if isinstance(op, ast.Add) and isinstance(by, ast.Name) and by.id == name:
            left, by = by, left
        if not isinstance(left, ast.Name) or left.id != name or len(node.targets) != 1:
            return None
    else:
        return None
    is_known = isinstance(by, ast.Name) or (isinstance(by, ast.Constant) and type(by.value) in (int, float))
    if not is_known or not isinstance(op, (ast.Add, ast.Sub)):
        return None
    return by if isinstance(op, ast.Add) else near(ast.UnaryOp(ast.USub(), by), by)


def surely_counted(facts: Known, node: ast.While) -> Count | None:
    """How a loop counts its turns, up to what none of them changes."""
    found = counted(node)
    if found is None or not facts.is_own(found.name) or _may_change(facts, found.end, node.body):
        return None
    if found.step is None:
        return None if _may_change(facts, found.by, node.body) else found
    return found if facts.is_builtin(_range(found, 0, node), range) else None


def _as_for(facts: Known, node: ast.While, form: int) -> list[ast.stmt]:
    """The statements that take the place of a loop; the loop if it does not count its turns."""
    found = surely_counted(facts, node)
    if found is None:
        return [node]
    if found.step is None:
        return _by_steps(facts, node, found, form)
    values = _range(found, 0, node)
    if found.at == 0:
        return [_loop(node, found, _range(found, found.step, node), node.body[1:], node.orelse)]
    jumps = own_jumps(node.body)
    if any(isinstance(jump, ast.Continue) for jump in jumps):
        return [node]  # it leaves out the counting
    if found.at < len(node.body) - 1:
        return [_loop(node, found, values, node.body, node.orelse)]
    name = f"{END}{facts.number()}"
    before = assign(name, call("end_of_range", [_range(found, 0, node)], node), node)
    after = assign(found.name, load(name), node)
    if any(isinstance(jump, ast.Break) for jump in jumps):
        return [before, _loop(node, found, values, node.body[:-1], [after, *node.orelse])]
    return [before, _loop(node, found, values, node.body[:-1], []), after, *node.orelse]


def _by_steps(facts: Known, node: ast.While, count: Count, form: int) -> list[ast.stmt]:
    """The same of a loop that adds what may be no whole number: its values are computed one by one, as Python does."""
    jumps, number = own_jumps(node.body), facts.number()
    if any(isinstance(jump, ast.Continue) for jump in jumps) and count.at:
        return [node]
    values, end = f".steps{number}", f"{END}{number}"
    is_within = ast.Constant(count.is_within)
    computed = call("steps_to", [place(node, form), load(count.name), copied(count.end), copied(count.by), is_within], node)
    before = near(ast.Assign([ast.Tuple([ast.Name(values, ast.Store()), ast.Name(end, ast.Store())], ast.Store())], computed), node)
    after = assign(count.name, load(end), node)
    body = node.body[:-1] if count.at == len(node.body) - 1 else node.body
    if any(isinstance(jump, ast.Break) for jump in jumps):
        return [before, _loop(node, count, load(values), body, [after, *node.orelse])]
    return [before, _loop(node, count, load(values), body, []), after, *node.orelse]


def _range(count: Count, later: int, node: ast.While) -> ast.expr:
    """The range of a loop, of which the values are so much later."""
    start, end = load(count.name), copied(count.end)
    if later:
        start, end = ast.BinOp(start, ast.Add(), _constant(later)), ast.BinOp(end, ast.Add(), _constant(later))
    assert count.step is not None
    arguments = [start, end] if count.step == 1 else [start, end, _constant(count.step)]
    return near(ast.copy_location(ast.Call(load("range"), arguments, []), node.test), node.test)


def _constant(value: int) -> ast.expr:
    return ast.Constant(value) if value >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-value))


def _loop(node: ast.While, count: Count, values: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> ast.For:
    target = near(ast.Name(count.name, ast.Store()), node.test)
    rest = list(body) or [near(ast.Pass(), node)]
    return near(ast.copy_location(ast.For(target, values, rest, list(orelse)), node), node)


def own_jumps(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The jumps of a loop, without those of loops in it."""
    found: list[ast.stmt] = []
    pending = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Break, ast.Continue)):
            found.append(node)
        elif isinstance(node, (ast.For, ast.While)):
            pending += node.orelse
        else:
            pending += [part for block in blocks_of(node) for part in block]
    return found


def _may_change(facts: Known, end: ast.expr, body: Sequence[ast.stmt]) -> bool:
    """Whether a turn may change where a loop ends."""
    parts = walk(end)
    if any(not isinstance(part, (*ARITHMETIC, ast.Div, ast.Call, ast.Attribute, ast.Subscript)) for part in parts):
        return True
    if any(isinstance(part, ast.Call) and not facts.is_builtin(part, len) for part in parts):
        return True
    names = frozenset(part.id for part in parts if isinstance(part, ast.Name))
    is_held = any(isinstance(part, (ast.Call, ast.Attribute, ast.Subscript)) for part in parts)
    return not names.isdisjoint(assigned(body)) or (is_held and not names.isdisjoint(_changed(facts, body, _is_of_lengths(parts))))


def _is_of_lengths(parts: Sequence[ast.AST]) -> bool:
    """Whether an expression reads nothing of containers but how long they are, which a write to an entry does not change."""
    attributes = [part for part in parts if isinstance(part, ast.Attribute)]
    entries = [part for part in parts if isinstance(part, ast.Subscript)]
    return all(part.attr in ("size", "shape") for part in attributes) and all(part.value in attributes for part in entries)


def _changed(facts: Known, body: Sequence[ast.stmt], is_of_lengths: bool) -> Names:
    """The names of what statements may change, or make longer or shorter: by a method, a function of the user's, or a write."""
    found: set[str] = set()
    for part in (part for statement in body for part in walk(statement)):
        if isinstance(part, ast.Call):
            called = part.func
            if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
                found.add(called.value.id)
            if not facts.is_library(called):
                found |= {value.id for value in part.args if isinstance(value, ast.Name)}
        elif isinstance(part, (ast.Subscript, ast.Attribute)) and not isinstance(part.ctx, ast.Load) and isinstance(part.value, ast.Name):
            is_entry = isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store) and not isinstance(part.slice, ast.Slice)
            if not (is_of_lengths and is_entry):
                found.add(part.value.id)
    return frozenset(found)
