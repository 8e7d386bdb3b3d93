"""td.zeros, ones, full, empty: arrays that a recorded function can write tracked values into."""

import numpy as np
import pytest

import tapediff as td


@pytest.mark.parametrize(
    ("make", "plain"),
    [
        (lambda: td.zeros((2, 3)), np.zeros((2, 3))),
        (lambda: td.ones(4), np.ones(4)),
        (lambda: td.full((2,), 2.5), np.full(2, 2.5)),
        (lambda: td.empty(3), np.zeros(3)),
    ],
)
def test_outside_a_recording_they_are_numpys(make, plain):
    """A plain array, of float64."""
    array = make()
    assert type(array) is np.ndarray
    np.testing.assert_array_equal(array, plain)


def test_a_recorded_function_can_fill_them():
    """The gradient reaches what was stored, and what was never written stays a constant."""

    def f(x):
        y = td.ones((3, 2))
        y[0] = x
        y[1, 0] = x[1] ** 2
        return np.sum(y**2)

    x = np.array([2.0, 3.0])
    td.testing.check_gradient(td.compile(f, np.array([1.0, 1.0])), f, x)
