"""Arrays and lists that a turn of a long loop makes for itself: it may write to them, as nothing else sees them.

```
for y in heights:
    row = np.zeros(3)                      # made by the turn
    row[0] = state                         # an entry of it
    kept = []
    kept.append(state * y)                 # append_own(kept, state * y)
```
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ...nodes import call, children, is_call_of_run_time, load, near, walk
from ...rules import ELEMENTWISE, Known
from ...variables import Names, assigned, blocks_of, each_assigned, read_first, surely_assigned
from ..containers.growing_lists import appended_to

# So begin the names of arrays that turns hand on and write to; see states.py.
STATE = ".state"


def own_arrays(facts: Known, body: Sequence[ast.stmt]) -> Names:
    """The variables that a turn binds before it reads them, and to what it makes wherever it does: an array, a list or a number."""
    found = assigned(body) - read_first(body)
    others: set[str] = set()
    for part in (part for statement in body for part in walk(statement)):
        if isinstance(part, (ast.Assign, ast.AnnAssign)) and part.value is not None:
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            for target, value in each_assigned(targets, part.value):
                if not _is_made(facts, value):
                    others |= surely_assigned(target)
        elif isinstance(part, ast.For):
            others |= surely_assigned(part.target)
        elif isinstance(part, ast.NamedExpr):
            others |= surely_assigned(part.target)
    return found - others | {name for name in assigned(body) if name.startswith(STATE)}


def _is_made(facts: Known, value: ast.expr) -> bool:
    """Whether an expression surely gives something new, or a number."""
    if isinstance(value, ast.IfExp):
        return _is_made(facts, value.body) and _is_made(facts, value.orelse)
    if not isinstance(value, ast.Call):
        return isinstance(value, (ast.List, ast.ListComp, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Compare))
    if is_call_of_run_time(value):
        return isinstance(value.func, ast.Attribute) and value.func.attr == "row_to_write"
    if isinstance(value.func, ast.Attribute) and value.func.attr == "copy" and not value.args:
        return True
    name = value.func.attr if isinstance(value.func, ast.Attribute) else value.func.id if isinstance(value.func, ast.Name) else ""
    return name in _MAKERS and not value.keywords and facts.is_library(value.func)


# Functions that make new arrays and lists, called without `out`, `copy` and the like.
_MAKERS = ELEMENTWISE.keys() | frozenset(
    "zeros ones empty full zeros_like ones_like empty_like full_like arange linspace array eye copy list".split()
)


# Functions that give something else than what they are given, or a part of it.
_CONSUMING = ELEMENTWISE.keys() | frozenset("sum max min mean prod dot any all var std argmax argmin linalg.norm norm".split())


def used_up(facts: Known, body: Sequence[ast.stmt]) -> set[ast.AST]:
    """The operands of arithmetic and of functions that make something new of them: they are no other name of an array."""
    found: set[ast.AST] = set()
    for part in (part for statement in body for part in walk(statement)):
        if isinstance(part, (ast.BinOp, ast.UnaryOp, ast.Compare)):
            found.update(children(part))
        elif isinstance(part, ast.Call) and facts.is_library(part.func) and isinstance(part.func, ast.Attribute):
            if part.func.attr in _CONSUMING:
                found.update(part.args)
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "copy" and not part.args:
            found.add(part.func.value)
    return found


def changed_in_place(body: Sequence[ast.stmt]) -> Names:
    """The variables that statements bind by `x += y` alone, which changes an array."""
    parts = [part for statement in body for part in walk(statement)]
    changed = {part.target for part in parts if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name)}
    bound = {part.id for part in parts if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load) and part not in changed}
    return frozenset(target.id for target in changed) - bound


def append_to_own_lists(facts: Known, node: ast.For) -> None:
    """Rewrites statements that append to such lists, in place: of others the statement `row.append(v)` may do anything."""
    own = own_arrays(facts, node.body)
    if own:
        _rewrite(node.body, own)


def _rewrite(body: list[ast.stmt], own: Names) -> None:
    for k, statement in enumerate(body):
        name = appended_to(statement)
        if name is not None and name in own:
            assert isinstance(statement, ast.Expr)
            assert isinstance(statement.value, ast.Call)
            made = call("append_own", [load(name), statement.value.args[0]], statement)
            body[k] = near(ast.copy_location(ast.Expr(made), statement), statement)
        for block in blocks_of(statement):
            _rewrite(block, own)
