"""Turns of long loops that data ends or leaves, computed as a whole: behind each exit it is chosen whether what follows counts.

```
for t in range(n):                for t in range(n):
    state = a @ state                 was, before = stop, state
    if bad(state):                    state = a @ state
        break                         if bad(state): stop = True
    total += np.sum(state)            left, earlier = stop, total
                                      total += np.sum(state)
                                      total = choose(left, earlier, total)
                                      state, stop = choose(was, before, state), ...
```
Unlike the sides of a branch that becomes a select, turns may compute with arrays and call functions that compute values.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ...nodes import assign, branch, call, copied, load, place, walk
from ...rules import LONG
from ...variables import Names, assigned, reads
from ..containers.growing.growing_lists import appended_to
from ..exits.jumps import EXITS, Elsewhere, has_jump

# Behind each exit all that follows is chosen: turns with more of them are left alone.
MOST_EXITS = 16


def whole_turn(
    body: Sequence[ast.stmt], starts: Sequence[ast.stmt], stop: str, carried: Names, new: Callable[[str], str], site: ast.For
) -> list[ast.stmt]:
    """A turn without jumps.

    Args:
        starts: statements that stand before it.
        stop: the variable that tells whether the loop has ended.
        carried: the variables that a turn hands on.
        new: a new variable of a name.

    Raises:
        Elsewhere: with other exits than at the end of a branch of the turn itself, with very many, or with lists that grow.
    """
    if sum(has_jump([statement], EXITS) for statement in body) > MOST_EXITS:
        raise Elsewhere
    turn = _Turn(stop, carried, new, site)
    lowered = turn.lowered(body)
    if turn.is_skip_used:
        lowered.insert(0, assign(turn.skip, ast.Constant(False), site))
    return turn.chosen(stop, [*starts, *lowered])


class _Turn:
    def __init__(self, stop: str, carried: Names, new: Callable[[str], str], site: ast.For) -> None:
        self.skip, self.is_skip_used = new("skip"), False
        self._stop, self._carried, self._new, self._site = stop, carried, new, site

    def lowered(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements with their exits as variables."""
        for k, statement in enumerate(body):
            if not has_jump([statement], EXITS):
                continue
            if not isinstance(statement, ast.If) or statement.orelse or has_jump(statement.body[:-1], EXITS):
                raise Elsewhere
            if not isinstance(statement.body[-1], EXITS):
                raise Elsewhere
            is_end = isinstance(statement.body[-1], ast.Break)
            self.is_skip_used |= not is_end
            flag = self._stop if is_end else self.skip
            left = branch(statement.test, [*statement.body[:-1], assign(flag, ast.Constant(True), statement)], [], statement)
            return [*body[:k], left, *self.chosen(flag, self.lowered(body[k + 1 :]))]
        return list(body)

    def chosen(self, flag: str, rest: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements that count where a variable is not true before them."""
        targets = _stores(rest)
        if not rest:
            return []
        site, was = self._site, self._new("was")
        before: list[ast.stmt] = [assign(was, load(flag), site)]
        after: list[ast.stmt] = []
        names: list[ast.expr] = [load(name) for name in sorted(assigned(rest) & self._carried)]
        for value in [*names, *targets]:
            kept = self._new("kept")
            before.append(assign(kept, call("set_aside", [copied(value)], site), site))
            choice = call("choose_turn", [place(site, LONG), load(was), load(kept), copied(value)], site)
            after.append(_store(value, choice, site))
        return [*before, *rest, *after]


def _store(value: ast.expr, choice: ast.expr, site: ast.For) -> ast.stmt:
    if isinstance(value, ast.Name):
        return assign(value.id, choice, site)
    assert isinstance(value, ast.Subscript)
    made = assign("", choice, site)
    assert isinstance(made, ast.Assign)
    made.targets = [ast.copy_location(ast.Subscript(copied(value.value), copied(value.slice), ast.Store()), value)]
    return made


def _stores(body: Sequence[ast.stmt]) -> list[ast.expr]:
    """The entries that statements write, each of them once."""
    parts = [part for statement in body for part in walk(statement)]
    if any(appended_to(part) is not None for part in parts):
        raise Elsewhere
    bound, found = assigned(body), dict[str, ast.expr]()
    for part in parts:
        if isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load):
            if not isinstance(part.value, ast.Name) or (reads(part.slice) | {part.value.id}) & bound:
                raise Elsewhere
            entry = ast.copy_location(ast.Subscript(copied(part.value), copied(part.slice), ast.Load()), part)
            found.setdefault(ast.unparse(entry), entry)
    return list(found.values())
