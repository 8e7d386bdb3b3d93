"""Branches as users write them in models of physics, finance and medicine."""

from __future__ import annotations

import math

import numpy as np
from numpy import abs as magnitude, exp as exponential

NARROW = np.array([0.1, 0.7, -0.3], np.float32)
COUNTS = np.array([1, 2, 3])


def kind(v):
    return 1.0 if isinstance(v, float) else 2.0 if isinstance(v, np.ndarray) else 3.0


def halves(v):
    return v // 2


def whole_steps_beside_ints(x):
    n = 1
    if x[0] > 0.2:
        n = 3
    return np.sum(halves(n * COUNTS)) * x[1]


def fill(w):
    w[0] = 7.0


def adds_to_a_large_first_array(x):
    v, s = np.ones((100, 100)).T, x[0]
    before = v
    while s < 0.5:
        v, s = v * x[1], s + 0.4
    before += 1.0
    return np.sum(v) * x[2]


def begins_with_float32(x):
    v, s = np.ones(3, np.float32) / 3, x[0]
    while s < 0.5:
        v, s = v * np.float32(0.7), s + 0.4
    return np.sum(v) * x[1]


def adds_in_place_in_a_loop(x):
    v, s = np.ones(3), x[0]
    before = v
    while s < 0.5:
        v += x[1]
        s = s + 0.4
    return np.sum(v) * x[1] + np.sum(before)


def takes_a_logarithm(v):
    return math.log(v)


def calls_what_fails_at_times(x):
    total = 0.0
    for v in x[:3]:
        total += math.log(-2.0) if v > 90.0 else takes_a_logarithm(2.0) * v if v > 0.3 else v
    return total


def calls_a_lambda_with_float32(x):
    weigh = lambda v: np.sum(v * NARROW)
    s = 1.0
    for v in x[:3]:
        if v > 0.2:
            s = s * 0.3
    return weigh(s) * x[3]


def calls_a_lambda_that_asks_for_a_type(x):
    told = lambda v: 1.0 if type(v) is float else 2.0
    s = 1.0
    if x[0] > 0.2:
        s = x[1]
    return told(s) * x[1]


def calls_one_of_two_lambdas(x):
    f = lambda v: v * 2.0
    n = 2
    if x[0] > 0.2:
        n = 3
    first = f(n)
    f = lambda v: [0.0, 1.0, 2.0, 3.0][v]
    return f(n) * x[1] + first


def names_of_its_own_for_functions(x):
    kept, total = np.zeros(6), 0.0
    kept[0] = x[0]
    for k in range(1, 6):
        if magnitude(x[k]) > 0.5:
            total = total + exponential(-np.abs(x[k])) * np.sum(exponential(-magnitude(x)))
        else:
            total = total - magnitude(x[k]) * np.dot(x, x)
        kept[k] = total
    return np.sum(kept)


PROGRAMS = [names_of_its_own_for_functions]
# What a careless join of both sides gets wrong.
TRAPS = [
    whole_steps_beside_ints, adds_to_a_large_first_array, begins_with_float32, adds_in_place_in_a_loop, calls_what_fails_at_times,
    calls_a_lambda_with_float32, calls_a_lambda_that_asks_for_a_type, calls_one_of_two_lambdas,
]  # fmt: skip
