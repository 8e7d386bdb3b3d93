"""Branches that ask distributions, of td.stats and of SciPy."""

import functools

import numpy as np
import scipy.stats

import tapediff as td

COUNTS = np.array([4, 6, 3, 5, 7, 2, 1, 0, 2, 1])


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


PROGRAMS = [freezes]
WITH_STATS = {
    f"{f.__name__}.{name}": functools.partial(f, stats=stats)
    for f in (change_point, censored, of_vectors)
    for name, stats in (("td", td.stats), ("scipy", scipy.stats))
}
