"""The largest and smallest numbers of short lists are choices, in long loops and elsewhere; of what else max and min take they are Python's."""

from __future__ import annotations

import numpy as np

TURNS = 300
TIMES = np.random.default_rng(20261130).normal(size=TURNS)
POINTS = np.array([[0.4, 0.8], [0.9, 0.3], [-1.4, 0.95]])


def windows(p):
    w, total = [0.0, 0.0, 0.0], 0.0
    for t in TIMES:
        w = [p[0] * t] + w[:-1]
        total += max(w) - min(w) + sum(w) * p[1]
    return total / TURNS


def windows_of_ints_first(p):
    w, total = [0, 0, 0, 0], 0.0
    for t in TIMES:
        w = w[1:] + [p[0] * t]
        total += max(w) * p[1] - min(w[1:])
    return total / TURNS


def windows_that_decide(p):
    w, total = [0.5, 0.1], p[1]
    for t in TIMES:
        w = [w[1], t * p[0]]
        if t > max(w) - 0.2:
            total += t * max(w)
    return total


def an_int_or_a_float(p):
    of = [p[0] * p[1], 2]
    k = max(of)
    return p[0] * p[1] + k


def names_and_numbers(p):
    found = {"a": p[0], "b": p[1]}
    first = max(["a", "b"])
    return found[first] * p[0] + max([[p[0], 1.0], [p[1], 2.0]])[1] * p[1]


def an_index(p):
    k = max([int(p[0] > 0.0), 0])
    return p[k] * p[1]


def of_an_array(p):
    row = p * np.array([2.0, -1.0])
    return max(row) * p[0] + min(row) * p[1]


def not_a_number(p):
    of = [p[0], float("nan"), p[1]]
    return max(of) * p[0] + max(of[2:] + of[:1])


def a_dict(p):
    table = {1.0: p[0], 2.0: p[1]}
    return table[max(table)] * p[0] + min(table) * p[1]


def empty_list(p):
    if max([p[0], p[1]]) > 0.5:
        return max(list[float]()) * p[0]
    return p[0]


PROGRAMS = [
    windows,
    windows_of_ints_first,
    windows_that_decide,
    an_int_or_a_float,
    names_and_numbers,
    an_index,
    of_an_array,
    not_a_number,
    a_dict,
    empty_list,
]
