"""Metrics for samplers: against dense formulas, and the draws of a sampler that uses one."""

import numpy as np
import pytest

import tapediff as td
from tapediff.posterior.draws.metric import Whitened, laplace_metric
from tapediff.posterior.draws.sampling import _metric
from tapediff.stats import halfcauchy, norm

RNG = np.random.default_rng(5)
N = 12
Y, SIGMA = RNG.normal(size=N), RNG.uniform(0.5, 2.0, N)


def walk(level, u, y, sigma):
    """Normal, so that the posterior is: a precision with three diagonals, and a row for the level."""
    steps = norm.logpdf(u[0], level, 1.0) + norm.logpdf(np.diff(u), 0.0, 0.3).sum() + norm.logpdf(level, 0.0, 2.0)
    return steps + norm.logpdf(y, u, sigma).sum()


def schools(mu, tau, theta, y, sigma):
    prior = norm.logpdf(theta, mu, tau).sum() + norm.logpdf(mu, 0, 5) + halfcauchy.logpdf(tau, 0, 5)
    return prior + norm.logpdf(y, theta, sigma).sum()


def of_walk():
    return td.Posterior(walk, level=td.real(), u=td.real(N), data={"y": Y, "sigma": SIGMA})


def of_schools():
    data = {"y": np.array([28.0, 8, -3, 7, -1, 1, 18, 12]), "sigma": np.array([15.0, 10, 16, 11, 9, 11, 10, 18])}
    return td.Posterior(schools, mu=td.real(), tau=td.positive(), theta=td.real(8), data=data)


def root_of(metric):
    return metric.factor.root(np.eye(len(metric.center))).T


def test_a_normal_posterior_becomes_the_standard_normal():
    """Center and root to the precision of the mode's search; also with effects, whose joint precision it is as well."""
    post = of_walk()
    for random in ((), ("u",)):
        metric = laplace_metric(post, random, 0)
        _, gradient, hessian = post.log_density_hessian(metric.center)
        np.testing.assert_allclose(gradient, 0.0, atol=1e-6)
        root = root_of(metric)
        np.testing.assert_allclose(root.T @ -hessian @ root, np.eye(N + 1), atol=1e-6)
        z = RNG.normal(size=N + 1)
        np.testing.assert_allclose(metric.at(z), metric.center + root @ z, rtol=1e-12)


def test_a_hierarchy_has_the_precision_of_effects_and_the_marginals_information():
    """Its joint density has no mode: the effects' block is of the joint, and the others' marginal covariance of the marginal."""
    post = of_schools()
    metric = laplace_metric(post, ("theta",), 0)
    root, marginal = root_of(metric), post.laplace_marginal("theta")
    covariance, (_, _, hessian) = root @ root.T, marginal.log_density_hessian(metric.center[:2])
    np.testing.assert_allclose(metric.center[:2], marginal.find_map(jacobian=True).u, atol=1e-5)
    np.testing.assert_allclose(np.linalg.inv(covariance[:2, :2]), -hessian, rtol=1e-6, atol=1e-8)
    _, _, joint = post.log_density_hessian(metric.center)
    np.testing.assert_allclose(np.linalg.inv(covariance)[2:], -joint[2:], atol=1e-7)


@pytest.mark.slow
def test_whitened_functions_follow_the_chain_rule():
    """As numba calls them: code, value and gradient by z; and values."""
    post = of_walk()
    metric = laplace_metric(post, (), 0)
    function, root = Whitened(post.c_function(), metric), root_of(metric)
    call = function.as_numba(status=True)
    for _ in range(3):
        z, gradient = RNG.normal(size=N + 1), np.empty(N + 1)
        code, value = call(z, gradient)
        expected, slope = post.log_density_gradient(metric.center + root @ z)
        assert (code, value) == (0, pytest.approx(expected, rel=1e-12))
        np.testing.assert_allclose(gradient, root.T @ slope, rtol=1e-9, atol=1e-10)
    squares = td.GuardedTape(lambda u: np.stack([np.sum(u), np.sum(u**2)]))
    out, z = np.empty(2), RNG.normal(size=N + 1)
    assert Whitened(squares.c_function("value", np.zeros(N + 1)), metric).as_numba(status=True)(z, out) == 0
    u = metric.at(z)
    np.testing.assert_allclose(out, [u.sum(), (u**2).sum()], rtol=1e-12)


def test_a_density_without_a_joint_mode_asks_for_its_effects():
    with pytest.raises(td.PosteriorError) as caught:
        laplace_metric(of_schools(), (), 0)
    assert "metric='laplace' needs a mode with curvature in all directions" in str(caught.value)
    assert "fix: random='z', the names of the random effects; or metric=None" in str(caught.value)
    assert isinstance(caught.value.__cause__, td.NoMode)


@pytest.mark.parametrize("options", [{"metric": "dense"}, {"random": "u"}])
def test_other_metrics_are_refused(options):
    with pytest.raises(td.PosteriorError, match="metric is None, for nutpie's diagonal one, or 'laplace', which takes random="):
        _metric(of_walk(), **options)


def test_options_of_the_sampler_are_passed_on():
    assert _metric(of_walk(), metric=None, cores=2) == (None, {"cores": 2})


def test_nutpie_draws_the_same_posterior():
    """Means and standard deviations of eight schools against the marginal of the same model, 4 standard errors; named as ever."""
    pytest.importorskip("nutpie")
    post = of_schools()
    trace = post.sample(1000, 2, tune=500, seed=3, metric="laplace", random="theta", progress_bar=False)
    other = post.laplace_marginal("theta").sample(1000, 2, tune=500, seed=4, progress_bar=False)
    for name in ("mu", "theta"):
        found, expected = trace.posterior[name], other.posterior[name]
        assert found.shape == expected.shape
        spread = np.asarray(expected.std(("chain", "draw")))
        apart = np.abs(np.asarray(found.mean(("chain", "draw")) - expected.mean(("chain", "draw"))))
        assert np.all(apart < 4.0 * spread * np.sqrt(2.0 / 150))  # at least 150 effective draws
    exact = of_walk().sample(1000, 2, tune=300, seed=5, metric="laplace", progress_bar=False)
    assert np.asarray(exact.sample_stats["n_steps"]).mean() < 8  # a standard normal needs few
