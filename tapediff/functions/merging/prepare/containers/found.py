"""How expressions make lists, dicts and objects: the value of each of their entries or attributes."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import NamedTuple, TypeAlias

from .....ir.instruction import Tree
from ...nodes import Transformer, copied, walk
from ...uses.kinds import is_one
from ..states.static_values import pairs
from .records import RecordClass, arguments_of, record_class

Key: TypeAlias = int | str

# Longer ones stay what they are: each access at an index that data decides on goes through all of them.
MOST_ENTRIES = 12


class Shape(NamedTuple):
    """What a variable holds: always entries, or attributes, of these names.

    Attributes:
        kind: "list", "tuple", "dict" or "object".
        keys: of the entries in their order, or the attributes.
        inner: the length of the tuples that all entries are; 0 where they are any values.
        record: the class of the object; None for a namespace, and all else.
        made_by: the expression of this class.
    """

    kind: str
    keys: tuple[Key, ...]
    inner: int = 0
    record: RecordClass | None = None
    made_by: str = ""

    @property
    def may_change(self) -> bool:
        return not self.inner and self.kind != "tuple" and not (self.record is not None and self.record.is_frozen)


def variable(name: str, key: Key, shape: Shape, part: int | None = None) -> str:
    """The variable for an entry or attribute, or for one of the tuple that an entry is."""
    text = f".{name}:{key}" if shape.kind == "object" else f".{name}[{key!r}]"
    return text if part is None else f"{text}[{part}]"


class Made(NamedTuple):
    """How an expression makes one: the value of each entry or attribute, in the order in which they are computed.

    Attributes:
        read: the variables whose containers are copied, gone over, or the same.
    """

    shape: Shape
    values: tuple[tuple[Key, ast.expr], ...]
    read: tuple[ast.Name, ...] = ()


@dataclass
class Makers:
    """Tells how expressions make containers.

    Args:
        resolve: the object that a name stands for; None for variables.
        shapes: of the variables that are known to hold one.
        value: the expression for an entry or attribute of a variable.
    """

    resolve: Callable[[str], object]
    shapes: dict[str, Shape]
    value: Callable[[str, Key], ast.expr]

    def made(self, node: ast.expr) -> Made | None:
        """How an expression makes a list, dict or object; None if it does not, or its entries are not known."""
        if isinstance(node, ast.Name) and node.id in self.shapes:
            return Made(self.shapes[node.id], self._all_of(node.id), (node,))
        if isinstance(node, (ast.List, ast.Tuple)):
            return self._sequence("list" if isinstance(node, ast.List) else "tuple", node.elts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return self._repeated(node)
        if isinstance(node, ast.ListComp):
            return self._comprehension(node)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            is_all = not (node.slice.lower or node.slice.upper or node.slice.step)
            return self._copy(node.value, ("list", "tuple")) if is_all else None
        if isinstance(node, ast.Dict):
            keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            return self._dict(keys, node.values) if len(keys) == len(node.keys) else None
        return self._call(node) if isinstance(node, ast.Call) else None

    def _all_of(self, name: str) -> tuple[tuple[Key, ast.expr], ...]:
        return tuple((key, self.value(name, key)) for key in self.shapes[name].keys)

    def _sequence(self, kind: str, values: Sequence[ast.expr]) -> Made | None:
        if not 0 < len(values) <= MOST_ENTRIES or any(isinstance(v, ast.Starred) for v in values):
            return None
        lengths = {len(v.elts) if isinstance(v, ast.Tuple) and not _has_star(v) else 0 for v in values}
        shape = Shape(kind, tuple(range(len(values))), lengths.pop() if len(lengths) == 1 else 0)
        return Made(shape, tuple(enumerate(values)))

    def _repeated(self, node: ast.BinOp) -> Made | None:
        """[c] * n, of constants and variables, which are computed once."""
        parts, count = (node.left, node.right) if isinstance(node.left, ast.List) else (node.right, node.left)
        if not isinstance(parts, ast.List) or not (isinstance(count, ast.Constant) and type(count.value) is int):
            return None
        if not all(isinstance(e, ast.Name) or _is_constant(e) for e in parts.elts):
            return None
        return self._sequence("list", [copied(e) for _ in range(min(count.value, MOST_ENTRIES + 1)) for e in parts.elts])

    def _dict(self, keys: Sequence[Tree], values: Sequence[ast.expr]) -> Made | None:
        if not 0 < len(keys) <= MOST_ENTRIES or len(set(keys)) < len(keys):
            return None
        if {type(key) for key in keys} not in ({int}, {str}):
            return None
        return Made(Shape("dict", tuple(keys)), tuple(zip(keys, values)))

    def _copy(self, node: ast.expr, kinds: tuple[str, ...], to: str = "") -> Made | None:
        if not (isinstance(node, ast.Name) and node.id in self.shapes):
            return None
        shape = self.shapes[node.id]
        return Made(shape._replace(kind=to or shape.kind), self._all_of(node.id), (node,)) if shape.kind in kinds else None

    def _call(self, node: ast.Call) -> Made | None:
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "copy" and not node.args and not node.keywords:
            return self._copy(function.value, ("list", "dict"))
        if isinstance(function, ast.Attribute) and function.attr == "_replace" and not node.args:
            return self._changed(node, function.value)
        found = self._found(function)
        if is_one(found, _CONVERSIONS) and len(node.args) == 1 and not node.keywords:
            kinds = ("dict",) if found is dict else ("list", "tuple")
            return self._copy(node.args[0], kinds, found.__name__)
        if found is dataclasses.replace and len(node.args) == 1:
            return self._changed(node, node.args[0])
        names = [k.arg for k in node.keywords if k.arg is not None]
        if (found is dict or found is SimpleNamespace) and not node.args and len(names) == len(node.keywords):
            made = self._dict(names, [k.value for k in node.keywords])
            is_object = made is not None and found is SimpleNamespace
            return Made(made.shape._replace(kind="object"), made.values) if made is not None and is_object else made
        record = record_class(found)
        return None if record is None else self._record(node, record)

    def _found(self, function: ast.expr) -> Tree:
        """The object that a function's name stands for, also in a module."""
        if isinstance(function, ast.Name):
            return self.resolve(function.id)
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            module = self.resolve(function.value.id)
            return vars(module).get(function.attr) if isinstance(module, ModuleType) else None
        return None

    def _record(self, node: ast.Call, record: RecordClass) -> Made | None:
        given = arguments_of(node, record)
        if given is None or not 0 < len(record.values) <= MOST_ENTRIES:
            return None
        shape = Shape("object", record.attributes, 0, record, ast.unparse(node.func))
        attribute_of = {value.id: name for name, value in record.values if isinstance(value, ast.Name)}
        # In the order of the arguments, each of which is one attribute.
        computed = [(attribute_of[argument], value) for argument, value in given.items()]
        constants = [(name, copied(value)) for name, value in record.values if not isinstance(value, ast.Name)]
        return Made(shape, (*computed, *constants))

    def _changed(self, node: ast.Call, of: ast.expr) -> Made | None:
        """dataclasses.replace(state, x=...), or state._replace(x=...)."""
        if not (isinstance(of, ast.Name) and of.id in self.shapes):
            return None
        shape = self.shapes[of.id]
        given = {k.arg: k.value for k in node.keywords if k.arg is not None}
        if shape.record is None or not (shape.record.is_tuple if not node.args else shape.record.can_be_replaced):
            return None
        if len(given) < len(node.keywords) or not given.keys() <= set(shape.keys):
            return None
        kept = [(key, self.value(of.id, key)) for key in shape.keys if key not in given]
        return Made(shape, (*given.items(), *kept), (of,))

    def _comprehension(self, node: ast.ListComp) -> Made | None:
        """[expression for name in entries], computed one after the other."""
        if len(node.generators) != 1 or node.generators[0].ifs or node.generators[0].is_async:
            return None
        part = node.generators[0]
        turns = self.turns(part.iter)
        if turns is None or not 0 < len(turns) <= MOST_ENTRIES or any(isinstance(n, _SCOPES) for n in walk(node.elt)):
            return None
        values: list[ast.expr] = []
        for turn in turns:
            given = matched(part.target, turn)
            if given is None:
                return None
            values.append(Put(given).visit(copied(node.elt)))
        made = self._sequence("list", values)
        read = tuple(n for n in walk(part.iter) if isinstance(n, ast.Name) and n.id in self.shapes)
        return None if made is None else made._replace(read=read)

    def turns(self, node: ast.expr) -> list[ast.expr] | None:
        """The elements that a loop goes over, where these are known; None where they are not."""
        if isinstance(node, ast.Name) and node.id in self.shapes and self.shapes[node.id].kind in ("list", "tuple"):
            return [value for _, value in self._all_of(node.id)]
        if not isinstance(node, ast.Call) or node.keywords or not node.args:
            return None
        found = self._found(node.func)
        if found is range and len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and type(node.args[0].value) is int:
            return [ast.Constant(k) for k in range(min(node.args[0].value, MOST_ENTRIES + 1))]
        if found is not zip and found is not enumerate:
            return None
        columns = [column for column in map(self.turns, node.args) if column is not None]
        if len(columns) < len(node.args) or (found is enumerate and len(columns) > 1):
            return None
        if found is enumerate:
            columns = [[ast.Constant(k) for k in range(len(columns[0]))], *columns]
        return [ast.Tuple(list(row), ast.Load()) for row in zip(*columns)]


_CONVERSIONS: tuple[Tree, ...] = (list, tuple, dict)

_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr)


def _is_constant(node: ast.expr) -> bool:
    """Whether an expression is a constant, also a negative one."""
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _has_star(node: ast.Tuple) -> bool:
    return any(isinstance(e, ast.Starred) for e in node.elts)


def matched(target: ast.expr, value: ast.expr) -> dict[str, ast.expr] | None:
    """The variables of a target with their values; None where that is not known."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) != len(value.elts):
        return None
    found = {name.id: part for name, part in pairs(target, value)}
    count = len(target.elts) if isinstance(target, ast.Tuple) else 1
    return found if len(found) == count else None


class Put(Transformer):
    """Puts expressions in the place of variables."""

    def __init__(self, given: dict[str, ast.expr]) -> None:
        self._given = given

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(copied(self._given[node.id]), node) if node.id in self._given else node
