"""Numbers that a generator of the recorded function draws on sides of branches."""

from __future__ import annotations

import copy
import math
import random

import numpy as np
import pytest
from scipy import stats

import tapediff as td
from flow.one_tape import POINTS, recordings


def annealing(x):
    rng = random.Random(1)
    at, heat = x[0], 1.0 + abs(x[1])
    cost = (at - 1) ** 2
    for _ in range(30):
        new = at + rng.gauss(0, 0.3)
        found = (new - 1) ** 2 + 0.3 * math.sin(5 * new)
        if found < cost or rng.random() < math.exp(-(found - cost) / heat):
            at, cost = new, found
        heat *= 0.95
    return cost + rng.random() * x[2]


def unlike_draws(x):
    rng = np.random.default_rng(3)
    s, v = 0.0, x[0]
    for _ in range(12):
        if v > 0.3 * x[1]:
            v = v + 0.3 * rng.normal() - 0.2
        elif v < -0.5:
            v = v + rng.uniform(0.0, 1.0) * x[2]
        else:
            v = v * 0.9 + rng.integers(0, 3) * 0.1
        s += v * v
    return s


def arrays_drawn(x):
    rng = np.random.RandomState(1)
    y = x[:3] * 1.0
    for _ in range(6):
        y = y * 0.5 - rng.randn(3) * 0.3 if y.sum() > 0 else y + abs(rng.standard_normal(3))
    return (y * y).sum()


PROGRAMS = [annealing, unlike_draws, arrays_drawn]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_draws_on_sides_need_one_recording(program):
    """The generator's state after a branch is that of the side that was taken."""
    assert recordings(program, POINTS[:12]) == 1


def test_what_a_draw_changes_beside_the_generator_is_decided_by_a_guard():
    """`shuffle` writes to its argument."""

    def program(x):
        rng, items = random.Random(2), [x[0], x[1], x[2]]
        if x[3] > 0:
            rng.shuffle(items)
        return items[0] * 2 + items[1] + rng.random() * x[2]

    assert recordings(program, POINTS[:12]) == 2


def test_too_many_states_are_decided_by_guards():
    """Draws of three kinds on independent branches."""

    def program(x):
        rng, s = random.Random(4), 0.0
        for k in range(14):
            if math.sin(k * x[0]) > x[1]:
                s += rng.choice([1.0, 2.0, x[2]])
            if rng.random() < 0.5:
                s *= 0.9
            elif x[2] > 0 and rng.randint(1, 6) > 3:
                s += rng.gauss(x[0], 0.1)
        return s

    g = td.GuardedTape(program)
    for p in POINTS[:4]:
        assert g(p[:3]) == pytest.approx(program(p[:3]), rel=1e-12)


def test_other_code_finds_the_state_that_the_program_sees():
    """`shuffle`, a copy and the bit generator: guards decide the state, if that is data."""

    def shuffled(x):
        rng, items = random.Random(2), [x[0], x[1], x[2]]
        s = x[3]
        for v in x[:2]:
            s = s + rng.random() if v > 0 else s * 0.5
        rng.shuffle(items)
        return s + items[0] * 2 + items[1] + rng.random() * x[2]

    def of_one_side(x):
        rng, items = random.Random(3), [x[0], x[1], x[2]]
        s = rng.random()
        if x[3] > 0:
            s = s + rng.random() * x[1]
        if x[0] > 0:
            rng.shuffle(items)
            s = s * 2 if x[1] > 0 else s + rng.random()
        return s * items[0] + items[2] * rng.random()

    def copied(x):
        rng = np.random.default_rng(4)
        s = rng.normal() if x[0] > 0 else x[1]
        other = copy.deepcopy(rng)
        third = np.random.Generator(rng.bit_generator)
        return s + other.normal() * x[2] + third.normal() * x[3] + rng.normal()

    for program in (shuffled, of_one_side, copied):
        assert recordings(program, POINTS[:12]) <= 6


def test_states_after_attempts_that_are_given_up():
    """A side that draws and cannot be joined is run once more."""

    def program(x):
        rng, s = random.Random(6), x[0]
        for k, v in enumerate(x[1:5]):
            if v > 0:
                s = s + rng.random()
                try:
                    s = s + (1.0 / int(v * 2) if k % 2 else 0.0)
                except ZeroDivisionError:
                    s = s - rng.gauss(0, 1)
            else:
                s = s * rng.uniform(0.5, 1.5)
        return s * rng.random()

    assert recordings(program, POINTS[:12]) <= 2


def of_shared_state(x):
    bits = np.random.PCG64(3)
    a, b = np.random.Generator(bits), np.random.Generator(bits)
    s = x[0]
    for v in x[:3]:
        if v > 0:
            s = s + a.normal()
        s = s * 0.5 + b.random()
    return s + a.random()


def given_to_scipy(x):
    rng = np.random.default_rng(1)
    s = rng.random()
    if x[0] > 0:
        s = s + rng.normal() * x[1]
    s = s + stats.norm.rvs(random_state=rng) * x[2]
    if x[1] > 0:
        s = s + stats.norm.rvs(random_state=rng)
    return s + rng.random()


hidden: dict = {}
exec("def draw(box): return box[0].random()", hidden)  # without source, so it is not translated


def drawn_behind(x):
    rng = random.Random(5)
    s = x[0] + rng.random() if x[1] > 0 else x[2]
    s = s + hidden["draw"]([rng])
    return s * rng.random()


def equal_arguments(x):
    rng = random.Random(2)
    y = rng.choice((1, 2)) if x[2] > 0 else rng.choice((True, 2.5))
    return x[0] + y + (1 if isinstance(y, float) else 0) + rng.uniform(0, 1) * x[1]


@pytest.mark.parametrize("program", [of_shared_state, given_to_scipy, drawn_behind, equal_arguments], ids=lambda f: f.__name__)
def test_states_that_others_read_or_change(program):
    """Guards decide them; each value is Python's."""
    assert recordings(program, POINTS[:12]) <= 8
