"""td.covariance: against closed forms, SciPy's curve_fit, and simulated data."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy import optimize, stats

import tapediff as td

RNG = np.random.default_rng(0)
T = np.linspace(0.0, 2.0, 30)
Y = 3.0 * np.exp(-0.7 * T) + 0.1 * RNG.normal(size=30)


def decay(t, a, rate):
    return a * np.exp(-rate * t)


def residuals(p):
    return decay(T, p[0], p[1]) - Y


def test_the_covariance_of_curve_fit():
    """With the variance estimated, and with known standard deviations; of SciPy's result or its x."""
    found = optimize.least_squares(residuals, [1.0, 1.0], xtol=1e-15, ftol=1e-15, gtol=1e-15)
    _, expected = optimize.curve_fit(decay, T, Y, found.x, ftol=1e-15)
    for x in (found, found.x):
        fit = td.covariance(residuals, x)
        np.testing.assert_allclose(fit.matrix, expected, rtol=1e-5)  # of curve_fit's differences
        assert fit.degrees_of_freedom == 28
    sigma = 0.1 + 0.05 * T
    _, known = optimize.curve_fit(decay, T, Y, found.x, sigma=sigma, absolute_sigma=True)
    weighed = lambda p: residuals(p) / sigma
    fit = td.covariance(weighed, optimize.least_squares(weighed, found.x, xtol=1e-15, ftol=1e-15, gtol=1e-15), scale=1.0)
    np.testing.assert_allclose(fit.matrix, known, rtol=1e-5)
    assert fit.degrees_of_freedom == np.inf
    np.testing.assert_allclose(fit.standard_errors, np.sqrt(np.diag(known)), rtol=1e-5)
    np.testing.assert_allclose(fit.correlation, known / np.sqrt(np.outer(np.diag(known), np.diag(known))), rtol=1e-5)


X = np.stack([np.ones(30), T, T**2], axis=1)


def line(p, x):
    return x @ p


def test_bands_of_linear_regression():
    """The closed form, with Student's t; for one level and another, of arrays, matrices and numbers."""
    p, square, *_ = np.linalg.lstsq(X, Y, rcond=None)
    fit = td.covariance(lambda p, x, y: line(p, x) - y, p, X, td.Constant(Y))
    s, inverse = np.sqrt(square[0] / 27), np.linalg.inv(X.T @ X)
    np.testing.assert_allclose(fit.matrix, s**2 * inverse, rtol=1e-9)  # of the condition of X
    new = np.stack([np.ones(4), np.arange(4.0), np.arange(4.0) ** 2], axis=1)
    error = s * np.sqrt(np.sum(new @ inverse * new, axis=1))
    for level in (0.95, 0.5):
        band = fit.band(line, td.Constant(new), level=level)
        np.testing.assert_allclose(band.value, new @ p, rtol=1e-12)
        np.testing.assert_allclose(band.standard_error, error, rtol=1e-9)
        half = stats.t(27).ppf(0.5 + level / 2) * error
        np.testing.assert_allclose(band.upper, new @ p + half, rtol=1e-9)
        np.testing.assert_allclose(band.lower, new @ p - half, rtol=1e-9)
    square_of_sum = fit.band(lambda p: np.sum(p) ** 2)
    assert np.shape(square_of_sum.standard_error) == ()
    assert square_of_sum.standard_error == pytest.approx(2 * abs(p.sum()) * np.sqrt(fit.matrix.sum()), rel=1e-9)
    assert fit.band(lambda p: np.outer(p, p)).upper.shape == (3, 3)


class Parameters(NamedTuple):
    mean: np.ndarray
    log_sigma: float


def test_the_inverse_hessian_of_a_likelihood():
    """Of a normal distribution, with containers, on every target: sigma**2 / n and 1 / (2 n)."""
    y = RNG.normal(size=(50, 2)) + 1.0
    def loss(p, y):
        return np.sum(0.5 * ((y - p.mean) / np.exp(p.log_sigma)) ** 2 + p.log_sigma)

    mean = y.mean(0)
    at = Parameters(mean, 0.5 * np.log(np.mean((y - mean) ** 2)))
    variance = np.exp(2 * at.log_sigma)
    for target in (loss, td.record(loss, at, td.Constant(y)), td.compile(loss, at, td.Constant(y)), td.GuardedTape(loss)):
        fit = td.covariance(target, at, td.Constant(y))
        np.testing.assert_allclose(fit.matrix, np.diag([variance / 50, variance / 50, 1 / 200]), rtol=1e-10, atol=1e-15)
        assert type(fit.standard_errors) is Parameters
        np.testing.assert_allclose(fit.standard_errors.mean, np.sqrt(variance / 50), rtol=1e-10)
        assert fit.standard_errors.log_sigma == pytest.approx(np.sqrt(1 / 200), rel=1e-10)
        sigma = fit.band(lambda p: np.exp(p.log_sigma))
        assert sigma.upper - sigma.value == pytest.approx(stats.norm.ppf(0.975) * np.sqrt(variance / 200), rel=1e-9)


def test_intervals_cover_the_truth():
    """In 300 simulated data sets, 95 % intervals of a curve, to three standard deviations of the count."""
    rng, covered = np.random.default_rng(1), 0
    for _ in range(300):
        y = 3.0 * np.exp(-0.7 * T) + 0.1 * rng.normal(size=30)
        r = lambda p, y=y: decay(T, p[0], p[1]) - y
        band = td.covariance(r, optimize.least_squares(r, [2.0, 1.0])).band(lambda p: decay(1.0, p[0], p[1]))
        covered += band.lower < 3.0 * np.exp(-0.7) < band.upper
    assert abs(covered - 285) < 3 * np.sqrt(300 * 0.95 * 0.05)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: td.covariance(lambda p: p["a"] * p["b"][0] * T - Y, {"a": 1.0, "b": np.ones(2)}), td.Undetermined,
         r"along a direction nothing changes.*got: x\['b'\]\[1\]\n.*fix: fix one of these"),
        (lambda: td.covariance(lambda p: p["a"] * p["b"][0] * T + p["b"][1] - Y, {"a": 1.0, "b": np.ones(2)}), td.Undetermined,
         r"along a direction nothing changes.*got: x\['a'\], x\['b'\]\[0\]\n"),
        (lambda: td.covariance(lambda p: np.sum((p[0] + p[1] - Y) ** 2) + p[2] ** 2, np.ones(3)), td.Undetermined, r"got: x\[0\], x\[1\]\n"),
        (lambda: td.covariance(lambda p: p[0] ** 2 - p[1] ** 2, np.ones(2)), td.Undetermined, r"x is no minimum.*got: x\[1\]\n.*converged"),
        (lambda: td.covariance(lambda p: np.sqrt(p) * T[:1], np.zeros(1)), td.Undetermined, r"not finite.*got: x\[0\]"),
        (lambda: td.covariance(lambda p: p * Y[:2], np.ones(2)), td.ArgumentMismatch, "got: 2 residuals, 2 parameters"),
        (lambda: td.covariance(lambda p: p[:1] * Y[:1], np.ones(2), scale=1.0), td.Undetermined, r"got: x\[1\]"),
        (lambda: td.covariance(lambda p: p[:1] + p[1:], np.ones(2), scale=1.0), td.Undetermined, r"got: x\[0\], x\[1\]"),
        (lambda: td.covariance(lambda p: np.sum(p**2), np.ones(2), scale=1.0), td.ArgumentMismatch, "a scale of its own"),
        (lambda: td.covariance(lambda p: (p, p), np.ones(2)), td.ArgumentMismatch, "got: tuple"),
        (lambda: td.covariance(residuals, np.ones(2)).band(np.sum, level=95), td.ArgumentMismatch, "got: level=95"),
    ],
)  # fmt: skip
def test_what_has_no_covariance_is_named(call, error, text):
    with pytest.raises(error, match=f"(?s){text}"):
        call()


def test_undetermined_is_a_linear_algebra_error():
    """So that loops over resampled data may catch it as NumPy's."""
    with pytest.raises(np.linalg.LinAlgError):
        td.covariance(lambda p: np.sum(p[:1] ** 2), np.ones(2))
