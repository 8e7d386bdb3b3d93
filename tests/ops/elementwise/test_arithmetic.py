"""Powers of integers: what NumPy gives, and what it refuses."""

import numpy as np
import pytest

import tapediff as td
from tapediff.ops.elementwise.arithmetic import _power_log_base


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


@pytest.mark.parametrize("order", [1, 2])
def test_a_zero_cotangent_hides_the_infinite_slope_of_a_power_at_zero(order):
    """x**y log(x)**order, whose derivative at x = 0 is infinite for y < 1; a cotangent that is not zero does not hide it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        assert _power_log_base(0.0, None, 0.0, 0.5, None, order) == 0.0
        assert not np.isfinite(_power_log_base(1.0, None, 0.0, 0.5, None, order))


def test_an_absolute_value_hides_an_infinite_slope_where_its_own_is_zero():
    """Compiled and not."""
    f = lambda x: np.sum(np.abs(np.sqrt(x)))
    for target in (f, td.compile(f, np.ones(2))):
        np.testing.assert_array_equal(td.gradient(target, np.array([0.0, 4.0])), [0.0, 0.25])
