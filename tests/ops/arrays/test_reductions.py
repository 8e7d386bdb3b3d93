"""Extrema of what has an infinite slope."""

import numpy as np
import pytest

import tapediff as td


@pytest.mark.parametrize("extremum", [np.max, lambda y: -np.min(-y)])
def test_what_an_extremum_does_not_choose_has_a_derivative_of_zero(extremum):
    """Also where its own slope is infinite; compiled and not."""
    f = lambda x: extremum(np.sqrt(x))
    for target in (f, td.compile(f, np.ones(2))):
        np.testing.assert_array_equal(td.gradient(target, np.array([0.0, 4.0])), [0.0, 0.25])
