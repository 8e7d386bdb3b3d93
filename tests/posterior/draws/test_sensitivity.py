"""Derivatives of posterior means: a conjugate model's exact ones, the covariances themselves, data that change, refusals."""

import numpy as np
import pytest

import tapediff as td
from tapediff.stats import norm

Y = np.array([1.0, 2.5, 0.4])


def model(y=Y, mean=0.5, scale=2.0, **options):
    """mu ~ N(mean, scale), y ~ N(mu, 1); the branch is of data alone."""

    def density(mu, y, mean, scale, widths):
        prior = norm.logpdf(mu, mean, scale) if scale < 100.0 else 0.0
        return prior + (norm.logpdf(y, mu, 1.0) * widths[0] * widths[1]).sum()

    return td.Posterior(density, mu=td.real(), data={"y": y, "mean": mean, "scale": scale, "widths": np.ones(2)}, **options)


def exact(y, mean, scale):
    precision = 1 / scale**2 + len(y)
    return (mean / scale**2 + np.sum(y)) / precision


@pytest.mark.parametrize("length", [3, 11])
def test_derivatives_are_those_of_the_exact_mean_also_for_data_of_another_length(length):
    """Within five of the errors given; and the errors are small: a derivative of the exact mean by differences."""
    post, y = model(), np.random.default_rng(5).normal(size=length)
    post.set_data(y=y, mean=-0.3, scale=1.5)
    draws = post.laplace().sample(20000, seed=1)  # exact, as the posterior is normal
    found = post.sensitivity(draws, ["mean", "scale", "widths"])
    h = 1e-5
    for name, slope in (
        ("mean", (exact(y, -0.3 + h, 1.5) - exact(y, -0.3 - h, 1.5)) / (2 * h)),
        ("scale", (exact(y, -0.3, 1.5 + h) - exact(y, -0.3, 1.5 - h)) / (2 * h)),
    ):
        error = found.errors[name]["mu"]
        assert abs(found.derivatives[name]["mu"] - slope) < 5 * error
        assert error < 0.05 * max(abs(slope), 0.1)
    assert found.derivatives["widths"]["mu"].shape == (2,)
    row = found.table["mu by mean"]
    assert row["sd per 10%"] == pytest.approx(0.1 * -0.3 * row["derivative"] / np.std(draws["mu"], ddof=1), rel=1e-9)
    assert str(found).splitlines()[1].startswith("mu by mean ")


def test_derivatives_are_covariances_with_the_slope_of_the_log_density():
    """Exactly, for vectors and for generated quantities, with hyperparameters of another branch than at first."""
    def density(z, centre, power):
        return -np.sum((z - centre) ** 2) * power if power > 1.0 else -np.sum(np.abs(z - centre)) * power

    post = td.Posterior(
        density, z=td.real(3), data={"centre": np.array([0.1, 0.2, 0.3]), "power": 2}, generated=lambda z: {"pair": np.outer(z, z)[:2, :2]}
    )
    draws = {"z": np.random.default_rng(0).normal(size=(2, 50, 3))}
    draws |= post.generate(draws)
    for power in (2, 0.5):
        post.set_data(power=power)
        found = post.sensitivity(draws, ["centre", "power"]).derivatives
        off = draws["z"] - post.data["centre"]
        slopes = 2 * power * off if power > 1 else power * np.sign(off)
        by_power = -np.sum(off**2 if power > 1 else np.abs(off), axis=-1)
        for name in ("z", "pair"):
            q = draws[name].reshape(100, -1)
            for of, g in (("centre", slopes.reshape(100, 3)), ("power", by_power.reshape(100, 1))):
                expected = (q - q.mean(axis=0)).T @ (g - g.mean(axis=0)) / 99
                shape = draws[name].shape[2:] + ((3,) if of == "centre" else ())
                np.testing.assert_allclose(found[of][name], expected.reshape(shape), rtol=1e-9, atol=1e-12)


def test_quantities_that_depend_on_the_hyperparameter_themselves_are_left_out():
    """Their derivative has another term, which covariances do not have."""
    post = model(generated=lambda mu, scale: {"ratio": mu / scale})
    draws = {"mu": np.random.default_rng(0).normal(size=200)}
    draws |= post.generate(draws)
    assert {*post.sensitivity(draws, "scale").derivatives["scale"]} == {"mu"}
    assert {*post.sensitivity(draws, "mean").derivatives["mean"]} == {"mu", "ratio"}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nu", "nu is not among the data(?s:.*)got: counts, mean(?s:.*)fix: data="),
        ("counts", "counts has no derivatives(?s:.*)got: ndarray of int64"),
        ([], "no hyperparameters"),
    ],
)
def test_what_has_no_derivative_is_refused(name, told):
    post = td.Posterior(lambda mu, mean, counts: -((mu - mean) ** 2) * counts.sum(), mu=td.real(), data={"mean": 0.0, "counts": np.arange(3)})
    with pytest.raises(td.PosteriorError, match=told) as raised:
        post.sensitivity({"mu": np.linspace(0, 1, 20)}, name)
    assert "at:  test_sensitivity.py" in str(raised.value)
