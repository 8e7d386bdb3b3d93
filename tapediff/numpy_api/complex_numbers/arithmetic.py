"""Arithmetic of complex values, by the formulas of NumPy's loops, so that results are NumPy's bit for bit.

A real operand has the imaginary part 0.0, as NumPy converts it: terms are left out below only where that is exact for every float,
including the sign of zeros, on which the branch of a square root or logarithm depends.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ir.instruction import Operand, is_tracked
from .pair import COMPLEX128, pair, parts, refused


def _is_number(x: Operand, number: float) -> bool:
    return type(x) is float and x == number and np.copysign(1.0, x) == np.copysign(1.0, number)


def _times(x: Operand, y: Operand) -> Operand:
    if _is_number(x, 1.0):
        return y
    return x if _is_number(y, 1.0) else x * y


def _minus(x: Operand, y: Operand) -> Operand:
    return x if _is_number(y, 0.0) else x - y


def add(x: Operand, y: Operand) -> Operand:
    (a, b), (c, d) = parts(x), parts(y)
    return pair(a + c, b + d)


def subtract(x: Operand, y: Operand) -> Operand:
    (a, b), (c, d) = parts(x), parts(y)
    return pair(_minus(a, c), _minus(b, d))


def multiply(x: Operand, y: Operand) -> Operand:
    (a, b), (c, d) = parts(x), parts(y)
    return pair(_minus(_times(a, c), _times(b, d)), _times(a, d) + _times(b, c))


def square(x: Operand) -> Operand:
    return multiply(x, x)


def divide(x: Operand, y: Operand) -> Operand:
    """Smith (1962), Algorithm 116, as NumPy has it: scaled by the larger part of the divisor."""
    (a, b), (c, d) = parts(x), parts(y)
    if type(d) is float and d == 0.0:
        large, small, swapped = c, d, False
    else:
        swapped = np.abs(c) < np.abs(d)
        large, small = np.where(swapped, d, c), np.where(swapped, c, d)
    is_zero = np.equal(large, 0.0) & np.equal(small, 0.0)
    if not is_tracked(is_zero) and not np.any(is_zero):
        is_zero = False
    # For a zero divisor, both parts are divided by it.
    ratio = small / large if is_zero is False else np.where(is_zero, 0.0, small / np.where(is_zero, 1.0, large))
    scale = 1.0 / (large + small * ratio)
    if is_zero is not False:
        scale = np.where(is_zero, 1.0 / np.abs(large), scale)
    re, im = a + b * ratio, b - a * ratio
    if swapped is not False:
        re, im = np.where(swapped, a * ratio + b, re), np.where(swapped, b * ratio - a, im)
    return pair(re * scale, im * scale)


def reciprocal(x: Operand) -> Operand:
    """The reciprocal by NumPy's formula, which differs from division's."""
    c, d = parts(x)
    swapped = np.abs(c) < np.abs(d)
    large, small = np.where(swapped, d, c), np.where(swapped, c, d)
    ratio = small / large
    scale = large + small * ratio
    return pair(np.where(swapped, ratio, 1.0) / scale, -np.where(swapped, 1.0, ratio) / scale)


def negative(x: Operand) -> Operand:
    a, b = parts(x)
    return pair(-a, -b)


def positive(x: Operand) -> Operand:
    a, b = parts(x)
    return pair(np.positive(a), np.positive(b))


def conjugate(x: Operand) -> Operand:
    a, b = parts(x)
    return pair(np.positive(a), -b)


def absolute(x: Operand) -> Operand:
    return np.hypot(*parts(x))


def sign(x: Operand) -> Operand:
    """x / abs(x), and 0 at 0."""
    a, b = parts(x)
    size = np.hypot(a, b)
    size = np.where(size == 0.0, 1.0, size)
    return pair(a / size, b / size)


def equal(x: Operand, y: Operand) -> Operand:
    (a, b), (c, d) = parts(x), parts(y)
    return np.equal(a, c) & np.equal(b, d)


def not_equal(x: Operand, y: Operand) -> Operand:
    (a, b), (c, d) = parts(x), parts(y)
    return np.not_equal(a, c) | np.not_equal(b, d)


def isnan(x: Operand) -> Operand:
    a, b = parts(x)
    return np.isnan(a) | np.isnan(b)


def isinf(x: Operand) -> Operand:
    a, b = parts(x)
    return np.isinf(a) | np.isinf(b)


def isfinite(x: Operand) -> Operand:
    a, b = parts(x)
    return np.isfinite(a) & np.isfinite(b)


def logical(function: np.ufunc) -> Callable[..., Operand]:
    """A logic function on the masks of its operands: a complex number is True if it is not 0."""

    def call(*values: Operand) -> Operand:
        return function(*(not_equal(v, 0.0) for v in values))

    return call


def nonzero_mask(x: Operand) -> Operand:
    return not_equal(x, 0.0)


def of_dtype(x: Operand, dtype: object, name: str) -> Operand:
    """Convert a complex value to another dtype, as astype does: a real dtype drops the imaginary part, with a warning."""
    wanted = np.dtype(dtype)  # type: ignore[call-overload]
    if wanted == COMPLEX128:
        return x
    if wanted.kind == "b":
        return nonzero_mask(x)
    if wanted.kind == "c":
        raise refused(f"{name} to {wanted}", "use complex128: other precisions are not recorded")
    raise refused(f"{name} to {wanted}, which drops the imaginary part,", "take z.real, or np.abs(z)")
