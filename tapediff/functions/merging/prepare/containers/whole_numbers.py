"""Which variables of a function hold whole numbers and nothing else, and between which bounds."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import TypeAlias

from ...nodes import walk
from ..states.static_values import pairs
from .scope import Scope

# The least and the greatest value, both included.
Bounds: TypeAlias = tuple[float, float]

ALL: Bounds = (-inf, inf)


class WholeNumbers:
    """The whole numbers among the variables of one function.

    Args:
        body: its statements.
        scope: its names.
        length: the length of a container, where it is the same everywhere.

    Attributes:
        bounds: by variable, what its values are between, in all places.
    """

    def __init__(self, body: Sequence[ast.stmt], scope: Scope, length: Callable[[ast.expr], int | None]) -> None:
        self._is_builtin, self._length = scope.is_builtin, length
        self._sources: dict[str, list[ast.expr]] = {}
        self._others: set[str] = set()
        nodes = [node for statement in body for node in walk(statement)]
        seen: set[ast.Name] = set()
        for node in nodes:
            for name, value in self._given(node):
                self._sources.setdefault(name.id, []).append(value)
                seen.add(name)
        for node in nodes:
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node not in seen:
                self._others.add(node.id)
            elif name := getattr(node, "name", None):
                self._others.add(name)  # of functions, errors that are caught, patterns
            elif isinstance(node, ast.alias):
                self._others.add((node.asname or node.name).partition(".")[0])
            elif isinstance(node, ast.MatchMapping) and node.rest:
                self._others.add(node.rest)
        self._names = scope.names - self._others
        self.bounds: dict[str, Bounds] = {}
        self._find((scope.names & self._sources.keys()) - self._others)

    def _given(self, node: ast.AST) -> list[tuple[ast.Name, ast.expr]]:
        """The variables that a node binds, each with an expression for its values; of `+=` what it computes, of loops the range."""
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            return pairs(node.targets[0], node.value)
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            return pairs(node.target, node.value)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return [(node.target, ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value))]
        if isinstance(node, (ast.For, ast.comprehension)):
            target, over = node.target, node.iter
            if isinstance(target, ast.Name) and self._is_builtin(over, range):
                return [(target, over)]
            if isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name) and self._is_builtin(over, enumerate):
                return [(target.elts[0], over)]
        return []

    def _find(self, names: frozenset[str]) -> None:
        """Widen the bounds until all assignments keep them."""
        found: dict[str, Bounds] = {}
        left = set(names)
        turn, is_changed = 0, True
        while is_changed:
            is_changed, turn = False, turn + 1
            for name in sorted(left):
                known = found.get(name)
                for source in self._sources[name]:
                    if not self._is_whole(source, left):
                        left.discard(name)
                        found.pop(name, None)
                        is_changed = True
                        break
                    new = self.of(source, found)
                    if new is None:
                        continue
                    wider = new if known is None else (min(known[0], new[0]), max(known[1], new[1]))
                    if known is not None and turn > _TURNS_BEFORE_WIDENING:
                        wider = (wider[0] if wider[0] == known[0] else -inf, wider[1] if wider[1] == known[1] else inf)
                    if wider != known:
                        found[name] = known = wider
                        is_changed = True
        self.bounds = {name: found[name] for name in left if name in found}

    def _is_whole(self, node: ast.expr, names: set[str]) -> bool:
        """Whether an expression gives an int of Python's, or is a range or enumeration of a loop."""
        if isinstance(node, ast.Constant):
            return type(node.value) is int
        if isinstance(node, ast.Name):
            return node.id in names
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, (ast.USub, ast.UAdd)) and self._is_whole(node.operand, names)
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, _OPERATORS) and self._is_whole(node.left, names) and self._is_whole(node.right, names)
        if isinstance(node, ast.IfExp):
            return self._is_whole(node.body, names) and self._is_whole(node.orelse, names)
        if self._is_builtin(node, min, max):
            assert isinstance(node, ast.Call)
            return len(node.args) > 1 and not node.keywords and all(self._is_whole(a, names) for a in node.args)
        return self._is_builtin(node, len, range, enumerate) or _is_int(node, self._is_builtin)

    def constants_of(self, node: ast.expr) -> list[object] | None:
        """All values that a variable may have, where these are constants; None where they are not."""
        if not (isinstance(node, ast.Name) and node.id in self._names):
            return None
        found: list[object] = [source.value for source in self._sources.get(node.id, ()) if isinstance(source, ast.Constant)]
        return found if 0 < len(found) == len(self._sources[node.id]) else None

    def is_whole(self, node: ast.expr) -> bool:
        """Whether an expression gives an int of Python's."""
        return not self._is_builtin(node, range, enumerate) and self._is_whole(node, set(self.bounds))

    def of(self, node: ast.expr, known: Mapping[str, Bounds] | None = None) -> Bounds | None:
        """The bounds of an expression that gives a whole number; None where that is not known yet."""
        known = self.bounds if known is None else known
        if isinstance(node, ast.Constant):
            return (node.value, node.value) if type(node.value) is int else ALL
        if isinstance(node, ast.Name):
            return known.get(node.id)
        if isinstance(node, ast.UnaryOp):
            inner = self.of(node.operand, known)
            return inner if inner is None or isinstance(node.op, ast.UAdd) else (-inner[1], -inner[0])
        if isinstance(node, ast.BinOp):
            return _arithmetic(node.op, self.of(node.left, known), self.of(node.right, known))
        if isinstance(node, ast.IfExp):
            return _either(self.of(node.body, known), self.of(node.orelse, known))
        if isinstance(node, ast.Call):
            return self._call(node, known)
        return ALL

    def _call(self, node: ast.Call, known: Mapping[str, Bounds]) -> Bounds | None:
        if self._is_builtin(node, len):
            length = self._length(node.args[0]) if len(node.args) == 1 else None
            return (0, inf) if length is None else (length, length)
        if self._is_builtin(node, enumerate):
            length = self._length(node.args[0]) if len(node.args) == 1 else None
            return ALL if len(node.args) != 1 or node.keywords else (0, inf if length is None else max(length - 1, 0))
        parts = [self.of(a, known) for a in node.args]
        if self._is_builtin(node, range):
            step = node.args[2] if len(parts) == 3 else ast.Constant(1)
            if not (isinstance(step, ast.Constant) and type(step.value) is int and step.value > 0):
                return ALL
            first, last = ((0, 0), parts[0]) if len(parts) == 1 else parts[:2]
            first, last = ALL if first is None else first, ALL if last is None else last
            return first[0], max(last[1] - 1, first[0])
        if None in parts or not self._is_builtin(node, min, max):
            return None if None in parts else ALL
        choose = min if self._is_builtin(node, min) else max
        return choose(p[0] for p in parts if p), choose(p[1] for p in parts if p)


# Bounds that still grow then have no end.
_TURNS_BEFORE_WIDENING = 3

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


def _is_int(node: ast.expr, is_builtin: Callable[..., bool]) -> bool:
    """Whether an expression is int(x)."""
    return is_builtin(node, int) and isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords


def _either(first: Bounds | None, second: Bounds | None) -> Bounds | None:
    if first is None or second is None:
        return first or second
    return min(first[0], second[0]), max(first[1], second[1])


def _arithmetic(op: ast.operator, left: Bounds | None, right: Bounds | None) -> Bounds | None:
    if left is None or right is None:
        return None
    if isinstance(op, ast.Add):
        return left[0] + right[0], left[1] + right[1]
    if isinstance(op, ast.Sub):
        return left[0] - right[1], left[1] - right[0]
    if isinstance(op, ast.Mod) and right[0] > 0:
        return 0, right[1] - 1
    if isinstance(op, ast.Mult) and all(abs(side) != inf for side in (*left, *right)):
        found = [a * b for a in left for b in right]
        return min(found), max(found)
    return ALL
