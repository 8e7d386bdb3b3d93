"""The mode of random effects: Newton's method, with a sparse Cholesky factorisation in each step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import NotConverged, NotPositiveDefinite
from ..sparse.cholesky import Cholesky
from ..sparse.order import Analysis

# A step must take this part of the increase that the slope promises (Armijo), but for rounding of the value.
INCREASE, LAST_BITS = 1e-4, 1e-12
# The mode is found when a step promises less than this: the error of the effects, in standard deviations, is the root of twice that.
TOLERANCE = 1e-22
# Rounding: a step that promises little, relative to the value (at least 1), and hardly less than the step before it.
SMALL, STAGNATION = 1e-12, 0.1
MOST_HALVINGS = 40
# The first multiple of the identity, relative to the largest diagonal entry, and its factor from one to the next.
SHIFT, GROWTH = 1e-4, 10.0
MOST_SHIFTS = 25


@dataclass(frozen=True, eq=False)
class Point:
    """The joint log density at a point.

    Attributes:
        gradient: by the effects.
        precision: the entries of minus the Hessian, for the pattern of `analysis`.
    """

    x: np.ndarray
    value: float
    gradient: np.ndarray
    precision: np.ndarray
    analysis: Analysis

    @property
    def is_finite(self) -> bool:
        return bool(np.isfinite(self.value) and np.all(np.isfinite(self.gradient)) and np.all(np.isfinite(self.precision)))


@dataclass(frozen=True, eq=False)
class Mode:
    """The mode, and the factors of the precision there."""

    point: Point
    factor: Cholesky


def find_mode(at: Callable[[np.ndarray], Point], start: np.ndarray, name: Callable[[int], str], max_steps: int) -> Mode:
    """Climb to a mode: Newton steps, each halved until the density rises; where the precision is indefinite it is shifted.

    Args:
        at: the density at a point.
        name: of an effect, in messages.

    Raises:
        NotConverged: with the increase that is still to come.
        NotPositiveDefinite: the gradient is zero, but the point is no strict maximum: with the effect.

    Source: Nocedal and Wright (2006), Numerical Optimization, chapters 3.2 and 3.4.
    """
    point, shift, promised = at(start), 0.0, np.inf
    if not point.is_finite:
        raise NotConverged("the joint log density has no finite value or derivatives where the search for the mode starts",
                           got=f"value {point.value:.6g}", fix="give start= where the density is positive")  # fmt: skip
    for _ in range(max_steps):
        factor, shift, flat = _factor(point, shift)
        direction = factor.solve(point.gradient)
        before, promised = promised, 0.5 * float(np.sum(point.gradient * direction))  # not BLAS, whose threads cost more
        small = SMALL * max(1.0, abs(point.value))
        if promised <= TOLERANCE or (promised <= small and promised >= STAGNATION * before):
            if shift == 0.0:
                return Mode(point, factor)
            if flat is None:
                shift = 0.0
                continue
            raise NotPositiveDefinite(
                "the Hessian of minus the joint log density is not positive definite at the mode", index=flat,
                got=f"no positive curvature for {name(flat)}",
                fix="give each effect a proper density; or fix one effect of a sum that data alone see",
            )  # fmt: skip
        found = _searched(at, point, direction, promised)
        if found is None:
            shift = _next(point, shift)
        else:
            point = found
            shift = shift / GROWTH if shift > SHIFT * _largest(point) else 0.0
    worst = int(np.argmax(np.abs(point.gradient)))
    raise NotConverged(
        f"the mode of the random effects is not found in {max_steps} steps",
        got=f"a step that promises {promised:.3g} more; the largest slope is {point.gradient[worst]:.3g}, for {name(worst)}",
        fix="give start= nearer to the mode, or raise max_steps=",
    )  # fmt: skip


def _factor(point: Point, shift: float) -> tuple[Cholesky, float, int | None]:
    """The factors of the precision plus a multiple of the identity; and the row with a bad pivot, if it needed that multiple."""
    flat = None
    for _ in range(MOST_SHIFTS):
        try:
            return Cholesky(point.analysis, point.precision, shift), shift, flat
        except NotPositiveDefinite as error:
            flat, shift = error.index, _next(point, shift)
    raise NotPositiveDefinite("the Hessian of the joint log density overflows", index=flat or 0, got=f"a shift of {shift:.3g}",
                              fix="look for overflow in the density")  # fmt: skip


def _next(point: Point, shift: float) -> float:
    return max(shift * GROWTH, SHIFT * _largest(point))


def _largest(point: Point) -> float:
    return float(np.max(np.abs(point.precision), initial=0.0)) or 1.0


def _searched(at: Callable[[np.ndarray], Point], point: Point, direction: np.ndarray, promised: float) -> Point | None:
    """The first point along a direction, at lengths 1, 1/2, ..., where the density rises enough."""
    length, rounding = 1.0, LAST_BITS * max(1.0, abs(point.value))
    for _ in range(MOST_HALVINGS):
        found = at(point.x + length * direction)
        if found.is_finite and found.value >= point.value + 2.0 * INCREASE * length * promised - rounding:
            return found
        length *= 0.5
    return None
