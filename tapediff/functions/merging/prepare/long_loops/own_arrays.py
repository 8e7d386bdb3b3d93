"""Which arrays and lists a turn of a long loop makes for itself, and which of its variables may show one array.

```
for y in heights:
    row = np.zeros(3)                      # made by the turn
    row[0] = state                         # an entry of it
    kept = []
    kept.append(state * y)                 # append_own(kept, state * y)
```
To what it has made it may write, as nothing else sees that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from ...nodes import call, children, is_call_of_run_time, load, near, walk
from ...rules import ELEMENTWISE, Known
from ...variables import Names, assigned, blocks_of, each_assigned, names_outside_indices, read_first, surely_assigned
from ..containers.growing.growing_lists import appended_to

# So begin the names of arrays that turns hand on and write to, and of rows of tables that they write; see states.py, rows_of_tables.py.
STATE, ROW = ".state", ".row"


def own_arrays(facts: Known, body: Sequence[ast.stmt]) -> Names:
    """The variables that a turn binds before it reads them, and to what it makes wherever it does: an array, a list or a number."""
    found = assigned(body) - read_first(body)
    others: set[str] = set()
    for part in (part for statement in body for part in walk(statement)):
        if isinstance(part, (ast.Assign, ast.AnnAssign)) and part.value is not None:
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            for target, value in each_assigned(targets, part.value):
                if not is_made(facts, value):
                    others |= surely_assigned(target)
        elif isinstance(part, ast.For):
            others |= surely_assigned(part.target)
        elif isinstance(part, ast.NamedExpr):
            others |= surely_assigned(part.target)
    return found - others | {name for name in assigned(body) if name.startswith(STATE)}


def is_made(facts: Known, value: ast.expr) -> bool:
    """Whether an expression surely gives something new, or a number."""
    if isinstance(value, ast.IfExp):
        return is_made(facts, value.body) and is_made(facts, value.orelse)
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
_CONSUMING = ELEMENTWISE.keys() | frozenset("sum max min mean prod dot any all var std argmax argmin least_at linalg.norm norm".split())


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


def in_place_targets(parts: Iterable[ast.AST]) -> set[ast.AST]:
    """The variables in `x += y`, which changes an array and binds nothing else."""
    return {part.target for part in parts if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name)}


def bound_otherwise(parts: Sequence[ast.AST]) -> Names:
    """The variables that statements bind, but for those that `x += y` alone does."""
    changed = in_place_targets(parts)
    return frozenset(p.id for p in parts if isinstance(p, ast.Name) and not isinstance(p.ctx, ast.Load) and p not in changed)


def changed_in_place(facts: Known, body: Sequence[ast.stmt]) -> Names:
    """The variables that a turn may change by `x += y` or `x[k] += y`: what is shown there, and what may show the same array."""
    parts = [part for statement in body for part in walk(statement)]
    targets = [part.target for part in parts if isinstance(part, ast.AugAssign) and not _is_entry_of_row(part.target)]
    found, pending = set[str](), [names_outside_indices(target) for target in targets]
    together = _shown_together(facts, parts)
    while pending:
        new = pending.pop() - found
        found |= new
        for name in new:
            pending += together.get(name, ())
    return frozenset(found)


def _shown_together(facts: Known, parts: Sequence[ast.AST]) -> dict[str, list[Names]]:
    """For each variable those that an assignment may let show the same array."""
    found: dict[str, list[Names]] = {}
    for part in parts:
        if isinstance(part, (ast.Assign, ast.AnnAssign)) and part.value is not None:
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            given = _handed_through(facts, part.value)
            groups = [given | names_outside_indices(target) for target in targets if not _is_entry_of_row(target)]
        elif isinstance(part, ast.For):
            groups = [_handed_through(facts, part.iter) | names_outside_indices(part.target)]
        else:
            continue
        for names in groups:
            for name in names:
                found.setdefault(name, []).append(names)
    return found


def _is_entry_of_row(target: ast.expr) -> bool:
    """Whether an assignment is to an entry of a row, which gets the numbers and not the array; see rows_of_tables.py."""
    return isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id.startswith(ROW)


def _handed_through(facts: Known, value: ast.expr) -> Names:
    """The names whose arrays an expression may give, or show: arithmetic and elementwise functions make new ones."""
    found: set[str] = set()
    pending: list[ast.AST] = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Call) and is_call_of_run_time(part) and part.func.attr == "row_to_write":  # type: ignore[attr-defined]
            continue
        elif isinstance(part, ast.Call) and facts.is_library(part.func):
            is_new = isinstance(part.func, ast.Attribute) and part.func.attr in ELEMENTWISE
            pending += [] if is_new else [*part.args, *(keyword.value for keyword in part.keywords)]
        elif isinstance(part, ast.Subscript):
            pending.append(part.value)
        elif not isinstance(part, (ast.BinOp, ast.UnaryOp, ast.Compare)):
            pending += children(part)
    return frozenset(found)


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
