"""Products of matrices of integers."""

import numpy as np

import tapediff as td


def test_products_of_integers_are_integers_to_the_bit():
    """Also where floats would not hold them; those of masks are masks."""
    a, b = np.array([[3**33, 1], [2, -5]]), np.array([[1, 2], [3, 4]])
    mask = np.array([[True, False], [True, True]])
    tape = td.record(lambda x, a, b, mask: (x, a @ b, a @ b[0], mask @ mask), 1.5, td.Constant(a), td.Constant(b), td.Constant(mask))
    for found, expected in zip(tape(1.5, a, b, mask)[1:], (a @ b, a @ b[0], mask @ mask), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
