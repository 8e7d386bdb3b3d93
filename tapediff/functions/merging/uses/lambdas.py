"""Lambdas that a function binds to a name and only calls: values go into their variables, and out of the calls."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..nodes import walk
from ..variables import Flows, Names


class Known(NamedTuple):
    """A lambda that a function binds to a name once, and does nothing with but call it."""

    name: str
    function: ast.Lambda
    calls: list[ast.Call]


def known_lambdas(parts: Sequence[ast.AST]) -> list[Known]:
    bound = Counter(n.id for n in parts if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    bound.update(n.arg if isinstance(n, ast.arg) else n.name for n in parts if isinstance(n, (ast.arg, ast.FunctionDef, ast.ClassDef)))
    loaded = Counter(n.id for n in parts if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    found: list[Known] = []
    for node in parts:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda) and isinstance(node.targets[0], ast.Name):
            name, function = node.targets[0].id, node.value
            names = [a.arg for a in function.args.args]
            calls = [n for n in parts if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == name]
            is_simple = len(names) == sum(isinstance(n, ast.arg) for n in walk(function.args)) and not function.args.defaults
            if is_simple and bound[name] == 1 and loaded[name] == len(calls) and all(_gives(call, len(names)) for call in calls):
                found.append(Known(name, function, calls))
    return found


def _gives(call: ast.Call, count: int) -> bool:
    """Whether a call has so many arguments, each by its place."""
    return len(call.args) == count and not call.keywords and not any(isinstance(a, ast.Starred) for a in call.args)


def flows_into(lambdas: Sequence[Known], reads: Callable[[ast.AST], Names]) -> Flows:
    """The names whose values go into the variables of lambdas."""
    return [
        (reads(argument), frozenset([variable.arg]))
        for known in lambdas for call in known.calls for argument, variable in zip(call.args, known.function.args.args)
    ]  # fmt: skip

