"""Variables that count the turns of a long `for` loop, beside what it goes over.

```
for v in values:                   .end = k + the number of turns
    h[k] = f(v)                    for k, v in zip(range(k, .end), values):
    k += 1                             h[k] = f(v)
                                   k = .end
```
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from ...nodes import assign, call, copied, load, near, place, whole_number
from ...rules import LONG, Known
from ...variables import assigned, replace_each, surely_assigned
from .counted_whiles import END, added, own_jumps
from .which_loops import gone_over


def with_counters(facts: Known, body: list[ast.stmt], is_long: Callable[[ast.For], bool], form: int = LONG) -> None:
    """Lets long loops go over what their turns count, in place. `form`: which is refused where one counts otherwise."""
    replace_each(body, lambda node: _with_counters(facts, node, form) if isinstance(node, ast.For) and is_long(node) else [node])


def _counters(facts: Known, node: ast.For) -> dict[str, tuple[int, int]]:
    """The variables that count the turns: by which whole number, and in which statement of the body."""
    if facts.is_builtin(node.iter, enumerate):
        return {}
    is_skipped = any(isinstance(jump, ast.Continue) for jump in own_jumps(node.body))
    found: dict[str, tuple[int, int]] = {}
    for at, statement in enumerate(node.body):
        for name in assigned([statement]) - surely_assigned(node.target):
            by = added(statement, name)
            step = None if by is None else whole_number(by)
            is_only = not any(name in assigned([other]) for other in node.body if other is not statement)
            if step and is_only and facts.is_own(name) and not (is_skipped and at):
                found[name] = step, at
    return found


def _with_counters(facts: Known, node: ast.For, form: int) -> list[ast.stmt]:
    """The loop, over its values and those of its counters, and the statements around it."""
    found = _counters(facts, node)
    if not found:
        return [node]
    number, places = facts.number(), {at for _, at in found.values()}
    over: ast.expr = node.iter
    before: list[ast.stmt] = []
    if not facts.is_builtin(node.iter, range):
        over = load(f".counted{number}")
        before.append(assign(f".counted{number}", gone_over(facts, node.iter), node))
    values, targets, after = [over], [node.target], list[ast.stmt]()
    left_out: set[int] = set()
    for name, (step, at) in found.items():
        end = f"{END}{number}.{name}"
        before.append(assign(end, call("end_of_count", [place(node, form), copied(over), load(name), ast.Constant(step)], node), node))
        bounds: list[ast.expr] = [load(name), load(end)]
        if places.issuperset(range(at)):
            bounds = [ast.BinOp(bound, ast.Add(), ast.Constant(step)) for bound in bounds]
            left_out.add(at)
        elif places.issuperset(range(at, len(node.body))):
            left_out.add(at)
        values.append(ast.Call(load("range"), [*bounds, ast.Constant(step)], []))
        targets.append(ast.Name(name, ast.Store()))
        after.append(assign(name, load(end), node))
    # What stands first says by which variable entries may be written.
    order = [0, *range(1, len(values))] if over is node.iter else [*range(1, len(values)), 0]
    values, targets = [values[k] for k in order], [targets[k] for k in order]
    whole = near(ast.copy_location(ast.Call(load("zip"), values, []), node.iter), node.iter)
    if not facts.is_builtin(whole, zip) or not all(facts.is_builtin(part, range) for part in values if part is not over):
        return [node]
    node.iter, node.target = whole, near(ast.Tuple(targets, ast.Store()), node.target)
    node.body = [statement for k, statement in enumerate(node.body) if k not in left_out] or [near(ast.Pass(), node)]
    if any(isinstance(jump, ast.Break) for jump in own_jumps(node.body)):
        node.orelse = [*after, *node.orelse]
        return [*before, node]
    orelse, node.orelse = node.orelse, []
    return [*before, node, *after, *orelse]
