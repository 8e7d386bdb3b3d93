"""A `try` in a long loop that asks whether a logarithm has a value is a branch: one turn is recorded, with the answers of all."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tapediff as td
from tapediff.ops.control.calls import LOOP

from .long_loops_agree import agree, name_of

pytestmark = pytest.mark.usefixtures("short_recordings_are_long")

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


@pytest.mark.parametrize("f", [logarithms, square_roots, near_minus_one], ids=name_of)
def test_one_turn_is_recorded_with_the_same_answers(f):
    tape = td.record(f, POINTS[0])
    assert any(i.op is LOOP for i in tape.instructions)
    assert len(tape) < 40
    agree(f, POINTS, tape, td.compile(f, POINTS[0]), td.GuardedTape(f))


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


@pytest.mark.parametrize("f", [other_errors, two_logarithms, after_a_change, of_zero], ids=name_of)
def test_others_have_the_same_answers(f):
    agree(f, POINTS[:1], td.record(f, POINTS[0]), td.compile(f, POINTS[0]))
    agree(f, POINTS, td.GuardedTape(f))


def test_the_logarithm_of_nan_is_nan():
    def of_nan(p):
        total, count = p[0], 0.0
        for v in SOME:
            try:
                count += math.log(p[1] * v + 0.5) * 0.0 + 1.0
            except ValueError:
                total += p[1]
        return total

    for made in (td.record(of_nan, POINTS[0]), td.compile(of_nan, POINTS[0]), td.GuardedTape(of_nan)):
        np.testing.assert_allclose(made(POINTS[0]), of_nan(POINTS[0]), rtol=1e-12)
