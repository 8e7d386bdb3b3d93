"""Jumps of log densities: where they are, how high, which parameters cross them, and how often draws do."""

import numpy as np
import pytest

import tapediff as td
from tapediff.stats import norm

X = np.array([0.5, 1.5, 2.5, 3.5, 4.5, 5.5])
Y = np.array([0.0, 0.1, -0.1, 2.0, 2.1, 1.9])


def by_if(c, a, b, x, y):
    total = norm.logpdf(a) + norm.logpdf(b) + norm.logpdf(c, 3.0, 1.0)
    for k in range(6):
        if x[k] > c:
            total += norm.logpdf(y[k], a + b, 0.5)
        else:
            total += norm.logpdf(y[k], a, 0.5)
    return total


def by_where(c, a, b, x, y):
    prior = norm.logpdf(a) + norm.logpdf(b) + norm.logpdf(c, 3.0, 1.0)
    mean = np.where(x > c, a + b, a)
    return prior + norm.logpdf(y, mean, 0.5).sum()


def threshold(density):
    return td.Posterior(density, c=td.real(), a=td.real(), b=td.real(), data={"x": X, "y": Y})


def crossing_draws(rng):
    """Two chains of 60: c moves back and forth across 2.5 at every third step, a and b move a little."""
    c = np.where(np.arange(60) // 3 % 2 == 0, 2.4, 2.6)
    return {"c": np.array([c, c]), "a": rng.normal(0.0, 0.01, (2, 60)), "b": 2.0 + rng.normal(0.0, 0.01, (2, 60))}


@pytest.mark.parametrize("density", [by_if, by_where])
def test_a_threshold_is_crossed_by_its_parameter_alone(density):
    """The jump is the difference that one observation makes, at some point; steps between draws that cross are those of the construction."""
    report = threshold(density).check(3, draws=crossing_draws(np.random.default_rng(1)))
    (branch,) = report.branches
    assert branch.parameters == ("c",)
    assert "test_jumps.py" in branch.at
    assert branch.jump > 1.0
    assert branch.steps == 100
    # 19 of the 59 steps of a chain cross; 100 of the 118 are looked at, evenly.
    assert 0.27 <= branch.crossed / branch.steps <= 0.37
    assert f"where c crosses {branch.at}; {branch.crossed} of 100 steps between draws cross it" in str(report)


def test_without_draws_only_lines_that_jump_are_told():
    assert "jumps by" in str(threshold(by_where).check(3))
    assert "steps between" not in str(threshold(by_where).check(3))
    smooth = td.Posterior(lambda x: -np.where(np.abs(x) < 1.0, 0.5 * x**2, np.abs(x) - 0.5).sum(), x=td.real(3))
    report = smooth.check(3)
    assert "jumps" not in str(report)
    assert all(branch.jump in (0.0, None) for branch in report.branches)


def test_the_height_of_a_step_and_all_parameters_of_a_comparison_are_found():
    """A step of 3 where the sum of two vectors' first entries is positive; the third parameter has no part in it."""

    def step(x, y, z):
        return norm.logpdf(x).sum() + norm.logpdf(y).sum() + norm.logpdf(z) - 3.0 * np.where(x[0] + y[0] > 0.2, 1.0, 0.0)

    (branch,) = td.Posterior(step, x=td.real(2), y=td.real(2), z=td.real()).check(4).branches
    assert branch.jump == pytest.approx(3.0, rel=1e-3)
    assert branch.parameters == ("x", "y")
    assert str(branch).startswith("jumps by 3 where x, y cross ")


def test_comparisons_of_the_support_are_no_jumps():
    """td.stats chooses -inf outside of a support, which a positive parameter never leaves."""
    post = td.Posterior(lambda tau: td.stats.halfcauchy.logpdf(tau, 0.0, 5.0), tau=td.positive())
    report = post.check(3)
    assert "jumps" not in str(report)
    assert [branch.jump for branch in report.branches] in ([], [None])


def test_draws_of_one_step_are_refused():
    draws = {"c": np.ones((2, 1)), "a": np.ones((2, 1)), "b": np.ones((2, 1))}
    with pytest.raises(td.PosteriorError, match="steps between draws need two of a chain"):
        threshold(by_if).check(2, draws=draws)
