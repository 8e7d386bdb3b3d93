"""Variables that are None until something is found: a flag of their own tells whether they are, so that data may decide on it.

```
best = None                              best, best.none = 1.0, True
for v in x:                              for v in x:
    if best is None or v > best:             if best.none or v > best:
        best = v                                 best, best.none = v, v is None
return best * scale                      return (best if not best.none else None) * scale
```
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from ...nodes import Transformer, load, names_tuple, near, placeholder, walk
from ...variables import NONE, Names, assigned, blocks_of
from ..exits.jumps import EXITS, has_jump
from .static_values import pairs, stored


class NoneFlags:
    """Gives flags to the variables that are None at times.

    Args:
        names: the variables that no other function sees.
    """

    def __init__(self, names: Names) -> None:
        self._names = names

    def of_function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of a function, with flags."""
        if not any(isinstance(n, ast.Constant) and n.value is None for statement in body for n in walk(statement)):
            return body
        found = {name for name, values in stored(body, self._names).items() if 0 < sum(map(_is_none, values)) < len(values)}
        return _Flagged(frozenset(found)).block(body, NONE)[0] if found else body


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _asks(node: ast.AST) -> bool:
    """Whether a node asks whether a variable is None, or not."""
    return (
        isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and len(node.ops) == 1
        and isinstance(node.ops[0], (ast.Is, ast.IsNot)) and _is_none(node.comparators[0])
    )  # fmt: skip


def _flag(name: str) -> str:
    return f".none.{name}"


# What is known after statements: the variables that are not None; None where they are left.
Known = Names | None


class _Flagged:
    """Rewrites statements, and follows which of the variables are surely not None."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def block(self, body: Sequence[ast.stmt], known: Known) -> tuple[list[ast.stmt], Known]:
        made: list[ast.stmt] = []
        for statement in body:
            new, known = self._statement(statement, known if known is not None else NONE)
            made += new
        return made, known

    def _statement(self, node: ast.stmt, known: Names) -> tuple[list[ast.stmt], Known]:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            return self._assign(node, known)
        if isinstance(node, ast.If):
            true, false = self._facts(node.test)
            node.test = self._expression(node.test, known)
            node.body, first = self.block(node.body, known | true)
            node.orelse, second = self.block(node.orelse, known | false)
            return [node], second if first is None else first if second is None else first & second
        if isinstance(node, (ast.For, ast.While)):
            return [node], self._loop(node, known)
        if not blocks_of(node):
            _Loads(self._names, known, set()).visit(node)
            return [node], None if isinstance(node, (ast.Return, ast.Raise, *EXITS)) else known
        # Others may be left in the middle.
        return [node], self._compound(node, known - assigned([node]))

    def _loop(self, node: ast.For | ast.While, known: Names) -> Names:
        if isinstance(node, ast.For):
            node.iter, node.target = self._expression(node.iter, known), self._expression(node.target, NONE)
        known = known - (assigned(node.body) - (known & self._always_found(node.body)))
        true, false = self._facts(node.test) if isinstance(node, ast.While) else (NONE, NONE)
        if isinstance(node, ast.While):
            node.test = self._expression(node.test, known)
        leaves = has_jump(node.body, (ast.Break,))
        node.body, _ = self.block(node.body, known | true)
        node.orelse, after = self.block(node.orelse, known | false)
        return known & after if leaves and after is not None else known if leaves or after is None else after

    def _always_found(self, body: Sequence[ast.stmt]) -> Names:
        """The variables to which statements assign nothing that is written as None, or is a variable that may be."""
        may_be = lambda value: _is_none(value) or self._is_flagged(value)  # noqa: E731 -- used in the next line
        return frozenset(name for name, values in stored(body, self._names).items() if not any(map(may_be, values)))

    def _compound(self, node: ast.stmt, known: Names) -> Names:
        """A `with`, `try`, `match` or function, of which nothing is known but what it cannot change."""
        blocks = {id(statement) for block in blocks_of(node) for statement in block}
        _Loads(self._names, known, blocks).visit(node)
        for block in blocks_of(node):
            block[:] = self.block(block, known)[0]
        return known

    def _assign(self, node: ast.Assign | ast.AnnAssign, known: Names) -> tuple[list[ast.stmt], Known]:
        if node.value is None:
            return [node], known
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        # A variable that is given to another one is so with its flag.
        copied = {id(value) for name, value in pairs(target, node.value) if name.id in self._names and self._is_flagged(value)}
        _Loads(self._names, known, copied).visit(node)
        flags: list[str] = []
        values: list[ast.expr] = []
        for name, value in pairs(target, node.value):
            if name.id not in self._names:
                continue
            flags.append(_flag(name.id))
            if _is_none(value):
                _replace(node, value)
                values.append(ast.Constant(True))
            elif isinstance(value, ast.Name) and id(value) in copied and value.id not in known:
                values.append(load(_flag(value.id)))
            else:
                is_none = ast.Compare(load(name.id), [ast.Is()], [ast.Constant(None)])
                values.append(is_none if _may_be_none(value) else ast.Constant(False))
                # If it is None here, so is the variable: it is never asked for the placeholder.
                known |= {name.id}
                continue
            known -= {name.id}
        if not flags:
            return [node], known
        is_one = len(flags) == 1
        new: ast.expr = ast.Name(flags[0], ast.Store()) if is_one else names_tuple(flags, ast.Store())
        made = ast.Assign([new], values[0] if is_one else ast.Tuple(values, ast.Load()))
        return [node, near(ast.copy_location(made, node), node)], known

    def _is_flagged(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self._names

    def _expression(self, node: ast.expr, known: Names) -> ast.expr:
        return _Loads(self._names, known, set()).visit(node)

    def _facts(self, test: ast.expr) -> tuple[Names, Names]:
        return facts(test, self._names)


def facts(test: ast.expr, names: Names) -> tuple[Names, Names]:
    """The variables that are not None where a condition holds, and where it does not."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        true, false = facts(test.operand, names)
        return false, true
    if isinstance(test, ast.BoolOp):
        parts = [facts(value, names) for value in test.values]
        if isinstance(test.op, ast.And):
            return _union(true for true, _ in parts), NONE
        return NONE, _union(false for _, false in parts)
    if isinstance(test, ast.Compare) and _asks(test) and isinstance(test.left, ast.Name) and test.left.id in names:
        found = frozenset([test.left.id])
        return (NONE, found) if isinstance(test.ops[0], ast.Is) else (found, NONE)
    return NONE, NONE


def _union(parts: Iterable[Names]) -> Names:
    return NONE.union(*parts)


def _may_be_none(value: ast.expr) -> bool:
    return not isinstance(value, (ast.BinOp, ast.UnaryOp, ast.Constant, ast.Compare))


def _replace(node: ast.Assign | ast.AnnAssign, value: ast.expr) -> None:
    """Replace one None among the values of an assignment."""
    new = near(placeholder(), value)
    if node.value is value:
        node.value = new
    else:
        assert isinstance(node.value, ast.Tuple)
        node.value.elts = [new if e is value else e for e in node.value.elts]


class _Loads(Transformer):
    """Reads of variables that may be None, in an expression.

    Args:
        known: those that are not.
        left: the identities of statements that are left alone.
    """

    def __init__(self, names: Names, known: Names, left: set[int]) -> None:
        self._names, self._known, self._left = names, known, left

    def visit(self, node: ast.AST) -> Any:
        return node if id(node) in self._left else super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self._names or node.id in self._known or not isinstance(node.ctx, ast.Load):
            return node
        is_found = ast.UnaryOp(ast.Not(), load(_flag(node.id)))
        return near(ast.copy_location(ast.IfExp(is_found, node, ast.Constant(None)), node), node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if not (_asks(node) and isinstance(node.left, ast.Name) and node.left.id in self._names):
            return self.generic_visit(node)
        flag = load(_flag(node.left.id))
        made = flag if isinstance(node.ops[0], ast.Is) else ast.UnaryOp(ast.Not(), flag)
        return near(ast.copy_location(made, node), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        before, values = self._known, []
        for value in node.values:
            true, false = facts(value, self._names)
            values.append(self.visit(value))
            self._known |= true if isinstance(node.op, ast.And) else false
        self._known, node.values = before, values
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        before, (true, false) = self._known, facts(node.test, self._names)
        node.test = self.visit(node.test)
        self._known = before | true
        node.body = self.visit(node.body)
        self._known = before | false
        node.orelse = self.visit(node.orelse)
        self._known = before
        return node
