"""Whether a function uses a container of its own by entries and attributes only, so that these can be variables."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from ...nodes import children, is_least_at, walk
from ...uses.kinds import is_one
from ...variables import reads
from .decided import Decided
from .found import Shape
from .whole_numbers import WholeNumbers


@dataclass
class Index:
    """An index of a list, tuple or dict.

    Attributes:
        keys: the entries that it may be of.
        is_static: it is one of them, a constant.
        is_checked: whether it is one of them is to be checked at run time.
    """

    keys: tuple[Any, ...]
    is_static: bool = False
    is_checked: bool = False


class Uses:
    """The uses of the variables of one function.

    Args:
        body: its statements.
        resolve: the object that a name stands for; None for variables.
        numbers: its whole numbers.
        decided: what data decides in it.
    """

    def __init__(self, body: Sequence[ast.stmt], resolve: Callable[[str], object], numbers: WholeNumbers, decided: Decided) -> None:
        self._resolve, self._numbers, self._decided = resolve, numbers, decided
        self.parents: dict[ast.AST, ast.AST] = {}
        self.loads: dict[str, list[ast.Name]] = {}
        for statement in body:
            for node in walk(statement):
                for child in children(node):
                    self.parents[child] = node
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    self.loads.setdefault(node.id, []).append(node)

    def statement(self, node: ast.AST) -> ast.stmt:
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def stores(self, name: str) -> list[ast.Attribute | ast.Subscript]:
        """The entries and attributes of a variable that are assigned to."""
        found = [self.parents.get(node) for node in self.loads.get(name, ())]
        return [p for p in found if isinstance(p, (ast.Attribute, ast.Subscript)) and not isinstance(p.ctx, ast.Load)]

    def other(self, name: str, shape: Shape, makes: set[ast.AST]) -> ast.AST | None:
        """The first use of a variable that needs its container as such; None if there is none.

        Args:
            makes: the variables that are read where another one of these is made from them.
        """
        return next((n for n in self.loads.get(name, ()) if n not in makes and not self._is_allowed(n, shape)), None)

    def _is_allowed(self, node: ast.Name, shape: Shape) -> bool:
        parent = self.parents[node]
        if not self._is_at_once(node):
            return False
        if self.is_copy(parent, shape):
            return True
        if isinstance(parent, ast.Attribute):
            return shape.kind == "object" and parent.attr in shape.keys and self._is_access(parent, shape)
        if isinstance(parent, ast.Subscript) and parent.value is node:
            return shape.kind != "object" and self.index(parent, shape) is not None and self._is_access(parent, shape)
        if shape.kind == "object":
            return False
        if isinstance(parent, ast.Call) and node in parent.args and self._is(parent.func, len):
            return len(parent.args) == 1
        return shape.kind != "dict" and (self._is_unpacked(node, parent, shape) or self.is_read_whole(node) or self.is_gone_over(node))

    def is_copy(self, node: ast.AST, shape: Shape) -> bool:
        """Whether an expression of a list or tuple is entries[:] or entries.copy()."""
        if shape.kind not in ("list", "tuple"):
            return False
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            return isinstance(node.ctx, ast.Load) and not (node.slice.lower or node.slice.upper or node.slice.step)
        parent = self.parents.get(node)
        is_method = isinstance(node, ast.Attribute) and node.attr == "copy" and shape.kind == "list"
        return is_method and isinstance(parent, ast.Call) and parent.func is node and not parent.args and not parent.keywords

    def _is_access(self, node: ast.Attribute | ast.Subscript, shape: Shape) -> bool:
        parent = self.parents[node]
        if isinstance(node.ctx, ast.Load):
            # A method would be called with the object.
            return True
        if not isinstance(node.ctx, ast.Store) or not shape.may_change:
            return False
        if isinstance(parent, ast.Tuple):
            parent = self.parents[parent]
        return isinstance(parent, (ast.Assign, ast.AugAssign)) and len(getattr(parent, "targets", [0])) == 1

    def _is_unpacked(self, node: ast.Name, parent: ast.AST, shape: Shape) -> bool:
        """a, b = entries"""
        if not (isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Tuple)):
            return False
        target = parent.targets[0]
        return len(target.elts) == len(shape.keys) and not any(isinstance(e, ast.Starred) for e in target.elts)

    def is_read_whole(self, node: ast.Name) -> bool:
        """Whether all entries are read at once, by what neither changes nor keeps the container, or leaves the function with it."""
        parent = self.parents[node]
        if isinstance(parent, ast.Call) and node in parent.args:
            is_known = self._is_of_numpy(parent.func) or is_least_at(parent.func)
            return is_known or self._is(parent.func, sum, max, min, any, all, sorted, list, tuple)
        if isinstance(parent, ast.Tuple) and isinstance(parent.ctx, ast.Load):
            parent = self.parents[parent]
        return isinstance(parent, ast.Return)

    def is_gone_over(self, node: ast.Name) -> bool:
        """Whether a loop or comprehension goes over the entries, none of which it assigns to."""
        inner, parent = node, self.parents[node]
        while isinstance(parent, ast.Call) and inner in parent.args and self._is(parent.func, zip, enumerate, reversed):
            inner, parent = parent, self.parents[parent]
        if isinstance(parent, ast.For) and parent.iter is inner:
            within = {n for statement in parent.body for n in walk(statement)}
            return not any(store in within for store in self.stores(node.id))
        if not isinstance(parent, ast.comprehension) or parent.iter is not inner:
            return False
        return True

    def _is_at_once(self, node: ast.expr) -> bool:
        """Whether an expression is computed where it stands: in generators that are used up there, and no others."""
        inner: ast.AST = node
        while not isinstance(inner, ast.stmt):
            parent = self.parents[inner]
            if isinstance(inner, ast.GeneratorExp):
                is_user = isinstance(parent, ast.Call) and parent.args[:1] == [inner]
                if not (is_user and self._is(parent.func, sum, max, min, any, all, sorted, list, tuple)):  # type: ignore[attr-defined]
                    return False
            inner = parent
        return True

    def _is(self, function: ast.expr, *wanted: object) -> bool:
        return isinstance(function, ast.Name) and is_one(self._resolve(function.id), wanted)

    def _is_of_numpy(self, function: ast.expr) -> bool:
        is_attribute = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
        return is_attribute and function.attr in _READ_WHOLE and self._resolve(function.value.id) is np  # type: ignore[union-attr]

    # Indices

    def index(self, node: ast.Subscript, shape: Shape) -> Index | None:
        """The entries that an index may be of; None where that cannot be told, also not at run time."""
        constant = _constant(node.slice)
        if constant is not None:
            return self._static(constant, shape)
        if not all(isinstance(n, _OF_INDICES) for n in walk(node.slice)):
            return None
        if shape.kind == "dict":
            return self._key(node, shape)
        count = len(shape.keys)
        if self._numbers.is_whole(node.slice) and (bounds := self._bounds(node)) is not None and 0 <= bounds[0] and bounds[1] < count:
            return Index(tuple(range(int(bounds[0]), int(bounds[1]) + 1)))
        return None if self.may_not_run(node) else Index(shape.keys, is_checked=True)

    def _static(self, constant: Any, shape: Shape) -> Index | None:
        if shape.kind != "dict" and type(constant) is int and -len(shape.keys) <= constant < 0:
            constant += len(shape.keys)
        is_one = any(type(key) is type(constant) and key == constant for key in shape.keys)
        return Index((constant,), is_static=True) if is_one else None

    def _key(self, node: ast.Subscript, shape: Shape) -> Index | None:
        """A key of a dict that is no constant."""
        constants = self._numbers.constants_of(node.slice)
        if constants is not None and all(any(type(c) is type(key) and c == key for key in shape.keys) for c in constants):
            return Index(tuple(key for key in shape.keys if key in constants))
        if not all(type(key) is int for key in shape.keys):
            return None
        bounds = self._bounds(node) if self._numbers.is_whole(node.slice) else None
        if bounds is not None and abs(bounds[0]) + abs(bounds[1]) < inf:
            keys = tuple(range(int(bounds[0]), int(bounds[1]) + 1))
            if set(keys) <= set(shape.keys):
                return Index(keys)
        if isinstance(node.ctx, ast.Store) and not isinstance(self.parents.get(node), ast.AugAssign):
            return None  # it may add an entry
        return None if self.may_not_run(node) else Index(shape.keys, is_checked=True)

    def is_whole(self, node: ast.expr) -> bool:
        return self._numbers.is_whole(node)

    def least(self, node: ast.expr) -> float:
        """The least value of an index."""
        bounds = self._numbers.of(node) if self._numbers.is_whole(node) else None
        return -inf if bounds is None else bounds[0]

    def _bounds(self, node: ast.Subscript) -> tuple[float, float] | None:
        """The bounds of an index where it is used: what is true there is one of `index < limit and ...`."""
        bounds = self._numbers.of(node.slice)
        if bounds is None:
            return None
        least, most = bounds
        for test in self.true_at(node):
            least, most = max(least, self._limit(test, node.slice, False)), min(most, self._limit(test, node.slice, True))
        return least, most

    def true_at(self, node: ast.expr) -> list[ast.Compare]:
        """The comparisons before an expression in the same `and`, and the opposites of those in an `or`; nothing has changed since."""
        found: list[ast.Compare] = []
        inner: ast.AST = node
        while inner in self.parents and not isinstance(inner, ast.stmt):
            parent = self.parents[inner]
            if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And):
                found += [v for v in parent.values[: parent.values.index(inner)] if isinstance(v, ast.Compare)]  # type: ignore[arg-type]
            elif isinstance(parent, ast.BoolOp):
                found += [o for v in parent.values[: parent.values.index(inner)] if (o := _opposite(v)) is not None]  # type: ignore[arg-type]
            inner = parent
        return found

    def _limit(self, test: ast.Compare, index: ast.expr, is_upper: bool) -> float:
        """The bound of an index that a comparison gives."""
        end = inf if is_upper else -inf
        if len(test.ops) != 1 or ast.dump(test.left) != ast.dump(index) or not self._numbers.is_whole(test.comparators[0]):
            return end
        bounds, op = self._numbers.of(test.comparators[0]), test.ops[0]
        if bounds is None or not isinstance(op, (ast.Lt, ast.LtE) if is_upper else (ast.Gt, ast.GtE)):
            return end
        return bounds[1] - isinstance(op, ast.Lt) if is_upper else bounds[0] + isinstance(op, ast.Gt)

    def may_not_run(self, node: ast.expr) -> bool:
        """Whether the statement that an expression is in may leave it out, or compute it more than once."""
        inner: ast.AST = node
        if node not in self.parents:
            return True
        while not isinstance(inner, ast.stmt):
            parent = self.parents[inner]
            if isinstance(parent, ast.IfExp) and inner is not parent.test:
                return True
            if isinstance(parent, ast.BoolOp) and inner is not parent.values[0]:
                return True
            if isinstance(parent, ast.Compare) and inner in parent.comparators[1:]:
                return True
            if isinstance(parent, (ast.Lambda, ast.comprehension, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
                return True
            inner = parent
        return isinstance(inner, (ast.While, ast.With, ast.Try, ast.Match, ast.Assert, ast.Raise, ast.FunctionDef, ast.ClassDef))

    def is_decided(self, node: ast.expr) -> bool:
        return not self._decided.names.isdisjoint(reads(node))


_OF_INDICES = (ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Add, ast.Sub, ast.Mult, ast.USub)

# NumPy's functions that read a list and neither keep nor change it.
_READ_WHOLE = frozenset("array asarray stack sum mean prod max min amax amin dot std var argmax argmin cumsum".split())


def _constant(node: ast.expr) -> int | str | None:
    if isinstance(node, ast.Constant) and type(node.value) in (int, str):
        return node.value  # type: ignore[return-value]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return -node.operand.value if type(node.operand.value) is int else None
    return None


def _opposite(node: ast.expr) -> ast.Compare | None:
    """The comparison of whole numbers that is true where another one is not."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or type(node.ops[0]) not in _OPPOSITES:
        return None
    return ast.copy_location(ast.Compare(node.left, [_OPPOSITES[type(node.ops[0])]()], node.comparators), node)


_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt}
