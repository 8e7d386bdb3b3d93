"""Random programs of a few statements that branch: comparisons, conversions, loops, errors that are caught."""

import numpy as np
from hypothesis import strategies as st

# Thresholds and ties of the statements below, signed zeros, NaN and the smallest number above zero.
SPECIAL = [0.0, -0.0, 0.5, 1.0, -0.5, -1.0, 2.0, np.nan, 1.5, 5e-324]


def written(a, k):
    a = a * 1.0
    if a[k % 4] > 0:
        a[k % 4] = a[0] * 0.5
    a[::2] += a[1]
    a[a < -1] = -1.0
    return a


def halved(s):
    count = 0
    while abs(s) > 1 and count < 6:
        s, count = s / 2, count + 1
    return s


def checked(s, v):
    assert not v > 1.9
    return s


# Each takes an array of four, a number, and k, and gives the next array and number.
STATEMENTS = (
    lambda a, s, k: (a, s + (a[k % 4] ** 2 if a[k % 4] > 0 else -a[k % 4])),
    lambda a, s, k: (a, s * 2 if s > 0.5 else s + a[0]),
    lambda a, s, k: (a, s + sum(v for v in a if v >= 0.5)),
    lambda a, s, k: (a, s + a[int(abs(a[k % 4])) % 4]),
    lambda a, s, k: (a, s + (a[a > 0.5] ** 2).sum()),
    lambda a, s, k: (a, s + max(a[0], a[k % 4], 0.0)),
    lambda a, s, k: (a, s + a[np.argmax(a)] * (k + 1)),
    lambda a, s, k: (np.where(a > 0, a, -2 * a), s),
    lambda a, s, k: (written(a, k), s),
    lambda a, s, k: (a, halved(s)),
    lambda a, s, k: (a, s + (a[1] or 3.0) * a[2]),
    lambda a, s, k: (a, s - a[0] if -0.5 < a[k % 4] <= 1.0 else s * a[1]),
    lambda a, s, k: (np.stack(sorted(a)), s) if k % 2 else (np.sort(a), s),
    lambda a, s, k: (a * round(a[k % 4]), s),
    lambda a, s, k: (a, s + (np.sin(a).sum() if np.any(a == 1.0) else np.cos(a).sum())),
    lambda a, s, k: (a, s + a[: 1 + k % 4].sum() if a[0] < a[-1] else s),
    lambda a, s, k: (np.cumsum(a) * 0.5, s if s == s else a[0] * 1.0),
    lambda a, s, k: (a, s + np.sum(np.maximum(a, s))),
    lambda a, s, k: (a, checked(s, a[k % 4])),
)
PROGRAMS = st.lists(st.tuples(st.integers(0, len(STATEMENTS) - 1), st.integers(0, 7)), min_size=1, max_size=6)
GUARDS = st.sampled_from([None, lambda x: bool(x[0] > 0), lambda x: (int(np.nan_to_num(x[1])),)])


def function_of(program):
    def f(x):
        a, s = x, x[0] * 0.5
        for statement, k in program:
            a, s = STATEMENTS[statement](a, s, k)
        return s + np.sum(a * np.arange(1.0, 5.0))

    return f
