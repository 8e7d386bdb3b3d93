"""Arrays that a recorded function can write tracked values into. Outside a recording they are plain NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .recorder import current_recorder


def full(shape: Any, fill_value: float, dtype: Any = float) -> Any:
    """An array of `shape` filled with a number, into which tracked values can be stored while recording.

    Args:
        shape: int or tuple of ints.
        fill_value: the number.
        dtype: float64 unless given.
    """
    array = np.full(shape, fill_value, dtype)
    recorder = current_recorder()
    return array if recorder is None else recorder.tracked_constant(array)


def zeros(shape: Any, dtype: Any = float) -> Any:
    """Like np.zeros, for a recorded function to write into; see td.full."""
    return full(shape, 0.0, dtype)


def ones(shape: Any, dtype: Any = float) -> Any:
    """Like np.ones, for a recorded function to write into; see td.full."""
    return full(shape, 1.0, dtype)


def empty(shape: Any, dtype: Any = float) -> Any:
    """Like np.zeros: every entry must have a value for a replay to be the same every time."""
    return full(shape, 0.0, dtype)
