"""What is known of the entries of lists of containers: which one an index is of, what a loop or comprehension goes over."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from ....nodes import BEYOND_LINES, Transformer, copied, load, near, walk
from ....uses.kinds import is_one
from ....variables import reads
from ..found import Key, Put, matched
from ..scope import Scope

# Longer loops are not written out.
MOST_TURNS = 400

Node = TypeVar("Node", bound=ast.AST)


class Entry(NamedTuple):
    """One entry: what it is read by, the variable for it, and the expression that makes it."""

    key: Key
    variable: str
    value: ast.expr


Entries: TypeAlias = dict[str, list[Entry]]


class KnownEntries:
    """The entries of the lists of one function.

    Args:
        lists: by variable, the entries.
        constants: variables that are an int everywhere.
        dicts: the variables whose entries have keys.
    """

    def __init__(self, lists: Entries, constants: Mapping[str, int], dicts: frozenset[str], scope: Scope) -> None:
        self.lists, self._constants, self._dicts, self._scope = lists, constants, dicts, scope
        self._count = 0

    def unique(self, node: Node) -> Node:
        """A node whose parts are told apart from those of others like it."""
        for part in walk(node):
            if isinstance(part, (ast.Call, ast.IfExp, ast.BinOp, ast.Subscript, ast.Compare)) and hasattr(part, "lineno"):
                self._count += 1
                part.end_col_offset = 5 * BEYOND_LINES + self._count
        return node


    def integer(self, node: ast.expr | None) -> int | None:
        """The value of an expression of constants and lengths."""
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int else None
        if isinstance(node, ast.Name):
            return self._constants.get(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.integer(node.operand)
            return None if inner is None else -inner
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Mod)):
            left, right = self.integer(node.left), self.integer(node.right)
            if left is None or right is None or (isinstance(node.op, ast.Mod) and right < 1):
                return None
            if isinstance(node.op, ast.Mod):
                return left % right
            return left + right if isinstance(node.op, ast.Add) else left - right if isinstance(node.op, ast.Sub) else left * right
        if isinstance(node, ast.Call) and self.is_call(node, len) and len(node.args) == 1:
            of = node.args[0]
            return len(self.lists[of.id]) if isinstance(of, ast.Name) and of.id in self.lists else None
        return None

    def is_call(self, node: ast.expr, *functions: object) -> bool:
        is_plain = isinstance(node, ast.Call) and not node.keywords and isinstance(node.func, ast.Name)
        return is_plain and is_one(self._scope.resolve(node.func.id), functions)  # type: ignore[union-attr]

    def elements(self, node: ast.expr) -> list[ast.expr] | None:
        """What a loop goes over, where that is known."""
        if isinstance(node, ast.Name) and node.id in self.lists:
            entries = self.lists[node.id]
            return [ast.Constant(e.key) for e in entries] if node.id in self._dicts else [load(e.variable) for e in entries]
        if isinstance(node, (ast.Tuple, ast.List)):
            return list(node.elts) if all(isinstance(e, ast.Constant) for e in node.elts) else None
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            return self._section(node.value, node.slice)
        if not isinstance(node, ast.Call) or node.keywords:
            return None
        if isinstance(node.func, ast.Attribute):
            return self._of_dict(node.func, node.args)
        if self.is_call(node, range) and 1 <= len(node.args) <= 3:
            parts = [self.integer(a) for a in node.args]
            numbers = None if None in parts or parts[2:] == [0] else range(*parts)  # type: ignore[arg-type]  # ints
            return [ast.Constant(k) for k in numbers] if numbers is not None and len(numbers) < MOST_TURNS else None
        columns = [self.elements(a) for a in node.args]
        if not columns or None in columns:
            return None
        known = [column for column in columns if column is not None]
        if self.is_call(node, enumerate) and len(known) == 1:
            return [ast.Tuple([ast.Constant(k), part], ast.Load()) for k, part in enumerate(known[0])]
        if self.is_call(node, reversed) and len(known) == 1:
            return known[0][::-1]
        return [ast.Tuple(list(row), ast.Load()) for row in zip(*known)] if self.is_call(node, zip) else None

    def _section(self, of: ast.expr, node: ast.Slice) -> list[ast.expr] | None:
        parts = [self.integer(part) for part in (node.lower, node.upper, node.step)]
        are_known = all((given is None) == (part is None) for given, part in zip((node.lower, node.upper, node.step), parts))
        is_list = isinstance(of, ast.Name) and of.id in self.lists and of.id not in self._dicts
        if not is_list or not are_known or parts[2] == 0:
            return None
        return (self.elements(of) or [])[slice(*parts)]

    def _of_dict(self, function: ast.Attribute, arguments: Sequence[ast.expr]) -> list[ast.expr] | None:
        """entries.values(), and the like"""
        of = function.value
        if arguments or not (isinstance(of, ast.Name) and of.id in self.lists and of.id in self._dicts):
            return None
        keys: list[ast.expr] = [ast.Constant(e.key) for e in self.lists[of.id]]
        values: list[ast.expr] = [load(e.variable) for e in self.lists[of.id]]
        both: list[ast.expr] = [ast.Tuple([k, v], ast.Load()) for k, v in zip(keys, values)]
        return {"keys": keys, "values": values, "items": both}.get(function.attr)

    def entry(self, node: ast.Subscript) -> ast.expr | None:
        """The variable for an entry of a list; None where it is not known which one."""
        assert isinstance(node.value, ast.Name)
        entries = self.lists[node.value.id]
        if node.value.id in self._dicts:
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            found = [e for e in entries if type(e.key) is type(key) and e.key == key]
            return load(found[0].variable) if found else None
        k = self.integer(node.slice)
        return load(entries[k].variable) if k is not None and -len(entries) <= k < len(entries) else None

    def over(self, node: ast.ListComp | ast.GeneratorExp) -> ast.List | None:
        """The values of a comprehension over a list, as a list."""
        (part,) = node.generators if len(node.generators) == 1 else [None]
        if part is None or part.ifs or part.is_async or self.lists.keys().isdisjoint(reads(part.iter)):
            return None
        turns = self.elements(part.iter)
        if turns is None or any(isinstance(n, (ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.NamedExpr)) for n in walk(node.elt)):
            return None
        values: list[ast.expr] = []
        for turn in turns:
            given = matched(part.target, turn)
            if given is None:
                return None
            value = Put(given).visit(copied(node.elt))
            self.unique(value)
            values.append(value)
        return near(ast.copy_location(ast.List(values, ast.Load()), node), node)


class AsVariables(Transformer):
    """Entries in an expression as variables, and comprehensions over lists as lists."""

    def __init__(self, known: KnownEntries) -> None:
        self._known, self._lists = known, known.lists

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self._lists and isinstance(node.ctx, ast.Load):
            found = self._known.entry(node)
            if found is not None:
                return near(ast.copy_location(found, node), node)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        length = self._known.integer(node)
        if length is not None:
            return ast.copy_location(ast.Constant(length), node)
        is_whole = self._known.is_call(node, sum, min, max, list, tuple, sorted)
        if node.args and isinstance(of := node.args[0], ast.GeneratorExp) and (is_whole or self._known.is_call(node, any, all)):
            # The last ones may not be asked for what fails, or has effects.
            if (is_whole or not any(isinstance(n, _MAY_FAIL) for n in walk(of.elt))) and (made := self._known.over(of)) is not None:
                is_extreme = self._known.is_call(node, min, max) and len(node.args) == 1 and len(made.elts) > 1
                node.args = list(made.elts) if is_extreme else [made, *node.args[1:]]
        return self.generic_visit(node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        made = self._known.over(node)
        return self.generic_visit(node if made is None else made)


_MAY_FAIL = (ast.Call, ast.Subscript, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
