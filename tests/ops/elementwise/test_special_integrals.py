"""Special functions where their derivatives come of series."""

import mpmath
import numpy as np
import pytest
import scipy.special

import tapediff as td


@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize("x", [12.5, 20.0, 150.0])
def test_derivatives_of_scaled_airy_functions_are_right_far_out(x, kind):
    """By their series, against differences of many digits."""
    function, prime, sign = ((mpmath.airyai, 0, 1), (mpmath.airyai, 1, 1), (mpmath.airybi, 0, -1), (mpmath.airybi, 1, -1))[kind]
    with mpmath.workdps(60):
        scaled = lambda x: function(x, derivative=prime) * mpmath.exp(sign * mpmath.mpf(2) / 3 * x ** mpmath.mpf(1.5))
        expected = float(mpmath.diff(scaled, mpmath.mpf(x)))
    found = td.gradient(lambda x: scipy.special.airye(x)[kind], np.float64(x))
    np.testing.assert_allclose(found, expected, rtol=1e-13)  # 22 terms, of which the last ones are below rounding
