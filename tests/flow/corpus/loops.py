"""Loops that data ends, with writes, flags and exceptions."""

from __future__ import annotations

import numpy as np


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


def counting():
    k = 0.0
    while True:
        k += 1.0
        yield k


def looks_ahead(x):
    s = 0.0
    for i in range(7):
        if i == 5 or x[i] > x[i + 1]:
            break
        s = s + x[i + 1]
    return s


def changes_its_list(x):
    items, s = [x[0], x[1]], 0.0
    for v in items:
        s = s + v
        if s > 1.0:
            break
        if len(items) < 6:
            items.append(x[len(items)])
    return s * len(items)


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
    a_gain_that_settles, value_before_the_first_iteration, keeps_the_last, may_not_be_bound, seen_later,
]  # fmt: skip
# What a careless join of both sides gets wrong.
TRAPS = [
    looks_ahead, changes_its_list, swallows_a_break, ends_in_an_else,
]  # fmt: skip
