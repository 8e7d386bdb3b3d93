"""td.marginal over arrays of discrete quantities: against the sum over all combinations, written out."""

import itertools
import pickle

import numpy as np
import pytest
from scipy.special import logsumexp
from support.differences import differences

import tapediff as td
from tapediff.marginals import chains
from tapediff.stats import norm

SWITCH = np.array([[0.9, 0.1], [0.3, 0.7]])
THETA = np.array([0.4, 0.7, 0.2])
Y = np.array([0.3, -1.2, 0.8, 2.1, -0.4])
SEEN = np.array([[1, 0, 1, 0], [1, 0, 0, 0]])


def loop_with_table(theta, z, y):
    total = np.log(0.5)
    for t in range(len(y)):
        total += norm.logpdf(y[t], theta[z[t]])
        if t > 0:
            total += np.log(SWITCH[z[t - 1], z[t]])
    return total


def loop_with_branches(theta, z, y):
    total = np.log(0.5)
    for t in range(len(y)):
        total = total + norm.logpdf(y[t], theta[0] if z[t] == 0 else theta[1], np.exp(theta[2]))
        if t > 0:
            if z[t] == z[t - 1]:
                total += np.log(0.9)
            else:
                total -= 2.0 * theta[2]
    return total


def scanned(theta, z, y):
    def step(carry, entry):
        total, before = carry
        now, observed = entry
        return (total + norm.logpdf(observed, theta[now]) + np.log(td.asarray(SWITCH)[before, now]), now), None

    first = np.log(0.5) + norm.logpdf(y[0], theta[z[0]])
    return td.scan(step, (first, z[0]), (z[1:], y[1:]))[0][0]


def in_arrays(theta, z, y):
    return -0.5 * np.sum((y - theta[z]) ** 2) / 2.0 + np.log(SWITCH[z[:-1], z[1:]]).sum() - theta[2] * len(y)


def second_order(theta, z, y):
    total = 0.0
    for t in range(len(y)):
        total += norm.logpdf(y[t], theta[z[t]])
        if t > 1:
            total += theta[2] * (z[t] == z[t - 2]) - 0.5 * (z[t] != z[t - 1])
    return total


def matched(theta, z, y):
    """Choices within choices, and two equal ones."""
    total = 0.0
    for now, observed in zip(z, y):
        match now:
            case 0:
                total += norm.logpdf(observed, theta[0])
            case 1:
                total -= theta[1] * observed
        total += 1.5 if now == 0 else theta[2]
        total += 1.5 if now == 0 else theta[2]
    return total


def tree(theta, z, y):
    return sum(theta[0] * (z[t] == z[(t - 1) // 2]) + theta[1] * z[t] * y[t] for t in range(1, len(y)))


def mixture(theta, z, y):
    weights = np.array([theta[2], 1.0 - theta[2]])
    return np.sum(np.log(weights[z]) + norm.logpdf(y, theta[z]))


CHAINS = [loop_with_table, loop_with_branches, scanned, in_arrays, second_order, matched, tree, mixture]


def captures(theta, z, seen):
    """Animals that live (1) or not: impossible histories have log density -inf."""
    lives = np.where(z[:, :-1] == 1, np.where(z[:, 1:] == 1, np.log(theta[0]), np.log1p(-theta[0])), np.where(z[:, 1:] == 1, -np.inf, 0.0))
    found = np.where(z == 1, np.where(seen == 1, np.log(theta[1]), np.log1p(-theta[1])), np.where(seen == 1, -np.inf, 0.0))
    return np.sum(np.where(z[:, 0] == 1, 0.0, -np.inf)) + lives.sum() + found[:, 1:].sum()


def side_by_side(theta, z, y):
    """Two chains whose states of one time are neighbours in memory."""
    return norm.logpdf(y, theta[0] * z).sum() + theta[1] * np.sum(z[1:] == z[:-1])


CASES = [
    *((f, "y", (5,), Y) for f in CHAINS), (captures, (2, 4), (2, 4), SEEN), (side_by_side, (4, 2), (4, 2), np.resize(Y, (4, 2))),
]  # fmt: skip


def combinations(shape):
    return [np.reshape(z, shape) for z in itertools.product(range(2), repeat=int(np.prod(shape)))]


def summed(f, shape, theta, data):
    return logsumexp([f(theta, z, data) for z in combinations(shape)])


@pytest.mark.parametrize(("f", "given", "shape", "data"), CASES, ids=lambda case: getattr(case, "__name__", None))
def test_value_and_gradient_are_those_of_the_sum_over_all_combinations(f, given, shape, data):
    """In the call itself, in a kernel and in its NumPy replay, where they were recorded and elsewhere."""
    marginal = td.marginal(f, z=td.discrete(2, given))
    tape = td.record(marginal, THETA, td.Constant(data))
    kernel = td.compile(tape)
    for theta in (THETA, THETA + np.array([0.1, -0.2, 0.05])):
        expected, slopes = summed(f, shape, theta, data), differences(lambda t: summed(f, shape, t, data), theta)
        np.testing.assert_allclose([marginal(theta, data), kernel(theta, data), tape(theta, data)], expected, rtol=1e-12)
        for target in (marginal, kernel, tape):
            np.testing.assert_allclose(td.gradient(target, theta, td.Constant(data)), slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("f", "given", "shape", "data"), CASES, ids=lambda case: getattr(case, "__name__", None))
def test_probabilities_and_draws_are_those_of_all_combinations(f, given, shape, data):
    """Probabilities by Bayes' rule; of 1000 draws, means and products of neighbours, within five standard errors of the worst case."""
    marginal = td.marginal(f, z=td.discrete(2, given))
    every = np.array(combinations(shape))
    weights = np.exp([f(THETA, z, data) - marginal(THETA, data) for z in every])
    expected = np.tensordot(weights, every, 1)
    np.testing.assert_allclose(marginal.posterior(THETA, data), np.stack([1.0 - expected, expected], axis=-1), atol=1e-12)
    rng = np.random.default_rng(1)
    drawn = np.array([marginal.sample(rng, THETA, data) for _ in range(1000)])
    np.testing.assert_allclose(drawn.mean(axis=0), expected, atol=2.5 / np.sqrt(1000))
    products = np.tensordot(weights, every[..., 1:] * every[..., :-1], 1)
    np.testing.assert_allclose((drawn[..., 1:] * drawn[..., :-1]).mean(axis=0), products, atol=2.5 / np.sqrt(1000))


def test_long_chains_cost_no_more_per_step():
    """The tables of a chain of 2000 steps have K^2 columns; the value is that of the forward algorithm."""
    y = np.random.default_rng(3).normal(size=2000)
    forward = np.log(0.5) + norm.logpdf(y[0], THETA[:2])
    for observed in y[1:]:
        forward = logsumexp(forward[:, None] + np.log(SWITCH), axis=0) + norm.logpdf(observed, THETA[:2])
    np.testing.assert_allclose(td.marginal(scanned, z=td.discrete(2, "y"))(THETA, y), logsumexp(forward), rtol=1e-11)


def test_other_lengths_are_recorded_anew():
    """The number of quantities follows the argument that shape= names."""
    marginal = td.marginal(second_order, z=td.discrete(2, "y"))
    for target in (marginal, td.GuardedTape(marginal)):
        for length in (5, 3, 4, 5):
            np.testing.assert_allclose(target(THETA, Y[:length]), summed(second_order, (length,), THETA, Y[:length]), rtol=1e-12)


def test_single_quantities_and_arrays_together():
    """All values of the single one, with chains for each; probabilities and draws by name."""

    def f(theta, k, z, y):
        return np.sum(norm.logpdf(y, theta[z], 1.0 if k == 0 else 2.0)) + 0.3 * np.sum(z[1:] * z[:-1]) - np.log(2.0)

    marginal = td.marginal(f, k=td.discrete(2), z=td.discrete(2, "y"))
    logs = np.array([[f(THETA, k, z, Y) for z in combinations((5,))] for k in range(2)])
    np.testing.assert_allclose(marginal(THETA, Y), logsumexp(logs), rtol=1e-13)
    weights, found = np.exp(logs - logsumexp(logs)), marginal.posterior(THETA, Y)
    np.testing.assert_allclose(found["k"], weights.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(found["z"][:, 1], weights.sum(axis=0) @ np.array(combinations((5,))), rtol=1e-12)
    drawn = marginal.sample(np.random.default_rng(0), THETA, Y)
    assert drawn.keys() == {"k", "z"}
    assert drawn["z"].shape == (5,)


def test_an_accumulator_that_a_term_reads_is_no_sum():
    """A loop whose terms read the running total couples all quantities."""

    def f(theta, z, y):
        total = 0.0
        for t in range(len(y)):
            total = total + np.sin(total) * z[t] + y[t]
        return total * theta[0]

    marginal = td.marginal(f, z=td.discrete(2, "y"))
    np.testing.assert_allclose(marginal(THETA, Y), summed(f, (5,), THETA, Y), rtol=1e-12)
    with pytest.raises(td.UnsupportedFunction, match=r"(?s)too many discrete quantities at once.*20 quantities with 2 values.*fix: add up terms"):
        marginal(THETA, np.resize(Y, 20))


def test_tables_that_differ_from_the_density_are_refused(monkeypatch):
    """Each recording compares them at two points; a term that is dropped shows."""
    terms = chains.terms_of
    monkeypatch.setattr(chains, "terms_of", lambda tape, number: dict(list(terms(tape, number).items())[1:]))
    with pytest.raises(td.UnsupportedFunction, match="the terms of loop_with_table were not told apart"):
        td.marginal(loop_with_table, z=td.discrete(2, "y"))(THETA, Y)


def test_what_does_not_fit_is_told():
    with pytest.raises(td.ArgumentMismatch, match=r"(?s)names an argument.*got: 'x'.*one of theta, y"):
        td.marginal(mixture, z=td.discrete(2, "x"))(THETA, Y)
    with pytest.raises(td.ArgumentMismatch, match=r"(?s)one number of values.*got: 2, 3"):
        td.marginal(lambda theta, a, b: theta[0], a=td.discrete(2, 3), b=td.discrete(3, 3))
    with pytest.raises(td.NonScalarOutput, match=r"(?s)returned an array.*shape \(5,\)"):
        td.marginal(lambda theta, z, y: y * theta[z], z=td.discrete(2, "y"))(THETA, Y)


def normal_mixture(means, weight, z, y):
    return norm.logpdf(means, 0.0, 3.0).sum() + np.sum(np.log(np.array([weight, 1.0 - weight])[z]) + norm.logpdf(y, means[z]))


def of_first(z):
    return {"first": np.sum(z == 0)}


def test_a_posterior_sums_its_discrete_parameters_out_and_draws_them():
    """`generated` gets the draws; pickled and with data of another length."""
    y = np.concatenate([np.full(6, -2.0), np.full(4, 3.0)])
    post = td.Posterior(normal_mixture, means=td.ordered(2), weight=td.interval(0, 1), z=td.discrete(2, "y"), data={"y": y}, generated=of_first)
    assert post.shapes.keys() == {"means", "weight"}
    assert "agree with differences" in str(post.check(points=2))
    values = {"means": np.array([[-2.0, 3.0]]), "weight": np.array([0.6])}
    found = pickle.loads(pickle.dumps(post)).generate(values)
    np.testing.assert_array_equal(found["z"][0], [0] * 6 + [1] * 4)
    assert found["first"][0] == 6
    u, jacobian = post.unconstrain({"means": np.array([-2.0, 3.0]), "weight": 0.6}), np.log(5.0) + np.log(0.24)
    for length in (10, 3):
        post.set_data(y=y[:length])
        expected = summed(lambda t, z, data: normal_mixture(np.array([-2.0, 3.0]), 0.6, z, data), (length,), None, y[:length])
        np.testing.assert_allclose(post.log_density(u), expected + jacobian, rtol=1e-12)
