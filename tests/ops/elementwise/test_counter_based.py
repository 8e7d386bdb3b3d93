"""Uniform numbers from random bits: exact, and neither 0 nor 1."""

import numpy as np
import pytest

from tapediff.ops.elementwise import counter_based
from tapediff.ops.elementwise.counter_based import RANDOM_BITS, RANDOM_UNIT


@pytest.mark.parametrize(("bits", "number"), [(0, 2.0**-53), (2**63, 0.5 + 2.0**-53), (2**64 - 1, 1.0 - 2.0**-53)])
def test_the_least_and_the_greatest_bits_give_numbers_inside_of_the_interval(bits, number, monkeypatch):
    """0 has no logarithm, and 1 none of its complement."""
    monkeypatch.setattr(counter_based, "_bits", lambda *_: np.array([bits], np.uint64))
    assert RANDOM_UNIT.evaluate(0, 0, 0) == number


def test_a_number_is_the_middle_of_the_interval_that_its_first_bits_name():
    """An odd multiple of 2**-53, of which there are 2**52."""
    counters = np.arange(1000)
    numbers, bits = RANDOM_UNIT.evaluate(3, 5, counters), RANDOM_BITS.evaluate(3, 5, counters).view(np.uint64)
    assert np.array_equal(numbers * 2.0**53, 2.0 * (bits >> np.uint64(12)) + 1.0)
