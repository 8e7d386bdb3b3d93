"""Views of tracked arrays: writes to them and to their bases are seen in both, as in NumPy."""

import numpy as np
import pytest

import tapediff as td
from tapediff.testing import check_gradient

POINTS = (np.array([0.31, 0.12, 0.93, 0.54]), np.array([-0.5, 0.9, 0.2, -1.3]), np.array([1.5, 1.2, -0.7, 0.4]))
WEIGHTS = np.arange(4.0)


def entry_of_a_row(x):
    a, k = np.outer(x, x), np.argmax(x)
    a[k][0] = x[1]
    return a @ x @ WEIGHTS


def attributes_set(x):
    a = np.outer(x, x)
    a.real = a.T * x[0]
    a[1].real += 1.0
    a[2].flat = x[:2]
    a[:2, 1:].T.flat = x[1:]
    return a @ x @ WEIGHTS


def row_by_its_name(x):
    a, k = np.zeros((4, 4)), np.argmax(x)
    row = a[k]
    row[1] = x[0]
    return a @ x @ WEIGHTS + row.sum()


def base_under_a_row(x):
    a, k = np.zeros((4, 4)), np.argmax(x)
    row, part = a[k], a[k, 1:3]
    a[k, 2] = x[0] * x[1]
    part += 1.0
    return row @ x + part @ x[:2]


def rows_in_place(x):
    a, k = np.outer(x, x), np.argmax(x)
    a[k] += 1.0
    a[k, 1:] *= x[0]
    a[k][1:] -= x[:3]
    a[:, k] *= 2.0
    a[1:][k - 1] += 3.0
    a.T[k][0] = 7.0
    a[k].reshape(2, 2)[1] += x[:2]
    a[:, k].reshape(2, 2)[1] += x[:2]  # a copy
    return a @ x @ WEIGHTS


def rows_swapped_by_views(x):
    """Which gives two rows of the same values, in NumPy as well."""
    a, k = np.outer(x, x + 1.0), np.argmax(x)
    a[k], a[0] = a[0], a[k]
    return a @ x @ WEIGHTS


def rows_by_methods(x):
    a, k = np.outer(x, x), np.argmax(x)
    a[k].sort()
    a[k - 1].fill(2.0)
    np.add(a[k], 1.0, out=a[k])
    a[k][a[k] > 1.3] = 5.0
    return a @ x @ WEIGHTS


def copies(x):
    """By a list, an array without axes, and np.take."""
    a, k = np.outer(x, x), np.argmax(x)
    for part in (a[[k, 0]], a[np.array(k)], np.take(a, k, axis=0)):
        part += 1.0
    return a @ x @ WEIGHTS


ROWS = (entry_of_a_row, attributes_set, row_by_its_name, base_under_a_row, rows_in_place, rows_swapped_by_views, rows_by_methods, copies)


@pytest.mark.parametrize("f", ROWS, ids=lambda f: f.__name__)
def test_rows_at_tracked_positions_are_views(f):
    """As of a number, of which NumPy makes no copy. Recorded, compiled, and second derivatives."""
    guarded = td.GuardedTape(f)
    for x in POINTS:
        for target in (td.record(f, x), td.compile(f, x), guarded):
            check_gradient(target, f, x)
        v, h = np.array([0.3, -0.7, 0.2, 0.9]), 1e-5
        difference = (td.gradient(guarded, x + h * v) - td.gradient(guarded, x - h * v)) / (2 * h)
        np.testing.assert_allclose(td.hvp(guarded, x, v), difference, rtol=1e-6, atol=1e-8)  # of differences


def test_a_row_in_place_is_written_once():
    """The assignment behind `a[k] += 1` finds the row written."""

    def f(x):
        a, k = np.outer(x, x), np.argmax(x)
        a[k] += 1.0
        return a.sum()

    assert [i.op.name for i in td.record(f, POINTS[0]).instructions].count("put") == 1
