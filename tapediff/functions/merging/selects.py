"""One `if` as straight-line code: the test, both sides on variables of their own, and a choice for each variable."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from .expressions import Simple
from .facts import Facts
from .nodes import assign, call, copied, is_call_of_run_time, load, near, place, placeholder, walk
from .rules import Broken
from .uses.contexts import flags
from .variables import NONE, Names


class Select:
    """One `if` as straight-line code."""

    def __init__(self, facts: Facts, node: ast.If, simple: Simple | None = None) -> None:
        self._facts, self._node = facts, node
        self._simple = simple or Simple(facts, node)
        self._test = self._simple.reached if simple is None else self._simple.test
        self._site = node if simple is None else simple.site

    def statements(self) -> list[ast.stmt]:
        """The test, both sides on variables of their own, and the choice."""
        node = self._node
        wanted = self._facts.outcome(node)
        return self.parts(node, wanted, {})

    def parts(self, node: ast.If, wanted: Names, renamed: dict[str, str]) -> list[ast.stmt]:
        number = self._facts.number()
        mark, test = f".mark{number}", f".test{number}"
        made: list[ast.stmt] = [
            assign(mark, call("begin", [], node), node),
            assign(test, self._test(_renamed(node.test, renamed)), node),
        ]
        sides: list[_Side] = []
        computed: list[ast.stmt] = []
        may_fail = any(map(self._simple.may_fail, (*node.body, *node.orelse)))
        for suffix, body in (("yes", node.body), ("no", node.orelse)):
            side = _Side(dict(renamed), f".{suffix}{number}")
            if may_fail:
                entered = call("enter", [load(test)], node) if suffix == "yes" else call("turn", [], node)
                computed.append(near(ast.Expr(entered), node))
            computed += self._side(body, side)
            sides.append(side)
        if may_fail:
            computed.append(near(ast.Expr(call("leave", [], node)), node))
        names = sorted(wanted)
        choices: list[ast.stmt] = []
        unread: set[str] = set()
        for name in names:
            use = self._facts.use_of(frozenset([name]))
            before = renamed.get(name, name)
            values = [load(side.names.get(name, name)) for side in sides]
            arguments = [load(mark), place(self._site), load(test)]
            chains = [() if v.id == before else side.chains.get(name) for v, side in zip(values, sides)]
            steps = [] if self._is_read_besides(name) else _common_steps(*chains)
            if steps:
                operators = "".join(operator for operator, _, _ in steps)
                pairs = [ast.Tuple([yes, no], ast.Load()) for _, yes, no in steps]
                arguments += [flags(use), ast.Constant(operators), load(before), *pairs]
                unread |= {name + side.suffix for side in sides}
            else:
                arguments += [*values, flags(use)]
            chosen = call("choose_steps" if steps else "choose", arguments, node)
            choices.append(assign(f"{name}.chosen{number}", chosen, node))
        made += [*_without(computed, unread, choices), *choices]
        for name in names:
            target = renamed.get(name, name)
            made.append(assign(target, load(f"{name}.chosen{number}"), node))
            self._simple.known.discard(target)
        if not names:
            made.append(near(ast.Expr(call("end", [load(mark), place(self._site)], node)), node))
        return made

    def _is_read_besides(self, name: str) -> bool:
        """Whether a loop that goes on after its end reads a variable not only to add to it: choosing its values is then shorter."""
        if self._node not in self._facts.loops.made:
            return False
        used = [n for n in walk(self._node) if isinstance(n, ast.Name) and n.id == name]
        return sum(isinstance(self._facts.parent(n), ast.AugAssign) or isinstance(n.ctx, ast.Load) for n in used) > 1

    def _side(self, body: Sequence[ast.stmt], side: _Side) -> list[ast.stmt]:
        """The statements of a side, whose assignments go to variables of its own."""
        made: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, ast.Pass) or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                continue
            if isinstance(statement, ast.If):
                made += self._nested(statement, side)
                continue
            made += self._assignment(statement, side)
        return made

    def _nested(self, statement: ast.If, side: _Side) -> list[ast.stmt]:
        names = side.names
        wanted = self._facts.outcome(statement)
        made: list[ast.stmt] = []
        for name in sorted(self._facts.assigned_by(statement)):
            own = name + side.suffix
            side.chains[name] = None
            if names.get(name) != own:
                is_bound = name in names or name in (self._facts.bound.get(statement) or ())
                # What is bound in the branch first is never read before.
                made.append(assign(own, load(names.get(name, name)) if is_bound else placeholder(), statement))
                names[name] = own
                self._simple.known.discard(own)
        inner = Select(self._facts, statement, self._simple)
        return made + inner.parts(statement, wanted, names)

    def _assignment(self, statement: ast.stmt, side: _Side) -> list[ast.stmt]:
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            before = ast.copy_location(load(statement.target.id), statement)
            value: ast.expr = near(ast.copy_location(ast.BinOp(before, statement.op, statement.value), statement), statement)
            targets: list[ast.expr] = [statement.target]
        elif isinstance(statement, ast.Assign):
            value, targets = statement.value, statement.targets
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            value, targets = statement.value, [statement.target]
        else:
            raise Broken("assignments" if not isinstance(statement, _JUMPS) else "jumps", statement, ast.unparse(statement).split("\n")[0])
        pairs = _pairs(targets, value, statement)
        computed: list[ast.stmt] = []
        moved: list[ast.stmt] = []
        new = dict(side.names)
        for target, part in pairs:
            temporary, name = f".new{self._facts.number()}", target.id
            use = self._facts.use_of(frozenset([name]))
            self._simple.is_condition = use.as_condition
            before = side.chains.get(name, ())
            split = self._split(name, part, side, computed) if before is not None else None
            value, steps = split or (self._simple.expression(_renamed(part, side.names)), None)
            computed.append(assign(temporary, value, statement))
            moved.append(assign(name + side.suffix, load(temporary), statement))
            new[name] = name + side.suffix
            side.chains[name] = None if steps is None or before is None else (*before, *steps)
        side.names.update(new)
        self._simple.known.difference_update(new.values())
        return computed + moved

    def _split(self, name: str, value: ast.expr, side: _Side, computed: list[ast.stmt]) -> tuple[ast.expr, Steps] | None:
        """Of `name op operand op operand`: the value, and each operator with the variable of its operand. None of anything else."""
        found: list[ast.BinOp] = []
        while isinstance(value, ast.BinOp) and type(value.op) in _SIGNS:
            found.append(value)
            value = value.left
        if not found or not isinstance(value, ast.Name) or value.id != name:
            return None
        made, steps = self._simple.expression(_renamed(value, side.names)), []
        for part in reversed(found):
            operand = f".operand{self._facts.number()}"
            computed.append(assign(operand, self._simple.expression(_renamed(part.right, side.names)), part))
            made = near(ast.copy_location(ast.BinOp(made, part.op, load(operand)), part), part)
            steps.append((_SIGNS[type(part.op)], operand))
        return made, tuple(steps)


def _pairs(targets: Sequence[ast.expr], value: ast.expr, statement: ast.stmt) -> list[tuple[ast.Name, ast.expr]]:
    """The variables of an assignment, each with its value."""
    found: list[tuple[ast.Name, ast.expr]] = []
    for target in targets:
        both: list[tuple[ast.expr, ast.expr]] = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            both = list(zip(target.elts, value.elts))
        for name, part in both:
            if not isinstance(name, ast.Name):
                raise Broken("assignments", statement, f"it assigns to {ast.unparse(target)}")
            found.append((name, part))
    return found


# Operators, each with the variable of its right operand.
Steps: TypeAlias = tuple[tuple[str, str], ...]


@dataclass
class _Side:
    """One side of a branch while it is rewritten.

    Attributes:
        names: for variables, those that hold their values on this side now.
        chains: for variables that were assigned, the steps from their values before the branch; None if there are others than `op operand`.
    """

    names: dict[str, str]
    suffix: str
    chains: dict[str, Steps | None] = field(default_factory=dict)


_SIGNS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}


def _common_steps(yes: Steps | None, no: Steps | None) -> list[tuple[str, ast.expr, ast.expr]]:
    """The steps of both sides as one chain, with an operand for each side, None where it has no such step; [] if there is none.

    A chain of sums is a sum over the turns of a loop.
    """
    if yes is None or no is None or not (operators := {operator for operator, _ in (*yes, *no)}):
        return []
    if not (operators <= {"+", "-"} or operators == {"*"}) or max(len(yes), len(no)) > _MOST_STEPS:
        return []
    found: list[tuple[str, ast.expr, ast.expr]] = []
    first, second = list(yes), list(no)
    while first or second:
        operator = (first or second)[0][0]
        mine, other = (load(s.pop(0)[1]) if s and s[0][0] == operator else ast.Constant(None) for s in (first, second))
        found.append((operator, mine, other))
    return found


def _without(statements: Sequence[ast.stmt], names: set[str], after: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Assignments without those to some variables, and of what these are made of, where nothing reads them; what they check stays."""
    if not names:
        return [*statements]
    made: list[ast.stmt] = []
    read = NONE.union(*map(_read, after))
    for statement in reversed(statements):
        kept = [statement]
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if isinstance(target, ast.Name) and target.id in names and target.id not in read:
            assert isinstance(statement, ast.Assign)
            if isinstance(statement.value, ast.Name):
                names.add(statement.value.id)
                continue
            checks = [n for n in walk(statement.value) if isinstance(n, ast.Call) and is_call_of_run_time(n)]
            if all(isinstance(n.func, ast.Attribute) and n.func.attr == "number" for n in checks):
                kept = [near(ast.copy_location(ast.Expr(check), statement), statement) for check in checks]
        read = read.union(*map(_read, kept))
        made += kept[::-1]
    return made[::-1]


def _read(statement: ast.stmt) -> Names:
    return frozenset(n.id for n in walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


# Longer chains are computed on both sides.
_MOST_STEPS = 4

_JUMPS = (ast.Return, ast.Break, ast.Continue, ast.Raise)


def _renamed(node: ast.expr, names: dict[str, str]) -> ast.expr:
    node = copied(node)
    for part in walk(node):
        if isinstance(part, ast.Name) and part.id in names:
            part.id = names[part.id]
    return node
