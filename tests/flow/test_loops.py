"""Loops that data end, as one instruction: carries of every kind of place, exits, errors of iterations."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import tapediff as td
from flow.one_tape import POINTS, recordings
from tapediff.flow.blocks import loops


def bouncing_ball(x):
    height, speed, t, bounces = 1 + abs(x[0]), x[1], 0.0, 0
    while t < 2.0:
        speed = speed - 9.8 * 0.05
        height = height + speed * 0.05
        if height < 0:
            height, speed = -height, -0.8 * speed
            bounces += 1
        t += 0.05 * (1 + 0.01 * abs(x[2]))
    return height + speed + bounces


def left_in_three_ways(x):
    s, k = abs(x[0]) * 10 + 2, 0
    while True:
        if s < 1.0:
            break
        s = s / 2 if k % 2 == 0 else s - 0.7
        k += 1
        if k > 3 and x[1] > 0:
            return s * 2
    else:
        s = 5.0
    return s + k


class Machine:
    def __init__(self):
        self.a, self.mode, self.counts = 0.0, "up", [0.0, 0.0]


def state_of_an_object(x):
    machine, last = Machine(), None
    while machine.a < 3:
        if machine.mode == "up":
            machine.a += abs(x[0]) + 0.3
            if machine.a > 1.5:
                machine.mode = "slow"
        else:
            machine.a += 0.1
        machine.counts[0] += 1.0
        last = machine.a
    return machine.a + machine.counts[0] + last


def returned_from_within(x):
    i, s = 0, 0.0
    while i < len(x):
        s += x[i]
        if s > 1.0:
            return s * i
        i += 1
    return -s


def dict_and_namedtuple(x):
    table = {"a": 0.0, "n": 0}
    while table["a"] < 2:
        table["a"] += abs(x[2]) + 0.5
        table["n"] += 1
    return table["a"] * table["n"]


LOOPS = [
    bouncing_ball, left_in_three_ways, state_of_an_object, returned_from_within, dict_and_namedtuple,
]  # fmt: skip


@pytest.mark.parametrize("program", LOOPS, ids=lambda f: f.__name__)
def test_one_tape_holds_every_number_of_iterations(program):
    """Value and gradient are those of plain Python at 24 points, by one recording."""
    assert recordings(program) == 1


def test_kernels_give_what_replays_give():
    """The loop as native code."""
    points = np.random.default_rng(3).normal(size=(8, 6))
    for program in (bouncing_ball, state_of_an_object):
        compiled = td.GuardedTape(program)
        for x in points:
            np.testing.assert_allclose(compiled(x), program(x.copy()), rtol=1e-12)
            np.testing.assert_allclose(td.gradient(compiled, x), td.gradient(td.record(program, x), x), rtol=1e-9, atol=1e-12)
        assert compiled.stats.recordings == 1


DRAWS = [0.3, 1.1, 0.6, 0.9, 0.2, 1.4, 0.8, 0.5] * 20


def takes_entries(x):
    left, drawn, t, n = list(DRAWS), random.Random(3), 0.0, 0
    while left.pop() * (1.2 + 0.2 * np.tanh(x[0])) > 0.3:
        t += drawn.random() * x[1]
        n += 1
    return t + n + len(left)


def counts_in_its_test(x):
    drawn, n, t = random.Random(3), 0, x[0]
    while (n := n + 1) < 30 and t < 2 + x[1]:
        t += drawn.random()
    return t * x[2] + n


def keeps_a_log(x):
    drawn, n, t, log = random.Random(3), 0, x[0], []

    def is_before():
        log.append(t)
        return t < 2 + abs(x[1])

    while is_before():
        t += drawn.random() if n < 500 else 1.0
        n += 1
    return t * x[2] + n + sum(log) * len(log)


def steps_of_a_generator(x):
    drawn, t, n = random.Random(3), 0.0, 0
    while t < 4 + x[0]:
        t += -math.log(drawn.random()) if n < 500 else 1.0
        n += 1
    return t * x[1] + n


@pytest.mark.parametrize(
    "program", [takes_entries, counts_in_its_test, keeps_a_log, steps_of_a_generator], ids=lambda f: f.__name__
)
def test_each_test_of_a_loop_by_guards_is_evaluated_once(program):
    """Random numbers on conditional iterations need guards; the tests before them change lists and counters."""
    g = td.GuardedTape(program)
    for x in POINTS:
        np.testing.assert_allclose(g(x), program(x), rtol=1e-12)


@pytest.mark.parametrize("long", [20, 60, 150, 400])
@pytest.mark.slow
def test_a_loop_may_become_one_instruction_at_any_iteration(long, monkeypatch):
    """Also where the last one has just been recorded: while, for, with a break and an else, within each other."""
    monkeypatch.setattr(loops, "LONG", long)

    def program(x, count, inner):
        n, s = 0, x[0]
        while n < count:
            for k in range(inner):
                s = s + 0.1 * np.sin(s * x[1] + k)
                if s > 3:
                    s = s - x[2]
                elif s < -2:
                    break
            else:
                s = s + 0.01
            n += 1
        else:
            s = 1.01 * s
        return s + n

    for count in range(14):
        for inner in (1, 3, 12):
            g = td.GuardedTape(lambda x: program(x, count, inner))
            for x in POINTS[:2]:
                np.testing.assert_allclose(g(x), program(x, count, inner), rtol=1e-12)
