"""Powers of integers: what NumPy gives, and what it refuses."""

import numpy as np
import pytest

import tapediff as td


@pytest.mark.parametrize("exponent", [-1, -3])
def test_integers_to_negative_integers_are_refused_as_by_numpy(exponent):
    """With NumPy's error, whether the base is an array or a number."""
    for base in (np.array([2, 3]), np.int64(2)):
        with pytest.raises(ValueError) as plain:
            np.power(base, exponent)
        with pytest.raises(ValueError) as recorded:
            td.record(lambda x, k: x * np.sum(np.power(k, exponent)), 1.5, td.Constant(base))
        assert str(recorded.value).splitlines()[0] == str(plain.value)


@pytest.mark.parametrize("exponent", range(8))
def test_integers_to_plain_integers_are_integers_to_the_bit(exponent):
    """Also where floats would not hold them."""
    base = np.array([0, 1, -3, 9, 127])
    tape = td.record(lambda x, k: (x, np.power(k, exponent)), 1.5, td.Constant(base))
    found = tape(1.5, base)[1]
    assert found.dtype == np.int64
    assert np.array_equal(found, base**exponent)
