"""Lists that data makes longer and of which only sums and lengths are asked: these become variables.

```
kept = []                                  kept:sum, kept:count = 0, 0
for v in x:                                for v in x:
    if v > 0:                                  if v > 0:
        kept.append(v)                             kept:sum += v; kept:count += 1
return sum(kept) / len(kept)               return kept:sum / kept:count
```
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...nodes import Transformer, call, children, load, near, walk
from ...rules import Breach, Place
from ...uses.kinds import ASK_SIGN, is_one
from ...variables import blocks_of
from ..static_values import stored
from .decided import Decided
from .scope import Scope

# In places, of lists.
GROWING = 8


class GrowingLists:
    """The lists of one function that are appended to.

    Args:
        scope: its names and places.

    Attributes:
        made: the variables that were made.
        breaches: why lists that data makes longer stay what they are.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.made: frozenset[str] = frozenset()
        self.breaches: list[Breach] = []

    def of_function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        nodes = [n for statement in body for n in walk(statement)]
        appends = [n for n in nodes if isinstance(n, ast.Expr) and appended_to(n) in self._scope.names]
        if not appends:
            return body
        decided = Decided(body, self._scope.looks_at_data).statements
        found = {name for n in appends if n in decided and (name := appended_to(n)) is not None}
        if not found:
            return body
        made = stored(body, frozenset(found))
        empty = {
            name: (values[0].lineno, values[0].col_offset, GROWING) for name, values in made.items()
            if all(isinstance(v, ast.List) and not v.elts for v in values)
        }  # fmt: skip
        empty = {name: place for name, place in empty.items() if self._scope.may_merge(place)}
        parts = Asked(dict.fromkeys(found & empty.keys(), ()), self._scope.resolve)
        allowed = {n for node in nodes for n in parts.read_by(node)}
        others = {n.id: n for n in reversed(nodes) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n not in allowed}
        for name in sorted(found & others.keys()):
            node = others[name]
            got = f"{name} grows where data decides, and more than its sum and length is used"
            self.breaches.append(Breach("containers", node.lineno, got))
        kept = {name: place for name, place in empty.items() if name not in others}
        if not kept:
            return body
        self.made = frozenset(f".{name}:{part}" for name in kept for part in ("sum", "count"))
        return _block(body, Asked(kept, self._scope.resolve, _first_sum(nodes, frozenset(kept))))


def appended_to(node: ast.AST) -> str | None:
    """The variable that a statement appends one value to."""
    of = node.value if isinstance(node, ast.Expr) else None
    if not (isinstance(of, ast.Call) and isinstance(of.func, ast.Attribute) and of.func.attr == "append" and len(of.args) == 1):
        return None
    is_plain = not of.keywords and isinstance(of.func.value, ast.Name) and not isinstance(of.args[0], ast.Starred)
    return of.func.value.id if is_plain and isinstance(of.func.value, ast.Name) else None


class Asked(Transformer):
    """Sums and lengths of lists as variables.

    Args:
        names: of the lists, with the places where they are made.
        resolve: the object that a name stands for; None for variables.
        first_sum: the sum of an empty one.
    """

    def __init__(self, names: Mapping[str, Place], resolve: Callable[[str], object], first_sum: float = 0) -> None:
        self.names, self._resolve, self.first_sum = names, resolve, first_sum

    def read_by(self, node: ast.AST) -> list[ast.Name]:
        """The variables of lists that a node appends to, or asks for sum or length."""
        if isinstance(node, ast.Expr) and appended_to(node) in self.names:
            return [node.value.func.value]  # type: ignore[attr-defined]  # by `appended_to`
        if isinstance(node, ast.Call):
            found = self._asked(node)
            return [] if found is None else [found[1]]
        return []

    def _asked(self, node: ast.Call) -> tuple[str, ast.Name] | None:
        """What a call asks of a list."""
        if node.keywords or len(node.args) > 1:
            return None
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Call) and not node.args:
            of = self._array_of(function.value)
            return (f"np.{function.attr}", of) if of is not None and function.attr in ("sum", "mean") else None
        if len(node.args) != 1:
            return None
        (argument,) = node.args
        if isinstance(function, ast.Name) and isinstance(argument, ast.Name) and argument.id in self.names:
            found = self._resolve(function.id)
            name = "sum" if found is sum else "len" if found is len else ""
            return (name, argument) if name else None
        is_list = isinstance(argument, ast.Name) and argument.id in self.names
        of = argument if is_list else self._array_of(argument)
        name = next((name for name in ("sum", "mean") if self._is_numpy(function, name)), None)
        return None if not isinstance(of, ast.Name) or name is None else (f"np.{name}", of)

    def _is_list(self, node: ast.expr) -> Any:
        return isinstance(node, ast.Name) and node.id in self.names

    def _array_of(self, node: ast.expr) -> ast.Name | None:
        """The list that np.array(list) is made of."""
        is_array = isinstance(node, ast.Call) and any(self._is_numpy(node.func, name) for name in ("array", "asarray"))
        if not is_array or len(node.args) != 1 or node.keywords or not self._is_list(node.args[0]):  # type: ignore[union-attr]
            return None
        return node.args[0]  # type: ignore[union-attr]

    def _is_numpy(self, function: ast.expr, name: str) -> bool:
        is_attribute = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.attr == name
        return is_attribute and is_one(self._resolve(function.value.id), [np])  # type: ignore[union-attr]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        found = self._asked(node)
        if found is None:
            return self.generic_visit(node)
        asked, of = found
        total, count = load(f".{of.id}:sum"), load(f".{of.id}:count")
        if asked in ("sum", "len"):
            made: ast.expr = total if asked == "sum" else count
        else:
            # As NumPy's functions give them: for the mean of none that is NaN, and no error.
            made = call("sum_of", [total], node)
            made = made if asked == "np.sum" else call("mean_of", [total, count], node)
        return near(ast.copy_location(made, node), node)


def _first_sum(nodes: Sequence[ast.AST], names: frozenset[str]) -> float:
    """The sum of no floats: 0, or 0.0 where arithmetic makes no difference between these."""
    if any(isinstance(n, (ast.Attribute, ast.Name)) and getattr(n, "attr", getattr(n, "id", "")) in ASK_SIGN for n in nodes):
        return 0
    asked = [n for n in nodes if isinstance(n, ast.Call) and len(n.args) == 1 and isinstance(n.args[0], ast.Name) and n.args[0].id in names]
    used = [n for node in nodes if _is_arithmetic(node) for n in children(node)]
    lengths = [n for n in asked if isinstance(n.func, ast.Name) and n.func.id == "len"]
    return 0.0 if all(n in used or n in lengths for n in asked) else 0


def _is_arithmetic(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) or (isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)))


def _block(body: Sequence[ast.stmt], asked: Asked) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for statement in body:
        if appended_to(statement) in asked.names:
            made += _appended(statement, asked)
            continue
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            new = _emptied(statement, asked)
            if new is not None:
                made += new
                continue
        for part in blocks_of(statement):
            part[:] = _block(part, asked)
        for name, value in ast.iter_fields(statement):
            if isinstance(value, ast.expr):
                setattr(statement, name, asked.visit(value))
        made.append(statement)
    return made


def _appended(statement: ast.stmt, asked: Asked) -> list[ast.stmt]:
    """What `kept.append(value)` does to sum and count."""
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    name, node = appended_to(statement), statement.value
    at = ast.Tuple([ast.Constant(k) for k in asked.names[name or ""]], ast.Load())
    value = call("appended", [at, asked.visit(node.args[0])], node)
    parts = [(f".{name}:sum", value), (f".{name}:count", ast.Constant(1))]
    return [near(ast.copy_location(ast.AugAssign(ast.Name(n, ast.Store()), ast.Add(), v), statement), statement) for n, v in parts]


def _emptied(statement: ast.Assign | ast.AnnAssign, asked: Asked) -> list[ast.stmt] | None:
    """An assignment of empty lists, alone or among other values."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    names = asked.names
    zeros = lambda name: [(f".{name}:sum", asked.first_sum), (f".{name}:count", 0)]  # noqa: E731 -- of both uses
    if isinstance(target, ast.Name) and target.id in names:
        made = [(ast.Name(n, ast.Store()), ast.Constant(v)) for n, v in zeros(target.id)]
    elif isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
        made = []
        for to, value in zip(target.elts, statement.value.elts):
            if isinstance(to, ast.Name) and to.id in names:
                made += [(ast.Name(n, ast.Store()), ast.Constant(v)) for n, v in zeros(to.id)]
            else:
                made.append((to, value))
        if len(made) == len(target.elts):
            return None
    else:
        return None
    both = ast.Tuple([to for to, _ in made], ast.Store()), ast.Tuple([value for _, value in made], ast.Load())
    return [near(ast.copy_location(ast.Assign([near(both[0], statement)], near(both[1], statement)), statement), statement)]
