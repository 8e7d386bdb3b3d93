"""Exits of loops that data decides on: `break`, `continue` and `return` set variables that the rest of the loop asks.

```
for v in x:                  stop = False
    if v > limit:            for v in x:
        break                    if not stop:
    s = s + v                        if v > limit: stop = True
                                     else: s = s + v
```
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..nodes import assign, branch, call, load, near, negation, place, placeholder, walk
from ..rules import LONG, Place
from ..variables import (
    NONE,
    Binding,
    Liveness,
    Names,
    assigned,
    blocks_of,
    bound_by,
    read_first,
    reads,
    surely_assigned,
)
from .exits.jumps import EXITS, Elsewhere, Lowered, Returns, has_jump
from .long_loops.counted_whiles import END
from .long_loops.whole_turns import whole_turn

Loop: TypeAlias = ast.For | ast.While


@dataclass(frozen=True)
class Stopped:
    """A `for` that goes over all its values, and does nothing with those after its end.

    Attributes:
        stop: the variable that tells whether it has ended.
        has_turns: whether variables that its first turn binds are used as if they were bound before.
    """

    stop: str
    has_turns: bool


class LoopExits:
    """Rewrites the exits of the loops of one function.

    Args:
        looks_at_data: whether recordings had a guard in an expression.
        may_merge: whether the branch or loop at a place may be merged.
        is_range: whether an expression is a call of the built-in `range` with one argument or two.
        is_long: whether one turn of a loop is recorded in place of them all, so that it has to be known how many there are.

    Attributes:
        stopped: the `for` loops that go on after their end.
        made: the statements that are refused as a whole: the bodies of those, and loops over a range as a `while`.
        counters: of loops over a range that became a `while`, by the place of that: the place of the `for`, and what counts its turns.
    """

    def __init__(
        self, looks_at_data: Callable[[ast.expr], bool], may_merge: Callable[[Place], bool], is_range: Callable[[ast.expr], bool],
        is_long: Callable[[ast.For], bool],
    ) -> None:  # fmt: skip
        self._looks_at_data, self._may_merge, self._is_range, self._is_long = looks_at_data, may_merge, is_range, is_long
        self.stopped: dict[ast.For, Stopped] = {}
        self.made: set[ast.stmt] = set()
        self.counters: dict[Place, tuple[Place, str]] = {}
        self._count = 0

    def of_function(self, body: Sequence[ast.stmt], arguments: Names) -> list[ast.stmt]:
        """The body of a function, with its loops rewritten."""
        if not any(isinstance(n, EXITS) or isinstance(n, ast.Return) for statement in body for n in walk(statement)):
            return list(body)
        self._bound = Binding(body, arguments).before
        made = _each_loop(body, self._returns, None)
        self._bound, self._live = Binding(made, arguments).before, Liveness(made).after
        self._shared = frozenset[str]().union(*(reads(n) for statement in made for n in walk(statement) if isinstance(n, _SEE_ANY_VALUE)))
        return _each_loop(made, self._jumps, None)

    def _new(self, name: str) -> str:
        self._count += 1
        return f".{name}.{self._count}"

    def _deciding(self, node: Loop, kinds: tuple[type[ast.stmt], ...]) -> ast.expr | None:
        """The first condition on data that decides on a jump out of a turn; None if there is none."""
        pending: list[ast.stmt] = list(reversed(node.body))
        while pending:
            statement = pending.pop()
            if isinstance(statement, ast.If) and has_jump([statement], kinds):
                if self._looks_at_data(statement.test):
                    return statement.test
                pending += reversed([*statement.body, *statement.orelse])
        return None

    def _returns(self, node: Loop, outer: Loop | None) -> list[ast.stmt]:
        """A loop that breaks where it returned, and the returns after it."""
        test = self._deciding(node, (ast.Return,))
        is_long = isinstance(node, ast.For) and self._is_long(node)
        if test is None or not (is_long or self._may_merge(_where(node))):
            return [node]
        targets = surely_assigned(node.target) if isinstance(node, ast.For) else NONE
        made = Returns(test, (assigned(node.body) | targets) - (self._bound.get(node) or NONE), self._new, targets if is_long else NONE)
        try:
            node.body = made.block(node.body)
        except Elsewhere:
            return [node]
        after = list[ast.stmt]()
        if isinstance(node, ast.For) and is_long:
            after += [_as_counted(node, to) for name, to in made.kept if name in _counter(node)]
        return [*made.before, node, *after, *made.after]

    def _jumps(self, node: Loop, outer: Loop | None) -> list[ast.stmt]:
        """A loop without jumps, where data decides on them."""
        if not has_jump(node.body, EXITS) or has_jump(node.body, (ast.Return,)):
            return [node]
        test = self._deciding(node, (ast.Break,))
        if test is None and isinstance(node, ast.While) and has_jump(node.body, (ast.Break,)) and self._looks_at_data(node.test):
            test = node.test
        try:
            if test is not None and isinstance(node, ast.For) and self._is_long(node):
                return self._for(node, test)
            if test is None:
                return self._continued(node)
            if isinstance(node, ast.While):
                return self._while(node, test)
            is_apart = outer is not None and not _needs_turn_before(outer, node)
            if not is_apart and self._is_range(node.iter) and self._may_merge(_where(node.target)):
                return self._counted(node, test)
            return self._for(node, test) if self._may_merge(_where(node)) else self._continued(node)
        except Elsewhere:
            return [node]

    def _continued(self, node: Loop) -> list[ast.stmt]:
        test = self._deciding(node, (ast.Continue,))
        if test is not None and not has_jump(node.body, (ast.Break,)):
            node.body = self._lowered("", node, test)
        return [node]

    def _while(self, node: ast.While, test: ast.expr) -> list[ast.stmt]:
        """A loop that asks a variable whether to go on."""
        stop, first = self._new("stop"), list[ast.stmt]()
        if isinstance(node.test, ast.Constant) and node.test.value and self._may_merge(_where(node)):
            first = self._first_bound(node)
        if first:
            self.made.add(node)
        node.body = self._lowered(stop, node, test)
        node.test = near(ast.copy_location(ast.BoolOp(ast.And(), [negation([stop], test), node.test]), test), test)
        return [*first, assign(stop, ast.Constant(False), node), node, *_otherwise(node, stop, test)]

    def _for(self, node: ast.For, test: ast.expr) -> list[ast.stmt]:
        """A loop that goes over all its values, and does nothing with those after its end."""
        if self._is_long(node):
            return self._long_for(node, test)
        stop, first = self._new("stop"), self._first_bound(node)
        body = self._lowered(stop, node, test)
        items = {name: self._new(name) for name in sorted(surely_assigned(node.target) & self._live[node])}
        for part in walk(node.target):
            if isinstance(part, ast.Name) and part.id in items:
                part.id = items[part.id]
        starts = [assign(name, load(item), node) for name, item in items.items()]
        self._masked(node, stop, test, [*starts, *body])
        self.stopped[node] = Stopped(stop, bool(first))
        return [*first, assign(stop, ast.Constant(False), node), node, *_otherwise(node, stop, test)]

    def _masked(self, node: ast.For, stop: str, test: ast.expr, body: list[ast.stmt]) -> None:
        """Let a loop do nothing after its end."""
        only = branch(negation([stop], test), body, [], node)
        node.body = [only]
        self.made.add(only)

    def _long_for(self, node: ast.For, test: ast.expr) -> list[ast.stmt]:
        """The same of a loop of which one turn is recorded: all turns are computed, so it is to be seen how many count."""
        stop, turns, first = self._new("stop"), self._new("turns"), self._first_bound(node)
        # These may be indices in a turn, and are data behind the loop.
        items = {name: self._new(name) for name in sorted(surely_assigned(node.target) & self._live[node])}
        before = [*first, assign(stop, ast.Constant(False), node), assign(turns, ast.Constant(0.0), node)]
        before += [assign(item, placeholder(), node) for item in items.values()]
        starts = [assign(item, call("as_data", [load(name)], node), node) for name, item in items.items()]
        starts.append(assign(turns, ast.BinOp(load(turns), ast.Add(), ast.Constant(1.0)), node))
        if self._may_merge(_where(node)):
            self._masked(node, stop, test, [*starts, *self._lowered(stop, node, test)])
        else:
            # What cannot be chosen statement by statement may still be chosen as a whole.
            bound = (self._bound.get(node) or NONE) | assigned(first)
            carried = (self._live[node] | read_first(node.body)) & bound | {stop, turns, *items.values()}
            node.body = whole_turn(node.body, starts, stop, carried, self._new, node)
        self.stopped[node] = Stopped(stop, bool(first))
        after: list[ast.stmt] = [assign(name, load(item), node) for name, item in items.items()]
        after.append(near(ast.Expr(call("check_turns", [place(node, LONG), load(turns)], node)), node))
        for name, end in _taken_ends(node):
            if name not in items:
                continue  # nothing reads it
            after.append(assign(name, call("at_end", [place(node, LONG), load(stop), load(name), load(end)], node), node))
        after += [_as_counted(node, name) for name in sorted(items.keys() & _counter(node))]
        return [*before, node, *after, *_otherwise(node, stop, test)]

    def _counted(self, node: ast.For, test: ast.expr) -> list[ast.stmt]:
        """A `for` over a range as a `while`."""
        stop, step, limit, start = map(self._new, ("stop", "step", "limit", "start"))
        first = self._first_bound(node)
        body = self._lowered(stop, node, test)
        assert isinstance(node.iter, ast.Call)
        assert isinstance(node.target, ast.Name)
        at, args, value = node.target, node.iter.args, load(step)
        before = [*first, assign(stop, ast.Constant(False), at), assign(step, ast.Constant(0), at)]
        if len(args) == 2:
            before.append(assign(start, args[0], at))
            args[0], value = near(load(start), at), ast.BinOp(load(start), ast.Add(), load(step))
        before.append(assign(limit, call("turns", [place(at), node.iter, ast.Constant(bool(first))], at), at))
        turn = [assign(node.target.id, value, at), assign(step, ast.BinOp(load(step), ast.Add(), ast.Constant(1)), at), *body]
        is_within = ast.Compare(load(step), [ast.Lt()], [load(limit)])
        goes_on = near(ast.copy_location(ast.BoolOp(ast.And(), [negation([stop], test), is_within]), test), test)
        made = ast.copy_location(ast.While(goes_on, turn, []), at)
        self.made.add(made)
        self.counters[_where(at)] = _where(node), step
        return [*before, made, *_otherwise(node, stop, test)]

    def _lowered(self, stop: str, node: Loop, test: ast.expr) -> list[ast.stmt]:
        """A turn without jumps."""
        targets = surely_assigned(node.target) if isinstance(node, ast.For) else NONE
        bound = (self._bound.get(node) or NONE) | targets
        asked_for = (self._live[node] | read_first(node.body) | self._shared) - bound
        return Lowered(stop, self._new, test, bound, asked_for).turn(node.body)

    def _first_bound(self, node: Loop) -> list[ast.stmt]:
        """Values for variables that are used after a loop and have none before it, but surely after its first turn.

        They are never used: loops without turns are refused at run time.
        """
        prefix: list[ast.stmt] = []
        for statement in node.body:
            if has_jump([statement], EXITS):
                break
            prefix.append(statement)
        targets = surely_assigned(node.target) if isinstance(node, ast.For) else NONE
        found = (targets | (bound_by(prefix) or NONE)) & self._live[node]
        found -= (self._bound.get(node) or NONE) | (read_first(node.body) - targets)
        return [assign(name, placeholder(), node) for name in sorted(found)]


def _taken_ends(node: ast.For) -> list[tuple[str, str]]:
    """The variables that count the turns of a loop, with what they are where no exit has been taken, out of its `else`."""
    found: list[tuple[str, str]] = []
    while node.orelse and isinstance(first := node.orelse[0], ast.Assign):
        target, value = first.targets[0], first.value
        if not (isinstance(target, ast.Name) and isinstance(value, ast.Name) and value.id.startswith(END)):
            break
        found.append((target.id, value.id))
        node.orelse = node.orelse[1:]
    return found


def _counter(node: ast.For) -> Names:
    """The variable that counts the turns of a loop, if one does."""
    counter = node.target.elts[0] if isinstance(node.target, ast.Tuple) and node.target.elts else node.target
    return frozenset([counter.id]) if isinstance(counter, ast.Name) else NONE


def _as_counted(node: ast.For, name: str) -> ast.stmt:
    """Lets what a loop has handed on of the variable that counts its turns be a whole number."""
    return assign(name, call("as_counted", [place(node, LONG), load(name)], node), node)


def tells_of_exits(name: str) -> bool:
    """Whether a variable tells whether loops have ended, and when, which only data decides on."""
    return name.startswith((".stop.", ".skip.", ".returned.", ".turns."))


# What may read a variable at another time than it stands there for.
_SEE_ANY_VALUE = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.GeneratorExp, ast.ClassDef, ast.Try)


def _where(node: ast.stmt | ast.expr) -> Place:
    return node.lineno, node.col_offset


def _otherwise(node: Loop, stop: str, test: ast.expr) -> list[ast.stmt]:
    """The `else` of a loop, after it."""
    orelse, node.orelse = node.orelse, []
    return [branch(negation([stop], test), orelse, [], orelse[0])] if orelse else []


def _needs_turn_before(outer: Loop, inner: Loop) -> bool:
    """Whether a loop inside another one uses what the turn before has made. Where it does not, the turns of the outer loop take their
    steps together, which they can only if all have the same number of them."""
    if isinstance(outer, ast.While):
        return True
    nodes = walk(outer)
    statements = [n for n in nodes if isinstance(n, ast.stmt) and n is not outer]
    carried = read_first(outer.body) & assigned(outer.body) - surely_assigned(outer.target)
    known, before = carried - _sums(nodes), NONE
    while known != before:
        before = known
        for statement in statements:
            part = statement.iter if isinstance(statement, ast.For) else getattr(statement, "test", statement)
            if reads(part) & known:
                known |= assigned([statement])
    return bool(reads(inner) & known)


def _sums(nodes: Sequence[ast.AST]) -> Names:
    """The variables that are used for nothing but to add to them."""
    uses, additions = Counter[str](), Counter[str]()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            uses[node.id] += 1
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            uses[node.target.id] += 1
            additions[node.target.id] += isinstance(node.op, (ast.Add, ast.Sub))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, (ast.Add, ast.Sub)):
            left = node.value.left
            if isinstance(left, ast.Name) and assigned([node]) == {left.id}:
                additions[left.id] += 1
    return frozenset(name for name, count in uses.items() if count == additions[name])


def _each_loop(
    body: Sequence[ast.stmt], rewrite: Callable[[Loop, Loop | None], list[ast.stmt]], outer: Loop | None
) -> list[ast.stmt]:
    """Statements with their loops rewritten, from the innermost outwards; those of functions inside are left alone."""
    made: list[ast.stmt] = []
    for statement in body:
        around = statement if isinstance(statement, (ast.For, ast.While)) else outer
        for block in blocks_of(statement):
            block[:] = _each_loop(block, rewrite, around)
        made += rewrite(statement, outer) if isinstance(statement, (ast.For, ast.While)) else [statement]
    return made
