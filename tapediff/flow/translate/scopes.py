"""Scopes: the names that a function binds and that its blocks store."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.Lambda
Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_YIELDS = (ast.Yield, ast.YieldFrom)


class Emit(ast.Expr):
    """A `yield` in the form for loops (generators.py): a statement whose value is the completion of its call."""


def own_nodes(roots: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of one scope, without bodies of inner functions, classes and comprehensions."""
    pending = list(roots)
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            pending += [*node.decorator_list, *_defaults(node.args)]
        elif isinstance(node, ast.Lambda):
            pending += _defaults(node.args)
        elif isinstance(node, ast.ClassDef):
            pending += [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]
        elif isinstance(node, COMPREHENSIONS):
            pending.append(node.generators[0].iter)
            yield from _walruses(node)
        else:
            pending += ast.iter_child_nodes(node)


def _defaults(args: ast.arguments) -> list[ast.AST]:
    return [*args.defaults, *(default for default in args.kw_defaults if default is not None)]


def _walruses(comprehension: Comprehension) -> Iterator[ast.AST]:
    """Assignments in a comprehension that bind names of the enclosing function."""
    pending: list[ast.AST] = [comprehension]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.NamedExpr):
            yield node.target
        if not isinstance(node, _FUNCTIONS):
            pending += ast.iter_child_nodes(node)


def parameters(args: ast.arguments) -> list[str]:
    """The names of all parameters."""
    found = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return [parameter.arg for parameter in found if parameter is not None]


def stored(roots: Iterable[ast.AST]) -> set[str]:
    """The names that one scope's statements and expressions bind or delete."""
    found: set[str] = set()
    for node in own_nodes(roots):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            found.update(filter(None, (node.name,)))
        elif isinstance(node, ast.MatchMapping):
            found.update(filter(None, (node.rest,)))
    return found


def has_yield(roots: Iterable[ast.AST]) -> bool:
    """True if one scope's statements or expressions yield."""
    return any(isinstance(node, _YIELDS) for node in own_nodes(roots))


class Scope:
    """The names of one function.

    Attributes:
        bound: its local variables.
        outer: names declared nonlocal or global.
    """

    __slots__ = ("bound", "global_names", "nonlocal_names")

    def __init__(self, body: Iterable[ast.AST], arguments: Iterable[str]) -> None:
        body = list(body)
        declared = [node for node in own_nodes(body) if isinstance(node, (ast.Global, ast.Nonlocal))]
        self.global_names = {name for node in declared if isinstance(node, ast.Global) for name in node.names}
        self.nonlocal_names = {name for node in declared if isinstance(node, ast.Nonlocal) for name in node.names}
        self.bound = (stored(body) | set(arguments)) - self.global_names - self.nonlocal_names


_LOOPS = (ast.For, ast.While)


def jumps(roots: Iterable[ast.AST]) -> bool:
    """True if a block may end by `return`, `raise`, an emitted completion, or a `break` or `continue` of an enclosing loop."""
    pending = [(node, False) for node in roots]
    while pending:
        node, is_in_loop = pending.pop()
        if isinstance(node, (ast.Return, ast.Raise, Emit)) or (isinstance(node, (ast.Break, ast.Continue)) and not is_in_loop):
            return True
        if isinstance(node, _LOOPS):
            pending += [(part, True) for part in node.body] + [(part, is_in_loop) for part in node.orelse]
        elif isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)) and not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            parts = ast.iter_child_nodes(node)
            pending += [(part, is_in_loop) for part in parts if isinstance(part, (ast.stmt, ast.ExceptHandler, ast.match_case))]
    return False
