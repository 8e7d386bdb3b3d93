"""Where the least of some values is, in the words in which Python's programs ask for it, is one position in long loops."""

from __future__ import annotations

import numpy as np

rng = np.random.default_rng(20261127)
CUSTOMERS = 60
ARRIVALS = np.cumsum(rng.exponential(size=CUSTOMERS))
SERVICES = 1.8 * rng.exponential(size=CUSTOMERS)
POINTS = np.vstack([[[0.4, 0.8], [0.7, 0.3], [-0.9, 0.95], [1.6, -0.4], [0.05, 0.1]], rng.normal(size=(6, 2))])


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


def min_by_lambda(p):
    free, wait = [0.0, 0.0, 0.0], 0.0
    for a, s in zip(ARRIVALS, SERVICES):
        k = min(range(3), key=lambda j: free[j])
        start = max(a, free[k])
        wait += start - a
        free[k] = start + s * np.exp(p[0])
    return wait * p[1]


def min_of_enumerate(p):
    free, wait = [0.0, 0.0, 0.0], 0.0
    for a, s in zip(ARRIVALS, SERVICES):
        k, f = min(enumerate(free), key=lambda pair: pair[1])
        start = max(a, f)
        wait += start - a
        free[k] = start + s * np.exp(p[0])
    return wait * p[1]


def min_of_pairs(p):
    free, wait = [0.0, 0.0, 0.0], 0.0
    for a, s in zip(ARRIVALS, SERVICES):
        f, k = min((f, k) for k, f in enumerate(free))
        start = max(a, f)
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


def index_as_a_position(p):
    free, total = [0.1 * p[0], 0.013, 0.207, 0.31], 0.0
    for s in SERVICES:
        e, k = min((v, j) for j, v in enumerate(free))
        free[k] = e + np.exp(0.1 * p[k % 2]) * s
        total += e * (k + 1)
    return total / 100


def last_of_equal_pairs(p):
    free, total = [p[0], p[0], p[0]], 0.0
    for s in SERVICES:
        f, k = max((f, k) for k, f in enumerate(free))
        total += f * s * (k + 1.0)
        free[k] = f - s * np.exp(p[1])
    return total


def branches_beside_it(p):
    """Behind a `continue` the position is chosen."""
    free, total = [0.0, 0.0, 0.0], 0.0
    for i in range(CUSTOMERS):
        t = np.abs(p[0]) * i * 0.4
        k, e = min(enumerate(free), key=lambda pair: pair[1])
        if e > t + p[1]:
            total += 0.1 * p[1]
            continue
        s = max(t, e)
        total += s - t
        free[k] = s + p[1] * (1 + (i * 7 % 5) / 3)
    return total + sum(free)


MERGED = [
    index_of_min, index_of_max, min_by_entries, min_by_lambda, min_of_enumerate, min_of_pairs, index_as_a_position, last_of_equal_pairs,
]  # fmt: skip


def first_two_by_lambda(p):
    free, wait = [p[0], 0.2, -5.0], 0.0
    for a, s in zip(ARRIVALS, SERVICES):
        k = min(range(2), key=lambda j: free[j])
        wait += free[k] * p[1]
        free[k] = free[k] + s - 0.1 * a
    return wait


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


def nothing_to_compare(p):
    total, none = p[0], []
    for s in SERVICES:
        if total > s:
            total = total * 0.9
        try:
            total += none.index(min(none))
        except ValueError:
            total += p[1] * s
    return total


def not_a_number(p):
    total = 0.0
    for s in SERVICES:
        with np.errstate(invalid="ignore"):
            values = [np.log(p[0] - s), p[1], s]
        k = values.index(min(values))
        total += (k + 1.0) * p[1] * s
    return total


OTHERS = [
    branches_beside_it, nearest_by_lambda, first_two_by_lambda, index_in_another, many_servers, with_a_min_of_its_own, nothing_to_compare, not_a_number,
]  # fmt: skip


def of_an_array(p):
    free, wait = np.array([p[0], 0.1, 0.2]), 0.0
    for s in SERVICES:
        k, f = min(enumerate(free), key=lambda pair: pair[1])
        wait += f * s
        free[k] = f + s * np.exp(p[1])
    return wait


def of_an_array_by_range(p):
    free, wait = np.array([p[0], 0.1, 0.2]), 0.0
    for s in SERVICES:
        k = max(range(len(free)), key=free.__getitem__)
        wait += free[k] * s
        free[k] = free[k] - s * np.exp(p[1])
    return wait


def of_a_dict(p):
    known, wait = {0: 0.3, 1: 0.2, 2: p[0]}, 0.0
    for s in SERVICES:
        k, key = min(enumerate(known), key=lambda pair: pair[1])
        wait += known[key] * s * (k + 1)
        known[key] = known[key] + s * p[1]
        if known[key] > 3.0:
            known[key] = known[key] * 0.5
    return wait


def of_what_is_used_up(p):
    wait = 0.0
    for s in SERVICES:
        values = iter([p[0] * s, p[1], 0.2])
        k, v = min(enumerate(values), key=lambda pair: pair[1])
        wait += v * (k + 1) + sum(values)
    return wait


def with_a_name_in_the_key(p):
    total, v = 0.0, 3.0
    for s in SERVICES:
        k = min(range(3), key=lambda j: (v := p[j % 2] * s * (j + 1)) * v)
        total += v * s + k * p[0]
    return total


def in_a_function_of_the_loop(p):
    total = 0.0
    for s in SERVICES:

        def nearest(values):
            return values.index(min(values))

        total += nearest([p[0] * s, p[1], 0.317]) * p[1] + s * p[0]
    return total


PROGRAMS = [
    index_of_min,
    index_of_max,
    min_by_entries,
    min_by_lambda,
    min_of_enumerate,
    min_of_pairs,
    nearest_by_lambda,
    index_as_a_position,
    last_of_equal_pairs,
    branches_beside_it,
    first_two_by_lambda,
    index_in_another,
    many_servers,
    with_a_min_of_its_own,
    nothing_to_compare,
    not_a_number,
    of_an_array,
    of_an_array_by_range,
    of_a_dict,
    of_what_is_used_up,
    with_a_name_in_the_key,
    in_a_function_of_the_loop,
]
