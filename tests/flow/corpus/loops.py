"""Loops that data ends, with writes, flags and exceptions."""

from __future__ import annotations

import numpy as np

NOISE = np.random.default_rng(1).normal(size=(8, 6))


def a_gain_that_settles(x):
    move, see = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    covariance, old = np.eye(2), np.zeros((2, 1))
    for _ in range(300):
        ahead = move @ covariance @ move.T + np.diag(x[:2] ** 2 + 0.1)
        gain = ahead @ see.T / (see @ ahead @ see.T + x[2] ** 2 + 0.3)
        covariance = ahead - gain @ see @ ahead
        if np.max(np.abs(gain - old)) < 1e-9:
            break
        old = gain
    return gain[0, 0] * x[3] + covariance[1, 1]


def returns_from_two_loops(x):
    s = 0.0
    for row in NOISE:
        for z, v in zip(row, x):
            s = s + z * v
            if s > 2.0:
                return s * x[0]
        if s < -2.0:
            return x[1] - s
    return s


def counting():
    k = 0.0
    while True:
        k += 1.0
        yield k


def loops_over_a_generator(x):
    items, s = counting(), 0.0
    for v in items:
        s = s + v * x[0] ** 2 + 0.1
        if s > 4.0:
            break
    return s * next(items)


def takes_the_rest_of_an_iterator(x):
    items, s = iter(range(6)), 0.0
    for k in items:
        if x[k] > 0.5:
            break
        s = s + x[k]
    return s + sum(items)


def looks_ahead(x):
    s = 0.0
    for i in range(7):
        if i == 5 or x[i] > x[i + 1]:
            break
        s = s + x[i + 1]
    return s


def loop_without_iterations(x):
    v = 2.0
    for k in range(int(x[0] > 0) * 3):
        v = x[k]
        w = v
        if v > 0.5:
            break
    return w * v


def changes_its_list(x):
    items, s = [x[0], x[1]], 0.0
    for v in items:
        s = s + v
        if s > 1.0:
            break
        if len(items) < 6:
            items.append(x[len(items)])
    return s * len(items)


def returns_other_types(x):
    for k in range(6):
        if x[k] > 1.0:
            return x[k] * k
    return 0


def returns_an_index(x):
    k = 0
    for k in range(6):
        if x[k] > 0.5:
            break
    return x[k] * [1.0, 2.0, 3.0, 4.0, 5.0, 6.0][k]


def swallows_a_break(x):
    s = 0.0
    for v in x:
        try:
            if v > 1.0:
                break
        finally:
            s = s + 1.0
        s = s + v
    return s * x[0]


def writes_after_the_break(x):
    y = x * 1.0
    for i in range(6):
        if y[i] > 1.0:
            break
        y[i] = 0.0
    return np.sum(y**2)


def appends_until_the_break(x):
    kept = []
    for v in x:
        if v > 1.0:
            break
        kept.append(v * v)
    return sum(kept) + x[0]


def returns_a_list(x):
    out = []
    for v in x:
        out.append(v)
        if v > 1.0:
            return sum(out)
    return x[0]


def ends_in_an_else(x):
    s = 0.0
    for i in range(3):
        for v in x[2 * i : 2 * i + 2]:
            if v > 0.8:
                break
            s = s + v
        else:
            if s < -1.0:
                break
            continue
        s = s * 2.0
    return s + x[0]


def value_before_the_first_iteration(x):
    for v in x:
        if v > 0.2:
            old = new * 2.0 if v < 0.45 else v  # noqa: F821 -- that is the trap
            break
        new = v  # noqa: F841
    else:
        old = x[0]
    return old * x[1]


def generators_that_wait(x):
    weight, waiting = 1.0, []
    for v in x:
        waiting.append(weight * w for w in x)
        if v > 0.5:
            weight = weight * 0.9
    return sum(sum(one) for one in waiting)


# Iterations that end early, with loops in what is left


def keeps_the_last(x):
    for k in range(5):
        if k * x[0] > 1.0:
            break
        while True:
            u = x[1] * k + x[2]
            if u * u < 4.0:
                break
            x = 0.5 * x
    return u


def may_not_be_bound(x):
    for _ in range(3):
        if x[0] > 0.5:
            break
        u = x[0]
        while u < 0.4:
            u = u + 0.3
    return u


def sometimes_bound(x):
    for _ in range(2):
        if x[0] > 0.5:
            break
        if x[0] > 0.0:
            u = x[0]
        while u < 0.4:
            u = u + 0.3
    return x[0]


def seen_later(x):
    s, total, later = x[0], 0.0, []
    for k in range(3):
        if k:
            total = total + later[-1]()
        if s > 1.5:
            break
        u = s + 0.5
        later.append(lambda: u)
        while u > 0.3:
            u = 0.5 * u
        s = s + 0.2 + u
    return total + s


PROGRAMS = [
    a_gain_that_settles, loop_without_iterations, value_before_the_first_iteration, keeps_the_last, may_not_be_bound, sometimes_bound, seen_later,
]  # fmt: skip
# What a careless join of both sides gets wrong.
TRAPS = [
    returns_from_two_loops, loops_over_a_generator, takes_the_rest_of_an_iterator, looks_ahead, changes_its_list, returns_other_types,
    returns_an_index, swallows_a_break, writes_after_the_break, appends_until_the_break, returns_a_list, ends_in_an_else,
    generators_that_wait,
]  # fmt: skip
