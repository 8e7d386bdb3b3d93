"""Expressions: Python's operations become calls of `operators`, under the name `_flow_`."""

from __future__ import annotations

import ast
import copy
import sys
from collections.abc import Callable
from typing import TypeVar

from .scopes import Comprehension, has_yield, own_nodes

_Node = TypeVar("_Node", bound=ast.AST)

OPERATORS = "_flow_"
RIGHT, LEFT = "_right_", "_left_"

ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow",
    ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "lshift", ast.RShift: "rshift",
}  # fmt: skip
_OF_TYPES = frozenset("mul truediv floordiv mod pow lshift rshift".split())
_IDENTITY: dict[type[ast.cmpop], str] = {ast.Is: "is_", ast.IsNot: "is_not", ast.In: "in_", ast.NotIn: "not_in"}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", **_IDENTITY,
}  # fmt: skip

# Called from the user's own frame, which they inspect.
FRAME_FUNCTIONS = frozenset(("locals", "vars", "dir", "eval", "exec", "globals", "breakpoint", "__import__"))


def operator(name: str) -> ast.expr:
    """A name in operators.py."""
    return ast.Attribute(ast.Name(OPERATORS, ast.Load()), name, ast.Load())


def operator_call(name: str, *args: ast.expr) -> ast.Call:
    """A call of an operator."""
    return ast.Call(operator(name), list(args), [])


def kept(value: ast.expr, name: str) -> ast.expr:
    """Keep an expression's value under a name, for the next operation."""
    return value if isinstance(value, ast.Constant) else ast.NamedExpr(ast.Name(name, ast.Store()), value)


def again(value: ast.expr, name: str) -> ast.expr:
    """The value that `kept` has kept."""
    return copy.copy(value) if isinstance(value, ast.Constant) else ast.Name(name, ast.Load())


def text(value: str) -> ast.Constant:
    """A constant string."""
    return ast.Constant(value)


def of_types(op: ast.operator) -> list[ast.expr]:
    """The name of an operation that depends on number types, for errors, signed zeros and integer overflow."""
    name = ARITHMETIC[type(op)]
    return [text(name)] if name in _OF_TYPES else []


def at(made: _Node, node: ast.AST) -> _Node:
    """Give a node another one's location."""
    return ast.copy_location(made, node)


class NotTranslated(Exception):
    """A function that Python runs itself, with the reason."""


class Expressions(ast.NodeTransformer):
    """Translates expressions. Statements that they need go to `before`, for the enclosing statement.

    Args:
        function_of: translates a function's body; see Functions.
    """

    def __init__(self, function_of: Callable[..., ast.FunctionDef], first_parameter: str | None, name_of: Callable[[str, ast.AST], str],
                 in_class: bool = False) -> None:  # fmt: skip
        self._function_of, self._first, self._name_of, self._in_class = function_of, first_parameter, name_of, in_class
        self.before: list[ast.stmt] = []

    def delayed(self, node: ast.expr) -> ast.expr:
        """A function without arguments that evaluates an expression."""
        if isinstance(node, ast.Constant):
            return ast.copy_location(ast.Lambda(parameters_of(), node), node)
        if not _has_walrus(node):
            return ast.copy_location(ast.Lambda(parameters_of(), self.visit(node)), node)
        name = self._name_of("part", node)
        self.before.append(self._function_of(name, parameters_of(), [ast.Return(node)], node))
        return ast.Name(name, ast.Load())

    def test(self, node: ast.expr) -> ast.expr:
        """An expression used for its truth only; evaluates the truth of each part once."""
        if isinstance(node, ast.BoolOp) and not self._stays(node):
            name = "all_hold" if isinstance(node.op, ast.And) else "one_holds"
            return ast.copy_location(operator_call(name, self.test(node.values[0]), *map(self.delayed_test, node.values[1:])), node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ast.copy_location(operator_call("not_", self.test(node.operand)), node)
        return self.visit(node)

    def delayed_test(self, node: ast.expr) -> ast.expr:
        """A function without arguments that evaluates a test."""
        if _has_walrus(node):
            return self.delayed(node)
        return ast.copy_location(ast.Lambda(parameters_of(), self.test(node)), node)

    def visit(self, node: ast.AST) -> ast.expr:
        return at(super().visit(node), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        if self._stays(node):
            return self._concrete(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return operator_call(name, self.visit(node.values[0]), *map(self.delayed, node.values[1:]))

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        if self._stays(node):
            return self._concrete(node)
        return operator_call("if_value", self.test(node.test), self.delayed(node.body), self.delayed(node.orelse))

    def _stays(self, node: ast.expr) -> bool:
        """True for expressions with parts that cannot move into a function."""
        return self._in_class or any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await)) for n in own_nodes([node]))

    def _concrete(self, node: ast.expr) -> ast.expr:
        """The expression itself; Python needs the truth of its parts."""
        self.generic_visit(node)
        if isinstance(node, ast.IfExp):
            node.test = operator_call("concrete", node.test)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        names = [_COMPARISONS[type(op)] for op in node.ops]
        left = self.visit(node.left)
        if len(names) == 1:
            right = self.visit(node.comparators[0])
            if type(node.ops[0]) in _IDENTITY:
                return operator_call(names[0], left, right)
            first = operator_call("left", left, kept(right, RIGHT))
            return ast.Compare(first, node.ops, [again(right, RIGHT)])
        if self._stays(node):
            node.left, node.comparators = left, [self.visit(c) for c in node.comparators]
            return node
        parts = [left, self.visit(node.comparators[0])]
        links = [ast.Tuple([text(name), self.delayed(c)], ast.Load()) for name, c in zip(names[1:], node.comparators[1:])]
        return operator_call("chain", text(names[0]), *parts, *links)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        # Iterative, as sums may be as long as the program.
        links: list[ast.BinOp] = []
        inner: ast.expr = node
        while isinstance(inner, ast.BinOp):
            links.append(inner)
            inner = inner.left
        made = self.visit(inner)
        for link in reversed(links):
            right = self.visit(link.right)
            first = ast.copy_location(operator_call("left", made, kept(right, RIGHT), *of_types(link.op)), link)
            made = ast.copy_location(ast.BinOp(first, link.op, again(right, RIGHT)), link)
        return made

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.operand, ast.Constant):
            return node
        if isinstance(node.op, ast.Not):
            return operator_call("not_", self.visit(node.operand))
        return ast.UnaryOp(node.op, operator_call("operand", self.visit(node.operand)))

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)  # pyright: ignore[reportReturnType]
        return operator_call("attribute", self.visit(node.value), text(node.attr))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        value, key = self.visit(node.value), self.visit(node.slice)
        return ast.Subscript(operator_call("holder", value, kept(key, RIGHT)), again(key, RIGHT), ast.Load())

    def visit_Slice(self, node: ast.Slice) -> ast.expr:
        parts = [ast.Constant(None) if part is None else self.visit(part) for part in (node.lower, node.upper, node.step)]
        return operator_call("slice_", *parts)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        called = node.func
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == OPERATORS:
            node.args = [self.visit(argument) for argument in node.args]
            return node
        args: list[ast.expr] = [self.visit(argument) for argument in node.args]
        if isinstance(called, ast.Name) and called.id in FRAME_FUNCTIONS:
            func: ast.expr = called
        elif isinstance(called, ast.Name) and called.id == "super" and not node.args and self._first is not None:
            func, args = called, [ast.Name("__class__", ast.Load()), ast.Name(self._first, ast.Load())]
        elif isinstance(called, ast.Attribute):
            func = ast.copy_location(operator_call("method", self.visit(called.value), text(called.attr)), called)
        else:
            func = ast.copy_location(operator_call("function", self.visit(called)), called)
        given = [self.visit(k.value) for k in node.keywords]
        keywords = [ast.keyword(k.arg, operator_call("spread", v) if k.arg is None else v) for k, v in zip(node.keywords, given)]
        if any(isinstance(a, ast.Starred) for a in args):
            func = ast.copy_location(operator_call("spreading", func), called)
        # Translate in source order, so that `before` is ordered too: the function is evaluated before its arguments.
        return ast.Call(func, args, keywords)

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            return node
        return ast.Starred(operator_call("starred", self.visit(node.value)), ast.Load())

    def visit_List(self, node: ast.List | ast.Tuple) -> ast.expr:
        """Lists and tuples may have conditional entries."""
        parts = [self._entry(part) for part in node.elts]
        if not isinstance(node.ctx, ast.Load):
            return node
        made = type(node)(parts, node.ctx)
        return operator_call("mark_made", made) if isinstance(node, ast.List) else made

    visit_Tuple = visit_List

    def _entry(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Starred):
            return at(ast.Starred(operator_call("gathered", self.visit(node.value)), ast.Load()), node)
        return self.visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        """Text with values, each of which may be a choice."""
        if self._stays(node) or _has_walrus(node) or not any(isinstance(part, ast.FormattedValue) for part in node.values):
            self.generic_visit(node)
            return node
        return operator_call("text", *map(self._formatted, node.values))

    def _formatted(self, part: ast.expr) -> ast.expr:
        """A part of a text; values are formatted in order of evaluation."""
        if not isinstance(part, ast.FormattedValue):
            return part
        value = self.visit(part.value)
        if part.format_spec is not None:
            self.generic_visit(part.format_spec)
        part.value = ast.Name("_value_", ast.Load())
        return operator_call("formatted", value, ast.Lambda(parameters_of("_value_"), ast.JoinedStr([part])))

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        node.value = operator_call("shown", self.visit(node.value))
        if node.format_spec is not None:
            self.generic_visit(node.format_spec)
        return node

    def visit_Yield(self, node: ast.Yield) -> ast.expr:
        """A `yield` in Python's own generator."""
        if node.value is not None:
            node.value = operator_call("shown", self.visit(node.value))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        """A function defined before the statement; its defaults are evaluated here."""
        if self._in_class:
            return node
        defaults = [self.visit(default) for default in node.args.defaults]
        pairs = [(a.arg, self.visit(default)) for a, default in zip(node.args.kwonlyargs, node.args.kw_defaults) if default is not None]
        name = self._name_of("<lambda>", node)
        body: list[ast.stmt] = [ast.Return(node.body)] if not has_yield([node.body]) else [ast.Expr(node.body)]
        self.before.append(self._function_of(name, without_defaults(node.args), body, node, own_scope=True))
        made = operator_call(
            "lambda_", ast.Name(name, ast.Load()), ast.Tuple(defaults, ast.Load()),
            ast.Dict([text(key) for key, _ in pairs], [value for _, value in pairs]),
        )  # fmt: skip
        return made

    def visit_Set(self, node: ast.Set) -> ast.expr:
        """A set whose members may be data."""
        if all(isinstance(member, ast.Constant) for member in node.elts):
            return node
        return operator_call("set_of", ast.Tuple([self._entry(member) for member in node.elts], ast.Load()))

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        """A dict whose keys may be data."""
        self.generic_visit(node)
        if all(isinstance(key, ast.Constant) for key in node.keys):
            return operator_call("mark_made", node)
        pairs: list[ast.expr] = [
            ast.Tuple([value] if key is None else [key, value], ast.Load()) for key, value in zip(node.keys, node.values)
        ]
        return operator_call("dict_of", ast.Tuple(pairs, ast.Load()))

    def comprehension(self, node: Comprehension) -> ast.expr:
        """A function with loops, called with the first iterable, like Python's."""
        if self._in_class:
            return node
        items, result = "_items_", "_result_"
        if isinstance(node, ast.DictComp):
            add: ast.stmt = ast.Expr(operator_call("set_item", ast.Name(result, ast.Load()), node.key, node.value))
        elif isinstance(node, ast.GeneratorExp):
            add = ast.Expr(ast.Yield(node.elt))
        else:
            add = ast.Expr(operator_call("append" if isinstance(node, ast.ListComp) else "include", ast.Name(result, ast.Load()), node.elt))
        body: list[ast.stmt] = [add]
        for number, generator in reversed(list(enumerate(node.generators))):
            for condition in reversed(generator.ifs):
                body = [ast.If(condition, body, [])]
            iterable = ast.Name(items, ast.Load()) if number == 0 else generator.iter
            body = [ast.For(generator.target, iterable, body, [])]
        if not isinstance(node, ast.GeneratorExp):
            no_set = operator_call("set_of", ast.Tuple([], ast.Load()))
            empty = {ast.ListComp: ast.List([], ast.Load()), ast.SetComp: no_set, ast.DictComp: ast.Dict([], [])}
            kind = operator_call("mark_made", empty[type(node)])
            body = [ast.Assign([ast.Name(result, ast.Store())], kind), *body, ast.Return(ast.Name(result, ast.Load()))]
        first = operator_call("own", self.visit(node.generators[0].iter))
        if isinstance(node, ast.GeneratorExp):
            first = operator_call("first_iterable", first)
        # Since Python 3.12, all but generators are inlined in the enclosing function.
        name = self._name_of("comprehension" if is_inlined(node) else _COMPREHENSION_NAMES[type(node)], node)
        self.before.append(self._function_of(name, parameters_of(items), body, node, own_scope=True))
        return ast.Call(ast.Name(name, ast.Load()), [first], [])

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension


_COMPREHENSION_NAMES = {ast.ListComp: "<listcomp>", ast.SetComp: "<setcomp>", ast.DictComp: "<dictcomp>", ast.GeneratorExp: "<genexpr>"}


def is_inlined(node: ast.AST) -> bool:
    """True for a comprehension inlined in the enclosing function."""
    return sys.version_info >= (3, 12) and isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp))


def parameters_of(*names: str) -> ast.arguments:
    """Parameters with these names."""
    return ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])


def without_defaults(args: ast.arguments) -> ast.arguments:
    """Parameters without annotations, and None for each default, to keep their number."""
    made = copy.deepcopy(args)
    for node in ast.walk(made):
        if isinstance(node, ast.arg):
            node.annotation = None
    made.defaults = [ast.Constant(None) for _ in made.defaults]
    made.kw_defaults = [None if default is None else ast.Constant(None) for default in made.kw_defaults]
    return made


def _has_walrus(node: ast.AST) -> bool:
    return any(isinstance(n, ast.NamedExpr) for n in ast.walk(node))
