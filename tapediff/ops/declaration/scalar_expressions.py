"""Scalar expressions: the language that elementwise ops, loop steps and kernels share, such as "z * exp(x)".

Their names are functions of `compiler.math.function_table`; this module only knows their costs.
"""

from __future__ import annotations

import re
from functools import cache

# Functions that are one or a few machine instructions.
_CHEAP = frozenset(
    ("select", "select_by_jump", "sqrt", "absolute", "maximum", "minimum", "equal", "not_equal", "to_f64", "to_i64", "floor", "ceil",
     "rint", "trunc", "sign", "isnan", "isfinite", "zero_where_discarded", "isinf", "fma", "logical_not", "round_to_float32", "copysign",
     "tanh_slope", "exists")
)  # fmt: skip
_CALLED = re.compile(r"\b([a-z]\w*)\(")


def called_functions(expression: str) -> list[str]:
    """The names of the functions in an expression."""
    return _CALLED.findall(expression)


@cache
def has_costly(expression: str) -> bool:
    """True if an expression calls exp, sin, lgamma or the like."""
    return any(name not in _CHEAP for name in called_functions(expression))


@cache
def has_division(expression: str) -> bool:
    """True if an expression divides or takes a square root, which cost about the same."""
    return "/" in expression or "sqrt" in called_functions(expression)
