"""Most of it, in the order in which one kind of statement may make way for another: what asks only for the text of a function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ...rules import Known
from .calls_in_tests import with_calls_before_tests
from .error_states import without_error_states
from .filtered_lists import with_filtered_lists
from .mask_loops import with_mask_loops
from .matches import without_matches
from .named_expressions import without_named_expressions
from .short_sorts import with_short_sorts
from .single_targets import with_single_targets
from .yields import with_joined_yields


def written_out(facts: Known, body: list[ast.stmt]) -> set[int]:
    """Write out, in place, what has a name of its own in Python; the lines at which that looks at data."""
    with_single_targets(body)
    with_mask_loops(facts, body)
    return with_short_sorts(facts, body)


def desugared(
    body: Sequence[ast.stmt], resolve: Callable[[str], object], looks_at_data: Callable[[ast.expr], bool],
    is_library: Callable[[ast.expr], bool], is_own: Callable[[str], bool],
) -> list[ast.stmt]:  # fmt: skip
    """The statements of a function, written with fewer kinds of them.

    Args:
        resolve: the object that a global or built-in name stands for; None for variables.
        looks_at_data: whether recordings had a guard in an expression.
        is_library: whether a function is surely none of the user's.
        is_own: whether a variable is the function's, and no other one sees it.
    """
    named = without_named_expressions(without_error_states(without_matches(body), resolve), is_own, is_library)
    made = with_filtered_lists(named, looks_at_data)
    return with_calls_before_tests(with_joined_yields(made), looks_at_data, is_library)
