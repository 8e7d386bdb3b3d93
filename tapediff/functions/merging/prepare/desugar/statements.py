"""All of it, in the order in which one kind of statement may make way for another."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from .error_states import without_error_states
from .matches import without_matches
from .named_expressions import without_named_expressions
from .yields import with_joined_yields


def desugared(body: Sequence[ast.stmt], resolve: Callable[[str], object]) -> list[ast.stmt]:
    """The statements of a function, written with fewer kinds of them.

    Args:
        resolve: the object that a global or built-in name stands for; None for variables.
    """
    return with_joined_yields(without_named_expressions(without_error_states(without_matches(body), resolve)))
