"""Rolled `while` loops and loops that data ends."""

from __future__ import annotations

import numpy as np

from . import TWO

POINTS = TWO
rng = np.random.default_rng(20261124)
STEPS = 400
TIMES, HEIGHTS = rng.normal(size=(2, STEPS))
TURN = np.array([[0.9, 0.2], [-0.2, 0.9]])


def counts_by_a_variable(p):
    by, k, total = 2, 1, 0.0
    while k <= 2 * STEPS - 2:
        total += np.sin(TIMES[k // 2] * p[0]) * p[1]
        k += by
    return total * k


def leaves_after_writing_rows(p):
    state = np.ones((STEPS, 2)) * p[0]
    state[0] = p
    for t in range(1, STEPS):
        state[t] = TURN @ state[t - 1] + 0.1 * TIMES[t] * p
        if np.sum(state[t]) > 1.0 + p[1] ** 2:
            break
        state[t] *= 1.0 + 0.01 * np.sum(state[t] ** 2) * p[1] ** 2
        if np.sum(state[t] ** 2) > 50.0:
            break
    return np.sum(state**2) + 0.1 * p[1] * t


def ends_early_among_very_many(p):
    state = 1.0 + p[0] ** 2
    for _ in range(10**12):
        state = state * (1.0 - 0.01 * np.exp(-0.1 * p[1]))
        if state < 0.05:
            break
    return state


def counts_in_a_try(p):
    total, t = 0.0, 0
    try:
        while t < STEPS:
            total += p[0] * TIMES[t] + p[1] ** 2
            if total > 1e6:
                break
            t += 1
        else:
            total = total * p[0]
    except ZeroDivisionError:
        total = p[0]
    return total + t


PROGRAMS = [
    counts_by_a_variable, leaves_after_writing_rows, ends_early_among_very_many, counts_in_a_try,
]  # fmt: skip
