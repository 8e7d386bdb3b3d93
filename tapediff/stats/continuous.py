"""The other univariate continuous distributions, in standard form: log densities, distribution functions, quantiles."""

from __future__ import annotations

import math

import numpy as np

from ..ir.instruction import Operand
from ..ops.elementwise.arithmetic import ABSOLUTE, MAXIMUM
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
)  # fmt: skip
from ..ops.elementwise.special import BETALN, GAMMALN, LOGIT, XLOG1PY, XLOGY
from ..ops.elementwise.special_integrals import POCH, near_zero
from .distribution import Continuous, Support, all_of
from .supports import (
    FINITE,
    HALF_LOG_TWO_PI,
    LOG2,
    LOG_PI,
    OPEN_POSITIVE_LINE,
    POSITIVE_LINE,
    are_positive,
    at_infinity,
    below_zero,
    power_at_zero,
    reflected,
    with_end,
    with_power_at_zero,
)

# Student, Cauchy


def _student(z: Operand, df: Operand) -> Operand:
    is_normal = EQUAL(df, np.inf)
    df = SELECT(is_normal, 1.0, df)
    half = 0.5 * df
    found = np.log(POCH(half, 0.5)) - 0.5 * (LOG_PI + np.log(df)) - (half + 0.5) * np.log1p(z * z / df)
    return SELECT(is_normal, -0.5 * z * z - HALF_LOG_TWO_PI, found)


_student_ppf = with_end(lambda q, df: STDTRIT(df, q), 0.0, lambda q: -1.0 / q)
t = Continuous("t", ("df",), _student, FINITE, valid=are_positive, functions={
    "cdf": lambda z, df: STDTR(df, z), "sf": lambda z, df: STDTR(df, -z), "ppf": _student_ppf, "isf": lambda q, df: -_student_ppf(q, df),
})  # fmt: skip


def _cauchy_ppf(q: Operand) -> Operand:
    is_central = ABSOLUTE(q - 0.5) < 0.25
    tail = SELECT(is_central, 0.25, SELECT(q < 0.5, q, q - 1.0))
    return SELECT(is_central, np.tan(np.pi * (SELECT(is_central, q, 0.5) - 0.5)), -1.0 / np.tan(np.pi * tail))


_cauchy_quantile = with_end(_cauchy_ppf, 1.0, lambda q: 1.0 / (1.0 - q))


def _halfcauchy_ppf(q: Operand, p: Operand) -> Operand:
    """The quantile of q = 1 - p, from the smaller of the two."""
    is_small = q < 0.5
    tangent = np.tan(0.5 * np.pi * SELECT(is_small, q, p))
    return SELECT(is_small, tangent, 1.0 / tangent)


cauchy = Continuous("cauchy", (), lambda z: -LOG_PI - np.log1p(z * z), FINITE, functions={
    "cdf": lambda z: np.arctan2(1.0, -z) / np.pi, "sf": lambda z: np.arctan2(1.0, z) / np.pi, "ppf": _cauchy_quantile,
    "isf": lambda q: -_cauchy_quantile(q),
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
    "gamma", ("a",), lambda z, a: XLOGY(a - 1.0, z) - z - GAMMALN(a), with_power_at_zero(lambda a: a - 1.0), valid=are_positive, functions={
        "cdf": lambda z, a: GAMMAINC(a, z), "sf": lambda z, a: GAMMAINCC(a, z), "ppf": lambda q, a: GAMMAINCINV(a, q),
        "isf": lambda q, a: GAMMAINCCINV(a, q),
    },
)  # fmt: skip
chi2 = Continuous(
    "chi2", ("df",), lambda z, df: XLOGY(0.5 * df - 1.0, z) - 0.5 * z - GAMMALN(0.5 * df) - 0.5 * LOG2 * df,
    with_power_at_zero(lambda df: 0.5 * df - 1.0), valid=are_positive, functions={
        "cdf": lambda z, df: GAMMAINC(0.5 * df, 0.5 * z), "sf": lambda z, df: GAMMAINCC(0.5 * df, 0.5 * z),
        "ppf": lambda q, df: 2.0 * GAMMAINCINV(0.5 * df, q), "isf": lambda q, df: 2.0 * GAMMAINCCINV(0.5 * df, q),
    },
)  # fmt: skip
invgamma = Continuous(
    "invgamma", ("a",), lambda z, a: -(a + 1.0) * np.log(z) - GAMMALN(a) - 1.0 / z, OPEN_POSITIVE_LINE, valid=are_positive, functions={
        "cdf": lambda z, a: GAMMAINCC(a, 1.0 / z), "sf": lambda z, a: GAMMAINC(a, 1.0 / z),
        "ppf": with_end(lambda q, a: 1.0 / GAMMAINCCINV(a, q), 0.0, np.sqrt),
        "isf": with_end(lambda q, a: 1.0 / GAMMAINCINV(a, q), 1.0, lambda q: np.sqrt(1.0 - q)),
    },
)  # fmt: skip
weibull_min = Continuous(
    "weibull_min", ("c",), lambda z, c: np.log(c) + XLOGY(c - 1.0, z) - np.power(z, c), with_power_at_zero(lambda c: c - 1.0),
    valid=are_positive, functions={
        "cdf": lambda z, c: -np.expm1(-np.power(z, c)), "sf": lambda z, c: np.exp(-np.power(z, c)), "logsf": lambda z, c: -np.power(z, c),
        "ppf": with_end(lambda q, c: np.power(-np.log1p(-q), 1.0 / c), 1.0, lambda q: 1.0 / (1.0 - q)),
        "isf": with_end(lambda q, c: np.power(-np.log(q), 1.0 / c), 0.0, lambda q: 1.0 / q),
    },
)  # fmt: skip

# On an interval


def _beta_ends(z: Operand, a: Operand, b: Operand) -> tuple[Operand, Operand]:
    """A mask where the beta density is positive and finite, and its logarithm elsewhere."""
    at_left, left = power_at_zero(a - 1.0, z)
    at_right, right = power_at_zero(b - 1.0, 1.0 - z)
    return LOGICAL_AND(at_left, at_right), MAXIMUM(left, right)


beta = Continuous(
    "beta", ("a", "b"), lambda z, a, b: XLOG1PY(b - 1.0, -z) + XLOGY(a - 1.0, z) - BETALN(a, b),
    Support(lambda z, a, b: _beta_ends(z, a, b)[0], 0.5, lambda z, a, b: _beta_ends(z, a, b)[1], below_zero, lambda z, a, b: z >= 1.0),
    valid=are_positive, functions={
        "cdf": lambda z, a, b: BETAINC(a, b, z), "sf": lambda z, a, b: BETAINCC(a, b, z), "ppf": lambda q, a, b: BETAINCINV(a, b, q),
        "isf": lambda q, a, b: BETAINCCINV(a, b, q),
    },
)  # fmt: skip
uniform = Continuous(
    "uniform", (), lambda z: 0.0 * z, Support(lambda z: LOGICAL_AND(z >= 0.0, z <= 1.0), 0.5, None, below_zero, lambda z: z >= 1.0),
    functions={"cdf": lambda z: z, "sf": lambda z: 1.0 - z, "ppf": lambda q: q, "isf": lambda q: 1.0 - q},
)  # fmt: skip

# Exponential on both sides, and extreme values


def _laplace_cdf(z: Operand) -> Operand:
    is_right = z > 0.0
    half = 0.5 * np.exp(SELECT(is_right, -z, z))
    return SELECT(is_right, 1.0 - half, half)


def _laplace_ppf(q: Operand) -> Operand:
    return SELECT(q > 0.5, -np.log(2.0 * (1.0 - q)), np.log(2.0 * q))


def _logistic(z: Operand) -> Operand:
    minus_distance = SELECT(z > 0.0, -z, z)
    return minus_distance - 2.0 * np.log1p(np.exp(minus_distance))


laplace = Continuous("laplace", (), lambda z: -LOG2 - ABSOLUTE(z), functions={
    "cdf": _laplace_cdf, "sf": reflected(_laplace_cdf), "ppf": _laplace_ppf, "isf": lambda q: -_laplace_ppf(q),
})  # fmt: skip
logistic = Continuous("logistic", (), _logistic, Support(lambda z: IS_FINITE(z)), functions={
    "cdf": EXPIT, "logcdf": LOG_EXPIT, "sf": reflected(EXPIT), "logsf": reflected(LOG_EXPIT), "ppf": LOGIT, "isf": lambda q: -LOGIT(q),
})  # fmt: skip
gumbel_r = Continuous("gumbel_r", (), lambda z: -z - np.exp(-z), FINITE, functions={
    "cdf": lambda z: np.exp(-np.exp(-z)), "logcdf": lambda z: -np.exp(-z), "sf": lambda z: -np.expm1(-np.exp(-z)),
    "ppf": with_end(with_end(lambda q: -np.log(-np.log(q)), 0.0, lambda q: -1.0 / q), 1.0, lambda q: 1.0 / (1.0 - q)),
    "isf": with_end(with_end(lambda q: -np.log(-np.log1p(-q)), 1.0, lambda q: -1.0 / (1.0 - q)), 0.0, lambda q: 1.0 / q),
})  # fmt: skip
pareto = Continuous(
    "pareto", ("b",), lambda z, b: np.log(b) - (b + 1.0) * np.log(z),
    Support(lambda z, b: LOGICAL_AND(z >= 1.0, z < np.inf), 2.0, None, lambda z, b: z <= 1.0, at_infinity), valid=are_positive, functions={
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
    """The log density at the upper edge, which exists for negative c: infinite below c = -1; at c = -1 the density there is 1."""
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
    Support(_pareto_inside, 0.0, _pareto_edge, below_zero, _above_pareto), valid=lambda c: IS_FINITE(c), functions={
        "cdf": lambda z, c: -np.expm1(-_log1p_over(z, c)), "sf": lambda z, c: np.exp(-_log1p_over(z, c)),
        "logsf": lambda z, c: -_log1p_over(z, c), "ppf": lambda q, c: _pareto_ppf(-np.log1p(-q), c),
        "isf": lambda q, c: _pareto_ppf(-np.log(q), c),
    },
)  # fmt: skip
