"""Lists of what passes a test are appended to one by one:

```
kept = [f(v) for v in values if v > 0]      kept = []
                                            for v in values:
                                                if v > 0: kept.append(f(v))
```
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from itertools import count

from ...nodes import Transformer, assign, load, near, walk
from ...variables import assigned, replace_each


def with_filtered_lists(body: Sequence[ast.stmt], looks_at_data: Callable[[ast.expr], bool]) -> list[ast.stmt]:
    """Statements without such lists, where the test looks at data."""
    numbers, made = count(), list(body)
    replace_each(made, lambda node: _apart(node, next(numbers)) if _is_filtered(node, looks_at_data) else [node])
    return made


def _is_filtered(node: ast.stmt, looks_at_data: Callable[[ast.expr], bool]) -> bool:
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return False
    made = node.value
    if not isinstance(made, ast.ListComp) or len(made.generators) != 1 or made.generators[0].is_async:
        return False
    each = made.generators[0]
    inner = [part for expression in (made.elt, *each.ifs) for part in walk(expression)]
    if any(isinstance(part, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr)) for part in inner):
        return False
    # The list that was there before is still there while the new one is made.
    is_read = any(isinstance(part, ast.Name) and part.id == node.targets[0].id for part in [*inner, *walk(each.iter)])
    return bool(each.ifs) and not is_read and any(map(looks_at_data, each.ifs))


def _apart(node: ast.stmt, number: int) -> list[ast.stmt]:
    assert isinstance(node, ast.Assign)
    assert isinstance(node.targets[0], ast.Name)
    assert isinstance(node.value, ast.ListComp)
    kept, made = node.targets[0].id, node.value
    each = made.generators[0]
    renamed = _Renamed({name: f".each{number}.{name}" for name in assigned([each.target])})
    added: ast.stmt = ast.Expr(ast.Call(ast.Attribute(load(kept), "append", ast.Load()), [renamed.visit(made.elt)], []))
    for test in reversed(each.ifs):
        added = ast.copy_location(ast.If(renamed.visit(test), [near(ast.copy_location(added, made), made)], []), test)
    loop = ast.For(renamed.visit(each.target), each.iter, [near(added, made)], [])
    return [assign(kept, ast.List([], ast.Load()), node), near(ast.copy_location(loop, node), node)]


class _Renamed(Transformer):
    """Variables of a comprehension under names that the function does not have."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self._names.get(node.id, node.id), node.ctx), node)
