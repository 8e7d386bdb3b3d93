"""scipy.integrate.solve_ivp's explicit Runge-Kutta methods: SciPy's steps and interpolation, so SciPy's values."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..functions.loops import repeated_while, scan
from ..ir.instruction import Operand, Tree
from ..ode.methods import mean_square, stages_of, weighted
from ..ode.stepping import LONGEST, SAFETY, SHORTEST
from ..targets.derivatives import stop_gradient

Slope: TypeAlias = Callable[[Operand, Operand], Operand]
# A class of scipy.integrate, whose attributes are the coefficients.
Coefficients: TypeAlias = Any
# Steps to the next time of the solution.
MOST_STEPS = 100_000


class Problem(NamedTuple):
    """dy / dt = f(t, y), from the time `start` to `end`, and the control of the steps."""

    f: Slope
    start: Operand
    end: Operand
    method: str
    rtol: Operand
    atol: Operand
    first_step: float | None
    longest: float

    @property
    def coefficients(self) -> Coefficients:
        return getattr(importlib.import_module("scipy.integrate"), self.method)

    def error(self, slopes: list[Operand], h: Operand, scale: Operand) -> Operand:
        """The norm of the estimated error, relative to the allowed one."""
        made = self.coefficients
        if self.method != "DOP853":
            return np.sqrt(mean_square(weighted(made.E, slopes) * h / scale))
        high, low = (mean_square(weighted(error, slopes) / scale) for error in (made.E5, made.E3))
        return np.abs(h) * high / np.sqrt(np.maximum(high + 0.01 * low, 1e-300))


def solution(problem: Problem, y0: Operand, slope: Operand, times: Operand) -> Operand:
    """The solution at times in the order of the integration, one row for each.

    Steps have no derivative, as in td.ode.solve: it is that of the computed solution for these steps.

    Source: Dormand and Prince (1980), Bogacki and Shampine (1989), Hairer, Norsett and Wanner (1993), by SciPy's coefficients; the
        interpolation by Shampine (1986), Mathematics of Computation 46.
    """
    direction = np.sign(stop_gradient(problem.end - problem.start))
    direction = np.where(direction == 0.0, 1.0, direction)
    length = stop_gradient(_first_step(problem, y0, slope, direction)) if problem.first_step is None else problem.first_step
    count = len(problem.coefficients.B) + 1
    failure = (f"solve_ivp by {problem.method} has not reached the next time",
               'raise the tolerances, or take method="Radau" if the equation is stiff; a solution may also end at infinity')  # fmt: skip

    def at(state: Tree, time: Operand) -> tuple[Tree, Operand]:
        goes_on = lambda state: direction * (state[0] - time) < 0.0  # noqa: E731 -- its name is its use
        state = repeated_while(goes_on, lambda state: _step(problem, state, direction), state, MOST_STEPS, failure)
        return state, _between(problem, state, time)

    # Time, state, slope, length of the next step, its largest growth; and of the last step: its start, state there, length and slopes.
    state = (problem.start, y0, slope, length, LONGEST, problem.start, y0, 1.0, np.zeros((count, *np.shape(y0))))
    return scan(at, state, times)[1]


def _first_step(problem: Problem, y0: Operand, slope: Operand, direction: Operand) -> Operand:
    """As td.ode.solve's, but no longer than the whole way."""
    whole, scale = np.abs(problem.end - problem.start), problem.atol + np.abs(y0) * problem.rtol
    size, rate = np.sqrt(mean_square(y0 / scale)), np.sqrt(mean_square(slope / scale))
    is_flat = (size < 1e-5) | (rate < 1e-5)
    trial = np.minimum(np.where(is_flat, 1e-6, 0.01 * size / np.where(is_flat, 1.0, rate)), whole)
    there = problem.f(problem.start + trial * direction, y0 + trial * direction * slope)
    curvature = np.sqrt(mean_square((there - slope) / scale)) / np.where(trial == 0.0, 1.0, trial)
    steepest = np.maximum(rate, curvature)
    is_straight = steepest <= 1e-15
    order = problem.coefficients.error_estimator_order
    length = np.where(
        is_straight, np.maximum(1e-6, trial * 1e-3), (0.01 / np.where(is_straight, 1.0, steepest)) ** (1 / (order + 1))
    )
    return np.minimum(np.minimum(100 * trial, length), np.minimum(whole, problem.longest))


def _step(problem: Problem, state: Tree, direction: Operand) -> Tree:
    """Try one step; a rejected one keeps the state, and shortens the next."""
    t, y, slope, length, growth, *before = state
    made, exponent = problem.coefficients, -1.0 / (problem.coefficients.error_estimator_order + 1)
    h = np.minimum(length, problem.longest) * direction
    is_last = direction * (t + h - problem.end) > 0.0
    there = np.where(is_last, problem.end, t + h)
    h = there - t
    after, slopes = stages_of(problem.f, t, y, slope, h, made.C, made.A, made.B)
    scale = problem.atol + np.maximum(np.abs(y), np.abs(after)) * problem.rtol
    error = stop_gradient(problem.error(slopes, h, scale))
    taken = error < 1.0
    best = SAFETY * np.where(error > 0.0, error, 1e-300) ** exponent
    factor = np.where(np.isfinite(error), np.where(taken, np.minimum(growth, best), np.maximum(SHORTEST, best)), SHORTEST)
    new = (there, after, slopes[-1], stop_gradient(np.abs(h)) * factor, LONGEST, t, y, h, np.stack(slopes))
    old = (t, y, slope, stop_gradient(np.abs(h)) * factor, 1.0, *before)
    return tuple([np.where(taken, a, b) for a, b in zip(new, old)])


def _between(problem: Problem, state: Tree, time: Operand) -> Operand:
    """The state at a time in the last step, by SciPy's polynomial."""
    _, after, slope, _, _, start, y, h, stacked = state
    made, x, slopes = problem.coefficients, (time - start) / h, [*stacked]
    if problem.method != "DOP853":
        powers = np.stack([x ** (k + 1) for k in range(made.P.shape[1])])
        return y + h * (np.transpose(stacked) @ (made.P @ powers))
    for row, node in zip(made.A_EXTRA, made.C_EXTRA):
        slopes.append(problem.f(start + float(node) * h, y + h * weighted(row, slopes)))
    change = after - y
    parts = [change, h * slopes[0] - change, 2 * change - h * (slope + slopes[0]), *[h * weighted(row, slopes) for row in made.D]]
    result = np.zeros(np.shape(y))
    for k, part in enumerate(reversed(parts)):
        result = (result + part) * (x if k % 2 == 0 else 1.0 - x)
    return y + result
