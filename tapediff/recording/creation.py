"""Arrays that a recorded function can write tracked values into. Outside a recording they are plain NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from ..ir.instruction import Operand, is_tracked
from ..numpy_api import creating
from ..numpy_api.joining import as_value
from ..numpy_api.kinds import converted, tracked_dtype
from .recorder import current_recorder


def full(shape: int | Sequence[int], fill_value: Operand, dtype: DTypeLike = float) -> Operand:
    """An array of `shape` filled with a value, into which tracked values can be stored while recording.

    Args:
        shape: int or tuple of ints.
        fill_value: the number, or an array that is broadcast to the shape; may be tracked.
        dtype: float64 unless given. Integers of every width are int64 while recording.
    """
    recorder = current_recorder()
    if recorder is None:
        return np.full(shape, fill_value, dtype)
    if creating.holds_tracked(fill_value):
        return creating.full(shape, fill_value, dtype)
    return creating.as_array(recorder.tracked_constant(np.full(shape, fill_value, tracked_dtype(dtype))))


def asarray(a: Operand) -> Operand:
    """An array that tracked integers can index, td.asarray(table)[k], and tracked values can be stored into.

    Args:
        a: plain or tracked; a tracked array is returned as it is. A plain one is a constant of the tape, like all plain operands.
    """
    recorder = current_recorder()
    if recorder is None or is_tracked(a):
        return np.asarray(a)
    value = as_value(a)
    return value if is_tracked(value) else creating.as_array(recorder.tracked_constant(converted(value, tracked_dtype(value.dtype))))


def zeros(shape: int | Sequence[int], dtype: DTypeLike = float) -> Operand:
    """Like np.zeros, for a recorded function to write into; see td.full."""
    return full(shape, 0.0, dtype)


def ones(shape: int | Sequence[int], dtype: DTypeLike = float) -> Operand:
    """Like np.ones, for a recorded function to write into; see td.full."""
    return full(shape, 1.0, dtype)


def empty(shape: int | Sequence[int], dtype: DTypeLike = float) -> Operand:
    """Like np.zeros: every entry must have a value for a replay to be the same every time."""
    return full(shape, 0.0, dtype)
