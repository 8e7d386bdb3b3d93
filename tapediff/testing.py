"""Checks for users' tests: a gradient against finite differences."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .functions.primitive import Primitive
from .functions.pytree import flatten
from .targets.compiled_tape import compile
from .targets.derivatives import value_and_gradient

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


def check_rule(rule: Primitive, *args: Any, rtol: float = 1e-6, atol: float = 1e-8, seed: int = 0) -> None:
    """Compare the derivative rule of a primitive with finite differences of its forward function, replayed and compiled.

    Args:
        rule: what td.primitive made.
        args: where to check; floats and float arrays are differentiated, other arguments are passed on.
        rtol, atol: as for check_gradient.
        seed: of the random cotangents.

    Raises:
        AssertionError: naming the argument whose cotangent is wrong.
        InvalidRule: the rule returned something of another number, shape or structure.

    Cost: one check_gradient for each float argument, by replay and by kernel.
    """
    rng = np.random.default_rng(seed)
    outputs = [np.asarray(leaf) for leaf in flatten(rule(*args))[0]]
    weights = [rng.normal(size=leaf.shape) if leaf.dtype.kind == "f" else None for leaf in outputs]

    def weighed(position: int, value: Any) -> Any:
        results = flatten(rule(*args[:position], value, *args[position + 1 :]))[0]
        return sum(np.sum(w * r) for w, r in zip(weights, results) if w is not None)

    for position, argument in enumerate(args):
        if isinstance(argument, (bool, int)) or np.asarray(argument).dtype.kind != "f":
            continue
        function = functools.partial(weighed, position)
        for target in (function, compile(function, argument)):
            try:
                check_gradient(target, function, argument, rtol=rtol, atol=atol)
            except AssertionError as wrong:
                raise AssertionError(f"argument {position} of {rule.name}: {wrong}") from wrong


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
