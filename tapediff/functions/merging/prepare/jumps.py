"""Jumps as assignments: a turn of a loop whose `break` and `continue`, or a loop whose `return`, set variables instead."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ..nodes import assign, branch, children, copied, load, negation, placeholder, walk
from ..variables import Names

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
    """

    def __init__(self, stop: str, new: Callable[[str], str], test: ast.expr) -> None:
        self._stop, self._skip, self._test = stop, new("skip"), test
        self._skip_is_asked = False

    def turn(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements of a turn.

        Raises:
            Elsewhere: with a jump that is in no branch of a branch.
        """
        made = self._block(body, 0)
        return [assign(self._skip, ast.Constant(False), made[0]), *made] if self._skip_is_asked else made

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
            return [branch(node.test, yes, no, node)]
        yes, no = (self._block(side, depth) for side in sides)
        made: list[ast.stmt] = [branch(node.test, yes, no, node)]
        if rest:
            asked = [self._stop] if has_jump([node], (ast.Break,)) else []
            if has_jump([node], (ast.Continue,)):
                asked.append(self._skip)
                self._skip_is_asked = True
            made.append(branch(negation(asked, self._test), self._block(rest, depth), [], node))
        return made


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

    Attributes:
        before, after: statements to put before and after the loop.
    """

    def __init__(self, test: ast.expr, own: Names, new: Callable[[str], str]) -> None:
        self._test, self._own, self._new = test, own, new
        self.before: list[ast.stmt] = []
        self.after: list[ast.stmt] = []

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
        is_returned = self._new("returned")
        self.before.append(assign(is_returned, ast.Constant(False), node))
        self.before += [assign(name, placeholder(), node) for name in kept.values()]
        asked = ast.copy_location(load(is_returned), self._test)
        self.after.append(branch(asked, [ast.copy_location(ast.Return(value), node)], [], node))
        keeping = [assign(to, load(name), node) for name, to in kept.items()]
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
