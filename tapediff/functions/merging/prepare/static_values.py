"""Variables that hold names of states: strings and None that are only compared with constants become numbers, which data may choose."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence

from ....ir.instruction import Tree
from ..nodes import Transformer, load, near, walk


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
    """

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def of_function(self, body: list[ast.stmt]) -> None:
        """Rewrite the statements of a function in place."""
        nodes = [node for statement in body for node in walk(statement)]
        if not any(isinstance(n, ast.Constant) and (n.value is None or isinstance(n.value, str)) for n in nodes):
            return
        codes: dict[str, list[Tree]] = {}
        for name, values in stored(body, self._names).items():
            constants = [value.value for value in values if isinstance(value, ast.Constant)]
            if len(constants) == len(values) and all(type(c) in _STATES for c in constants) and any(type(c) is not bool for c in constants):
                codes[name] = _distinct(constants)
        compared: dict[ast.Name, tuple[ast.Compare, list[Tree]]] = {}
        for node in nodes:
            if isinstance(node, ast.Compare) and (found := _comparison(node)) is not None:
                compared[found[0]] = (node, found[1])
        for node in nodes:
            if isinstance(node, ast.Name) and node.id in codes and isinstance(node.ctx, ast.Load) and node not in compared:
                del codes[node.id]
        if not codes:
            return
        _Replaced({node: (name.id, constants) for name, (node, constants) in compared.items() if name.id in codes}, codes).all(body)


_STATES = (str, bool, type(None))


def _distinct(constants: Sequence[Tree]) -> list[Tree]:
    return [c for k, c in enumerate(constants) if not any(type(c) is type(d) and c == d for d in constants[:k])]


def _comparison(node: ast.Compare) -> tuple[ast.Name, list[Tree]] | None:
    """The variable and the constants of a comparison of one with the other."""
    if len(node.ops) != 1:
        return None
    (op,), left, (right,) = node.ops, node.left, node.comparators
    if isinstance(op, (ast.Eq, ast.NotEq)) and isinstance(left, ast.Constant):
        left, right = right, left
    if not isinstance(left, ast.Name):
        return None
    if isinstance(op, (ast.In, ast.NotIn)) and isinstance(right, (ast.Tuple, ast.List, ast.Set)):
        constants = [e.value for e in right.elts if isinstance(e, ast.Constant)]
        return (left, constants) if len(constants) == len(right.elts) else None
    if not isinstance(right, ast.Constant):
        return None
    is_comparison = isinstance(op, (ast.Eq, ast.NotEq)) or (isinstance(op, (ast.Is, ast.IsNot)) and type(right.value) in (bool, type(None)))
    return (left, [right.value]) if is_comparison else None


_HOLDS: dict[type[ast.cmpop], Callable[[Tree, Tree], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.eq, ast.In: operator.eq, ast.NotIn: operator.eq, ast.Is: operator.is_, ast.IsNot: operator.is_,
}  # fmt: skip


class _Replaced(Transformer):
    """Comparisons and assignments of states as those of numbers.

    Args:
        compared: by comparison, the variable and the constants.
        codes: by variable, its states, whose places are their numbers.
    """

    def __init__(self, compared: dict[ast.Compare, tuple[str, list[Tree]]], codes: dict[str, list[Tree]]) -> None:
        self._compared, self._codes = compared, codes

    def all(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.visit(statement)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        node.value = self.visit(node.value)
        for target in node.targets:
            for name, value in pairs(target, node.value):
                self._number(name, value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None and isinstance(node.target, ast.Name):
            self._number(node.target, self.visit(node.value))
        return node

    def _number(self, name: ast.Name, value: ast.expr) -> None:
        if name.id in self._codes:
            assert isinstance(value, ast.Constant)
            value.value = float(_place_of(value.value, self._codes[name.id]))

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
