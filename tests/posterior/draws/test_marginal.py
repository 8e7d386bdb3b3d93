"""Posteriors without their random effects: against closed forms, and the effects' draws against their conditional distribution."""

import pickle

import numpy as np
import pytest

import tapediff as td
from tapediff.stats import halfcauchy, lognorm, norm

Y, SIGMA = np.array([28.0, 8, -3, 7, -1, 1, 18, 12]), np.array([15.0, 10, 16, 11, 9, 11, 10, 18])


def schools(mu, tau, z, y, sigma):
    prior = norm.logpdf(z).sum() + norm.logpdf(mu, 0, 5) + halfcauchy.logpdf(tau, 0, 5)
    return prior + norm.logpdf(y, mu + tau * z, sigma).sum()


def integrated(mu, tau, y, sigma):
    return norm.logpdf(mu, 0, 5) + halfcauchy.logpdf(tau, 0, 5) + norm.logpdf(y, mu, np.sqrt(sigma**2 + tau**2)).sum()


def thetas(mu, tau, z):
    return {"theta": mu + tau * z}


def of_schools(**options):
    return td.Posterior(schools, mu=td.real(), tau=td.positive(), z=td.real(8), data={"y": Y, "sigma": SIGMA}, **options)


EXACT = td.Posterior(integrated, mu=td.real(), tau=td.positive(), data={"y": Y, "sigma": SIGMA})
POINTS = np.random.default_rng(1).normal(size=(4, 2))


def test_normal_effects_have_their_exact_marginal():
    """Value and gradient to rounding; the Hessian is of central differences, with errors of 1e-8."""
    marginal = of_schools().laplace_marginal("z")
    assert (marginal.names, marginal.param_unc_num()) == (("mu", "tau"), 2)
    for u in POINTS:
        value, gradient, hessian = EXACT.log_density_hessian(u)
        assert marginal.log_density(u) == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(marginal.log_density_gradient(u)[1], gradient, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(marginal.log_density_hessian(u)[2], hessian, atol=1e-7)
        np.testing.assert_allclose(marginal.log_density(u, jacobian=False), EXACT.log_density(u, jacobian=False), rtol=1e-12)
    np.testing.assert_allclose(marginal.find_map(jacobian=True).u, EXACT.find_map(jacobian=True).u, atol=1e-6)
    found, expected = marginal.laplace(), EXACT.laplace()
    assert found.log_evidence == pytest.approx(expected.log_evidence, abs=1e-7)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-6)
    assert marginal.check(3).is_fine


def test_data_of_other_values_need_no_recording():
    marginal, other = of_schools().laplace_marginal("z"), td.Posterior(
        integrated, mu=td.real(), tau=td.positive(), data={"y": Y[::-1], "sigma": SIGMA + 1.0})  # fmt: skip
    marginal.log_density(POINTS[0])
    marginal.set_data(y=Y[::-1], sigma=SIGMA + 1.0)
    assert marginal.log_density(POINTS[0]) == pytest.approx(other.log_density(POINTS[0]), rel=1e-12)
    assert marginal.tape.stats.recordings == 1


def test_log_jacobians_of_effects_count_and_their_bounds_may_depend_on_the_rest():
    """A lognormal effect above a parameter is normal in its unconstrained coordinate, so that the marginal is exact."""

    def shifted(low, v, y):
        return norm.logpdf(low) + lognorm.logpdf(v - low, 0.5).sum() + norm.logpdf(y, np.log(v - low), 2.0).sum()

    y = np.array([0.3, -1.0, 2.0])
    post = td.Posterior(shifted, low=td.real(), v=td.lower(lambda low: low, 3), data={"y": y})
    marginal = post.laplace_marginal(random=("v",))
    expected = norm.logpdf(0.7) + norm.logpdf(y, 0.0, np.sqrt(0.25 + 4.0)).sum()
    assert marginal.log_density(np.array([0.7])) == pytest.approx(expected, rel=1e-12)
    mode = marginal.function.mode({"low": 0.7}, {"y": y})
    np.testing.assert_allclose(mode["v"], 0.7 + np.exp(y * 0.25 / 4.25), rtol=1e-9)


@pytest.mark.slow
def test_generated_draws_the_effects_from_their_conditional_distribution():
    """Normal, with known mean and variance: 4 standard errors of 4000 draws; and what the user's function makes of them."""
    marginal = of_schools(generated=thetas).laplace_marginal("z")
    draws = {"mu": np.full(4000, 4.0), "tau": np.full(4000, 5.0)}
    found = marginal.generate(draws, seed=3)
    precision = 1.0 + 25.0 / SIGMA**2
    mean = 5.0 * (Y - 4.0) / SIGMA**2 / precision
    assert np.all(np.abs(found["z"].mean(axis=0) - mean) < 4.0 / np.sqrt(4000 * precision))
    np.testing.assert_allclose(found["z"].var(axis=0) * precision, 1.0, atol=4.0 * np.sqrt(2.0 / 4000))
    np.testing.assert_array_equal(found["theta"], 4.0 + 5.0 * found["z"])
    again = marginal.generate(draws, seed=3)
    np.testing.assert_array_equal(again["z"], found["z"])


def test_generated_quantities_may_draw_by_a_key_or_a_generator():
    for draws in (lambda mu, z, key: {"more": td.random.normal(key, 8) + z}, lambda mu, z, rng: {"more": rng.normal(size=8) + z}):
        found = of_schools(generated=draws).laplace_marginal("z").generate({"mu": np.zeros(3), "tau": np.ones(3)}, seed=1)
        assert found["more"].shape == (3, 8)
        assert len(np.unique(found["more"] - found["z"])) == 24


def test_it_is_pickled_with_its_tapes():
    marginal = of_schools(generated=thetas).laplace_marginal("z")
    values = [marginal.log_density_gradient(u) for u in POINTS]
    again = pickle.loads(pickle.dumps(marginal))
    for u, (value, gradient) in zip(POINTS, values):
        found = again.log_density_gradient(u)
        assert found[0] == pytest.approx(value, rel=1e-13)
        np.testing.assert_allclose(found[1], gradient, rtol=1e-9, atol=1e-12)


def test_nutpie_samples_it():
    """Means within 4 standard errors of those of the closed form, by draws of the same sampler."""
    pytest.importorskip("nutpie")
    trace = of_schools(generated=thetas).laplace_marginal("z").sample(500, 2, tune=300, seed=1, progress_bar=False)
    other = EXACT.sample(500, 2, tune=300, seed=2, progress_bar=False)
    spread = 4.0 * np.sqrt(2.0 / 300)  # at least 300 effective draws
    assert abs(float(trace.posterior["mu"].mean() - other.posterior["mu"].mean())) < spread * float(other.posterior["mu"].std())
    assert trace.posterior["z"].shape == trace.posterior["theta"].shape == (2, 500, 8)


@pytest.mark.parametrize(("names", "got"), [("x", "x of mu, tau, z"), ((), "none of mu, tau, z"), (("mu", "tau", "z"), "mu, tau, z of mu, tau, z")])
def test_names_of_no_parameters_or_of_all_are_refused(names, got):
    with pytest.raises(td.PosteriorError) as caught:
        of_schools().laplace_marginal(names)
    assert "random= names some of the parameters, not all" in str(caught.value)
    assert f"got: {got}" in str(caught.value)
    assert "fix: post.laplace_marginal(random='z')" in str(caught.value)


def test_bounds_that_depend_on_an_effect_are_refused():
    post = td.Posterior(lambda v, top: -(v**2) - top, v=td.positive(), top=td.lower(lambda v: v))
    with pytest.raises(td.PosteriorError, match="the bounds of 'top' depend on a random effect"):
        post.laplace_marginal("v")
