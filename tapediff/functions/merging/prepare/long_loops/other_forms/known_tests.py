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
from collections.abc import Callable, Collection, Mapping, Sequence

from ....nodes import ARITHMETIC, Transformer, branch, near, walk
from ....rules import COMPARISONS
from ....variables import Names, assigned, each_assigned, reads
from ...containers.growing_lists import appended_to

# What is known of a variable: that it is True, False or None; that it is not None; that it is a list which has entries, or has none.
NOT_NONE, FILLED, EMPTY = "not None", "filled", "empty"
Fact = bool | str | None
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
        self._used(node, known)
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
        self._used(test, known)
        other = dict(known)
        body, orelse = self.statements(node.body, known), self.statements(node.orelse, other)
        for name in [name for name, fact in known.items() if name not in other or other[name] is not fact]:
            del known[name]
        return [branch(test, body, orelse, node)]

    def _forget(self, names: Names, known: Facts) -> None:
        for name in names - self._fixed:
            known.pop(name, None)

    def _used(self, node: ast.AST, known: Facts) -> None:
        """What uses an empty list may put something into it."""
        for name in [name for name, fact in known.items() if fact == EMPTY and name in reads(node)]:
            if isinstance(node, ast.Expr) and appended_to(node) == name and name not in reads(node.value.args[0]):  # type: ignore[attr-defined]
                known[name] = FILLED
            else:
                del known[name]

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
            return _TRUTH.get(known.get(node.id, ""))
        if isinstance(node, ast.Call):
            return self._is_filled(node, known)
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            return None
        op, left, right = node.ops[0], node.left, node.comparators[0]
        if isinstance(left, ast.Name) and isinstance(op, (ast.Is, ast.IsNot)) and isinstance(right, ast.Constant) and right.value is None:
            is_none = {NOT_NONE: False, None: True, True: False, False: False}.get(known.get(left.id, ""))
            return None if is_none is None else is_none == isinstance(op, ast.Is)
        is_filled = self._is_filled(left, known)
        if is_filled is None or not isinstance(right, ast.Constant) or type(right.value) is not int or right.value:
            return None
        return is_filled if isinstance(op, (ast.Gt, ast.NotEq)) else not is_filled if isinstance(op, ast.Eq) else None

    def _is_filled(self, node: ast.expr, known: Mapping[str, Fact]) -> bool | None:
        """Whether len(variable) is of a list that has entries; None if that is not known, or it is another expression."""
        if not isinstance(node, ast.Call) or not self._is_length(node) or not isinstance(node.args[0], ast.Name):
            return None
        fact = known.get(node.args[0].id, "")
        return fact == FILLED if fact in (FILLED, EMPTY) else None


_TRUTH: dict[Fact, bool] = {True: True, False: False, None: False, FILLED: True, EMPTY: False}

# What tests are made of that do nothing else.
_HARMLESS = (*ARITHMETIC, ast.Compare, *COMPARISONS, ast.BoolOp, ast.And, ast.Or, ast.Not)

# Statements of which the expressions are evaluated once.
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)


def fact_of(value: ast.expr) -> Fact:
    """What is known of a variable that gets the value of an expression; "" if nothing is."""
    if isinstance(value, ast.Constant):
        return value.value if type(value.value) in (bool, type(None)) else NOT_NONE
    if isinstance(value, ast.List):
        return NOT_NONE if value.elts else EMPTY
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
