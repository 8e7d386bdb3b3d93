"""Regions: a branch whose sides are too much for a select, or a turn of a loop with several of them, as the call of a sub-tape.

The statements become a function of the variables that they read, which gives those that they assign; `region_calls.py` runs it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from types import ModuleType

from ..facts import Facts
from ..nodes import (
    Placed,
    Transformer,
    call,
    children,
    function_node,
    is_index,
    load,
    names_tuple,
    near,
    positional,
    walk,
)
from ..prepare.exits.jumps import JUMPS, has_jump
from ..purity import Checked, check_statements
from ..rules import EARLY_LOADS, FIRST_PLAIN, ONLY_DATA, REGION, VARYING, Broken
from ..selects import Select
from ..uses.contexts import flags
from ..variables import Names, assigned, bound_by, read_first
from .identities import compares_identities

# A turn of a loop with so many branches is one region, with a path for each of their combinations.
MOST_BRANCHES = 4


class Regions:
    """The regions of one function.

    Args:
        block: rewrites the statements in a region.

    Attributes:
        may_hand_through: whether an array that goes into a region or loop may come out.
    """

    def __init__(self, facts: Facts, block: Callable[[Sequence[ast.stmt]], list[ast.stmt]]) -> None:
        self._facts, self._rewritten = facts, block
        nodes = [n for statement in facts.body for n in walk(statement)]
        loops = [n for n in nodes if isinstance(n, (ast.For, ast.While))]
        self._varying = assigned(loops).union(facts.arguments)
        # Nobody tells an array from another one that is equal; `+=` is noticed where it changes one.
        self.may_hand_through = not (any(map(_is_write, nodes)) or compares_identities(facts.code))

    def is_wanted(self, node: ast.For) -> bool:
        """Whether a turn of a loop has several branches that are no selects, or one that gives more than data by itself."""
        inner = [n for n in walk(node) if isinstance(n, ast.If) and self._facts.looks_at_data(n.test)]
        if len(inner) <= MOST_BRANCHES and any(self._is_refused(n) for n in inner):
            return True
        branches = [n for n in _own(node.body) if isinstance(n, ast.If) and self._facts.looks_at_data(n.test)]
        calls = [n for n in branches if n in node.body and not self._is_select(n)]
        return len(branches) <= MOST_BRANCHES and len(calls) > 1

    def _is_refused(self, node: ast.If) -> bool:
        return any(not self._facts.may_merge((node.lineno, node.col_offset, form)) for form in (REGION, ONLY_DATA))

    def _is_select(self, node: ast.If) -> bool:
        if not self._facts.may_merge((node.lineno, node.col_offset)):
            return False
        try:
            Select(self._facts, node).statements()
        except Broken:
            return False
        return True

    def made(self, body: Sequence[ast.stmt], after: Names, node: Placed) -> list[ast.stmt]:
        """The call of a region.

        Args:
            body: its statements.
            after: the names that what follows may read.
            node: the branch or loop.

        Raises:
            Broken: the statements do more than compute values.
        """
        facts = self._facts
        where = node.lineno, node.col_offset
        if not facts.may_merge((*where, REGION)):
            raise Broken("calls", node, "its values were refused")
        if has_jump(body, JUMPS):
            raise Broken("jumps", node, "a jump leaves it")
        check_statements(body)
        facts.require_own(body, body[0])
        first, new = read_first(body), assigned(body)
        wanted = new & after
        if not wanted:
            raise Broken("assignments", node, "it assigns nothing that is used")
        into = (first & _variables(facts, first)) | (wanted - (bound_by(body) or frozenset()))
        facts.require_bound(into, body[0])
        early = self._looked_up_early(body, new, node) if facts.may_merge((*where, EARLY_LOADS)) else []
        if early:
            left = read_first(body)
            into = into & (left | (wanted - (bound_by(body) or frozenset())))
        return self._call(body, sorted(into), early, sorted(wanted), node)

    def _call(
        self, body: Sequence[ast.stmt], into: list[str], early: list[tuple[str, ast.expr, ast.expr]], wanted: list[str], node: Placed
    ) -> list[ast.stmt]:
        facts = self._facts
        name = f".region{facts.number()}"
        inner = Checked(node, _place(node, REGION)).statements(self._rewritten(body))
        result = near(ast.Return(names_tuple(wanted, ast.Load())), node)
        function = function_node(name, positional([*into, *(k for k, _, _ in early)]), [*inner, result], node)
        may_become = [self._flags(n) for n in into] + [f for _, _, f in early]
        arguments = [
            _place(node, REGION), load(name), ast.Tuple([*(load(n) for n in into), *(value for _, value, _ in early)], ast.Load()),
            ast.Tuple(may_become, ast.Load()), ast.Tuple([flags(facts.use_of(frozenset([n]))) for n in wanted], ast.Load()),
            *(ast.Constant(not facts.may_merge((node.lineno, node.col_offset, form))) for form in (ONLY_DATA, FIRST_PLAIN)),
            ast.Constant(self.may_hand_through),
        ]  # fmt: skip
        return [function, near(ast.Assign([names_tuple(wanted, ast.Store())], call("region", arguments, node)), node)]

    def _flags(self, name: str) -> ast.expr:
        return flags(self._facts.use_of(frozenset([name])), VARYING if name in self._varying else 0)

    def _looked_up_early(self, body: Sequence[ast.stmt], new: Names, node: Placed) -> list[tuple[str, ast.expr, ast.expr]]:
        """Entries and attributes that the statements do not change, as variables of the region: name, value and flags of each."""
        loads = _EarlyLoads(self._facts, new, node)
        for statement in body:
            loads.visit(statement)
        return list(loads.found.values())


class _EarlyLoads(Transformer):
    """Replaces entries and attributes of variables that do not change by variables."""

    def __init__(self, facts: Facts, new: Names, node: Placed) -> None:
        self._facts, self._new, self._node = facts, new, node
        self.found: dict[str, tuple[str, ast.expr, ast.expr]] = {}

    def visit_Call(self, node: ast.Call) -> ast.AST:
        # A method is no attribute.
        if isinstance(node.func, ast.Attribute):
            node.func.value = self.visit(node.func.value)
        node.args = [self.visit(a) for a in node.args]
        node.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        return node

    def _stay(self, node: ast.AST) -> ast.AST:
        return node

    # Their variables are none of the function's.
    visit_ListComp = _stay

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return self._early(node) if isinstance(node.ctx, ast.Load) and self._is_fixed(node) else self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self._early(node) if isinstance(node.ctx, ast.Load) and self._is_fixed(node) else self.generic_visit(node)

    def _early(self, node: ast.Subscript | ast.Attribute) -> ast.AST:
        text = ast.unparse(node)
        if text not in self.found:
            may_become = flags(self._facts.use_of(frozenset(), [node]), VARYING)
            self.found[text] = f".load{self._facts.number()}", self._value(copy.deepcopy(node)), may_become
        return near(ast.copy_location(load(self.found[text][0]), node), node)

    def _value(self, node: ast.expr) -> ast.expr:
        at = _place(self._node, EARLY_LOADS)
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            index = [_IndexNames(at).visit(part) for part in parts]
            whole = ast.Tuple(index, ast.Load()) if isinstance(node.slice, ast.Tuple) else index[0]
            return call("early_entry", [at, self._value(node.value), whole], node)
        if isinstance(node, ast.Attribute):
            return call("early_attribute", [at, self._value(node.value), ast.Constant(node.attr)], node)
        return node

    def _is_fixed(self, node: ast.expr) -> bool:
        """Whether an expression is a variable that the region does not assign, with attributes and indices of such variables."""
        if isinstance(node, ast.Name):
            return node.id not in self._new and not isinstance(self._facts.resolve(node.id), ModuleType)
        if isinstance(node, ast.Attribute):
            return self._is_fixed(node.value)
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return self._is_fixed(node.value) and all(self._is_index(part) for part in parts)
        return False

    def _is_index(self, node: ast.expr) -> bool:
        names = (part.id for part in walk(node) if isinstance(part, ast.Name))
        return is_index(node, self._facts.is_length) and self._new.isdisjoint(names)


class _IndexNames(Transformer):
    """Checks that the variables of an index are whole numbers."""

    def __init__(self, at: ast.expr) -> None:
        self._at = at

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return call("early_index", [self._at, node], node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return call("length", [self._at, *node.args], node)


def _is_write(node: ast.AST) -> bool:
    """Whether a node writes to an array or object; of `+=` of a variable the syntax does not say."""
    return isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load)


def _variables(facts: Facts, names: Names) -> Names:
    return frozenset(name for name in names if name.startswith(".") or name in facts.variables)


def _place(node: Placed, form: int) -> ast.expr:
    return ast.Tuple([ast.Constant(node.lineno), ast.Constant(node.col_offset), ast.Constant(form)], ast.Load())


def _own(body: Sequence[ast.stmt]) -> list[ast.AST]:
    """The nodes of statements, without those of loops inside."""
    found: list[ast.AST] = []
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if not isinstance(node, (ast.For, ast.While)):
            found.append(node)
            pending += children(node)
    return found

