"""Supports of continuous distributions, with the densities on their edges, shared by several families.

Comes in: formulas of the standardised variable. Goes out: a `Support`, or the mask of valid parameters.
"""

from __future__ import annotations

import math

import numpy as np

from ..ir.instruction import Operand
from ..ops.elementwise.comparison import EQUAL, IS_FINITE, LOGICAL_AND, LOGICAL_OR, SELECT
from .distribution import Formula, Support, all_of

LOG2, LOG_PI = math.log(2.0), math.log(math.pi)
HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


def are_positive(*values: Operand) -> Operand:
    return all_of(*(value > 0.0 for value in values))


def below_zero(z: Operand, *_: Operand) -> Operand:
    return z <= 0.0


def at_infinity(z: Operand, *_: Operand) -> Operand:
    return EQUAL(z, np.inf)


def _finite_and_positive(z: Operand, *_: Operand) -> Operand:
    return LOGICAL_AND(z > 0.0, z < np.inf)


def _not_negative(z: Operand, *_: Operand) -> Operand:
    return LOGICAL_AND(z >= 0.0, z < np.inf)


def power_at_zero(exponent: Operand, z: Operand) -> tuple[Operand, Operand]:
    """For z**exponent on 0 <= z < inf: a mask where it is positive and finite, and its logarithm elsewhere."""
    inside = LOGICAL_AND(LOGICAL_OR(z > 0.0, LOGICAL_AND(EQUAL(z, 0.0), EQUAL(exponent, 0.0))), z < np.inf)
    return inside, SELECT(LOGICAL_AND(EQUAL(z, 0.0), exponent < 0.0), np.inf, -np.inf)


def with_power_at_zero(exponent: Formula) -> Support:
    """The support z >= 0 of a density that behaves like z**exponent(*shapes) near 0."""
    return Support(
        inside=lambda z, *shapes: power_at_zero(exponent(*shapes), z)[0], middle=1.0,
        at_edge=lambda z, *shapes: power_at_zero(exponent(*shapes), z)[1], below=below_zero, above=at_infinity,
    )  # fmt: skip


POSITIVE_LINE = Support(_not_negative, 1.0, below=below_zero, above=at_infinity)
OPEN_POSITIVE_LINE = Support(_finite_and_positive, 1.0, below=below_zero, above=at_infinity)
# At infinity the tails of these densities would be inf - inf.
FINITE = Support(lambda z, *_: IS_FINITE(z), below=lambda z, *_: EQUAL(z, -np.inf), above=at_infinity)


def with_end(quantile: Formula, end: float, edge: Formula) -> Formula:
    """A quantile function whose slope is infinite at one end: `edge` has its value and slope there."""

    def with_slope(q: Operand, *shapes: Operand) -> Operand:
        is_end = EQUAL(q, end)
        return SELECT(is_end, edge(q), quantile(SELECT(is_end, 0.5, q), *shapes))

    return with_slope


def reflected(function: Formula) -> Formula:
    return lambda z, *shapes: function(-z, *shapes)
