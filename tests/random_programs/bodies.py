"""Random programs as the bodies of sub-tapes and loops."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import tapediff as td

from .mixed_programs import MixedProgram
from .stateful_branching import KINDS


def in_a_subtape(f):
    piece = td.subtape(f)
    return lambda x: piece(x) + 0.5 * piece(x[::-1] * 1.0) - piece(x * 0.3)


def in_a_subtape_of_a_subtape(f):
    piece = td.subtape(f)
    outer = td.subtape(lambda x: piece(x) * (2.0 if x[1] > 0 else 1.0))
    return lambda x: outer(x) + outer(-x)


def in_a_scan(f):
    return lambda x: td.scan(lambda c, v: (0.25 * c + f(v + 0.1 * c), c), 0.5 * x[0], np.stack([x, x[::-1], 0.5 * x]))[0]


def in_a_while_loop(f):
    def turn(carry):
        k, s, x = carry
        return k + 1.0, 0.5 * s + f(x + 0.1 * s), x

    return lambda x: td.while_loop(lambda carry: carry[0] < 3.0, turn, (0.0, 0.0, x))[1]


def in_a_branch(f):
    return lambda x: td.cond(x[1] > 0, lambda: f(x), lambda: f(x * 0.5) + x[0]) + td.cond(x[2] > 0, lambda: f(-x), lambda: x[1])


FORMS: tuple[Callable, ...] = (in_a_subtape, in_a_subtape_of_a_subtape, in_a_scan, in_a_while_loop, in_a_branch)


# Of functions that give a number, an int and a bool.


def results_of_a_subtape(f):
    piece = td.subtape(f)

    def whole(x):
        total = x[0] * 0.0
        for v in (x, x[::-1] * 1.0, 0.3 * x):
            a, n, hit = piece(v)
            total = total + a + 0.5 * n * v[1] + np.where(hit, v[2], 0.25)
        return total

    return whole


def results_of_a_scan(f):
    def step(carry, v):
        total, n, hit, before = carry
        a, k, is_hit = f(v + 0.1 * total)
        if total > 0.2:
            n = n + 1
        if hit:
            n = 0
            total = total * 0.5
        if v[0] > v[1]:
            before, hit = n, True
        elif is_hit:
            hit = False
        return (total + 0.5 * a + 0.1 * k, n, hit, before), (n, hit)

    def whole(x):
        (total, n, hit, before), (counts, hits) = td.scan(step, (0.5 * x[0], 0, False, 1), np.stack([x, x[::-1], 0.5 * x, -x]))
        return total + n * x[1] + before * x[2] + np.where(hit, x[3], 0.5) + np.sum(counts * x[:4]) + np.sum(hits * x[1:])

    return whole


def results_of_a_branch(f):
    def whole(x):
        a, n, hit = td.cond(x[1] > 0, lambda: f(x), lambda: f(0.5 * x))
        return a + n * x[0] + np.where(hit, x[2], x[3])

    return whole


FORMS_OF_RESULTS: tuple[Callable, ...] = (results_of_a_subtape, results_of_a_scan, results_of_a_branch)
ALL_KINDS: dict[str, Callable[[int], Any]] = {**KINDS, "results": functools.partial(MixedProgram, results=True)}
