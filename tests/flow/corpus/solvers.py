"""Equations and right-hand sides with branches that solvers call."""

from __future__ import annotations

import numpy as np

import tapediff as td

POINTS = np.array([[1.0, 0.5, 0.3], [0.6, 1.7, 0.9]])
implicit = td.implicit


def bent(x, k):
    """Increasing in x, with a kink at each of its branches."""
    y = k[0] * x**3 - k[1]
    if x > 0.9:
        y = y + 2.0 * (x - 0.9)
    if x < k[2]:
        y = y - 0.2 * (k[2] - x)
    if k[1] > 1.5:
        y = y + 0.3 * x * k[1]
    return y


def valley(x, k):
    y = (x - k[0]) ** 2
    for v in k:
        if x > v:
            y = y + (x - v) ** 2
        if x < 0.5 * v:
            y = y + 0.5 * (x - 0.5 * v) ** 2
    return y


def swing(t, y, k):
    a = -k[0] * y[0]
    if y[0] > 0.5:
        a = a - k[1] * y[0] ** 2
    if y[1] < 0:
        a = a + 0.1 * k[2]
    if t > 1.0:
        a = a + 0.3 * k[0]
    return np.array([y[1], a])


def integrated(method):
    times, start = np.array([0.0, 1.2]), np.array([1.0, 0.0])
    return lambda k: np.sum(td.ode.solve(swing, start, times, (k,), method=method, rtol=1e-2)[:, 0])


def divides(x, k):
    n = 0
    if k[0] > 0.9:
        n = n + 1
    return x - 1 / n


CASES = {
    "minimum by SciPy": lambda k: np.sum(implicit.minimize(valley, 0.3, (k,), method="BFGS", tol=1e-10)) * k[2],
    "a scan that stores few carries": lambda k: td.scan(lambda c, v: (0.5 * c + bent(v, k), None), k[0], np.linspace(0, 1, 5), checkpoint="sqrt")[0],
    "quotients": lambda k: implicit.root(divides, 0.5, (k,)) * k[2],
    "rodas4": integrated("rodas4"),
}  # fmt: skip
