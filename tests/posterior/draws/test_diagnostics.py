"""Effective sample sizes, R-hat and errors: ArviZ's numbers (0.23 and 1.3 agree), closed forms, and chains that tell nothing."""

import numpy as np
import pytest

from tapediff.posterior.draws import diagnostics

FUNCTIONS = ("bulk_size", "tail_size", "mean_size", "mean_error", "sd_error", "r_hat")


def chains(count, draws, correlation):
    """Autoregressive chains without random numbers, so that references stay; far apart at first if the correlation is high."""
    x = np.zeros((count, draws))
    for c in range(count):
        noise = (np.arange(1, draws + 1) * np.sqrt((2.0, 3.0, 5.0, 7.0)[c])) % 1.0 - 0.5
        state = 0.3 * c * (correlation > 0.8)
        for k in range(draws):
            state = correlation * state + noise[k] ** 3
            x[c, k] = state
    return x


@pytest.mark.parametrize(
    ("made", "known"),
    [
        ((4, 101, 0.0), (736.059385257, 469.228660798, 610.617820975, 0.00189330565115, 0.00122633401703, 0.9904193718)),
        ((4, 250, 0.9), (165.746987707, 49.3011920345, 76.6858213006, 0.011071022001, 0.0245854919478, 1.03522733014)),
        ((2, 67, -0.4), (279.915758919, 156.608975806, 279.915758919, 0.00316396576895, 0.00208117499153, 0.986321387139)),
        ((1, 60, 0.5), (38.7782067519, 71.8616936129, 39.3376139487, 0.00761413957962, 0.00374963612762, np.nan)),
    ],
)
def test_the_numbers_are_those_of_arviz(made, known):
    """arviz.ess with method bulk, tail (prob 0.05 and 0.95), mean; arviz.mcse of mean, sd; arviz.rhat: to the digits that are written."""
    x = chains(*made)
    both = np.stack([x, 3.0 - 2.0 * x**3], axis=-1)  # each entry by itself
    for name, expected in zip(FUNCTIONS, known):
        function = getattr(diagnostics, name)
        assert function(x[..., None])[0] == pytest.approx(expected, rel=1e-11, nan_ok=True)
        np.testing.assert_allclose(function(both)[1], function(both[..., 1:])[0], rtol=1e-12)


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.5, 0.9])
def test_autoregressive_chains_have_their_effective_size(correlation):
    """n (1 - a) / (1 + a), to 15 %: about four standard errors of the estimate at 4 chains of 4000."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 4000, 1))
    for k in range(1, 4000):
        x[:, k] += correlation * x[:, k - 1]
    expected = 16000 * (1 - correlation) / (1 + correlation)
    assert diagnostics.mean_size(x)[0] == pytest.approx(expected, rel=0.15)
    assert diagnostics.mean_error(x)[0] == pytest.approx(x.std() / np.sqrt(expected), rel=0.1)
    assert diagnostics.r_hat(x)[0] < 1.01


def test_chains_in_two_places_or_of_two_widths_have_a_large_r_hat():
    """The second is seen by the distances from the median alone."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(4, 500, 2))
    x[0, :, 0] += 2.0
    x[0, :, 1] *= 4.0
    assert np.all(diagnostics.r_hat(x) > 1.05)


def test_what_cannot_be_told_is_nan():
    """Fewer than four draws, a draw that is not finite; a constant has as many effective draws as there are, and no R-hat."""
    x = np.ones((2, 3, 1))
    assert all(np.isnan(getattr(diagnostics, name)(x)[0]) for name in ("bulk_size", "mean_size", "r_hat"))
    x = np.random.default_rng(0).normal(size=(2, 50, 3))
    x[0, 3, 0], x[:, :, 1] = np.inf, 5.0
    with np.errstate(all="ignore"):
        assert np.isnan(diagnostics.bulk_size(x)[0])
        assert np.isnan(diagnostics.r_hat(x)[0])
    assert diagnostics.bulk_size(x)[1] == 100
    assert np.isnan(diagnostics.r_hat(x)[1])
    assert np.isfinite(diagnostics.r_hat(x)[2])
