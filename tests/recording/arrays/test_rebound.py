"""In-place operators on plain arrays of the function's own; arrays that something else holds as well are not written to."""

import numpy as np
import pytest

import tapediff as td

Y, X = np.array([1.0, 2.0, 3.0]), np.array([[1.0, 0.5], [0.2, -1.0], [0.7, 0.3]])
B = np.array([0.5, 0.7])


def in_a_loop(b):
    r, total = np.sin(Y), 0.0
    for k in range(4):
        r -= X @ b * k
        row = X[0] * Y[k % 3]
        row -= b
        total += row @ row
    return r @ r + total


def plain_at_first(b):
    v = 0.0
    for p in X:
        if b @ p > 0.3:
            v += (b @ p) * p
        else:
            v -= 0.1 * p
    return np.sum(np.square(v))


@pytest.mark.parametrize("f", [in_a_loop, plain_at_first])
def test_a_variable_gets_a_tracked_array(f):
    """On each path, with the plain function's values and derivatives."""
    before = Y.copy(), X.copy()
    guarded = td.GuardedTape(f)
    for b in (B, -B, np.array([1.5, -0.3])):
        value, gradient = td.value_and_gradient(guarded, b)
        assert value == pytest.approx(f(b), rel=1e-13)
        np.testing.assert_allclose(gradient, [(f(b + h) - f(b - h)) / 2e-6 for h in 1e-6 * np.eye(2)], rtol=1e-7, atol=1e-8)
    assert np.array_equal(Y, before[0])
    assert np.array_equal(X, before[1])


def of_the_caller_in_a_cell(b):
    r = Y * 2.0

    def less(q):
        def inner():
            nonlocal q
            q -= X @ b

        inner()
        return 0.0

    return less(r) + r @ r


def of_the_caller_by_stars(b):
    r = Y * 2.0

    def less(*rows, **named):
        for q in (*rows, *named.values()):
            q -= X @ b
        return 0.0

    return less(r) + less(q=r) + r @ r


def of_a_generators_caller(b):
    r = Y * 2.0

    def less(q):
        q -= X @ b
        yield 0.0

    return sum(less(r)) + r @ r


def returned_again(b):
    r = Y * 2.0
    q = (lambda held: held)(r)
    q -= X @ b
    return r @ r


def matched(b):
    r = Y * 2.0
    match (r,):
        case (q,):
            q -= X @ b
    return r @ r


def as_an_argument(b):
    r = Y * 2.0
    np.subtract(r, X @ b, out=r)
    return r @ r


def of_an_object(b):
    held = {"r": Y * 2.0}
    held["r"] -= X @ b
    return held["r"] @ held["r"]


@pytest.mark.parametrize("f", [
    of_the_caller_in_a_cell, of_the_caller_by_stars, of_a_generators_caller, returned_again, matched, as_an_argument, of_an_object,
])  # fmt: skip
def test_an_array_that_is_held_elsewhere_is_not_written_to(f):
    """Whoever holds it: also a caller's variable, which since Python 3.14 does not count where it is lent to an argument."""
    before = Y.copy()
    with pytest.raises(td.UnsupportedFunction, match=rf"writing tracked values into a plain array\n  at:  test_rebound\.py:\d+ in (less|inner|{f.__name__})"):
        td.record(f, B)
    assert np.array_equal(Y, before)


def test_what_numpy_refuses_is_refused():
    """Floats in an array of integers, and a result that is larger."""
    def integers(b):
        r = np.arange(3)
        r -= X @ b
        return np.sum(r)

    def larger(b):
        r = np.ones(2) * 2.0
        r += np.ones((3, 2)) * b
        return np.sum(r)

    for f, kind in ((integers, TypeError), (larger, ValueError)):
        with pytest.raises(kind):
            f(B)
        with pytest.raises(kind):
            td.record(f, B)
