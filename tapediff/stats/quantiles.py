"""Quantiles of distributions without a closed-form inverse: by bisection, with the inverse's derivative."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..functions.loops import fori_loop
from ..ir.instruction import Operand
from ..ops.arrays.shape import broadcast
from ..ops.elementwise.arithmetic import FLOOR
from ..ops.elementwise.comparison import EQUAL, IS_NAN, LOGICAL_AND, SELECT
from ..ops.elementwise.structure import STOP_GRADIENT
from ..ops.matrices.given_values import GIVEN

# A function of the standardised variable and the shapes.
Function = Callable[..., Operand]


def filled(value: Operand, *others: Operand) -> Operand:
    """Broadcast a value to the common shape."""
    shape = np.broadcast_shapes(np.shape(value), *map(np.shape, others))
    value = value * 1.0
    return broadcast(value, shape) if np.shape(value) != shape else value


def _bisected(is_above: Function, low: Operand, high: Operand, steps: int, middle: Function) -> tuple[Operand, Operand]:
    def halve(_: Operand, ends: tuple[Operand, Operand]) -> tuple[Operand, Operand]:
        point = middle(*ends)
        above = is_above(point)
        return SELECT(above, ends[0], point), SELECT(above, point, ends[1])

    return fori_loop(0, steps, halve, (low, high))


@dataclass(frozen=True)
class InverseRule:
    """dq = density dx + slope dshape, with one slope for each shape."""

    density: Function
    slopes: tuple[Function, ...]

    def __call__(self, x_bar: Operand, x: Operand, q: Operand, *shapes: Operand) -> tuple[Operand, ...]:
        q_bar = x_bar / self.density(x, *shapes)
        return q_bar, *(-q_bar * slope(x, *shapes) for slope in self.slopes)


def inverse(function: Function, rule: InverseRule, low: Function, high: Function) -> Function:
    """The quantile function of a distribution function of (x, shape), increasing from low(shape) to high(shape).

    Cost: 62 evaluations; one for its derivative. Error: that of the distribution function, divided by the density.
    """

    def quantile(q: Operand, shape: Operand) -> Operand:
        q, shape = filled(q, shape), filled(shape, q)
        wanted, fixed = STOP_GRADIENT(q), STOP_GRADIENT(shape)
        ends = filled(low(fixed), wanted), filled(high(fixed), wanted)
        below, above = _bisected(lambda x: function(x, fixed) >= wanted, *ends, 62, lambda a, b: 0.5 * (a + b))
        is_end = EQUAL(wanted * (1.0 - wanted), 0.0)
        found = GIVEN(SELECT(is_end, 0.0, 0.5 * (below + above)), SELECT(is_end, 0.5, q), shape, rule=rule)
        return SELECT(IS_NAN(wanted), np.nan, SELECT(is_end, SELECT(wanted > 0.5, np.inf, -np.inf), found))

    return quantile


def first_number(function: Function, start: float, last: Function | None = None) -> Function:
    """The quantile function on integers from `start` on: the first at which the distribution function is at least q.

    It is a step function, whose derivative is zero.
    """

    def quantile(q: Operand, *shapes: Operand) -> Operand:
        wanted, fixed = filled(STOP_GRADIENT(q), *shapes), [STOP_GRADIENT(shape) for shape in shapes]
        end = np.inf if last is None else filled(last(*fixed), wanted)
        low, high = filled(start - 1.0, wanted), filled(2.0**53 if last is None else end, wanted)
        reaches = lambda k: LOGICAL_AND(k >= start, function(k, *fixed) >= wanted)  # noqa: E731 -- its name is its use
        _, found = _bisected(reaches, low, high, 54, lambda a, b: FLOOR(0.5 * (a + b)))
        found = SELECT(EQUAL(wanted, 1.0), end, SELECT(EQUAL(wanted, 0.0), start - 1.0, found))
        return SELECT(IS_NAN(wanted), np.nan, found)

    return quantile
