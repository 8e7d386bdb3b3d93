"""Special functions with elementary derivatives: entropies, error functions, exponential and elliptic integrals, powers of Box and Cox."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...ir.instruction import Operand
from ..declaration.op import Elementwise, Rule
from ..declaration.samples import ABOVE_ONE, POSITIVE, PROBABILITY, REAL, UNIT, Domain
from .arithmetic import PRODUCT_OR_ZERO
from .comparison import LOGICAL_AND, SELECT
from .elementary import LN10
from .special import (
    DIGAMMA,
    ERF,
    GAMMA,
    TWO_OVER_SQRT_PI,
    evaluated_by,
    function_of_one,
    function_of_two,
    log_ndtr_slope,
    polynomial,
    unknown_derivative,
)  # fmt: skip

BELOW_TWO = Domain(0.1, 1.9)


def near_zero(x: Operand, radius: float, coefficients: Sequence[float], formula: Callable[[Operand], Operand]) -> Operand:
    """formula(x), and its power series where |x| < radius, where the formula cancels."""
    is_near = np.abs(x) < radius
    return SELECT(is_near, polynomial(coefficients, SELECT(is_near, x, 0.0)), formula(SELECT(is_near, 2.0 * radius, x)))


# Entropies


def _log_ratio(x: Operand, y: Operand) -> tuple[Operand, Operand]:
    """The mask x >= 0 and y > 0, and log(x / y) there."""
    is_inside = LOGICAL_AND(x >= 0.0, y > 0.0)
    return is_inside, np.log(SELECT(is_inside, x, 1.0)) - np.log(SELECT(is_inside, y, 1.0))


def _entr_rule(z_bar: Operand, z: Operand, x: Operand) -> Operand:
    return z_bar * SELECT(x < 0.0, 0.0, -1.0 - np.log(SELECT(x < 0.0, 1.0, x)))


def _entropy_first(constant: float) -> Rule:
    def rule(z_bar: Operand, z: Operand, x: Operand, y: Operand) -> Operand:
        is_inside, log_ratio = _log_ratio(x, y)
        return z_bar * SELECT(is_inside, log_ratio + constant, 0.0)

    return rule


def _entropy_second(constant: float) -> Rule:
    def rule(z_bar: Operand, z: Operand, x: Operand, y: Operand) -> Operand:
        is_inside, _ = _log_ratio(x, y)
        return z_bar * SELECT(is_inside, constant - x / SELECT(is_inside, y, 1.0), 0.0)

    return rule


ENTR = function_of_one("entr", _entr_rule, POSITIVE)
REL_ENTR = function_of_two("rel_entr", _entropy_first(1.0), _entropy_second(0.0), (POSITIVE, POSITIVE))
KL_DIV = function_of_two("kl_div", _entropy_first(0.0), _entropy_second(1.0), (POSITIVE, POSITIVE))

# Relatives of the gamma function


def _rgamma_slope(x: Operand) -> Operand:
    """The derivative of 1 / gamma, which has no poles: by reflection below 1/2."""
    is_below = x < 0.5
    reflected, direct = 1.0 - SELECT(is_below, x, 0.0), SELECT(is_below, 1.0, x)
    gamma, angle = GAMMA(reflected), np.pi * SELECT(is_below, x, 0.0)
    return SELECT(is_below, gamma * (np.cos(angle) - np.sin(angle) / np.pi * DIGAMMA(reflected)), -DIGAMMA(direct) * RGAMMA(direct))


RGAMMA = function_of_one("rgamma", lambda z_bar, z, x: z_bar * _rgamma_slope(x), POSITIVE)
BETA = function_of_two(
    "beta", lambda z_bar, z, x, y: z_bar * z * (DIGAMMA(x) - DIGAMMA(x + y)),
    lambda z_bar, z, x, y: z_bar * z * (DIGAMMA(y) - DIGAMMA(x + y)), (POSITIVE, POSITIVE),
)  # fmt: skip


def _binom_parts(n: Operand, k: Operand) -> tuple[Operand, Operand, Operand, Operand]:
    """The mask where no factorial of the denominator is near a pole; n and k there; and elsewhere gamma(n + 1), which is moderate."""
    is_usual = LOGICAL_AND(k > -0.5, n - k > -0.5)
    return is_usual, SELECT(is_usual, n, 1.0), SELECT(is_usual, k, 0.5), GAMMA(SELECT(is_usual, 0.0, n) + 1.0)


def _binom_first(z_bar: Operand, z: Operand, n: Operand, k: Operand) -> Operand:
    is_usual, n_, k_, factor = _binom_parts(n, k)
    other = factor * RGAMMA(k + 1.0) * (DIGAMMA(SELECT(is_usual, 0.0, n) + 1.0) * RGAMMA(n - k + 1.0) + _rgamma_slope(n - k + 1.0))
    return z_bar * SELECT(is_usual, z * (DIGAMMA(n_ + 1.0) - DIGAMMA(n_ - k_ + 1.0)), other)


def _binom_second(z_bar: Operand, z: Operand, n: Operand, k: Operand) -> Operand:
    is_usual, n_, k_, factor = _binom_parts(n, k)
    other = factor * (_rgamma_slope(k + 1.0) * RGAMMA(n - k + 1.0) - RGAMMA(k + 1.0) * _rgamma_slope(n - k + 1.0))
    return z_bar * SELECT(is_usual, z * (DIGAMMA(n_ - k_ + 1.0) - DIGAMMA(k_ + 1.0)), other)


BINOM = function_of_two("binom", _binom_first, _binom_second, (ABOVE_ONE, PROBABILITY))


def _poch_first(z_bar: Operand, z: Operand, x: Operand, m: Operand) -> Operand:
    is_usual = x > 0.5
    x_ = SELECT(is_usual, x, 1.0)
    low = SELECT(is_usual, 0.0, x)
    other = GAMMA(low + m) * (DIGAMMA(low + m) * RGAMMA(low) + _rgamma_slope(low))
    return z_bar * SELECT(is_usual, z * (DIGAMMA(x + m) - DIGAMMA(x_)), other)


POCH = function_of_two("poch", _poch_first, lambda z_bar, z, x, m: z_bar * (z * DIGAMMA(x + m)), (POSITIVE, POSITIVE))

# Error functions

# From here on the two terms of the derivatives of erfcx and dawsn cancel; further terms of the asymptotic series are below rounding.
FAR = 8.0
_ODD_FACTORIALS = tuple(math.prod((2 * j + 1) / 2 for j in range(1, k + 1)) for k in range(20))


def _erfcx_slope(z: Operand, x: Operand) -> Operand:
    is_far = x > FAR
    u = np.square(1.0 / SELECT(is_far, x, FAR))  # this order of operations gives the right derivatives at infinity, too
    return SELECT(is_far, -0.5 * TWO_OVER_SQRT_PI * u * polynomial(_ODD_FACTORIALS, -u), 2.0 * x * z - TWO_OVER_SQRT_PI)


def _dawsn_slope(z: Operand, x: Operand) -> Operand:
    is_far = np.abs(x) > FAR
    u = np.square(1.0 / SELECT(is_far, x, FAR))
    return SELECT(is_far, -0.5 * u * polynomial(_ODD_FACTORIALS, u), 1.0 - 2.0 * x * z)


ERFCX = function_of_one("erfcx", lambda z_bar, z, x: z_bar * _erfcx_slope(z, x), REAL)
ERFI = function_of_one("erfi", lambda z_bar, z, x: z_bar * (TWO_OVER_SQRT_PI * np.exp(x * x)), REAL)
DAWSN = function_of_one("dawsn", lambda z_bar, z, x: z_bar * _dawsn_slope(z, x), REAL)
ERFCINV = function_of_one("erfcinv", lambda z_bar, z, x: -z_bar * (np.exp(z * z) / TWO_OVER_SQRT_PI), BELOW_TWO)
NDTRI_EXP = function_of_one("ndtri_exp", lambda z_bar, z, x: z_bar / log_ndtr_slope(x, z), Domain(-3.0, -0.1))


def _owens_first(z_bar: Operand, z: Operand, h: Operand, a: Operand) -> Operand:
    return z_bar * (-0.25 * np.sqrt(2.0 / np.pi) * np.exp(-0.5 * h * h) * ERF(a * h / np.sqrt(2.0)))


def _owens_second(z_bar: Operand, z: Operand, h: Operand, a: Operand) -> Operand:
    return z_bar * (np.exp(-0.5 * h * h * (1.0 + a * a)) / (2.0 * np.pi * (1.0 + a * a)))


OWENS_T = function_of_two("owens_t", _owens_first, _owens_second, (REAL, REAL))

# Exponential integrals and the dilogarithm

EXPI = function_of_one("expi", lambda z_bar, z, x: z_bar * (np.exp(x) / x), POSITIVE)
EXP1 = function_of_one("exp1", lambda z_bar, z, x: -z_bar * (np.exp(-x) / x), POSITIVE)


def _expn_rule(z_bar: Operand, z: Operand, n: Operand, x: Operand) -> Operand:
    """The derivative: minus the integral of the order below; for order 0, the lowest in SciPy, by recurrence."""
    is_usual = n > 0.5
    return -z_bar * SELECT(is_usual, EXPN(SELECT(is_usual, n, 1.0) - 1.0, x), (np.exp(-x) + z) / x)


EXPN = function_of_two("expn", unknown_derivative("expn", "order"), _expn_rule, (Domain(4.0, 4.0), POSITIVE), fixed=(0,))
_LOG1P = tuple((-1.0) ** (k + 1) / (k + 1) for k in range(12))


def _spence_slope(x: Operand) -> Operand:
    """log(x) / (1 - x), by its series in x - 1 near 1; log1p(x - 1) would lose a small x."""
    is_near = np.abs(x - 1.0) < 0.03
    y = SELECT(is_near, 2.0, x)
    return SELECT(is_near, polynomial(_LOG1P, SELECT(is_near, x - 1.0, 0.0)), np.log(y) / (1.0 - y))


SPENCE = function_of_one("spence", lambda z_bar, z, x: z_bar * _spence_slope(x), POSITIVE)

# Functions that SciPy computes several at once


def _one_of(name: str, function: str, position: int, rule: Rule, domain: Domain) -> Elementwise:
    """Declare the op of one result of a scipy.special function with several results."""
    return Elementwise(name, lambda x: evaluated_by(function)(x)[position], f"{name}(x)", vjp=(rule,), samples=(domain,))


_SINES = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(12))
_HYPERBOLIC_SINES = tuple(1.0 / math.factorial(2 * k + 1) for k in range(12))


def sine_over(x: Operand) -> Operand:
    """sin(x) / x, by its series in x**2 near 0."""
    return near_zero_of_square(x, _SINES, lambda t: np.sin(t) / t)


def near_zero_of_square(x: Operand, coefficients: Sequence[float], formula: Callable[[Operand], Operand]) -> Operand:
    """formula(x), and its power series in x**2 where |x| < 1."""
    is_near = np.abs(x) < 1.0
    return SELECT(is_near, polynomial(coefficients, np.square(SELECT(is_near, x, 0.0))), formula(SELECT(is_near, 2.0, x)))


SINE_INTEGRAL = _one_of("sine_integral", "sici", 0, lambda z_bar, z, x: z_bar * sine_over(x), REAL)
COSINE_INTEGRAL = _one_of("cosine_integral", "sici", 1, lambda z_bar, z, x: z_bar * (np.cos(x) / x), POSITIVE)
SINH_INTEGRAL = _one_of(
    "sinh_integral", "shichi", 0, lambda z_bar, z, x: z_bar * near_zero_of_square(x, _HYPERBOLIC_SINES, lambda t: np.sinh(t) / t), REAL
)
COSH_INTEGRAL = _one_of("cosh_integral", "shichi", 1, lambda z_bar, z, x: z_bar * (np.cosh(x) / x), POSITIVE)
FRESNEL_S = _one_of("fresnel_s", "fresnel", 0, lambda z_bar, z, x: z_bar * np.sin(0.5 * np.pi * x * x), REAL)
FRESNEL_C = _one_of("fresnel_c", "fresnel", 1, lambda z_bar, z, x: z_bar * np.cos(0.5 * np.pi * x * x), REAL)
AIRY_AI = _one_of("airy_ai", "airy", 0, lambda z_bar, z, x: z_bar * AIRY_AI_PRIME(x), REAL)
AIRY_AI_PRIME = _one_of("airy_ai_prime", "airy", 1, lambda z_bar, z, x: z_bar * (x * AIRY_AI(x)), REAL)
AIRY_BI = _one_of("airy_bi", "airy", 2, lambda z_bar, z, x: z_bar * AIRY_BI_PRIME(x), REAL)
AIRY_BI_PRIME = _one_of("airy_bi_prime", "airy", 3, lambda z_bar, z, x: z_bar * (x * AIRY_BI(x)), REAL)
def _root(x: Operand) -> Operand:
    """sqrt(x), and 0 below 0, where the scaled functions of the second kind equal the unscaled ones."""
    return np.sqrt(SELECT(x > 0.0, x, 0.0))


# From here on the scaled functions equal their asymptotic series (DLMF 9.7), whose 22nd term is below rounding. Their derivatives
# are so much smaller that the terms of the formulas would cancel.
AIRY_FAR = 12.0
_AIRY_SERIES = tuple(
    math.gamma(3 * k + 0.5) / (54.0**k * math.factorial(k) * math.gamma(k + 0.5)) * 1.5**k for k in range(22)
)  # fmt: skip


def _airy_slope(x: Operand, near: Operand, factor: float, sign: float, is_prime: bool = False) -> Operand:
    """`near`; for large x the derivative of factor x**(-1/4) (x**(1/4) if `is_prime`) times the series in sign x**(-3/2)."""
    is_far = x > AIRY_FAR
    y = SELECT(is_far, x, AIRY_FAR)
    power = 0.25 if is_prime else -0.25
    terms = [-(6 * k + 1) / (6 * k - 1) * c if is_prime else c for k, c in enumerate(_AIRY_SERIES)]
    series = polynomial([sign**k * (power - 1.5 * k) * c for k, c in enumerate(terms)], 1.0 / (y * np.sqrt(y)))
    return SELECT(is_far, factor * np.power(y, power - 1.0) * series, near)


_AI, _BI = 0.5 / math.sqrt(math.pi), 1.0 / math.sqrt(math.pi)
AIRY_AI_SCALED = _one_of(
    "airy_ai_scaled", "airye", 0, lambda z_bar, z, x: z_bar * _airy_slope(x, AIRY_AI_PRIME_SCALED(x) + np.sqrt(x) * z, _AI, -1.0), POSITIVE
)
AIRY_AI_PRIME_SCALED = _one_of(
    "airy_ai_prime_scaled", "airye", 1,
    lambda z_bar, z, x: z_bar * _airy_slope(x, x * AIRY_AI_SCALED(x) + np.sqrt(x) * z, -_AI, -1.0, True), POSITIVE,
)
AIRY_BI_SCALED = _one_of(
    "airy_bi_scaled", "airye", 2, lambda z_bar, z, x: z_bar * _airy_slope(x, AIRY_BI_PRIME_SCALED(x) - _root(x) * z, _BI, 1.0), REAL
)
AIRY_BI_PRIME_SCALED = _one_of(
    "airy_bi_prime_scaled", "airye", 3,
    lambda z_bar, z, x: z_bar * _airy_slope(x, x * AIRY_BI_SCALED(x) - _root(x) * z, _BI, 1.0, True), REAL,
)
SEVERAL = {
    "sici": (SINE_INTEGRAL, COSINE_INTEGRAL), "shichi": (SINH_INTEGRAL, COSH_INTEGRAL), "fresnel": (FRESNEL_S, FRESNEL_C),
    "airy": (AIRY_AI, AIRY_AI_PRIME, AIRY_BI, AIRY_BI_PRIME),
    "airye": (AIRY_AI_SCALED, AIRY_AI_PRIME_SCALED, AIRY_BI_SCALED, AIRY_BI_PRIME_SCALED),
}  # fmt: skip

# Powers of Box and Cox

_POWER_SERIES = tuple(1.0 / ((k + 2) * float(np.prod(np.arange(1.0, k + 1)))) for k in range(20))
_INVERSE_SERIES = tuple((-1.0) ** (k + 1) * (k + 1) / (k + 2) for k in range(18))


def _boxcox_exponent(log_x: Operand, exponent: Operand) -> Operand:
    """The derivative of (x**exponent - 1) / exponent in the exponent."""
    product = PRODUCT_OR_ZERO(exponent, log_x)  # log(0) times zero would be NaN
    return log_x * log_x * near_zero(product, 1.0, _POWER_SERIES, lambda y: (y * np.exp(y) - np.expm1(y)) / (y * y))


def _inverse_exponent(y: Operand, exponent: Operand) -> Operand:
    """The derivative of log(1 + exponent * y) / exponent in the exponent."""
    return y * y * near_zero(exponent * y, 0.1, _INVERSE_SERIES, lambda u: (u / (1.0 + u) - np.log1p(u)) / (u * u))


BOXCOX = function_of_two(
    "boxcox", lambda z_bar, z, x, y: z_bar * np.power(x, y - 1.0),
    lambda z_bar, z, x, y: z_bar * _boxcox_exponent(np.log(x), y), (POSITIVE, REAL),
)  # fmt: skip
BOXCOX1P = function_of_two(
    "boxcox1p", lambda z_bar, z, x, y: z_bar * np.exp((y - 1.0) * np.log1p(x)),
    lambda z_bar, z, x, y: z_bar * _boxcox_exponent(np.log1p(x), y), (POSITIVE, REAL),
)  # fmt: skip
INV_BOXCOX = function_of_two(
    "inv_boxcox", lambda z_bar, z, x, y: z_bar * (z / (1.0 + x * y)), lambda z_bar, z, x, y: z_bar * (z * _inverse_exponent(x, y)),
    (POSITIVE, PROBABILITY),
)  # fmt: skip
INV_BOXCOX1P = function_of_two(
    "inv_boxcox1p", lambda z_bar, z, x, y: z_bar * ((z + 1.0) / (1.0 + x * y)),
    lambda z_bar, z, x, y: z_bar * ((z + 1.0) * _inverse_exponent(x, y)), (POSITIVE, PROBABILITY),
)  # fmt: skip

# Angles in degrees, powers of ten, and omega + log(omega) = x

DEGREE = float(np.pi / 180.0)
SINDG = function_of_one("sindg", lambda z_bar, z, x: z_bar * (DEGREE * COSDG(x)), REAL)
COSDG = function_of_one("cosdg", lambda z_bar, z, x: z_bar * (-DEGREE * SINDG(x)), REAL)
TANDG = function_of_one("tandg", lambda z_bar, z, x: z_bar * (DEGREE * (1.0 + z * z)), REAL)
COTDG = function_of_one("cotdg", lambda z_bar, z, x: z_bar * (-DEGREE * (1.0 + z * z)), Domain(20.0, 80.0))
EXP10 = function_of_one("exp10", lambda z_bar, z, x: z_bar * (LN10 * z), REAL)
WRIGHTOMEGA = function_of_one("wrightomega", lambda z_bar, z, x: z_bar * SELECT(z > 1.0, 1.0 - 1.0 / (1.0 + z), z / (1.0 + z)), REAL)

# Hypergeometric functions


def _hypergeometric(name: str, above: int, below: int) -> Elementwise:
    """Declare pFq with p `above` and q `below` shape parameters; its derivative in the last argument raises all of them by 1."""
    count = above + below

    def rule(z_bar: Operand, z: Operand, *args: Operand) -> Operand:
        factor = 1.0
        for parameter in args[:above]:
            factor = factor * parameter
        for parameter in args[above:count]:
            factor = factor / parameter
        return z_bar * (factor * op(*(parameter + 1.0 for parameter in args[:count]), args[count]))

    op = Elementwise(
        name, evaluated_by(name), f"{name}({', '.join(('x', 'y', 'w', 'u')[: count + 1])})",
        vjp=(*[unknown_derivative(name, "shape parameter")] * count, rule), samples=(*[ABOVE_ONE] * count, UNIT),
        not_differentiated=tuple(range(count)),
    )  # fmt: skip
    return op


HYP1F1, HYP2F1 = _hypergeometric("hyp1f1", 1, 1), _hypergeometric("hyp2f1", 2, 1)


def _second_kind_rule(z_bar: Operand, z: Operand, a: Operand, b: Operand, x: Operand) -> Operand:
    return -z_bar * (a * HYPERU(a + 1.0, b + 1.0, x))


HYPERU = Elementwise(
    "hyperu", evaluated_by("hyperu"), "hyperu(x, y, w)", vjp=(*[unknown_derivative("hyperu", "shape parameter")] * 2, _second_kind_rule),
    samples=(ABOVE_ONE, PROBABILITY, POSITIVE), not_differentiated=(0, 1),
)

OPS = (
    *(op for ops in SEVERAL.values() for op in ops),
    ENTR, REL_ENTR, KL_DIV, RGAMMA, BETA, BINOM, POCH, ERFCX, ERFI, DAWSN, ERFCINV, NDTRI_EXP, OWENS_T, EXPI, EXP1, EXPN, SPENCE,
    BOXCOX, BOXCOX1P, INV_BOXCOX, INV_BOXCOX1P, SINDG, COSDG, TANDG, COTDG, EXP10, WRIGHTOMEGA, HYP1F1, HYP2F1,
    HYPERU,
)  # fmt: skip
