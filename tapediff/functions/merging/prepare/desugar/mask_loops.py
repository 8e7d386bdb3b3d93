"""Loops over what a mask selects go over all entries, and do something where the mask is true:

```
for i in np.flatnonzero(z > 0):             turns = chosen_turns(np.flatnonzero(z > 0))
    total += z[i]                           for is_chosen, entry in turns:
                                                if is_chosen:
                                                    i = entry
                                                    total += z[i]

sum(v * v for v in z[z > 0])                sum(v * v for is_chosen, v in chosen_turns(z[z > 0]) if is_chosen)
```
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from itertools import count

from ...nodes import Transformer, assign, call, load, near, place, walk
from ...rules import Known
from ...variables import replace_each

# The last part of the place of such a loop.
MASKED = 22

_MASKS = (ast.Compare, ast.BinOp, ast.UnaryOp)
_PLACES = ("nonzero", "where")


def with_mask_loops(facts: Known, body: list[ast.stmt]) -> None:
    """Rewrites such loops, in place, in a function of which recordings had guards on masks."""
    nodes = [node for statement in body for node in walk(statement)]
    assigns = [node for node in nodes if isinstance(node, ast.Assign) and len(node.targets) == 1]
    is_selected = lambda node: _is_selected(node, facts.is_numpy) and facts.had_look_up(node)  # noqa: E731 -- used in the next lines
    bound = [(node.targets[0].id, is_selected(node.value)) for node in assigns if isinstance(node.targets[0], ast.Name)]
    names = {name for name, is_one in bound if is_one} - {name for name, is_one in bound if not is_one}

    def is_wanted(node: ast.expr) -> bool:
        is_one = node.id in names if isinstance(node, ast.Name) else is_selected(node)
        return is_one and facts.may_merge((node.lineno, node.col_offset, MASKED))

    numbers = count()
    replace_each(body, lambda node: _apart(node, next(numbers)) if isinstance(node, ast.For) and is_wanted(node.iter) else [node])
    comprehensions = _Comprehensions(is_wanted, numbers)
    body[:] = [comprehensions.visit(node) for node in body]


def _is_selected(node: ast.expr, is_numpy: Callable[[ast.expr], bool]) -> bool:
    """Whether an expression is what a mask selects that stands there, or the places at which one is true."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 0:
        return _is_call(node.value, is_numpy, _PLACES)
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, _MASKS)
    return _is_call(node, is_numpy, ("flatnonzero",))


def _is_call(node: ast.expr, is_numpy: Callable[[ast.expr], bool], names: Sequence[str]) -> bool:
    """Whether an expression is a call of one of NumPy's functions, of one argument."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr in names and is_numpy(node.func.value)


def _turns(node: ast.expr) -> ast.expr:
    return call("chosen_turns", [place(node, MASKED), node], node)


def _apart(node: ast.For, number: int) -> list[ast.stmt]:
    turns, chosen, entry = (f".turns{number}.{name}" for name in ("all", "chosen", "entry"))
    first = near(ast.copy_location(ast.Assign([node.target], load(entry)), node.iter), node.iter)
    inner = near(ast.copy_location(ast.If(load(chosen), [first, *node.body], []), node.iter), node.iter)
    before = assign(turns, _turns(node.iter), node.iter)
    node.iter, node.body = near(ast.copy_location(load(turns), node.iter), node.iter), [inner]
    target = ast.Tuple([ast.Name(chosen, ast.Store()), ast.Name(entry, ast.Store())], ast.Store())
    node.target = near(ast.copy_location(target, node.target), node.target)
    return [before, node]


class _Comprehensions(Transformer):
    """Comprehensions over what a mask selects."""

    def __init__(self, is_wanted: Callable[[ast.expr], bool], numbers: count[int]) -> None:
        self._is_wanted, self._numbers = is_wanted, numbers

    def _visit(self, node: ast.ListComp | ast.GeneratorExp) -> ast.AST:
        self.generic_visit(node)
        each = node.generators[0]
        if len(node.generators) == 1 and not each.is_async and self._is_wanted(each.iter):
            chosen = f".turns{next(self._numbers)}.chosen"
            each.iter = _turns(each.iter)
            target = ast.Tuple([ast.Name(chosen, ast.Store()), each.target], ast.Store())
            each.target = near(ast.copy_location(target, each.target), each.target)
            each.ifs = [near(ast.copy_location(load(chosen), each.iter), each.iter), *each.ifs]
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._visit(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self._visit(node)
