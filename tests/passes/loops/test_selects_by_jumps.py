"""Selections that stand between one iteration and the next become jumps; others stay. Values are the same, to the bit."""

import numpy as np
import pytest

import tapediff as td
from tapediff.ops.elementwise.comparison import SELECT_BY_JUMP
from tapediff.passes.loops.selects_by_jumps import _closure, selects_by_jumps


def bounce(x, speed, wall):
    x = x + speed
    hits = x < wall
    return np.where(hits, -x, x), np.where(hits, -speed, speed), wall


def swap(x, y, z):
    """y comes back to the condition on x in the next iteration."""
    return y + 1.0, np.where(x > 0.0, z, y), z


def term_of_a_sum(x, total, limit):
    """The sum comes back to nothing but itself: the next iterations need not wait."""
    return x * 0.5, total + np.where(x > limit, x, 0.0), limit


def of_a_constant(x, y, mark):
    return np.where(mark > 0.0, x, y), x, mark


def limit(x, y, z):
    return np.maximum(x * y, 0.3) * 0.5, np.where(x < z, x, z), z


@pytest.mark.parametrize(("body", "count"), [(bounce, 2), (swap, 1), (term_of_a_sum, 0), (of_a_constant, 0), (limit, 0)])
def test_selections_in_recurrences_become_jumps(body, count):
    """The first two inputs are carried, the third is a constant."""
    tape = td.record(body, 0.5, -0.25, 0.125)
    made = selects_by_jumps(tape, 2)
    made.check()
    assert sum(i.op is SELECT_BY_JUMP for i in made.instructions) == count
    assert (made is tape) == (count == 0)
    for point in ((0.5, -0.25, 0.125), (-1.0, 2.0, -0.0), (np.nan, 1.0, 0.0), (0.25, -0.125, np.inf)):
        assert np.array_equal(made(*point), tape(*point), equal_nan=True)


def test_loops_with_jumps_have_the_bits_of_numpy():
    """Numbers, whole numbers and masks are selected, at points that take either side, also in turns."""

    def program(p):
        def step(carry):
            x, count, is_low, k = carry
            is_high = x > p[0]
            x = np.where(is_high, x * 0.25, x * 1.5 + p[1])
            count = np.where(is_low, count + 1, count)
            is_low = np.where(is_high, x < 0.5, is_low)
            return x, count, is_low, k + 1

        x, count, _, _ = td.while_loop(lambda carry: carry[3] < 20, step, (p[1], 0, p[1] > 0.0, 0))
        return x + count

    tape = td.record(program, np.array([1.0, 0.3]))
    compiled = td.compile(tape)
    for p in ([1.0, 0.3], [2.0, -0.1], [0.1, np.inf], [np.nan, 1.0], [1.5, 0.0]):
        with np.errstate(all="ignore"):
            assert np.array_equal(compiled(np.array(p)), tape(np.array(p)), equal_nan=True)
    exact = td.gradient(tape, np.array([1.0, 0.3]))
    # Products of the same factors, in another order.
    assert np.allclose(td.gradient(compiled, np.array([1.0, 0.3])), exact, rtol=1e-13)


@pytest.mark.parametrize("seed", range(20))
def test_what_carries_reach_is_the_closure_of_what_they_reach_in_one_iteration(seed):
    """Against powers of the matrix, of random graphs of up to eight carries."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 9))
    edges = rng.random((count, count)) < 1.5 / count
    reached = np.linalg.matrix_power((edges | np.eye(count, dtype=bool)).astype(int), count) > 0
    found = _closure([sum(1 << k for k in np.flatnonzero(row).tolist()) for row in edges])
    assert np.array_equal([[bits >> k & 1 for k in range(count)] for bits in found], reached)
