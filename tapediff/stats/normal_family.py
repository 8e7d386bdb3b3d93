"""The normal distribution and those made of it, in standard form: half, logarithmic, truncated, skew, and with an exponential tail."""

from __future__ import annotations

import math

import numpy as np

from ..ir.instruction import Operand
from ..ops.elementwise.arithmetic import MINIMUM
from ..ops.elementwise.comparison import EQUAL, IS_FINITE, LOGICAL_AND, SELECT
from ..ops.elementwise.incomplete import integral
from ..ops.elementwise.special import ERF, ERFINV, LOG_NDTR, NDTR, NDTRI, log_ndtr_slope
from ..ops.elementwise.special_integrals import NDTRI_EXP, OWENS_T
from .distribution import Continuous, Support, all_of
from .quantiles import InverseRule, inverse
from .supports import FINITE, HALF_LOG_TWO_PI, LOG2, LOG_PI, OPEN_POSITIVE_LINE, POSITIVE_LINE, are_positive, reflected


def _normal(z: Operand) -> Operand:
    return -0.5 * z * z - HALF_LOG_TWO_PI


norm = Continuous("norm", (), _normal, functions={
    "cdf": NDTR, "logcdf": LOG_NDTR, "sf": reflected(NDTR), "logsf": reflected(LOG_NDTR), "ppf": NDTRI, "isf": lambda q: -NDTRI(q),
})  # fmt: skip
halfnorm = Continuous("halfnorm", (), lambda z: 0.5 * (LOG2 - LOG_PI) - 0.5 * z * z, POSITIVE_LINE, functions={
    "cdf": lambda z: ERF(z / math.sqrt(2.0)), "sf": lambda z: 2.0 * NDTR(-z),
    "logsf": lambda z: SELECT(z < 0.5, np.log1p(-ERF(z / math.sqrt(2.0))), LOG2 + LOG_NDTR(-z)),
    "ppf": lambda q: math.sqrt(2.0) * ERFINV(q), "isf": lambda q: -NDTRI(0.5 * q),
})  # fmt: skip


def _lognormal(z: Operand, s: Operand) -> Operand:
    log_z = np.log(z)
    return -0.5 * (log_z / s) ** 2 - log_z - np.log(s) - HALF_LOG_TWO_PI


lognorm = Continuous("lognorm", ("s",), _lognormal, OPEN_POSITIVE_LINE, valid=are_positive, functions={
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


exponnorm = Continuous("exponnorm", ("K",), lambda z, K: _exponnorm_tail(z, K) - np.log(K), FINITE, valid=are_positive, functions={
    "cdf": _exponnorm_cdf, "sf": _exponnorm_sf, "ppf": inverse(_exponnorm_cdf, _exponnorm_rule, *_exponnorm_ends),
    "isf": _exponnorm_isf,
})  # fmt: skip
