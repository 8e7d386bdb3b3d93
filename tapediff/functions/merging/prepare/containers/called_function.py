"""What a call of a function computes, as statements and a value; calls for which that cannot be said raise `Stays`.

Comes in: a function whose text is known, and the arguments of a call. Goes out: a copy of its statements, its value, the arguments by name.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from types import FunctionType

from ...nodes import copied
from ...variables import blocks_of
from ..exits.early_exits import EarlyExits
from ..exits.jumps import has_jump
from ..source import NoSource, definition_of
from .records import globals_of
from .scope import Scope


class Stays(Exception):
    """A call has to stay one."""


def computed_by(function: FunctionType, scope: Scope, is_dropped: bool) -> tuple[list[str], list[ast.stmt], ast.expr]:
    """The names of a function's arguments, its statements and its value, as they would stand where it is called.

    Args:
        scope: of the function that calls.
        is_dropped: nobody asks for the value.
    """
    definition = _definition(function, scope)
    body = [s for s in definition.body if not isinstance(s, ast.Pass) and not _is_text(s)]
    statements = EarlyExits(lambda _: True).of_function(body)
    value: ast.expr = ast.Constant(None)
    if statements and isinstance(last := statements[-1], ast.Return):
        statements.pop()
        value = last.value or value
    if has_jump(statements, (ast.Return,)):
        raise Stays
    if is_dropped and isinstance(value, (ast.Name, ast.Constant)):
        statements, value = _without_results(statements, value), ast.Constant(None)
    return [part.arg for part in definition.args.args], statements, value


def _definition(function: FunctionType, scope: Scope) -> ast.FunctionDef:
    """A copy of the node of a function that means the same where it is called."""
    code = function.__code__
    unusual = code.co_freevars or code.co_cellvars or code.co_kwonlyargcount or code.co_posonlyargcount or code.co_flags & _UNUSUAL
    if unusual or function.__kwdefaults__:
        raise Stays
    for name in globals_of(code):
        known = function.__globals__.get(name, getattr(builtins, name, None))
        if known is None or scope.resolve(name) is not known:
            raise Stays
    try:
        definition = definition_of(code)
    except NoSource as error:
        raise Stays from error
    if not isinstance(definition, ast.FunctionDef) or any(isinstance(n, _SCOPES) for s in definition.body for n in ast.walk(s)):
        raise Stays
    return copied(definition)


def given_to(
    names: Sequence[str], function: FunctionType, arguments: Sequence[ast.expr], keywords: Sequence[ast.keyword], node: ast.expr
) -> dict[str, ast.expr]:
    """The arguments of a call by name, in the order in which they are computed; `names` are of the function's own."""
    if len(arguments) > len(names) or any(isinstance(a, ast.Starred) for a in arguments):
        raise Stays
    given = dict(zip(names, arguments))
    for keyword in keywords:
        if keyword.arg is None or keyword.arg in given or keyword.arg not in names:
            raise Stays
        given[keyword.arg] = keyword.value
    defaults = function.__defaults__ or ()
    for name, default in zip(names[len(names) - len(defaults) :], defaults):
        if name not in given:
            if type(default) not in (int, float, bool, str, type(None)):
                raise Stays
            given[name] = ast.copy_location(ast.Constant(default), node)
    if len(given) < len(names):
        raise Stays
    return given


def _without_results(statements: Sequence[ast.stmt], value: ast.expr) -> list[ast.stmt]:
    """Statements without the assignments of a result that nobody asks for, where these compute nothing."""
    name = value.id if isinstance(value, ast.Name) and value.id.startswith(".result") else None
    made: list[ast.stmt] = []
    for statement in statements:
        for part in blocks_of(statement):
            part[:] = _without_results(part, value) or [ast.copy_location(ast.Pass(), statement)]
        is_result = isinstance(statement, ast.Assign) and isinstance(to := statement.targets[0], ast.Name) and to.id == name
        if is_result and isinstance(statement.value, (ast.Name, ast.Constant)):  # type: ignore[union-attr]
            inner = statement.value  # type: ignore[union-attr]
            if isinstance(inner, ast.Name) and inner.id.startswith(".result") and made:
                made[-1:] = _without_results(made[-1:], inner)
            continue
        made.append(statement)
    return made


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


_SCOPES = (
    ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.NamedExpr, ast.Global, ast.Nonlocal, ast.Try, ast.With, ast.Delete,
    ast.Import, ast.ImportFrom, ast.Match, ast.Yield, ast.YieldFrom, ast.Await,
)  # fmt: skip

# *args, **kwargs, generators, coroutines.
_UNUSUAL = 0x04 | 0x08 | 0x20 | 0x80 | 0x100 | 0x200
