"""Programs that take a branch for each entry, collect, count, look up or loop until data says so."""

import numpy as np

RUNS = []


def bent(x):
    RUNS.append(1)
    s = 0.0
    for v in x:
        if v > 0:
            s = s + v**2
        else:
            s = s - v
    return s


def collected(x):
    kept = []
    for v in x:
        if v > 0:
            kept.append(v)
    return sorted(kept)[len(kept) // 2] * x[0] if kept else x[1]


def kept_by_number(x):
    n = 0
    history = {}
    for v in x:
        if v > 0:
            n = 1
        else:
            n = 2
        melt = 2 * v
        history[n] = melt
    return sum(history.values())


def counted_by_index(x):
    n = 0
    for v in x:
        if v > 0:
            n = n + 1
    return LEVELS[:n].sum() * x[0]


def doubled_until(x):
    n = 0
    while n < x[0]:
        n = n + 1
    return x[1] * sum(range(n))


def flagged(x):
    found = False
    if x[0] > 1:
        found = True
    return x[1] * (found + 1)


LEVELS = np.arange(10.0)


def every_form(x):
    s, k = x[0] * 0.0, 0.0
    for v in x:
        if v > 0:
            s = s + v
        if v > 1:
            s = s + np.sum(np.linalg.solve(np.eye(2) * v, np.ones(2)))
    while k < x[1]:
        k = k + 1.0
    for v in x:
        if v > 2:
            break
        s = s + v
    return s * k + sum(v for v in x if v < 0)


def unlike_at_last(x):
    if x[0] > 0:
        y = np.sum(np.sin(x))
    elif x[1] > 5:
        y = np.cos(x)  # an array, where the other paths give numbers
    else:
        y = np.sum(x**2)
    return np.sum(y)


def positive(v):
    if v > 0:
        return v
    return 0.0


def larger(v):
    return v if v > 0.1 else 0.0


def binds_anew(x):
    a, b, n = x[0], 1, 0
    y = x * 1.0
    z = y[::-1]

    def inner(v):
        return v * b

    if positive(a) > 0.2:
        b = 1 / 3
    b += z[0] - a
    if n == z[0]:
        a *= larger(b) // 1 + y[1]
    else:
        y[1] = np.tanh(z[0])
    return 4 * a + inner(x[3])


def steps_until_the_end(x):
    """A loop of some thousand turns, of which a value says how many."""
    t, y, total = 0.0, x[1], 0.0
    while t < 40.0:
        y = y - 0.01 * y * x[0]
        t = t + 0.01 + 0.001 * x[0]
        total = total + y
    return total


def fixed_point(p):
    """A `while` of a merged body, which has several paths as a sub-tape."""
    r, k = np.array([1.0, 0.0]), 0
    while k < 300:
        new = np.tanh(0.5 * r + p[:2])
        k += 1
        if np.max(np.abs(new - r)) < 1e-10:
            break
        r = new
    return np.sum(new)


PROGRAMS = [
    bent,
    collected,
    kept_by_number,
    counted_by_index,
    doubled_until,
    flagged,
    every_form,
    unlike_at_last,
    steps_until_the_end,
    binds_anew,
    fixed_point,
]
