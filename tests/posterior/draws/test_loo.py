"""Leave-one-out cross-validation: ArviZ's numbers, a conjugate model's exact ones, comparisons, data that change."""

import numpy as np
import pytest
from scipy.special import ndtri

import tapediff as td
from tapediff.posterior.draws import loo as module
from tapediff.stats import norm

Y = np.array([-2.0, 0.0, 0.4, 2.5, 5.0])


def model(y, scale=1.0, **options):
    """mu ~ N(0, 10), y ~ N(mu, scale): its posterior is normal, so that laplace() draws from it exactly."""
    return td.Posterior(
        lambda mu, y, scale: norm.logpdf(mu, 0, 10) + norm.logpdf(y, mu, scale).sum(), mu=td.real(), data={"y": y, "scale": scale},
        log_likelihood=lambda mu, y, scale: {"y": norm.logpdf(y, mu, scale)}, **options,
    )  # fmt: skip


def exact(y, scale=1.0):
    """The log density of each observation given the others."""
    found = []
    for i, here in enumerate(y):
        precision = 1 / 100 + (len(y) - 1) / scale**2
        mean = np.sum(np.delete(y, i)) / scale**2 / precision
        found.append(norm.logpdf(here, mean, np.sqrt(1 / precision + scale**2)))
    return np.array(found)


def test_smoothed_estimates_and_pareto_k_are_those_of_arviz():
    """arviz.loo(..., reff=1.0) of ArviZ 0.23, to the digits that it has; k is from 0.7 to 2.4, so that all of it is smoothed."""
    x = np.stack([ndtri((np.arange(1, 501) * np.sqrt(p)) % 1.0) for p in (2.0, 3.0, 5.0, 7.0)])
    found = model(Y).loo({"mu": x}, r_eff=1.0)
    np.testing.assert_allclose(
        found.pointwise, [-7.800517168555171, -1.8708717478210533, -2.1928097871887857, -10.313817841920606, -27.28702687405389], rtol=1e-11
    )
    np.testing.assert_allclose(
        found.k, [1.4324450780367606, 0.7130079130074739, 0.7795542648553951, 1.5404444256897982, 2.434223090139654], rtol=1e-11
    )
    assert (found.elpd, found.p) == pytest.approx((-49.465043419539505, 34.17027321373235), rel=1e-11)
    assert found.se == pytest.approx(20.754643190351 * np.sqrt(5 / 4), rel=1e-11)  # ArviZ 0.x divides by n, 1.x and Vehtari 2017 by n - 1
    assert found.largest_k == pytest.approx(min(1 - 1 / np.log10(2000), 0.7))
    assert [*found.unreliable] == ["y[4]", "y[3]", "y[0]", "y[2]", "y[1]"]
    assert "Pareto k is above 0.70 for 5 of 5 observations: y[4] (2.43), y[3]" in str(found)


@pytest.mark.parametrize("length", [12, 40])
def test_estimates_are_those_of_the_conjugate_model_also_for_data_of_another_length(length):
    """To 0.02 of each log density, about four standard errors with 20,000 independent draws."""
    rng = np.random.default_rng(0)
    post = model(rng.normal(size=20))
    post.log_density(np.zeros(1))
    post.set_data(y=rng.normal(1.0, 1.2, size=length), scale=1.2)
    found = post.loo(post.laplace().sample(20000, seed=1))
    np.testing.assert_allclose(found.pointwise, exact(post.data["y"], 1.2), atol=0.02)
    assert found.elpd == pytest.approx(exact(post.data["y"], 1.2).sum(), abs=0.05)
    assert found.unreliable == {}
    assert len(found.names) == length
    assert "20000 draws: Pareto k is at most" in str(found)


def test_the_fit_of_the_tail_finds_the_shape_of_pareto_draws():
    """Quantiles of the distribution itself; a weak prior draws k to 1/2."""
    u = (np.arange(5000) + 0.5) / 5000
    for k in (-0.3, 0.2, 0.9):
        shape, scale = module.pareto(2.0 * np.expm1(-k * np.log1p(-u)) / k)
        assert (shape, scale) == pytest.approx((k, 2.0), abs=0.03)


def test_models_are_compared_by_differences_and_weighed_by_stacking():
    """An observation that a narrow model cannot explain; the weights of equal models are equal."""
    y = np.append(np.random.default_rng(2).normal(size=30), [6.0, -6.0])
    narrow, wide = model(y), model(y, 2.0)
    found = {"narrow": narrow.loo(narrow.laplace().sample(4000)), "wide": wide.loo(wide.laplace().sample(4000))}
    table = td.Posterior.compare(found)
    assert table.names == ("wide", "narrow")
    both = found["narrow"].pointwise - found["wide"].pointwise
    assert table["narrow"]["difference"] == pytest.approx(both.sum(), rel=1e-12)
    assert table["narrow"]["difference_se"] == pytest.approx(np.sqrt(32 * both.var(ddof=1)), rel=1e-12)
    assert table["wide"]["difference"] == 0.0
    assert "difference_se" in str(table).splitlines()[0]
    np.testing.assert_allclose(td.Posterior.compare({"a": found["wide"], "b": found["wide"]}).columns["weight"], 0.5)


def test_stacking_has_the_weights_of_the_best_mixture():
    """60 % of observations have the density 0.8 by the first model and 0.2 by the second: the mixture gives them 0.6."""
    scores = np.log(np.where(np.arange(100)[:, None] < 60, [0.8, 0.2], [0.2, 0.8]))
    np.testing.assert_allclose(module.stacking(scores), [2 / 3, 1 / 3], atol=1e-3)


def test_log_likelihoods_come_from_generated_quantities_and_from_arrays_too():
    """By names, a name, and a function that returns an array."""
    y, draws = np.array([0.5, -1.0, 2.0]), {"mu": np.linspace(-1, 1, 40).reshape(4, 10)}
    expected = model(y).log_likelihood(draws)["y"]
    assert expected.shape == (4, 10, 3)
    np.testing.assert_allclose(expected, norm.logpdf(y, draws["mu"][..., None], 1.0), rtol=1e-12)

    def other(log_likelihood, **options):
        return td.Posterior(
            lambda mu, y: norm.logpdf(y, mu).sum(), mu=td.real(), data={"y": y}, log_likelihood=log_likelihood,
            generated=lambda mu, y: {"each": norm.logpdf(y, mu), "square": mu**2}, **options,
        )  # fmt: skip

    for named, name in (("each", "each"), (["each"], "each"), (lambda mu, y: norm.logpdf(y, mu), "log_likelihood")):
        post = other(named)
        np.testing.assert_allclose(post.log_likelihood(draws)[name], expected, rtol=1e-12)
        post.set_data(y=np.arange(5.0))
        assert post.log_likelihood(draws)[name].shape == (4, 10, 5)
        np.testing.assert_allclose(post.log_likelihood(draws)[name][..., 4], norm.logpdf(4.0, draws["mu"]), rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda d: td.Posterior(lambda mu: -(mu**2), mu=td.real()).loo(d), "no log likelihood of each observation"),
        (lambda d: td.Posterior(lambda mu: -(mu**2), mu=td.real(), log_likelihood="y"), "names what generated returns, which is missing"),
        (lambda d: td.Posterior(lambda mu: -(mu**2), mu=td.real(), log_likelihood=lambda nu: nu), "log_likelihood needs nu"),
        (
            lambda d: td.Posterior(lambda mu: -(mu**2), mu=td.real(), log_likelihood="y", generated=lambda mu: {"x": mu}).loo(d),
            "generated returns no y(?s:.*)got: x",
        ),
        (lambda d: model(np.array([0.0, np.inf])).loo(d), r"finite at every draw(?s:.*)got: y\[1\]"),
        (lambda d: model(Y).loo(d, name="z"), "no log likelihood of 'z'(?s:.*)got: y"),
        (lambda d: td.Posterior.compare({"a": model(Y).loo(d), "b": model(Y[1:]).loo(d)}), "of other observations(?s:.*)got: (a|b)"),
        (lambda d: td.Posterior.compare({}), "no models to compare"),
        (lambda d: model(Y).loo({"mu": np.zeros(1)}, r_eff=1.0), "at least 4 draws"),
        (lambda d: model(Y).loo({"mu": np.zeros((4, 0))}), "at least 4 draws"),
        (lambda d: model(Y, generated=lambda mu: {"x": mu}).generate(None), "draws are a dict of arrays"),
        (lambda d: model(Y, generated=lambda mu: {"x": mu}).generate(d["mu"]), "draws are a dict of arrays"),
    ],
)
def test_what_cannot_be_estimated_is_told(call, told):
    with pytest.raises(td.PosteriorError, match=told) as raised:
        call({"mu": np.linspace(-1, 1, 400)})
    assert all(part in str(raised.value) for part in ("at:  test_loo.py", "got: ", "fix: "))


@pytest.mark.filterwarnings("ignore")  # those of other packages
def test_draws_of_other_data_are_no_draws_of_the_present_ones():
    """Their observed data tell, in trees of ArviZ as in files."""
    pytest.importorskip("arviz")
    post = model(Y)
    tree = post.to_arviz(post.laplace().sample(400))
    before = post.loo(tree).elpd
    post.set_data(y=Y + 1)
    with pytest.raises(td.PosteriorError, match=r"made with other data(?s:.*)got: y"):
        post.loo(tree)
    for other in (np.arange(7.0), np.zeros(0), Y[:1]):
        post.set_data(y=other)
        with pytest.raises(td.PosteriorError, match="made with other data"):
            post.to_arviz(tree, prior=3)
    post.set_data(y=Y)
    assert post.loo(tree).elpd == before
    missing = model(np.append(Y, np.nan))
    missing.pointwise = lambda mu, y, scale: {"y": np.where(np.isnan(y), 0.0, norm.logpdf(np.where(np.isnan(y), 0.0, y), mu, scale))}
    tree = missing.to_arviz({"mu": np.linspace(-1, 1, 400)})
    assert missing.loo(tree).elpd == missing.loo({"mu": np.linspace(-1, 1, 400)}).elpd  # NaN is no other value than NaN
