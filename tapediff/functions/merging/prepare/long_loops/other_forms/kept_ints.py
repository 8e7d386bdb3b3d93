"""Ints of Python's that the turns of a long loop put into lists are whole numbers there, also where they are data as floats.

```
for t in range(n):                             for t in range(n):
    k = 1 if x[t] > level else 0                   k = 1 if x[t] > level else 0
    path.append(k)                                 path.append(kept_int(k))
```
So what reads the list has positions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ....nodes import call, near, place, walk
from ....rules import LONG
from ....variables import Names, each_assigned
from ...containers.growing.growing_lists import appended_to


def keep_ints(
    body: Sequence[ast.stmt], is_long: Callable[[ast.For], bool], is_whole: Callable[[ast.expr], bool]
) -> None:
    """Rewrites what long loops put into lists, in place. `is_whole`: whether an expression surely gives an int of Python's."""
    parts = [part for statement in body for part in walk(statement)]
    loops = [part for part in parts if isinstance(part, ast.For) and is_long(part)]
    lists = _lists(parts) if loops else frozenset[str]()
    for loop in loops:
        for statement in (part for inner in loop.body for part in walk(inner)):
            if isinstance(statement, ast.Expr) and appended_to(statement) is not None and isinstance(statement.value, ast.Call):
                statement.value.args = [_kept(value, loop, is_whole) for value in statement.value.args]
            elif isinstance(statement, ast.Assign) and len(statement.targets) == 1 and _is_entry(statement.targets[0], lists):
                statement.value = _kept(statement.value, loop, is_whole)


def may_keep_ints(body: Sequence[ast.stmt], is_long: Callable[[ast.For], bool]) -> bool:
    """Whether long loops put something into lists."""
    parts = [part for statement in body for part in walk(statement)]
    within = [part for loop in parts if isinstance(loop, ast.For) and is_long(loop) for part in walk(loop)]
    if any(appended_to(part) is not None for part in within):
        return True
    lists = _lists(parts)
    return any(isinstance(part, ast.Assign) and _is_entry(part.targets[0], lists) for part in within)


def _lists(parts: Sequence[ast.AST]) -> Names:
    """The variables that are bound to lists that are written out, or to such lists over and over."""
    found: set[str] = set()
    for part in parts:
        for target, value in each_assigned(part.targets, part.value) if isinstance(part, ast.Assign) else ():
            whole = value.left if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult) else value
            if isinstance(whole, (ast.List, ast.ListComp)) and isinstance(target, ast.Name):
                found.add(target.id)
    return frozenset(found)


def _is_entry(target: ast.expr, lists: Names) -> bool:
    return isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id in lists


def _kept(value: ast.expr, loop: ast.For, is_whole: Callable[[ast.expr], bool]) -> ast.expr:
    is_known = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)
    if is_known or not is_whole(value):
        return value
    return near(call("kept_int", [place(loop, LONG), value], value), value)
