"""Elementary functions where their formulas would lose digits."""

import numpy as np

from tapediff.ops.elementwise.elementary import _expit_difference


def test_the_second_derivative_of_expit_keeps_its_digits_near_zero():
    """Its factor expit(-x) - expit(x) is -tanh(x / 2); also just inside of where its series is used."""
    x = np.array([1e-8, 1e-4, 1e-3, -0.0039, 0.0039, 0.004, 0.3])
    # A few units in the last place of the series; the difference itself loses eight bits where it takes over.
    np.testing.assert_allclose(_expit_difference(x), -np.tanh(x / 2), rtol=1e-13)
