"""Constant positions that run through boxes become boxes: the same values and derivatives, without tables of positions."""

import numpy as np
import pytest
from support.passes import without

import tapediff as td
from tapediff.ops.arrays.indexing import ASSEMBLE, GATHER, INDEX, PUT, REPLACE, SCATTER_ADD
from tapediff.passes.parts.regular_positions import boxes_of, regular_positions

RNG = np.random.default_rng(9)
N, SHAPE = 60, (12, 13)
SHUFFLED = RNG.permutation(N)
LEFT, RIGHT = (np.arange(N) - 1) % N, (np.arange(N) + 1) % N

# Functions of 60 numbers or of 12 by 13, and how many boxes they read or write in all.
REGULAR = {
    "rolled": (lambda x: np.roll(x, 1), N, 2),
    "rolled back by several": (lambda x: np.roll(x, -7), N, 2),
    "rolled flat": (lambda x: np.roll(x, 5), SHAPE, 2),
    "rolled down": (lambda x: np.roll(x, 1, 0), SHAPE, 2),
    "rolled right": (lambda x: np.roll(x, -1, 1), SHAPE, 2),
    "rolled along both": (lambda x: np.roll(x, (3, -4), (0, 1)), SHAPE, 4),
    "neighbours": (lambda x: x[LEFT] + 2 * x[RIGHT], N, 4),
    "rows and columns": (lambda x: x[np.ix_(np.arange(2, 11), np.arange(12, 3, -1))], SHAPE, 1),
    "columns in steps": (lambda x: x[:, np.arange(0, 13, 3)], SHAPE, 1),
    "columns, their axis first": (lambda x: x.T[np.arange(1, 8)], SHAPE, 1),
    "both ends repeated": (lambda x: x[np.clip(np.arange(-1, N + 1), 0, N - 1)], N, 3),
    "mirrored": (lambda x: x[np.concatenate([np.arange(9, 0, -1), np.arange(N)])], N, 2),
    "periodic along both": (lambda x: x[np.arange(-1, 11)[:, None], np.arange(-2, 11)], SHAPE, 4),
}


def gathers(tape):
    return sum(i.op in (GATHER, PUT, SCATTER_ADD) for i in tape.instructions)


@pytest.mark.parametrize("name", REGULAR)
def test_positions_in_few_boxes_are_boxes_with_the_same_values(name):
    """Nothing is computed, so the values are equal to the bit."""
    f, shape, count = REGULAR[name]
    x = RNG.normal(size=shape)
    tape = td.record(f, x)
    boxes = regular_positions(tape)
    boxes.check()
    assert gathers(tape)
    assert not gathers(boxes)
    assert sum(i.op is INDEX for i in boxes.instructions) == count
    np.testing.assert_array_equal(boxes(x), f(x))


@pytest.mark.parametrize("name", REGULAR)
def test_kernels_and_derivatives_are_those_without_the_pass(name):
    f, shape, _ = REGULAR[name]
    x, v = RNG.normal(size=shape), RNG.normal(size=shape)
    weights = RNG.normal(size=f(x).shape)

    def answers():
        compiled = td.compile(td.record(lambda x: np.sum(weights * np.sin(f(x)) * f(x)), x))
        return td.value_and_gradient(compiled, x), td.hvp(compiled, x, v)

    (value, slope), bent = answers()
    (other, its_slope), its_bent = without(["regular_positions"], answers)
    # Up to 156 terms of about 1, and cotangents of two or three terms, in another order.
    assert abs(value - other) < 1e-12
    np.testing.assert_allclose(slope, its_slope, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(bent, its_bent, rtol=0.0, atol=1e-13)


IRREGULAR = {
    "in no order": lambda x: x[SHUFFLED],
    "few": lambda x: x[[2, 3, 4, 7, 8, 9]],
    "in many stretches": lambda x: x[np.repeat(np.arange(0, N, 4), 2) + np.arange(30) % 2],
    "all one": lambda x: x[np.zeros(40, int)],
    "in pairs": lambda x: x[np.repeat(np.arange(20), 2)],
}


@pytest.mark.parametrize("name", IRREGULAR)
def test_other_positions_are_left_alone(name):
    tape = td.record(IRREGULAR[name], np.ones(N))
    assert regular_positions(tape) is tape


def test_computed_positions_are_left_alone():
    tape = td.record(lambda x: x[np.argsort(x)], np.arange(40.0))
    assert regular_positions(tape) is tape


def test_writes_into_boxes_are_writes_of_parts():
    """A write of what is disjoint, and a sum into what need not be."""

    def written(x):
        y = np.sin(x)
        y[LEFT[:50]] = x[:50] ** 2
        return y

    def summed(x):
        y = x * 1.0
        np.add.at(y, np.concatenate([np.arange(40), np.arange(20)]), x**2)
        return y

    for f, op in ((written, REPLACE), (summed, ASSEMBLE)):
        x = RNG.normal(size=N)
        tape = td.record(f, x)
        boxes = regular_positions(tape)
        boxes.check()
        assert not gathers(boxes)
        assert any(i.op is op for i in boxes.instructions)
        # A sum of three terms in another order.
        np.testing.assert_allclose(boxes(x), f(x), rtol=0.0, atol=2e-15)


def test_positions_written_twice_keep_the_last_value():
    """Two boxes that overlap are no parts of a write: the later one counts."""
    at = np.concatenate([np.arange(40), np.arange(20, 60)])
    values = RNG.normal(size=80)

    def f(x):
        y = x * 1.0
        y[at] = values * x[0]
        return y

    x = RNG.normal(size=N)
    tape = regular_positions(td.record(f, x))
    np.testing.assert_array_equal(tape(x), f(x))
    assert any(i.op is PUT for i in tape.instructions)


@pytest.mark.parametrize("seed", range(40))
def test_boxes_are_the_positions_that_they_were_found_in(seed):
    """Random boxes of arrays of up to three axes, joined along a random axis."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 12, rng.integers(1, 4)).tolist())
    places = np.arange(np.prod(shape)).reshape(shape)
    axis = int(rng.integers(len(shape)))
    steps = [slice(None, None, int(rng.choice([1, -1, 2]))) for _ in shape]
    kept = places[tuple(slice(None) if k == axis else s for k, s in enumerate(steps))]
    parts = [np.take(kept, np.arange(a, min(a + 6, shape[axis])), axis) for a in rng.integers(0, shape[axis], 3)]
    positions = np.concatenate(parts, axis)
    found = boxes_of(positions, shape)
    if found is None:  # too few, or too many in boxes that are too small
        assert positions.size < 8 * 2 * 3 * 3
        return
    filled = np.full(positions.shape, -1)
    for box in found:
        read = places[box.there.slices].reshape(box.there.shape)
        read = read.transpose(np.argsort(np.argsort(box.order)))
        filled[box.here.slices] = read.reshape(box.here.counts)
    np.testing.assert_array_equal(filled, positions)


def test_a_table_of_many_positions_is_looked_at_once():
    """A hundred reads by one table find its boxes once, and each becomes its instructions."""
    tape = td.record(lambda x: sum(x[LEFT] * float(k) for k in range(1, 101)), np.ones(N))
    boxes = regular_positions(tape)
    assert not gathers(boxes)
    assert len(boxes) <= len(tape) + 200


def test_reads_after_one_at_data_dependent_positions_are_boxes():
    """Only the first stays a gather."""

    def f(x):
        return x[np.argsort(x)] + x[RIGHT]

    x = RNG.normal(size=N)
    tape = regular_positions(td.record(f, x))
    assert gathers(tape) == 1
    np.testing.assert_array_equal(tape(x), f(x))
