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
rng = np.random.default_rng(20261127)
CUSTOMERS = 60
SERVICES = 1.8 * rng.exponential(size=CUSTOMERS)


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


def not_a_number(p):
    total = 0.0
    for s in SERVICES:
        with np.errstate(invalid="ignore"):
            values = [np.log(p[0] - s), p[1], s]
        k = values.index(min(values))
        total += (k + 1.0) * p[1] * s
    return total


# Largest entries


def a_dict(p):
    table = {1.0: p[0], 2.0: p[1]}
    return table[max(table)] * p[0] + min(table) * p[1]


def empty_list(p):
    if max([p[0], p[1]]) > 0.5:
        return max(list[float]()) * p[0]
    return p[0]


PROGRAMS = [
    planes, while_loops, method, ints_of_a_list, positions_beside_branches, not_a_number, a_dict, empty_list,
]  # fmt: skip
