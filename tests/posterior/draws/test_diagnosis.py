"""Diagnoses in words: each problem is told where there is one, and nothing else is."""

import re

import numpy as np
import pytest

import tapediff as td
from tapediff.posterior.draws.groups import Draws


def funnel():
    return td.Posterior(lambda v, x: -(v**2) / 18 - 0.5 * (x**2).sum() / np.exp(v) - 0.5 * len(x) * v, v=td.real(), x=td.real(3))


def drawn(**statistics):
    """Good draws of 4 chains, with good statistics but for those given."""
    rng = np.random.default_rng(0)
    groups = {"v": rng.normal(size=(4, 500)), "x": rng.normal(size=(4, 500, 3))}
    good = {"diverging": np.zeros((4, 500), bool), "energy": rng.normal(size=(4, 500)), "maxdepth_reached": np.zeros((4, 500), bool)}
    return Draws({"posterior": groups, "sample_stats": {**good, **statistics}})


def test_good_draws_have_no_findings():
    found = funnel().diagnose(drawn())
    assert found.is_fine
    assert str(found) == "fine: divergences, depths of trees, E-BFMI, finite draws, R-hat, effective sample sizes"
    assert found.divergences == 0
    assert np.all(np.array(found.e_bfmi) > 1.5)  # 2 for independent energies


def test_divergences_are_located():
    """In the neck of the funnel, v is low; x is not off to one side, and is not named."""
    draws = drawn()
    diverging = draws["v"] < np.quantile(draws["v"], 0.03)
    found = funnel().diagnose(drawn(diverging=diverging))
    assert found.divergences == 60
    assert found.findings[0].startswith("60 of 2000 iterations (3.00%) diverged, where v is low (mean rank 2%); raise target_accept")
    anywhere = np.zeros((4, 500), bool)
    anywhere[:, ::50] = True
    assert "at no particular values" in str(funnel().diagnose(drawn(diverging=anywhere)))


def test_energies_that_change_slowly_and_deep_trees_are_told():
    """A random walk has a fraction near 0; the names of PyMC's statistics are known, too."""
    walk = np.cumsum(np.random.default_rng(1).normal(size=(4, 500)), axis=1)
    found = funnel().diagnose(drawn(energy=walk, maxdepth_reached=np.arange(2000).reshape(4, 500) < 7))
    assert "7 trees ended at the largest depth" in str(found)
    assert "E-BFMI is below 0.3: chain" in str(found)
    assert len(found.findings) == 2
    expected = np.sum(np.diff(walk[0]) ** 2) / 499 / np.var(walk[0], ddof=1)
    assert found.e_bfmi[0] == pytest.approx(expected, rel=1e-12)


def test_chains_apart_and_slow_chains_are_told_with_the_worst_first():
    draws = drawn()
    draws["v"][0] += 3.0
    draws["x"][:, :, 1] = np.cumsum(draws["x"][:, :, 1], axis=1)
    found = funnel().diagnose(draws)
    r_hat, sizes = found.findings
    told = re.findall(r"(v|x\[\d\]) (\d\.\d{3})", r_hat)
    assert {name for name, _ in told} == {"v", "x[1]"}
    assert float(told[0][1]) > float(told[1][1]) > 1.01
    assert r_hat.endswith("; chains differ: draw more, or look for several modes")
    assert sizes.startswith("effective sample sizes, bulk or tail, are below 400: ")
    assert "x[0]" not in str(found)


def test_what_draws_do_not_tell_is_said_and_not_passed():
    """A dict has no statistics, one chain no R-hat; a constant, as the diagonal of correlations, is no problem."""
    post = td.Posterior(lambda c: -np.sum(c**2), c=td.corr_matrix(2))
    draws = {"c": post.constrain(np.random.default_rng(0).normal(size=(400, 1)))["c"]}
    found = post.diagnose(draws)
    assert found.is_fine
    assert found.unknown == ("divergences", "depths of trees", "E-BFMI", "R-hat")
    assert "not known from these draws: divergences" in str(found)
    draws["c"][3, 0, 1] = np.nan
    assert "draws are not finite: c[0, 1] nan; look at" in str(post.diagnose(draws))
