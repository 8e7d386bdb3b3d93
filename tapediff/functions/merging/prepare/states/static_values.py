"""Variables that hold names of states: strings, None and members of enumerations that are only compared with constants become numbers,
which data may choose.
"""

from __future__ import annotations

import ast
import enum
import operator
from collections.abc import Callable, Sequence

from .....ir.instruction import Tree
from ...nodes import Transformer, load, near, walk
from ...rules import Resolve


def stored(body: Sequence[ast.stmt], names: frozenset[str]) -> dict[str, list[ast.expr]]:
    """The values that are assigned to each of some variables; left out are those that are bound or seen elsewhere."""
    found: dict[str, list[ast.expr]] = {}
    seen: set[int] = set()
    nodes = [node for statement in body for node in walk(statement)]
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            for name, value in pairs(node.targets[0], node.value):
                found.setdefault(name.id, []).append(value)
                seen.add(id(name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            found.setdefault(node.target.id, []).append(node.value)
            seen.add(id(node.target))
    others = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load) and id(n) not in seen}
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            others |= {n.id for n in walk(node) if isinstance(n, ast.Name)}
    return {name: values for name, values in found.items() if name in names and name not in others}


def pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.Name, ast.expr]]:
    """The variables of an assignment that get the value of an expression in it, with these; others are left out."""
    if isinstance(target, ast.Name):
        return [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        if not any(isinstance(e, ast.Starred) for e in (*target.elts, *value.elts)):
            return [(name, part) for name, part in zip(target.elts, value.elts) if isinstance(name, ast.Name)]
    return []


class StaticValues:
    """Replaces variables that hold the names of states by numbers.

    Args:
        names: the variables that no other function sees.
        resolve: the object that another name stands for.
    """

    def __init__(self, names: frozenset[str], resolve: Resolve) -> None:
        self._names, self._resolve = names, resolve

    def of_function(self, body: list[ast.stmt]) -> None:
        """Rewrite the statements of a function in place."""
        nodes = [node for statement in body for node in walk(statement)]
        codes: dict[str, list[Tree]] = {}
        for name, values in stored(body, self._names).items():
            states = self._states_of(values)
            if states and any(type(state) is not bool for state in states):
                codes[name] = _distinct(states)
        compared: dict[ast.Name, tuple[ast.Compare, list[Tree]]] = {}
        for node in nodes if codes else ():
            if isinstance(node, ast.Compare) and (found := self._comparison(node)) is not None:
                compared[found[0]] = (node, found[1])
        for node in nodes:
            if isinstance(node, ast.Name) and node.id in codes and isinstance(node.ctx, ast.Load) and node not in compared:
                del codes[node.id]
        if not codes:
            return
        replaced = {node: (name.id, constants) for name, (node, constants) in compared.items() if name.id in codes}
        _Replaced(replaced, codes, self._constant).all(body)


    def _states_of(self, values: Sequence[ast.expr]) -> list[Tree]:
        """The states that expressions give; none if they may give something else."""
        found: list[Tree] = []
        for value in values:
            sides = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
            states = self._states_of(sides) if len(sides) > 1 else self._constant(value)
            if not states or not all(type(s) in _STATES or isinstance(s, enum.Enum) for s in states):
                return []
            found += states
        return found

    def _constant(self, node: ast.expr) -> list[Tree]:
        """The value of a constant, or of a member of an enumeration whose members are equal to themselves alone."""
        if isinstance(node, ast.Constant):
            return [node.value]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            kind = self._resolve(node.value.id)
            if isinstance(kind, enum.EnumMeta) and kind.__eq__ is object.__eq__ and node.attr in kind.__members__:
                return [kind.__members__[node.attr]]
        return []

    def _comparison(self, node: ast.Compare) -> tuple[ast.Name, list[Tree]] | None:
        """The variable and the constants of a comparison of one with the other."""
        if len(node.ops) != 1:
            return None
        (op,), left, (right,) = node.ops, node.left, node.comparators
        if isinstance(op, (ast.Eq, ast.NotEq)) and not isinstance(left, ast.Name):
            left, right = right, left
        if not isinstance(left, ast.Name):
            return None
        if isinstance(op, (ast.In, ast.NotIn)) and isinstance(right, (ast.Tuple, ast.List, ast.Set)):
            constants = [constant for e in right.elts for constant in self._constant(e)]
            return (left, constants) if len(constants) == len(right.elts) else None
        constants = self._constant(right)
        is_same = constants and (type(constants[0]) in (bool, type(None)) or isinstance(constants[0], enum.Enum))
        is_comparison = isinstance(op, (ast.Eq, ast.NotEq)) or (isinstance(op, (ast.Is, ast.IsNot)) and is_same)
        return (left, constants) if constants and is_comparison else None


_STATES = (str, bool, type(None))


def _distinct(constants: Sequence[Tree]) -> list[Tree]:
    return [c for k, c in enumerate(constants) if not any(type(c) is type(d) and c == d for d in constants[:k])]


_HOLDS: dict[type[ast.cmpop], Callable[[Tree, Tree], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.eq, ast.In: operator.eq, ast.NotIn: operator.eq, ast.Is: operator.is_, ast.IsNot: operator.is_,
}  # fmt: skip


class _Replaced(Transformer):
    """Comparisons and assignments of states as those of numbers.

    Args:
        compared: by comparison, the variable and the constants.
        codes: by variable, its states, whose places are their numbers.
        constant: the state that an expression gives.
    """

    def __init__(
        self, compared: dict[ast.Compare, tuple[str, list[Tree]]], codes: dict[str, list[Tree]], constant: Callable[[ast.expr], list[Tree]]
    ) -> None:
        self._compared, self._codes, self._constant = compared, codes, constant

    def all(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.visit(statement)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        node.value = self.visit(node.value)
        for target in node.targets:
            node.value = self._numbered(target, node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self._numbered(node.target, self.visit(node.value))
        return node

    def _numbered(self, target: ast.expr, value: ast.expr) -> ast.expr:
        """What is assigned, with the numbers of states in place of these."""
        if isinstance(target, ast.Tuple) and pairs(target, value):
            assert isinstance(value, ast.Tuple)
            value.elts = [self._numbered(*pair) for pair in zip(target.elts, value.elts)]
            return value
        return self._number(self._codes[target.id], value) if isinstance(target, ast.Name) and target.id in self._codes else value

    def _number(self, states: list[Tree], value: ast.expr) -> ast.expr:
        if isinstance(value, ast.IfExp):
            value.body, value.orelse = self._number(states, value.body), self._number(states, value.orelse)
            return value
        (state,) = self._constant(value)
        return ast.copy_location(ast.Constant(float(_place_of(state, states))), value)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if node not in self._compared:
            return self.generic_visit(node)
        name, constants = self._compared[node]
        (op,), states = node.ops, self._codes[name]
        holds, is_negated = _HOLDS[type(op)], isinstance(op, (ast.NotEq, ast.NotIn, ast.IsNot))
        equal = [k for k, state in enumerate(states) if any(holds(state, c) for c in constants)]
        comparison = ast.NotEq() if is_negated else ast.Eq()
        # -1 is the number of no state: the variable is read all the same.
        numbers = [ast.Constant(float(k)) for k in equal or [-1]]
        tests = [near(ast.copy_location(ast.Compare(load(name), [comparison], [k]), node), node) for k in numbers]
        made = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And() if is_negated else ast.Or(), list(tests))
        return near(ast.copy_location(made, node), node)


def _place_of(constant: Tree, states: Sequence[Tree]) -> int:
    return next(k for k, state in enumerate(states) if type(state) is type(constant) and state == constant)
