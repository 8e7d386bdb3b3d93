"""Bodies of sub-tapes and loops with branches: those that are merged, and those that stay paths."""

import math
from typing import NamedTuple

import numpy as np


def four_ifs(v):
    y = 2.0 * v
    if v > 0:
        y = y + v**2
    else:
        y = y - 1.0
    if v > 0.5:
        y = y * 1.1
    if v < -0.5:
        y = np.sin(y)
    if v * v > 0.3:
        y = y + 0.3 * v
    return y


def returns_early(v):
    if v > 1.0:
        return 2.0 * v
    if v > 0.0:
        return v * v
    return -v


def breaks(v):
    s = 0.0
    for k in range(6):
        s = s + 0.3 * v
        if s > 1.0:
            break
        s = s + 0.01 * k
    return s


def repeats(v):
    n = 0
    w = abs(v) + 0.1
    while w < 2.0:
        w = w * 1.5
        n += 1
    return w + n * v


def newton(v):
    root = abs(v) + 1.0
    while abs(root * root - abs(v) - 0.5) > 1e-9:
        root = 0.5 * (root + (abs(v) + 0.5) / root)
    return root


def counts(v):
    n, seen = 0, False
    for t in (0.2, 0.5, 0.9):
        if v > t:
            n += 1
            seen = True
    return v * n + (1.0 if seen else 0.5)


def of_other_types(v):
    y = 1
    if v > 0:
        y = 0.5
    if v > 0.7:
        y = v
    return y * v


def largest(v):
    return max(v, 0.3, v * v) - min(v, 0.1) + (v if v > 0.5 else -v)


def in_a_helper(v):
    return returns_early(v) + returns_early(1.5 * v - 0.2)


def nested(v):
    def bent(w):
        return w * w if w > v else w + 1.0

    return bent(0.4) + bent(-v) * 0.5 + bent(2.0 * v)


class Spring:
    stiff = 2.0

    def __init__(self, gap):
        self.gap = gap

    def force(self, v):
        if v > self.gap:
            return self.stiff * (v - self.gap)
        if v < -self.gap:
            return 0.5 * (v + self.gap)
        return 0.1 * v


SPRING = Spring(0.4)


def calls_a_method(v):
    return SPRING.force(v) + v * SPRING.force(v - 0.3)


class Pair(NamedTuple):
    first: float
    second: float


def of_a_tuple(v):
    pair = Pair(v, 2.0 * v)
    if v > 0.2:
        pair = Pair(pair.second, pair.first)
    a, b = pair
    if b > 0.9:
        a = a * b
    if a < -0.5:
        b = b - a
    return a + 0.5 * b


def tree(v, depth=3):
    if depth == 0:
        return v
    if v > 0.1 * depth:
        return tree(0.5 * v, depth - 1) + 1.0
    return tree(v + 0.3, depth - 1)


# Of one number; these take one variant.
MERGED = [four_ifs, returns_early, breaks, newton, of_other_types, largest, in_a_helper, nested, calls_a_method]


TABLE = np.array([0.5, -1.0, 2.0, 0.3])


def looks_up(v):
    k = 0
    if v > 0.2:
        k = 1
    if v > 0.6:
        k = k + 2
    return TABLE[k] * v


def uses_the_bool(v):
    return ((v > 0) + (v > 0.5)) * v


def stops_early_or_not(v):
    best = None
    for t in (0.2, 0.6, -0.3):
        if v > t and best is None:
            best = v * t
    return v if best is None else best


def ends_with_math(v):
    if v > 0:
        return v * math.floor(2.0 * int(v > 0.5))
    return v


def divides(v):
    n = 0
    if v > 0:
        n += 1
    if v > 0.5:
        n += 1
    return v / n if n else v


def writes_an_array(v):
    y = np.ones(3) * v
    if v > 0:
        y[1] = v * v
    if v > 0.5:
        y[2] += 1.0
    return y[0] * y[1] + y[2]


OTHERS = [repeats, counts, of_a_tuple, tree, looks_up, uses_the_bool, stops_early_or_not, ends_with_math, divides, writes_an_array]
