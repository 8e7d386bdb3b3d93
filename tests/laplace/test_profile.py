"""Profile likelihoods of parameters: against closed forms, and along each kind of end."""

import numpy as np
import pytest
import scipy.optimize

import tapediff as td
from tapediff.marginals.profile import TOLERANCE, profiled
from tapediff.stats import norm, poisson

RNG = np.random.default_rng(4)
N = 30
Y = RNG.normal(1.0, 2.0, N)
HAT = {"m": Y.mean(), "s": np.log(Y.std())}


def sample(theta, u, y):
    """A normal sample, beside effects that nothing depends on."""
    return norm.logpdf(u).sum() + norm.logpdf(y, theta["m"], np.exp(theta["s"])).sum()


@pytest.fixture
def normal():
    return td.laplace(sample, "u", start={"u": np.zeros(2)})


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_intervals_of_a_normal_sample_are_the_closed_forms(normal, level):
    """The ends to the tolerance of the root, times the scale of a parameter."""
    found, quantile = normal.profile(HAT, Y, level=level), td.special.ndtri(0.5 + 0.5 * level) ** 2
    half = Y.std() * np.sqrt(np.expm1(quantile / N))
    mean = found["theta['m']"]
    assert mean.estimate == Y.mean()
    np.testing.assert_allclose([mean.lower, mean.upper], [Y.mean() - half, Y.mean() + half], atol=3.0 * TOLERANCE)
    fall = lambda s: N * (s - HAT["s"]) + 0.5 * N * (Y.var() * np.exp(-2.0 * s) - 1.0) - 0.5 * quantile
    ends = [scipy.optimize.brentq(fall, HAT["s"] - 3.0, HAT["s"]), scipy.optimize.brentq(fall, HAT["s"], HAT["s"] + 3.0)]
    scale = found["theta['s']"]
    np.testing.assert_allclose([scale.lower, scale.upper], ends, atol=TOLERANCE)
    top = normal(HAT, Y)
    np.testing.assert_allclose(mean.values, top - 0.5 * N * np.log1p(((mean.at - Y.mean()) / Y.std()) ** 2), atol=1e-8)
    assert np.all(np.diff(mean.at) > 0.0)


def test_it_prints_a_table(normal):
    """Of the chosen parameters."""
    rows = str(normal.profile(HAT, Y, names=["theta['s']"])).splitlines()
    assert rows[0].split() == ["estimate", "lower", "upper"]
    assert rows[1].split()[:2] == ["theta['s']", f"{HAT['s']:.5g}"]
    assert rows[2:] == ["95 % intervals, by the profile likelihood"]


def test_a_curved_ridge_is_followed():
    """The profile of a banana: -x**2 / 2 along y = x**2, which no conditional normal distribution describes."""

    def banana(x):
        return -0.5 * x[0] ** 2 - 50.0 * (x[1] - x[0] ** 2) ** 2

    found = profiled(lambda x: td.value_and_gradient(banana, x), np.zeros(2), -td.hessian(banana, np.zeros(2)), ["x", "y"], ["x"], 0.95)
    np.testing.assert_allclose([found["x"].lower, found["x"].upper], [-1.959964, 1.959964], atol=1e-4)


def test_an_end_where_the_data_set_no_bound_is_infinite():
    """The variance of effects that the data hardly show: the likelihood without them is nearly as large."""
    y = np.array([2.0, -1.9, 2.1, -1.8, 0.4, -0.3])

    def effects(theta, u, y):
        return norm.logpdf(u, 0.0, np.exp(theta[0])).sum() + norm.logpdf(y, u, 1.5).sum()

    m = td.laplace(effects, "u", start={"u": np.zeros(6)})
    hat = np.array([0.5 * np.log(np.mean(y**2) - 1.5**2)])
    found = m.profile(hat, y)["theta[0]"]
    assert found.lower == -np.inf
    fall = lambda s: 2.0 * (m(hat, y) - m(np.array([s]), y)) - 3.841459
    assert found.upper == pytest.approx(scipy.optimize.brentq(fall, hat[0], hat[0] + 5.0), abs=1e-4)


def test_a_count_model_agrees_with_a_fine_grid():
    """One parameter of a random walk of counts, whose Laplace marginal is its own reference."""
    counts = RNG.poisson(np.exp(1.0 + np.cumsum(0.15 * RNG.normal(size=80))))

    def walk(theta, u, counts):
        steps = norm.logpdf(u[0], 0.0, 3.0) + norm.logpdf(np.diff(u), 0.0, np.exp(theta[0])).sum()
        return steps + poisson.logpmf(counts, np.exp(u)).sum()

    m = td.laplace(walk, "u", start={"u": np.zeros(80)})
    hat = scipy.optimize.minimize(lambda theta: -m(theta, counts), np.array([-2.0]), method="Nelder-Mead", options={"xatol": 1e-6}).x
    found = m.profile(hat, counts)["theta[0]"]
    for end in (found.lower, found.upper):
        assert 2.0 * (m(hat, counts) - m(np.array([end]), counts)) == pytest.approx(3.841459, abs=1e-3)


def test_another_point_than_the_maximum_is_refused(normal):
    with pytest.raises(td.Undetermined, match="theta is no maximum of the log marginal") as caught:
        normal.profile({"m": HAT["m"] + 0.5, "s": HAT["s"]}, Y)
    assert "a step that promises" in str(caught.value)


def test_a_higher_maximum_on_the_way_is_told():
    def two(x):
        return np.logaddexp(-0.5 * x[0] ** 2, 1.0 - 0.5 * (x[0] - 3.2) ** 2)

    top = scipy.optimize.minimize(lambda x: -two(x), np.zeros(1), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14}).x
    with pytest.raises(td.Undetermined, match="more where x is"):
        profiled(lambda x: td.value_and_gradient(two, x), top, -td.hessian(two, top), ["x"], None, 0.95)


@pytest.mark.parametrize(("options", "text"), [
    ({"names": ["m"]}, "names= are of numbers of the parameters"), ({"names": []}, "names= are of numbers of the parameters"),
    ({"level": 95}, "the level of an interval is a probability"),
])  # fmt: skip
def test_wrong_options_are_named(normal, options, text):
    with pytest.raises(td.ArgumentMismatch) as caught:
        normal.profile(HAT, Y, **options)
    assert text in str(caught.value)
