"""Branches that ask distributions, of td.stats and of SciPy: one tape for all paths, and no wrong answers."""

import numpy as np
import pytest
import scipy.stats

import tapediff as td
from tapediff.functions.merging import purity
from tests.functions.merging.test_merging import POINTS, agree

COUNTS = np.array([4, 6, 3, 5, 7, 2, 1, 0, 2, 1])
LIBRARIES = {"td.stats": td.stats, "scipy.stats": scipy.stats}


def change_point(x, stats):
    """A rate before and another after a point in time."""
    total = stats.norm.logpdf(x[:3]).sum()
    for k, count in enumerate(COUNTS):
        if k < 5.0 + 2.0 * x[0]:
            total += stats.poisson.logpmf(count, np.exp(x[1]))
        else:
            total += stats.poisson.logpmf(count, mu=np.exp(x[2]))
    return total


def censored(x, stats):
    """Times that are known, or known to be longer, by a threshold that is a parameter."""
    total = 0.0
    for time in (0.3, 1.2, 2.5, 0.7):
        if time < 1.0 + x[0]:
            total = total + stats.weibull_min.logpdf(time, 1.0 + x[1] ** 2, scale=np.exp(x[2]))
        else:
            total = total + stats.weibull_min.logsf(1.0 + x[0] ** 2, 1.0 + x[1] ** 2, scale=np.exp(x[2]))
    return total


def of_vectors(x, stats):
    """Distributions of vectors, and sums over arrays."""
    total = 0.0
    for k in range(4):
        if x[k] > 0.0:
            total = total + stats.multivariate_normal.logpdf(x[:3], x[3:], (1.0 + x[k] ** 2) * np.eye(3))
        else:
            total = total + stats.norm.logpdf(x, x[k], 2.0).sum() + stats.norm.cdf(x[k])
    return total


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("f", [change_point, censored, of_vectors], ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_one_tape_serves_all_paths(f, library):
    """At every point the answer of the plain function, and no further tapes."""
    stats = LIBRARIES[library]
    g = lambda x: f(x, stats)
    merged = td.GuardedTape(g, merge=True)
    agree(g, merged, [*POINTS[:8], POINTS[0], *np.random.default_rng(0).normal(size=(12, 6))])
    assert merged.stats.recordings <= 3, merged.explain()


def freezes(x):
    """A distribution with its parameters inside, which may be data."""
    total = 0.0
    for k in range(1, 4):
        frozen = scipy.stats.norm(x[k], np.exp(x[4]))
        if x[k] > x[0]:
            total = total + frozen.logpdf(x[5])
        else:
            total = total - frozen.logpdf(x[0])
    return total


class Mine(type(scipy.stats.norm)):
    """A user's distribution, whose methods may do anything."""


@np.errstate(all="ignore")
def test_frozen_distributions_keep_the_answers():
    """They may hold tracked values, which are no constants of a branch."""
    merged = td.GuardedTape(freezes, merge=True)
    agree(freezes, merged, [*POINTS[:8], POINTS[0]])


def test_only_the_libraries_own_classes_are_known_and_what_draws_nothing():
    """By module and name: neither frozen ones nor a user's; and no method that gives other numbers each time."""
    for distribution in (td.stats.norm, scipy.stats.norm, scipy.stats.multivariate_normal, td.stats.dirichlet):
        assert purity.is_pure_method(distribution, "logpdf", 3)
        assert not purity.is_pure_method(distribution, "rvs", 3)
    assert purity.is_distribution(type(td.stats.norm))
    assert purity.is_distribution(type(scipy.stats.poisson))
    assert not purity.is_distribution(type(scipy.stats.norm(0.0, 1.0)))
    assert not purity.is_distribution(Mine)
