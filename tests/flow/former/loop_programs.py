"""Loops in plain Python that data ends: those that merge, and traps, which must stay as they are or give the right answers."""

import numpy as np

NOISE = np.random.default_rng(1).normal(size=(8, 6))


# What merges


def breaks(x):
    s = 0.0
    for v in x:
        if v > 1.0:
            break
        s = s + v**2
    return s * x[0]


def has_else_of_a_loop(x):
    s = 0.0
    for v in x:
        if v > 1.0:
            s = v
            break
    else:
        s = x[0] ** 2
    return s


def barrier_option(p):
    total = 0.0
    for row in NOISE:
        price, alive = p[0], 1.0
        for z in row:
            price = price + 0.3 * p[1] * z
            if price > 1.3:
                alive = 0.0
                break
        total += alive * max(price - 0.2, 0.0)
    return total


def breaks_in_branches(x):
    s, n = 0.0, 0
    for i, v in enumerate(x):
        if v > 0:
            if v > 1.1:
                s = s - 1.0
                break
            s = s + v
        elif v < -0.8:
            continue
        else:
            n += 1
            if s * n > 2.0:
                break
            if x[i] < -0.5:
                s = s * 0.5
                continue
            s += 0.1
        s = s * 1.5 + n
    return s


def where_it_broke(x):
    for v in x:
        if v > 0.55:
            break
    return v * x[0]


def what_it_computed(x):
    for k in range(6):
        w = x[k] * (k + 1)
        if w > 2.0:
            break
    return w * x[0]


def pairs(x):
    s = 0.0
    for v, (w, c) in zip(x, zip(reversed(x), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])):
        if v * w > 0.5:
            break
        s = s + v * w * c
    return s


def a_fixed_point_with_a_return(x):
    v = x[0] ** 2
    for _ in range(50):
        new = np.cos(v) * 0.5
        if abs(new - v) < 1e-9:
            return new * x[1]
        v = new
    return v


def returns_from_a_while(x):
    v, k = abs(x[0]) + 0.1, 0
    while k < 30:
        w = v * 1.4 + 0.1
        k += 1
        if w > 3.0:
            return w * x[1]
        if w > 2.9:
            return v
        v = w
    return 0.0


def counted_turns(x):
    v = x[0] ** 2 + 0.1
    for k in range(2, 40):
        v = v * 1.2 + 0.01 * k
        if v > 5.0:
            break
    return v + 0.1 * k


def nested_whiles(x):
    s, a = 0.0, abs(x[0])
    while a < 2.0:
        b = abs(x[1])
        while True:
            b = b * 1.5 + 0.1
            if b > 1.0:
                if b > 1.3:
                    break
                s = s + 0.1
            if s > 3.0:
                return s * b
        s, a = s + b, a + 0.5
    else:
        s = s * 2.0
    return s


def a_gain_that_settles(x):
    move, see = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    covariance, old = np.eye(2), np.zeros((2, 1))
    for _ in range(300):
        ahead = move @ covariance @ move.T + np.diag(x[:2] ** 2 + 0.1)
        gain = ahead @ see.T / (see @ ahead @ see.T + x[2] ** 2 + 0.3)
        covariance = ahead - gain @ see @ ahead
        if np.max(np.abs(gain - old)) < 1e-9:
            break
        old = gain
    return gain[0, 0] * x[3] + covariance[1, 1]


def a_mean_without_outliers(x):
    mean = x[0]
    while True:
        weights = 1 / (0.5 + (x - mean) ** 2)
        new = weights @ x / weights.sum()
        if abs(new - mean) < 1e-9:
            break
        mean = new
    return new * x[1]


def a_series_of_a_matrix(x):
    matrix, k = np.reshape(x[:4], (2, 2)), 1
    term = total = np.eye(2)
    while np.abs(term).max() > 1e-9:
        term = term @ matrix / k
        total = total + term
        k += 1
    return total.sum() * x[4]


def an_option_that_may_be_exercised(x):
    up, stays = np.exp(0.1 + 0.1 * x[1] ** 2), 0.4 + 0.1 * np.tanh(x[2])
    values = [max(1.0 + x[3] - up ** (2 * j - 3), 0.0) for j in range(4)]
    for i in (2, 1, 0):
        for j in range(i + 1):
            values[j] = max(0.9 * (stays * values[j + 1] + (1 - stays) * values[j]), 1.0 + x[3] - up ** (2 * j - i))
    return values[0] * x[0]


def weights_in_comprehensions(x):
    total, weight = 0.0, 1.0
    for v in x:
        if v > 0.5:
            weight = weight * 0.9
        else:
            weight = weight + 0.1
        total += sum([weight * w for w in x]) + sum(weight - w for w in x)
    return total


MERGE = [
    breaks, has_else_of_a_loop, barrier_option, breaks_in_branches, where_it_broke, what_it_computed, pairs, a_fixed_point_with_a_return,
    returns_from_a_while, counted_turns, nested_whiles, a_gain_that_settles, a_mean_without_outliers, a_series_of_a_matrix,
    an_option_that_may_be_exercised, weights_in_comprehensions,
]  # fmt: skip


# Traps


def returns_from_two_loops(x):
    s = 0.0
    for row in NOISE:
        for z, v in zip(row, x):
            s = s + z * v
            if s > 2.0:
                return s * x[0]
        if s < -2.0:
            return x[1] - s
    return s


def counting():
    k = 0.0
    while True:
        k += 1.0
        yield k


def loops_over_a_generator(x):
    items, s = counting(), 0.0
    for v in items:
        s = s + v * x[0] ** 2 + 0.1
        if s > 4.0:
            break
    return s * next(items)


def takes_the_rest_of_an_iterator(x):
    items, s = iter(range(6)), 0.0
    for k in items:
        if x[k] > 0.5:
            break
        s = s + x[k]
    return s + sum(items)


def looks_ahead(x):
    s = 0.0
    for i in range(7):
        if i == 5 or x[i] > x[i + 1]:
            break
        s = s + x[i + 1]
    return s


def loop_without_turns(x):
    v = 2.0
    for k in range(int(x[0] > 0) * 3):
        v = x[k]
        w = v
        if v > 0.5:
            break
    return w * v


def changes_its_list(x):
    items, s = [x[0], x[1]], 0.0
    for v in items:
        s = s + v
        if s > 1.0:
            break
        if len(items) < 6:
            items.append(x[len(items)])
    return s * len(items)


def returns_other_types(x):
    for k in range(6):
        if x[k] > 1.0:
            return x[k] * k
    return 0


def returns_an_index(x):
    k = 0
    for k in range(6):
        if x[k] > 0.5:
            break
    return x[k] * [1.0, 2.0, 3.0, 4.0, 5.0, 6.0][k]


def swallows_a_break(x):
    s = 0.0
    for v in x:
        try:
            if v > 1.0:
                break
        finally:
            s = s + 1.0
        s = s + v
    return s * x[0]


def writes_after_the_break(x):
    y = x * 1.0
    for i in range(6):
        if y[i] > 1.0:
            break
        y[i] = 0.0
    return np.sum(y**2)


def appends_until_the_break(x):
    kept = []
    for v in x:
        if v > 1.0:
            break
        kept.append(v * v)
    return sum(kept) + x[0]


def returns_a_list(x):
    out = []
    for v in x:
        out.append(v)
        if v > 1.0:
            return sum(out)
    return x[0]


def ends_in_an_else(x):
    s = 0.0
    for i in range(3):
        for v in x[2 * i : 2 * i + 2]:
            if v > 0.8:
                break
            s = s + v
        else:
            if s < -1.0:
                break
            continue
        s = s * 2.0
    return s + x[0]


def value_before_the_first_turn(x):
    for v in x:
        if v > 0.2:
            old = new * 2.0 if v < 0.45 else v  # noqa: F821 -- that is the trap
            break
        new = v  # noqa: F841
    else:
        old = x[0]
    return old * x[1]


def generators_that_wait(x):
    weight, waiting = 1.0, []
    for v in x:
        waiting.append(weight * w for w in x)
        if v > 0.5:
            weight = weight * 0.9
    return sum(sum(one) for one in waiting)


TRAPS = [
    returns_from_two_loops, generators_that_wait,
    loops_over_a_generator, takes_the_rest_of_an_iterator, looks_ahead, changes_its_list, returns_other_types, returns_an_index,
    swallows_a_break, writes_after_the_break, appends_until_the_break, returns_a_list, ends_in_an_else,
]  # fmt: skip

# They have errors of their own at some points.
FAIL = [loop_without_turns, value_before_the_first_turn]
