"""Rows of arrays, `x[rows]`, are read and written by the place where each begins, whether it is known or computed."""

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.lower.row_positions import computed_row_axes, only_positions, row_axes
from tapediff.targets.tapes.gradient_tape import gradient_tape

# Functions that a kernel works out otherwise than NumPy, and sums in another order.
TOLERANCE = 1e-11

ROWS = np.array([3, 0, 3, 3, 5, 1, 0, 2, 4, 5, 5, 3])
OTHERS = np.array([[1, 1, 0, 5], [2, 3, 4, 0], [0, 0, 5, 1]])


def point(*shape):
    return np.cos(np.arange(np.prod(shape)) * 0.7).reshape(shape)


def forms(x):
    """Read twice, added and written to rows that repeat and rows that do not, with axes exchanged, in a reduction, as a whole."""
    some = np.array([4, 0, 2])
    put = x * 1.0
    put[some] = np.sin(x[some]) * 2.0
    added = x * 0.5
    np.add.at(added, OTHERS, np.cos(x[OTHERS]))
    total = np.sum(x[ROWS] * put[ROWS[::-1]]) + np.sum(added**2)
    total = total + np.sum(np.sum(x[OTHERS] * put[OTHERS], axis=-1) ** 2)
    return total + np.sum(np.swapaxes(x[ROWS], 0, -1) * np.arange(len(ROWS))) + np.sum(x[some][:, ::-1] ** 3)


def computed(x):
    """Rows that are searched for, read and written to."""
    flat = np.sum(x**2, axis=tuple(range(1, x.ndim)))
    rows = np.searchsorted(np.cumsum(flat), np.linspace(0.02, 0.97, 40) * np.sum(flat))
    put = x * 0.3
    put[rows] = np.sin(x[rows])
    return np.sum(x[rows] * np.arange(40.0).reshape(-1, *(1 for _ in x.shape[1:]))) + np.sum(put**2)


@pytest.mark.parametrize("f", [forms, computed])
@pytest.mark.parametrize("shape", [(6, 1), (6, 2), (6, 9), (6, 20), (6, 3, 5), (6, 1, 8)])
def test_rows_are_read_and_written_as_by_numpy(f, shape):
    x = point(*shape)
    tape = td.record(f, x)
    value, gradient = td.value_and_gradient(td.compile(tape), x)
    np.testing.assert_allclose(value, f(x), rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(gradient, gradient_tape(tape, (0,))(x)[1], rtol=TOLERANCE, atol=TOLERANCE)


def test_a_kernel_keeps_one_place_for_each_row():
    """Its constants are those of 4,000 rows, not of 80,000 entries; each is read once for a row."""
    rows = np.random.default_rng(0).permutation(4000)
    x = point(4000, 20)
    fast = td.compile(td.record(lambda x: np.sum(np.sin(x[rows])), x))
    np.testing.assert_allclose(td.gradient(fast, x), np.cos(x), rtol=TOLERANCE)
    assert "np.empty(80000, np.int64)" not in fast.source
    assert "x0[i1 + " in fast.source or "x0[i0 + " in fast.source, fast.source


def test_only_consecutive_positions_are_rows():
    starts = np.array([[4], [0], [8]])
    assert row_axes(starts + np.arange(5)) == 1
    assert row_axes((starts + np.arange(6)).reshape(3, 2, 3)) == 2
    assert row_axes(starts[:, :, None] * 10 + np.array([[0], [5]]) + np.arange(3)) == 1
    assert row_axes(starts + np.arange(5) * 2) == 0
    assert row_axes(np.append(starts + np.arange(5), [[1, 2, 3, 4, 6]], axis=0)) == 0
    assert row_axes(np.array([3, 4, 5])) == row_axes(starts) == row_axes(np.zeros((0, 4), int)) == row_axes(np.arange(6)[None]) == 0


def test_positions_that_are_read_as_numbers_stay_as_they_are():
    """The sum of positions is not that of the places where rows begin."""

    def f(x, k):
        positions = np.reshape(k.astype(int) * 4, (-1, 1)) + np.arange(4)
        return np.sum(np.take(x, positions)) + np.sum(positions * 1.0)

    x, k = point(80), np.arange(20.0)
    tape = td.record(f, x, k)
    assert not any(computed_row_axes(tape, n)[1] for n in only_positions(tape))
    np.testing.assert_allclose(td.compile(tape)(x, k), f(x, k), rtol=TOLERANCE)
