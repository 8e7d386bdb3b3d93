"""Arrays, dicts, lists and objects that rolled loops carry: written to, swapped, handed to functions and aliased."""

from __future__ import annotations

import numpy as np

from . import TWO

POINTS = TWO
STEPS = 230
TIMES = np.sin(np.arange(STEPS) * 0.3)


def oscillator(p):
    x, total = np.array([1.0, 0.0]), 0.0
    for t in range(STEPS):
        force = -p[0] * x[0] - p[1] * x[1]
        x[0] = x[0] + 0.01 * x[1]
        x[1] = x[1] + 0.01 * force
        total += (TIMES[t] - x[0]) ** 2
    return total


def changes_places_where_data_says(p):
    u, v = np.zeros(3), np.ones(3)
    for t in range(STEPS):
        v[0] = 0.9 * u[1] + p[0] * TIMES[t]
        if v[0] > 0.1:
            u, v = v, u
    return np.sum(u * np.arange(3)) * p[1] + v[0]


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


def with_an_inner_loop(p):
    u, v = np.zeros(12), np.zeros(12)
    for i in range(12):
        u[i] = p[1] * np.sin(i)
    for _ in range(STEPS):
        for i in range(1, 11):
            v[i] = u[i] + 0.2 * p[0] * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        tmp = u
        u = v
        v = tmp
    return np.sum(u**2) + v[4]


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


# Arrays bound anew


def the_one_before(p):
    now, total = np.zeros(3), 0.0
    before = now
    for t in TIMES:
        before = now
        now = now * 0.5
        now[0] += p[0] * t
        now[1:] += before[:-1] * p[1]
        total += before[2] * now[1]
    return total + before[0] + now[1]


def leaves(p):
    now, total = np.ones(3), 0.0
    for t in TIMES:
        before = now
        now = now * 0.9
        now[0] += p[0] * t * t * 0.1
        if now[0] > 3.0:
            break
        total += before[0] * p[1]
    return total + now[0]


# Arrays handed to functions


def _same(u):
    return u


def roll(p):
    u = p[1] * np.arange(12) * 0.1
    for t in range(STEPS):
        u[:] = u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        u[0] = p[0] * TIMES[t]
    return np.sum(u**2)


def branch_alias_choice(p):
    u = np.zeros(3)
    v = np.ones(3)
    u[:] = p[1]
    tot = 0.0
    for t in range(STEPS):
        u[0] = 0.9 * u[0] + p[0] * TIMES[t]
        v[1] = 0.9 * v[1] + p[1] * TIMES[t]
        w = _same(u) if u[0] > 0.1 else _same(v)
        u[1] += 0.1 * p[0]
        tot += w[1] * w[0]
    return tot


# Dicts, lists and objects


def dict_call(p):
    s = dict(x=p[0], v=0.0)  # noqa: C408 -- the call is what is tested
    for _ in range(STEPS):
        s["v"] += -0.1 * p[1] * s["x"]
        s["x"] += 0.1 * s["v"]
    return s["x"] ** 2


def two_level_loops(p):
    s = {"e": 0.0, "x": p[0]}
    for _ in range(STEPS):
        for j in range(5):
            s["e"] += np.sin(s["x"] * j) * p[1]
        s["x"] *= 0.99
    return s["e"]


# Looks by another name, where p[0] > 0.6 only


def _part(u):
    return u[1:4]


def shows_list(p):
    out = [p[0]]
    d = {"x": 0.0, "o": out}
    for t in range(1, STEPS):
        out.append(0.9 * out[-1] + TIMES[t] * p[1])
        if p[0] > 0.6:
            d["x"] = 0.5 * d["x"] + d["o"][-1]
    return np.sum(np.array(out)) + d["x"]


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
    oscillator, changes_places_where_data_says, twice_in_an_iteration, with_an_inner_loop, where_data_says, the_one_before, leaves, roll,
    branch_alias_choice, dict_call, two_level_loops, shows_list, carried,
]  # fmt: skip
