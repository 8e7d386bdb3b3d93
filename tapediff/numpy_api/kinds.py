"""The dtypes that tracked arrays have, and how a value gets another one."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from ..errors import UnsupportedFunction
from ..ir.instruction import BOOL, FLOAT64, INT64, Operand, is_tracked
from ..ops.elementwise.arithmetic import CONVERT
from ..ops.elementwise.comparison import NOT_EQUAL

FLOAT32 = np.dtype(np.float32)

# NumPy's arguments axis= and shape=.
Axis: TypeAlias = int | tuple[int, ...] | None
Shape: TypeAlias = Operand  # an int, or a sequence of ints; told apart by np.ndim, which type checkers do not follow


def tracked_dtype(dtype: DTypeLike | None) -> np.dtype:
    """The dtype that stands for NumPy's in a recording: int64 for integers, but for those that are made to wrap around."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu" and dtype.itemsize >= 4:
        return INT64
    if dtype not in (FLOAT64, BOOL, FLOAT32):
        raise UnsupportedFunction(f"a tracked array of dtype {dtype}", fix="use float64, float32, int64 or bool")
    return next(known for known in (FLOAT64, BOOL, FLOAT32) if known == dtype)


def converted(value: Operand, dtype: DTypeLike | None) -> Operand:
    """A tracked value in another dtype, as NumPy casts it without asking; the value itself where it has it."""
    dtype = value.dtype if dtype is None else tracked_dtype(dtype)
    if value.dtype == dtype:
        return value
    return NOT_EQUAL(value, 0) if dtype == BOOL else CONVERT(value, dtype=dtype)


def as_floats(value: Operand) -> Operand:
    """Integers and masks as NumPy's means, medians and norms take them."""
    return value if value.dtype.kind == "f" else CONVERT(value, dtype=FLOAT64)


def common_floats(*values: Operand) -> tuple[Operand, ...]:
    """Values as floats of the precision that NumPy's ufuncs of floats would compute in."""
    dtype = np.result_type(*((v if type(v) in (int, float, bool) else v.dtype) for v in values))
    dtype = dtype if dtype.kind == "f" else FLOAT64
    return tuple(converted(v, dtype) if is_tracked(v) else dtype.type(v) if np.ndim(v) == 0 else np.asarray(v, dtype) for v in values)
