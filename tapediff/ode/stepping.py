"""Adaptive steps from one time to the next; step sizes have no derivative."""

from __future__ import annotations

import numpy as np

from ..functions.loops import repeated_while
from ..ir.instruction import Operand, Tree
from ..targets.derivatives import stop_gradient
from .methods import Method, Scale, Slope, mean_square

# As in SciPy's solvers: the safety factor of a step, and the largest changes of its length.
SAFETY, SHORTEST, LONGEST = 0.9, 0.2, 10.0
# A step that would leave less than this part of itself to the end is extended to the end.
ENOUGH = 1.0 + 1e-10


def first_step(f: Slope, t: Operand, y: Operand, slope: Operand, direction: Operand, order: int, scale: Scale) -> Operand:
    """The length of the first step, from the first two derivatives.

    Source: Hairer, Norsett and Wanner (1993), Solving Ordinary Differential Equations I, chapter II.4.
    """
    weights = scale(y)
    size, rate = np.sqrt(mean_square(y / weights)), np.sqrt(mean_square(slope / weights))
    is_flat = (size < 1e-5) | (rate < 1e-5)
    trial = np.where(is_flat, 1e-6, 0.01 * size / np.where(is_flat, 1.0, rate))
    there = f(t + direction * trial, y + (direction * trial) * slope)
    curvature = np.sqrt(mean_square((there - slope) / weights)) / trial
    steepest = np.maximum(rate, curvature)
    is_straight = steepest <= 1e-15
    length = (0.01 / np.where(is_straight, 1.0, steepest)) ** (1.0 / order)
    return np.minimum(100.0 * trial, np.where(is_straight, np.maximum(1e-6, 1e-3 * trial), length))


def advanced(
    f: Slope, method: Method, state: Tree, start: Operand, end: Operand, tolerances: tuple[Operand, Operand], most: int,
    failure: tuple[str, str],
) -> Tree:  # fmt: skip
    """(y, f there, length of the next step) at the time `end`, from those at `start`; the last step ends there."""
    rtol, atol = tolerances

    def goes_on(state: Tree) -> Operand:
        return state[0] != end

    def step(state: Tree) -> Tree:
        t, y, slope, length, most_growth = state
        left = end - t
        is_last = ENOUGH * length >= np.abs(left)
        h = np.where(is_last, left, np.sign(stop_gradient(left)) * length)
        before = np.abs(y)
        scale = lambda after: atol + rtol * np.maximum(before, np.abs(after))  # noqa: E731 -- its name is its use
        after, slope_after, error = method.step(f, t, y, slope, h, scale)
        error = stop_gradient(error)
        is_taken = error < 1.0
        best = SAFETY * np.where(error > 0.0, error, 1e-300) ** (-1.0 / method.order)
        growth = np.where(np.isfinite(error), np.clip(best, SHORTEST, np.where(is_taken, most_growth, 1.0)), SHORTEST)
        proposed = stop_gradient(np.abs(h)) * growth
        # A last step may be short only to hit the end: then keep the length before it.
        following = np.where(is_taken & is_last, np.maximum(length, proposed), proposed)
        return (
            np.where(is_taken, np.where(is_last, end, t + h), t), np.where(is_taken, after, y), np.where(is_taken, slope_after, slope),
            following, np.where(is_taken, LONGEST, 1.0),
        )  # fmt: skip

    y, slope, length = state
    _, y, slope, length, _ = repeated_while(goes_on, step, (start, y, slope, length, LONGEST), most, failure)
    return y, slope, length
