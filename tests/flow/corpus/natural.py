"""Branches as users write them in models of physics, finance and medicine."""

from __future__ import annotations

import math

import numpy as np
from numpy import abs as magnitude, exp as exponential

NARROW = np.array([0.1, 0.7, -0.3], np.float32)
COUNTS = np.array([1, 2, 3])
WIDE = np.array([0.3, -1.2, 0.8])


def length(v):
    return np.sqrt(np.sum(v * v))


def kind(v):
    return 1.0 if isinstance(v, float) else 2.0 if isinstance(v, np.ndarray) else 3.0


def steps_beside_float32(x):
    step = 1.0
    if x[0] > 0.2:
        step = 0.3
    return length(step * NARROW) * x[1]


def steps_beside_what_is_float32_at_times(x):
    step, along = 1.0, WIDE
    total = 0.0
    for k in range(4):
        if x[k] > 0.2:
            step = 0.3
        total = total + length(step * along) * x[1]
        along = NARROW
    return total


def halves(v):
    return v // 2


def whole_steps_beside_ints(x):
    n = 1
    if x[0] > 0.2:
        n = 3
    return np.sum(halves(n * COUNTS)) * x[1]


def steps_beside_plain_numbers(x):
    step, unit = 1.0, 0.5
    if x[0] > 0.2:
        step = 0.25
    return kind(step * unit) * x[1] + kind(unit) * x[2]


def inverse(v):
    return 1.0 / v


def steps_that_are_zero(x):
    step, unit = 1.0, 0.5
    if x[0] > 1.8:
        step = 0.0
    try:
        return inverse(step * unit) * x[1]
    except ZeroDivisionError:
        return x[2] * 3.0


def flags_beside_arrays(x):
    found = False
    if x[0] > 0.2:
        found = True
    return length(found * WIDE) * x[1] + length(WIDE + found)


def large_whole_numbers(x):
    n = 1
    for k in range(4):
        if x[k] > 0.1:
            n = n * 94906267 + 1
    return length(n * WIDE) * x[5] + n % 7


def moved(w, v):
    n = 0
    if v > 0.2:
        w = np.cumsum(w) * v
        n += 1
    return w, n


def calls_what_may_leave_an_array(x):
    w, n = x[:3] * 2.0, 0
    for v in x:
        w, more = moved(w, v)
        n += more
    return np.sum(w**2) + n


def adds_in_place_after_it(x):
    w = x[:3] * 1.0
    before = w
    if x[3] > 0.2:
        w = np.cumsum(w) * x[4]
    w += 1.0
    return np.sum(before**2) * x[0] + np.sum(w**2)


def adds_to_the_other_name(x):
    w = x[:3] * 1.0
    before = w
    if x[3] > 0.2:
        w = np.cumsum(w) * x[4]
    before += 1.0
    return np.sum(before**2) * x[0] + np.sum(w**2)


def adds_in_place_to_a_view(x):
    w = x[:3] * 1.0
    part = w[:2]
    if x[3] > 0.2:
        w = np.cumsum(w) * x[4]
    part += 1.0
    return np.sum(w**2)


def adds_in_place_to_a_view_of_what_comes_out(x):
    w = x[:3] * 1.0
    before = w
    if x[3] > 0.2:
        w = np.cumsum(w) * x[4]
    part = w[:2]
    part *= 2.0
    return np.sum(before**2) * x[0]


def adds_in_place_where_another_branch_does(x):
    w = x[:3] * 1.0
    before = w
    for k in range(3):
        if x[k] > 0.2:
            w = np.cumsum(w) * x[4]
        if k == 1:
            w -= 1.0
    return np.sum(before**2) * x[0] + np.sum(w**2)


def adds_in_place_in_another_function(x):
    w = x[:3] * 1.0
    before = w
    w, _ = moved(w, x[3])
    grow(w)
    return np.sum(before**2) * x[0] + np.sum(w**2)


def grow(w):
    w += 1.0


def writes_in_another_function(x):
    w = x[:3] * 1.0
    before = w
    if x[3] > 0.2:
        w = np.cumsum(w) * x[4]
    fill(w)
    return np.sum(before**2) * x[0] + np.sum(w**2)


def fill(w):
    w[0] = 7.0


def adds_in_place_to_a_plain_array(x):
    w = np.ones(3)
    before = w
    for k in range(2):
        if x[k] > 0.2:
            w = np.cumsum(w) * x[4]
    before += 1.0
    return np.sum(w**2) * x[0]


def asks_whether_it_went_through(x):
    w = x[:3] * 1.0
    before = w
    if x[3] > 0.2:
        w = np.cumsum(w) * x[4]
    return np.sum(w**2) if w is before else x[0]


def power_iteration(x):
    a = np.array([[2.0, 0.3], [0.3, 1.0]]) + x[0] * np.eye(2) * 0.1
    v = np.ones(2) / np.sqrt(2)
    change = 1.0
    while change > 1e-3:
        w = a @ v
        w = w / np.sqrt(w @ w)
        change = np.sum(np.abs(w - v))
        v = w
    return v @ (a @ v) * x[1]


def adds_to_the_first_array(x):
    v, s = np.ones(3), x[0]
    before = v
    while s < 0.5:
        v, s = v * x[1], s + 0.4
    before += 1.0
    return np.sum(v) * x[2]


def adds_to_a_large_first_array(x):
    v, s = np.ones((100, 100)).T, x[0]
    before = v
    while s < 0.5:
        v, s = v * x[1], s + 0.4
    before += 1.0
    return np.sum(v) * x[2]


def adds_to_what_a_loop_gives(x):
    v, s = np.ones(3), x[0]
    before = v
    while s < 0.5:
        v, s = v * x[1], s + 0.4
    v += 1.0
    return np.sum(before) * x[2] + np.sum(v)


def begins_with_ints(x):
    v, s = np.array([1, 2, 3]), x[0]
    while s < 0.5:
        v, s = v + 1, s + 0.4
    return np.sum(v // 2) * x[1]


def begins_with_float32(x):
    v, s = np.ones(3, np.float32) / 3, x[0]
    while s < 0.5:
        v, s = v * np.float32(0.7), s + 0.4
    return np.sum(v) * x[1]


def goes_on_with_an_array_from_outside(x):
    v, s, other = np.ones(3), x[0], np.ones(3)
    while s < 0.5:
        v, s = other, s + 0.4
    other += 1.0
    return np.sum(v) * x[1]


def grows_in_a_loop(x):
    v, s = np.ones(3), x[0]
    while s < 0.5:
        v, s = np.append(v, s), s + 0.4
    return np.sum(v) * x[1]


def adds_in_place_in_a_loop(x):
    v, s = np.ones(3), x[0]
    before = v
    while s < 0.5:
        v += x[1]
        s = s + 0.4
    return np.sum(v) * x[1] + np.sum(before)


def starts(x, v):
    s = x[0]
    while s < 0.5:
        v, s = v * x[1], s + 0.4
    return v


def adds_to_what_another_function_gives(x):
    first = np.ones(3)
    v = starts(x, first)
    v += 1.0
    return np.sum(v) * x[2] + np.sum(first)


def fails_for_a_constant(x):
    total = 0.0
    for v in x:
        total += math.sqrt(-1.0) * v if v > 90.0 else v * v
    return total


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


def calls_a_lambda_of_an_index(x):
    at = lambda n: x[n] * 2.0
    n = 0
    for v in x[:3]:
        if v > 0.2:
            n = n + 1
    return at(n)


def calls_a_lambda_that_divides(x):
    inverted = lambda v: 1.0 / v
    s = 1.0
    if x[0] > 1.8:
        s = 0.0
    try:
        return inverted(s) * x[1]
    except ZeroDivisionError:
        return x[2] * 3.0


def calls_a_lambda_that_asks_for_a_type(x):
    told = lambda v: 1.0 if type(v) is float else 2.0
    s = 1.0
    if x[0] > 0.2:
        s = x[1]
    return told(s) * x[1]


def calls_a_lambda_that_gives_what_it_gets(x):
    same = lambda v: v
    n = 1
    if x[0] > 0.2:
        n = 3
    return x[same(n)] + sum(x[k] for k in range(same(n)))


def calls_a_lambda_that_grows(x):
    grown = lambda n: n * 94906267 + 1
    n = 1
    for v in x[:4]:
        if v > 0.1:
            n = grown(n)
    return n % 7 * x[5] + (n - 1) * 1e-30


def calls_one_of_two_lambdas(x):
    f = lambda v: v * 2.0
    n = 2
    if x[0] > 0.2:
        n = 3
    first = f(n)
    f = lambda v: [0.0, 1.0, 2.0, 3.0][v]
    return f(n) * x[1] + first


def hands_a_lambda_on(x):
    f = lambda v: v
    n = 2
    if x[0] > 0.2:
        n = 3
    return f(n * 1.0) * x[1] + sum(map(f, [n, n])) % 5 * x[2]


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


def best_index(x):
    best, value = None, -1e9
    for k in range(6):
        if x[k] > value:
            best, value = k, x[k]
    return x[best] * 2.0 + value


PROGRAMS = [power_iteration, names_of_its_own_for_functions, best_index]
# What a careless join of both sides gets wrong.
TRAPS = [
    steps_beside_float32, steps_beside_what_is_float32_at_times, whole_steps_beside_ints, steps_beside_plain_numbers,
    steps_that_are_zero, flags_beside_arrays, large_whole_numbers, calls_what_may_leave_an_array, adds_in_place_after_it,
    adds_to_the_other_name, adds_in_place_to_a_view, adds_in_place_to_a_view_of_what_comes_out, adds_in_place_where_another_branch_does,
    adds_in_place_in_another_function, writes_in_another_function, adds_in_place_to_a_plain_array, asks_whether_it_went_through,
    adds_to_the_first_array, adds_to_a_large_first_array, adds_to_what_a_loop_gives, begins_with_ints, begins_with_float32,
    goes_on_with_an_array_from_outside, grows_in_a_loop, adds_in_place_in_a_loop, adds_to_what_another_function_gives,
    fails_for_a_constant, calls_what_fails_at_times, calls_a_lambda_with_float32, calls_a_lambda_of_an_index,
    calls_a_lambda_that_divides, calls_a_lambda_that_asks_for_a_type, calls_a_lambda_that_gives_what_it_gets, calls_a_lambda_that_grows,
    calls_one_of_two_lambdas, hands_a_lambda_on,
]  # fmt: skip
