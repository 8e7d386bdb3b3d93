"""Rolled loops whose iterations use their number: branches, windows, conditional appends."""

# ruff: noqa: F821, F841 -- variables that one iteration binds are read in the next one

from __future__ import annotations

import numpy as np

from . import TWO

POINTS = TWO
rng = np.random.default_rng(20261124)
STEPS = 400
TIMES = rng.normal(size=STEPS)
N = 230
T = np.sin(np.arange(N) * 0.3)
Y = rng.normal(size=STEPS)


# Branches on the iteration's number


def nbody_step(p):
    n = 4
    q = np.zeros(n)
    v = np.zeros(n)
    for i in range(n):
        q[i] = p[0] * np.sin(i * 1.0)
    for _ in range(N):
        f = np.zeros(n)
        for i in range(n):
            for j in range(n):
                if i != j:
                    d = q[i] - q[j]
                    f[i] += -p[1] * d / (0.1 + d * d)
        for i in range(n):
            v[i] += 0.01 * f[i]
            q[i] += 0.01 * v[i]
    return np.sum(q**2)


def asserts(p):
    x = p[0]
    for t in range(N):
        assert t < 1000
        x = 0.9 * x + p[1] * T[t]
    return x


# Slices that move with the iteration


def windows_backwards(p):
    total = p[0]
    for t in range(STEPS - 3, -1, -1):
        total = 0.9 * total + np.prod(TIMES[t : t + 2]) * p[1]
    return total


def of_a_list(p):
    values, total = TIMES.tolist(), 0.0
    for t in range(2, STEPS):
        total += sum(values[t - 2 : t]) * p[0] ** 2 * p[1]
    return total


# Conditional appends


def binds_array_mod(p):
    tot = 0.0
    for t in range(N):
        if t % 20 == 0:
            s = p[0] * np.ones(3)
        s = 0.9 * s + T[t] * p[1]
        tot += np.sum(s**2)
    return tot


# First iterations that differ: variables they bind, None, flags, empty lists


def filter_that_starts_itself(p):
    m, total = None, 0.0
    for v in Y:
        if m is None:
            m, var = v * p[0], 1.0
        else:
            mean, s = 0.9 * m, 0.81 * var + p[1] ** 2 + 0.5
            e = v - mean
            gain = (s - 0.5) / s
            m, var = mean + gain * (e if abs(e) < 2 else 0.5 * e), (1 - gain) * (s - 0.5)
            total += -0.5 * np.log(s) - 0.5 * e * e / s
    return total


def longer_in_some_iterations(p):
    seen, total = [], 0.0
    for v in Y:
        if v * p[0] > 0.5:
            seen.append(v * p[0])
        total += p[1] * len(seen) if len(seen) > 1 else v * p[0]
        if not seen:
            total += 0.1 * p[0]
    return total


def _changes_of(values, p):
    total = 0.0
    for t in range(len(values)):
        y = values[t] * p[0]
        if t > 0:
            total += abs(y - p[1] * before)
        before = y
    return total


def loops_without_iterations(p):
    return sum(_changes_of(Y[:n], p) for n in (STEPS, 0, 1, 2, STEPS, 3))


PROGRAMS = [
    nbody_step, asserts, windows_backwards, of_a_list, binds_array_mod, filter_that_starts_itself, longer_in_some_iterations,
    loops_without_iterations,
]  # fmt: skip
