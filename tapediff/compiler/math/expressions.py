"""Scalar expressions of op declarations, as LLVM values, and as Python text for the listing of a kernel."""

from __future__ import annotations

import ast
from functools import cache
from types import CodeType

from .function_table import FUNCTIONS
from .simd import Value, constant

_NAMESPACE = {"__builtins__": {}, **FUNCTIONS}


def emit_expression(text: str, arguments: dict[str, Value]) -> Value:
    """Emit the instructions of an expression such as "exp(x) - 1.0".

    Args:
        text: a Python expression in the names of the arguments and of function_table.py.
        arguments: the value of each name; a parameter such as an exponent may be a Python number.

    Returns:
        The result; an expression that is only a number gives a constant.
    """
    result = eval(_compiled(text), _NAMESPACE, arguments)
    if isinstance(result, Value):
        return result
    some = next(value for value in arguments.values() if isinstance(value, Value))
    return constant(some.code, result, "i1" if isinstance(result, bool) else "f64", some.width)


@cache
def _compiled(text: str) -> CodeType:
    return compile(text, f"<{text}>", "eval")


def python_expression(text: str, names: dict[str, str]) -> str:
    """The expression with its argument names replaced, as Python text over the names of PYTHON_FUNCTIONS.

    Args:
        text: as for emit_expression.
        names: a Python expression for each argument name, such as {"x": "v3[i]"}.
    """
    replaced = _Replace(names).visit(ast.parse(text, mode="eval"))
    return ast.unparse(replaced)


class _Replace(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        name = self.names.get(node.id)
        return node if name is None else ast.parse(name, mode="eval").body

    def visit_Call(self, node: ast.Call) -> ast.AST:
        # The name of the called function is not an argument, even if an argument has the same name.
        node.args = [self.visit(argument) for argument in node.args]
        return node
