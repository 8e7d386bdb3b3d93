"""Cheap streams of loops over arrays are computed where the loop reads them."""

import numpy as np
import pytest
from support.agreement import agree, hessian_agrees

import tapediff as td
from tapediff.base.settings import settings
from tapediff.ir.interpreter import run
from tapediff.ops.control.calls import LOOP
from tapediff.passes.loops.distribution.sink_into_loops import sink_into_loops
from tapediff.passes.pipeline import PIPELINE, run_passes

RNG = np.random.default_rng(7)
STEPS, WIDTH = 20, 11
NOISE, OTHER = RNG.normal(size=(2, STEPS, WIDTH))


def last_row(streams, x, **options):
    body = lambda c, u: (np.tanh(c * x[0] + u), None)
    return np.sum(td.scan(body, np.full(WIDTH, x[1]), streams, **options)[0])


def scaled(x):
    return last_row(x[0] * NOISE, x)


def chain(x):
    """An array of which another one is made, where the loop reads both."""
    scale = x[1] * NOISE
    body = lambda c, u: (np.where(c > 0.1, c * x[0] * u[1], c - u[0]), None)
    return np.sum(td.scan(body, np.full(WIDTH, 0.3), (scale, 1.0 + scale))[0] ** 2)


def backwards(x):
    return last_row(np.where(NOISE > 0.0, x[1], -1.0), x, reverse=True)


def with_rows(x):
    """The loop gives an array for each iteration, too."""
    body = lambda c, u: (c * x[0] + u, c * u)
    c, rows = td.scan(body, np.full(WIDTH, x[1]), x[1] - NOISE)
    return np.sum(c) + np.sum(rows * OTHER)


def in_a_loop(x):
    """The inner loop's streams are made of what the outer one is given."""
    outer = lambda s, k: (s + last_row(k * NOISE, x), None)
    return td.scan(outer, 0.0, np.linspace(0.1, 1.0, 4))[0]


SUNK = [scaled, chain, backwards, with_rows]


def read_elsewhere(x):
    streams = x[0] * NOISE
    return last_row(streams, x) + np.sum(streams**2)


def of_two_arrays(x):
    return last_row(np.maximum(x[0] * NOISE, OTHER), x)


def costly(x):
    return last_row(np.exp(x[0] * NOISE), x)


def of_rows(x):
    return last_row(NOISE * np.linspace(0.0, x[0], WIDTH), x)


def of_numbers(x):
    """Loops over numbers gain by what is computed for all iterations at once, on lanes."""
    return td.scan(lambda c, u: (np.tanh(c * x[0] + u), None), x[1], x[0] * NOISE[:, 0])[0]


def of_few(x):
    body = lambda c, u: (np.tanh(c * x[0] + u), None)
    return np.sum(td.scan(body, np.full(3, x[1]), x[0] * NOISE[:, :3])[0])


KEPT = [read_elsewhere, costly, of_rows, of_numbers, of_few]
POINTS = [np.array(p) for p in ([0.7, 0.4], [-0.6, 0.9], [1.1, -1.0])]


@pytest.mark.parametrize("f", [*SUNK, in_a_loop, of_two_arrays, *KEPT])
def test_values_and_derivatives_stay(f):
    """At a few points, up to second order."""
    hessian_agrees(agree(f, *POINTS), POINTS[0])


def streams_of(f):
    """What makes the streams of the function's loop, before and after the pass; both give the same."""
    before = run_passes(td.record(f, POINTS[0]), [s for s in PIPELINE if s.run is not sink_into_loops])
    after = sink_into_loops(before)
    after.check()
    for x in POINTS:
        np.testing.assert_allclose(run(after, [x]), run(before, [x]), rtol=1e-13)
    found = []
    for tape in (before, after):
        ((loop, form),) = [(i, i.params[1]) for i in tape.all_of(LOOP)]
        first = form.leading + form.carries
        found.append([tape.instructions[k].op.name for k in loop.inputs[first : first + form.streams]])
    return found


@pytest.mark.skipif("sink_into_loops" in settings.left_out, reason="the pass is left out")
@pytest.mark.parametrize("f", SUNK)
def test_the_loop_reads_the_data_alone(f):
    """Whatever the streams were made of."""
    before, after = streams_of(f)
    assert after == ["constant"] != before


@pytest.mark.parametrize("f", KEPT)
def test_what_gains_nothing_stays(f):
    """What is read elsewhere, costly, made of another array of rows, or read by a loop over few numbers."""
    before, after = streams_of(f)
    assert after == before


def test_of_two_arrays_the_one_that_is_made_is_read():
    """So that the loop reads no more arrays than before."""
    before, after = streams_of(of_two_arrays)
    assert before == after == ["maximum"]
