"""Compound statements: the functions of their blocks, and the operator that runs them; patterns of `match`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from .expressions import Expressions, NotTranslated, at, operator_call, text
from .scopes import has_yield, stored

# Makes the function of a block: its kind, statements, arguments, and what it does first and last; returns its name.
_Block: TypeAlias = Callable[..., ast.expr]


class Function(Protocol):
    """The function that a statement is in (statements.py)."""

    def named(self, kind: str, node: ast.AST) -> str:
        """A new name for a block or a value."""
        ...

    def expressions(self) -> Expressions:
        """The translation of the expressions of one statement."""
        ...

    def assign(self, target: ast.expr, value: ast.expr, values: Expressions) -> list[ast.stmt]:
        """Statements that assign a translated value to a target."""
        ...

    def closure(self, name: str, arguments: Sequence[str], statements: Sequence[ast.stmt], node: ast.AST, first: Sequence[ast.stmt] = (),
                last: Sequence[ast.stmt] = ()) -> ast.FunctionDef:  # fmt: skip
        """A block as a function."""
        ...

    def driven(self, name: str, args: list[ast.expr], yields: bool) -> ast.expr:
        """A call of the operator that runs blocks."""
        ...


def compound(function: Function, statement: ast.stmt) -> tuple[list[ast.stmt], ast.expr]:
    """The functions of a statement's blocks, and the call that runs them and gives the completion."""
    values = function.expressions()
    made: list[ast.stmt] = []

    def block(
        kind: str, statements: Sequence[ast.stmt], arguments: Sequence[str] = (),
        first: Sequence[ast.stmt] = (), last: Sequence[ast.stmt] = (),
    ) -> ast.expr:  # fmt: skip
        if not statements and not first:
            return ast.Constant(None)
        name = function.named(kind, statements[0] if statements else statement)
        made.append(function.closure(name, arguments, statements, statements[0] if statements else statement, first, last))
        return ast.Name(name, ast.Load())

    yields = has_yield([statement])
    if isinstance(statement, ast.If):
        test = values.test(statement.test)
        call = function.driven("if_", [test, block("then", statement.body), block("otherwise", statement.orelse)], yields)
    elif isinstance(statement, ast.While):
        test = values.delayed_test(statement.test)
        call = function.driven("while_", [test, block("iteration", statement.body), block("otherwise", statement.orelse)], yields)
    elif isinstance(statement, ast.For):
        items = values.visit(statement.iter)
        body = block("iteration", statement.body, ["_item_"], _targets(function, statement.target, "_item_"))
        call = function.driven("for_", [items, body, block("otherwise", statement.orelse)], yields)
    elif isinstance(statement, ast.Try):
        tried, handlers = block("tried", statement.body), _handlers(statement, values, block)
        otherwise, last = block("otherwise", statement.orelse), block("finally", statement.finalbody)
        call = function.driven("try_", [tried, handlers, otherwise, last], yields)
    elif isinstance(statement, ast.With):
        item, rest = statement.items[0], statement.items[1:]
        inner: list[ast.stmt] = [at(ast.With(rest, statement.body), statement)] if rest else statement.body
        target = [] if item.optional_vars is None else _targets(function, item.optional_vars, "_item_")
        call = function.driven("with_", [values.visit(item.context_expr), block("within", inner, ["_item_"], target)], yields)
    else:
        assert isinstance(statement, ast.Match)
        call = _match(function, statement, values, block, yields)
    for part in ast.walk(call):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, statement)
    return [*values.before, *made], call


def _targets(function: Function, target: ast.expr, name: str) -> list[ast.stmt]:
    values = function.expressions()
    made = function.assign(target, ast.Name(name, ast.Load()), values)
    return [at(s, target) for s in (*values.before, *made)]


def _handlers(statement: ast.Try, values: Expressions, block: _Block) -> ast.expr:
    found: list[ast.expr] = []
    for handler in statement.handlers:
        kind: ast.expr = ast.Constant(None) if handler.type is None else values.delayed(handler.type)
        first: list[ast.stmt] = []
        last: list[ast.stmt] = []
        if handler.name is not None:
            first = [at(ast.Assign([ast.Name(handler.name, ast.Store())], ast.Name("_raised_", ast.Load())), handler)]
            last = [at(ast.Assign([ast.Name(handler.name, ast.Store())], ast.Constant(None)), handler),
                    at(ast.Delete([ast.Name(handler.name, ast.Del())]), handler)]  # fmt: skip
        found.append(ast.Tuple([kind, block("handler", handler.body, ["_raised_"], first, last)], ast.Load()))
    return ast.Tuple(found, ast.Load())


def _match(function: Function, statement: ast.Match, values: Expressions, block: _Block, yields: bool) -> ast.expr:
    cases: list[ast.expr] = []
    for case in statement.cases:
        names = sorted(stored([case.pattern]))
        captured = [ast.Subscript(ast.Name("_captured_", ast.Load()), text(n), ast.Load()) for n in names]
        first = [ast.Assign([ast.Name(n, ast.Store())], value) for n, value in zip(names, captured)]
        pattern = _pattern(case.pattern, values)
        captures = block("captures", [], ["_captured_"], [at(s, case.pattern) for s in first]) if first else ast.Constant(None)
        guard = ast.Constant(None) if case.guard is None else values.delayed(case.guard)
        cases.append(ast.Tuple([pattern, captures, guard, block("case", case.body)], ast.Load()))
    return function.driven("match_", [values.visit(statement.subject), ast.Tuple(cases, ast.Load())], yields)


def _pattern(pattern: ast.pattern, values: Expressions) -> ast.expr:
    """The call that makes a pattern; see operations/patterns.py."""

    def inside(parts: Sequence[ast.pattern]) -> ast.expr:
        return ast.Tuple([_pattern(p, values) for p in parts], ast.Load())

    match pattern:
        case ast.MatchValue(value):
            return operator_call("Value", values.delayed(value))
        case ast.MatchSingleton(value):
            return operator_call("Singleton", ast.Constant(value))
        case ast.MatchSequence(patterns):
            return operator_call("Sequence", inside(patterns))
        case ast.MatchStar(name):
            return operator_call("Star", ast.Constant(name))
        case ast.MatchMapping(keys, patterns, rest):
            names = ast.Tuple([values.delayed(key) for key in keys], ast.Load())
            return operator_call("Mapping", names, inside(patterns), ast.Constant(rest))
        case ast.MatchClass(kind, patterns, names, keyword_patterns):
            keywords = ast.Constant(tuple(names))  # pyright: ignore[reportArgumentType] -- the stubs leave out tuples
            return operator_call("Class", values.delayed(kind), inside(patterns), keywords, inside(keyword_patterns))
        case ast.MatchAs(inner, name):
            return operator_call("Capture", ast.Constant(None) if inner is None else _pattern(inner, values), ast.Constant(name))
        case ast.MatchOr(patterns):
            return operator_call("Alternatives", inside(patterns))
        case _:
            raise NotTranslated(f"it has a pattern of kind {type(pattern).__name__}")
