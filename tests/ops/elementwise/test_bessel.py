"""Bessel functions of order 1: their derivatives, on both sides of where a series ends, at 0, and where functions overflow."""

import mpmath
import numpy as np
import pytest
from scipy import special

import tapediff as td
from tapediff.ops.elementwise.bessel import SERIES_BELOW

BESIDE = SERIES_BELOW * np.array([0.5, 1.0 - 1e-9, 1.0, 1.0 + 1e-9, 1.5])
POSITIVE = np.concatenate([[1e-3, 0.4], BESIDE, [7.7, 30.0]])
REAL = np.concatenate([[0.0, 1e-9], POSITIVE, -POSITIVE])

EXACT = {
    "j1": (lambda x: mpmath.besselj(1, x), REAL), "i1": (lambda x: mpmath.besseli(1, x), REAL),
    "i1e": (lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), REAL[1:]), "y1": (lambda x: mpmath.bessely(1, x), POSITIVE),
    "k1": (lambda x: mpmath.besselk(1, x), POSITIVE), "k1e": (lambda x: mpmath.besselk(1, x) * mpmath.exp(x), POSITIVE),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_first_and_second_derivatives_are_exact_to_what_the_recurrences_lose(name):
    """They take differences of values of about the same size: up to 60 roundings for one of 1/30 of it, and twice that for the second."""
    exact, points = EXACT[name]
    function = getattr(special, name)
    compiled = td.compile(lambda x: np.sum(function(x)), points)
    slopes = td.gradient(compiled, points), td.hvp(compiled, points, np.ones(points.size))
    with mpmath.workdps(25):
        for order, found in enumerate(slopes, 1):
            expected = np.array([float(mpmath.diff(exact, mpmath.mpf(x), order)) for x in points])
            scale = np.maximum(np.abs(expected), 0.03 * np.abs(function(points)))
            np.testing.assert_array_less(np.abs(found - expected) / np.maximum(scale, 1e-8), 1e-12)


@pytest.mark.parametrize(("name", "third"), [("i1", 0.375), ("j1", -0.375)])
def test_derivatives_at_zero_are_exact_to_the_third(name, third):
    """The series is differentiated there, not what stands beside it and divides by 0."""
    derivative = getattr(special, name)
    for expected in (0.5, 0.0, third):
        derivative = (lambda f: lambda x: td.gradient(f, x))(derivative)
        assert float(derivative(0.0)) == pytest.approx(expected, abs=1e-15)


def test_derivatives_are_infinite_where_functions_are():
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(td.gradient(td.compile(lambda x: np.sum(special.i1(x)), np.ones(2)), np.array([800.0, -800.0])), np.inf)
    assert td.gradient(td.compile(special.k1, 1.0), 0.0) == -np.inf
