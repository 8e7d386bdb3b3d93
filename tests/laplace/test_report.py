"""Standard errors of fits with random effects: against the joint covariance of a normal model, and a large sample."""

import numpy as np
import pytest
import scipy.optimize

import tapediff as td
from tapediff.stats import binom, norm

RNG = np.random.default_rng(7)
N, GROUPS = 60, 6
GROUP, X = np.arange(N) % GROUPS, RNG.normal(size=N)
Y = 0.5 + 0.8 * X + RNG.normal(size=GROUPS)[GROUP] + 0.6 * RNG.normal(size=N)


def joint(theta, u, y):
    mean = theta["b"][0] + theta["b"][1] * X + u[GROUP]
    return norm.logpdf(y, mean, np.exp(theta["s"])).sum() + norm.logpdf(u, 0.0, np.exp(theta["t"])).sum()


@pytest.fixture(scope="module")
def fit():
    marginal = td.laplace(joint, "u", start={"u": np.zeros(GROUPS)})
    vector, unravel = td.tree.ravel({"b": np.zeros(2), "s": 0.0, "t": 0.0})

    def negative(v):
        value, gradient = marginal.value_and_gradient(unravel(v), Y)
        return -value, -td.tree.ravel(gradient)[0]

    found = scipy.optimize.minimize(negative, vector, jac=True, method="BFGS", options={"gtol": 1e-8})
    return marginal, unravel(found.x), marginal.report(unravel(found.x), Y)


def joint_covariance(theta):
    """Of (b, s, t, u), by the closed form of the marginal, and differences of the mode: Kass and Steffey's matrix."""
    vector, unravel = td.tree.ravel(theta)
    one = np.eye(GROUPS)[GROUP]

    def marginal(v):
        t = unravel(v)
        root = np.linalg.cholesky(np.exp(2.0 * t["s"]) * np.eye(N) + np.exp(2.0 * t["t"]) * (one @ one.T))
        w = np.linalg.solve(root, Y - t["b"][0] - t["b"][1] * X)
        return 0.5 * np.sum(w**2) + np.sum(np.log(np.diag(root)))

    def mode(v):
        t = unravel(v)
        precision = one.T @ one * np.exp(-2.0 * t["s"]) + np.eye(GROUPS) * np.exp(-2.0 * t["t"])
        return np.linalg.solve(precision, one.T @ (Y - t["b"][0] - t["b"][1] * X) * np.exp(-2.0 * t["s"])), np.linalg.inv(precision)

    of_theta = np.linalg.inv(td.hessian(marginal, vector))
    slope = np.stack([(mode(vector + 1e-5 * e)[0] - mode(vector - 1e-5 * e)[0]) / 2e-5 for e in np.eye(len(vector))], axis=1)
    whole = np.concatenate([np.eye(len(vector)), slope])
    found = whole @ of_theta @ whole.T
    found[len(vector) :, len(vector) :] += mode(vector)[1]
    return found


def test_standard_errors_are_those_of_the_joint_covariance(fit):
    """Of parameters and effects; 1e-6 is what differences of the gradient, and of the mode, leave."""
    _, theta, report = fit
    expected = np.sqrt(np.diag(joint_covariance(theta)))
    np.testing.assert_allclose(td.tree.ravel(report.theta.standard_errors)[0], expected[:4], rtol=1e-6)
    np.testing.assert_allclose(report.standard_errors, expected[4:], rtol=1e-6)
    assert report.value == pytest.approx(fit[0](theta, Y), rel=1e-12)
    np.testing.assert_allclose(report.mode, fit[0].mode(theta, Y), rtol=1e-9)


def test_derived_quantities_follow_the_delta_method(fit):
    """Of both parameters and effects, with their correlation: numbers, arrays, and more results than are solved at once."""
    _, theta, report = fit
    vector, unravel = td.tree.ravel(theta)
    covariance = joint_covariance(theta)

    def predicted(t, u, y):
        return np.exp(t["b"][0] + t["b"][1] * X[:, None] + np.stack([u[GROUP], u[GROUP] * t["s"]], axis=1))

    for g in (predicted, lambda t, u, y: u[0] - u[1] + t["b"][0], lambda t, u, y: np.exp(2.0 * t["t"]), lambda t, u, y: u):
        band = report.derived(g, level=0.9)
        flat = lambda z, g=g: np.reshape(g(unravel(z[:4]), z[4:], Y), (-1,))
        slope = td.jacobian(flat, np.concatenate([vector, report.mode]))
        expected = np.sqrt(np.diag(slope @ covariance @ slope.T))
        np.testing.assert_allclose(np.ravel(band.standard_error), expected, rtol=1e-5)
        np.testing.assert_allclose(band.value, g(theta, report.mode, Y), rtol=1e-12)
        np.testing.assert_allclose(band.upper - band.value, 1.6448536269514722 * band.standard_error, rtol=1e-10)
        assert np.shape(band.standard_error) == np.shape(band.value)


def test_corrected_values_are_expectations_over_the_effects(fit):
    """Of a normal effect, E[exp(u)] to second order and E[u^2] exactly; not of what is linear. Numbers and arrays; errors stay."""
    _, theta, report = fit
    variance = report._found.factor.inverse_diagonal()
    for g, expected in (
        (lambda t, u, y: u, report.mode), (lambda t, u, y: u**2, report.mode**2 + variance),
        (lambda t, u, y: np.exp(u[0]) * t["b"][0], np.exp(report.mode[0]) * (1.0 + 0.5 * variance[0]) * theta["b"][0]),
    ):  # fmt: skip
        found = report.derived(g, corrected=True)
        np.testing.assert_allclose(found.value, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.standard_error, report.derived(g).standard_error, rtol=1e-12)
        np.testing.assert_allclose(found.upper - found.value, found.value - found.lower, rtol=1e-9)


def test_points_that_are_no_maximum_are_told():
    """With the parameters along which the marginal rises, by td.covariance's words."""
    marginal = td.laplace(lambda theta, u: norm.logpdf(u, 0.0, 1.0).sum() + np.sum(theta**2), start={"u": np.zeros(2)})
    with pytest.raises(td.Undetermined, match="no minimum"):
        marginal.report(np.zeros(2))


# Cases of pleuropneumonia in 15 herds of zebu cattle over up to four periods, and the herds' sizes.
# Source: Lesnoff et al. (2004), Preventive Veterinary Medicine 62(2); `cbpp` of R's lme4.
CASES = np.array("2 3 4 0 3 1 1 8 2 0 2 2 0 2 0 5 0 0 1 3 0 0 1 8 1 3 0 12 2 0 0 0 1 1 0 2 0 5 3 1 2 1 0 0 1 2 0 0 11 0 0 0 1 1 1 0".split(), float)
SIZES = np.array("""14 12 9 5 22 18 21 22 16 16 20 10 10 9 6 18 25 24 4 17 17 18 20 16 10 9 5 34 9 6 8 6 22 22 18 22 25 27 22 22 10 8 6 5
                    21 24 19 23 19 2 3 2 19 15 15 15""".split(), float)  # fmt: skip
PERIODS = [4, 3, 4, 4, 4, 4, 4, 1, 4, 4, 4, 4, 4, 4, 4]


def test_a_published_fit_is_found_again():
    """The logistic model of these data by glmmTMB, with Laplace's approximation: estimates to 1e-6, standard errors to 1e-5, which is what
    the optimiser and the differences leave; and lme4's standard deviation and deviance as printed."""  # fmt: skip
    herd, period = np.repeat(np.arange(15), PERIODS), np.concatenate([np.arange(k) for k in PERIODS])
    x = np.eye(4)[period]
    x[:, 0] = 1.0

    def model(theta, u):
        logit = x @ theta[:4] + np.exp(theta[4]) * u[herd]
        return binom.logpmf(CASES, SIZES, 1.0 / (1.0 + np.exp(-logit))).sum() + norm.logpdf(u, 0.0, 1.0).sum()

    marginal = td.laplace(model, start={"u": np.zeros(15)})
    negative = lambda theta: tuple(-part for part in marginal.value_and_gradient(theta))
    found = scipy.optimize.minimize(negative, np.zeros(5), jac=True, method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(found.x[:4], [-1.3985325, -0.9923323, -1.1286713, -1.5803137], rtol=2e-6)
    errors = marginal.report(found.x).theta.standard_errors
    np.testing.assert_allclose(errors[:4], [0.2324721, 0.3066425, 0.3266378, 0.4274366], rtol=1e-5)
    assert np.exp(found.x[4]) == pytest.approx(0.642, abs=5e-4)
    assert 2.0 * found.fun == pytest.approx(184.1, abs=0.05)
