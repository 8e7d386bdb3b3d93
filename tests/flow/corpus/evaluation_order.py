"""Names, aliases and the order of evaluation: what Python binds, shares and reads at a moment that a join may miss."""

from __future__ import annotations

import operator
from functools import reduce

import numpy as np

TABLE = np.array([0.5, -1.0, 2.0, 0.25, 1.5])
GAIN = 1.0


def kept_by_a_default(x):
    y = x * 1.0

    def read(v, held=y):
        return held[0] * v

    if x[1] > 0:
        y[0] = 3.0 * x[2]
    return read(x[3])


def counted_by_a_chain(x):
    calls = []

    def seen(v):
        calls.append(v)
        return v

    s = 0.0
    for v in x:
        if -0.5 < seen(v) < seen(0.7):
            s = s + v
    return s * len(calls)


def value_and_default(x):
    k = 1 if x[0] > 0 else 0
    return (k and x[1]) + (k or x[2]) * x[3]


def bound_in_a_test(x):
    s = 0.0
    for v in x:
        if (w := 2.0 * v) > 0.5:
            s = s + w
    return s + w


def of_numpy_in_one_branch(x):
    t = 0.1
    if x[0] > 0:
        t = np.float64(0.0)
    with np.errstate(all="ignore"):
        return np.tanh(1.0 / t) * x[1] + x[2]


def bool_as_key(x):
    hit = False
    if x[0] > 0:
        hit = True
    return {False: x[1], True: x[2]}[hit] * {0: 2.0, 1: 3.0}[hit]


def text_of_a_count(x):
    n = 0
    for v in x:
        if v > 0:
            n += 1
    return {"n=0": 0.5, "n=1": 1.0, "n=2": x[0]}.get(f"n={n}", x[1])


def format_of_a_float(x):
    t = 1
    if x[0] > 0:
        t = 1.0
    return len(f"{t}") * x[1]


def half_of_an_odd_count(x):
    n = 0
    for v in x:
        n += 1 if v > 0 else 2
    return TABLE[n // 2] * x[0] + -n // 2 * x[1] + divmod(n, 3)[1]


def continues_twice(x):
    s = 0.0
    for v in x:
        for w in TABLE:
            if w > v:
                continue
            if v < 0:
                break
            s = s + v * w
        else:
            s = s + 10.0
            continue
        s = s - 1.0
    return s * x[0]


def function_by_branch(x):
    if x[0] > 0:

        def g(v):
            return v * 2.0
    else:

        def g(v):
            return v * v

    def twice(v):
        return g(g(v))

    if x[1] > 0:
        g = np.sin
    return twice(x[2])


def reduced(x):
    return reduce(lambda s, v: s + v if v > s else s * 0.5, x, 0) + reduce(operator.mul, x)


def comprehension_in_a_branch(x):
    s = [v for v in x]  # noqa: C416
    if x[0] > 0:
        s = [v * 2.0 for v in s if v > x[0]]
    return sum(s) * len(s) + x[1]


class Body:
    SCALE = 0.5

    def __init__(self, a):
        self.a = a

    def bumped(self, v):
        self.a = self.a + v
        return self.a * 0.5

    def scaled(self):
        return self.a * self.SCALE

    def noted(self, v):
        set_gain(2.0)
        self.a = self.a + v
        return self.a


def set_gain(value):
    global GAIN
    GAIN = value


def settle(y, v):
    y[0] = v * 0.5
    return v + 1.0


def named_after_a_read(x):
    y, q = x * 1.0, 0.0
    if 5.0 * y[0] + (q := settle(y, -x[0])) > 1.0:
        return y[0] * 2.0 + q
    return q - y[0]


def named_after_arithmetic(x):
    y, q = x * 1.0, 0.0
    if 5.0 * y[0] > (q := settle(y, -x[0])):
        return y[0] * 2.0 + q
    return q - y[0]


def named_in_an_argument_of_a_method(x):
    p, s, v = Body(x[0]), x[1], x[2] * 1.0
    if x[1] > 0:
        p.a = p.a + 1.0
    return s + p.bumped(s := v)


def named_in_an_entry(x):
    p, s = Body(x[0]), x[1]
    if x[1] > 0:
        p.a = p.a + 1.0
    else:
        s = s * (s, (p := Body(x[3])).a)[0]
    return s * p.a


def method_of_a_class_is_set(x):
    p, before = Body(x[0]), Body.scaled
    if x[1] > 0:
        p.a = p.a + x[1]
    Body.scaled = lambda self: self.a * 3.0
    s = p.scaled() * x[1]
    Body.scaled = before
    return s


def default_of_a_method_is_set(x):
    p = Body(x[0])
    if x[1] > 0:
        p.a = p.a + x[1]
    Body.bumped.__defaults__ = (x[3],)
    s = p.bumped() * x[1]
    Body.bumped.__defaults__ = None
    return s


def global_is_set_by_a_method(x):
    set_gain(1.0)
    p, s = Body(x[0]), x[1]
    if x[1] > 0:
        p.a = p.a + 1.0
    return s + GAIN * p.noted(x[2])


calls = []


tanh = np.tanh


def hides_a_global_in_a_comprehension(x):
    calls = []

    def log(v):
        calls.append(v)
        return v

    s = sum([(tanh(v) if v > 0 else 0.1 * v) for tanh in [log] for v in x])
    return s * len(calls)


# What a careless join of both sides gets wrong.
TRAPS = [
    kept_by_a_default, counted_by_a_chain, value_and_default, bound_in_a_test, of_numpy_in_one_branch, bool_as_key, text_of_a_count,
    format_of_a_float, half_of_an_odd_count, continues_twice, function_by_branch, reduced, comprehension_in_a_branch, named_after_a_read,
    named_after_arithmetic, named_in_an_argument_of_a_method, named_in_an_entry, method_of_a_class_is_set, default_of_a_method_is_set,
    global_is_set_by_a_method, hides_a_global_in_a_comprehension,
]  # fmt: skip
