"""Comparisons, logic on masks, and selection: boolean-valued instructions, which need no guard."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..ir.instruction import BOOL
from .declaration import MASK, REAL, elementwise, predicate

LESS = predicate("less", operator.lt, "x < y", (np.less,))
LESS_EQUAL = predicate("less_equal", operator.le, "x <= y", (np.less_equal,))
GREATER = predicate("greater", operator.gt, "x > y", (np.greater,))
GREATER_EQUAL = predicate("greater_equal", operator.ge, "x >= y", (np.greater_equal,))
EQUAL = predicate("equal", operator.eq, "equal(x, y)", (np.equal,))
NOT_EQUAL = predicate("not_equal", operator.ne, "not_equal(x, y)", (np.not_equal,))
IS_NAN = predicate("isnan", np.isnan, "isnan(x)", (np.isnan,), arity=1, floats_only=True)
IS_INF = predicate("isinf", np.isinf, "isinf(x)", (np.isinf,), arity=1, floats_only=True)
IS_FINITE = predicate("isfinite", np.isfinite, "isfinite(x)", (np.isfinite,), arity=1, floats_only=True)
SIGNBIT = predicate("signbit", np.signbit, "signbit(x)", (np.signbit,), arity=1, floats_only=True)

# The logic ops take masks only; the recorder turns numbers into masks (x != 0) first.
LOGICAL_AND = elementwise(
    "logical_and", np.logical_and, "x & y", (None, None), result=BOOL, floats_only=False, linear=True,
    answers=(np.logical_and,), samples=(MASK, MASK),
)  # fmt: skip
LOGICAL_OR = elementwise(
    "logical_or", np.logical_or, "x | y", (None, None), result=BOOL, floats_only=False, linear=True,
    answers=(np.logical_or,), samples=(MASK, MASK),
)  # fmt: skip
LOGICAL_XOR = elementwise(
    "logical_xor", np.logical_xor, "x ^ y", (None, None), result=BOOL, floats_only=False, linear=True,
    answers=(np.logical_xor,), samples=(MASK, MASK),
)  # fmt: skip
LOGICAL_NOT = elementwise(
    "logical_not", np.logical_not, "~x", (None,), result=BOOL, floats_only=False, linear=True,
    answers=(np.logical_not,), samples=(MASK,),
)  # fmt: skip
MASK_OPS = (LOGICAL_AND, LOGICAL_OR, LOGICAL_XOR, LOGICAL_NOT)


def _select(c: Any, x: Any, y: Any) -> Any:
    chosen = np.where(c, x, y)
    return chosen[()] if chosen.ndim == 0 else chosen


SELECT = elementwise(
    "select", _select, "select(c, x, y)",
    (None,
     lambda z_bar, z, c, x, y: SELECT(c, z_bar, 0.0),
     lambda z_bar, z, c, x, y: SELECT(c, 0.0, z_bar)),
    promote=(1, 2), floats_only=False, linear=True, masks=True, samples=(MASK, REAL, REAL),
)  # fmt: skip

OPS = (
    LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, NOT_EQUAL, IS_NAN, IS_INF, IS_FINITE, SIGNBIT, *MASK_OPS, SELECT,
)  # fmt: skip
