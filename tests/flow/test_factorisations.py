"""Operations that may fail: where a side is not taken they do not, and where a `try` is around data decide whether they do."""

import numpy as np
import pytest

import tapediff as td

POINTS = [np.array(p) for p in ([1.0, 2.0], [0.0, 1.0], [-1.0, 1.0], [2.0, 3.0], [0.1, -0.5], [4.0, -2.0], [-3.0, 4.0])]


def definite(x):
    return np.array([[x[0], 0.5], [0.5, 1.0]])


def diagonal(x):
    return np.array([[x[0], 0.0], [0.0, 1.0]])


@td.subtape
def small(v):
    if v > 1:
        raise ValueError("too large")
    return v * v


def factor_or_another_value(x):
    try:
        factor = np.linalg.cholesky(definite(x))
        return factor[0, 0] + factor[1, 1]
    except np.linalg.LinAlgError:
        return x[0] * 10


def solves_in_a_loop(x):
    total = 0.0
    for k in range(3):
        try:
            total += np.linalg.solve(diagonal(x * k), np.ones(2))[0]
        except np.linalg.LinAlgError:
            total += x[1]
    return total


def factor_on_a_side(x):
    return np.linalg.cholesky(definite(x))[0, 0] * x[1] if x[0] > 0.25 else x[0] * 3


def solution_on_a_side(x):
    return np.linalg.solve(diagonal(x), np.ones(2))[0] * x[1] if x[0] != 0 else x[1] * 3


def inverse_on_a_side(x):
    return np.linalg.inv(diagonal(x))[0, 0] * x[1] if x[0] != 0 else x[1] * 3


def logarithms_on_a_side(x):
    if x[0] != 0:
        return np.log(np.abs(x[0])) * x[1] + np.linalg.slogdet(diagonal(x))[1] + np.linalg.slogdet(np.diag(np.array([x[0], 1.0, 1.0])))[1]
    return x[1] * 3


def eigenvalues_on_a_side(x):
    return np.linalg.eigvalsh(definite(x))[0] if x[0] > 0 else x[1]


def singular_values_on_a_side(x):
    return np.sum(np.linalg.svd(definite(np.sqrt(x)))[1]) if x[0] > 0 and x[1] > 0 else x[1]


def triangle_on_a_side(x):
    return td.linalg.solve_triangular(diagonal(x), np.ones(2), lower=True)[0] if x[0] != 0 else x[1]


def errors_of_a_sub_tape(x):
    try:
        return small(x[0]) + small(x[1])
    except ValueError:
        return x[0]


def a_sub_tape_on_a_side(x):
    return small(x[0]) if x[0] <= 1 else x[1] * 2


def a_scan_that_raises_on_a_side(x):
    def body(carry, v):
        if v > 3:
            raise ValueError("large")
        return carry + v * v, None

    return td.scan(body, 0.0, x)[0] if x[0] <= 3 and x[1] <= 3 else x[1] * x[0]


def a_cond_on_a_side(x):
    return td.cond(x[0] > 0, lambda v: np.sqrt(v), lambda v: -v, x[0]) if x[1] > 0 else x[1] * x[0]


PROGRAMS = [
    factor_or_another_value, solves_in_a_loop, factor_on_a_side, solution_on_a_side, inverse_on_a_side, logarithms_on_a_side,
    eigenvalues_on_a_side, singular_values_on_a_side, triangle_on_a_side, errors_of_a_sub_tape, a_sub_tape_on_a_side,
    a_scan_that_raises_on_a_side, a_cond_on_a_side,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("first", [0, 1, 2])
@np.errstate(all="ignore")
def test_what_fails_on_one_side_does_not_on_the_other(f, first):
    safe = td.GuardedTape(f)
    for x in (POINTS[first], *POINTS):
        path = td.record(f, x, merge=False)
        value, gradient = td.value_and_gradient(safe, x)
        assert value == pytest.approx(f(x), rel=1e-12)
        np.testing.assert_allclose(gradient, td.gradient(path, x), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(td.hessian(safe, x), td.hessian(path, x), rtol=1e-8, atol=1e-10)
