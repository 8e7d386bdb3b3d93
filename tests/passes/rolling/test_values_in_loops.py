"""Loops of values that are not finite, zeros with signs, integers, masks and single precision: as without loops."""

import numpy as np
import pytest

import tapediff as td
from tests.passes.rolling.both_ways import TOLERANCE, N, X, Y, agree, with_rolling
from tests.passes.rolling.rolled_programs import CASES


@pytest.mark.parametrize("name", ["a running sum", "rosenbrock", "a recurrence", "coupled", "a list that is stacked", "several sums"])
def test_nan_and_infinity_come_out_as_without_loops(name):
    f = CASES[name][0]
    points = [X.copy() for _ in range(4)]
    points[0][5], points[1][7], points[2][0], points[3][N - 1] = np.nan, np.inf, -np.inf, 0.0
    tapes = {is_on: td.record(f, X) for is_on in (False, True)}
    for x in points:
        answers = {}
        for is_on, tape in tapes.items():
            answers[is_on] = with_rolling(is_on, lambda t=tape, x=x: (td.CompiledTape(t)(x), *td.value_and_gradient(td.CompiledTape(t), x)))
        for mine, expected in zip(answers[True], answers[False], strict=True):
            np.testing.assert_allclose(mine, expected, rtol=TOLERANCE, atol=TOLERANCE)


def test_a_selection_hides_infinities_in_a_loop():
    """The side that is not chosen contributes an exact zero to the gradient, as without loops."""

    def f(x):
        h, total = x[0], 0.0
        for i in range(N):
            safe = np.where(x[i] > 1.0, np.log(np.where(x[i] > 1.0, x[i] - 1.0, 1.0)), 0.0)
            h = 0.5 * h + safe
            total = total + h * h
        return total

    x = np.where(np.arange(N) % 3 == 0, 1.0, X)
    agree(f, X, x)
    assert np.isfinite(with_rolling(True, lambda: td.gradient(td.record(f, X), x))).all()


def test_zeros_keep_their_signs():
    def f(x):
        signs = [np.copysign(1.0, x[i] * 0.0) for i in range(N)]
        return sum(s * Y[k] for k, s in enumerate(signs))

    agree(f, X - 1.5, 1.5 - X)


def test_integers_and_masks_in_a_loop():
    def f(x):
        count, total = 0, 0.0
        for i in range(N):
            is_large = x[i] > 1.5
            count = count + np.where(is_large, 1, 0)
            total = total + x[i] * is_large + count * 0.1
        return total

    agree(f, X, Y)


def test_single_precision_in_a_loop():
    """Numbers of 32 bits are rounded after every operation, in a loop as without."""

    def f(x):
        h = x[0]
        for i in range(N):
            h = h * np.float32(0.5) + x[i]
        return h

    x = X.astype(np.float32)
    on, off = (with_rolling(k, lambda: td.value_and_gradient(td.compile(f, x), x)) for k in (True, False))
    assert on[0] == off[0]
    # Cotangents are rounded to 24 bits in each of the iterations that count.
    np.testing.assert_allclose(on[1], off[1], rtol=1e-5)
