"""Branches on distributions of td.stats and scipy.stats."""

from __future__ import annotations

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
    """Censored times; the threshold is a parameter."""
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


CASES = {
    f"{f.__name__}.{name}": functools.partial(f, stats=stats)
    for f in (change_point, censored, of_vectors)
    for name, stats in (("td", td.stats), ("scipy", scipy.stats))
}
