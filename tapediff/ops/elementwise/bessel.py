"""Bessel functions, differentiated in their argument by recurrence in the order."""

from __future__ import annotations

import math

import numpy as np

from ...ir.instruction import Operand
from ..declaration.op import Elementwise
from ..declaration.samples import ABOVE_ONE, POSITIVE, REAL, Domain
from .arithmetic import ABSOLUTE
from .comparison import EQUAL, LOGICAL_AND, SELECT
from .special import evaluated_by, function_of_one, function_of_two, polynomial, unknown_derivative
from .special_integrals import RGAMMA

# The derivatives of order 1 need order 2. The recurrence computes it from two calls, in a tenth of the time of SciPy's routine for any
# order. Below this, where the recurrence would cancel, the series is used: its terms beyond the twelfth are below rounding.
SERIES_BELOW = 2.0
_SERIES = [1.0 / (math.factorial(k) * math.factorial(k + 2)) for k in range(12)]


def _side(x: Operand) -> Operand:
    """The derivative of |x|, at 0 from the right: the scaled functions have a kink there, and most arguments are not negative."""
    return SELECT(x < 0.0, -1.0, 1.0)


def _series(x: Operand, sign: float) -> Operand:
    """The series of J (sign -1) or I (sign 1) of order 2, exact at 0 to every order of differentiation."""
    square = 0.25 * x * x
    return square * polynomial([c * sign**k for k, c in enumerate(_SERIES)], square)


def _j2(x: Operand) -> Operand:
    return SELECT(np.absolute(x) < SERIES_BELOW, _series(x, -1.0), 2.0 * J1(x) / x - J0(x))


def _i2(x: Operand) -> Operand:
    far = (I0E(x) - 2.0 * I1E(x) / x) * np.exp(x * _side(x))
    return SELECT(np.absolute(x) < SERIES_BELOW, _series(x, 1.0), far)


def _i2e(x: Operand) -> Operand:
    return SELECT(np.absolute(x) < SERIES_BELOW, _series(x, 1.0) * np.exp(-x * _side(x)), I0E(x) - 2.0 * I1E(x) / x)


# From here on, and beyond twice the square of the order, the scaled functions equal Hankel's series, whose 24th term is below
# rounding. Their derivatives are smaller by a factor of x, so that recurrences in the order cancel.
FAR, _FAR_TERMS = 25.0, 24


def _far_slope(order: Operand, x: Operand, sign: float) -> Operand:
    """The derivative of exp(-x) I (sign -1) or exp(x) K (sign 1) of an order, for large x."""
    term, coefficients = 1.0, [0.5]
    for k in range(1, _FAR_TERMS):
        term = term * ((2.0 * order - (2 * k - 1)) * (2.0 * order + (2 * k - 1)) * (sign / (8 * k)))
        coefficients.append((k + 0.5) * term)
    factor = np.sqrt(0.5 * np.pi) if sign > 0.0 else np.sqrt(0.5 / np.pi)
    return -factor * polynomial(coefficients, 1.0 / x) / (x * np.sqrt(x))


def _scaled_slope(order: Operand, x: Operand, sign: float, near: Operand, is_odd: bool = True) -> Operand:
    """`near`, and for large x the derivative by the series; the derivative is odd or even in x."""
    size = ABSOLUTE(x)
    is_far = size > FAR + 2.0 * order * order
    far = _far_slope(order, SELECT(is_far, size, FAR), sign)
    return SELECT(is_far, far * _side(x) if is_odd else far, near)


J0 = function_of_one("j0", lambda z_bar, z, x: -z_bar * J1(x), REAL)
J1 = function_of_one("j1", lambda z_bar, z, x: z_bar * (0.5 * (J0(x) - _j2(x))), REAL)
Y0 = function_of_one("y0", lambda z_bar, z, x: -z_bar * Y1(x), POSITIVE)
Y1 = function_of_one("y1", lambda z_bar, z, x: z_bar * (Y0(x) - z / x), POSITIVE)
# As in scipy.special; in a scalar expression i0 and i1 are loop indices.
I0 = Elementwise("i0", evaluated_by("i0"), "i0e(x) * exp(absolute(x))", vjp=(lambda z_bar, z, x: z_bar * I1(x),), samples=(REAL,))
I1 = Elementwise(
    "i1", evaluated_by("i1"), "i1e(x) * exp(absolute(x))", vjp=(lambda z_bar, z, x: z_bar * (0.5 * (I0(x) + _i2(x))),), samples=(REAL,)
)
I0E = function_of_one("i0e", lambda z_bar, z, x: z_bar * _scaled_slope(0.0, x, -1.0, I1E(x) - _side(x) * z), POSITIVE)
I1E = function_of_one(
    "i1e", lambda z_bar, z, x: z_bar * _scaled_slope(1.0, x, -1.0, 0.5 * (I0E(x) + _i2e(x)) - _side(x) * z, is_odd=False), POSITIVE
)
K0 = function_of_one("k0", lambda z_bar, z, x: -z_bar * K1(x), POSITIVE)
K1 = function_of_one("k1", lambda z_bar, z, x: -z_bar * (K0(x) + z / x), POSITIVE)
K0E = function_of_one("k0e", lambda z_bar, z, x: z_bar * _scaled_slope(0.0, x, 1.0, z - K1E(x)), POSITIVE)
K1E = function_of_one("k1e", lambda z_bar, z, x: z_bar * _scaled_slope(1.0, x, 1.0, z - K0E(x) - z / x), POSITIVE)


def _of_order(name: str, below: float, above: float, scaled: float = 0.0, domain: Domain = POSITIVE) -> Elementwise:
    """A function whose derivative is below * f(order - 1) + above * f(order + 1) + scaled * (sign of x) * f."""

    def rule(z_bar: Operand, z: Operand, order: Operand, x: Operand) -> Operand:
        slope = below * op(order - 1.0, x) + above * op(order + 1.0, x)
        if not scaled:
            return z_bar * slope
        far_x = SELECT(x > 0.0, x, 0.0)  # for negative x the parity is the order's
        return z_bar * _scaled_slope(order, far_x, scaled, slope + scaled * _side(x) * z)

    op = function_of_two(name, unknown_derivative(name, "order"), rule, (ABOVE_ONE, domain), fixed=(0,))
    return op


JV, YV = _of_order("jv", 0.5, -0.5), _of_order("yv", 0.5, -0.5)
IV, KV = _of_order("iv", 0.5, 0.5), _of_order("kv", -0.5, -0.5)
IVE, KVE = _of_order("ive", 0.5, 0.5, scaled=-1.0), _of_order("kve", -0.5, -0.5, scaled=1.0)


# Struve functions: the terms of their series beyond the twelfth are below rounding, as those of Bessel functions.
STRUVE_SERIES_BELOW, _STRUVE_TERMS = 1.0, 12


def _struve(name: str, sign: float) -> Elementwise:
    """H, or with sign 1 the modified one L: the derivative is half of f(order - 1) + sign f(order + 1) and of a power.

    Near 0, and where SciPy's value of the lower order is NaN, as at some half-integers, it is order / x f + sign f(order + 1) and the
    power, with the series of f / x near 0. Elsewhere that cancels more.
    """

    def rule(z_bar: Operand, z: Operand, order: Operand, x: Operand) -> Operand:
        is_near = np.absolute(x) < STRUVE_SERIES_BELOW
        half = 0.5 * x
        power = np.power(half, order)
        coefficients = [RGAMMA(order + (_STRUVE_TERMS + 0.5))]
        for k in range(_STRUVE_TERMS - 2, -1, -1):
            coefficients.append(coefficients[-1] * (order + (k + 1.5)))
        series = [sign**k / math.gamma(k + 1.5) * c for k, c in enumerate(reversed(coefficients))]
        near = 0.5 * power * polynomial(series, np.square(SELECT(is_near, half, 0.0)))
        ratio = SELECT(is_near, near, z / SELECT(is_near, 1.0, x))
        above, last = sign * op(order + 1.0, x), power * RGAMMA(order + 1.5) / np.sqrt(np.pi)
        below = op(order - 1.0, SELECT(is_near, 1.0, x))
        is_usual = LOGICAL_AND(np.absolute(x) >= STRUVE_SERIES_BELOW, EQUAL(below, below))
        return z_bar * SELECT(is_usual, 0.5 * (below + above + last), order * ratio + above + last)

    op = function_of_two(name, unknown_derivative(name, "order"), rule, (ABOVE_ONE, POSITIVE), fixed=(0,))
    return op


STRUVE, MODSTRUVE = _struve("struve", -1.0), _struve("modstruve", 1.0)

OPS = (
    J0, J1, Y0, Y1, I0, I1, I0E, I1E, K0, K1, K0E, K1E, JV, YV, IV, KV, IVE, KVE, STRUVE,
    MODSTRUVE,
)  # fmt: skip
