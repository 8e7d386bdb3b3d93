"""Checks programs at many points: one recording, and the value and gradient of each point."""

from __future__ import annotations

import numpy as np

import tapediff as td
from tapediff.flow import flowed

POINTS = [p * 1.3 for p in np.random.default_rng(0).normal(size=(24, 6))]


def gradient_at(f, p):
    """The gradient of a tape of this point alone; by differences where f cannot be recorded without flow."""
    try:
        return td.gradient(td.record(f, p), p)
    except td.TapediffError:
        return np.array([(f(p + e) - f(p - e)) / 2e-6 for e in np.eye(len(p)) * 1e-6])


def recordings(f, points=POINTS):
    """How many tapes a program needs for all points; its values and gradients are compared at each."""
    g = td.GuardedTape(flowed(f), merge=False, on_new_tape="interpret", compile_after=1000, max_tapes=1000)
    for p in points:
        # Sums of few numbers: only the order of additions differs.
        np.testing.assert_allclose(g(p), f(p.copy()), rtol=1e-10, atol=1e-12)
        # Differences of 1e-6 are good for six digits.
        np.testing.assert_allclose(td.gradient(g, p), gradient_at(f, p), rtol=1e-4, atol=1e-5)
    return g.stats.recordings


def translated_result(f):
    """What a program without data gives when it is run in translated form, and what Python gives."""
    found = []

    def program(x):
        found.append(f())
        return x[0]

    td.record(flowed(program), np.ones(1))
    return found[0], f()
