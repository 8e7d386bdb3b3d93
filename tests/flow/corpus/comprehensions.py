"""Comprehensions, generators, builtins, `:=` and nonlocal with conditions on data."""

from __future__ import annotations

import itertools

import numpy as np

WEIGHTS = [0.5, -1.0, 2.0, 0.25, 1.5, -0.75]
SEEN = []
rng = np.random.default_rng(20261126)
STEPS = 60
TIMES = rng.normal(size=STEPS)
CODES = rng.integers(0, 4, size=STEPS)


def extremes_with_conditions(x):
    most = max((v * w for v, w in zip(x, WEIGHTS) if v > 0.2), default=-1.0)
    return most * x[0] + min([v for v in x if v != 0.5 or v > -5.0]) + max(abs(v) for v in x if v > -3.0 or v < 3.0)


def any_and_all(x):
    s = 0.0
    if any(v > 1.0 for v in x):
        s = s + x[0]
    few = all(v < 1.5 for v in x if v > 0)
    for i, v in enumerate(x):
        if all(v >= w for w in x[i:]) or not few:
            s = s + v * i
    return s + (x[1] if any(v < -1.0 for v in x) else 2.0)


def consumes_an_iterator(x):
    items = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    found = any(v * w > 0.5 for v, w in zip(x, items))
    return (x[0] if found else x[1]) * sum(items)


def noted(v):
    SEEN.append(1)
    return v * len(SEEN)


def looks_beyond_the_end(x):
    return sum(x[i] * x[i + 1] for i in range(6) if i < 5 and x[i] > 0) + x[0]


def conditional_ints(x):
    k = 2 if x[0] > 0 else 3
    n = max(1, 2 if x[1] > 0 else 3)
    flag = True if x[2] > 0 else False
    s = x[k] * [1.0, 2.0, 3.0, 5.0][k] + x[3] * (flag + flag)
    for i in range(n):
        s = s + x[i] ** n
    return s


def maps_a_star(p):
    return sum(itertools.starmap(lambda t, k: t * p[0] if t * k > p[1] else k * p[1], zip(TIMES, CODES)))  # noqa: RUF058


def breaks_off_a_generator(p):
    def terms():
        for t in TIMES[:8]:
            v = t * p[0]
            if v > 3 * abs(p[1]):
                break
            yield v

    found = list(terms())
    return sum(found) * p[1] + len(found)


def names_in_a_while(p):
    x, n = 3.0 + p[0] ** 2, 0
    while (e := x * x - 2 - p[1] ** 2) > 1e-6:
        x = x - e / (2 * x)
        n += 1
    return x * p[0] + n + e


def names_in_a_comprehension(p):
    return sum(d * d for t in TIMES if (d := p[0] * t - p[1]) > 0)


def raises_under_an_error_state(p):
    total = 0.0
    with np.errstate(divide="raise"):
        for t in TIMES[:20]:
            if t > p[1]:
                total += np.divide(1.0, t * p[0])
    return total


class Filter:
    def __init__(self, a, q):
        self.a, self.q, self.mean, self.variance, self.total = a, q, 0.0, 1.0, 0.0

    def predict(self):
        self.mean = self.a * self.mean
        self.variance = self.a**2 * self.variance + self.q

    def update(self, y):
        e = y - self.mean
        if abs(e) > 1.5:
            return
        s = self.variance + 1.0
        k = self.variance / s
        self.mean += k * e
        self.variance *= 1 - k
        if s < 1.2:
            self.total -= 0.1
            return
        self.total -= 0.5 * (np.log(s) + e * e / s)


def leaves_a_method(p):
    f = Filter(p[0], p[1] ** 2 + 0.1)
    for t in TIMES:
        f.predict()
        f.update(t)
    return f.total


def bisects(p):
    def root(f, low, high):
        for _ in range(30):
            middle = 0.5 * (low + high)
            if f(middle) > 0:
                high = middle
            else:
                low = middle
        return 0.5 * (low + high)

    total = 0.0
    for t in TIMES[:4]:
        x = root(lambda x: x**3 + (1 + p[0] ** 2) * x - p[1] - t, -5.0, 5.0)
        # One step of Newton's method gives the derivative.
        total += x - (x**3 + (1 + p[0] ** 2) * x - p[1] - t) / (3 * x * x + 1 + p[0] ** 2)
    return total


def goes_down(f, slope, x):
    for _ in range(25):
        step = f(x) / slope(x)
        x = x - step
        if abs(step) < 1e-10:
            break
    return x


def goes_down_by_newton(p):
    return sum(
        goes_down(lambda x: x**3 + p[0] ** 2 * x + x - p[1] - t, lambda x: 3 * x * x + p[0] ** 2 + 1, 0.5)
        for t in TIMES[:4]
    )


PROGRAMS = [
    extremes_with_conditions, any_and_all, maps_a_star, breaks_off_a_generator, names_in_a_while, names_in_a_comprehension,
    raises_under_an_error_state, leaves_a_method, bisects, goes_down_by_newton,
]  # fmt: skip
# What a careless join of both sides gets wrong.
TRAPS = [
    consumes_an_iterator, looks_beyond_the_end, conditional_ints,
]  # fmt: skip
