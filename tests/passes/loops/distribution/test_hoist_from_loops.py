"""What a loop's body computes from its entries alone is computed for all iterations at once, outside the loop."""

import numpy as np
import pytest
from support.agreement import agree, hessian_agrees

import tapediff as td
from tapediff.base.settings import settings
from tapediff.ir.interpreter import run
from tapediff.ops.control.calls import LOOP
from tapediff.passes.loops.distribution.hoist_from_loops import hoist_from_loops
from tapediff.passes.pipeline import PIPELINE, run_passes
from tapediff.targets.tapes.gradient_tape import gradient_tape

RNG = np.random.default_rng(1)
DATA, ROWS = RNG.normal(size=40), RNG.normal(size=(40, 3))


def scalars(x):
    body = lambda c, t: (0.9 * c + np.sin(t * x[0]), None)
    return td.scan(body, x[1], DATA)[0]


def backwards_with_results(x):
    def body(c, t):
        rate = np.exp(t * x[0]) / (1 + t**2)
        return c * 0.5 + rate, (rate, c * rate)

    c, (rates, products) = td.scan(body, x[1], DATA, reverse=True)
    return c + np.sum(rates**2) + np.sum(products * DATA)


def rows_and_indices(x):
    def body(c, row):
        weights = np.exp(row * x[:3]) * np.log1p(row[0] ** 2)
        return c * 0.8 + np.sum(weights) * c + np.tanh(row[1]), weights[2]

    c, last = td.scan(body, x[3] * 0.1, ROWS * 0.1)
    return c + np.sum(last)


def state_space(x):
    def body(carry, entry):
        h, total = carry
        y, t = entry
        h = x[0] * h + np.exp(x[1]) * t
        return (h, total - 0.5 * h - 0.5 * y**2 * np.exp(-h)), h

    (h, total), hs = td.scan(body, (x[2], 0.0), (DATA, DATA[::-1] * x[3]))
    return total + hs[3] * h


def nested(x):
    def outer(c, row):
        c, ys = td.scan(lambda d, t: (d * 0.5 + np.sin(t * x[0]), d), c, row)
        return c, np.sum(ys) * np.exp(row[0])

    c, ys = td.scan(outer, x[1], ROWS[:20])
    return c * np.sum(ys)


FUNCTIONS = pytest.mark.parametrize(
    ("f", "size"), [(scalars, 2), (backwards_with_results, 2), (rows_and_indices, 4), (state_space, 4), (nested, 2)]
)


@FUNCTIONS
def test_values_and_derivatives_stay(f, size):
    points = 0.5 * RNG.normal(size=(3, size))
    tape = agree(f, *points)
    hessian_agrees(tape, points[0])


@FUNCTIONS
def test_the_tape_without_the_pass_gives_the_same(f, size):
    """Up to NumPy's own functions, which differ in the last bits between numbers and arrays."""
    x = 0.5 * RNG.normal(size=size)
    tape = gradient_tape(td.record(f, x), (0,))
    before = run_passes(td.record(f, x), [s for s in PIPELINE if s.run is not hoist_from_loops])
    after = hoist_from_loops(before)
    after.check()
    for a, b in zip(run(before, [x]), run(after, [x])):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    tape.check()


@pytest.mark.skipif("hoist_from_loops" in settings.left_out, reason="the pass is left out")
def test_no_costly_function_of_the_entries_is_left_in_the_loops():
    tape = gradient_tape(td.record(scalars, np.ones(2)), (0,))
    loops = [i for i in tape.instructions if i.op is LOOP]
    assert loops
    for loop in loops:
        body = loop.params[0].variant_tape(0)
        assert not {"sin", "cos"} & {i.op.name for i in body.instructions}


def test_what_the_carries_need_stays_in_the_loop():
    f = lambda x: td.scan(lambda c, t: (np.sin(c * x + t), None), x, DATA)[0]
    tape = run_passes(td.record(f, 0.3))
    (loop,) = [i for i in tape.instructions if i.op is LOOP]
    assert "sin" in {i.op.name for i in loop.params[0].variant_tape(0).instructions}


def test_bodies_that_branch_are_left_alone():
    def f(x):
        def body(c, t):
            return (np.sin(t * x) if c > 0 else np.log(t * t)) + 0.1 * c, None

        return td.scan(body, x, DATA)[0]

    agree(lambda x: f(x[0]), np.array([0.3]), np.array([-0.8]), rtol=1e-5)


# Streams that are computed before their loop: cheap ones and costly ones, over arrays.

WIDTH = 11
WIDE, OTHERS = RNG.normal(size=(2, 20, WIDTH))


def last_row(streams, x, **options):
    body = lambda c, u: (np.tanh(c * x[0] + u), None)
    return np.sum(td.scan(body, np.full(WIDTH, x[1]), streams, **options)[0])


def scaled(x):
    return last_row(x[0] * WIDE, x)


def chain(x):
    """An array of which another one is made, where the loop reads both."""
    scale = x[1] * WIDE
    body = lambda c, u: (np.where(c > 0.1, c * x[0] * u[1], c - u[0]), None)
    return np.sum(td.scan(body, np.full(WIDTH, 0.3), (scale, 1.0 + scale))[0] ** 2)


def backwards(x):
    return last_row(np.where(WIDE > 0.0, x[1], -1.0), x, reverse=True)


def with_rows(x):
    """The loop gives an array for each iteration, too."""
    body = lambda c, u: (c * x[0] + u, c * u)
    c, rows = td.scan(body, np.full(WIDTH, x[1]), x[1] - WIDE)
    return np.sum(c) + np.sum(rows * OTHERS)


def in_a_loop(x):
    """The inner loop's streams are made of what the outer one is given."""
    outer = lambda s, k: (s + last_row(k * WIDE, x), None)
    return td.scan(outer, 0.0, np.linspace(0.1, 1.0, 4))[0]


@pytest.mark.parametrize("f", [scaled, chain, backwards, with_rows, in_a_loop])
def test_loops_give_the_same_whatever_their_streams_are_computed_of(f):
    """At a few points, up to second order."""
    points = [np.array(p) for p in ([0.7, 0.4], [-0.6, 0.9], [1.1, -1.0])]
    hessian_agrees(agree(f, *points), points[0])
