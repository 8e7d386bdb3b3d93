"""Bodies of sub-tapes and loops with branches: those that are merged, and those that stay paths."""

import math
from typing import NamedTuple

import numpy as np

import tapediff as td


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


# Of one number; these give an int or a bool as well.


def level(v):
    n = 0
    if v > 0.2:
        n = 1
    if v > 0.7:
        n = n + 2
    if v < -0.5:
        n = -1
    return n


def outside(v):
    if v > 0.8:
        return True
    if v < -0.8:
        return True
    return abs(v) < 0.1


def count_and_flag(v):
    n, hit = 0, False
    if v > 0:
        n += 1
    if v > 0.5:
        n, hit = n + 1, True
    return v * n, n, hit


def weighed_level(v):
    return v * level(v)


def weighed_flag(v):
    return v * v if outside(v) else v


def of_all_three(piece):
    def f(v):
        w, n, hit = piece(v)
        return w + 0.5 * n * v + np.where(hit, v, 0.25)

    return f


def divides_by_a_count(v):
    """Python's own error where the count is 0, whatever the count is otherwise."""
    n = level(v)
    return 1 / n


WITH_RESULTS = {
    "int": (level, lambda piece: lambda v: v * piece(v)),
    "bool": (outside, lambda piece: lambda v: np.where(piece(v), v * v, v)),
    "tuple": (count_and_flag, of_all_three),
}  # fmt: skip


def counted_scan(x):
    """An int and a bool are carried, reset and stacked."""

    def step(carry, v):
        s, n, hit = carry
        if v > 0:
            n = n + 1
        if s > 1.0:
            n = 0
        if v > 0.5:
            s, hit = s + v * n, True
        if hit:
            s = 0.9 * s
        if v < -0.5:
            hit = False
        return (s, n, hit), (n, hit)

    (s, n, hit), (counts, hits) = td.scan(step, (x[0], 0, False), x)
    return s + n * x[1] + np.where(hit, x[2], 0.5) + np.sum(counts * x) + np.sum(hits * x**2)


def quotient_of_a_carried_count(x):
    """Where the count was set to 0, plain numbers are divided by a plain 0; else by an entry of an array."""

    def step(carry, v):
        s, n = carry
        if v > 0.5:
            n = 0
        return (s + v, n + 1), 2.0 / (n - 3.0)

    (s, n), parts = td.scan(step, (x[0], 1), x)
    return s * n + np.sum(parts)


def asks_what_it_carries(x):
    """Whole numbers that become data are no floats to anyone who asks."""

    def step(carry, v):
        s, n = carry
        if v > 0.2:
            n = 0
        return (s + v * n, n + (1 if isinstance(n, int) else 2)), n

    (s, n), counts = td.scan(step, (x[0], 1), x)
    return s * n + np.sum(counts * x)


CARRIED = [counted_scan, quotient_of_a_carried_count, asks_what_it_carries]


def of_an_array(piece):
    """A function of an array, by one of a number."""
    return lambda x: sum(piece(v) * (k + 1) for k, v in enumerate(x))


def of_a_scan(piece):
    """The same within a scan."""
    return lambda x: td.scan(lambda c, v: (c + piece(v), None), x[0] * 0.0, x)[0]


POINTS = [np.random.default_rng(0).normal(size=4) * (1 + k % 3) for k in range(4)]
ARRAYS = {f"{form.__name__}.{f.__name__}": form(f) for form in (of_an_array, of_a_scan) for f in [*MERGED, *OTHERS]}
