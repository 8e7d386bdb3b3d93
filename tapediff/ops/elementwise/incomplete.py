"""The incomplete gamma and beta functions, their inverses and Student's distribution: derivatives in every argument, shapes included.

The derivative in a shape parameter is an integral with a logarithm in the integrand. It is taken on the side of the argument where the
integrand keeps its sign, in a variable in which it decays exponentially, by the trapezoidal rule after t = exp(v - exp(-v)): 88 terms.
These are ordinary operations, so higher derivatives are those of the sum. The relative error is about 1e-14 for shapes from 1e-2 to
10, 1e-15 times the shape above, and grows to 1e-9 for a beta shape of 1e-3.
Source: Takahasi & Mori (1974), Publ. RIMS 9, for the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ...ir.instruction import Operand
from ..declaration.op import Elementwise
from ..declaration.samples import POSITIVE, PROBABILITY, REAL
from .arithmetic import MAXIMUM, MINIMUM
from .comparison import EQUAL, IS_NAN, LOGICAL_AND, SELECT
from .special import BETALN, DIGAMMA, GAMMALN, evaluated_by, polynomial
from .structure import STOP_GRADIENT

# The error with steps of 0.09 is 1e-15 for integrands of one scale, and for their derivatives; 1e-11 for scales 1000 apart.
STEP = 0.09
_GRID = np.arange(-3.5, 4.4, STEP)
_POINTS = np.exp(_GRID - np.exp(-_GRID))
_WEIGHTS = STEP * _POINTS * (1.0 + np.exp(-_GRID))


def integral(scale: Operand, integrand: Callable[[Operand], Operand]) -> Operand:
    """The integral of integrand(s) over s > 0, which decays at the rate `scale`; its arguments have a last axis of length 1."""
    points, weights = _POINTS.astype(scale.dtype), _WEIGHTS.astype(scale.dtype)
    scale = STOP_GRADIENT(scale)  # the integral does not depend on it
    return np.sum(integrand(points / scale) * (weights / scale), axis=-1)


def _column(x: Operand) -> Operand:
    return np.expand_dims(x, -1)


def _between(x: Operand, low: float, high: float, inside: float) -> tuple[Operand, Operand]:
    """The mask low < x < high, and x with `inside` in place of other values."""
    is_inside = LOGICAL_AND(x > low, x < high)
    return is_inside, SELECT(is_inside, x, inside)


def _where_inside(is_inside: Operand, x: Operand, value: Operand, outside: Operand = 0.0, *shapes: Operand) -> Operand:
    """`value` inside; `outside` elsewhere, where the functions are constant; NaN if x is NaN or a shape is not positive."""
    result = SELECT(is_inside, value, SELECT(IS_NAN(x), np.nan, outside))
    for shape in shapes:
        result = SELECT(shape > 0.0, result, np.nan)
    return result


# The incomplete gamma functions


def gamma_density(a: Operand, x: Operand) -> Operand:
    """The derivative of gammainc(a, x) in x, also at x = 0; 0 below."""
    is_inside, y = _between(x, 0.0, np.inf, 1.0)
    at_zero = SELECT(a > 1.0, 0.0, SELECT(EQUAL(a, 1.0), 1.0, np.inf))
    inside = np.exp((a - 1.0) * np.log(y) - y - GAMMALN(a))
    return _where_inside(is_inside, x, inside, SELECT(EQUAL(x, 0.0), at_zero, 0.0), a)


def gamma_shape_derivative(a: Operand, x: Operand) -> Operand:
    """The derivative of gammainc(a, x) in a."""
    is_inside, y = _between(x, 0.0, np.inf, 1.0)
    is_raised = LOGICAL_AND(a < 1.0, y < 1.0)  # here use P(a, x) = P(a + 1, x) + x**a exp(-x) / gamma(a + 1)
    shape = a + SELECT(is_raised, 1.0, 0.0)
    log_y, center = np.log(y), DIGAMMA(shape)
    is_above = log_y > center
    sign = SELECT(is_above, 1.0, -1.0)
    first = np.exp(shape * log_y - y - GAMMALN(shape)) * sign
    above, p, x_, offset = _column(is_above), _column(shape), _column(y), _column(log_y - center)

    def integrand(s: Operand) -> Operand:
        """The integrand in t: s = t - x above x, s = log(x / t) below."""
        log_ratio = SELECT(above, np.log1p(SELECT(above, s, 0.0)), -s)
        moved = x_ * SELECT(above, s, np.expm1(-s))
        return (offset + log_ratio) * np.exp(p * log_ratio - moved) / SELECT(above, 1.0 + s, 1.0)

    rate = np.abs(shape - y) + np.sqrt(y)
    total = integral(_column(rate), integrand)
    raised = np.exp(a * log_y - y - GAMMALN(a + 1.0)) * (log_y - DIGAMMA(a + 1.0))
    return _where_inside(is_inside, x, SELECT(is_raised, raised, 0.0) - first * total, 0.0, a)


GAMMAINC = Elementwise(
    "gammainc", evaluated_by("gammainc"), "gammainc(x, y)",
    vjp=(lambda z_bar, z, x, y: z_bar * gamma_shape_derivative(x, y), lambda z_bar, z, x, y: z_bar * gamma_density(x, y)),
    samples=(POSITIVE, POSITIVE),
)
GAMMAINCC = Elementwise(
    "gammaincc", evaluated_by("gammaincc"), "gammaincc(x, y)",
    vjp=(lambda z_bar, z, x, y: -z_bar * gamma_shape_derivative(x, y), lambda z_bar, z, x, y: -z_bar * gamma_density(x, y)),
    samples=(POSITIVE, POSITIVE),
)


def _but_at(ends: tuple[float, float], z: Operand, slope: Operand) -> Operand:
    """The derivative of a quantile z in a shape: 0 at the ends of the support, where it would be 0 / 0."""
    return SELECT(EQUAL(z, ends[0]), 0.0, SELECT(EQUAL(z, ends[1]), 0.0, slope))


def _gamma_inverse_shape(z_bar: Operand, z: Operand, a: Operand, p: Operand) -> Operand:
    return _but_at((0.0, np.inf), z, -z_bar * gamma_shape_derivative(a, z) / gamma_density(a, z))


GAMMAINCINV = Elementwise(
    "gammaincinv", evaluated_by("gammaincinv"), "gammaincinv(x, y)",
    vjp=(_gamma_inverse_shape, lambda z_bar, z, x, y: z_bar / gamma_density(x, z)),
    samples=(POSITIVE, PROBABILITY),
)
GAMMAINCCINV = Elementwise(
    "gammainccinv", evaluated_by("gammainccinv"), "gammainccinv(x, y)",
    vjp=(_gamma_inverse_shape, lambda z_bar, z, x, y: -z_bar / gamma_density(x, z)),
    samples=(POSITIVE, PROBABILITY),
)


# The incomplete beta functions


def beta_density(a: Operand, b: Operand, x: Operand) -> Operand:
    """The derivative of betainc(a, b, x) in x, also at 0 and 1; 0 outside."""
    is_inside, t = _between(x, 0.0, 1.0, 0.5)
    end = SELECT(EQUAL(x, 0.0), a, b)
    at_end = SELECT(end > 1.0, 0.0, SELECT(EQUAL(end, 1.0), a * b, np.inf))
    inside = np.exp((a - 1.0) * np.log(t) + (b - 1.0) * np.log1p(-t) - BETALN(a, b))
    is_end = SELECT(EQUAL(x, 0.0), 1.0, SELECT(EQUAL(x, 1.0), 1.0, 0.0)) > 0.0
    return _where_inside(is_inside, x, inside, SELECT(is_end, at_end, 0.0), a, b)


def beta_shape_derivative(a: Operand, b: Operand, x: Operand, y: Operand) -> Operand:
    """The derivative of betainc(a, b, x) in a, for y = 1 - x; in b it is -beta_shape_derivative(b, a, y, x)."""
    is_inside = LOGICAL_AND(x > 0.0, y > 0.0)
    inside = shape_derivative_inside(a, b, SELECT(is_inside, x, 0.5), SELECT(is_inside, y, 0.5))
    return _where_inside(is_inside, x, inside, 0.0, a, b)


def shape_derivative_inside(a: Operand, b: Operand, x: Operand, y: Operand) -> Operand:
    """The derivative of betainc(a, b, x) in a, for y = 1 - x, both positive."""
    # Here use I(a, b, x) = I(a + 1, b, x) + x**a y**b / (a B(a, b)).
    is_raised = LOGICAL_AND(a < 1.0, x * (1.0 + b) < 1.0)
    shape = a + SELECT(is_raised, 1.0, 0.0)
    log_x, log_y = SELECT(x < 0.5, np.log(x), np.log1p(-y)), SELECT(x < 0.5, np.log1p(-x), np.log(y))
    is_above = log_x > DIGAMMA(shape) - DIGAMMA(shape + MAXIMUM(b, 1.0))
    power = np.exp(shape * log_x + b * log_y - BETALN(shape, b))
    first = SELECT(is_above, power / x, -power / y)
    p, q = SELECT(is_above, b, shape), SELECT(is_above, shape, b)
    odds = SELECT(is_above, y, x) / SELECT(is_above, x, y)
    rate = MINIMUM(np.abs(p - (q - 1.0) * odds) + np.sqrt(np.abs(q - 1.0) * odds * (1.0 + odds)), 1.3 * p)
    above, p, q, odds, offset = map(_column, (is_above, p, q - 1.0, odds, log_x - DIGAMMA(shape) + DIGAMMA(shape + b)))

    def integrand(s: Operand) -> Operand:
        """The integrand in t: s = log(y / (1 - t)) above x, s = log(x / t) below."""
        log_other = np.log1p(-odds * np.expm1(-s))
        return (offset + SELECT(above, log_other, -s)) * np.exp(q * log_other - p * s)

    total = integral(_column(rate), integrand)
    raised = np.exp(a * log_x + b * log_y - BETALN(a, b)) / a * (log_x - DIGAMMA(a + 1.0) + DIGAMMA(a + b))
    return SELECT(is_raised, raised, 0.0) - first * total


def _beta_inverse(name: str, sign: float) -> Elementwise:
    """betaincinv, or with sign -1 the inverse of the complement."""

    def first(z_bar: Operand, z: Operand, a: Operand, b: Operand, p: Operand) -> Operand:
        return _but_at((0.0, 1.0), z, -z_bar * beta_shape_derivative(a, b, z, 1.0 - z) / beta_density(a, b, z))

    def second(z_bar: Operand, z: Operand, a: Operand, b: Operand, p: Operand) -> Operand:
        return _but_at((0.0, 1.0), z, z_bar * beta_shape_derivative(b, a, 1.0 - z, z) / beta_density(a, b, z))

    def third(z_bar: Operand, z: Operand, a: Operand, b: Operand, p: Operand) -> Operand:
        return sign * z_bar / beta_density(a, b, z)

    return Elementwise(
        name, evaluated_by(name), f"{name}(x, y, w)", vjp=(first, second, third), samples=(POSITIVE, POSITIVE, PROBABILITY)
    )


BETAINC = Elementwise(
    "betainc", evaluated_by("betainc"), "betainc(x, y, w)",
    vjp=(
        lambda z_bar, z, a, b, x: z_bar * beta_shape_derivative(a, b, x, 1.0 - x),
        lambda z_bar, z, a, b, x: -z_bar * beta_shape_derivative(b, a, 1.0 - x, x),
        lambda z_bar, z, a, b, x: z_bar * beta_density(a, b, x),
    ),
    samples=(POSITIVE, POSITIVE, PROBABILITY),
)  # fmt: skip
BETAINCC = Elementwise(
    "betaincc", evaluated_by("betaincc"), "betaincc(x, y, w)",
    vjp=(
        lambda z_bar, z, a, b, x: -z_bar * beta_shape_derivative(a, b, x, 1.0 - x),
        lambda z_bar, z, a, b, x: z_bar * beta_shape_derivative(b, a, 1.0 - x, x),
        lambda z_bar, z, a, b, x: -z_bar * beta_density(a, b, x),
    ),
    samples=(POSITIVE, POSITIVE, PROBABILITY),
)  # fmt: skip
BETAINCINV, BETAINCCINV = _beta_inverse("betaincinv", 1.0), _beta_inverse("betainccinv", -1.0)


# Student's distribution


def t_density(df: Operand, t: Operand) -> Operand:
    """The derivative of stdtr(df, t) in t."""
    exponent = GAMMALN(0.5 * (df + 1.0)) - GAMMALN(0.5 * df) - 0.5 * np.log(np.pi * df) - 0.5 * (df + 1.0) * np.log1p(t * t / df)
    return _where_inside(np.abs(t) < np.inf, t, np.exp(exponent), 0.0, df)


# Series of (digamma((df + 1) / 2) - digamma(df / 2)) / 2 - 1 / (2 df) in powers of df**-2, as it cancels for many degrees of freedom.
_MANY = 20.0
_DIGAMMA_DIFFERENCE = (0.25, -0.125, 0.25, -1.0625, 7.75, -86.375, 1365.25)


def _t_density_slope(df: Operand, t: Operand) -> Operand:
    """The derivative of the density in df."""
    is_many = df > _MANY
    few, inverse = SELECT(is_many, 1.0, df), SELECT(is_many, 1.0 / np.square(df), 0.0)
    difference = 0.5 * (DIGAMMA(0.5 * (few + 1.0)) - DIGAMMA(0.5 * few) - 1.0 / few)
    constant = SELECT(is_many, inverse * polynomial(_DIGAMMA_DIFFERENCE, inverse), difference)
    share = t * t / df
    return t_density(df, t) * (constant - 0.5 * np.log1p(share) + 0.5 * (1.0 + 1.0 / df) * share / (1.0 + share))


@cache
def gauss_rule(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss's rule on (0, 1). numpy.polynomial is imported lazily: that takes longer than importing this folder."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def t_shape_derivative(df: Operand, t: Operand) -> Operand:
    """The derivative of stdtr(df, t) in df: the integral of the density's from 0 to t; far out that of an incomplete beta function."""
    is_near = np.abs(t) < MINIMUM(np.sqrt(df), 4.0)
    near = SELECT(is_near, t, 0.0)
    # The integrand's poles are as far from the interval as it is long: with 24 nodes the error is below rounding.
    nodes, weights = (part.astype(near.dtype) for part in gauss_rule(24))
    from_center = near * np.sum(_t_density_slope(_column(df), _column(near) * nodes) * weights, axis=-1)
    is_finite = np.abs(t) < np.inf
    far = SELECT(is_near, 2.0, SELECT(is_finite, t, 2.0))
    square = far * far
    x, y = df / (df + square), square / (df + square)
    of_shape = 0.5 * shape_derivative_inside(0.5 * df, 0.5, x, y)
    of_argument = np.exp(0.5 * df * np.log(x) + 0.5 * np.log(y) - BETALN(0.5 * df, 0.5)) / df
    from_end = SELECT(far < 0.0, 0.5, -0.5) * (of_shape + of_argument)
    return _where_inside(is_finite, t, SELECT(is_near, from_center, from_end), 0.0, df)


STDTR = Elementwise(
    "stdtr", evaluated_by("stdtr"), "stdtr(x, y)",
    vjp=(lambda z_bar, z, x, y: z_bar * t_shape_derivative(x, y), lambda z_bar, z, x, y: z_bar * t_density(x, y)),
    samples=(POSITIVE, REAL),
)
STDTRIT = Elementwise(
    "stdtrit", evaluated_by("stdtrit"), "stdtrit(x, y)",
    vjp=(
        lambda z_bar, z, x, y: _but_at((-np.inf, np.inf), z, -z_bar * t_shape_derivative(x, z) / t_density(x, z)),
        lambda z_bar, z, x, y: z_bar / t_density(x, z),
    ),
    samples=(POSITIVE, PROBABILITY),
)

OPS = (GAMMAINC, GAMMAINCC, GAMMAINCINV, GAMMAINCCINV, BETAINC, BETAINCC, BETAINCINV, BETAINCCINV, STDTR, STDTRIT)
