"""Programs with calls that are seen from outside, that refuse points, or that ask numbers."""

import math

import numpy as np


def robust(x):
    s = 0.0
    for k in range(100):
        r = x[0] * LEVELS[k] - x[1]
        if abs(r) < 1.0:
            s = s + 0.5 * r * r
        else:
            s = s + abs(r) - 0.5
    return s


LEVELS = np.random.default_rng(1).normal(size=100)
SEEN, SCALE = [], [1.0]


def counted(x):
    SEEN.append(type(x) is np.ndarray)
    s = 0.0
    for v in x:
        if v > 0:
            s = s + v**2
    return s * SCALE[0]


def refuses_large_values(x):
    if not isinstance(x, np.ndarray) or x.size > 4:
        raise ValueError("four values at most")
    s = 0.0
    for v in x:
        if v > 0:
            s = s + v
    return s


def has_a_long_condition(x):
    v = x[0] + x[1]
    return (np.exp(np.exp(np.sin(np.exp(np.sin(np.exp(np.sin(v))))))) if v > 0 else v) * x[2]


def asks_a_number(x):
    return x[1] if x[0] else x[2]


def doubled_near_one(v):
    return 2.0 * v if math.isclose(v, 1.0) else v


def calls_what_asks_whether_numbers_are_close(x):
    return (doubled_near_one(x[1]) if x[0] > 0 else x[2]) * x[3]


def reads_more_each_time(x):
    total = 0.0
    for i in range(210):
        rate = x[0] * x[0]
        for j in range(i):
            rate = rate + 0.1 * x[1] * x[1] / (1.5 + 0.1 * i - 0.05 * j)
        total = total + np.log(rate)
    return total


def needs_what_a_mask_selects(x):
    return np.sum(np.diff(x[x > 0]) ** 2)


PROGRAMS = [
    counted,
    refuses_large_values,
    has_a_long_condition,
    asks_a_number,
    calls_what_asks_whether_numbers_are_close,
    reads_more_each_time,
    needs_what_a_mask_selects,
    robust,
]
