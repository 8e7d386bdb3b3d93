"""A `try` in a long loop that asks whether a logarithm or a square root has a value is a branch that asks for this.

```
try:                                   .operand = a + b
    total += math.log(a + b)           if .operand <= 0.0:
except ValueError:                         total -= 1.0
    total -= 1.0                       else:
                                           total += math.log(.operand)
```
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable

from ....nodes import assign, branch, load, near, walk
from ....rules import Known
from ....variables import replace_each

# Where they raise ValueError: for NaN none of them does.
_FAILS: dict[str, ast.cmpop] = {"log": ast.LtE(), "log2": ast.LtE(), "log10": ast.LtE(), "log1p": ast.LtE(), "sqrt": ast.Lt()}


def without_tries(facts: Known, resolve: Callable[[str], object], body: list[ast.stmt], is_long: Callable[[ast.For], bool]) -> set[int]:
    """Makes such statements branches, in place; the lines of their tests."""
    lines: set[int] = set()

    def replaced(node: ast.stmt) -> list[ast.stmt]:
        made = _branch(facts, resolve, node) if isinstance(node, ast.Try) else None
        if made is None or not isinstance(node, ast.Try):
            return [node]
        lines.update(range(node.lineno, node.body[0].lineno + 1))
        return made

    for node in [part for statement in body for part in walk(statement)]:
        if isinstance(node, ast.For) and is_long(node):
            replace_each(node.body, replaced)
    return lines


def _branch(facts: Known, resolve: Callable[[str], object], node: ast.Try) -> list[ast.stmt] | None:
    if node.orelse or node.finalbody or len(node.handlers) != 1:
        return None
    (handler,) = node.handlers
    if handler.name or not isinstance(handler.type, ast.Name) or resolve(handler.type.id) is not ValueError:
        return None
    if not all(isinstance(s, (ast.Assign, ast.AugAssign)) and all(_is_simple(part, resolve) for part in walk(s)) for s in node.body):
        return None
    calls = [part for statement in node.body for part in walk(statement) if isinstance(part, ast.Call)]
    if len(calls) != 1 or calls[0] not in walk(node.body[0]):
        return None
    (call,) = calls
    function = call.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name) or resolve(function.value.id) is not math:
        return None
    if function.attr not in _FAILS or len(call.args) != 1 or call.keywords or isinstance(call.args[0], ast.Starred):
        return None
    operand = f".operand{facts.number()}"
    end = -1.0 if function.attr == "log1p" else 0.0
    test = near(ast.copy_location(ast.Compare(load(operand), [_FAILS[function.attr]], [ast.Constant(end)]), call), call)
    before = assign(operand, call.args[0], node.body[0])
    call.args = [near(ast.copy_location(load(operand), call), call)]
    return [before, branch(test, handler.body, node.body, node)]


def _is_simple(part: ast.AST, resolve: Callable[[str], object]) -> bool:
    """Whether a part of a statement raises no ValueError itself, but for the call: arithmetic with numbers, entries and variables."""
    if isinstance(part, ast.Subscript):
        return isinstance(part.ctx, ast.Load) and not isinstance(part.slice, ast.Slice)
    if isinstance(part, ast.Attribute):
        return isinstance(part.value, ast.Name) and resolve(part.value.id) is math
    if isinstance(part, (ast.operator, ast.unaryop)):
        return isinstance(part, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.USub, ast.UAdd))
    return isinstance(part, (ast.Assign, ast.AugAssign, ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Call, ast.expr_context))
