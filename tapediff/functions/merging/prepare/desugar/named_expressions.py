"""`:=` as assignments before the statement, where it is computed in any case and nothing but variables is read before it:

```
if (d := f(x)) > 0: ...            d = f(x)
                                   if d > 0: ...

while (e := f(x)) > limit: ...     e = f(x)
                                   while e > limit:
                                       ...
                                       e = f(x)

sum(d * d for y in ys if (d := f(y)) > 0)      sum(d * d for y in ys for d in [f(y)] if d > 0)
```
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from ...nodes import Transformer, children, copied, load, near, walk
from ...rules import Broken
from ...variables import replace_each
from ..exits.jumps import has_jump


def without_named_expressions(
    body: Sequence[ast.stmt], is_own: Callable[[str], bool], is_library: Callable[[ast.expr], bool]
) -> list[ast.stmt]:
    """Statements without `:=`, where an assignment can be in its place.

    Args:
        is_own: whether a variable is the function's, and no other one sees it.
        is_library: whether a function is surely none of the user's.
    """
    if not any(isinstance(part, ast.NamedExpr) for node in body for part in walk(node)):
        return list(body)
    may_precede = lambda part: isinstance(part, ast.Constant) or (isinstance(part, ast.Name) and is_own(part.id)) or is_library(part)  # noqa: E731
    for node in body:
        _InComprehensions(body, may_precede).visit(node)
    made = list(body)
    replace_each(made, lambda node: _apart(node, may_precede))
    return made


def check_none_is_left(body: Sequence[ast.stmt]) -> None:
    """Raise Broken at a `:=` that stays in its expression: a merged form may compute its neighbours in another order."""
    pending: list[ast.AST] = list(body)
    for node in pending:
        if isinstance(node, ast.NamedExpr):
            raise Broken("order", node, ast.unparse(node))
        if not isinstance(node, _FUNCTIONS):
            pending += children(node)


# Their variables are their own.
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _apart(node: ast.stmt, may_precede: MayPrecede) -> list[ast.stmt]:
    """The assignments of a statement, and what is left of it."""
    field = "test" if isinstance(node, (ast.If, ast.While)) else "value" if isinstance(node, _SIMPLE) else ""
    value = getattr(node, field, None)
    if value is None or (isinstance(node, ast.While) and (node.orelse or has_jump(node.body, (ast.Continue,)))):
        return [node]
    targets: list[ast.expr] = [node.target] if isinstance(node, ast.AugAssign) else getattr(node, "targets", [])
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    if len(names) < len(targets):
        return [node]  # what an entry is written to is computed before, or after
    read_before = {*names} if isinstance(node, ast.AugAssign) else set[str]()
    found = list(_computed_first(value, read_before, may_precede)) if all(may_precede(load(name)) for name in read_before) else []
    if not found:
        return [node]
    setattr(node, field, _Replaced(found).visit(value))
    before = [near(ast.Assign([named.target], named.value), named) for named in found]
    if isinstance(node, ast.While):
        node.body = [*node.body, *map(copied, before)]
    return [*before, node]


_SIMPLE = (ast.Assign, ast.AugAssign, ast.Return, ast.Expr)


def _computed_first(value: ast.expr, read_before: set[str], may_precede: MayPrecede) -> Iterator[ast.NamedExpr]:
    """The named expressions that are computed in any case, and before which nothing is that they could change, or that could change them.

    Args:
        read_before: the variables that have been read before; the names of those in `value` are added.
        may_precede: whether an expression is a constant, a variable of the function or a function that nothing rebinds.
    """
    pending: list[ast.AST] = [value]
    while pending:
        part = pending.pop()
        has_named = any(isinstance(inner, ast.NamedExpr) for inner in walk(part))
        if isinstance(part, ast.NamedExpr):
            if part.target.id in read_before or any(isinstance(inner, ast.NamedExpr) for inner in walk(part.value)):
                return
            yield part
            read_before |= {part.target.id, *_names(part.value)}
        elif has_named and isinstance(part, ast.Compare) and len(part.ops) == 1:
            pending += (part.comparators[0], part.left)
        elif has_named and isinstance(part, (ast.BoolOp, ast.IfExp, ast.Compare, ast.Call)):
            # What comes behind these may not be computed, or comes behind a call.
            pending = [*reversed(_first(part))]
        elif has_named and isinstance(part, _IN_ORDER):
            pending += reversed(children(part))
        elif has_named or not may_precede(part):
            return
        else:
            read_before |= _names(part)


def _first(node: ast.BoolOp | ast.IfExp | ast.Compare | ast.Call) -> list[ast.expr]:
    """The parts of an expression that are computed in any case, in order."""
    if isinstance(node, ast.BoolOp):
        return node.values[:1]
    if isinstance(node, ast.IfExp):
        return [node.test]
    if isinstance(node, ast.Compare):
        return [node.left, node.comparators[0]]
    return [node.func, *node.args, *(k.value for k in node.keywords)]


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in walk(node) if isinstance(part, ast.Name)}


MayPrecede: TypeAlias = Callable[[ast.AST], bool]

# Their parts are computed in order, all of them, and computing with them changes nothing.
_IN_ORDER = (ast.BinOp, ast.UnaryOp, ast.Tuple, ast.List)


class _Replaced(Transformer):
    """Named expressions as their variables."""

    def __init__(self, found: Sequence[ast.NamedExpr]) -> None:
        self._found = found

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        if any(node is named for named in self._found):
            return near(ast.copy_location(load(node.target.id), node), node)
        return node


class _InComprehensions(Transformer):
    """Named expressions in the conditions of comprehensions as loops over one value.

    Args:
        body: the statements of the function.
        may_precede: as of _computed_first.
    """

    def __init__(self, body: Sequence[ast.stmt], may_precede: MayPrecede) -> None:
        self._may_precede = may_precede
        # What others than a comprehension read outlives it.
        self._count = Counter(n.id for node in body for n in walk(node) if isinstance(n, ast.Name))

    def _stay(self, node: ast.AST) -> ast.AST:
        return node  # it is rewritten where it is called

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _stay

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> ast.AST:
        self.generic_visit(node)
        own = Counter(n.id for n in walk(node) if isinstance(n, ast.Name))
        made: list[ast.comprehension] = []
        for part in node.generators:
            made.append(part)
            tests, part.ifs = part.ifs, []
            for k, test in enumerate(tests):
                found = list(_computed_first(test, _names(part.target), self._may_precede))
                if part.is_async or any(own[named.target.id] < self._count[named.target.id] for named in found):
                    made[-1].ifs += tests[k:]
                    break
                one = [
                    near(ast.comprehension(named.target, ast.List([named.value], ast.Load()), [], 0), named)  # type: ignore[type-var]
                    for named in found
                ]
                made += one
                made[-1].ifs.append(_Replaced(found).visit(test))
        node.generators = made
        return node

    visit_GeneratorExp = visit_ListComp
