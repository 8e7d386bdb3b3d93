"""The benchmarks' programs by numba: the values and gradients of the native kernels, from the same text."""

import gc
import os
import weakref

import numpy as np
import pytest

import tapediff as td
from benchmarks.problems import BY_NAME

# numba takes a second for each of the others.
QUICK = ("eight_schools", "sum_sin", "gp_100", "straight_line", "lotka_volterra_scan", "two_tails", "bouncing_ball_scan")
NAMES = tuple(BY_NAME) if os.environ.get("TAPEDIFF_NUMBA_ALL") else QUICK


# Numba takes minutes for longer texts, and hours for the longest.
MOST_LINES = 600


def compiled(problem, backend):
    if problem.guarded:
        return td.GuardedTape(problem.recorded, backend=backend)
    return td.compile(problem.recorded, problem.points[0], backend=backend)


@pytest.mark.parametrize("name", NAMES)
def test_value_and_gradient_are_the_native_kernels(name):
    """Sums are taken in another order: 1e-11 of the largest entry is far above that."""
    problem = BY_NAME[name]
    native = compiled(problem, "native")
    if not problem.guarded and native.source.count("\n") > MOST_LINES:
        pytest.skip("too long for numba")
    numba = compiled(problem, "numba")
    for point in problem.points:
        expected, expected_gradient = td.value_and_gradient(native, point)
        value, gradient = td.value_and_gradient(numba, point)
        assert value == pytest.approx(expected, rel=1e-11)
        np.testing.assert_allclose(gradient, expected_gradient, rtol=0, atol=1e-11 * np.max(np.abs(expected_gradient)))


def test_numba_compiles_the_text_that_the_native_kernel_shows():
    texts = [td.compile(np.linalg.det, np.eye(3), backend=backend).source for backend in ("native", "numba")]
    assert texts[0] == texts[1]


def test_native_code_is_freed_with_its_kernel():
    fast = td.compile(lambda x: np.sum(np.linalg.inv(x)), np.eye(3), backend="numba")
    td.gradient(fast, np.eye(3))
    parts = [weakref.ref(part) for part in fast.kernel((0,))._parts]
    assert parts
    del fast
    gc.collect()
    assert not any(part() for part in parts)


def test_long_code_is_byte_code_here_too():
    rng = np.random.default_rng(0)
    chosen = [(int(rng.integers(3)), *map(int, rng.integers(max(0, k - 300), k + 7, size=2))) for k in range(1500)]

    def f(x):
        values = [*x]
        for kind, i, j in chosen:
            a, b = values[i], values[j]
            values.append([lambda: np.sin(a), lambda: a - 0.5 * b, lambda: a / (1.0 + b * b)][kind]())
        return sum(values[-30:])

    x = np.linspace(0.1, 0.7, 7)
    native, numba = td.compile(f, x), td.compile(f, x, backend="numba")
    assert "interpreted" in numba.source
    np.testing.assert_array_equal(td.gradient(numba, x), td.gradient(native, x))
