"""First and second derivatives at special points against those beside them: where a formula has its middle, its end or its change of form."""

import numpy as np

import tapediff as td

# Far enough for other branches, and so near that smooth derivatives differ by less than SAME.
BESIDE, SAME = 1e-5, 1e-3


def derivatives(target, x):
    """The gradient by each row of x, and the rows of every Hessian, of functions of columns that do not mix."""
    k, n = x.shape
    rows = [td.hvp(target, x, np.repeat(np.eye(k)[:, j : j + 1], n, axis=1)) for j in range(k)]
    return td.gradient(target, x), np.concatenate(rows)


def disagreements(function, *columns, fixed=0, compiles=True):
    """The points at which a derivative differs from those on both sides, which agree. The first `fixed` arguments have no derivative."""
    data, x = columns[:fixed], np.array(columns[fixed:], float)
    total = lambda x: np.sum(function(*data, *x))
    directions = np.random.default_rng(3).uniform(0.3, 1.0, (len(x), 1)) * np.maximum(1.0, np.abs(x))
    bad = np.zeros(x.shape[1], bool)
    with np.errstate(all="ignore"):
        target = td.compile(total, x) if compiles else td.record(total, x)
        # What is infinite beside itself is so on both sides.
        sides = [derivatives(target, x + s * BESIDE * np.where(np.isinf(x), 1.0, directions)) for s in (-1.0, 1.0)]
        is_pole = np.any(np.abs(np.concatenate([part for side in sides for part in side])) > 1e4, axis=0)
        for here, left, right in zip(derivatives(target, x), *sides):
            size = SAME * (np.maximum(np.abs(left), np.abs(right)) + 1e-6)
            is_smooth = (np.abs(left - right) <= size) & ~is_pole
            bad |= (is_smooth & ~(np.abs(here - 0.5 * (left + right)) <= 2.0 * size)).any(axis=0)
    return [tuple(float(c[k]) for c in (*data, *x)) for k in np.flatnonzero(bad)]


def grid(*axes):
    """The columns of all combinations."""
    return [axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")]
