"""Batches whose rows are done many at once: the same bits, the same errors, and rows that stay alone."""

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.runtime.entries import address_call
from tapediff.targets.tapes import row_blocks

RNG = np.random.default_rng(3)
Y, SCALE = RNG.normal(size=8) * 10.0, np.linspace(9.0, 18.0, 8)


def eight_schools(x):
    tau = np.exp(x[1])
    theta = x[0] + tau * x[2:]
    return -0.5 * np.sum(((Y - theta) / SCALE) ** 2) - 0.5 * np.sum(x[2:] ** 2) - (x[0] / 5) ** 2 - np.log(1 + (tau / 5) ** 2)


def recurrence(x):
    s = x[0]
    for _ in range(40):
        s = np.tanh(s * x[1] + x[2]) * x[3]
    return s


def factored(x):
    L = np.linalg.cholesky(np.array([[x[0], 0.1], [0.1, 1.0]]))
    return np.log(L[0, 0]) + L[1, 1] * np.sin(x[1])


@pytest.fixture
def always(monkeypatch):
    """Blocks are used wherever they give the same bits, from the next batch on."""
    monkeypatch.setattr(row_blocks, "WORTH_IT", np.inf)
    monkeypatch.setattr("tapediff.targets.native.row_calls.WORTH_COMPILING", 0.0)
    monkeypatch.setattr("tapediff.targets.native.row_calls.LONGEST_ROW", np.inf)


def rows_at_once(compiled):
    (call,) = compiled._native.calls.values()
    return int(call.words[address_call.BLOCK])


def test_batches_have_the_same_bits_in_blocks(always):
    """At every number of rows left over, on one thread and on two, and at other points than those that were compared."""
    for f, size in ((eight_schools, 10), (recurrence, 4)):
        compiled, points = td.compile(f, np.ones(size)), RNG.normal(size=(200, size))
        wanted = [td.value_and_gradient(compiled, x) for x in points]
        values, gradients = np.array([v for v, _ in wanted]), np.array([g for _, g in wanted])
        for _ in range(3):
            compiled.batch(points[:70])
        assert rows_at_once(compiled) == row_blocks.MANY
        for rows in (1, 63, 64, 65, 130, 200):
            for threads in (None, 2):
                found = compiled.batch(points[:rows], threads=threads)
                np.testing.assert_array_equal(found[0], values[:rows])
                np.testing.assert_array_equal(found[1], gradients[:rows])
        few = td.compile(f, np.ones(size))
        for _ in range(3):
            found = few.batch(points[:20])
        assert rows_at_once(few) == row_blocks.FEW
        np.testing.assert_array_equal(found[1], gradients[:20])


def test_a_row_that_fails_inside_a_block_is_the_one_that_is_named(always):
    compiled, points = td.compile(factored, np.array([2.0, 1.0])), RNG.uniform(1.0, 2.0, size=(100, 2))
    wanted = np.array([td.gradient(compiled, x) for x in points])
    for _ in range(3):
        compiled.batch(points)
    assert rows_at_once(compiled) == row_blocks.MANY
    points[[37, 50]] = -1.0, 0.0
    for threads in (None, 2):
        out = np.zeros(100), np.zeros((100, 2))
        with pytest.raises(np.linalg.LinAlgError) as caught:
            compiled.batch(points, out=out, threads=threads)
        assert caught.value.row == 37
        np.testing.assert_array_equal(out[1][:37], wanted[:37])
    points[:, 0] = np.nan
    points[:, 0] = 1.5
    assert np.isfinite(compiled.batch(points)[0]).all()


def test_points_that_are_not_numbers_stay_in_their_rows(always):
    compiled, points = td.compile(eight_schools, np.ones(10)), RNG.normal(size=(128, 10))
    for _ in range(3):
        wanted = compiled.batch(points)
    assert rows_at_once(compiled) == row_blocks.MANY
    points[5, 0], points[70, 1] = np.nan, 800.0
    values, gradients = compiled.batch(points)
    others = np.delete(np.arange(128), [5, 70])
    assert not np.isfinite(values[[5, 70]]).any()
    np.testing.assert_array_equal(values[others], wanted[0][others])
    np.testing.assert_array_equal(gradients[others], wanted[1][others])


@pytest.mark.parametrize("memory", [None, 1 << 20])
def test_branches_and_budgets_keep_rows_alone(always, memory):
    f = (lambda x: np.sum(x**2) if x[0] < 9.0 else np.sum(x)) if memory is None else (lambda x: np.sum(np.exp(x)))
    compiled, points = td.compile(f, np.ones(3), memory=memory), RNG.normal(size=(100, 3))
    for _ in range(3):
        compiled.batch(points)
    assert rows_at_once(compiled) == 0


def test_a_block_that_is_not_faster_or_differs_in_a_bit_is_not_used():
    points = RNG.normal(size=(64, 10))
    tape = td.record(eight_schools, points[0])
    compiled = td.compile(tape)

    def by_rows(x, gradients, values, error=0.0):
        for k, row in enumerate(x):
            values[k], gradients[k] = td.value_and_gradient(compiled, row)
        values[-1] += error
        return 0

    assert row_blocks.block_kernel(tape, 8, points, by_rows) is not None
    assert row_blocks.block_kernel(tape, 8, points, lambda *arrays: by_rows(*arrays, error=1e-12)) is None
    assert row_blocks.block_kernel(tape, 8, points, lambda x, gradients, values: 1) is None
