"""Programs with a branch that are recorded once."""

import numpy as np


def robust(x, scale=1.0):
    s = 0.0
    for v in x:
        r = abs(v) * scale
        if r < 1.0:
            s += 0.5 * r**2
        else:
            s += r - 0.5
    return s


def solves(x):
    if x[0] > 0:
        y = np.linalg.solve(np.eye(2) * 3.0 + np.outer(x, x), x)
    else:
        y = np.cos(x)
    return np.sum(y)


def appends(x):
    kept = [v for v in x if v > 0]
    return kept[0] - sum(kept[1:])


def late(x):
    if x[0] > 0:
        y = np.cumsum(x)
    else:
        y = np.cumsum(x[:1])
    return np.sum(y) * 2.0


PROGRAMS = [robust, solves, appends, late]
