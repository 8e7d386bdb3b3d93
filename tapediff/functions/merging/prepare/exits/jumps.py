"""Jumps as assignments: a turn of a loop whose `break` and `continue`, or a loop whose `return`, set variables instead."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ...nodes import (
    RUN_TIME,
    assign,
    branch,
    call,
    children,
    copied,
    is_placeholder,
    load,
    near,
    negation,
    placeholder,
    walk,
)
from ...variables import Names, assigned, reads

# So many early exits become branches of branches.
MOST_NESTED = 16

EXITS = (ast.Break, ast.Continue)
JUMPS = (ast.Return, *EXITS)


class Elsewhere(Exception):
    """A jump stands where it cannot be replaced, as in a `with`."""


class Lowered:
    """Replaces `break` and `continue`.

    Args:
        stop: the variable that a `break` sets; "" where there is none.
        new: a new variable of a name.
        test: a condition on data, at whose line the variables are asked.
        bound: the variables that have values before the loop.
        asked_for: others, whose values from outside of a turn, or from another one, something may ask for.
    """

    def __init__(self, stop: str, new: Callable[[str], str], test: ast.expr, bound: Names, asked_for: Names) -> None:
        self._stop, self._skip, self._test = stop, new("skip"), test
        self._skip_is_asked = False
        self._bound, self._asked_for, self._first = bound, asked_for, set[str]()

    def turn(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements of a turn.

        Raises:
            Elsewhere: with a jump that is in no branch of a branch.
        """
        made = self._block(body, 0)
        first = [assign(name, placeholder(), made[0]) for name in sorted(self._first)]
        return [*first, *([assign(self._skip, ast.Constant(False), made[0])] if self._skip_is_asked else []), *made]

    def _block(self, body: Sequence[ast.stmt], depth: int) -> list[ast.stmt]:
        for k, statement in enumerate(body):
            before, rest = body[:k], body[k + 1 :]
            if isinstance(statement, EXITS):
                return [*before, assign(self._stop if isinstance(statement, ast.Break) else self._skip, ast.Constant(True), statement)]
            if has_jump([statement], EXITS):
                if not isinstance(statement, ast.If) or depth > MOST_NESTED:
                    raise Elsewhere
                return [*before, *self._branch(statement, rest, depth + 1)]
        return list(body)

    def _branch(self, node: ast.If, rest: Sequence[ast.stmt], depth: int) -> list[ast.stmt]:
        """A branch that may leave the turn, with what follows it."""
        sides = (node.body, node.orelse)
        leaves = [_leaves(side) for side in sides]
        if any(leaves):
            yes, no = (self._block(side if left else [*side, *rest], depth) for side, left in zip(sides, leaves))
            return self._without_loops(branch(node.test, yes, no, node), node, leaves)
        yes, no = (self._block(side, depth) for side in sides)
        made: list[ast.stmt] = [branch(node.test, yes, no, node)]
        if rest:
            made.append(branch(negation(self._asked(node), self._test), self._block(rest, depth), [], node))
        return made

    def _asked(self, node: ast.If) -> list[str]:
        """The variables that tell whether a branch has left the turn."""
        asked = [self._stop] if has_jump([node], (ast.Break,)) else []
        if has_jump([node], (ast.Continue,)):
            asked.append(self._skip)
            self._skip_is_asked = True
        return asked

    def _without_loops(self, made: ast.If, node: ast.If, leaves: Sequence[bool]) -> list[ast.stmt]:
        """A branch of which one side leaves the turn, and behind it the loops of the other one, which have no turns where that is not
        taken. So the rest of the turn may be chosen by a mask.

        ```
        if done: stop = True        if done: stop = True
        else:                       else: a()
            a()                     while not stop and test: b()
            while test: b()         if not stop: c()
            c()
        ```
        """
        stays = made.body if leaves[1] else made.orelse
        loops = [k for k, statement in enumerate(stays) if isinstance(statement, ast.While) and not statement.orelse]
        starts = [statement for statement in stays if _is_start(statement)]
        fresh = assigned(stays) - self._bound - {self._stop, self._skip}
        if all(leaves) or not loops or fresh & self._asked_for or assigned(starts) & self._bound:
            return [made]
        self._first |= fresh - assigned(starts)
        asked, rest = self._asked(node), [s for s in stays[loops[0] :] if s not in starts]
        stays[:] = [s for s in stays[: loops[0]] if s not in starts] or [near(ast.Pass(), node)]
        split: list[ast.stmt] = [*starts, made]
        for k, statement in enumerate(rest):
            if isinstance(statement, ast.While) and not statement.orelse:
                test = statement.test
                both = ast.BoolOp(ast.And(), [negation(asked, test), test])
                statement.test = near(ast.copy_location(both, test), test)
                split.append(statement)
            elif k and isinstance(split[-1], ast.If):
                split[-1].body.append(statement)
            else:
                split.append(branch(negation(asked, self._test), [statement], [], node))
        return split


def _is_start(statement: ast.stmt) -> bool:
    """Whether a statement gives a variable of a loop, which the function has not written, its first value."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    is_own = statement.targets[0].id.startswith(".")
    return reads(statement.value) <= ({RUN_TIME, "range"} if is_own else {RUN_TIME}) and (is_own or is_placeholder(statement.value))


def _leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether statements surely end the turn."""
    return any(
        isinstance(s, EXITS) or (isinstance(s, ast.If) and bool(s.orelse) and _leaves(s.body) and _leaves(s.orelse)) for s in body
    )


class Returns:
    """Replaces `return` in a loop by `break`.

    Args:
        test: a condition on data, at whose line the results are asked for.
        own: variables that the loop may bind first; a result of them needs their values kept.
        new: a new variable of a name.
        counting: variables that may be whole numbers of which a turn is given another one.

    Attributes:
        before, after: statements to put before and after the loop.
        kept: variables of the loop, and those that keep what they are where it is left.
    """

    def __init__(self, test: ast.expr, own: Names, new: Callable[[str], str], counting: Names) -> None:
        self._test, self._own, self._new, self._counting = test, own, new, counting
        self.before: list[ast.stmt] = []
        self.after: list[ast.stmt] = []
        self.kept: list[tuple[str, str]] = []

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements of the loop.

        Raises:
            Elsewhere: with a return that is in no branch of a branch.
        """
        made: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, ast.Return):
                return made + self._return(statement)
            if has_jump([statement], (ast.Return,)):
                if not isinstance(statement, ast.If):
                    raise Elsewhere
                statement = branch(statement.test, self.block(statement.body), self.block(statement.orelse), statement)
            made.append(statement)
        return made

    def _return(self, node: ast.Return) -> list[ast.stmt]:
        """Keep what the result is computed from, and leave the loop."""
        value = copied(node.value or ast.copy_location(ast.Constant(None), node))
        if any(isinstance(n, (ast.Lambda, ast.NamedExpr, ast.comprehension)) for n in walk(value)):
            raise Elsewhere
        kept: dict[str, str] = {}
        for part in walk(value):
            if isinstance(part, ast.Name) and part.id in self._own:
                part.id = kept.setdefault(part.id, self._new(part.id.lstrip(".")))
        self.kept += kept.items()
        is_returned = self._new("returned")
        self.before.append(assign(is_returned, ast.Constant(False), node))
        self.before += [assign(name, placeholder(), node) for name in kept.values()]
        asked = ast.copy_location(load(is_returned), self._test)
        self.after.append(branch(asked, [ast.copy_location(ast.Return(value), node)], [], node))
        values = {name: call("as_data", [load(name)], node) if name in self._counting else load(name) for name in kept}
        keeping = [assign(to, values[name], node) for name, to in kept.items()]
        return [*keeping, assign(is_returned, ast.Constant(True), node), ast.copy_location(ast.Break(), node)]


def has_jump(body: Sequence[ast.stmt], kinds: tuple[type[ast.stmt], ...]) -> bool:
    """Whether statements hold a jump that leaves them; `break` and `continue` in loops inside do not, nor any in functions."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, kinds):
            return True
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(node, (ast.For, ast.While)):
            if ast.Return in kinds and has_jump(node.body, (ast.Return,)):
                return True
            pending += node.orelse
            continue
        if not isinstance(node, ast.expr):
            pending += children(node)
    return False
