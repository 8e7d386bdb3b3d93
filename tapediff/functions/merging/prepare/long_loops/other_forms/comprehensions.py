"""Comprehensions over very many values as loops, of which one turn can be recorded.

```
                                           made = 0.0
return sum(f(v) for v in values) + a       for .v in values: made = made + f(.v)
                                           return made + a

                                           made = 0.0
return sum(f(v) for v in values if g(v))   for .v in values:
                                               if g(.v): made = made + f(.v)
                                           return made

                                           made = []
kept = np.array([f(v) for v in values])    for .v in values: made.append(f(.v))
                                           kept = np.array(made)
```
The sum of a list that such a loop has made is one of an array.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ....nodes import Transformer, assign, call, children, copied, load, near, walk
from ....variables import blocks_of, surely_assigned

Comprehension = ast.ListComp | ast.GeneratorExp

# What is in these may not be computed, or not once.
_APART = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp, ast.NamedExpr, ast.Await)


def as_loops(
    body: list[ast.stmt], is_long: Callable[[Comprehension], bool], is_sum: Callable[[ast.expr], bool], number: Callable[[], int]
) -> None:
    """Puts loops before the statements of a function that hold such comprehensions, in place.

    Args:
        is_long: whether a comprehension goes over very many values.
        is_sum: whether an expression is a call of Python's sum.
        number: a new number, for names.
    """
    pending = [body]
    while pending:
        block = pending.pop()
        made: list[ast.stmt] = []
        for node in block:
            pending += blocks_of(node)
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr)) and node.value is not None:
                replaced = _Replaced(is_long, is_sum, number)
                node.value = replaced.visit(node.value)
                made += replaced.before
            made.append(node)
        block[:] = made


class _Replaced(Transformer):
    """Comprehensions as variables. `before`: the statements that compute these."""

    def __init__(self, is_long: Callable[[Comprehension], bool], is_sum: Callable[[ast.expr], bool], number: Callable[[], int]) -> None:
        self._is_long, self._is_sum, self._number = is_long, is_sum, number
        self.before: list[ast.stmt] = []

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Call) and self._is_sum(node) and len(node.args) == 1 and not node.keywords:
            (argument,) = node.args
            if isinstance(argument, (ast.ListComp, ast.GeneratorExp)) and self._may_be_a_loop(argument, is_sum=True):
                return self._loop(argument, is_sum=True)
            if isinstance(argument, ast.Name):
                return call("sum_of_entries", [node.func, argument], node)
        if isinstance(node, ast.ListComp) and self._may_be_a_loop(node):
            return self._loop(node, is_sum=False)
        return node if isinstance(node, _APART) else self.generic_visit(node)

    def _may_be_a_loop(self, node: Comprehension, is_sum: bool = False) -> bool:
        """Whether it goes over very many values, and then, for each of them, over no more than one."""
        first, *others = node.generators
        if any(generator.is_async for generator in node.generators) or not all(map(_of_one, others)):
            return False
        tests = [test for generator in node.generators for test in generator.ifs]
        parts = [part for inner in (node.elt, first.iter, *tests) for part in walk(inner)]
        is_simple = not any(isinstance(part, (ast.Lambda, ast.NamedExpr, ast.Await)) for part in parts)
        # Of a list, its length would be data.
        return is_simple and (is_sum or not tests) and self._is_long(node)

    def _loop(self, node: Comprehension, is_sum: bool) -> ast.expr:
        number = self._number()
        names = {name: f".{name}{number}" for generator in node.generators for name in surely_assigned(generator.target)}
        outer = node.generators[0]
        target, entry = _renamed(copied(outer.target), names), _renamed(copied(node.elt), names)
        made = f".made{number}"
        first: ast.expr = ast.Constant(0.0) if is_sum else ast.List([], ast.Load())
        turn: list[ast.stmt]
        if is_sum:
            turn = [assign(made, near(ast.BinOp(load(made), ast.Add(), entry), node), node)]
        else:
            append = ast.Call(ast.Attribute(load(made), "append", ast.Load()), [entry], [])
            turn = [near(ast.Expr(append), node)]
        for generator in reversed(node.generators):
            for test in reversed(generator.ifs):
                turn = [near(ast.copy_location(ast.If(_renamed(copied(test), names), turn, []), test), node)]
            value = _of_one(generator)
            if generator is not outer and value is not None:
                given = ast.Assign([_renamed(copied(generator.target), names)], _renamed(copied(value), names))
                turn = [near(ast.copy_location(given, value), node), *turn]
        loop = near(ast.copy_location(ast.For(target, outer.iter, turn, []), node), node)
        self.before += [assign(made, first, node), loop]
        return near(load(made), node)


def _of_one(generator: ast.comprehension) -> ast.expr | None:
    """The only value that a part of a comprehension goes over."""
    values = generator.iter.elts if isinstance(generator.iter, ast.List) else []
    return values[0] if len(values) == 1 and not isinstance(values[0], ast.Starred) else None


def _renamed(node: ast.expr, names: dict[str, str]) -> ast.expr:
    pending: list[ast.AST] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Name):
            part.id = names.get(part.id, part.id)
        pending += children(part)
    return node
