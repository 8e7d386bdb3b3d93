"""np.cross of 3-vectors, frequent in loops over bodies and rays: NumPy's own code takes twice as many operations."""

from __future__ import annotations

import numpy as np

from ...ir.instruction import FLOAT64, Operand, is_tracked
from ..joining import as_value, stack
from .numpys_own import own_code

_by_numpys_code = own_code(np.cross)


def cross(a: Operand, b: Operand, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Operand:
    """np.cross with NumPy's operations, in its order, and its errors."""
    first, second = as_value(a), as_value(b)
    if axis in (None, -1) and axisa == axisb == axisc == -1 and _is_of_three(first) and _is_of_three(second):
        try:
            np.broadcast_shapes(first.shape[:-1], second.shape[:-1])
        except ValueError:
            return _by_numpys_code(a, b)
        (a0, a1, a2), (b0, b1, b2) = _components(first), _components(second)
        return stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], -1)
    return _by_numpys_code(a, b, axisa, axisb, axisc, axis)


def _is_of_three(array: Operand) -> bool:
    return array.ndim > 0 and array.shape[-1] == 3 and array.dtype == FLOAT64


def _components(array: Operand) -> list[Operand]:
    if array.ndim == 1:
        return [array[k] if is_tracked(array) else float(array[k]) for k in range(3)]
    return [array[..., k] for k in range(3)]
