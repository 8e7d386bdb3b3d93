"""Compares what tapes of functions with long loops give with the plain function, and its differences."""

from __future__ import annotations

import numpy as np

import tapediff as td
from tapediff.ops.control.calls import LOOP


def name_of(f):
    return getattr(f, "__name__", type(f).__name__)


def loops_of(tape):
    return [i for i in tape.instructions if i.op is LOOP]


def differences(f, x):
    steps = 1e-6 * np.eye(len(x))
    return np.array([(f(x + e) - f(x - e)) / 2e-6 for e in steps])


def agree(f, points, *made, rtol=2e-6):
    """Values and gradients of all that was made of a function are its own, at every point."""
    for x in points:
        for each in made:
            value, gradient = td.value_and_gradient(each, x)
            np.testing.assert_allclose(value, f(x), rtol=1e-11)
            np.testing.assert_allclose(gradient, differences(f, x), rtol=rtol, atol=rtol * np.abs(gradient).max())


def no_path_is_new(f, points, *, after=5, most=5, rtol=1e-5):
    """Values and gradients of a GuardedTape agree at every point, and from some point on nothing is recorded any more.

    Args:
        after: how many points come before; `most`: how many recordings these may take.
    """
    guarded = td.GuardedTape(f)
    agree(f, points[:after], guarded, rtol=rtol)
    recordings = guarded.stats.recordings
    agree(f, points[after:], guarded, rtol=rtol)
    assert guarded.stats.recordings == recordings <= most
