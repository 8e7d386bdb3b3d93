"""`match` of a variable with constants as branches: `case 1 | 2 if test:` is `if (x == 1 or x == 2) and test:`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ...nodes import Transformer, copied, load, near, walk


def without_matches(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Statements with branches in place of what can be written as such."""
    return _Matches().generic_visit(ast.Module(list(body), [])).body


class _Matches(Transformer):
    """Replaces the matches of variables by branches."""

    def visit_Match(self, node: ast.Match) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        # A guard that rebinds the subject would be seen by the cases after it.
        rebinds = any(isinstance(part, ast.NamedExpr) for case in node.cases if case.guard for part in walk(case.guard))
        is_variable = isinstance(node.subject, ast.Name) and not rebinds
        tests = [_test(node.subject.id, case) for case in node.cases] if is_variable else [None]  # type: ignore[attr-defined]
        made: list[ast.stmt] = []
        for test, case in zip(reversed(tests), reversed(node.cases)):
            if test is None:
                return node
            # Nothing comes after a case that always fits.
            is_rest = isinstance(test, ast.Constant)
            made = case.body if is_rest else [near(ast.copy_location(ast.If(test, case.body, made), test), test)]
        return made


def _test(name: str, case: ast.match_case) -> ast.expr | None:
    """When a case is taken; None where it binds variables, or looks into its subject."""
    tests = _tests(name, case.pattern)
    if tests is None:
        return None
    if not tests:
        return case.guard or near(ast.Constant(True), case.body[0])
    test = tests[0] if len(tests) == 1 else near(ast.copy_location(ast.BoolOp(ast.Or(), tests), tests[0]), tests[0])
    return near(ast.copy_location(ast.BoolOp(ast.And(), [test, case.guard]), test), test) if case.guard else test


def _tests(name: str, pattern: ast.pattern) -> list[ast.expr] | None:
    """The conditions of which one has to hold; none for a pattern that always fits, None for one that is no condition."""
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None and pattern.name is None:
        return []
    if isinstance(pattern, ast.MatchOr):
        found = [_tests(name, part) for part in pattern.patterns]
        return None if None in found or [] in found else [test for tests in found for test in tests or ()]
    if isinstance(pattern, ast.MatchValue):
        op, value = ast.Eq(), copied(pattern.value)
    elif isinstance(pattern, ast.MatchSingleton):
        op, value = ast.Is(), ast.Constant(pattern.value)
    else:
        return None
    placed = ast.copy_location(ast.Compare(load(name), [op], [value]), pattern)
    return [near(placed, placed)]
