"""Expressions that are computed although the program would not: conditional expressions, conditions, sides of branches."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from .facts import Facts
from .nodes import Node, Placed, Transformer, call, copied, is_call_of_run_time, is_index, near, place, walk
from .prepare.source import NoSource, definition_of
from .purity import is_of_library, is_users
from .rules import COMPARISONS, ELEMENTWISE, MATH, MOST_COST, MOST_COST_IN_TURNS, OPERATORS, Broken
from .uses.contexts import flags
from .uses.kinds import asks_for_none, is_one, never_divides_by_zero


class Simple:
    """Expressions that may be computed although the program would not: they neither fail nor have effects.

    Args:
        site: the branch that they belong to, which is given up where a value is of the wrong kind.
    """

    def __init__(self, facts: Facts, site: Placed) -> None:
        self._facts, self.site = facts, site
        self.cost, self._most = 0, MOST_COST_IN_TURNS if facts.has_long_loops else MOST_COST
        # Whether the value of the expression is used as a condition only: `and`, `or` and `not` give NumPy's bools or Python's.
        self.is_condition = False
        # Variables that were found to be numbers, and have not been assigned to since.
        self.known: set[str] = set()
        # Whether the program reaches what is looked at now in any case.
        self._is_reached = False

    def expression(self, node: ast.expr) -> ast.expr:
        """The expression, with conditional expressions in it as selects.

        Raises:
            Broken: it may fail, have effects, or costs too much.
        """
        self.cost += 1
        if self.cost > self._most:
            raise Broken("cost", node, "its sides are long")
        if isinstance(node, ast.Constant):
            if type(node.value) not in (int, float, bool):
                raise Broken("scalars", node, f"it gives {node.value!r}")
            return node
        if isinstance(node, ast.Name):
            return self._number(node)
        if isinstance(node, ast.Compare):
            return self.test(node)
        if isinstance(node, ast.BoolOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
            if not self.is_condition:
                raise Broken("numbers", node, f"it computes with {ast.unparse(node)}")
            return self.test(node)
        if isinstance(node, ast.BinOp) and (cost := OPERATORS.get(type(node.op))) and never_divides_by_zero(node):
            self.cost += cost - 1
            return _like(node, ast.BinOp(self.expression(node.left), node.op, self.expression(node.right)))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            return _like(node, ast.UnaryOp(node.op, self.expression(node.operand)))
        if isinstance(node, ast.IfExp):
            use = self._facts.use_of(frozenset(), [node])
            mark = call("begin", [], node)
            test = self.reached(node.test) if node is self.site else self.test(node.test)
            parts = [test, self.expression(node.body), self.expression(node.orelse)]
            if self.may_fail(node.body) or self.may_fail(node.orelse):
                parts = [call(name, [part], node) for name, part in zip(("enter", "turn", "leave"), parts)]
            return call("choose", [mark, place(self.site), *parts, flags(use)], node)
        if isinstance(node, (ast.Subscript, ast.Attribute)):
            return call("number", [place(self.site), self._load(node)], node)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise Broken("calls", node, f"it computes {ast.unparse(node)}")

    def may_fail(self, node: ast.AST) -> bool:
        """Whether what is computed with numbers may raise Python's errors, which count only where the program reaches it."""
        return any(self._may_fail(part) for part in walk(node))

    def _may_fail(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call) and is_call_of_run_time(node):
            return isinstance(node.func, ast.Attribute) and node.func.attr == "no_nan"
        if isinstance(node, ast.Call):
            return is_of_math(self._facts, node.func) or (isinstance(node.func, ast.Name) and is_users(self._facts.resolve(node.func.id)))
        if isinstance(node, ast.Subscript):
            return self._facts.looks_up(node)
        return isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Pow))

    def _number(self, node: ast.Name) -> ast.expr:
        if node.id in self.known:
            return node
        self.known.add(node.id)
        return call("number", [place(self.site), node], node)

    def _load(self, node: ast.expr) -> ast.expr:
        """An entry of an array, list or tuple, or an attribute."""
        if isinstance(node, ast.Name):
            return node
        if isinstance(node, ast.Attribute):
            return call("attribute", [place(self.site), self._load(node.value), ast.Constant(node.attr)], node)
        if isinstance(node, ast.Subscript) and (isinstance(node.slice, ast.Constant) or is_index(node.slice, self._facts.is_length)):
            return call("entry", [place(self.site), self._load(node.value), _Indices(self.site).visit(node.slice)], node)
        raise Broken("calls", node, f"it looks up {ast.unparse(node)}")

    def _call_of_run_time(self, node: ast.Call) -> ast.expr:
        """What takes the place of a container's entries and the like."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name == "stored":
            return call(name, [place(self.site), self.expression(node.args[1]), *node.args[2:]], node)
        if name in ("sum_of", "mean_of", "as_data"):
            return call(name, [self.expression(a) for a in node.args], node)
        if name in ("appended", "stored_by_turn", "of_table"):
            return call(name, [node.args[0], self.expression(node.args[1]), *node.args[2:]], node)
        if name == "no_nan":
            return call(name, [node.args[0], *map(self.expression, node.args[1:])], node)
        if name == "entry_within":
            return call("number", [place(self.site), node], node)
        raise Broken("calls", node, f"it calls {ast.unparse(node)}")

    def _call(self, node: ast.Call) -> ast.expr:
        if is_call_of_run_time(node):
            return self._call_of_run_time(node)
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise Broken("calls", node, f"it calls {ast.unparse(node)}")
        if isinstance(node.func, ast.Name) and is_users(self._facts.resolve(node.func.id)):
            self.cost += cost_of(self._facts.resolve(node.func.id))
            if self.cost > self._most:
                raise Broken("cost", node, f"{node.func.id} is long")
            function = call("pure", [place(self.site), node.func, ast.Constant(len(node.args))], node.func)
            return call("number", [place(self.site), _like(node, ast.Call(function, [self.expression(a) for a in node.args], []))], node)
        resolve, function = self._facts.resolve, node.func
        constant = _constant(self._facts, node)
        if constant is not None:
            return ast.copy_location(ast.Constant(constant), node)
        if isinstance(function, ast.Attribute) and is_of_math(self._facts, function):
            self.cost += MATH[function.attr]
            return _like(node, ast.Call(function, [self.expression(a) for a in node.args], []))
        found: object = None
        if isinstance(function, ast.Name):
            found = resolve(function.id)
        elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and resolve(function.value.id) is np:
            found = getattr(np, function.attr, None)
        name = getattr(found, "__name__", "")
        if is_one(found, (max, min)) and len(node.args) > 1:
            return extreme(self._facts, node, self.site, [self.expression(a) for a in node.args])
        if found is abs or (name in ELEMENTWISE and is_of_library(found, "numpy")):
            self.cost += ELEMENTWISE["abs" if found is abs else name]
            return _like(node, ast.Call(function, [self.expression(a) for a in node.args], []))
        raise Broken("calls", node, f"it calls {ast.unparse(node.func)}")

    def reduction(self, node: ast.Call, flags: ast.expr) -> ast.expr:
        """A sum of a generator and the like, where `is_reduction`: over all its elements, each with whether it counts."""
        function, of = node.func, node.args[0]
        assert isinstance(of, (ast.GeneratorExp, ast.ListComp))
        is_logical, is_length = (self._facts.is_builtin(node, *kinds) for kinds in ((any, all), (len,)))
        # Its variables are others in each turn, of which there may be none.
        before = self.known
        self.known = set()
        counts = call("every", [place(self.site), *(self.test(test) for part in of.generators for test in part.ifs)], node)
        value = self.test(of.elt) if is_logical else self.expression(of.elt)
        if is_length:
            value = ast.copy_location(ast.Constant(1), of.elt)
        elif self.may_fail(of.elt):
            counts, value = call("enter", [counts], node), call("leave", [value], node)
        parts = [ast.comprehension(part.target, values(self._facts, part.iter, self.site, False), [], 0) for part in of.generators]
        elements = near(ast.copy_location(ast.ListComp(ast.Tuple([counts, value], ast.Load()), parts), of), of)
        self.known = before
        rest = [*map(self.expression, node.args[1:]), *(self.expression(k.value) for k in node.keywords)]
        return call("reduced", [function, call("begin", [], node), place(self.site), flags, elements, *rest], node)

    def reached(self, node: ast.expr) -> ast.expr:
        """A condition as by `test`, that the program reaches in any case: what it compares may also fail."""
        self._is_reached, may_fail = True, self.may_fail(node)
        try:
            test = self.test(node)
        finally:
            self._is_reached = False
        if not may_fail:
            return test
        # Whether math's functions have a value is asked beside what the branch decides.
        checked = ast.Tuple([call("enter", [ast.Constant(True)], node), call("leave", [test], node)], ast.Load())
        return _like(node, ast.Subscript(checked, ast.Constant(1), ast.Load()))

    def _operand(self, node: ast.expr, is_once: bool) -> ast.expr:
        known, cost, own = set(self.known), self.cost, copied(node)
        try:
            return self.expression(node)
        except Broken as broken:
            calls = [n for n in walk(own) if isinstance(n, ast.Call)]
            if not (self._is_reached and is_once and broken.breach.rule == "calls" and all(self._facts.is_library(c.func) for c in calls)):
                raise
        self.known, self.cost = known, cost
        return call("number", [place(self.site), own], node)

    def test(self, node: ast.expr) -> ast.expr:
        """A condition, computed as a bool that nobody looks at."""
        if isinstance(node, ast.Compare) and all(isinstance(op, COMPARISONS) for op in node.ops):
            operands = [self._operand(o, len(node.ops) == 1) for o in (node.left, *node.comparators)]
            pairs = [
                _like(node, ast.Compare(copied(a), [op], [copied(b)]))
                for a, op, b in zip(operands, node.ops, operands[1:])
            ]
            return call("every", [place(self.site), *pairs], node)
        if isinstance(node, ast.Call) and is_reduction(self._facts, node, any, all):
            return self.reduction(node, ast.Constant(4))
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and len(node.ops) == 1 and asks_for_none(node):
            return call("every", [place(self.site), node], node)
        if isinstance(node, ast.BoolOp):
            is_and = isinstance(node.op, ast.And)
            self._is_reached, first = False, self._is_reached and self.reached(node.values[0])
            tests = [first or self.test(node.values[0]), *map(self.test, node.values[1:])]
            if any(map(self.may_fail, node.values[1:])):
                # Each is reached where those before it do not decide.
                tests = [call("enter", [test, ast.Constant(is_and)], node) for test in tests[:-1]] + [
                    call("leave", [tests[-1], ast.Constant(len(tests) - 1)], node)
                ]
            return call("every" if is_and else "some", [place(self.site), *tests], node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return call("negated", [place(self.site), self.test(node.operand)], node)
        if isinstance(node, (ast.Name, ast.Constant)):
            return call("every", [place(self.site), node], node)
        if isinstance(node, ast.Subscript) and self._facts.looks_up(node):
            return call("every", [place(self.site), self._load(node)], node)
        if isinstance(node, ast.BinOp):
            is_nonzero = ast.Compare(self._operand(node, True), [ast.NotEq()], [ast.Constant(0)])
            return call("every", [place(self.site), _like(node, is_nonzero)], node)
        raise Broken("test", node, f"it asks for {ast.unparse(node)}")


def cost_of(function: Any, depth: int = 0) -> int:
    """What a call of one of the user's functions costs, beside an addition; too much if it has loops."""
    try:
        definition = definition_of(function.__code__)
    except NoSource:
        return MOST_COST + 1
    found = 0
    for node in walk(definition):
        if isinstance(node, (ast.For, ast.While, ast.comprehension)) or depth > MOST_CALLS:
            return MOST_COST + 1
        if isinstance(node, ast.BinOp):
            found += OPERATORS.get(type(node.op), 4)
        elif isinstance(node, ast.Call):
            called = function.__globals__.get(node.func.id) if isinstance(node.func, ast.Name) else None
            found += cost_of(called, depth + 1) if is_users(called) else ELEMENTWISE["sin"]
    return found


# Of functions that call each other.
MOST_CALLS = 3


def _constant(facts: Facts, node: ast.expr) -> float | None:
    """The value of one of math's functions, of constants and no more; None of anything else, or if it fails."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, (int, float)) and type(node.value) is not bool else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _constant(facts, node.operand)
        return None if value is None else -value
    if isinstance(node, ast.Attribute):
        value = math.__dict__.get(node.attr) if _is_math(facts, node) else None
        return value if type(value) is float else None
    if isinstance(node, ast.Call) and not node.keywords:
        found: Any = None
        if isinstance(node.func, ast.Attribute) and _is_math(facts, node.func):
            found = math.__dict__.get(node.func.attr)
        elif isinstance(node.func, ast.Name):
            found = facts.resolve(node.func.id)
        values = [_constant(facts, a) for a in node.args]
        if type(found) is BuiltinFunctionType and found.__module__ == "math" and None not in values:
            try:
                value = found(*values)
            except (ValueError, TypeError, OverflowError):
                return None
            return value if type(value) in (int, float) else None
    return None


def is_of_math(facts: Facts, function: ast.expr) -> bool:
    """Whether a function is one of math's that give a number."""
    return isinstance(function, ast.Attribute) and function.attr in MATH and _is_math(facts, function)


def _is_math(facts: Facts, node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and facts.resolve(node.value.id) is math


class _Indices(Transformer):
    """The variables in an index, which must be numbers.

    Args:
        site: as of Simple.
    """

    def __init__(self, site: Placed) -> None:
        self._site = site

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return call("number", [place(self._site), node], node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return call("length", [place(self._site), *node.args], node)


def _like(node: ast.expr, made: Node) -> Node:
    return near(ast.copy_location(made, node), node)


class Expressions(Transformer):
    """Conditional expressions, max and min as selects."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def _stay(self, node: ast.AST) -> ast.AST:
        return node

    visit_Lambda = visit_GeneratorExp = visit_SetComp = visit_DictComp = visit_BoolOp = _stay

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        facts, place = self._facts, (node.lineno, node.col_offset)
        if facts.looks_at_data(node.test) and facts.may_merge(place):
            try:
                made = Simple(facts, node).expression(node)
            except Broken as broken:
                facts.breaches.append(broken.breach)
            else:
                facts.sites[place] = "a select"
                return made
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        facts, place = self._facts, (node.lineno, node.col_offset)
        if is_reduction(facts, node, sum, max, min, any, all, len) and facts.looks_at_data(node) and facts.may_merge(place):
            try:
                made = Simple(facts, node).reduction(node, flags(facts.use_of(frozenset(), [node])))
            except Broken as broken:
                facts.breaches.append(broken.breach)
            else:
                facts.sites[place] = "a sum, or the like, of masked values"
                return made
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and is_one(facts.resolve(node.func.id), (max, min)) and facts.may_merge(place):
            if facts.looks_at_data(node) and len(node.args) > 1 and not node.keywords:
                facts.sites[place] = "a select"
                return extreme(facts, node, node, node.args)
            may_be_list = len(node.args) == 1 and isinstance(node.args[0], (ast.Name, ast.Subscript)) and not node.keywords
            if facts.looks_at_data(node) and may_be_list:
                facts.sites[place] = "a select"
                return extreme(facts, node, node, node.args, "extreme_of")
        return node


def is_reduction(facts: Facts, node: ast.Call, *functions: object) -> bool:
    """Whether a call is of one of these functions, of a comprehension that is used up at once and has conditions, which may be on data."""
    if not (facts.is_builtin(node, *functions) and node.args and isinstance(node.args[0], (ast.GeneratorExp, ast.ListComp))):
        return False
    of = node.args[0]
    if any(part.is_async for part in of.generators) or (facts.is_builtin(node, max, min, any, all, len) and len(node.args) > 1):
        return False
    if any(k.arg != "default" or (isinstance(k.value, ast.Constant) and k.value.value is None) for k in node.keywords):
        return False
    has_conditions = any(part.ifs for part in of.generators) or any(isinstance(n, ast.IfExp) for n in walk(of.elt))
    return has_conditions or facts.is_builtin(node, any, all)


def values(facts: Facts, node: ast.expr, site: Placed, has_turns: bool) -> ast.expr:
    """What a loop goes over that may go on after its end, with checks of its type."""
    if facts.is_builtin(node, enumerate, zip, reversed):
        assert isinstance(node, ast.Call)
        node.args = [values(facts, a, site, has_turns) for a in node.args]
        return node
    return call("values", [place(site), node, ast.Constant(has_turns)], node)


def extreme(facts: Facts, node: ast.Call, site: Placed, args: Sequence[ast.expr], name: str = "extreme") -> ast.expr:
    """max or min of numbers; `extreme_of`: of what may be a list or tuple of them."""
    return call(name, [node.func, place(site), flags(facts.use_of(frozenset(), [node])), *args], node)
