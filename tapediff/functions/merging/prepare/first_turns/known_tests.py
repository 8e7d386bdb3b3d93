"""Tests of which it is known, where a statement stands, how they come out: of the number of the turn, of flags, of None, of empty lists.

```
first = True ...
if first or x > 0: a()       a()
else: b()
first = False                first = False
if k > 0: c()                (of the turn with k = 0)
```
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from ...nodes import ARITHMETIC, Transformer, branch, near, walk, whole_number
from ...rules import COMPARISONS
from ...variables import Names, assigned, each_assigned
from ..containers.growing.growing_lists import appended_to

NOT_NONE = "not None"


class Length(NamedTuple):
    """A list has so many entries, or at least so many."""

    least: int
    is_exact: bool

    def compared(self, op: ast.cmpop, other: int) -> bool | None:
        """A comparison of its length with a number; None if it is not known how that comes out."""
        compare = COMPARE.get(type(op))
        if compare is None or self.is_exact:
            return None if compare is None else compare(self.least, other)
        is_above = self.least > other or (self.least == other and isinstance(op, (ast.GtE, ast.Lt)))
        return compare(other + 1, other) if is_above else None


COMPARE: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip

# What is known of a variable: that it is True, False or None; that it is not None; that it is a list of some length.
Fact = bool | str | Length | None
Facts = dict[str, Fact]


class KnownTests:
    """Leaves out the tests that are known, and the sides that are not taken, in place.

    Args:
        of_turn: what is known of a comparison or variable by the number of the turn alone.
        is_length: whether a call is len(variable).
        fixed: variables of which no assignment changes what is known.

    Attributes:
        count: of the tests that were known.
    """

    def __init__(
        self, of_turn: Callable[[ast.expr], bool | None], is_length: Callable[[ast.Call], bool], fixed: Collection[str] = ()
    ) -> None:
        self._of_turn, self._is_length, self._fixed = of_turn, is_length, frozenset(fixed)
        self.count = 0

    def statements(self, body: Sequence[ast.stmt], known: Facts) -> list[ast.stmt]:
        """The statements that are left; `known` becomes what is known behind them."""
        made: list[ast.stmt] = []
        for statement in body:
            made += self._statement(statement, known)
        return made

    def _statement(self, node: ast.stmt, known: Facts) -> list[ast.stmt]:
        if isinstance(node, ast.If):
            return self._branch(node, known)
        if isinstance(node, _SIMPLE):
            _Expressions(self, known).visit(node)
        self._forget(assigned([node]), known)
        self._append(node, known)
        if isinstance(node, (ast.For, ast.While)):
            if isinstance(node, ast.For):
                node.iter = _Expressions(self, known).visit(node.iter)
            else:
                node.test = _Expressions(self, known).visit(node.test)
            node.body = self.statements(node.body, dict(known)) or [near(ast.Pass(), node)]
            node.orelse = self.statements(node.orelse, dict(known))
        if isinstance(node, ast.Assign):
            for target, value in each_assigned(node.targets, node.value):
                self._note(target, value, known)
        return [node]

    def _branch(self, node: ast.If, known: Facts) -> list[ast.stmt]:
        test = _Expressions(self, known).test(node.test)
        if type(test) is bool:
            self.count += 1
            return self.statements(node.body if test else node.orelse, known)
        node.test = test
        self._forget(assigned([test]), known)
        other = dict(known)
        body, orelse = self.statements(node.body, known), self.statements(node.orelse, other)
        for name in [name for name, fact in known.items() if name not in other or other[name] != fact]:
            del known[name]
        return [branch(test, body, orelse, node)]

    def _forget(self, names: Names, known: Facts) -> None:
        for name in names - self._fixed:
            known.pop(name, None)

    def _append(self, node: ast.stmt, known: Facts) -> None:
        """Note that lists become longer."""
        name = appended_to(node)
        fact = known.get(name or "")
        if isinstance(fact, Length):
            known[name or ""] = Length(fact.least + 1, fact.is_exact)
        elif not isinstance(node, ast.Expr):
            self._forget(frozenset(name for part in walk(node) if (name := appended_to(part)) is not None), known)

    def _note(self, target: ast.expr, value: ast.expr, known: Facts) -> None:
        if isinstance(target, ast.Name) and target.id not in self._fixed:
            fact = fact_of(value)
            if fact != "":
                known[target.id] = fact

    def outcome(self, node: ast.expr, known: Mapping[str, Fact]) -> bool | None:
        """How a test comes out that is no `and`, `or` or `not`; None if that is not known."""
        found = self._of_turn(node)
        if found is not None:
            return found
        if isinstance(node, ast.Name):
            fact = known.get(node.id, "")
            return fact.compared(ast.Gt(), 0) if isinstance(fact, Length) else _TRUTH.get(fact)
        if isinstance(node, ast.Call):
            length = self._length(node, known)
            return None if length is None else length.compared(ast.Gt(), 0)
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            return None
        op, left, right = node.ops[0], node.left, node.comparators[0]
        if isinstance(left, ast.Name) and isinstance(op, (ast.Is, ast.IsNot)) and isinstance(right, ast.Constant) and right.value is None:
            fact = known.get(left.id, "")
            return None if fact == "" else (fact is None) == isinstance(op, ast.Is)
        length, other = self._length(left, known), whole_number(right)
        return None if length is None or other is None else length.compared(op, other)

    def _length(self, node: ast.expr, known: Mapping[str, Fact]) -> Length | None:
        """What is known of len(variable); None of another expression."""
        if not isinstance(node, ast.Call) or not self._is_length(node) or not isinstance(node.args[0], ast.Name):
            return None
        fact = known.get(node.args[0].id)
        return fact if isinstance(fact, Length) else None


_TRUTH: dict[Fact, bool] = {True: True, False: False, None: False}

# What tests are made of that do nothing else.
_HARMLESS = (*ARITHMETIC, ast.Compare, *COMPARISONS, ast.BoolOp, ast.And, ast.Or, ast.Not)

# Statements of which the expressions are evaluated once.
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)


def fact_of(value: ast.expr) -> Fact:
    """What is known of a variable that gets the value of an expression; "" if nothing is."""
    if isinstance(value, ast.Constant):
        return value.value if value.value is None or isinstance(value.value, bool) else NOT_NONE
    if isinstance(value, ast.List):
        return Length(len(value.elts), True) if not any(isinstance(e, ast.Starred) for e in value.elts) else NOT_NONE
    return NOT_NONE if isinstance(value, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Tuple)) else ""


class _Expressions(Transformer):
    """Expressions without the tests that are known."""

    def __init__(self, tests: KnownTests, known: Mapping[str, Fact]) -> None:
        self._tests, self._known = tests, known

    def test(self, node: ast.expr) -> ast.expr | bool:
        """What is left of a test, or how it comes out."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            found = self.test(node.operand)
            if type(found) is bool:
                return not found
            node.operand = found
            return node
        if isinstance(node, ast.BoolOp):
            return self._joined(node)
        found = self._tests.outcome(node, self._known)
        return self.visit(node) if found is None else found

    def _joined(self, node: ast.BoolOp) -> ast.expr | bool:
        ends = isinstance(node.op, ast.Or)
        left: list[ast.expr] = []
        for value in node.values:
            found = self.test(value)
            if type(found) is not bool:
                left.append(found)
                continue
            self._tests.count += 1
            if found is ends:
                # What stands before it decides nothing, but may fail or have effects.
                if all(isinstance(part, _HARMLESS) for before in left for part in walk(before)):
                    return ends
                left.append(near(ast.copy_location(ast.Constant(ends), value), value))
                break
        if not left:
            return not ends
        node.values = left
        return left[0] if len(left) == 1 else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        test = self.test(node.test)
        if type(test) is bool:
            self._tests.count += 1
            return self.visit(node.body if test else node.orelse)
        node.test = test
        return self.generic_visit(node)

    def _left(self, node: ast.AST) -> ast.AST:
        # They have variables of their own.
        return node

    visit_Lambda = visit_GeneratorExp = visit_ListComp = visit_SetComp = visit_DictComp = _left


def asked_for_none(node: ast.AST) -> set[str]:
    """The variables of which something in a statement asks whether they are None."""
    parts = [part for part in walk(node) if isinstance(part, ast.Compare) and len(part.ops) == 1]
    return {
        part.left.id for part in parts
        if isinstance(part.left, ast.Name) and isinstance(part.ops[0], (ast.Is, ast.IsNot)) and is_none(part.comparators[0])
    }  # fmt: skip


def is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
