"""Masks, and writes joined after a branch."""

from __future__ import annotations

import numpy as np

POINTS = np.array([0.43, 0.27, -0.16]) + np.linspace(0.02, 0.5, 10)[:, None] * np.random.default_rng(20261128).normal(
    size=(10, 3)
)
rng = np.random.default_rng(20261128)
COUNT = 40
E, Y, T = rng.normal(size=COUNT), rng.normal(size=COUNT), np.linspace(0, 1, COUNT)
ROWS, TABLE, KINDS = rng.normal(size=(COUNT, 3)), rng.normal(size=(8, 5)), np.arange(COUNT) % 3


def huber(p):
    apart = np.abs(Y - ROWS @ p)
    near = apart <= 0.7
    return np.sum(0.5 * apart[near] ** 2) + 0.7 * np.sum(apart[~near] - 0.35)


def expected_shortfall(p):
    losses = ROWS @ p
    return losses[losses >= np.quantile(losses, 0.9)].mean()


def clipped_deviations(p):
    values = p[0] * E + p[2] * Y
    for _ in range(3):
        values = values[np.abs(values - values.mean()) < 2 * values.std()]
    return values.std(ddof=1) + values.var()


def lengths_and_branches(p):
    z = p[0] * E + p[1]
    large = z[z > 1.2]
    if len(large) > 2:
        return large.max() - large.min() + large.size * p[2]
    return p[2] * 2.0 + np.sum(large)


def changed_in_place(p):
    r = Y - ROWS @ p
    r[r < 0] *= p[1]
    far = np.abs(r) > 1
    r[far] -= np.sign(r[far]) * 0.5
    return np.sum(r**2 * T)


def places(p):
    z = p[0] * E + p[1]
    at = np.flatnonzero(z > 0.1)
    others = np.where(z < -0.2)[0]
    return (
        np.sum(Y[at] * p[2] + z[at]) / (1 + len(at))
        + np.sum(z[others] ** 2 * T[others])
        + np.sum(z[np.nonzero(z > 1)[0]])
    )


def neighbours(p):
    z = p[0] * np.sin(7 * T) + p[1] * E * 0.3
    tops = np.flatnonzero((z[1:-1] > z[:-2]) & (z[1:-1] > z[2:])) + 1
    return np.sum(z[tops] * T[tops]) + np.sum(z[tops + 1] * z[tops - 1])


def first_crossing(p):
    z = np.cumsum(p[0] * E + 0.3)
    above = np.flatnonzero(z > 3)
    if len(above) == 0:
        return p[2] * 1.0
    return z[above[0]] * p[1] + T[above[0]] + z[np.where(z > 3)[0][-1]]


def in_order(p):
    z = p[0] * E + p[1]
    values = z[z > 0]
    lowest = np.sort(values)[:3]
    return (
        np.median(values)
        + np.quantile(values, 0.3)
        + np.percentile(values, 80) * p[2]
        + np.sum(lowest**2)
        + np.sum(values[-2:])
        + values[1]
    )


def of_a_table(p):
    z = TABLE * p[0] + p[1]
    return np.sum(z[z > 0] ** 2) + np.mean(z[z <= 0.1]) + np.max(np.cumsum(p[2] * E[KINDS > 0]))


def selected_twice(p):
    z = p[0] * E + p[1]
    some = z[z > -0.5]
    fewer = some[some < 0.7]
    return (
        np.sum(fewer**3) + np.mean(some) + np.sum(np.where(some > 0.2, some**2, p[2])) + np.sum(np.clip(some, 0.1, 0.6))
    )


def loops(p):
    z, total = p[0] * E + p[1], 0.0
    for v in z[z > 0]:
        total += v**2 * p[2]
    for i in np.flatnonzero(z > 0.1):
        if T[i] > 0.3:
            total += z[i] * Y[i]
        else:
            total -= z[i]
    below = np.where(z < -0.2)[0]
    for i in below:
        total += z[i]
        if total < -0.5:
            break
    return total + sum(z[i] * T[i] for i in below) + sum([np.exp(v) for v in z[np.abs(z) < 0.3]]) + len(below) * p[2]


def returned(p):
    z = p[0] * E + p[1]
    return z[z > 0]


def total(p):
    z = p[0] * E + p[1]
    return np.sum(z[z > p[2]]) + len(z[z > p[2]])


def quantile(p):
    z = p[0] * E[:6] + p[1]
    return np.quantile(z[z > p[2]], 0.3)


def weighted(p):
    z = p[0] * E[:6] + p[1]
    return np.average(z[z > p[2]], weights=np.abs(Y[:6][z > p[2]]))


def bound_anew(p):
    y = p[0] * E
    z = y
    y[E > p[1] * 0.0] += (y := 3.0 * E * p[1])[0]
    y[y > 0] *= 2.0
    return np.sum(y) + 100 * np.sum(z)


def asks_what_it_is(p):
    values = (p[0] * E)[p[0] * E > 0]
    return np.sum(values * 2) if isinstance(values, np.ndarray) else np.sum(values * 3)


PROGRAMS = [
    huber, expected_shortfall, clipped_deviations, lengths_and_branches, changed_in_place, places, neighbours, first_crossing, in_order,
    of_a_table, selected_twice, loops, returned, quantile, weighted, bound_anew, asks_what_it_is,
]  # fmt: skip
