"""The continuous distributions of one variable, in standard form: log densities, distribution functions, quantiles."""

from __future__ import annotations

import math

import numpy as np

from ..ir.instruction import Operand
from ..ops.elementwise.arithmetic import ABSOLUTE, MAXIMUM, MINIMUM
from ..ops.elementwise.bessel import I0E, I1E
from ..ops.elementwise.comparison import EQUAL, IS_FINITE, LOGICAL_AND, LOGICAL_OR, SELECT
from ..ops.elementwise.elementary import EXPIT, LOG_EXPIT
from ..ops.elementwise.incomplete import (
    BETAINC,
    BETAINCC,
    BETAINCCINV,
    BETAINCINV,
    GAMMAINC,
    GAMMAINCC,
    GAMMAINCCINV,
    GAMMAINCINV,
    STDTR,
    STDTRIT,
    gauss_rule,
    integral,
)  # fmt: skip
from ..ops.elementwise.special import (
    BETALN,
    ERF,
    ERFINV,
    GAMMALN,
    LOG_NDTR,
    LOGIT,
    NDTR,
    NDTRI,
    XLOG1PY,
    XLOGY,
    log_ndtr_slope,
)
from ..ops.elementwise.special_integrals import NDTRI_EXP, OWENS_T, POCH, near_zero
from .distribution import Continuous, Formula, Support, all_of
from .quantiles import InverseRule, inverse

LOG2, LOG_PI = math.log(2.0), math.log(math.pi)
HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


def _positive(*values: Operand) -> Operand:
    return all_of(*(value > 0.0 for value in values))


def _below_zero(z: Operand, *_: Operand) -> Operand:
    return z <= 0.0


def _at_infinity(z: Operand, *_: Operand) -> Operand:
    return EQUAL(z, np.inf)


def _finite_and_positive(z: Operand, *_: Operand) -> Operand:
    return LOGICAL_AND(z > 0.0, z < np.inf)


def _not_negative(z: Operand, *_: Operand) -> Operand:
    return LOGICAL_AND(z >= 0.0, z < np.inf)


def _power_at_zero(exponent: Operand, z: Operand) -> tuple[Operand, Operand]:
    """Of z**exponent on 0 <= z < inf: whether it is positive and finite, and its logarithm where it is not."""
    inside = LOGICAL_AND(LOGICAL_OR(z > 0.0, LOGICAL_AND(EQUAL(z, 0.0), EQUAL(exponent, 0.0))), z < np.inf)
    return inside, SELECT(LOGICAL_AND(EQUAL(z, 0.0), exponent < 0.0), np.inf, -np.inf)


def _with_power_at_zero(exponent: Formula) -> Support:
    """The support z >= 0 of a density that is like z**exponent(*shapes) near 0."""
    return Support(
        inside=lambda z, *shapes: _power_at_zero(exponent(*shapes), z)[0], middle=1.0,
        at_edge=lambda z, *shapes: _power_at_zero(exponent(*shapes), z)[1], below=_below_zero, above=_at_infinity,
    )  # fmt: skip


POSITIVE_LINE = Support(_not_negative, 1.0, below=_below_zero, above=_at_infinity)
OPEN_POSITIVE_LINE = Support(_finite_and_positive, 1.0, below=_below_zero, above=_at_infinity)
# At infinity the tails of these densities would be an infinity minus another one.
FINITE = Support(lambda z, *_: IS_FINITE(z), below=lambda z, *_: EQUAL(z, -np.inf), above=_at_infinity)


def _reflected(function: Formula) -> Formula:
    return lambda z, *shapes: function(-z, *shapes)


# Of the normal family


def _normal(z: Operand) -> Operand:
    return -0.5 * z * z - HALF_LOG_TWO_PI


norm = Continuous("norm", (), _normal, functions={
    "cdf": NDTR, "logcdf": LOG_NDTR, "sf": _reflected(NDTR), "logsf": _reflected(LOG_NDTR), "ppf": NDTRI, "isf": lambda q: -NDTRI(q),
})  # fmt: skip
halfnorm = Continuous("halfnorm", (), lambda z: 0.5 * (LOG2 - LOG_PI) - 0.5 * z * z, POSITIVE_LINE, functions={
    "cdf": lambda z: ERF(z / math.sqrt(2.0)), "sf": lambda z: 2.0 * NDTR(-z),
    "logsf": lambda z: SELECT(z < 0.5, np.log1p(-ERF(z / math.sqrt(2.0))), LOG2 + LOG_NDTR(-z)),
    "ppf": lambda q: math.sqrt(2.0) * ERFINV(q), "isf": lambda q: -NDTRI(0.5 * q),
})  # fmt: skip


def _lognormal(z: Operand, s: Operand) -> Operand:
    log_z = np.log(z)
    return -0.5 * (log_z / s) ** 2 - log_z - np.log(s) - HALF_LOG_TWO_PI


lognorm = Continuous("lognorm", ("s",), _lognormal, OPEN_POSITIVE_LINE, valid=_positive, functions={
    "cdf": lambda z, s: NDTR(np.log(z) / s), "logcdf": lambda z, s: LOG_NDTR(np.log(z) / s), "sf": lambda z, s: NDTR(-np.log(z) / s),
    "logsf": lambda z, s: LOG_NDTR(-np.log(z) / s), "ppf": lambda q, s: np.exp(s * NDTRI(q)), "isf": lambda q, s: np.exp(-s * NDTRI(q)),
})  # fmt: skip


def _log_normal_mass(low: Operand, high: Operand) -> Operand:
    """log(ndtr(high) - ndtr(low)), from the tail that is nearer."""
    is_right = low > 0.0
    first, second = SELECT(is_right, -high, low), SELECT(is_right, -low, high)
    is_bounded = first > -np.inf
    upper = LOG_NDTR(second)
    share = SELECT(is_bounded, np.exp(LOG_NDTR(SELECT(is_bounded, first, 0.0)) - upper), 0.0)
    return upper + np.log1p(-share)


def _log_share(part: tuple[Operand, Operand], rest: tuple[Operand, Operand], whole: tuple[Operand, Operand]) -> Operand:
    """The logarithm of the share of one of two parts of an interval, computed from the smaller one."""
    total = _log_normal_mass(*whole)
    share = _log_normal_mass(*part) - total
    is_small = share < -LOG2
    return SELECT(is_small, share, np.log1p(-np.exp(SELECT(is_small, -1.0, _log_normal_mass(*rest) - total))))


def _quantile_of_log(log_p: Operand, log_q: Operand) -> Operand:
    """The normal quantile of the sum of two probabilities, which rounding must not make more than 1."""
    return NDTRI_EXP(MINIMUM(np.logaddexp(log_p, log_q), 0.0))


def _truncated_ppf(q: Operand, a: Operand, b: Operand) -> Operand:
    log_mass, is_left = _log_normal_mass(a, b), a < 0.0
    left = _quantile_of_log(LOG_NDTR(SELECT(is_left, a, -1.0)), np.log(q) + log_mass)
    return SELECT(is_left, left, -_quantile_of_log(LOG_NDTR(-b), np.log1p(-q) + log_mass))


def _truncated_isf(q: Operand, a: Operand, b: Operand) -> Operand:
    log_mass, is_left = _log_normal_mass(a, b), b < 0.0
    left = _quantile_of_log(LOG_NDTR(a), np.log1p(-q) + log_mass)
    return SELECT(is_left, left, -_quantile_of_log(LOG_NDTR(-SELECT(is_left, 1.0, b)), np.log(q) + log_mass))


def _middle_of_interval(a: Operand, b: Operand) -> Operand:
    return SELECT(a > 0.0, a, SELECT(b < 0.0, b, 0.0))


truncnorm = Continuous(
    "truncnorm", ("a", "b"), lambda z, a, b: _normal(z) - _log_normal_mass(a, b),
    Support(
        lambda z, a, b: all_of(z >= a, z <= b, IS_FINITE(z)), _middle_of_interval, None, lambda z, a, b: z <= a, lambda z, a, b: z >= b
    ), valid=lambda a, b: a < b, functions={
        "cdf": lambda z, a, b: np.exp(_log_normal_mass(a, z) - _log_normal_mass(a, b)),
        "logcdf": lambda z, a, b: _log_share((a, z), (z, b), (a, b)), "logsf": lambda z, a, b: _log_share((z, b), (a, z), (a, b)),
        "sf": lambda z, a, b: np.exp(_log_normal_mass(z, b) - _log_normal_mass(a, b)),
        "ppf": _truncated_ppf, "isf": _truncated_isf,
    },
)  # fmt: skip


def _skew_normal(z: Operand, a: Operand) -> Operand:
    return LOG2 + _normal(z) + LOG_NDTR(a * z)


def _skew_cdf(z: Operand, a: Operand) -> Operand:
    """By Owen's function; in the thin tail, where that cancels, by an integral of the density."""
    is_tail = LOGICAL_AND(z < 0.0, a > 0.0)
    z_, a_ = SELECT(is_tail, z, -1.0), SELECT(is_tail, a, 1.0)
    rate = (1.0 - z_) * (1.0 + a_ * a_)
    tail = integral(np.expand_dims(rate, -1), lambda s: np.exp(_skew_normal(np.expand_dims(z_, -1) - s, np.expand_dims(a_, -1))))
    return SELECT(is_tail, tail, NDTR(z) - 2.0 * OWENS_T(z, a))


def _skew_density(z: Operand, a: Operand) -> Operand:
    return np.exp(_skew_normal(z, a))


def _skew_slope(z: Operand, a: Operand) -> Operand:
    """The derivative of the distribution function in the shape."""
    square = 1.0 + a * a
    return -np.exp(-0.5 * z * z * square) / (np.pi * square)


_skew_ppf = inverse(_skew_cdf, InverseRule(_skew_density, (_skew_slope,)), lambda a: -40.0, lambda a: 40.0)
skewnorm = Continuous("skewnorm", ("a",), _skew_normal, FINITE, valid=lambda a: IS_FINITE(a), functions={
    "cdf": _skew_cdf, "sf": lambda z, a: _skew_cdf(-z, -a), "ppf": _skew_ppf, "isf": lambda q, a: -_skew_ppf(q, -a),
})  # fmt: skip


def _exponnorm_tail(z: Operand, K: Operand) -> Operand:
    """The logarithm of the density times K."""
    rate = 1.0 / K
    return rate * (0.5 * rate - z) + LOG_NDTR(z - rate)


def _exponnorm_cdf(z: Operand, K: Operand) -> Operand:
    return NDTR(z) - np.exp(_exponnorm_tail(z, K))


def _exponnorm_sf(z: Operand, K: Operand) -> Operand:
    return NDTR(-z) + np.exp(_exponnorm_tail(z, K))


def _exponnorm_density(z: Operand, K: Operand) -> Operand:
    return np.exp(_exponnorm_tail(z, K)) / K


def _exponnorm_slope(z: Operand, K: Operand) -> Operand:
    """The derivative of the distribution function in K."""
    start = z - 1.0 / K
    return -np.exp(_exponnorm_tail(z, K)) * (start + log_ndtr_slope(LOG_NDTR(start), start)) / np.square(K)


_exponnorm_rule = InverseRule(_exponnorm_density, (_exponnorm_slope,))
# The sum of a normal and an exponential number, neither of which is further out.
_exponnorm_ends = (lambda K: -40.0, lambda K: 40.0 + 750.0 * K)
_minus_sf_inverse = inverse(lambda z, K: -_exponnorm_sf(z, K), _exponnorm_rule, *_exponnorm_ends)
def _exponnorm_isf(q: Operand, K: Operand) -> Operand:
    is_end = EQUAL(q * (1.0 - q), 0.0)
    return SELECT(is_end, SELECT(q > 0.5, -np.inf, np.inf), _minus_sf_inverse(SELECT(is_end, -0.5, -q), K))


exponnorm = Continuous("exponnorm", ("K",), lambda z, K: _exponnorm_tail(z, K) - np.log(K), FINITE, valid=_positive, functions={
    "cdf": _exponnorm_cdf, "sf": _exponnorm_sf, "ppf": inverse(_exponnorm_cdf, _exponnorm_rule, *_exponnorm_ends),
    "isf": _exponnorm_isf,
})  # fmt: skip

# Student, Cauchy


def _student(z: Operand, df: Operand) -> Operand:
    half = 0.5 * df
    return np.log(POCH(half, 0.5)) - 0.5 * (LOG_PI + np.log(df)) - (half + 0.5) * np.log1p(z * z / df)


def _student_ppf(q: Operand, df: Operand) -> Operand:
    return SELECT(EQUAL(q, 0.0), -np.inf, STDTRIT(df, SELECT(EQUAL(q, 0.0), 0.5, q)))


t = Continuous("t", ("df",), _student, valid=_positive, functions={
    "cdf": lambda z, df: STDTR(df, z), "sf": lambda z, df: STDTR(df, -z), "ppf": _student_ppf, "isf": lambda q, df: -_student_ppf(q, df),
})  # fmt: skip


def _cauchy_ppf(q: Operand) -> Operand:
    is_central = ABSOLUTE(q - 0.5) < 0.25
    tail = SELECT(is_central, 0.25, SELECT(q < 0.5, q, q - 1.0))
    outer = SELECT(EQUAL(q, 1.0), np.inf, -1.0 / np.tan(np.pi * tail))
    return SELECT(is_central, np.tan(np.pi * (SELECT(is_central, q, 0.5) - 0.5)), outer)


def _halfcauchy_ppf(q: Operand, p: Operand) -> Operand:
    """The quantile of q = 1 - p, of the smaller of the two."""
    is_small = q < 0.5
    tangent = np.tan(0.5 * np.pi * SELECT(is_small, q, p))
    return SELECT(is_small, tangent, 1.0 / tangent)


cauchy = Continuous("cauchy", (), lambda z: -LOG_PI - np.log1p(z * z), functions={
    "cdf": lambda z: np.arctan2(1.0, -z) / np.pi, "sf": lambda z: np.arctan2(1.0, z) / np.pi, "ppf": _cauchy_ppf,
    "isf": lambda q: -_cauchy_ppf(q),
})  # fmt: skip
halfcauchy = Continuous("halfcauchy", (), lambda z: LOG2 - LOG_PI - np.log1p(z * z), POSITIVE_LINE, functions={
    "cdf": lambda z: 2.0 / np.pi * np.arctan(z), "sf": lambda z: 2.0 / np.pi * np.arctan2(1.0, z),
    "ppf": lambda q: _halfcauchy_ppf(q, 1.0 - q), "isf": lambda q: _halfcauchy_ppf(1.0 - q, q),
})  # fmt: skip

# Exponential and gamma

expon = Continuous("expon", (), lambda z: -z, POSITIVE_LINE, functions={
    "cdf": lambda z: -np.expm1(-z), "sf": lambda z: np.exp(-z), "logsf": lambda z: -z, "ppf": lambda q: -np.log1p(-q),
    "isf": lambda q: -np.log(q),
})  # fmt: skip
gamma = Continuous(
    "gamma", ("a",), lambda z, a: XLOGY(a - 1.0, z) - z - GAMMALN(a), _with_power_at_zero(lambda a: a - 1.0), valid=_positive, functions={
        "cdf": lambda z, a: GAMMAINC(a, z), "sf": lambda z, a: GAMMAINCC(a, z), "ppf": lambda q, a: GAMMAINCINV(a, q),
        "isf": lambda q, a: GAMMAINCCINV(a, q),
    },
)  # fmt: skip
chi2 = Continuous(
    "chi2", ("df",), lambda z, df: XLOGY(0.5 * df - 1.0, z) - 0.5 * z - GAMMALN(0.5 * df) - 0.5 * LOG2 * df,
    _with_power_at_zero(lambda df: 0.5 * df - 1.0), valid=_positive, functions={
        "cdf": lambda z, df: GAMMAINC(0.5 * df, 0.5 * z), "sf": lambda z, df: GAMMAINCC(0.5 * df, 0.5 * z),
        "ppf": lambda q, df: 2.0 * GAMMAINCINV(0.5 * df, q), "isf": lambda q, df: 2.0 * GAMMAINCCINV(0.5 * df, q),
    },
)  # fmt: skip
invgamma = Continuous(
    "invgamma", ("a",), lambda z, a: -(a + 1.0) * np.log(z) - GAMMALN(a) - 1.0 / z, OPEN_POSITIVE_LINE, valid=_positive, functions={
        "cdf": lambda z, a: GAMMAINCC(a, 1.0 / z), "sf": lambda z, a: GAMMAINC(a, 1.0 / z), "ppf": lambda q, a: 1.0 / GAMMAINCCINV(a, q),
        "isf": lambda q, a: 1.0 / GAMMAINCINV(a, q),
    },
)  # fmt: skip
weibull_min = Continuous(
    "weibull_min", ("c",), lambda z, c: np.log(c) + XLOGY(c - 1.0, z) - np.power(z, c), _with_power_at_zero(lambda c: c - 1.0),
    valid=_positive, functions={
        "cdf": lambda z, c: -np.expm1(-np.power(z, c)), "sf": lambda z, c: np.exp(-np.power(z, c)), "logsf": lambda z, c: -np.power(z, c),
        "ppf": lambda q, c: np.power(-np.log1p(-q), 1.0 / c), "isf": lambda q, c: np.power(-np.log(q), 1.0 / c),
    },
)  # fmt: skip

# On an interval


def _beta_ends(z: Operand, a: Operand, b: Operand) -> tuple[Operand, Operand]:
    """Where the beta density is positive and finite, and its logarithm elsewhere."""
    at_left, left = _power_at_zero(a - 1.0, z)
    at_right, right = _power_at_zero(b - 1.0, 1.0 - z)
    return LOGICAL_AND(at_left, at_right), MAXIMUM(left, right)


beta = Continuous(
    "beta", ("a", "b"), lambda z, a, b: XLOG1PY(b - 1.0, -z) + XLOGY(a - 1.0, z) - BETALN(a, b),
    Support(lambda z, a, b: _beta_ends(z, a, b)[0], 0.5, lambda z, a, b: _beta_ends(z, a, b)[1], _below_zero, lambda z, a, b: z >= 1.0),
    valid=_positive, functions={
        "cdf": lambda z, a, b: BETAINC(a, b, z), "sf": lambda z, a, b: BETAINCC(a, b, z), "ppf": lambda q, a, b: BETAINCINV(a, b, q),
        "isf": lambda q, a, b: BETAINCCINV(a, b, q),
    },
)  # fmt: skip
uniform = Continuous(
    "uniform", (), lambda z: 0.0 * z, Support(lambda z: LOGICAL_AND(z >= 0.0, z <= 1.0), 0.5, None, _below_zero, lambda z: z >= 1.0),
    functions={"cdf": lambda z: z, "sf": lambda z: 1.0 - z, "ppf": lambda q: q, "isf": lambda q: 1.0 - q},
)  # fmt: skip

# Exponential on both sides, and extreme values


def _laplace_cdf(z: Operand) -> Operand:
    half = 0.5 * np.exp(-ABSOLUTE(z))
    return SELECT(z > 0.0, 1.0 - half, half)


def _laplace_ppf(q: Operand) -> Operand:
    return SELECT(q > 0.5, -np.log(2.0 * (1.0 - q)), np.log(2.0 * q))


def _logistic(z: Operand) -> Operand:
    distance = ABSOLUTE(z)
    return -distance - 2.0 * np.log1p(np.exp(-distance))


laplace = Continuous("laplace", (), lambda z: -LOG2 - ABSOLUTE(z), functions={
    "cdf": _laplace_cdf, "sf": _reflected(_laplace_cdf), "ppf": _laplace_ppf, "isf": lambda q: -_laplace_ppf(q),
})  # fmt: skip
logistic = Continuous("logistic", (), _logistic, functions={
    "cdf": EXPIT, "logcdf": LOG_EXPIT, "sf": _reflected(EXPIT), "logsf": _reflected(LOG_EXPIT), "ppf": LOGIT, "isf": lambda q: -LOGIT(q),
})  # fmt: skip
gumbel_r = Continuous("gumbel_r", (), lambda z: -z - np.exp(-z), FINITE, functions={
    "cdf": lambda z: np.exp(-np.exp(-z)), "logcdf": lambda z: -np.exp(-z), "sf": lambda z: -np.expm1(-np.exp(-z)),
    "ppf": lambda q: -np.log(-np.log(q)), "isf": lambda q: -np.log(-np.log1p(-q)),
})  # fmt: skip
pareto = Continuous(
    "pareto", ("b",), lambda z, b: np.log(b) - (b + 1.0) * np.log(z),
    Support(lambda z, b: LOGICAL_AND(z >= 1.0, z < np.inf), 2.0, None, lambda z, b: z <= 1.0, _at_infinity), valid=_positive, functions={
        "cdf": lambda z, b: -np.expm1(-b * np.log(z)), "sf": lambda z, b: np.power(z, -b), "logsf": lambda z, b: -b * np.log(z),
        "ppf": lambda q, b: np.exp(-np.log1p(-q) / b), "isf": lambda q, b: np.power(q, -1.0 / b),
    },
)  # fmt: skip

_LOG1P_SERIES = tuple((-1.0) ** k / (k + 1) for k in range(18))
_EXPM1_SERIES = tuple(1.0 / math.factorial(k + 1) for k in range(14))


def _log1p_over(z: Operand, c: Operand) -> Operand:
    """log(1 + c z) / c, and z at c = 0."""
    return z * near_zero(c * z, 0.1, _LOG1P_SERIES, lambda u: np.log1p(u) / u)


def _pareto_ppf(y: Operand, c: Operand) -> Operand:
    """(exp(c y) - 1) / c, and y at c = 0."""
    is_end = EQUAL(y, np.inf)
    y_, end = SELECT(is_end, 1.0, y), SELECT(c < 0.0, -1.0 / SELECT(c < 0.0, c, -1.0), np.inf)
    return SELECT(is_end, end, y_ * near_zero(c * y_, 0.1, _EXPM1_SERIES, lambda u: np.expm1(u) / u))


def _pareto_inside(z: Operand, c: Operand) -> Operand:
    return all_of(z >= 0.0, z < np.inf, LOGICAL_OR(c * z > -1.0, LOGICAL_AND(EQUAL(c, -1.0), EQUAL(z, 1.0))))


def _pareto_edge(z: Operand, c: Operand) -> Operand:
    """At the upper edge, which there is for negative c, the density is infinite below c = -1, where it is 1."""
    return SELECT(all_of(z > 0.0, EQUAL(c * z, -1.0), c < -1.0), np.inf, -np.inf)


def _above_pareto(z: Operand, c: Operand) -> Operand:
    return LOGICAL_OR(EQUAL(z, np.inf), LOGICAL_AND(z > 0.0, c * z <= -1.0))


def _general_pareto(z: Operand, c: Operand) -> Operand:
    """-(1 + 1 / c) log(1 + c z)."""
    product = c * z
    is_near = ABSOLUTE(product) < 0.1
    usual = XLOG1PY(-(1.0 + 1.0 / SELECT(is_near, 1.0, c)), SELECT(is_near, 1.0, product))
    return SELECT(is_near, -_log1p_over(z, c) - np.log1p(SELECT(is_near, product, 0.0)), usual)


genpareto = Continuous(
    "genpareto", ("c",), _general_pareto,
    Support(_pareto_inside, 0.0, _pareto_edge, _below_zero, _above_pareto), valid=lambda c: IS_FINITE(c), functions={
        "cdf": lambda z, c: -np.expm1(-_log1p_over(z, c)), "sf": lambda z, c: np.exp(-_log1p_over(z, c)),
        "logsf": lambda z, c: -_log1p_over(z, c), "ppf": lambda q, c: _pareto_ppf(-np.log1p(-q), c),
        "isf": lambda q, c: _pareto_ppf(-np.log(q), c),
    },
)  # fmt: skip

# On the circle


def _von_mises(z: Operand, kappa: Operand) -> Operand:
    return -2.0 * kappa * np.square(np.sin(0.5 * z)) - 2.0 * HALF_LOG_TWO_PI - np.log(I0E(kappa))


def _von_mises_cdf(z: Operand, kappa: Operand) -> Operand:
    """The integral of the density from the nearer end, beyond twelve standard deviations nothing; a turn adds 1."""
    turns = np.rint(z / (2.0 * np.pi))
    angle = z - 2.0 * np.pi * turns
    distance = ABSOLUTE(angle)
    length = MINIMUM(np.pi - distance, 12.0 / np.sqrt(MAXIMUM(kappa, 1.0)))
    nodes, weights = gauss_rule(64)  # enough for a normal density over twelve standard deviations
    points = np.expand_dims(distance, -1) + np.expand_dims(length, -1) * nodes
    tail = length * np.sum(np.exp(_von_mises(points, np.expand_dims(kappa, -1))) * weights, axis=-1)
    return turns + SELECT(angle < 0.0, tail, 1.0 - tail)


def _von_mises_density(z: Operand, kappa: Operand) -> Operand:
    return np.exp(_von_mises(z, kappa))


def _von_mises_slope(z: Operand, kappa: Operand) -> Operand:
    """The derivative of the distribution function in kappa, for |z| <= pi: the integral of the density times cos less its mean."""
    distance, mean = ABSOLUTE(z), I1E(kappa) / I0E(kappa)
    length = MINIMUM(np.pi - distance, 12.0 / np.sqrt(MAXIMUM(kappa, 1.0)))
    nodes, weights = gauss_rule(64)
    points = np.expand_dims(distance, -1) + np.expand_dims(length, -1) * nodes
    terms = np.exp(_von_mises(points, np.expand_dims(kappa, -1))) * (np.cos(points) - np.expand_dims(mean, -1))
    tail = length * np.sum(terms * weights, axis=-1)
    return SELECT(z < 0.0, tail, -tail)


_von_mises_ppf = inverse(
    _von_mises_cdf, InverseRule(_von_mises_density, (_von_mises_slope,)), lambda kappa: -np.pi, lambda kappa: np.pi
)
vonmises = Continuous("vonmises", ("kappa",), _von_mises, FINITE, valid=lambda kappa: kappa >= 0.0, functions={
    "cdf": _von_mises_cdf, "sf": lambda z, kappa: _von_mises_cdf(-z, kappa), "ppf": _von_mises_ppf,
    "isf": lambda q, kappa: -_von_mises_ppf(q, kappa),
})  # fmt: skip


def _wrapped_cauchy(z: Operand, c: Operand) -> Operand:
    """With 1 + c**2 - 2 c cos(z) as a sum of squares."""
    return np.log1p(c) + np.log1p(-c) - 2.0 * HALF_LOG_TWO_PI - np.log(np.square(1.0 - c) + 4.0 * c * np.square(np.sin(0.5 * z)))


def _wrapped_cdf(z: Operand, c: Operand) -> Operand:
    is_left, ratio = z < np.pi, (1.0 + c) / (1.0 - c)
    share = np.arctan(ratio * np.tan(0.5 * SELECT(is_left, z, 2.0 * np.pi - z))) / np.pi
    return SELECT(is_left, share, 1.0 - share)


def _wrapped_ppf(q: Operand, c: Operand) -> Operand:
    is_left, ratio = q < 0.5, (1.0 - c) / (1.0 + c)
    angle = 2.0 * np.arctan(ratio * np.tan(np.pi * SELECT(is_left, q, 1.0 - q)))
    return SELECT(is_left, angle, 2.0 * np.pi - angle)


wrapcauchy = Continuous(
    "wrapcauchy", ("c",), _wrapped_cauchy,
    Support(lambda z, c: LOGICAL_AND(z >= 0.0, z <= 2.0 * np.pi), 1.0, None, _below_zero, lambda z, c: z >= 2.0 * np.pi),
    valid=lambda c: LOGICAL_AND(c > 0.0, c < 1.0), functions={
        "cdf": _wrapped_cdf, "sf": lambda z, c: 1.0 - _wrapped_cdf(z, c), "ppf": _wrapped_ppf,
    },
)  # fmt: skip
