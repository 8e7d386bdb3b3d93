"""Turns that end early, with loops in what is left of them: no sub-tapes, and the same values and gradients as plain Python everywhere."""

import numpy as np

from . import SIX


def searches(x):
    s, size = x[0], 0.0
    for _ in range(6):
        slope = np.sin(s) + 0.3 * x[1]
        if abs(slope) < 0.2:
            break
        size = 1.0
        while np.cos(s - size * slope) > np.cos(s) + 0.1 * size:
            size = 0.5 * size
        s = s - size * slope
    return s * x[2] + size


def skips(x):
    s = x[0]
    for k in range(4):
        s = s + 0.3 * x[k % 3]
        if s > 0.5:
            s = s - 0.7
            continue
        t = s
        for _ in range(9):
            t = 0.5 * t + 0.1 * s * s
            if t < 0.1:
                break
        s = s + t
    return s


def stays_on_the_first_side(x):
    s, k, t = x[0] * x[0], 0.0, x[1]
    while k < 5:
        k += 1
        if s > 0.1:
            t = x[1] * s
            while t * t > 0.2:
                t = 0.6 * t
            s = 0.7 * s + t * t
            while s > 3.0:
                s = s - 1.0 + 0.0 * t
        else:
            break
        s = s - 0.05
    return s + t


def reads_the_turn_before(x):
    s, t = x[0], 1.0
    for _ in range(5):
        s = s - 0.4 * t
        if s < -0.5:
            break
        u = s
        while u > 0.3:
            u = 0.5 * u + 0.02 * t
        t = u * x[1] + 0.1
    return s + t


def leaves_twice(x):
    s = x[0]
    for _ in range(5):
        s = s + 0.2 * x[1]
        if s > 1.5:
            break
        u = s + 1.0
        while u > 0.4:
            u = 0.5 * u
        if u < 0.25:
            s = s - u
            break
        v = u
        while v < x[2]:
            v = v + 0.4
        s = 0.5 * s + v * u
    return s


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


def independent(x):
    total = 0.0
    for k in range(3):
        price = x[k]
        for _ in range(5):
            price = price * 1.1 + 0.05
            if price > 0.8:
                price = 0.3 * price
                break
        total += price
    return total


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


POINTS = [0.7 * x[:3] for x in SIX] + [np.array(v) for v in ([0.0, 0.0, 0.0], [2.0, -1.0, 0.5], [-1.0, 0.4, 3.0], [0.2, 0.1, -0.3])]


PROGRAMS = [
    searches,
    skips,
    stays_on_the_first_side,
    reads_the_turn_before,
    leaves_twice,
    keeps_the_last,
    may_not_be_bound,
    independent,
    sometimes_bound,
    seen_later,
]
