"""td.covariance: against closed forms, SciPy's curve_fit, and simulated data. td.propagate and td.sensitivities: by hand."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy import optimize, sparse, stats

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


@pytest.mark.slow
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


def pieces(p, scale=2.0):
    """A container of results, one of them with a branch."""
    up = np.exp(p["b"]) if p["a"] > 0.0 else p["b"] ** 3
    return {"product": scale * p["a"] * p["b"][0], "up": up}


MEAN = {"a": 2.0, "b": np.array([0.3, -0.4])}
ELSEWHERE = {"a": -1.5, "b": np.array([0.7, 0.2])}
ROOT = np.array([[0.1, 0.0, 0.0], [0.05, 0.2, 0.0], [-0.02, 0.01, 0.15]])
SPREAD = ROOT @ ROOT.T


def slopes(p):
    """The Jacobian and the Hessians of `pieces`, by hand: results product, up[0], up[1] by a, b[0], b[1]."""
    a, b = p["a"], p["b"]
    first, second = (np.exp(b), np.exp(b)) if a > 0.0 else (3.0 * b**2, 6.0 * b)
    jacobian, hessians = np.zeros((3, 3)), np.zeros((3, 3, 3))
    jacobian[0, :2], jacobian[1, 1], jacobian[2, 2] = (2.0 * b[0], 2.0 * a), first[0], first[1]
    hessians[0, 0, 1] = hessians[0, 1, 0] = 2.0
    hessians[1, 1, 1], hessians[2, 2, 2] = second
    return jacobian, hessians


@pytest.mark.parametrize("target", [lambda: pieces, lambda: td.GuardedTape(pieces), lambda: td.compile(pieces, MEAN)],
                         ids=["function", "guarded", "compiled"])  # fmt: skip
def test_propagation_by_hand(target):
    """Both orders, of a full covariance, a sparse one and variances; on both sides of a branch where the target has both."""
    f = target()
    for p in (MEAN, ELSEWHERE) if not isinstance(f, td.CompiledTape) else (MEAN, {"a": 0.4, "b": np.array([0.9, 0.1])}):
        jacobian, hessians = slopes(p)
        for spread, matrix in ((SPREAD, SPREAD), (sparse.csr_array(SPREAD), SPREAD), (np.diag(SPREAD), np.diag(np.diag(SPREAD)))):
            value = np.concatenate([[pieces(p)["product"]], pieces(p)["up"]])
            bent = hessians @ matrix
            for order in (1, 2):
                mean, covariance, errors = td.propagate(f, p, spread, order=order)
                expected = jacobian @ matrix @ jacobian.T + (order - 1) * 0.5 * np.einsum("iab,jba->ij", bent, bent)
                assert sparse.issparse(covariance) is (sparse.issparse(spread) and order == 1)
                np.testing.assert_allclose(covariance.toarray() if sparse.issparse(covariance) else covariance, expected, rtol=1e-12, atol=1e-15)
                moved = value + (order - 1) * 0.5 * np.trace(bent, axis1=1, axis2=2)
                np.testing.assert_allclose(td.tree.ravel(mean)[0], moved, rtol=1e-12)
                np.testing.assert_allclose(td.tree.ravel(errors)[0], np.sqrt(np.diag(expected)), rtol=1e-12)
                assert errors.keys() == mean.keys() == {"product", "up"}
    if isinstance(f, td.CompiledTape):
        with pytest.raises(td.GuardFailed):
            td.propagate(f, ELSEWHERE, SPREAD)


def test_second_order_is_exact_for_a_square():
    """Mean and variance of the square of a normal number; of a number, with further arguments."""
    mean, covariance, error = td.propagate(lambda x, c: c * x**2, 3.0, np.array([[0.1]]), td.Constant(2.0), order=2)
    np.testing.assert_allclose([mean, covariance[0, 0], error], [18.2, 4.0 * 3.62, 2.0 * np.sqrt(3.62)], rtol=1e-14)


def test_propagation_of_a_fit_is_its_band():
    """A td.covariance as the covariance."""
    fit = td.covariance(lambda p: residuals(p), optimize.least_squares(residuals, [1.0, 1.0]))
    band = fit.band(lambda p: decay(T[:4], p[0], p[1]))
    found = td.propagate(lambda p: decay(T[:4], p[0], p[1]), fit.parameters, fit)
    np.testing.assert_allclose(found.standard_errors, band.standard_error, rtol=1e-12)


def test_sparse_covariances_stay_sparse():
    """A chain of 20,000 numbers: no dense matrix is formed."""
    count = 20_000
    found = td.propagate(lambda x: x[1:] * x[:-1], np.linspace(1.0, 2.0, count), sparse.diags_array(np.full(count, 0.01)).tocsr())
    x = np.linspace(1.0, 2.0, count)
    np.testing.assert_allclose(found.covariance.diagonal(), 0.01 * (x[1:] ** 2 + x[:-1] ** 2), rtol=1e-12)
    np.testing.assert_allclose(found.covariance.diagonal(1), 0.01 * x[2:] * x[:-2], rtol=1e-12)
    assert found.covariance.nnz == 3 * count - 5


def test_covariances_that_are_refused():
    """Of another shape, not symmetric, with negative variances; and another order."""
    x = np.ones(2)
    for spread in (np.eye(3), np.ones(3), 1.0, sparse.eye_array(3)):
        with pytest.raises(td.ShapeMismatch, match=r"the covariance of 2 numbers has shape \(2, 2\)"):
            td.propagate(np.sum, x, spread)
    for spread, said in ((np.array([[1.0, 0.2], [0.1, 1.0]]), "symmetric"), (-x, "negative"), (np.diag([1.0, np.nan]), "negative, or NaN")):
        with pytest.raises(td.ArgumentMismatch, match=said):
            td.propagate(np.sum, x, spread)
    with pytest.raises(td.ArgumentMismatch, match="first or second order"):
        td.propagate(np.sum, x, np.eye(2), order=3)


def growth(p, t):
    return p["rate"] * p["time"] ** 2 * (p["x"][1] + t) if p["rate"] > 0.0 else 5.0 * p["time"]


def test_sensitivities_have_names_and_elasticities():
    """By hand, on both sides of a branch and from every target; the table is sorted."""
    p = {"rate": 2.0, "time": 3.0, "x": np.array([1.0, 0.5])}
    for f in (growth, td.GuardedTape(growth), td.compile(growth, p, td.Constant(0.5)), td.record(growth, p, td.Constant(0.5))):
        found = td.sensitivities(f, p, td.Constant(1.5))
        assert found.value == growth(p, 1.5)
        assert found.names == ["x['rate']", "x['time']", "x['x'][0]", "x['x'][1]"]
        np.testing.assert_allclose(found.values, [2.0, 3.0, 1.0, 0.5])
        np.testing.assert_allclose(found.derivatives, [18.0, 24.0, 0.0, 18.0], rtol=1e-14)
        np.testing.assert_allclose(found.elasticities, [1.0, 2.0, 0.0, 0.25], rtol=1e-14)
    text = str(found).splitlines()
    assert [row.split()[0] for row in text[2:]] == ["x['time']", "x['rate']", "x['x'][1]", "x['x'][0]"]
    assert text[2].split()[1:] == ["3", "24", "2"]
    other = td.sensitivities(growth, {**p, "rate": -1.0}, 1.5)
    np.testing.assert_allclose(other.derivatives, [0.0, 5.0, 0.0, 0.0])
    assert np.isnan(td.sensitivities(lambda x: x * 0.0, 1.0).elasticities[0])
    assert str(td.sensitivities(np.sum, np.ones(30))).endswith("and 10 others")
    with pytest.raises(td.NonScalarOutput):
        td.sensitivities(lambda x: x, np.ones(2))


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_what_is_no_covariance_is_refused(convert):
    """A matrix with a correlation beyond 1, NaN between variances, and complex numbers, also sparse; rounding is none of these."""
    x, beyond = np.ones(2), np.array([[1.0, 5.0], [5.0, 1.0]])
    with pytest.raises(td.ArgumentMismatch, match=r"not positive semidefinite(?s:.*)variance -8"):
        td.propagate(lambda x: np.array([x[0] - x[1], x[0]]), x, convert(beyond))
    with pytest.raises(td.ArgumentMismatch, match="symmetric"):
        td.propagate(np.sum, x, convert(np.array([[1.0, np.nan], [np.nan, 1.0]])))
    with pytest.raises(td.DtypeMismatch, match="real"):
        td.propagate(np.sum, x, convert(np.eye(2) * 1j))
    together = np.outer([0.1, 0.3], [0.1, 0.3])  # perfectly correlated
    assert td.propagate(lambda x: 3.0 * x[0] - x[1], x, convert(together)).standard_errors == pytest.approx(0.0, abs=1e-8)


def test_a_number_has_a_number_as_variance():
    assert td.propagate(lambda x: x**3, 2.0, 0.01).standard_errors == pytest.approx(1.2)
    assert td.propagate(lambda x: x**2, 2.0, 0.01, order=2).mean == pytest.approx(4.01)
    assert td.propagate(lambda x: 2.0 * x, np.zeros(0), np.zeros((0, 0))).covariance.shape == (0, 0)
    with pytest.raises(td.DtypeMismatch, match="pass floats"):
        td.propagate(np.sum, np.array([1, 2]), np.eye(2))


@pytest.mark.parametrize("scale", [-1.0, 0.0, np.nan, np.inf])
def test_variances_of_residuals_are_positive(scale):
    with pytest.raises(td.ArgumentMismatch, match="is positive"):
        td.covariance(lambda p: p - np.ones(2), np.ones(2), scale=scale)
