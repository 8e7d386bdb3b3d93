"""Distributions on the circle, in standard form."""

from __future__ import annotations

import numpy as np

from ..ir.instruction import Operand
from ..ops.elementwise.arithmetic import MAXIMUM, MINIMUM
from ..ops.elementwise.bessel import I0E, I1E
from ..ops.elementwise.comparison import LOGICAL_AND, SELECT
from ..ops.elementwise.incomplete import gauss_rule
from .distribution import Continuous, Support
from .quantiles import InverseRule, inverse
from .supports import FINITE, HALF_LOG_TWO_PI, below_zero


def _von_mises(z: Operand, kappa: Operand) -> Operand:
    return -2.0 * kappa * np.square(np.sin(0.5 * z)) - 2.0 * HALF_LOG_TWO_PI - np.log(I0E(kappa))


def _von_mises_cdf(z: Operand, kappa: Operand) -> Operand:
    """The integral of the density from the nearer end, within twelve standard deviations; each full turn adds 1."""
    turns = np.rint(z / (2.0 * np.pi))
    angle = z - 2.0 * np.pi * turns
    is_left = angle < 0.0
    distance = SELECT(is_left, -angle, angle)  # the derivative at 0 follows the same side as the selection below
    length = MINIMUM(np.pi - distance, 12.0 / np.sqrt(MAXIMUM(kappa, 1.0)))
    nodes, weights = gauss_rule(64)  # enough for a normal density over twelve standard deviations
    points = np.expand_dims(distance, -1) + np.expand_dims(length, -1) * nodes
    tail = length * np.sum(np.exp(_von_mises(points, np.expand_dims(kappa, -1))) * weights, axis=-1)
    return turns + SELECT(is_left, tail, 1.0 - tail)


def _von_mises_density(z: Operand, kappa: Operand) -> Operand:
    return np.exp(_von_mises(z, kappa))


def _von_mises_slope(z: Operand, kappa: Operand) -> Operand:
    """The derivative of the distribution function in kappa, for |z| <= pi: the integral of the density times (cos - its mean)."""
    is_left, mean = z < 0.0, I1E(kappa) / I0E(kappa)
    distance = SELECT(is_left, -z, z)
    length = MINIMUM(np.pi - distance, 12.0 / np.sqrt(MAXIMUM(kappa, 1.0)))
    nodes, weights = gauss_rule(64)
    points = np.expand_dims(distance, -1) + np.expand_dims(length, -1) * nodes
    terms = np.exp(_von_mises(points, np.expand_dims(kappa, -1))) * (np.cos(points) - np.expand_dims(mean, -1))
    tail = length * np.sum(terms * weights, axis=-1)
    return SELECT(is_left, tail, -tail)


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
    """By sine and cosine: their quotient is infinite in the middle."""
    return np.arctan2((1.0 + c) * np.sin(0.5 * z), (1.0 - c) * np.cos(0.5 * z)) / np.pi


def _wrapped_ppf(q: Operand, c: Operand) -> Operand:
    return 2.0 * np.arctan2((1.0 - c) * np.sin(np.pi * q), (1.0 + c) * np.cos(np.pi * q))


wrapcauchy = Continuous(
    "wrapcauchy", ("c",), _wrapped_cauchy,
    Support(lambda z, c: LOGICAL_AND(z >= 0.0, z <= 2.0 * np.pi), 1.0, None, below_zero, lambda z, c: z >= 2.0 * np.pi),
    valid=lambda c: LOGICAL_AND(c > 0.0, c < 1.0), functions={
        "cdf": _wrapped_cdf, "sf": lambda z, c: 1.0 - _wrapped_cdf(z, c), "ppf": _wrapped_ppf,
    },
)  # fmt: skip
