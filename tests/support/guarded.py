"""Functions with a few paths, and the texts of messages about them, for the tests of guarded tapes."""

import os

import numpy as np

import tapediff as td

A = np.array


def line(f, offset=0):
    """file:line in function, `offset` lines below the def."""
    return f"{os.path.basename(f.__code__.co_filename)}:{f.__code__.co_firstlineno + offset} in {f.__name__}"


def text(what, at, got, fix):
    return f"{what}\n  at:  {at}\n  got: {got}\n  fix: {fix}"


def latest(guarded):
    """The tape that answered the last call which Python answered."""
    return max(guarded._cache.all(), key=lambda variant: variant.used)


def cube_or_square(x):
    if x[0] > 1:
        return x[0] ** 3
    return x[0] ** 2


def wandering(x):
    """Loops and branches of every kind; piecewise smooth."""
    total, k = 0.0 * x[0], int(3 * abs(x[0]))
    for j in range(k):
        total = total + x[1] * j
    for value in x:
        if value > 0.5 or -0.5 < value < 0:
            total = total + np.sin(value)
        elif round(value) == 0:
            total = total + value**2
        else:
            total = total - max(value, -1.0)
    while total > 4:
        total = total / 2
    return total + (x[x > 0] ** 2).sum()


def checked(x):
    assert x[0] > 0, "x[0] must be positive"
    return np.linalg.cholesky(x[1] * np.eye(2) + np.outer(x, x) * 0)[1, 1] * x[0]


def three_ways(x):
    if x[0] > 1:
        return x[0] ** 3
    if x[0] > 0:
        return x[0] ** 2
    return -x[0]


def ask(target, points):
    return [td.gradient(target, x) for x in points]


def to_the_power_of_its_integer(x):
    return x ** int(x)
