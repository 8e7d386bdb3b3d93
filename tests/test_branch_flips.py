"""Random functions that branch, loop, index and write by value: at and around every threshold, each target follows the plain function.

The programs are drawn by hypothesis, which shrinks a failing one. `TAPEDIFF_FUZZ_EXAMPLES=2000 pytest tests/test_branch_flips.py`
searches for longer, with fresh examples in every run.
"""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from random_programs.branching_programs import GUARDS, PROGRAMS, SPECIAL, function_of

import tapediff as td

LONG_RUN = int(os.environ.get("TAPEDIFF_FUZZ_EXAMPLES", "0"))


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
@pytest.mark.slow
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
