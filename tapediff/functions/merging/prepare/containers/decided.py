"""What data decides in one function: the statements that may not run, and the variables whose values depend on that."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TypeGuard

from ...nodes import children, walk
from ...variables import Names, assigned, blocks_of, reads


class Decided:
    """What data decides in one function.

    Args:
        body: its statements.
        looks_at_data: whether recordings had a guard in an expression.

    Attributes:
        names: the variables.
        statements: those that may not run, or run another number of times.
    """

    def __init__(self, body: Sequence[ast.stmt], looks_at_data: Callable[[ast.expr], bool]) -> None:
        self._looks_at_data = looks_at_data
        # By expression, the names that it reads, those of which it only asks the length, and whether it chooses by data.
        self._known: dict[ast.expr, tuple[Names, Names, bool]] = {}
        self.names: set[str] = set()
        # Those of them that are bound by what data decides; others only hold something else.
        self._bound: set[str] = set()
        self.statements: set[ast.stmt] = set()
        count = -1
        while count < len(self.names) + len(self.statements):
            count = len(self.names) + len(self.statements)
            self._block(body, False)

    def is_decided(self, node: ast.expr) -> bool:
        """Whether the value of an expression depends on what data has decided."""
        known = self._known.get(node)
        if known is None:
            chooses = any(isinstance(n, ast.IfExp) and self._looks_at_data(n.test) for n in walk(node))
            lengths = [n.args[0] for n in walk(node) if _is_length(n)]
            names = frozenset(n.id for n in walk(node) if isinstance(n, ast.Name) and n not in lengths)
            self._known[node] = known = reads(node) & names, reads(node) - names, chooses
        return known[2] or not (self.names.isdisjoint(known[0]) and self._bound.isdisjoint(known[1]))

    def _block(self, body: Sequence[ast.stmt], may_not_run: bool) -> None:
        for statement in body:
            self._statement(statement, may_not_run)

    def _statement(self, node: ast.stmt, may_not_run: bool) -> None:
        if may_not_run:
            self.statements.add(node)
        inner = may_not_run
        if isinstance(node, (ast.If, ast.While)):
            inner = may_not_run or self._looks_at_data(node.test) or self.is_decided(node.test)
        elif isinstance(node, ast.For):
            if self.is_decided(node.iter):
                self.names |= assigned([node.target])
                self._bound |= assigned([node.target])
        elif may_not_run or any(self.is_decided(part) for part in children(node) if isinstance(part, ast.expr)):
            if not blocks_of(node):
                self.names |= assigned([node]) | _changed(node)
                self._bound |= assigned([node])
        for block in blocks_of(node):
            self._block(block, inner)


def _is_length(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether a node is len(variable)."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    return node.func.id == "len" and len(node.args) == 1 and isinstance(node.args[0], ast.Name)


def _changed(node: ast.stmt) -> frozenset[str]:
    """The variables of which an assignment changes an entry or attribute."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else []
    parts = [n for target in targets for n in walk(target) if isinstance(n, (ast.Attribute, ast.Subscript))]
    return frozenset(n.value.id for n in parts if isinstance(n.value, ast.Name))
