"""Type promotion of operands: the dtype in which an operation computes, by NumPy's rules (NEP 50)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import asarray  # NumPy's own; see numpy_namespace.py

from ...base.source_location import user_site
from ...errors import UnsupportedFunction
from ...ir.instruction import BOOL, FLOAT64, INT64, Operand, is_tracked
from ...numpy_api.kinds import kind_of
from ...ops import Op
from ...ops.elementwise.comparison import MASK_OPS

# The dtypes that constants keep where an operation does not promote its operands.
_KEPT = {np.dtype(np.float32): np.dtype(np.float32), BOOL: BOOL}


def are_integers(op: Op, args: Sequence[Operand]) -> bool:
    """True if NumPy would compute an operation in integers."""
    operands = args if op.promote is None else [args[p] for p in op.promote]
    return np.result_type(*map(_kind_of, operands)).kind in "iub"


def common_dtype(op: Op, operands: Sequence[Operand]) -> np.dtype:
    """The dtype to which an operation converts its operands: Python numbers adapt to arrays."""
    if op in MASK_OPS:
        return BOOL
    if all(type(o) is float or type(o) is np.float64 or (is_tracked(o) and o.type.dtype is FLOAT64) for o in operands):
        return FLOAT64
    common = np.result_type(*map(_kind_of, operands))
    if common.kind == "b" and op.masks_as_integers:
        return INT64
    if common.kind in "iub" and op.floats_only:
        return FLOAT64
    if common.kind in "iu":
        return INT64
    if common.kind == "c":
        raise UnsupportedFunction(
            f"{op.name} of a tracked array and complex numbers", at=user_site(),
            fix="tapediff differentiates real functions; keep real and imaginary parts apart",
        )  # fmt: skip
    return FLOAT64 if common == FLOAT64 else common


def constant_operand(op: Op, argument: Operand, array: np.ndarray, dtype: np.dtype | None) -> np.ndarray:
    """A plain operand as a constant of the tape, in the operation's dtype or else the nearest supported one."""
    if array.dtype.kind not in "fiub":
        raise UnsupportedFunction(
            f"{op.name} of a tracked array and {array.dtype} values", at=user_site(),
            got=kind_of(argument) if is_tracked(argument) else repr(argument)[:60],
            fix="tapediff differentiates real functions; convert the other operand to floats",
        )  # fmt: skip
    if dtype is None:
        dtype = _KEPT.get(array.dtype, FLOAT64 if array.dtype.kind == "f" else INT64)
    # A copy: the tape keeps the values of the moment of recording.
    return array.astype(dtype, order="C", copy=True)


def _kind_of(operand: Operand) -> np.dtype | int | float | bool:
    """The argument for np.result_type: Python numbers as they are, and the dtype of everything else."""
    if is_tracked(operand):
        return operand.dtype
    if type(operand) in (int, float, bool):
        return operand
    array = asarray(operand)
    # A single object that is no number is refused where it becomes a constant.
    is_of_numbers = array.dtype == object and array.shape and array.size
    return np.result_type(*map(_kind_of, array.flat)) if is_of_numbers else array.dtype
