"""Calls of sub-tapes beside each other, in turn, and with counts."""

import functools

import numpy as np

import tapediff as td

from . import merged_bodies as programs

POINTS = np.random.default_rng(3).normal(size=(4, 3))


def later_in_paths(v):
    """Its merged form is left at v < -1.5."""
    y = 1.0
    if v > 0.5:
        y = v
    if v < -1.0:
        k = len([w for w in (0.1, 0.2) if w < int(v > -1.7) + 0.15])
        y = y * k
        if v < -1.5:
            y = np.float32(2.0) * y if k else y
    return y * v


def apart(piece):
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


PROGRAMS = {
    "in_turn": in_turn(td.subtape(programs.four_ifs)),
    "with_counts": with_counts(td.subtape(programs.largest)),
    "apart": apart(td.subtape(later_in_paths)),
}
