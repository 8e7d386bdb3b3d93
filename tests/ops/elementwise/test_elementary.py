"""Elementary functions where their formulas would lose digits."""

import numpy as np

import tapediff as td
from tapediff.ops.elementwise.elementary import _expit_difference


def test_the_second_derivative_of_expit_keeps_its_digits_near_zero():
    """Its factor expit(-x) - expit(x) is -tanh(x / 2); also just inside of where its series is used."""
    x = np.array([1e-8, 1e-4, 1e-3, -0.0039, 0.0039, 0.004, 0.3])
    # A few units in the last place of the series; the difference itself loses eight bits where it takes over.
    np.testing.assert_allclose(_expit_difference(x), -np.tanh(x / 2), rtol=1e-13)


def test_the_hessian_of_a_hypotenuse_is_that_of_a_length():
    """(y**2, -x y, x**2) / length**3, in every quadrant, compiled or not; and with it the third derivatives."""
    length = lambda x: np.hypot(x[0], x[1])
    for x in np.array([[3.0, 4.0], [-3.0, 4.0], [3.0, -4.0], [-12.0, -5.0], [0.0, 2.0]]):
        a, b, size = *x, np.hypot(*x)
        exact = np.array([[b * b, -a * b], [-a * b, a * a]]) / size**3
        third = np.array([[[-3 * a * b * b, 2 * a * a * b - b**3], [2 * a * a * b - b**3, 2 * a * b * b - a**3]],
                          [[2 * a * a * b - b**3, 2 * a * b * b - a**3], [2 * a * b * b - a**3, -3 * a * a * b]]]) / size**5  # fmt: skip
        for target in (length, td.compile(length, x)):
            # Roundings of a few operations.
            np.testing.assert_allclose(td.hessian(target, x), exact, rtol=1e-14, atol=1e-16)
        np.testing.assert_allclose(td.jacobian(lambda x: td.hessian(length, x), x), third, rtol=1e-13, atol=1e-15)
