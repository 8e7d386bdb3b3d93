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


def test_boxes_that_were_read_before_are_told_apart():
    """By index and shape: of numbers, of slices with the same bounds, of new axes, and of bounds that are tracked."""

    def f(x, n):
        m = x.reshape(3, 4)
        parts = [x[1], x[1:], x[1:None:1], x[:1], x[-1:], m[1], m[1:], m[1:, 1], m[1, 1:], m[..., 1], m[None, 1], m[1:][1], m[:, ::2]]
        parts += [x[: int(n)], x[int(n) :], m[:, : int(n)]]
        return sum(k * np.sum(np.asarray(part) ** 2) for k, part in enumerate(parts, 1))

    x = np.linspace(0.1, 1.3, 12)
    guarded = td.GuardedTape(f, merge=False)
    for n in (2.0, 3.0, 2.0):
        for y in (x, x[::-1].copy()):
            np.testing.assert_allclose(guarded(y, n), f(y, n), rtol=1e-14)


def test_a_plain_array_counts_as_it_is_when_it_is_used():
    """Also where the same array is changed between two uses, and where another one has its bytes."""

    def f(x):
        weights, others = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])
        total = np.sum(x * weights) + np.sum(others @ np.outer(x, x))
        weights[1] = -5.0
        total = total + np.sum((x + weights) * others) + np.sum(x * np.array([[1.0], [2.0], [3.0]]))
        weights *= 2.0
        return total + np.sum(weights / x) + np.sum(np.minimum(x, weights)) + np.sum((x > 0) & (weights > 0))

    x = np.array([0.3, -0.7, 1.1])
    tape = td.record(f, x)
    for y in (x, np.array([0.4, -0.2, 2.0])):
        np.testing.assert_allclose(tape(y), f(y), rtol=1e-14)
        np.testing.assert_allclose(td.compile(tape)(y), f(y), rtol=1e-14)
