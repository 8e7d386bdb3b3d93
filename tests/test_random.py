"""td.random: draws from keys. Distributions at fixed keys, the generator's published answers, and gradients in every parameter."""

import numpy as np
import pytest
from scipy import stats

import tapediff as td
from tapediff.ops.elementwise.counter_based import RANDOM_BITS

random = td.random
KEY = random.key(7)
COUNT = 20_000


@pytest.mark.parametrize(
    ("first", "second", "counter", "bits"),
    [
        (0, 0, 0, 0x6B20015999BA4EFE),
        (2**32 - 1, 2**32 - 1, -1, 0x1CB996FCBB002BE7),
        (0x13198A2E, 0x03707344, 0x85A308D3243F6A88 - 2**64, 0xC4923A9C483DF7A0),
    ],
)
def test_the_generator_gives_the_published_answers(first, second, counter, bits):
    """Of Threefry-2x32 with 20 rounds: the file kat_vectors of Random123, which has its words in the order low, high."""
    assert int(RANDOM_BITS(*map(np.int64, (first, second, counter)))) % 2**64 == bits


DRAWS = {
    "uniform": (lambda: random.uniform(KEY, COUNT, -1.0, 3.0), stats.uniform(-1, 4)),
    "normal": (lambda: random.normal(KEY, COUNT, 1.0, 2.0), stats.norm(1, 2)),
    "exponential": (lambda: random.exponential(KEY, COUNT, 2.0), stats.expon(scale=2)),
    "laplace": (lambda: random.laplace(KEY, COUNT, 1.0, 2.0), stats.laplace(1, 2)),
    "logistic": (lambda: random.logistic(KEY, COUNT, 1.0, 2.0), stats.logistic(1, 2)),
    "gumbel": (lambda: random.gumbel(KEY, COUNT, 1.0, 2.0), stats.gumbel_r(1, 2)),
    "cauchy": (lambda: random.cauchy(KEY, COUNT, 1.0, 2.0), stats.cauchy(1, 2)),
    "gamma": (lambda: random.gamma(KEY, 2.5, COUNT, 2.0), stats.gamma(2.5, scale=2)),
    "chi2": (lambda: random.chi2(KEY, 3.0, COUNT), stats.chi2(3)),
    "beta": (lambda: random.beta(KEY, 0.5, 2.0, COUNT), stats.beta(0.5, 2)),
    "student_t": (lambda: random.student_t(KEY, 4.0, COUNT), stats.t(4)),
    "dirichlet": (lambda: random.dirichlet(KEY, [1.0, 2.0, 3.0], (COUNT, 3))[:, 0], stats.beta(1, 5)),
    "multivariate_normal": (
        lambda: random.multivariate_normal(KEY, [1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]], (COUNT, 2)) @ [1.0, 1.0], stats.norm(3, 2)
    ),
    "truncated_normal": (lambda: random.truncated_normal(KEY, -1.0, 2.0, COUNT, 0.5, 2.0), stats.truncnorm(-0.75, 0.75, 0.5, 2)),
    "truncated_normal far out": (lambda: random.truncated_normal(KEY, 40.0, np.inf, COUNT), stats.truncnorm(40, np.inf)),
    "truncated_normal to one side": (lambda: random.truncated_normal(KEY, -np.inf, 2.0, COUNT, 1.0, 2.0), stats.truncnorm(-np.inf, 0.5, 1, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_draws_have_their_distribution(name):
    """Kolmogorov and Smirnov's test of 20 000 draws of one key. A right sampler fails for one key in 1000; this key it passes."""
    draw, distribution = DRAWS[name]
    assert stats.kstest(draw(), distribution.cdf).pvalue > 1e-3


def test_moments_of_many_keys_and_of_neighbouring_entries_are_those_of_independent_normals():
    """Five standard errors, of 10^6 products."""
    table = np.stack([random.normal(key, 1000) for key in random.split(KEY, 1000)])
    for sample in (table, table**2 - 1, table[1:] * table[:-1], table[:, 1:] * table[:, :-1]):
        assert abs(sample.mean()) < 5 * sample.std() / np.sqrt(sample.size)


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (lambda: random.bernoulli(KEY, 0.3, COUNT).astype(int), [0.7, 0.3]),
        (lambda: random.randint(KEY, COUNT, 0, 3), [1 / 3] * 3),
        (lambda: random.categorical(KEY, np.log([0.1, 0.2, 0.7]), COUNT), [0.1, 0.2, 0.7]),
        (lambda: random.choice(KEY, 3, COUNT, p=[1.0, 2.0, 1.0]), [0.25, 0.5, 0.25]),
        (lambda: random.choice(KEY, [2, 0], COUNT), [0.5, 0.0, 0.5]),
        (lambda: [random.permutation(k, 3)[0] for k in random.split(KEY, 2000)], [1 / 3] * 3),
        (lambda: [random.choice(k, 2, (1,), replace=False, p=[1.0, 3.0])[0] for k in random.split(KEY, 2000)], [0.25, 0.75]),
    ],
)
def test_whole_numbers_are_drawn_with_their_probabilities(draw, expected):
    """Five standard errors of a share."""
    drawn = np.asarray(draw())
    shares = np.bincount(drawn, minlength=len(expected)) / len(drawn)
    assert np.all(np.abs(shares - expected) <= 5 * np.sqrt(np.multiply(expected, 1 - np.asarray(expected)) / len(drawn)))


def everything(p, key):
    """Every draw of a few entries, with tracked parameters; a sum, so that one gradient has them all."""
    a, b = random.split(key)
    c, *_ = random.split(random.fold_in(a, 3), 1)
    return sum(
        np.sum(draws * np.linspace(0.5, 1.5, np.size(draws)).reshape(np.shape(draws)))
        for draws in (
            random.normal(a, (2, 2), p, p[1]), random.uniform(b, 2, p[0], p[1]), random.exponential(b, (), p[1]),
            random.laplace(c, 3, p[0], p[1]), random.logistic(c, 2, p[0], p[1]), random.gumbel(c, 2, p[0], p[1]),
            random.cauchy(c, 2, p[0], p[1]), random.gamma(a, p, scale=p[0]), random.chi2(a, p), random.beta(b, p[0], p[1], 2),
            random.student_t(b, p[0], 2, p[0], p[1]), random.dirichlet(b, p), random.multivariate_normal(a, p, np.diag(p) + 0.1),
            random.truncated_normal(c, -np.inf, p[1], 2, p[0], p[1]), random.truncated_normal(c, p[0], 9.0, 2, -p[0]),
            random.choice(a, p, 3), random.permutation(a, p), p[0] * random.categorical(b, p, 4), p[0] * random.randint(b, 2, 0, 9),
            np.where(random.bernoulli(a, p / 4), p, 0.0), random.choice(a, p, (2, 1), replace=False, p=np.ones(2)),
        )
    )  # fmt: skip


@pytest.mark.slow
def test_one_tape_serves_all_keys_with_the_draws_and_derivatives_of_the_plain_function():
    """Value to 1e-12, as kernels and SciPy round some functions in another way; the gradient against central differences."""
    p, safe = np.array([1.3, 2.1]), td.GuardedTape(everything)
    for seed in (0, 1, -5, 2**64 - 1):
        key, replay = random.key(seed), td.record(everything, p, random.key(seed))
        value, gradient = td.value_and_gradient(safe, p, key)
        np.testing.assert_allclose([value, replay(p, key)], everything(p, key), rtol=1e-12)
        np.testing.assert_allclose(gradient, td.gradient(everything, p, key), rtol=1e-10)
        differences = [(everything(p + h, key) - everything(p - h, key)) / 2e-6 for h in 1e-6 * np.eye(2)]
        np.testing.assert_allclose(gradient, differences, rtol=1e-6)  # rounding of a difference
    assert safe.stats.recordings == 1


def test_keys_are_data_of_loops_and_sub_tapes():
    """A scan over the rows of split; a sub-tape that folds the number of the step in."""

    def walk(x, key):
        def body(position, own):
            return position + random.normal(own, (), 0.0, x), position

        end, _ = td.scan(body, 0.0 * x, random.split(key, 5))
        return end * td.subtape(lambda k, v: random.uniform(random.fold_in(k, 2), (), 0.0, v))(key, x)

    compiled = td.compile(walk, 0.5, KEY)
    for seed in (1, 2):
        key = random.key(seed)
        by_hand = sum(0.7 * random.normal(k) for k in random.split(key, 5)) * random.uniform(random.fold_in(key, 2), (), 0.0, 0.7)
        np.testing.assert_allclose(compiled(0.7, key), by_hand, rtol=1e-13)
        np.testing.assert_allclose(td.gradient(compiled, 0.7, key), 2 * by_hand / 0.7, rtol=1e-13)


def test_uniform_numbers_are_inside_of_their_interval_at_the_last_bits():
    """The smallest and largest of 52 bits; no draw is 0 or 1, so that logarithms are finite."""
    draws = random.uniform(KEY, 100_000)
    assert draws.min() > 0
    assert draws.max() < 1
    assert np.all((draws * 2.0**53) % 2 == 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: random.normal(3), "td.random draws from a key, an int64 array of shape (2,)"),
        (lambda: random.normal(np.ones(2)), "td.random draws from a key"),
        (lambda: random.normal(random.split(KEY)), "of several keys, as td.random.split gives them, take one"),
        (lambda: random.normal(KEY, 3, np.zeros(2)), "the parameters of td.random.normal do not fit into its shape"),
        (lambda: random.normal(KEY, (), np.zeros(2)), "the parameters of td.random.normal do not fit into its shape"),
        (lambda: random.choice(KEY, 2, 3, replace=False), "more draws without replacement than there are rows"),
        (lambda: random.choice(KEY, 2, 3, p=[1.0]), "p of td.random.choice has one entry for each row"),
        (lambda: random.fold_in(KEY, 1.5), "the number of td.random.fold_in is an integer"),
        (lambda: random.randint(KEY, 3, 2, 2), "td.random.randint needs low < high"),
    ],
)
def test_what_is_no_key_or_does_not_fit_is_an_error(call, message):
    with pytest.raises(td.TapediffError) as raised:
        call()
    assert message in str(raised.value)


def test_a_variational_fit_with_draws_inside():
    """The mean-field normal of a posterior with known answer: y ~ normal(m, 1), flat prior. Its ELBO's gradient from 64 draws a step."""
    y = np.random.default_rng(0).normal(3.0, 1.0, 50)

    def elbo(theta, key):
        m = random.normal(key, 64, theta[0], np.exp(theta[1]))
        return np.mean(-0.5 * np.sum((y - m[:, None]) ** 2, axis=1)) + theta[1]

    safe, theta, tail = td.GuardedTape(elbo), np.zeros(2), []
    for step in range(400):
        theta = theta + 0.01 * td.gradient(safe, theta, random.fold_in(KEY, step))
        tail.append(theta)
    assert safe.stats.recordings == 1
    # The posterior is normal(mean(y), 1 / sqrt(50)); steps of 0.01 leave noise of a few per cent of its width.
    np.testing.assert_allclose(np.mean(tail[200:], axis=0), [y.mean(), -0.5 * np.log(50)], atol=0.03)


def test_evolution_strategies_estimate_a_gradient():
    """Of a function that is only called: antithetic draws of a key; the estimate is exact for a parabola's centre of symmetry."""

    def smoothed(x, key):
        noise = random.normal(key, (200, 3))
        return np.mean(np.sum((x + 0.1 * noise) ** 2, axis=1) + np.sum((x - 0.1 * noise) ** 2, axis=1)) / 2

    x = np.array([0.5, -1.0, 2.0])
    np.testing.assert_allclose(td.gradient(td.compile(smoothed, x, KEY), x, random.key(1)), 2 * x, rtol=1e-12)
