"""Random functions that branch, loop, index and write by value: at and around every threshold, each target follows the plain function.

The programs are drawn by hypothesis, which shrinks a failing one. `TAPEDIFF_FUZZ_EXAMPLES=2000 pytest tests/test_branch_flips.py`
searches for longer, with fresh examples in every run.
"""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tapediff as td

LONG_RUN = int(os.environ.get("TAPEDIFF_FUZZ_EXAMPLES", "0"))

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


def result_of(call):
    """What a call returns, or the type of the user's own error."""
    try:
        with np.errstate(all="ignore"):
            return call()
    except (AssertionError, ValueError) as error:  # int() of a NaN is a ValueError
        if isinstance(error, td.TapediffError):
            raise
        return type(error)


def agree(a, b):
    if isinstance(a, type) or isinstance(b, type):
        return a is b
    # Six statements of a few operations each; sums are taken in another order.
    return np.allclose(a, b, rtol=1e-9, atol=1e-11, equal_nan=True)


@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
@settings(max_examples=LONG_RUN or 25, derandomize=not LONG_RUN, suppress_health_check=list(HealthCheck))
@given(PROGRAMS, GUARDS, st.sampled_from([0, 1, 3]), st.sampled_from([1, 3, 1000]), st.integers(0, 10**6))
def test_no_answer_comes_from_another_branch(program, guard, compile_after, max_tapes, seed):
    """Value, gradient and errors at points in any order: those of the plain function, and of a recording made on the spot."""
    f, rng = function_of(program), np.random.default_rng(seed)
    safe = td.GuardedTape(f, guard, compile_after=compile_after, max_tapes=max_tapes)
    points = [np.where(rng.random(4) < 0.4, rng.choice(SPECIAL, 4), rng.uniform(-2, 2, 4)) for _ in range(10)]
    tape = result_of(lambda: td.compile(f, points[0]))
    for x in [*points, *points[::-1]]:
        plain, here = result_of(lambda x=x: float(f(x.copy()))), result_of(lambda x=x: td.gradient(f, x))
        out = np.full(4, 7.0)
        answer = result_of(lambda x=x, out=out: td.value_and_gradient(safe, x, out=out))
        value, gradient = (answer, answer) if isinstance(answer, type) else answer
        assert agree(value, plain)
        assert agree(gradient, here)
        assert agree(result_of(lambda x=x: safe(x)), plain)
        assert not isinstance(answer, type) or (out == 7.0).all()
        if not isinstance(tape, type):
            try:
                assert agree(td.gradient(tape, x), here)
            except td.GuardFailed:
                assert x is not points[0]
