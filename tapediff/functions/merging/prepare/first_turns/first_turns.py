"""Long loops whose first turn is another one than the rest: it is recorded by itself before them.

```
                                       t = first number of range(n); last = y[t]
for t in range(n):                     for t in range(1, n):
    if t > 0: s += f(last, y[t])           s += f(last, y[t])
    last = y[t]                            last = y[t]
```
So variables that the first turn binds, or that get another kind of value in it, have one before the loop; and what asks for the first
turn, by its number, by a flag, or by what is None or empty until then, is known in both. It is done where a loop was refused as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ...nodes import Transformer, assign, branch, call, copied, load, near, place, walk, whole_number
from ...rules import FIRST_TURN, KINDS, Breach, Known, Without
from ...variables import (
    NONE,
    Binding,
    Liveness,
    Names,
    assigned,
    blocks_of,
    each_assigned,
    read_first,
    reads,
    surely_assigned,
)
from ..containers.growing.growing_lists import appended_to
from ..exits.jumps import EXITS, Elsewhere, Lowered, has_jump
from ..long_loops.other_forms.reversed_ranges import downwards
from ..long_loops.peeled import MOST_NODES, at_line, is_known
from .first_numbers import Counter, counter_of, outcome
from .known_tests import NOT_NONE, Facts, KnownTests, Length, asked_for_none, fact_of, is_none


def with_first_turns(
    facts: Known, body: list[ast.stmt], is_apart: Callable[[ast.For, int], bool], is_length: Callable[[ast.Call], bool], line: int,
    arguments: Names,
) -> None:  # fmt: skip
    """Takes the first turns out of long loops, in place.

    Args:
        is_apart: whether a loop is long, and was refused as it is, without so many turns.
        is_length: whether a call is len(variable).
        line: that looks at no data.
        arguments: of the function.
    """
    blocks = [body]
    for block in blocks:
        blocks += [inner for node in block for inner in blocks_of(node)]
    if not any(isinstance(node, ast.For) and is_apart(node, 0) for block in blocks for node in block):
        return
    bound, after = Binding(body, arguments).before, Liveness(body).after
    # Those inside first.
    for block in reversed(blocks):
        made: list[ast.stmt] = []
        for node in block:
            made.append(node)
            before, counter = bound.get(node) or NONE, None
            for depth in range(MOST_TURNS):
                loop = made[-1]
                if not isinstance(loop, ast.For) or not is_apart(loop, depth):
                    break
                turn = _FirstTurn(facts, loop, is_length, line, before, after[node], counter)
                new = turn.statements(made[:-1])
                made[-1:] = new
                if len(new) == 1:
                    # It is one of the other loops again.
                    got = Breach("bound", loop.lineno, "nothing asks for its first turn")
                    raise Without((loop.lineno, loop.col_offset, FIRST_TURN), got)
                before, counter = Binding(new, before).before[new[-1]] or NONE, turn.following
        block[:] = made


# Tests in branches of branches are followed so far.
DEEPEST = 40

# So many turns are taken out, one after the other, each where the loop was refused with it.
MOST_TURNS = 2


def after_first(node: ast.For) -> ast.For:
    """The loop over the rest: it stands elsewhere, so that it may be refused by itself."""
    made = copied(node)
    made.col_offset += 1
    return made


class _FirstTurn:
    """One loop."""

    def __init__(
        self, facts: Known, node: ast.For, is_length: Callable[[ast.Call], bool], line: int, bound: Names, after: Names,
        counter: Counter | None,
    ) -> None:  # fmt: skip
        self._facts, self._node, self._is_length, self._line, self._bound, self._after = facts, node, is_length, line, bound, after
        self._values = downwards(facts, node.iter) or node.iter
        self._number = facts.number()
        # What counts the turns, where that is known, here and behind this turn.
        self._given, self.following = counter, counter
        self._names = 0
        self._before: list[ast.stmt] = []

    def statements(self, before: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The first turn and the loop; the loop alone where nothing asks for that. `before`: the statements before it."""
        facts, node = self._facts, self._node
        if len(walk(node)) > MOST_NODES or _is_deep(node) or not self._is_simple(node):
            return [node]
        self._assigned = assigned(node.body)
        counter = self._given or counter_of(facts, node.target, self._values, before)
        if counter is not None and counter.name in self._assigned:
            counter = None
        if counter is not None and isinstance(counter.first, int):
            self.following = counter._replace(first=counter.first + counter.step)
        rest = after_first(node)
        first, values = self._split(copied(self._values))
        rest.iter = near(values, node)
        try:
            first_body, stop = self._without_jumps(copied(node).body, counter)
            if not stop and has_jump(node.body, (ast.Continue,)):
                rest.body, _ = self._without_jumps(rest.body, counter)
        except Elsewhere:
            return [node]
        known = self._known_before(before)
        tests = KnownTests(lambda test: outcome(test, counter, True, self._assigned), self._is_length)
        first_body = tests.statements(first_body, known)
        count = tests.count
        rest_count, checks = self._rest(rest, counter, known)
        binds = ((read_first(node.body) - surely_assigned(node.target)) | self._after) & self._assigned - self._bound
        if not (count or rest_count or binds or self._may_change_kinds()):
            return [node]
        if counter is not None:
            _Plain(counter.name, self._assigned, self._line).all(first_body)
        target = near(ast.Assign([copied(node.target)], first), node.target)
        stopped: list[ast.stmt] = []
        if stop:
            stopped = [assign(stop, ast.Constant(False), node)]
            test = next(part.test for part in walk(node) if isinstance(part, ast.If) and has_jump([part], EXITS))
            asked = ast.copy_location(load(stop), test)
            rest.body.insert(0, branch(asked, [ast.copy_location(ast.Break(), node)], [], node))
        return [*self._before, *stopped, target, *first_body, *checks, rest]

    def _is_simple(self, node: ast.For) -> bool:
        """Whether a loop goes over values that its turns cannot change."""
        changed = {part.value.id for part in walk(node) if _is_stored(part)}  # type: ignore[attr-defined]
        changed |= {name for part in walk(node) if (name := appended_to(part)) is not None}
        parts = walk(node.iter)
        jumps = isinstance(node.iter, ast.Starred) or any(isinstance(part, (ast.NamedExpr, ast.Yield, ast.Await)) for part in parts)
        return not jumps and changed.isdisjoint(reads(node.iter)) and not any(isinstance(part, _FUNCTIONS) for part in walk(node))

    def _may_change_kinds(self) -> bool:
        return self._facts.may_merge((self._node.lineno, self._node.col_offset, KINDS))

    def _without_jumps(self, body: list[ast.stmt], counter: Counter | None) -> tuple[list[ast.stmt], str]:
        """The statements of a turn without `break` and `continue`, and the variable that tells whether it has left the loop."""
        if not has_jump(body, EXITS):
            return body, ""
        stop = f".stop.first{self._number}" if has_jump(body, (ast.Break,)) else ""
        test = next((part.test for s in body for part in walk(s) if isinstance(part, ast.If) and has_jump([part], EXITS)), None)
        if test is None:
            raise Elsewhere
        bound = self._bound | surely_assigned(self._node.target)
        asked_for = (self._after | read_first(body)) - bound
        self._names += 1
        names = f"first{self._number}.{self._names}"
        return Lowered(stop, lambda name: f".{name}.{names}", test, bound, asked_for).turn(body), stop

    # What it goes over

    def _new(self, value: ast.expr) -> ast.Name:
        """A variable with a value."""
        self._names += 1
        name = f".over{self._number}.first{self._names}"
        self._before.append(assign(name, value, self._node))
        return near(load(name), self._node)

    def _split(self, values: ast.expr) -> tuple[ast.expr, ast.expr]:
        """The first of some values, and the rest of them."""
        facts, at = self._facts, place(self._node, FIRST_TURN)
        if isinstance(values, ast.Call) and not values.keywords and not any(isinstance(arg, ast.Starred) for arg in values.args):
            if facts.is_builtin(values, range) and 1 <= len(values.args) <= 3:
                whole = self._new(values)
                step = values.args[2] if len(values.args) == 3 else None
                ends = self._new(call("range_after_first", [at, whole], self._node))
                bounds = [ast.Subscript(load(ends.id), ast.Constant(k), ast.Load()) for k in (1, 2)]
                last: list[ast.expr] = [] if step is None else [step if whole_number(step) is not None else self._new(self._of(ends, 3))]
                rest = [self._new(bound) for bound in bounds]
                return self._of(ends, 0), self._like(values, [*rest, *map(copied, last)])
            if facts.is_builtin(values, enumerate) and 1 <= len(values.args) <= 2:
                first, rest_of = self._split(values.args[0])
                start: ast.expr = ast.Constant(0)
                if len(values.args) == 2:
                    start = values.args[1] if whole_number(values.args[1]) is not None else self._new(values.args[1])
                known = whole_number(start)
                following: ast.expr = ast.BinOp(copied(start), ast.Add(), ast.Constant(1)) if known is None else ast.Constant(known + 1)
                return ast.Tuple([copied(start), first], ast.Load()), self._like(values, [rest_of, following])
            if facts.is_builtin(values, zip) and values.args:
                parts = [self._split(part) for part in values.args]
                return ast.Tuple([part for part, _ in parts], ast.Load()), self._like(values, [part for _, part in parts])
        whole = self._new(values)
        ends = self._new(call("values_after_first", [at, whole], self._node))
        return self._of(ends, 0), self._new(self._of(ends, 1))

    def _of(self, name: ast.Name, k: int) -> ast.expr:
        return near(ast.Subscript(load(name.id), ast.Constant(k), ast.Load()), self._node)

    def _like(self, values: ast.Call, args: Sequence[ast.expr]) -> ast.expr:
        return near(ast.copy_location(ast.Call(copied(values.func), list(args), []), values), values)

    # What is known

    def _known_before(self, before: Sequence[ast.stmt]) -> Facts:
        """What is known before the loop of variables that its turns change, by the statements before it."""
        found: Facts = {}
        lists = {name for part in walk(self._node) if (name := appended_to(part)) is not None and self._is_only_appended(name)}
        wanted = {name for name in self._assigned | lists if self._facts.is_own(name)}
        for statement in reversed(before):
            values = each_assigned(statement.targets, statement.value) if isinstance(statement, ast.Assign) else []
            for target, value in values:
                if isinstance(target, ast.Name) and target.id in wanted and (fact := fact_of(value)) != "":
                    found[target.id] = NOT_NONE if isinstance(fact, Length) and target.id not in lists else fact
            wanted -= assigned([statement]) | {name for name in lists if name in reads(statement)}
            if not wanted:
                break
        return found

    def _is_only_appended(self, name: str) -> bool:
        """Whether turns do nothing with a list but append to it, read entries, and ask for its length."""
        parts = [part for statement in self._node.body for part in walk(statement)]
        fine: set[ast.AST] = set()
        for part in parts:
            if isinstance(part, ast.Expr) and appended_to(part) == name:
                fine.add(part.value.func.value)  # type: ignore[attr-defined]  # a call of a method
            if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Load):
                fine.add(part.value)
            if isinstance(part, ast.Call) and self._is_length(part):
                fine.update(part.args)
            if isinstance(part, (ast.If, ast.IfExp)):
                fine.update(part.test.values if isinstance(part.test, ast.BoolOp) else [part.test])
            if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
                fine.add(part.operand)
        return all(part in fine for part in parts if isinstance(part, ast.Name) and part.id == name)

    def _rest(self, rest: ast.For, counter: Counter | None, known: Facts) -> tuple[int, list[ast.stmt]]:
        """Leave out of the other turns what is known there, with the statements before them that check it; how many tests that were.

        Args:
            known: behind the first turn.
        """
        values: dict[str, list[ast.expr]] = {}
        for part in [part for statement in rest.body for part in walk(statement)]:
            if isinstance(part, ast.Assign):
                for target, value in each_assigned(part.targets, part.value):
                    for name in assigned([target]):
                        values.setdefault(name, []).append(value)
        flags = {name for name in values if _is_only_bound_by(rest.body, name, (ast.Assign,))}
        always: Facts = {name: known[name] for name in flags if type(known.get(name)) is bool and _are(values[name], known[name])}
        # From turn to turn they only become longer.
        at_least: Facts = {name: Length(fact.least, False) for name, fact in known.items() if isinstance(fact, Length)}
        there = {name for name in asked_for_none(rest) if name in values and self._facts.is_own(name)}
        there -= {name for name in there if any(map(is_none, values[name]))}
        there = {name for name in there if _is_only_bound_by(rest.body, name, (ast.Assign, ast.AugAssign))}
        of_turn = lambda test: outcome(test, counter, False, self._assigned)  # noqa: E731 -- its name is its use
        tests = KnownTests(of_turn, self._is_length, always)
        rest.body = tests.statements(rest.body, always | at_least | dict.fromkeys(there, NOT_NONE)) or [near(ast.Pass(), rest)]
        checks: list[ast.stmt] = []
        for name in sorted(there):
            if known.get(name) != NOT_NONE:
                checks.append(self._there(name))
            if not self._is_never_none(name, rest.body):
                rest.body.append(self._there(name))
        return tests.count, checks

    def _there(self, name: str) -> ast.stmt:
        return at_line(assign(name, call("there", [place(self._node, FIRST_TURN), load(name)], self._node), self._node), self._line)

    def _is_never_none(self, name: str, body: Sequence[ast.stmt]) -> bool:
        """Whether no assignment in a turn gives None to a variable."""
        for part in [part for statement in body for part in walk(statement)]:
            for target, value in each_assigned(part.targets, part.value) if isinstance(part, ast.Assign) else []:
                is_library = isinstance(value, ast.Call) and self._facts.is_library(value.func)
                is_there = isinstance(target, ast.Name) and (is_library or fact_of(value) == NOT_NONE)
                if name in assigned([target]) and not is_there:
                    return False
        return True


_FUNCTIONS = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)


def _is_deep(node: ast.For) -> bool:
    """Whether its branches are nested so deeply that they are not followed."""
    level: list[ast.stmt] = [node]
    for _ in range(DEEPEST):
        level = [inner for statement in level for block in blocks_of(statement) for inner in block]
    return bool(level)


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and not isinstance(node.ctx, ast.Load)


def _are(values: Sequence[ast.expr], fact: object) -> bool:
    return all(isinstance(value, ast.Constant) and value.value is fact for value in values)


def _is_only_bound_by(body: Sequence[ast.stmt], name: str, kinds: tuple[type[ast.stmt], ...]) -> bool:
    """Whether statements bind a variable in assignments of some kinds only: not in a loop, `with` or another statement."""
    parts = [part for statement in body for part in walk(statement)]
    targets = [target for a in parts if isinstance(a, kinds) for target in getattr(a, "targets", None) or [a.target]]  # type: ignore[attr-defined]
    plain = {part for target in targets for part in walk(target)}
    return all(part in plain for part in parts if isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load))


class _Plain(Transformer):
    """Tests of the number of the first turn, which look at no data."""

    def __init__(self, counter: str, bound: Names, line: int) -> None:
        self._counter, self._bound, self._line = counter, bound - {counter}, line

    def all(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.visit(statement)

    def _visit(self, node: ast.If | ast.IfExp | ast.While) -> ast.AST:
        if self._counter in reads(node.test) and is_known(node.test, self._bound):
            at_line(node.test, self._line)
        return self.generic_visit(node)

    visit_If = visit_IfExp = visit_While = _visit
