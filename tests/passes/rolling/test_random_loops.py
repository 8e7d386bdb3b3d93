"""Random programs with loops give the same answers rolled and as they were recorded; TAPEDIFF_FUZZ_EXAMPLES makes it a long run."""

import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings as hypothesis_settings, strategies as st
from support.agreement import by_numpy

import tapediff as td
from tapediff.functions.callees import rolled_loop as rolled
from tapediff.passes.pipeline import run_passes
from tapediff.passes.rolling import repetition
from tapediff.passes.rolling.repetition import Finder
from tapediff.passes.rolling.tape_arrays import TapeArrays
from tapediff.targets.tapes.gradient_tape import gradient_tape
from tests.passes.rolling.both_ways import with_rolling

POINT = 0.8 + 0.3 * np.sin(np.arange(24) * 1.3)


class Program:
    """A function with loops, made of random numbers."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.sections = [self.section() for _ in range(self.rng.integers(1, 4))]

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def index(self):
        a, b = int(self.pick(1, 1, 1, -1, 2, 0)), int(self.rng.integers(-3, 4))
        table = self.rng.integers(0, 24, 64)
        return self.pick(lambda i: (a * i + b) % 24, lambda i: (a * i + b) % 24, lambda i: int(table[i]), lambda i: i // 3 % 24, lambda i: i % 3)

    def operand(self, depth=0):
        """A function of (x, i, state) that gives a number."""
        index, table, k = self.index(), self.rng.normal(size=64), int(self.rng.integers(3))
        constant = float(self.rng.choice([0.5, 1.0, -0.3, 0.0, -0.0]))
        kinds = [
            lambda x, i, s: x[index(i)], lambda x, i, s: x[index(i)], lambda x, i, s: s[k], lambda x, i, s: table[i] if s is not None else 0,
            lambda x, i, s: constant, lambda x, i, s: s[3][index(i) % len(s[3])] if len(s[3]) else x[0],
            lambda x, i, s: s[3][-2] if len(s[3]) > 1 else x[1], lambda x, i, s: np.sum(s[4]), lambda x, i, s: s[4][k],
        ]  # fmt: skip
        if depth < 3 and self.rng.random() < 0.6:
            one, other = self.operand(depth + 1), self.operand(depth + 1)
            kinds = [
                lambda x, i, s: one(x, i, s) * other(x, i, s), lambda x, i, s: one(x, i, s) - other(x, i, s), lambda x, i, s: one(x, i, s) + other(x, i, s),
                lambda x, i, s: np.sin(one(x, i, s)), lambda x, i, s: np.exp(-abs(one(x, i, s))), lambda x, i, s: np.maximum(one(x, i, s), other(x, i, s)),
                lambda x, i, s: np.where(one(x, i, s) > 0.3, other(x, i, s), x[3]), lambda x, i, s: one(x, i, s) / (1.5 + other(x, i, s) ** 2),
            ]  # fmt: skip
        return kinds[self.rng.integers(len(kinds))]

    def statement(self, depth):
        what, k = self.operand(), int(self.rng.integers(3))

        def add(x, i, s):
            s[k] = s[k] + what(x, i, s)

        def take(x, i, s):
            s[k] = s[k] - what(x, i, s)

        def carry(x, i, s):
            s[k] = 0.7 * s[k] + 0.2 * np.tanh(what(x, i, s))

        def swap(x, i, s):
            s[k], s[(k + 1) % 3] = s[(k + 1) % 3], s[k]

        def assign(x, i, s):
            s[k] = what(x, i, s)

        def append(x, i, s):
            s[3].append(what(x, i, s) * 1.0 + x[0])

        def fill(x, i, s):
            s[5][i % 24] = what(x, i, s)

        def move(x, i, s):
            s[4] = 0.5 * s[4] + np.stack([s[4][1], s[4][2] * 0.3, what(x, i, s) + x[2]])

        def product(x, i, s):
            s[4] = np.tanh(np.reshape(x[:9], (3, 3)) @ s[4] + what(x, i, s))

        if depth == 0 and self.rng.random() < 0.15:
            inner = self.loop(1)
            self.nests = True
            return inner
        return self.pick(add, add, take, carry, swap, assign, append, fill, move, product)

    def loop(self, depth=0):
        self.nests = False
        body = [self.statement(depth) for _ in range(self.rng.integers(1, 5))]
        # A few hundred iterations in all: more find nothing else, and take longer than all other programs together.
        count = int(self.pick(9, 12) if depth else self.pick(9, 11) if self.nests else self.pick(9, 13, 24, 40))
        first = int(self.rng.integers(3))

        def run(x, i, s):
            for j in range(first, first + count):
                for each in body:
                    each(x, j, s)

        return run

    def section(self):
        if self.rng.random() < 0.2:

            def guard(x, i, s):
                if s[0] > s[1]:
                    s[0] = s[0] * 0.5

            return guard
        return self.loop()

    def __call__(self, x):
        s = [x[0] * 1.0, x[1] * 0.5, x[2] * 1.0, [], x[3:6] * 1.0, td.zeros(24)]
        for each in self.sections:
            each(x, 0, s)
        total = s[0] + s[1] * s[2] + np.sum(s[4]) + np.sum(s[5] * np.arange(24.0))
        if len(s[3]):
            total = total + np.sum(np.stack(s[3][-40:]) ** 2) + s[3][0]
        return total


def is_stable(f):
    """Whether the last bits of the point do not matter; the plain function alone decides, so that no fault of a tape can hide here.

    Loops like s = s * s - x are chaotic: NumPy and a kernel, or two orders of addition, then differ without anything being wrong.
    """
    rng, value = np.random.default_rng(0), f(POINT)
    moved = [f(POINT * (1.0 + 2.2e-16 * rng.choice([-1.0, 0.0, 1.0], POINT.size))) for _ in range(4)]
    # A hundredth of what is asked of values below.
    return bool(np.all(np.abs(np.subtract(moved, value)) <= 1e-11 * (1.0 + abs(value))))


@np.errstate(all="ignore")  # some programs overflow
def holds(seed):
    """Whether a random program was rolled; its values and gradients are the same either way."""
    f = Program(seed)
    tape = td.record(f, POINT)
    straight = run_passes(tape, rolled.STRAIGHTEN)
    rolled_tape = with_rolling(True, lambda: rolled.rolled(tape))
    rolled_tape.check()
    assert len(rolled_tape) <= len(straight) + 2
    assert [(g.kind, g.outcome, g.ordinal) for g in rolled_tape.guards] == [(g.kind, g.outcome, g.ordinal) for g in tape.guards]
    on, off = (with_rolling(k, lambda: gradient_tape(replace(tape), (0,))) for k in (True, False))
    on.check()
    for x in (POINT, POINT * (1.0 + 1e-9)) if is_stable(f) else ():
        one, other = by_numpy(lambda x=x: on(x)), by_numpy(lambda x=x: off(x))
        np.testing.assert_allclose(by_numpy(lambda x=x: rolled_tape(x)), other[0], rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}")
        np.testing.assert_allclose(one[0], other[0], rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}")
        np.testing.assert_allclose(one[1], other[1], rtol=1e-8, atol=1e-8 * max(1.0, np.abs(other[1]).max()), err_msg=f"seed {seed}")
    return len(rolled_tape) < len(straight)


# TAPEDIFF_FUZZ_EXAMPLES turns this into a long run.
EXAMPLES = max(1, int(os.environ.get("TAPEDIFF_FUZZ_EXAMPLES", 40)) // 2)


@hypothesis_settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**32 - 1))
@pytest.mark.slow
def test_random_programs_give_the_same_answers(seed):
    holds(seed)


def test_many_random_programs_are_rolled():
    """Of the gradients of these nothing is looked at."""
    tapes = [td.record(Program(seed), POINT) for seed in range(12)]
    assert sum(len(with_rolling(True, lambda: rolled.rolled(tape))) < len(run_passes(tape, rolled.STRAIGHTEN)) for tape in tapes) >= 8


@pytest.mark.parametrize("seed", range(10))
def test_where_a_stretch_breaks_nearby_all_of_its_rows_say_the_same(seed, monkeypatch):
    """The same repetitions, with few rows looked at before all others and with all of them."""
    straight = run_passes(td.record(Program(seed), POINT), rolled.STRAIGHTEN)

    def repetitions(nearby):
        monkeypatch.setattr(repetition, "NEARBY", nearby)
        finder, place, found = Finder(TapeArrays(straight)), 0, []
        while (each := finder.next(place)) is not None:
            found.append(each)
            place = each.end
        return found

    some, every = repetitions(1), repetitions(10**6)
    assert len(some) == len(every)
    for one, other in zip(some, every):
        for name, value in vars(one).items():
            np.testing.assert_array_equal(value, vars(other)[name], err_msg=name)
