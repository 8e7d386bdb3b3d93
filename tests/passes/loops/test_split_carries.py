"""Loops hand on the numbers of a small array in place of the array; programs give the same."""

import numpy as np
import pytest
from support.agreement import agree, hessian_agrees

import tapediff as td
from tapediff.base.settings import settings
from tapediff.functions.callees.rolled_loop import rolled
from tapediff.ops.control.calls import LOOP
from tapediff.passes.loops.carries.split_carries import MOST_NUMBERS, split_carries

DATA = np.sin(np.arange(30) * 0.4)
POINT, OTHER = np.array([0.4, 0.8, 1.1]), np.array([0.7, -0.3, 0.6])


def oscillator(p):
    def step(x, y):
        return np.stack([x[0] + 0.1 * x[1], 0.9 * x[1] - p[0] * x[0] + 0.1 * y]), x[0] * p[1]

    last, seen = td.scan(step, np.stack([p[2], p[1]]), DATA)
    return last[0] * last[1] + np.sum(seen**2)


def backwards(p):
    return np.sum(td.scan(lambda x, y: (np.stack([0.5 * x[1] + y, x[0] * p[0]]), x[1]), p[:2] * 1.0, DATA, reverse=True)[1] ** 2)


def in_a_loop(p):
    def outer(total, y):
        last, _ = td.scan(lambda x, z: (np.stack([0.5 * x[1] + z * p[0], np.sin(x[0])]), None), np.stack([y * p[1], total]), DATA)
        return total + 0.1 * last[0] * last[1], last[1]

    total, rows = td.scan(outer, p[2], DATA)
    return total + np.sum(rows)


def beside_a_matrix(p):
    def step(carry, y):
        x, square = carry
        square = 0.9 * square + 0.1 * y * p[0]
        return (np.stack([x[1] * p[1], x[0] + square[0, 1]]), square), None

    x, square = td.scan(step, (np.stack([p[2], p[0]]), np.outer(p[:2], p[:2])), DATA)[0]
    return x[0] + x[1] ** 2 + np.sum(square)


def around_a_loop(p):
    """Each iteration computes one of the numbers in a loop of its own."""

    def step(x, y):
        first = td.scan(lambda s, z: (np.tanh(s * p[0] + z), None), x[0], DATA[:9])[0]
        return np.stack([first + y * x[1], 0.9 * x[1] + p[2] * x[0]]), None

    return np.sum(td.scan(step, np.stack([p[2], p[1]]), DATA)[0] ** 2)


SPLIT = (oscillator, backwards, in_a_loop, beside_a_matrix, around_a_loop)


def as_a_whole(p):
    return np.sum(td.scan(lambda x, y: (np.stack([x[1], np.sum(x) * p[0] * 0.5]) + y, None), p[:2] * 1.0, DATA)[0])


def long(p):
    def step(x, y):
        return np.stack([0.5 * x[k - 1] + y for k in range(MOST_NUMBERS + 1)]), None

    return np.sum(td.scan(step, np.concatenate([p] * MOST_NUMBERS)[: MOST_NUMBERS + 1], DATA)[0])


def vectors(tape):
    """How many loops, those in bodies included, hand on vectors."""
    loops = [i.params for i in tape.instructions if i.op is LOOP]
    handed_on = [any(len(t.shape) == 1 for t in callee.in_types[: form.carries]) for callee, form in loops]
    return sum(handed_on) + sum(vectors(callee.only_tape()) for callee, _ in loops)


@pytest.mark.parametrize("f", SPLIT, ids=lambda f: f.__name__)
def test_arrays_whose_entries_turns_compute_become_numbers(f):
    made = rolled(td.record(f, POINT))
    assert vectors(made) == 0
    made.check()
    agree(f, POINT, OTHER)
    hessian_agrees(td.compile(f, POINT), POINT)


# A callee keeps what was made of the loops in it.
@pytest.mark.parametrize("f", [f for f in SPLIT if f is not in_a_loop], ids=lambda f: f.__name__)
def test_it_is_this_pass_that_does_it(f, monkeypatch):
    monkeypatch.setattr(settings, "left_out", {"split_carries"})
    tape = td.record(f, POINT)
    whole = rolled(tape)
    assert vectors(whole) > 0
    split = split_carries(whole)
    assert vectors(split) == 0
    for p in (POINT, OTHER):
        assert split(p) == whole(p)


@pytest.mark.parametrize("f", [as_a_whole, long], ids=lambda f: f.__name__)
def test_arrays_that_a_turn_uses_as_a_whole_and_long_ones_stay(f):
    made = rolled(td.record(f, POINT))
    assert vectors(made) == 1
    assert split_carries(made) is made
    agree(f, POINT, OTHER)
