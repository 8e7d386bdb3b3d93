"""Elementary functions of complex values, with NumPy's branch cuts: the sign of a zero part decides the side of a cut.

Source: Kahan (1987), Branch cuts for complex elementary functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...ir.instruction import Operand, is_tracked
from .arithmetic import multiply, reciprocal, square
from .pair import pair, parts

_LARGEST_POWER = 100


def _distance(a: Operand) -> Operand:
    """abs(a), with the derivative 1 at 0: the functions here are smooth there, so a one-sided derivative is the derivative."""
    return np.where(np.less(a, 0.0), -a, a)


def exp(x: Operand) -> Operand:
    a, b = parts(x)
    size = np.exp(a)
    return pair(size * np.cos(b), size * np.sin(b))


def expm1(x: Operand) -> Operand:
    a, b = parts(x)
    half = np.sin(0.5 * b)
    return pair(np.expm1(a) * np.cos(b) - 2.0 * half * half, np.exp(a) * np.sin(b))


def exp2(x: Operand) -> Operand:
    return exp(multiply(x, math.log(2.0)))


def log(x: Operand) -> Operand:
    a, b = parts(x)
    return pair(np.log(np.hypot(a, b)), np.arctan2(b, a))


def log1p(x: Operand) -> Operand:
    """Compute the real part from |1 + x|^2 - 1, where that does not cancel."""
    a, b = parts(x)
    excess = a * (2.0 + a) + b * b
    is_near = np.greater(excess, -0.5)
    re = np.where(is_near, 0.5 * np.log1p(np.where(is_near, excess, 0.0)), np.log(np.hypot(a + 1.0, b)))
    return pair(re, np.arctan2(b, a + 1.0))


def _scaled_log(scale: float) -> Callable[[Operand], Operand]:
    def call(x: Operand) -> Operand:
        re, im = parts(log(x))
        return pair(re * scale, im * scale)

    return call


log2, log10 = _scaled_log(1.0 / math.log(2.0)), _scaled_log(1.0 / math.log(10.0))


def sqrt(x: Operand) -> Operand:
    """The root with a non-negative real part; the imaginary part has the sign of x's, including that of a zero."""
    a, b = parts(x)
    size = np.hypot(a, b)
    is_zero, is_left = np.equal(size, 0.0), np.less(a, 0.0)
    larger = np.sqrt(0.5 * (_distance(a) + size))
    # At 0 its derivative is infinite; 0 / 0 would make the smaller part NaN.
    smaller = np.where(is_zero, 0.5 * b, b / np.where(is_zero, 1.0, 2.0 * larger))
    side = np.copysign(1.0, b)
    return pair(np.where(is_left, side * smaller, larger), np.where(is_left, side * larger, smaller))


def power(x: Operand, y: Operand) -> Operand:
    """Multiplications for small integer exponents, as in NumPy; else exp(y log(x)), and 0 ** y is 0 or NaN."""
    if not is_tracked(y) and (type(y) in (int, float) or isinstance(y, (np.integer, np.floating))):
        if float(y).is_integer() and abs(y) <= _LARGEST_POWER:
            return _integer_power(x, int(y))
        if y == 0.5:
            return sqrt(x)
    (a, b), (c, d) = parts(x), parts(y)
    is_zero = (np.equal(a, 0.0)) & (np.equal(b, 0.0))
    re, im = parts(exp(multiply(y, log(pair(np.where(is_zero, 1.0, a), b)))))
    at_zero = np.where((np.equal(c, 0.0)) & (np.equal(d, 0.0)), 1.0, np.where(np.greater(c, 0.0), 0.0, np.nan))
    return pair(np.where(is_zero, at_zero, re), np.where(is_zero, np.where(np.isnan(at_zero), np.nan, 0.0), im))


def _integer_power(x: Operand, n: int) -> Operand:
    if n < 0:
        return reciprocal(_integer_power(x, -n))
    if n == 0:
        return pair(np.ones(np.shape(x)), 0.0)
    result, base = None, x
    while n:
        if n & 1:
            result = base if result is None else multiply(result, base)
        n >>= 1
        base = square(base) if n else base
    assert result is not None, "n is positive"
    return result


def sin(x: Operand) -> Operand:
    a, b = parts(x)
    return pair(np.sin(a) * np.cosh(b), np.cos(a) * np.sinh(b))


def cos(x: Operand) -> Operand:
    a, b = parts(x)
    return pair(np.cos(a) * np.cosh(b), -np.sin(a) * np.sinh(b))


def sinh(x: Operand) -> Operand:
    a, b = parts(x)
    return pair(np.sinh(a) * np.cos(b), np.cosh(a) * np.sin(b))


def cosh(x: Operand) -> Operand:
    a, b = parts(x)
    return pair(np.cosh(a) * np.cos(b), np.sinh(a) * np.sin(b))


def tanh(x: Operand) -> Operand:
    """With t = tan(b) and s = tanh(a): (s (1 + t^2), t (1 - s^2)) / (1 + s^2 t^2), with cosines in place of tangents, without overflow."""
    a, b = parts(x)
    s, sine, cosine = np.tanh(a), np.sin(b), np.cos(b)
    # 1 - s^2 cancels where |a| is large; written with exp it does not.
    small = np.exp(-2.0 * _distance(a))
    rest = 4.0 * small / ((1.0 + small) * (1.0 + small))
    below = cosine * cosine + s * s * sine * sine
    return pair(s / below, sine * cosine * rest / below)


def tan(x: Operand) -> Operand:
    a, b = parts(x)
    re, im = parts(tanh(pair(-b, a)))
    return pair(im, -re)


def arcsin(x: Operand) -> Operand:
    a, b = parts(x)
    (p, q), (r, s) = parts(sqrt(pair(1.0 - a, -b))), parts(sqrt(pair(1.0 + a, b)))
    return pair(np.arctan2(a, p * r - q * s), np.arcsinh(p * s - q * r))


def arccos(x: Operand) -> Operand:
    a, b = parts(x)
    (p, q), (r, s) = parts(sqrt(pair(1.0 - a, -b))), parts(sqrt(pair(1.0 + a, b)))
    return pair(2.0 * np.arctan2(p, r), np.arcsinh(r * q - s * p))


def arctan(x: Operand) -> Operand:
    a, b = parts(x)
    re, im = parts(arctanh(pair(-b, a)))
    return pair(im, -re)


def arcsinh(x: Operand) -> Operand:
    a, b = parts(x)
    re, im = parts(arcsin(pair(-b, a)))
    return pair(im, -re)


def arccosh(x: Operand) -> Operand:
    a, b = parts(x)
    (p, q), (r, s) = parts(sqrt(pair(a - 1.0, b))), parts(sqrt(pair(a + 1.0, b)))
    return pair(np.arcsinh(p * r + q * s), 2.0 * np.arctan2(q, r))


def arctanh(x: Operand) -> Operand:
    a, b = parts(x)
    below, beyond = (1.0 - a) * (1.0 - a) + b * b, (1.0 + a) * (1.0 + a) + b * b
    is_left = np.less(a, 0.0)
    re = 0.25 * np.where(is_left, -1.0, 1.0) * np.log1p(4.0 * _distance(a) / np.where(is_left, beyond, below))
    return pair(re, 0.5 * (np.arctan2(b, 1.0 - a) + np.arctan2(b, 1.0 + a)))
