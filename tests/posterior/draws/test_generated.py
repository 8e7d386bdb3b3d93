"""Generated quantities and draws from priors: by keys, by random generators, compiled; with names and coordinates in ArviZ's trees."""

import copy
import pickle

import numpy as np
import pytest

import tapediff as td
from tapediff.stats import halfnorm, norm

Y = np.array([0.3, -0.2, 1.1, 2.4])


def log_density(mu, scale, y):
    return norm.logpdf(mu, 0.0, 2.0) + halfnorm.logpdf(scale) + norm.logpdf(y, mu, scale).sum()


def by_key(key):
    first, second = td.random.split(key)
    return {"mu": td.random.normal(first, scale=2.0), "scale": np.abs(td.random.normal(second))}


def by_rng(rng):
    return {"mu": rng.normal(0.0, 2.0), "scale": abs(rng.normal())}


def likelihood(mu, scale, y):
    return {"y": norm.logpdf(y, mu, scale)}


def replicated(mu, scale, y, key):
    return {"y": td.random.normal(key, len(y), mu, scale), "is_high": mu > 0.0}


def model(**options):
    return td.Posterior(log_density, mu=td.real(), scale=td.positive(), data={"y": Y}, **options)


@pytest.mark.parametrize("prior", [by_key, by_rng], ids=["key", "rng"])
def test_draws_of_the_prior_have_its_moments_and_predictions(prior):
    """Within five standard errors; predictions have the variance of parameters and noise."""
    count = 4000
    post = model(prior=prior, generated=replicated)
    found = post.sample_prior(count, seed=1)
    assert {name: values.shape for name, values in found.items()} == {
        "mu": (count,), "scale": (count,), "y": (count, 4), "is_high": (count,),
    }  # fmt: skip
    assert found["mu"].std() == pytest.approx(2.0, rel=5 / np.sqrt(2 * count))
    assert found["scale"].mean() == pytest.approx(np.sqrt(2 / np.pi), abs=5 * 0.61 / np.sqrt(count))
    # Var y = 4 + E scale^2 = 5; the variance of a squared deviation is below 3 * 25 + those of the mixture's tails, so 10 in place of 8.7.
    assert found["y"][:, 0].var() == pytest.approx(5.0, abs=5 * 10 / np.sqrt(count))
    np.testing.assert_array_equal(found["is_high"], found["mu"] > 0.0)
    again = post.sample_prior(count, seed=1)
    assert all(np.array_equal(values, again[name]) for name, values in found.items())
    assert not np.array_equal(found["mu"], post.sample_prior(count, seed=2)["mu"])
    assert not np.array_equal(post.sample_prior(5, seed=None)["mu"], post.sample_prior(5, seed=None)["mu"])


def test_each_draw_has_a_key_of_its_own():
    """The draws of `generated` at equal parameters differ, and are those of td.random at keys split from the seed's."""
    same = {"mu": np.zeros((2, 3)), "scale": np.ones((2, 3))}
    found = model(generated=replicated).generate(same, seed=4)["y"]
    keys = td.random.split(td.random.key(4), 6)
    # Kernels may round the last bits of logarithms and cosines otherwise than NumPy.
    np.testing.assert_allclose(found.reshape(6, 4), [td.random.normal(key, 4) for key in keys], rtol=1e-12)


def test_simulated_data_are_refitted_without_compiling():
    """Ranks of the prior's draws among those of the posterior of data made from them are uniform (Talts and others 2018, arXiv 1804.06788)."""
    conjugate = td.Posterior(
        lambda mu, y: norm.logpdf(mu) + norm.logpdf(y, mu).sum(), mu=td.real(), data={"y": Y},
        prior=lambda rng: {"mu": rng.normal()}, generated=lambda mu, y, rng: {"y": rng.normal(mu, 1.0, size=len(y))},
    )  # fmt: skip
    drawn, ranks = conjugate.sample_prior(200, seed=0), []
    for mu, y in zip(drawn["mu"], drawn["y"]):
        conjugate.set_data(y=y)
        ranks.append(np.mean(conjugate.laplace().sample(99, seed=len(ranks))["mu"] < mu))  # exact, as the posterior is normal
    assert conjugate.tape.stats.recordings == 1
    assert np.mean(ranks) == pytest.approx(0.5, abs=5 * np.sqrt(1 / 12 / 200))
    assert np.var(ranks) == pytest.approx(1 / 12, rel=0.35)  # five standard errors of a uniform number's variance, from 200


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (lambda: model().sample_prior(3), "no function that draws its parameters"),
        (lambda: model(prior=lambda y: {"mu": 0.0, "scale": 1.0}), "prior draws nothing"),
        (lambda: model(prior=lambda rng, key: {}), "rng, for plain Python, or key"),
        (lambda: model(prior=lambda rng, mu: {}), "prior needs mu"),
        (lambda: model(prior=lambda rng: 3.0).sample_prior(3), "prior has to return a dict\n.*\n  got: float"),
        (lambda: model(prior=lambda rng: {"mu": rng.normal()}).sample_prior(3), "missing: scale"),
        (lambda: model(prior=lambda rng: {"mu": 0.0, "scale": rng.normal()}).sample_prior(30), "'scale' is declared td.positive"),
        (lambda: model(prior=lambda rng: {"mu": rng.normal(size=2), "scale": 1.0}).sample_prior(3), "'mu' has shape"),
    ],
)  # fmt: skip
def test_errors_say_what_is_wrong(make, wrong):
    with pytest.raises(ValueError, match=wrong):
        make()


def test_parameters_and_data_may_be_called_key_and_rng():
    """Then they are that, and nothing is drawn."""
    post = td.Posterior(lambda key, rng: -(key**2) * rng, key=td.real(), data={"rng": 2.0}, generated=lambda key, rng: {"both": key * rng})
    np.testing.assert_array_equal(post.generate({"key": np.arange(3.0)})["both"], [0.0, 2.0, 4.0])


def test_functions_that_draw_are_copied_and_pickled():
    """By name, as the others."""
    for pointwise in (likelihood, "is_high"):
        post = model(prior=by_key, generated=replicated, log_likelihood=pointwise)
        for other in (copy.copy(post), pickle.loads(pickle.dumps(post))):
            drawn = other.sample_prior(3)
            np.testing.assert_array_equal(drawn["y"], post.sample_prior(3)["y"])
            for name, values in other.log_likelihood(drawn).items():
                np.testing.assert_array_equal(values, post.log_likelihood(drawn)[name])


@pytest.mark.filterwarnings("ignore")  # those of other packages
def test_predictions_have_arviz_s_groups_and_their_names_stay():
    """What has the name of data is replicated data; all else stands beside the parameters."""
    pytest.importorskip("nutpie")
    post = model(generated=replicated, dims={"y": "person"}, coords={"person": list("abcd")})
    trace = post.sample(50, 2, tune=50, seed=1, progress_bar=False, cores=1)
    assert trace.posterior_predictive["y"].dims == ("chain", "draw", "person")
    assert trace.observed_data["y"].dims == ("person",)
    np.testing.assert_array_equal(trace.observed_data["y"].values, Y)
    np.testing.assert_array_equal(trace.posterior["is_high"].values, trace.posterior["mu"].values > 0.0)
    assert "y" not in trace.posterior


@pytest.mark.filterwarnings("ignore")  # those of other packages
def test_dimensions_without_entries_are_numbered_and_others_have_to_fit():
    """nutpie itself ends with a panic where it does not know a length."""
    pytest.importorskip("nutpie")

    def factor(dims, **coords):
        return td.Posterior(
            lambda L: -np.sum(L**2), L=td.cholesky_corr(2), generated=lambda L: {"corr": L @ L.T}, dims={"corr": dims}, coords=coords
        ).nutpie_model()

    assert list(factor(("row", "column"), row=["a", "b"])._coords["column"]) == [0, 1]
    for dims, coords in ((("row", "column"), {"row": 3}), (("row",), {}), ("row", {})):
        with pytest.raises(ValueError, match=r"'corr' has shape \(2, 2\), and its dimensions are"):
            factor(dims, **coords)
    with pytest.raises(ValueError, match="dims names cor, and draws have x"):
        td.Posterior(lambda x: -(x**2), x=td.real(), dims={"cor": "row"}).nutpie_model()
