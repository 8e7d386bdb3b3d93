"""Checks for users' tests: a gradient against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .derivatives import value_and_gradient

STEPS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)


def check_gradient(target: Any, f: Callable[..., Any], x: Any, *, rtol: float = 1e-6, atol: float = 1e-8) -> None:
    """Compare a target's value and gradient with the plain function at x.

    Args:
        target: function, Tape, CompiledTape or GuardedTape.
        f: the plain function, called on plain arrays.
        x: the point, float or float array.
        rtol, atol: allowed error of each entry, relative to the gradient's largest entry and absolute.

    Raises:
        AssertionError: with both gradients and the worst entry.

    Cost: two calls of f per entry of x and step size; the best of the step sizes must agree.
    """
    x = np.asarray(x, dtype=float)
    value, gradient = value_and_gradient(target, x)
    plain = float(f(x.copy()[()]))
    if not np.isclose(value, plain, rtol=1e-9, atol=1e-12, equal_nan=True):
        raise AssertionError(f"value {value!r} differs from the plain function's {plain!r}")
    differences = [central_difference(f, x, step) for step in STEPS]
    scale = max(1.0, float(np.max(np.abs(gradient), initial=0.0)))
    worst = np.min([np.abs(d - gradient) for d in differences], axis=0)
    if not np.all(worst <= atol + rtol * scale):
        raise AssertionError(
            f"gradient\n{gradient}\ndiffers from finite differences\n{differences[2]}\nby up to {np.max(worst):.3g}"
        )


def central_difference(f: Callable[..., Any], x: Any, step: float) -> np.ndarray:
    """(f(x + h) - f(x - h)) / 2h in every direction, h = step * max(1, |x|)."""
    x = np.asarray(x, dtype=float)
    result = np.empty_like(x)
    for index in np.ndindex(*x.shape):
        h = step * max(1.0, abs(float(x[index])))
        up, down = x.copy(), x.copy()
        up[index] += h
        down[index] -= h
        result[index] = (f(up[()]) - f(down[()])) / (up[index] - down[index])
    return result
