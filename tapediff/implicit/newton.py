"""Newton's method for roots and minima, in td.while_loop: inside a kernel it needs no Python."""

from __future__ import annotations

import numpy as np

from ..functions.loops import repeated_while
from ..ir.instruction import Operand, Tree
from .equation import Equation

# The largest last step, relative to the largest x: the remaining error is its square.
TOLERANCE = 1e-12
# A step must take this part of the decrease that the slope promises (Armijo); else it is halved.
DECREASE = 1e-4
# A Newton step that decreases nothing even at this length is rounding, if it is also this factor
SHORTEST = 2.0**-6
# smaller than the largest x, or than the start if that was smaller than 1: a solution may be 0.
ROUNDING = 1e-6
# The relative increase of an objective that counts as rounding.
LAST_BITS = 1e-15


@np.errstate(all="ignore")  # for trial points that are rejected
def newton(equation: Equation, tol: float | None, max_steps: int) -> Operand:
    """Find a root by damped steps: each is halved until the largest residual falls."""
    tol, at, x0 = TOLERANCE if tol is None else tol, equation.residual_and_slope, equation.x0
    floor = _floor(x0)

    def goes_on(state: Tree) -> Operand:
        x, norm, direction, length = state
        return (norm > 0.0) & (np.isinf(norm) | _is_far(x, direction, length, tol, floor))

    def step(state: Tree) -> Tree:
        x, norm, direction, length = state
        trial = x + length * direction
        residual, slope = at(trial)
        if _largest(residual) <= (1.0 - DECREASE * length) * norm:
            flat = np.linalg.solve(slope, np.reshape(residual, (-1,)))
            return trial, _largest(residual), -np.reshape(flat, np.shape(x)), 1.0
        return x, norm, direction, 0.5 * length

    # The first step only evaluates the start inside the loop, so that branches of f stay out of the caller.
    start = x0, np.inf, np.zeros(np.shape(x0))[()], 1.0
    x, _, direction, _ = repeated_while(goes_on, step, start, max_steps, _failure(equation, "Newton's method"))
    return x + direction


@np.errstate(all="ignore")  # for trial points that are rejected
def newton_minimum(equation: Equation, tol: float | None, max_steps: int) -> Operand:
    """Find a minimum by steps along -|H|^-1 g, which always lead downhill: |H| has the absolute eigenvalues of the Hessian.

    Source: Nocedal and Wright (2006), Numerical Optimization, chapters 3.1 and 3.4.
    """
    tol, at, objective, x0 = TOLERANCE if tol is None else tol, equation.residual_and_slope, equation.value, equation.x0
    floor = _floor(x0)

    def goes_on(state: Tree) -> Operand:
        x, value, gradient, direction, length = state
        return np.isinf(value) | ((_largest(gradient) > 0.0) & _is_far(x, direction, length, tol, floor))

    def step(state: Tree) -> Tree:
        x, value, gradient, direction, length = state
        trial = x + length * direction
        found = objective(trial)
        if found <= value + DECREASE * length * np.sum(gradient * direction) + LAST_BITS * np.abs(value):
            gradient, hessian = at(trial)
            return trial, found, gradient, _downhill(gradient, hessian), 1.0
        return x, value, gradient, direction, 0.5 * length

    zeros = np.zeros(np.shape(x0))[()]
    start = x0, np.inf, zeros, zeros, 1.0
    x, _, _, direction, _ = repeated_while(goes_on, step, start, max_steps, _failure(equation, "Newton's method"))
    return x + direction


@np.errstate(all="ignore")  # for trial points that are rejected
def iteration(equation: Equation, tol: float | None, max_steps: int) -> Operand:
    """Find a fixed point by x = f(x) until x no longer changes."""
    tol, at = TOLERANCE if tol is None else tol, equation.residual

    def goes_on(state: Tree) -> Operand:
        x, change = state
        return ~(change <= tol * _largest(x))

    def step(state: Tree) -> Tree:
        x, _ = state
        change = at(x)
        return x + change, _largest(change)

    return repeated_while(goes_on, step, (equation.x0, np.inf), max_steps, _failure(equation, "iteration"))[0]


def _failure(equation: Equation, method: str) -> tuple[str, str]:
    return f"{equation.name} by {method} has not converged", "start nearer to the solution, take another method=, or raise max_steps="


def _is_far(x: Operand, direction: Operand, length: Operand, tol: float, floor: Operand) -> Operand:
    """True if the next step is more than rounding. A NaN step never counts as converged."""
    size, largest = _largest(x), _largest(direction)
    is_stuck = (length < SHORTEST) & (largest <= ROUNDING * np.maximum(size, floor))
    return ~((largest <= tol * size) | is_stuck)


def _floor(x0: Operand) -> Operand:
    return np.minimum(_largest(x0), 1.0)


def _downhill(gradient: Operand, hessian: Operand) -> Operand:
    curvatures, axes = np.linalg.eigh(hessian)
    curvatures = np.abs(curvatures)
    least = np.maximum(1e-12 * np.max(curvatures), 1e-300)
    along = np.transpose(axes) @ np.reshape(gradient, (-1,))
    return -np.reshape(axes @ (along / np.maximum(curvatures, least)), np.shape(gradient))


def _largest(x: Operand) -> Operand:
    return np.max(np.abs(x), initial=0.0)
