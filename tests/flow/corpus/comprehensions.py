"""Comprehensions, generators, builtins, `:=` and nonlocal with conditions on data."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np

WEIGHTS = [0.5, -1.0, 2.0, 0.25, 1.5, -0.75]
SEEN = []
rng = np.random.default_rng(20261126)
STEPS = 60
TIMES = rng.normal(size=STEPS)
CODES = rng.integers(0, 4, size=STEPS)


def gain(v):
    return 0.5 * v * v + v


def sums_with_conditions(x):
    s = sum(gain(v) * w for v, w in zip(x, WEIGHTS) if v > 0 and v < 1.5)
    return (
        s * x[0]
        + sum([v * w for v in x[:3] if v < 0.5 for w in WEIGHTS if w > v], x[1])
        + sum(v if v > 0 else -v for v in reversed(x))
    )


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


def a_count_as_an_index(x):
    n = sum(1 for v in x if v > 0)
    return x[n % 6] * [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0][n]


def consumes_an_iterator(x):
    items = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    found = any(v * w > 0.5 for v, w in zip(x, items))
    return (x[0] if found else x[1]) * sum(items)


def branching_gain(v):
    return v * v if v < 0.8 else 2.0 * v


def sums_of_a_branching_helper(x):
    return sum(branching_gain(v) for v in x if v > -0.5)


def noted(v):
    SEEN.append(1)
    return v * len(SEEN)


def sums_of_a_helper_with_state(x):
    SEEN.clear()
    return sum(noted(v) for v in x if v > 0) + x[0]


def looks_beyond_the_end(x):
    return sum(x[i] * x[i + 1] for i in range(6) if i < 5 and x[i] > 0) + x[0]


def adds_any(x):
    hits = any(v > 0.5 for v in x) + all(v > -1.0 for v in x) + 1
    return x[0] * hits


def a_sum_of_nothing(x):
    s = sum(v for v in x if v > 100.0)
    return x[0] * (2.0 if isinstance(s, int) else 3.0) + s


def another_sum(x):
    sum = lambda values: 2.0 * len(list(values))
    return sum(v for v in x if v > 0) * x[0]


def sums_of_short_circuits(x):
    return sum(1.0 / (v - 0.5) for v in x if v != 0.5) * x[0]


def sums_of_kept_elements(x):
    kept = [v for v in x if v > 0]
    return sum(kept) * len(kept) + x[0]


def appends_in_every_iteration(x):
    out, s = [], x[0]
    for v in x:
        if v > 0:
            s = s + v
        out.append(s * v)
    return sum(out) * out[2]


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


def accumulates_with_a_lambda(p):
    return sum(itertools.accumulate(TIMES, lambda s, t: 0.9 * s + t * p[0] if s < p[1] else 0.5 * s))


def hands_out_states(p):
    def walk():
        x = p[0]
        for t in TIMES:
            x = 0.9 * x + t * p[1] if x < 1 else 0.5 * x
            yield x

    return sum(v * v for v in walk())


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


def entries_of_a_dict(p):
    found = dict.fromkeys(range(4), 0.0)
    for t, k in zip(TIMES, CODES):
        if t > p[0]:
            found[k] += t * p[1]
        else:
            found[k] -= p[0] * p[1]
    return sum((k + 1) * v * v for k, v in found.items())


def entries_that_are_made(p):
    found = defaultdict(float)
    for t, k in zip(TIMES, CODES):
        if t > p[0]:
            found[k] += t * p[1]
        else:
            found[k] -= p[0] * p[1]
    return sum(v * v for v in found.values()) + len(found)


def entries_that_one_side_makes(p):
    found = defaultdict(float)
    for t, k in zip(TIMES[:12], CODES):
        if t > p[0]:
            found[k] += t * p[1]
    return sum(v * v for v in found.values()) + len(found)


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


def learns_the_largest(p):
    values, total = np.zeros(3), 0.0
    for t in TIMES:
        a = int(np.argmax(values))
        total += values[a] * p[1]
        values[a] += p[0] * (np.tanh(t) + 0.3 * a - values[a])
    return total


def squares_of_some(p):
    kept = []
    for t in TIMES:
        if t > p[0]:
            kept.append(t * p[1])
    return sum(v**2 for v in kept) + np.sum(np.abs(np.array(kept))) + len(kept)


def some_of_some(p):
    kept, others, scale = [], [], p[0] * p[1]
    for t in TIMES:
        if t > p[0]:
            kept.append(t * p[1])
        elif t > -1.0:
            others.append(t)
    above = sum(scale * v for v in kept if v > p[0])
    return above + np.sum([v * v * 0.5 for v in kept]) + sum(abs(v) for v in others) + (np.array(others) * scale).sum()


def reads_by_another_name(p):
    u, kept = p * 1.0, []
    q = np.asarray(u)
    for t in TIMES:
        if t > p[0]:
            kept.append(t)
        q[1] = 0.9 * q[1] + 0.1 * t
    return sum(u[1] * v for v in kept)


def reads_what_is_sorted(p):
    u, kept = np.array([1.0, 2.0]) * p[1], []
    for t in TIMES:
        if t > p[0]:
            kept.append(t)
    u.sort()
    return sum(u[1] * v for v in kept) + np.sum(np.array(kept) * u[1])


PROGRAMS = [
    sums_with_conditions, extremes_with_conditions, any_and_all, maps_a_star, accumulates_with_a_lambda, hands_out_states,
    breaks_off_a_generator, names_in_a_while, names_in_a_comprehension, raises_under_an_error_state, leaves_a_method, entries_of_a_dict,
    entries_that_are_made, entries_that_one_side_makes, bisects, goes_down_by_newton, learns_the_largest, squares_of_some, some_of_some,
    reads_by_another_name, reads_what_is_sorted,
]  # fmt: skip
# What a careless join of both sides gets wrong.
TRAPS = [
    a_count_as_an_index, consumes_an_iterator, sums_of_a_branching_helper, sums_of_a_helper_with_state, looks_beyond_the_end, adds_any,
    a_sum_of_nothing, another_sum, sums_of_short_circuits, sums_of_kept_elements, appends_in_every_iteration, conditional_ints,
]  # fmt: skip
