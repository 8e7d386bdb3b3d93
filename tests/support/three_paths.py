"""A function of vectors without branches, one with three paths, and points on all of them."""

import numpy as np


def smooth(x):
    return np.sum(np.sin(x) * x) - np.log1p(x[0] ** 2)


def branching(x):
    if x[0] > 1.0:
        return np.sum(x**2)
    if x[1] > 0.0:
        return np.sum(x**3)
    return -np.sum(np.cos(x))


def points(count, size=3, seed=0):
    return np.random.default_rng(seed).normal(scale=1.5, size=(count, size))
