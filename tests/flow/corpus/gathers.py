"""Entries at positions that are data: gathers, argmin, nearest and largest entries."""

from __future__ import annotations

import numpy as np

import tapediff as td

POINTS = np.vstack(
    [
        [[0.4, 0.8], [0.7, 0.3], [-0.9, 0.95], [1.6, -0.4], [0.05, 0.1]],
        np.random.default_rng(20261127).normal(size=(6, 2)),
    ]
)
RNG = np.random.default_rng(5)
DATA, TABLE, INTS = RNG.normal(size=50), RNG.normal(size=(50, 3)), RNG.permutation(50).tolist()
GRID = np.linspace(-2, 2, 50)
rng = np.random.default_rng(20261127)
CUSTOMERS = 60
ARRIVALS = np.cumsum(rng.exponential(size=CUSTOMERS))
SERVICES = 1.8 * rng.exponential(size=CUSTOMERS)
STEPS = 300
TIMES = np.random.default_rng(20261130).normal(size=STEPS)


def planes(x):
    boxes = TABLE.reshape(10, 5, 3)
    return td.fori_loop(
        0, 10, lambda k, s: s + np.sum(boxes[k] * x[0]) + boxes[k, 2, 1] + np.sum(boxes[k, :, 0] * x[1]), 0.0
    )


def while_loops(x):
    body = lambda carry: (carry[0] + 1, carry[1] + x[0] * DATA[carry[0]] * TABLE[carry[0], 1])
    return td.while_loop(lambda carry: carry[0] < 40, body, (0, x[1]))[1]


class Model:
    def __init__(self):
        self.prices, self.tables = DATA.copy(), {"rates": TABLE}

    def __call__(self, x):
        return td.fori_loop(0, 50, lambda k, s: s + self.prices[k] * x[0] + self.tables["rates"][k, 1] * x[1], 0.0)


def method(x):
    return Model()(x)


def ints_of_a_list(x):
    return td.fori_loop(0, 50, lambda k, s: s + DATA[INTS[k]] * x[0], x[1])


def searched_in_a_table(x):
    k = np.searchsorted(GRID, x[0])
    return x[1] * DATA[min(k, 49)] + x[0]


def positions_beside_branches(x):
    k = np.argmax(x)
    s = f"{DATA[k]:.1f}" and 0.0
    for v in x:
        if v > 0:
            s = s + v * x[0]
        else:
            s = s - np.sin(v)
    return s


# Positions of least entries


def index_of_min(p):
    free, wait = [0.0, 0.0, 0.0], 0.0
    for i in range(CUSTOMERS):
        k = free.index(min(free))
        start = max(ARRIVALS[i], free[k])
        wait += start - ARRIVALS[i]
        free[k] = start + SERVICES[i] * np.exp(p[0])
    return wait / CUSTOMERS + p[1] ** 2


def index_of_max(p):
    left, total = [p[0], 1.0, p[1]], 0.0
    for s in SERVICES:
        k = left.index(max(left))
        total += left[k] ** 2
        left[k] = 0.9 * left[k] - 0.1 * s
    return total


def min_by_entries(p):
    free, wait = [0.0, 0.0, 0.0], 0.0
    for a, s in zip(ARRIVALS, SERVICES):
        k = min(range(len(free)), key=free.__getitem__)
        start = max(a, free[k])
        wait += start - a
        free[k] = start + s * np.exp(p[0])
    return wait * p[1]


def nearest_by_lambda(p):
    centres, total = [p[0], p[1], 0.5], 0.0
    for s in SERVICES:
        k = min(range(3), key=lambda j: (centres[j] - s) ** 2)
        total += (centres[k] - s) ** 2
        centres[k] = 0.9 * centres[k] + 0.1 * s
    return total


def index_in_another(p):
    free, other, total = [p[0], 0.2, p[1]], [0.2, 0.1, 0.3], 0.0
    for s in SERVICES:
        k = free.index(min(free[1], free[0])) + other.index(min(other))
        total += free[k % 3] * s
        free[k % 3] = 0.5 * free[k % 3] - 0.1 * s * p[1]
    return total


def many_servers(p):
    free, wait = [0.0] * 9, 0.0
    for a, s in zip(ARRIVALS, SERVICES):
        k = free.index(min(free))
        start = max(a, free[k])
        wait += start - a
        free[k] = start + 9.0 * s * np.exp(p[0])
    return wait * p[1]


def with_a_min_of_its_own(p):
    def least(values, **_):
        return values[-1]

    total, free, min = 0.0, [p[0], 0.2, p[1]], least
    for s in SERVICES:
        k = free.index(min(free))
        if free[k] > 0.0:
            total += free[k] * s
        free[k] = free[k] - 0.1 * s
    return total


def not_a_number(p):
    total = 0.0
    for s in SERVICES:
        with np.errstate(invalid="ignore"):
            values = [np.log(p[0] - s), p[1], s]
        k = values.index(min(values))
        total += (k + 1.0) * p[1] * s
    return total


def of_an_array(p):
    free, wait = np.array([p[0], 0.1, 0.2]), 0.0
    for s in SERVICES:
        k, f = min(enumerate(free), key=lambda pair: pair[1])
        wait += f * s
        free[k] = f + s * np.exp(p[1])
    return wait


def of_what_is_used_up(p):
    wait = 0.0
    for s in SERVICES:
        values = iter([p[0] * s, p[1], 0.2])
        k, v = min(enumerate(values), key=lambda pair: pair[1])
        wait += v * (k + 1) + sum(values)
    return wait


# Largest entries


def windows_of_ints_first(p):
    w, total = [0, 0, 0, 0], 0.0
    for t in TIMES:
        w = w[1:] + [p[0] * t]
        total += max(w) * p[1] - min(w[1:])
    return total / STEPS


def names_and_numbers(p):
    found = {"a": p[0], "b": p[1]}
    first = max(["a", "b"])
    return found[first] * p[0] + max([[p[0], 1.0], [p[1], 2.0]])[1] * p[1]


def a_dict(p):
    table = {1.0: p[0], 2.0: p[1]}
    return table[max(table)] * p[0] + min(table) * p[1]


def empty_list(p):
    if max([p[0], p[1]]) > 0.5:
        return max(list[float]()) * p[0]
    return p[0]


PROGRAMS = [
    planes, while_loops, method, ints_of_a_list, searched_in_a_table, positions_beside_branches, index_of_min, index_of_max,
    min_by_entries, nearest_by_lambda, index_in_another, many_servers, with_a_min_of_its_own, not_a_number, of_an_array,
    of_what_is_used_up, windows_of_ints_first, names_and_numbers, a_dict, empty_list,
]  # fmt: skip
