"""Arrays, dicts, lists and objects that rolled loops carry: written to, swapped, handed to functions and aliased."""

from __future__ import annotations

import numpy as np

from . import TWO

POINTS = TWO
STEPS = 230
TIMES = np.sin(np.arange(STEPS) * 0.3)


# Swaps


def twice_in_an_iteration(p):
    u, v = p[1] * np.arange(12) * 0.1, np.zeros(12)
    first = u
    for _ in range(STEPS):
        v[1:-1] = u[1:-1] + 0.2 * p[0] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u, v = v, u
        v[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u, v = v, u
    return np.sum(u**2) + v[3] + first[4]


def where_data_says(p):
    u, v = p[1] * np.arange(12) * 0.1, np.zeros(12)
    for t in range(STEPS):
        v[1:-1] = u[1:-1] + 0.2 * p[0] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        v[0] = p[0] * TIMES[t]
        if v[0] > 0.1:
            tmp = u
            u = v
            v = tmp
    return np.sum(u * np.arange(12)) + v[0]


# Arrays handed to functions


def roll(p):
    u = p[1] * np.arange(12) * 0.1
    for t in range(STEPS):
        u[:] = u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        u[0] = p[0] * TIMES[t]
    return np.sum(u**2)


# Dicts, lists and objects


def dict_call(p):
    s = dict(x=p[0], v=0.0)  # noqa: C408 -- the call is what is tested
    for _ in range(STEPS):
        s["v"] += -0.1 * p[1] * s["x"]
        s["x"] += 0.1 * s["v"]
    return s["x"] ** 2


# Looks by another name, where p[0] > 0.6 only


def _part(u):
    return u[1:4]


def carried(p):
    u = np.zeros(5)
    u[:] = p[1]
    tot = 0.0
    w = np.ones(3)
    for t in range(STEPS):
        tot += w[0]
        u[1] = 0.9 * u[1] + p[0] * TIMES[t]
        if p[0] > 0.6:
            w = _part(u)
    return tot + np.sum(u)


PROGRAMS = [
    twice_in_an_iteration, where_data_says, roll, dict_call, carried,
]  # fmt: skip
