"""Scalar expressions: the language that elementwise ops, loop steps and kernels share, such as "z * exp(x)".

Their names are functions of `compiler.math.function_table`; here is only how long they take.
"""

from __future__ import annotations

import re
from functools import cache

# The functions that are a machine instruction or a few.
_CHEAP = frozenset(
    ("select", "select_by_jump", "sqrt", "absolute", "maximum", "minimum", "equal", "not_equal", "to_f64", "to_i64", "floor", "ceil",
     "rint", "trunc", "sign", "isnan", "isfinite", "zero_where_discarded", "isinf", "fma", "logical_not", "round_to_float32", "copysign",
     "tanh_slope")
)  # fmt: skip
_CALLED = re.compile(r"\b([a-z]\w*)\(")


def called_functions(expression: str) -> list[str]:
    """The names of the functions in an expression."""
    return _CALLED.findall(expression)


@cache
def has_costly(expression: str) -> bool:
    """Whether an expression calls exp, sin, lgamma or the like."""
    return any(name not in _CHEAP for name in called_functions(expression))


@cache
def has_division(expression: str) -> bool:
    """Whether an expression divides or takes a square root, which take the processor about as long."""
    return "/" in expression or "sqrt" in called_functions(expression)
