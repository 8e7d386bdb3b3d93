"""Nodes of syntax trees: walks over them, and those that the rewriting makes: calls of the run time, assignments, functions."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar

# The variable that holds what rewritten functions call; no program has a name like this.
RUN_TIME = ".merging"

# So begin the names of copies of arrays, to which a branch may write.
WHOLE = ".whole"

Node = TypeVar("Node", bound=ast.AST)

# Statements and expressions have a place; other nodes have none.
Placed: TypeAlias = ast.stmt | ast.expr


# Fields that hold no nodes; Load, Store and Del are left out of all walks.
_NO_NODES = frozenset("ctx id attr kind type_comment level module asname simple is_async conversion rest lineno".split())


# What expressions of numbers are made of.
ARITHMETIC = (ast.Constant, ast.Name, ast.UnaryOp, ast.USub, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv)


class _Fields(dict[type, tuple[str, ...]]):
    """By the type of a node, the fields that may hold others."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        found = () if kind is ast.Constant else tuple(name for name in kind._fields if name not in _NO_NODES)
        return self.setdefault(kind, found)


_FIELDS = _Fields()


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes that a node holds, in their order."""
    found: list[ast.AST] = []
    known = node.__dict__
    for name in _FIELDS[type(node)]:
        value = known.get(name)
        if type(value) is list:
            found += [part for part in value if isinstance(part, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all in it; as ast.walk, in a quarter of its time."""
    found = [node]
    fields = _FIELDS
    for part in found:
        if names := fields[type(part)]:
            known = part.__dict__
            for name in names:
                value = known.get(name)
                if type(value) is list:
                    found += [inner for inner in value if isinstance(inner, ast.AST)]
                elif isinstance(value, ast.AST):
                    found.append(value)
    return found


class Transformer:
    """As ast.NodeTransformer, in a third of its time."""

    _visitors: ClassVar[dict[type, str]] = {}

    def __init_subclass__(cls) -> None:
        cls._visitors = {getattr(ast, name[6:]): name for base in cls.__mro__ for name in vars(base) if name.startswith("visit_")}

    def visit(self, node: ast.AST) -> Any:
        """What takes the place of a node: one, or for a statement a list of them."""
        name = self._visitors.get(type(node))
        return self.generic_visit(node) if name is None else getattr(self, name)(node)

    def generic_visit(self, node: ast.AST) -> Any:
        """The node, with others in the place of those that it holds."""
        known = node.__dict__
        for name in _FIELDS[type(node)]:
            value = known.get(name)
            if type(value) is list:
                made: list[Any] = []
                for part in value:
                    new = self.visit(part) if isinstance(part, ast.AST) else part
                    if type(new) is list:
                        made += new
                    else:
                        made.append(new)
                value[:] = made
            elif isinstance(value, ast.AST):
                known[name] = self.visit(value)
        return node


def near(node: Node, other: Placed) -> Node:
    """The node, and those in it that have no place yet, at the place of another one."""
    at = {name: value for name in _PLACE if (value := getattr(other, name, None)) is not None}
    pending: list[ast.AST] = [node]
    while pending:
        part = pending.pop()
        if "lineno" in part._attributes:
            known = part.__dict__
            if "lineno" not in known:
                known.update(at)
            elif part is not node:
                continue
        pending += children(part)
    return node


def with_places(node: Node) -> Node:
    """The node; all in it that has no place has that of what it stands in, as compile wants it."""
    pending: list[tuple[ast.AST, dict[str, int]]] = [(node, {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0})]
    while pending:
        part, at = pending.pop()
        known = part.__dict__
        if "lineno" in known:
            # What is written within it may end later.
            at = {name: known[name] for name in _PLACE if known.get(name) is not None}
        elif "lineno" in part._attributes:
            known.update(at)
        pending += [(inner, at) for inner in children(part)]
    return node


_PLACE = ("lineno", "col_offset", "end_lineno", "end_col_offset")


def copied(node: Node) -> Node:
    """A copy of a node and all in it; several times faster than copy.deepcopy."""
    made = type(node).__new__(type(node))
    known = made.__dict__
    known.update(node.__dict__)
    for name in _FIELDS[type(node)]:
        value = known.get(name)
        if type(value) is list:
            known[name] = [copied(part) if isinstance(part, ast.AST) else part for part in value]
        elif isinstance(value, ast.AST):
            known[name] = copied(value)
    return made


def call(name: str, args: Sequence[ast.expr], at: Placed) -> ast.Call:
    """A call of the run time."""
    function = ast.copy_location(ast.Attribute(ast.Name(RUN_TIME, ast.Load()), name, ast.Load()), at)
    if hasattr(at, "lineno"):
        # Python says that a method is called at the line where its name ends.
        function.end_lineno, function.end_col_offset = at.lineno, at.col_offset + 1
    return near(ast.Call(function, list(args), []), at)


def is_call_of_run_time(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == RUN_TIME


def is_entry(node: ast.Call) -> bool:
    """Whether a call of the run time gives an entry of an array or list."""
    return is_call_of_run_time(node) and isinstance(node.func, ast.Attribute) and node.func.attr.startswith("entry_")


def is_appended(node: ast.Call) -> bool:
    """Whether a call of the run time gives the value that a list gets."""
    return is_call_of_run_time(node) and isinstance(node.func, ast.Attribute) and node.func.attr == "appended"


def is_of_arrays(node: ast.Call) -> bool:
    """Whether a call of the run time gives a copy of an array, which is no number."""
    return is_call_of_run_time(node) and isinstance(node.func, ast.Attribute) and node.func.attr in ("whole", "fresh", "put")


def is_least_at(function: ast.expr) -> bool:
    """Whether a function is that of the run time which tells where the least of some values is: as argmin, it only reads them."""
    if not isinstance(function, ast.Attribute) or function.attr != "least_at":
        return False
    return isinstance(function.value, ast.Name) and function.value.id == RUN_TIME


def is_helper(node: ast.Call) -> bool:
    """Whether a call of the run time gives a function with its branches merged."""
    return isinstance(node.func, ast.Attribute) and node.func.attr == "helper"


def load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def assign(name: str, value: ast.expr, at: Placed) -> ast.stmt:
    return near(ast.Assign([ast.Name(name, ast.Store())], value), at)


def branch(test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], at: ast.stmt) -> ast.If:
    """An `if`; a side may be empty."""
    return near(ast.copy_location(ast.If(test, body or [ast.Pass()], orelse), at), at)


def negation(flags: Sequence[str], at: ast.expr) -> ast.expr:
    """Whether none of some variables is true."""
    parts: list[ast.expr] = [ast.UnaryOp(ast.Not(), load(name)) for name in flags]
    made = parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)
    return near(ast.copy_location(made, at), at)


def placeholder() -> ast.expr:
    """A number that no answer depends on, for a variable that has no value yet."""
    return ast.Attribute(load(RUN_TIME), "nothing", ast.Load())


def is_placeholder(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "nothing" and isinstance(node.value, ast.Name) and node.value.id == RUN_TIME


def names_tuple(names: Sequence[str], context: ast.expr_context) -> ast.Tuple:
    return ast.Tuple([ast.Name(name, context) for name in names], context)


def place(node: Placed, *form: int) -> ast.expr:
    """Line and column, and what form is meant, as an argument of the run time."""
    return ast.Tuple([*map(ast.Constant, (node.lineno, node.col_offset, *form))], ast.Load())


def whole_number(node: ast.expr) -> int | None:
    """A whole number that is written out."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        found = whole_number(node.operand)
        return None if found is None else -found
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def extent(node: ast.expr) -> tuple[int, ...]:
    """The place of an expression, kept by its copies."""
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def function_node(name: str, arguments: ast.arguments, body: list[ast.stmt], at: Placed) -> ast.FunctionDef:
    made = ast.FunctionDef(name, arguments, body, [], None)
    if sys.version_info >= (3, 12):
        made.type_params = []
    return near(ast.copy_location(made, at), at)


def positional(names: Sequence[str]) -> ast.arguments:
    """Parameters of these names."""
    return ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])


# No line is so long: expressions that choose one of the entries of a container end beyond this, each elsewhere.
BEYOND_LINES = 1_000_000


def is_index(node: ast.expr, is_length: Callable[[ast.Call], bool]) -> bool:
    """Whether an index is made of variables, ints and lengths, by arithmetic that gives an int for any ints.

    Args:
        is_length: whether a call is of the built-in len.
    """
    pending: list[ast.AST] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Call):
            if not is_length(part):
                return False
            continue
        if isinstance(part, ast.Constant) and type(part.value) is not int:
            return False
        if isinstance(part, ast.BinOp) and isinstance(part.op, (ast.Mod, ast.FloorDiv)):
            divisor = part.right
            if not (isinstance(divisor, ast.Call) or (isinstance(divisor, ast.Constant) and divisor.value != 0)):
                return False
        elif not isinstance(part, _OF_INDICES):
            return False
        pending += children(part)
    return True


_OF_INDICES = (
    ast.Name, ast.Load, ast.Constant, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.Add, ast.Sub, ast.Mult, ast.Mod, ast.FloorDiv, ast.USub,
)  # fmt: skip
