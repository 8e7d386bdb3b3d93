"""The table of small programs has one for each kind of statement, expression and pattern that this Python has."""

import ast

import pytest

from flow.programs_by_kind import PROGRAMS, REFUSED, kind

ROOTS = (ast.stmt, ast.expr, ast.pattern)


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: root.__name__)
def test_every_kind_of_syntax_has_a_program_or_is_refused(root):
    """What Python adds to its syntax needs a program here, or a name among the refused."""
    assert {node.__name__ for node in root.__subclasses__()} <= {kind(name) for name in PROGRAMS} | REFUSED


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_the_kind_of_syntax_that_it_is_for(name):
    """A program that lost its syntax to an edit would test nothing."""
    if hasattr(ast, kind(name)):
        assert kind(name) in {type(node).__name__ for node in ast.walk(ast.parse(PROGRAMS[name]))}
