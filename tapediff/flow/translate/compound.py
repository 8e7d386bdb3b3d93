"""Compound statements: functions for their blocks, and the operator that runs them; those that yield remain Python's."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..anything import Object
from .expressions import Expressions, NotTranslated, at, operator, operator_call, text
from .scopes import stored

# Makes a block's function from its kind, statements, arguments, prologue and epilogue; returns its name.
_Block: TypeAlias = Callable[..., ast.expr]


def compound(function: Object, statement: ast.stmt) -> tuple[list[ast.stmt], ast.expr]:
    """The functions of a statement's blocks, and the call that runs them and returns the completion.

    Args:
        function: contains the statement; see statements.py.
    """
    values = function.expressions()
    made: list[ast.stmt] = []
    block = _blocks(function, statement, made)
    if isinstance(statement, ast.If):
        args = [values.test(statement.test), block("then", statement.body), block("otherwise", statement.orelse)]
        call = operator_call("if_", *args)
    elif isinstance(statement, ast.While):
        args = [values.delayed_test(statement.test), block("iteration", statement.body), block("otherwise", statement.orelse)]
        call = operator_call("while_", *args)
    elif isinstance(statement, ast.For):
        items = values.visit(statement.iter)
        body = block("iteration", statement.body, ["_item_"], _targets(function, statement.target))
        call = operator_call("for_", items, body, block("otherwise", statement.orelse))
    elif isinstance(statement, ast.Try):
        tried, handlers = block("tried", statement.body), _handlers(statement, values, block)
        call = operator_call("try_", tried, handlers, block("otherwise", statement.orelse), block("finally", statement.finalbody))
    elif isinstance(statement, ast.With):
        manager, target, inner = _with(function, statement, values)
        call = operator_call("with_", manager, block("within", inner, ["_item_"], target))
    else:
        assert isinstance(statement, ast.Match)
        cases = [[*parts, block("case", case.body)] for parts, case in zip(_cases(statement, values, block), statement.cases)]
        call = operator_call("match_", values.visit(statement.subject), _rows(cases))
    for part in ast.walk(call):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, statement)
    return [*values.before, *made], call


def _blocks(function: Object, statement: ast.stmt, made: list[ast.stmt]) -> _Block:
    """Make the functions of a statement's blocks, and append them to a list."""

    def block(
        kind: str, statements: Sequence[ast.stmt], arguments: Sequence[str] = (),
        first: Sequence[ast.stmt] = (), last: Sequence[ast.stmt] = (),
    ) -> ast.expr:  # fmt: skip
        if not statements and not first:
            return ast.Constant(None)
        name = function.named(kind, statements[0] if statements else statement)
        made.append(function.closure(name, arguments, statements, statements[0] if statements else statement, first, last))
        return ast.Name(name, ast.Load())

    return block


def in_place(function: Object, statement: ast.stmt, inside: Callable[..., list[ast.stmt]]) -> list[ast.stmt]:
    """A statement that yields: Python's own, with concrete tests.

    Args:
        inside: translates a block's statements; `in_loop` for the body of this loop.
    """
    values = function.expressions()
    before: list[ast.stmt] = []
    if isinstance(statement, ast.If):
        made = ast.If(operator_call("concrete", values.test(statement.test)), inside(statement.body), inside(statement.orelse))
    elif isinstance(statement, ast.While):
        test = ast.Call(values.delayed_test(statement.test), [], [])
        made = ast.While(operator_call("concrete", test), inside(statement.body, in_loop=True), inside(statement.orelse))
    elif isinstance(statement, ast.For):
        items = operator_call("given", values.visit(statement.iter))
        body = [*_targets(function, statement.target), *inside(statement.body, in_loop=True)]
        made = ast.For(ast.Name("_item_", ast.Store()), items, body, inside(statement.orelse))
    elif isinstance(statement, ast.Try):
        kinds = [None if handler.type is None else operator_call("shown", values.visit(handler.type)) for handler in statement.handlers]
        handlers = [ast.ExceptHandler(kind, h.name, inside(h.body)) for kind, h in zip(kinds, statement.handlers)]
        if handlers:
            handlers.insert(0, ast.ExceptHandler(operator("ENDING"), None, [ast.Raise()]))
        runs_last = operator_call("runs_finally", ast.Name("_begun_", ast.Load()))
        last: list[ast.stmt] = [ast.If(runs_last, inside(statement.finalbody), [])] if statement.finalbody else []
        made = ast.Try(inside(statement.body), handlers, inside(statement.orelse), last)
    elif isinstance(statement, ast.With):
        manager, target, inner = _with(function, statement, values)
        item = ast.withitem(operator_call("Entered", manager), ast.Name("_item_", ast.Store()))
        made = ast.With([item], [*target, *inside(inner)])
    else:
        assert isinstance(statement, ast.Match)
        cases = _rows(_cases(statement, values, _blocks(function, statement, before)))
        number = operator_call("case_of", values.visit(statement.subject), cases)
        before.append(ast.Assign([ast.Name("_case_", ast.Store())], number))
        rest: list[ast.stmt] = []
        for k, case in reversed(list(enumerate(statement.cases))):
            rest = [ast.If(ast.Compare(ast.Name("_case_", ast.Load()), [ast.Eq()], [ast.Constant(k)]), inside(case.body), rest)]
        (made,) = rest
    return [*values.before, *(at(part, statement) for part in (*before, made))]


def _with(function: Object, statement: ast.With, values: Expressions) -> tuple[ast.expr, list[ast.stmt], list[ast.stmt]]:
    """The first manager of a `with`, the assignment of its result, and the body."""
    item, rest = statement.items[0], statement.items[1:]
    inner: list[ast.stmt] = [at(ast.With(rest, statement.body), statement)] if rest else statement.body
    target = [] if item.optional_vars is None else _targets(function, item.optional_vars)
    return values.visit(item.context_expr), target, inner


def _targets(function: Object, target: ast.expr) -> list[ast.stmt]:
    """Assign an item of a loop or the result of a manager."""
    values = function.expressions()
    made = function.assign(target, ast.Name("_item_", ast.Load()), values)
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


def _cases(statement: ast.Match, values: Expressions, block: _Block) -> list[list[ast.expr]]:
    """The pattern of each case, the assignments of its names, and its guard."""
    cases: list[list[ast.expr]] = []
    for case in statement.cases:
        names = sorted(stored([case.pattern]))
        captured = [ast.Subscript(ast.Name("_captured_", ast.Load()), text(n), ast.Load()) for n in names]
        first = [at(ast.Assign([ast.Name(n, ast.Store())], value), case.pattern) for n, value in zip(names, captured)]
        guard = ast.Constant(None) if case.guard is None else values.delayed(case.guard)
        cases.append([_pattern(case.pattern, values), block("captures", [], ["_captured_"], first), guard])
    return cases


def _rows(rows: list[list[ast.expr]]) -> ast.expr:
    return ast.Tuple([ast.Tuple(row, ast.Load()) for row in rows], ast.Load())


def _pattern(pattern: ast.pattern, values: Expressions) -> ast.expr:
    """The call that creates a pattern; see operations/patterns.py."""

    def inside(parts: Sequence[ast.pattern]) -> ast.expr:
        return ast.Tuple([_pattern(p, values) for p in parts], ast.Load())

    match pattern:
        case ast.MatchValue(value):
            return operator_call("match_value", values.delayed(value))
        case ast.MatchSingleton(value):
            return operator_call("match_singleton", ast.Constant(value))
        case ast.MatchSequence(patterns):
            star = next((k for k, part in enumerate(patterns) if isinstance(part, ast.MatchStar)), None)
            return operator_call("match_sequence", inside(patterns), ast.Constant(star))
        case ast.MatchStar(name):
            return operator_call("match_as", ast.Constant(None), ast.Constant(name))
        case ast.MatchMapping(keys, patterns, rest):
            names = ast.Tuple([values.delayed(key) for key in keys], ast.Load())
            return operator_call("match_mapping", names, inside(patterns), ast.Constant(rest))
        case ast.MatchClass(kind, patterns, names, keyword_patterns):
            keywords = ast.Constant(tuple(names))  # pyright: ignore[reportArgumentType] -- the stubs leave out tuples
            return operator_call("match_class", values.delayed(kind), inside(patterns), keywords, inside(keyword_patterns))
        case ast.MatchAs(inner, name):
            return operator_call("match_as", ast.Constant(None) if inner is None else _pattern(inner, values), ast.Constant(name))
        case ast.MatchOr(patterns):
            return operator_call("match_or", inside(patterns))
        case _:
            raise NotTranslated(f"it has a pattern of kind {type(pattern).__name__}")
