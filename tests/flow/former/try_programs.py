"""A `try` in a long loop that asks whether a logarithm has a value is a branch: one turn is recorded, with the answers of all."""

from __future__ import annotations

import math

import numpy as np

TURNS = 300
TIMES = np.random.default_rng(20261132).normal(size=TURNS)
SOME = np.where(np.arange(TURNS) % 7 == 0, np.nan, TIMES)
POINTS = np.array([[0.9, 0.8], [0.3, 0.3], [-1.4, 0.95], [0.01, 1.5]])


def logarithms(p):
    total = 0.0
    for v in TIMES:
        try:
            total += math.log(p[0] * v + 1.0)
        except ValueError:
            total += p[1]
    return total / TURNS


def square_roots(p):
    total, count = 0.0, 0
    for v in TIMES:
        try:
            root = math.sqrt(p[0] * v + 0.5) * p[1]
            total += root * root * p[0] - root
        except ValueError:
            count += 1
            continue
        total -= 0.1 * p[1]
    return total / TURNS + count * p[0]


def near_minus_one(p):
    total = p[0]
    for v in TIMES:
        try:
            total = 0.5 * total + math.log1p(p[1] * v)
        except ValueError:
            pass
    return total


def other_errors(p):
    total = 0.0
    for v in TIMES:
        try:
            total += math.log(p[0] * v + 1.0) + float("1.0")
        except ValueError:
            total += p[1]
        try:
            total += math.exp(p[0] * v)
        except OverflowError:
            total += p[1]
    return total / TURNS


def two_logarithms(p):
    total = 0.0
    for v in TIMES:
        try:
            total += p[1]
            total += math.log(p[0] * v + 1.0) + math.log(p[1] * v + 2.0)
        except ValueError:
            total += p[1]
    return total / TURNS


def after_a_change(p):
    total = 0.0
    for v in TIMES:
        try:
            total += p[1]
            total += math.log(p[0] * v + 1.0)
        except ValueError:
            total += p[0] * 0.1
    return total / TURNS


def of_zero(p):
    total = 0.0
    for v in TIMES:
        try:
            total += math.sqrt(0.0 * v) + math.log(v * 0.0) * p[0]
        except ValueError:
            total += p[1] * v * p[0]
    return total


def of_nan(p):
    total, count = p[0], 0.0
    for v in SOME:
        try:
            count += math.log(p[1] * v + 0.5) * 0.0 + 1.0
        except ValueError:
            total += p[1]
    return total


PROGRAMS = [logarithms, square_roots, near_minus_one, other_errors, two_logarithms, after_a_change, of_zero, of_nan]
