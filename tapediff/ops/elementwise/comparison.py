"""Comparisons, logic on masks and on the bits of integers, and selection: instructions that need no guard."""

from __future__ import annotations

import operator

import numpy as np

from ...ir.instruction import BOOL, Operand
from ..declaration.op import Elementwise, comparison, property_of_float
from ..declaration.samples import MASK, REAL, WHOLE

LESS = comparison("less", operator.lt, "x < y", "logical_not(x) & y")
LESS_EQUAL = comparison("less_equal", operator.le, "x <= y", "logical_not(x) | y")
GREATER = comparison("greater", operator.gt, "x > y", "x & logical_not(y)")
GREATER_EQUAL = comparison("greater_equal", operator.ge, "x >= y", "x | logical_not(y)")
EQUAL = comparison("equal", operator.eq, "equal(x, y)")
NOT_EQUAL = comparison("not_equal", operator.ne, "not_equal(x, y)")
# The mask of the entries x of an axis of run-time length y: the others are not the program's. Compared in a different spelling, by which
# compiler/loop_ir/ends.py finds loops that may end there.
EXISTS = Elementwise(
    "exists", operator.lt, "exists(x, y)", vjp=(None, None), result=BOOL, floats_only=False, linear=True, samples=(REAL, REAL)
)
ORDERINGS = (LESS, LESS_EQUAL, GREATER, GREATER_EQUAL)
IS_NAN = property_of_float("isnan", np.isnan, np.nan)
IS_INF = property_of_float("isinf", np.isinf, np.inf)
IS_FINITE = property_of_float("isfinite", np.isfinite, np.inf)
SIGNBIT = property_of_float("signbit", np.signbit, 0.0)


def _logic(function: np.ufunc, scalar: str, arity: int = 2) -> Elementwise:
    """Declare an op on masks; the recorder turns numbers into masks (x != 0) first."""
    return Elementwise(
        function.__name__, function, scalar, vjp=(None,) * arity, result=BOOL, floats_only=False, linear=True,
        answers=(function,), samples=(MASK,) * arity,
    )  # fmt: skip


LOGICAL_AND = _logic(np.logical_and, "x & y")
LOGICAL_OR = _logic(np.logical_or, "x | y")
LOGICAL_XOR = _logic(np.logical_xor, "x ^ y")
LOGICAL_NOT = _logic(np.logical_not, "~x", arity=1)


def _bitwise(function: np.ufunc, scalar: str) -> Elementwise:
    """Declare an op on the bits of integers."""
    return Elementwise(
        function.__name__, function, scalar, vjp=(None, None), floats_only=False, masks_as_integers=True, linear=True, exact=True,
        answers=(function,), samples=(WHOLE, WHOLE),
    )  # fmt: skip


BITWISE_AND = _bitwise(np.bitwise_and, "x & y")
BITWISE_OR = _bitwise(np.bitwise_or, "x | y")
BITWISE_XOR = _bitwise(np.bitwise_xor, "x ^ y")
MASK_OPS = (LOGICAL_AND, LOGICAL_OR, LOGICAL_XOR, LOGICAL_NOT)


def _select(c: Operand, x: Operand, y: Operand) -> Operand:
    if type(c) is np.bool_ and type(x) is type(y) is np.float64:
        return x if c else y
    chosen = np.where(c, x, y)
    return chosen[()] if chosen.ndim == 0 else chosen


SELECT = Elementwise(
    "select", _select, "select(c, x, y)",
    vjp=(None, lambda z_bar, z, c, x, y: SELECT(c, z_bar, 0.0), lambda z_bar, z, c, x, y: SELECT(c, 0.0, z_bar)),
    promote=(1, 2), floats_only=False, linear=True, masks=True, samples=(MASK, REAL, REAL),
)

@np.errstate(invalid="ignore")
def _zero_where_discarded(x: Operand, y: Operand, w: Operand) -> Operand:
    kept = np.where(np.equal(y, 0.0) & np.isnan(w) & np.isnan(x), 0.0, x)
    return kept[()] if kept.ndim == 0 else kept


# x, a product with the factor y; 0 where x is NaN and y is 0, which implies that w is NaN. See passes/simplify/discarded_zeros.py.
ZERO_WHERE_DISCARDED = Elementwise(
    "zero_where_discarded", _zero_where_discarded, "zero_where_discarded(x, y, w)",
    vjp=(
        lambda z_bar, z, x, y, w: SELECT(LOGICAL_AND(LOGICAL_AND(EQUAL(y, 0.0), IS_NAN(w)), IS_NAN(x)), 0.0, z_bar), None, None,
    ),
    linear=True, masks=True, samples=(REAL, REAL, REAL),
)

@np.errstate(invalid="ignore")
def _nan_to_zero_where_discarded(x: Operand, y: Operand) -> Operand:
    kept = np.where(np.equal(y, 0.0) & np.isnan(x), 0.0, x)
    return kept[()] if kept.ndim == 0 else kept


# The same for arrays, off the critical path, in one operation instead of four.
NAN_TO_ZERO_WHERE_DISCARDED = Elementwise(
    "nan_to_zero_where_discarded", _nan_to_zero_where_discarded, "select(equal(y, 0.0) & isnan(x), 0.0, x)",
    vjp=(lambda z_bar, z, x, y: SELECT(LOGICAL_AND(EQUAL(y, 0.0), IS_NAN(x)), 0.0, z_bar), None),
    linear=True, masks=True, samples=(REAL, REAL),
)

# A selection by a jump, which the processor predicts, so that later code does not wait for c. See passes/loops/selects_by_jumps.py.
SELECT_BY_JUMP = Elementwise(
    "select_by_jump", _select, "select_by_jump(c, x, y)",
    vjp=SELECT.vjp, promote=(1, 2), floats_only=False, linear=True, masks=True, samples=(MASK, REAL, REAL),
)

OPS = (
    LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EXISTS, EQUAL, NOT_EQUAL, IS_NAN, IS_INF, IS_FINITE, SIGNBIT, *MASK_OPS,
    BITWISE_AND, BITWISE_OR, BITWISE_XOR, SELECT, ZERO_WHERE_DISCARDED, NAN_TO_ZERO_WHERE_DISCARDED, SELECT_BY_JUMP,
)  # fmt: skip
