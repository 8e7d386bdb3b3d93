"""The normal distribution and relatives, in standard form: half, logarithmic, truncated, skew, and exponentially modified."""

from __future__ import annotations

import math

import numpy as np

from ..ir.instruction import Operand
from ..ops.elementwise.arithmetic import MINIMUM
from ..ops.elementwise.comparison import EQUAL, IS_FINITE, SELECT
from ..ops.elementwise.incomplete import integral
from ..ops.elementwise.special import ERF, ERFINV, LOG_NDTR, NDTR, NDTRI, log_ndtr_slope
from ..ops.elementwise.special_integrals import NDTRI_EXP, OWENS_T
from ..ops.elementwise.structure import STOP_GRADIENT
from ..ops.matrices.given_values import GIVEN
from .distribution import Continuous, Support, all_of
from .quantiles import InverseRule, filled, inverse
from .supports import (
    FINITE,
    HALF_LOG_TWO_PI,
    LOG2,
    LOG_PI,
    OPEN_POSITIVE_LINE,
    POSITIVE_LINE,
    are_positive,
    reflected,
    with_end,
)


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
    "logsf": lambda z, s: LOG_NDTR(-np.log(z) / s), "ppf": with_end(lambda q, s: np.exp(s * NDTRI(q)), 0.0, np.sqrt),
    "isf": with_end(lambda q, s: np.exp(-s * NDTRI(q)), 1.0, lambda q: np.sqrt(1.0 - q)),
})  # fmt: skip


def _log_normal_mass(low: Operand, high: Operand) -> Operand:
    """log(ndtr(high) - ndtr(low)), from the nearer tail."""
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
    """The normal quantile of the sum of two probabilities, clipped to 1 against rounding."""
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


def _skew_density(z: Operand, a: Operand) -> Operand:
    return np.exp(_skew_normal(z, a))


def _skew_slope(z: Operand, a: Operand) -> Operand:
    """The derivative of the distribution function in the shape."""
    square = 1.0 + a * a
    return -np.exp(-0.5 * z * z * square) / (np.pi * square)


# Below this the thin tail is a difference of Owen's functions that loses at most a digit; above, its integral decays on one scale.
_NEAR = 1.0


def _log_thin(h: Operand, b: Operand) -> Operand:
    """log P(Z < -h) for the shape b, h and b >= 0: 1/pi times the integral over t > b of exp(-h**2 (1 + t**2) / 2) / (1 + t**2)."""
    far = h * np.hypot(1.0, b)
    is_near = far <= _NEAR
    near_h, near_b = SELECT(is_near, h, 0.0), SELECT(is_near, b, 0.0)
    is_steep = near_b > 1.0
    steep_b, flat_b = SELECT(is_steep, near_b, 1.0), SELECT(is_steep, 1.0, near_b)
    product = near_h * steep_b
    steep = 2.0 * OWENS_T(product, 1.0 / steep_b) - NDTR(-product) * ERF(near_h / np.sqrt(2.0))
    flat = NDTR(-near_h) - 2.0 * OWENS_T(near_h, flat_b)
    far_h, far_b = (np.expand_dims(SELECT(is_near, 1.0, x), -1) for x in (h, b))
    tail = integral(
        far_h * (1.0 + far_h * far_b),
        lambda s: np.exp(-far_h * far_h * s * (far_b + 0.5 * s)) / (1.0 + np.square(far_b + s)),
    )
    return SELECT(is_near, np.log(SELECT(is_steep, steep, flat)), np.log(tail / np.pi) - 0.5 * far * far)


def _skew_parts(z: Operand, a: Operand) -> tuple[Operand, Operand, Operand, Operand]:
    """A mask of right-skewed shapes; h = |z|, with the right slope at 0; the logarithm of the thin tail beyond h; the
    distribution function at h of the right-skewed shape, accurate for small h too.
    """
    h, is_right = SELECT(z < 0.0, -z, z), a >= 0.0
    log_thin = _log_thin(h, SELECT(is_right, a, -a))
    return is_right, h, log_thin, ERF(h / np.sqrt(2.0)) + np.exp(log_thin)


def _skew_cdf_value(z: Operand, a: Operand) -> Operand:
    is_right, h, log_thin, upper = _skew_parts(z, a)
    thin = np.exp(log_thin)
    return SELECT(z < 0.0, SELECT(is_right, thin, 2.0 * NDTR(-h) - thin), SELECT(is_right, upper, 1.0 - thin))


def _skew_log_cdf(z: Operand, a: Operand) -> Operand:
    """Its derivatives are those of the operations: in the far tail, density over probability is not a ratio of exponentials."""
    is_right, h, log_thin, upper = _skew_parts(z, a)
    is_low = upper < 0.5
    low = SELECT(is_low, upper, 0.5)
    log_tails = LOG2 + LOG_NDTR(-h)
    log_rest = log_tails + np.log1p(-np.exp(log_thin - log_tails))  # of 1 - upper
    below = SELECT(is_right, log_thin, SELECT(is_low, np.log1p(-low), log_rest))
    above = SELECT(is_low, np.log(low), np.log1p(-np.exp(SELECT(is_low, -1.0, log_rest))))
    return SELECT(z < 0.0, below, SELECT(is_right, above, np.log1p(-np.exp(log_thin))))


def _skew_cdf_rule(w_bar: Operand, w: Operand, z: Operand, a: Operand) -> tuple[Operand, Operand]:
    return w_bar * _skew_density(z, a), w_bar * _skew_slope(z, a)


def _skew_cdf(z: Operand, a: Operand) -> Operand:
    z, a = filled(z, a), filled(a, z)
    return GIVEN(_skew_cdf_value(STOP_GRADIENT(z), STOP_GRADIENT(a)), z, a, rule=_skew_cdf_rule)


_skew_ppf = inverse(_skew_cdf_value, InverseRule(_skew_density, (_skew_slope,)), lambda a: -40.0, lambda a: 40.0)
skewnorm = Continuous("skewnorm", ("a",), _skew_normal, FINITE, valid=lambda a: IS_FINITE(a), functions={
    "cdf": _skew_cdf, "sf": lambda z, a: _skew_cdf(-z, -a), "ppf": _skew_ppf, "isf": lambda q, a: -_skew_ppf(q, -a),
    "logcdf": _skew_log_cdf, "logsf": lambda z, a: _skew_log_cdf(-z, -a),
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
# The sum of a normal variable within (-40, 40) and an exponential one below 750 K.
_exponnorm_ends = (lambda K: -40.0, lambda K: 40.0 + 750.0 * K)
_minus_sf_inverse = inverse(lambda z, K: -_exponnorm_sf(z, K), _exponnorm_rule, *_exponnorm_ends)
def _exponnorm_isf(q: Operand, K: Operand) -> Operand:
    is_end = EQUAL(q * (1.0 - q), 0.0)
    return SELECT(is_end, SELECT(q > 0.5, -np.inf, np.inf), _minus_sf_inverse(SELECT(is_end, -0.5, -q), K))


exponnorm = Continuous("exponnorm", ("K",), lambda z, K: _exponnorm_tail(z, K) - np.log(K), FINITE, valid=are_positive, functions={
    "cdf": _exponnorm_cdf, "sf": _exponnorm_sf, "ppf": inverse(_exponnorm_cdf, _exponnorm_rule, *_exponnorm_ends),
    "isf": _exponnorm_isf,
})  # fmt: skip
