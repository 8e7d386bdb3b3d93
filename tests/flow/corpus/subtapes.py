"""Branches in bodies of sub-tapes and structured loops."""

from __future__ import annotations

import functools
import math
import operator
from typing import NamedTuple

import numpy as np

import tapediff as td

POINTS = [np.random.default_rng(0).normal(size=4) * (1 + k % 3) for k in range(4)] + [
    np.array(x) for x in ([0.9, 0.3, -0.6, 0.5], [-2.0, 0.75, 0.25, -1.0], [0.25, 2.0, -0.1, 0.4])
]
TABLE = np.array([0.5, -1.0, 2.0, 0.3])
NARROW = np.array([0.1, 0.7, -0.3], np.float32)
SEEN = []


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


# Bodies of one number
MERGED = [four_ifs, returns_early, breaks, newton, of_other_types, largest, in_a_helper, nested, calls_a_method]


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


OTHERS = [
    repeats,
    counts,
    of_a_tuple,
    tree,
    looks_up,
    uses_the_bool,
    stops_early_or_not,
    ends_with_math,
    divides,
    writes_an_array,
]


def of_an_array(piece):
    """Sums a body over the entries of an array."""
    return lambda x: sum(piece(v) * (k + 1) for k, v in enumerate(x))


def of_a_scan(piece):
    """The same within a scan."""
    return lambda x: td.scan(lambda c, v: (c + piece(v), None), x[0] * 0.0, x)[0]


ARRAYS = {f"{form.__name__}.{f.__name__}": form(f) for form in (of_an_array, of_a_scan) for f in [*MERGED, *OTHERS]}


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


def of_all_three(piece):
    def f(v):
        w, n, hit = piece(v)
        return w + 0.5 * n * v + np.where(hit, v, 0.25)

    return f


WITH_RESULTS = {
    "int": (level, lambda piece: lambda v: v * piece(v)),
    "bool": (outside, lambda piece: lambda v: np.where(piece(v), v * v, v)),
    "tuple": (count_and_flag, of_all_three),
}  # fmt: skip


def of_entries(f):
    """Calls a body with the entries of an array, one by one."""
    return lambda x: f(x[0]) * 1.5 + f(x[1]) * x[2] + f(x[3])


def nested_in(inner):
    return lambda v: inner(v) * (2.0 if v > 0 else 1.0)


FORMS_OF_ONE = {
    "subtape": lambda f: of_entries(td.subtape(f)),
    "method": lambda f: of_entries(td.subtape(type("Owner", (), {"call": lambda self, v: f(v)})().call)),
    "subtape of a subtape": lambda f: of_entries(td.subtape(nested_in(td.subtape(f)))),
    "scan": lambda f: lambda x: td.scan(lambda c, v: (0.25 * c + f(v + 0.1 * c), f(v)), x[0], x)[0] * x[1],
    "scan of a scan": lambda f: lambda x: td.scan(
        lambda c, v: (0.5 * c + td.scan(lambda d, w: (0.3 * d + f(w * v), None), c, x)[0], None), x[0], x[:2]
    )[0],
    "fori_loop": lambda f: lambda x: td.fori_loop(0, 3, lambda i, c: 0.25 * c + f(x[1] - 0.3 * c) + i, x[0]),
    "while_loop": lambda f: lambda x: td.while_loop(lambda c: c[0] < 3.0, lambda c: (c[0] + 1.0, 0.25 * c[1] + f(x[0] - 0.2 * c[1])), (0.0, x[1]))[1],
    "cond": lambda f: lambda x: td.cond(x[0] > 0, lambda: f(x[1]), lambda: f(x[2]) * x[3]),
}  # fmt: skip


def left_later(v):
    y = 1.0
    if v > 0.5:
        y = v
    if v < -1.0:
        k = len([w for w in (0.1, 0.2) if w < int(v > -1.7) + 0.15])
        y = y * k
        if v < -1.5:
            y = np.float32(2.0) * y if k else y
    return y * v


def paths_below_a_barrier(p):
    """A scan of scans with two branches: the inner one is taken late."""

    def day(state, shock):
        price, alive = state
        price = price * np.exp(0.1 * p[1] * shock)
        if price < 0.7:
            alive = 0.0 * alive
        return (price, alive), None

    def path(total, shocks):
        (price, alive), _ = td.scan(day, (p[0], 1.0), shocks)
        if price > 1.0:
            total = total + alive * (price - 1.0) * p[2]
        return total, None

    return (
        td.scan(path, 0.0, np.random.default_rng(4).normal(size=(16, 12)) + np.linspace(0.8, -0.8, 16)[:, None])[0]
        * p[3]
    )


BODIES = [*MERGED, *OTHERS, left_later]


# Each body in two of the forms
IN_FORMS = {
    f"{form}.{f.__name__}": FORMS_OF_ONE[form](f)
    for k, f in enumerate(BODIES)
    for form in ([*FORMS_OF_ONE] * 2)[2 * k % len(FORMS_OF_ONE) :][:2]
}
RESULTS = {kind: of_entries(used(td.subtape(body))) for kind, (body, used) in WITH_RESULTS.items()}


def called_apart(piece):
    return lambda x: piece(x[0]) + piece(x[1]) * x[2] + piece(x[2])


def in_turn(piece):
    return lambda x: functools.reduce(lambda s, v: 0.9 * s + piece(v + 0.1 * s), [x[0], x[1], x[2]], x[0])


def with_counts(piece):
    def step(carry, v):
        s, n = carry
        if v > 0:
            n = n + 1
        if s > 0.5:
            n = 0
        return (0.5 * s + piece(v) * n, n), n

    def f(x):
        (s, n), counts = td.scan(step, (x[0], 0), x)
        return s * n + np.sum(counts * x)

    return f


def of_a_subtape(body, *rest):
    def make():
        piece = td.subtape(body)
        return lambda x: sum(piece(v, *rest) * w for v, w in zip(x, (1.0, 2.0, 3.0)))

    return make


def of_one_that_counts():
    seen = SEEN

    def counted(v):
        seen.append(v)
        y = v * v if v > 0.2 else -v
        return y + 1.0 if v > 0.8 else y

    return of_a_subtape(counted)()


def goes_through(v, a):
    w = abs(v)
    while w < 0.5:
        a = a * 1.5
        w = w + 0.2
    return a


def of_what_went_through():
    def f(x):
        b = x * 2.0
        c = td.subtape(goes_through)(x[0], b)
        c[0] = 3.0
        return np.sum(c**2) * x[1] + np.sum(b)

    return f


def zero_or_one(v):
    h = 0.0
    if v > 0.2:
        h = 1.0
    return h


def divides_in_a_function_that_is_not_rewritten(v):
    return operator.truediv(1.0, zero_or_one(v)) * v


def loops_late(v):
    """A loop that the first points do not enter."""
    s = v
    if v > 0.2:
        s = s + 1.0
    b, k = 0.5, 0
    while k < 2 and s < -1.0:
        k += 1
        b = b * NARROW[1]
    return s * b


def of_two_kinds(v):
    """An int at most points, a float at others."""
    if v > 0.5:
        return 1
    if v > -0.7:
        return 0
    return 0.5


def sets_a_count_to_zero(x):
    """Divides by zero where the count was set to 0."""

    def step(carry, v):
        s, n = carry
        if v > 1.0:
            n = 0
        return (s + v, n + 1), 2.0 / n

    (s, n), parts = td.scan(step, (x[0], 1), x)
    return s * n + np.sum(parts)


PROGRAMS = [paths_below_a_barrier]
# What a careless join of both sides gets wrong.
TRAPS = [sets_a_count_to_zero]
CASES = {
    **ARRAYS,
    **IN_FORMS,
    **RESULTS,
    "in_turn": in_turn(td.subtape(four_ifs)),
    "with_counts": with_counts(td.subtape(largest)),
    "three_apart": called_apart(td.subtape(left_later)),
    "body_that_divides": of_a_subtape(divides_in_a_function_that_is_not_rewritten)(),
    "loops_late": of_a_subtape(loops_late)(),
    "of_two_kinds": of_a_subtape(of_two_kinds)(),
    "body_that_counts": of_one_that_counts(),
    "goes_through": of_what_went_through(),
}  # fmt: skip
