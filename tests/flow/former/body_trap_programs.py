"""Bodies of sub-tapes and scans that count, hand on what they were given, divide by plain zeros or loop only at some points."""

import operator

import numpy as np

import tapediff as td

POINTS = [np.array(x) for x in ([0.9, 0.3, -0.6], [0.1, -0.8, 1.2], [-0.6, 0.1, 0.9], [-2.0, 0.75, 0.25], [0.25, 2.0, -0.1])]
NARROW = np.array([0.1, 0.7, -0.3], np.float32)


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


SEEN = []


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
    """A loop that the first points do not enter, and whose turn is none that can be merged."""
    s = v
    if v > 0.2:
        s = s + 1.0
    b, k = 0.5, 0
    while k < 2 and s < -1.0:
        k += 1
        b = b * NARROW[1]
    return s * b


def of_two_kinds(v):
    """Whole at most points, and an error of its paths where it is not."""
    if v > 0.5:
        return 1
    if v > -0.7:
        return 0
    return 0.5


def sets_a_count_to_zero(x):
    """Where it was set to 0, plain numbers are divided by a plain 0."""

    def step(carry, v):
        s, n = carry
        if v > 1.0:
            n = 0
        return (s + v, n + 1), 2.0 / n

    (s, n), parts = td.scan(step, (x[0], 1), x)
    return s * n + np.sum(parts)


PROGRAMS = {
    "counts": of_one_that_counts(),
    "goes_through": of_what_went_through(),
    "divides": of_a_subtape(divides_in_a_function_that_is_not_rewritten)(),
    "loops_late": of_a_subtape(loops_late)(),
    "of_two_kinds": of_a_subtape(of_two_kinds)(),
    "sets_a_count_to_zero": sets_a_count_to_zero,
}
