"""One `if` as straight-line code: the test, both sides on variables of their own, and a choice for each variable."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass, field

from .expressions import Simple
from .facts import Facts
from .nodes import assign, call, flags, load, near, place
from .rules import Broken
from .variables import Names, assigned


class Select:
    """One `if` as straight-line code."""

    def __init__(self, facts: Facts, node: ast.If, simple: Simple | None = None) -> None:
        self._facts, self._node = facts, node
        self._simple = simple or Simple(facts, node)
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
            assign(test, self._simple.test(_renamed(node.test, renamed)), node),
        ]
        sides: list[_Side] = []
        for suffix, body in (("yes", node.body), ("no", node.orelse)):
            side = _Side(dict(renamed), {}, f".{suffix}{number}")
            made += self._side(body, side)
            sides.append(side)
        names = sorted(wanted)
        for name in names:
            use = self._facts.use_of(frozenset([name]))
            before = renamed.get(name, name)
            values = [load(side.names.get(name, name)) for side in sides]
            arguments = [load(mark), place(self._site), load(test), *values, flags(use)]
            operator, operands = _last_operator([side.last.get(name) for side in sides], [v.id == before for v in values])
            if operator:
                arguments += [ast.Constant(operator), load(before), *operands]
            chosen = call("choose_last" if operator else "choose", arguments, node)
            made.append(assign(f"{name}.chosen{number}", chosen, node))
        for name in names:
            target = renamed.get(name, name)
            made.append(assign(target, load(f"{name}.chosen{number}"), node))
        if not names:
            made.append(near(ast.Expr(call("end", [load(mark), place(self._site)], node)), node))
        return made

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
        for name in sorted(assigned([statement])):
            own = name + side.suffix
            side.last.pop(name, None)
            if names.get(name) != own:
                if name in names or name in (self._facts.bound.get(statement) or ()):
                    made.append(assign(own, load(names.get(name, name)), statement))
                names[name] = own
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
            temporary = f".new{self._facts.number()}"
            last = self._split(target.id, part, side, computed)
            part = last[0] if last is not None else self._simple.expression(_renamed(part, side.names))
            computed.append(assign(temporary, part, statement))
            moved.append(assign(target.id + side.suffix, load(temporary), statement))
            new[target.id] = target.id + side.suffix
            side.last.pop(target.id, None)
            if last is not None and target.id not in side.names_assigned:
                side.last[target.id] = last[1:]
            side.names_assigned.add(target.id)
        side.names.update(new)
        return computed + moved

    def _split(self, name: str, value: ast.expr, side: _Side, computed: list[ast.stmt]) -> tuple[ast.expr, str, str] | None:
        """Of `name op operand`: the value, the operator, and the variable that holds the operand. None of anything else."""
        sign = _SIGNS.get(type(value.op)) if isinstance(value, ast.BinOp) else None
        if not isinstance(value, ast.BinOp) or sign is None:
            return None
        if not isinstance(value.left, ast.Name) or value.left.id != name:
            return None
        operand = f".operand{self._facts.number()}"
        computed.append(assign(operand, self._simple.expression(_renamed(value.right, side.names)), value))
        left = self._simple.expression(_renamed(value.left, side.names))
        made = near(ast.copy_location(ast.BinOp(left, value.op, load(operand)), value), value)
        return made, sign, operand


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


@dataclass
class _Side:
    """One side of a branch while it is rewritten.

    Attributes:
        names: for variables, those that hold their values on this side now.
        last: for variables that were assigned once, as `name op operand`: the operator, and the variable of the operand.
    """

    names: dict[str, str]
    last: dict[str, tuple[str, str]]
    suffix: str
    names_assigned: set[str] = field(default_factory=set)


_SIGNS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}

# base op neutral is base, to the bit.
_NEUTRAL = {"+": -0.0, "-": 0.0, "*": 1.0}


def _last_operator(lasts: Sequence[tuple[str, str] | None], unchanged: Sequence[bool]) -> tuple[str, list[ast.expr]]:
    """The operator that both sides end with, on the value before the branch, and its operands; "" if there is none."""
    operators = {last[0] for last in lasts if last is not None}
    if len(operators) != 1 or any(last is None and not same for last, same in zip(lasts, unchanged)):
        return "", []
    (operator,) = operators
    return operator, [ast.Constant(_NEUTRAL[operator]) if last is None else load(last[1]) for last in lasts]


_JUMPS = (ast.Return, ast.Break, ast.Continue, ast.Raise)


def _renamed(node: ast.expr, names: dict[str, str]) -> ast.expr:
    node = copy.deepcopy(node)
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in names:
            part.id = names[part.id]
    return node
