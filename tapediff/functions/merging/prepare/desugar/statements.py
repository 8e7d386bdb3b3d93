"""All of it, in the order in which one kind of statement may make way for another."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from .calls_in_tests import with_calls_before_tests
from .error_states import without_error_states
from .filtered_lists import with_filtered_lists
from .matches import without_matches
from .named_expressions import without_named_expressions
from .yields import with_joined_yields


def desugared(
    body: Sequence[ast.stmt], resolve: Callable[[str], object], looks_at_data: Callable[[ast.expr], bool],
    is_library: Callable[[ast.expr], bool],
) -> list[ast.stmt]:  # fmt: skip
    """The statements of a function, written with fewer kinds of them.

    Args:
        resolve: the object that a global or built-in name stands for; None for variables.
        looks_at_data: whether recordings had a guard in an expression.
        is_library: whether a function is surely none of the user's.
    """
    made = with_filtered_lists(without_named_expressions(without_error_states(without_matches(body), resolve)), looks_at_data)
    return with_calls_before_tests(with_joined_yields(made), looks_at_data, is_library)
