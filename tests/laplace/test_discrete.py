"""td.marginal: against sums written out, finite differences and the probabilities of Bayes' rule."""

import numpy as np
import pytest
from scipy import special, stats
from support.differences import differences

import tapediff as td
from tapediff.flow.state import recursions

Y = np.array([-1.2, 0.3, 2.1])
HERE, THERE = np.array([-1.0, 2.0, 0.4, 1.3]), np.array([0.5, -0.7, 1.2, 0.8])


def component(theta, k, y):
    """Three components, each with an expression of its own."""
    if k == 0:
        return np.sum(td.stats.norm.logpdf(y, theta[0], theta[3])) + np.log(0.5)
    if k == 1 and theta[2] > 1.0:
        return np.sum(-np.abs(y - theta[1])) + np.log(0.2)
    return np.sum(td.stats.norm.logpdf(y, theta[k], 2.0)) + np.log(0.3 if k == 2 else 0.2)


def by_hand(theta, y):
    return special.logsumexp([component(theta, k, y) for k in range(3)])


@pytest.mark.parametrize("kind", ["function", "compiled", "guarded", "tape"])
def test_value_gradient_and_second_derivatives(kind):
    """At the recorded point and elsewhere, on both sides of a branch where the target has both."""
    mixture = td.marginal(component, k=td.discrete(3))
    target = {"function": lambda: mixture, "compiled": lambda: td.compile(mixture, HERE, td.Constant(Y)), "guarded": lambda: td.GuardedTape(mixture),
              "tape": lambda: td.record(mixture, HERE, td.Constant(Y))}[kind]()  # fmt: skip
    for theta in (HERE, HERE + 0.3, *([THERE] if kind in ("function", "guarded") else [])):
        value, gradient = td.value_and_gradient(target, theta, td.Constant(Y))
        np.testing.assert_allclose(value, by_hand(theta, Y), rtol=1e-13)
        np.testing.assert_allclose(gradient, differences(lambda t: by_hand(t, Y), theta), rtol=1e-7, atol=1e-8)
        hessian = td.hessian(target, theta, td.Constant(Y))
        np.testing.assert_allclose(hessian, differences(lambda t: td.gradient(mixture, t, td.Constant(Y)), theta), rtol=1e-6, atol=1e-7)
    if kind in ("compiled", "tape"):
        with pytest.raises(td.GuardFailed):
            td.gradient(target, THERE, td.Constant(Y))


def test_probabilities_of_the_values():
    """Bayes' rule; also where all densities are tiny, and differentiated."""
    mixture = td.marginal(component, k=td.discrete(3))
    for y in (Y, Y + 200.0):
        logs = np.array([component(HERE, k, y) for k in range(3)])
        found = mixture.posterior(HERE, y)
        np.testing.assert_allclose(found, special.softmax(logs), rtol=1e-12)
        np.testing.assert_allclose(np.sum(found), 1.0, rtol=1e-14)
    jacobian = td.jacobian(mixture.posterior, HERE, td.Constant(Y))
    np.testing.assert_allclose(jacobian, differences(lambda t: mixture.posterior(t, Y), HERE), rtol=1e-6, atol=1e-9)


def test_several_discrete_arguments_in_any_place_and_by_name():
    """All combinations, an axis for each; defaults and names of the function."""

    def f(i, m, j, scale=1.0, *, y):
        return td.stats.norm.logpdf(y, m[i], scale * (1.0 + j)) + np.log(1.0 / 6.0)

    m = np.array([0.1, 0.9, -0.4])
    both = td.marginal(f, i=td.discrete(3), j=td.discrete(2))
    expected = stats.norm.pdf(0.6, m[:, None], 2.0 * np.array([1.0, 2.0])) / 6.0
    np.testing.assert_allclose(both(m, 2.0, y=0.6), np.log(np.sum(expected)), rtol=1e-14)
    np.testing.assert_allclose(both(m, scale=2.0, y=0.6), np.log(np.sum(expected)), rtol=1e-14)
    np.testing.assert_allclose(both.posterior(m, 2.0, y=0.6), expected / np.sum(expected), rtol=1e-13)
    np.testing.assert_allclose(td.gradient(both, m, y=0.6, argnames="m"), differences(lambda m: both(m, y=0.6), m), rtol=1e-7)
    np.testing.assert_allclose(td.gradient(both, m, 2.0, y=0.6, argnums=1), (both(m, 2.0 + 1e-6, y=0.6) - both(m, 2.0 - 1e-6, y=0.6)) / 2e-6, rtol=1e-7)


def test_impossible_values_have_no_part():
    """A density of zero on a branch of its own: its probability and derivative are 0."""
    mixture = td.marginal(lambda x, k: -np.inf if k == 1 else -(x**2) * (k + 1.0), k=td.discrete(3))
    np.testing.assert_allclose(mixture(0.7), np.logaddexp(-0.49, -3 * 0.49), rtol=1e-14)
    assert mixture.posterior(0.7)[1] == 0.0
    np.testing.assert_allclose(td.gradient(mixture, 0.7), (mixture(0.7 + 1e-6) - mixture(0.7 - 1e-6)) / 2e-6, rtol=1e-8)


def test_what_is_refused():
    """Arguments that the function does not have, none at all, and counts that are none."""
    for over in ({"j": td.discrete(2)}, {"k": 3}, {}):
        with pytest.raises(td.ArgumentMismatch, match="sums out arguments of the function"):
            td.marginal(component, **over)
    for count in (0, -1, 2.0, True):
        with pytest.raises(td.ArgumentMismatch, match="positive number of values"):
            td.discrete(count)


def test_a_density_that_returns_an_array_is_refused_by_its_name():
    def terms(p, k):
        return p * k

    for call in (td.marginal(terms, k=td.discrete(2)), lambda p: td.gradient(td.marginal(terms, k=td.discrete(2)), p)):
        with pytest.raises(td.NonScalarOutput, match="terms returned an array"):
            call(np.ones(3))


def test_long_loops_stay_merged(monkeypatch):
    """One path holds for one value only, so that the number of sides is limited less than elsewhere."""
    monkeypatch.setattr(recursions, "LIMITS", ((20, 0),))
    y = np.sin(np.arange(60.0))

    def joint(theta, k, y):
        total = 0.0
        for t in range(60):
            total = total - 0.5 * (y[t] - (theta[0] if t < k else theta[1])) ** 2
        return total

    def by_hand(theta, y):
        return np.log(np.exp(np.array([joint(theta, np.array([k]), y) for k in range(5)])).sum())

    theta = np.array([0.3, -0.2])
    marginal = td.marginal(joint, k=td.discrete(5, 1))
    np.testing.assert_allclose(marginal(theta, y), by_hand(theta, y), rtol=1e-12)
    np.testing.assert_allclose(td.gradient(marginal, theta, y), td.gradient(td.record(by_hand, theta, y), theta, y), rtol=1e-10)
