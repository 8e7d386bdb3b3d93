"""Generators: a second form of the body, whose `yield` calls the consuming loop's block and returns its completion.

| in the body | in that form |
|---|---|
| `yield v` | the end of a block: `emit(v)` |
| `x = yield v` | the same, then `x = None` |
| `x = yield from items` | `delegate(items, emit)`, then `x` is what that returns |

A body that yields within an expression runs only as Python's own generator.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from .expressions import operator_call
from .scopes import Emit, has_yield, own_nodes

EMIT = "_emit_"
_CATCHING_EXIT = frozenset(("BaseException", "GeneratorExit"))


def emitting(body: Sequence[ast.stmt]) -> list[ast.stmt] | None:
    """A generator's statements with an Emit for each `yield`; None if that is impossible."""
    made = _Emitting().block(copy.deepcopy(list(body)))
    return None if has_yield(made) or any(map(_catches_exit, _handlers(made))) else made


def cleans_up(body: Sequence[ast.stmt]) -> bool:
    """True for generators that run code when they are closed."""
    return any(isinstance(node, ast.With) or (isinstance(node, ast.Try) and bool(node.finalbody)) for node in own_nodes(body))


class _Emitting:
    """Rewrites one body."""

    def __init__(self) -> None:
        self._count = 0

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of a block, rewritten."""
        return [part for statement in statements for part in self._statement(statement)]

    def _statement(self, statement: ast.stmt) -> list[ast.stmt]:
        value = getattr(statement, "value", None)
        if isinstance(value, (ast.Yield, ast.YieldFrom)) and isinstance(
            statement, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)
        ):
            return [
                ast.fix_missing_locations(ast.copy_location(part, statement))
                for part in self._yielded(statement, value)
            ]
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for field in ("body", "orelse", "finalbody"):
                if isinstance(getattr(statement, field, None), list):
                    setattr(statement, field, self.block(getattr(statement, field)))
            for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                part.body = self.block(part.body)
        return [statement]

    def _yielded(self, statement: ast.stmt, value: ast.Yield | ast.YieldFrom) -> list[ast.stmt]:
        emit = ast.Name(EMIT, ast.Load())
        if isinstance(value, ast.Yield):
            made: list[ast.stmt] = [Emit(operator_call("emit", emit, value.value or ast.Constant(None)))]
            result: ast.expr = ast.Constant(None)
        else:
            delegate = operator_call("Delegate", value.value)
            if isinstance(statement, ast.Expr):
                return [Emit(operator_call("delegate", delegate, emit))]
            self._count += 1
            name = f"_from_{self._count}_"
            source = ast.Name(name, ast.Load())
            made = [ast.Assign([ast.Name(name, ast.Store())], delegate), Emit(operator_call("delegate", source, emit))]
            result = operator_call("attribute", source, ast.Constant("value"))
        if isinstance(statement, ast.Expr):
            return made
        statement.value = result  # pyright: ignore[reportAttributeAccessIssue]
        return [*made, statement]


def _handlers(statements: Sequence[ast.stmt]) -> list[ast.ExceptHandler]:
    """The handlers of `try` statements that yield in their bodies."""
    tries = [node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Try)]
    return [
        h
        for node in tries
        if any(isinstance(n, Emit) for part in node.body for n in ast.walk(part))
        for h in node.handlers
    ]


def _catches_exit(handler: ast.ExceptHandler) -> bool:
    """True for handlers that also catch a generator's closing."""
    return handler.type is None or any(
        isinstance(n, ast.Name) and n.id in _CATCHING_EXIT for n in ast.walk(handler.type)
    )
