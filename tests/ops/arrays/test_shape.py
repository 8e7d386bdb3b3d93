"""Cotangents get the shape of what they are of."""

import numpy as np
import pytest

from tapediff.ops.arrays.shape import unbroadcast

# The shape of a cotangent, that of the value, and how much of a cotangent of ones each entry of the value gets.
SHAPES = [
    ((2, 3), (2, 3), 1), ((2, 3), (3,), 2), ((2, 3), (1, 3), 2), ((2, 3), (2, 1), 3), ((2, 3), (1, 1), 6), ((2, 3), (), 6), ((4, 2, 3), (2, 1), 12),
    ((), (3,), 1), ((), (2, 3), 1), ((3,), (2, 3), 1), ((1,), (3,), 1), ((2, 1), (2, 3), 1), ((1, 1), (2, 3), 1), ((1, 3), (2, 3), 1),
]  # fmt: skip


@pytest.mark.parametrize(("given", "shape", "times"), SHAPES)
def test_cotangents_are_added_along_axes_that_were_broadcast_and_grow_where_a_rule_left_them_smaller(given, shape, times):
    np.testing.assert_array_equal(unbroadcast(np.ones(given), shape), np.full(shape, times))
