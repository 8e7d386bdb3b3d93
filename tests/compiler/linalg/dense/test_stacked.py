"""The routines that take a matrix in each lane, against the same for one matrix after the other."""

import ctypes
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from support.dense import LANES, watched

import tapediff as td
from tapediff.compiler.jit.native_function import NativeFunction
from tapediff.compiler.linalg.dense import lanes as lanes_module, stacked
from tapediff.ops.matrices import linear_algebra, spectral

# One that is written out, and one that is loops, with vectors that are not whole.
ORDERS = (3, 6)
COUNT = 11


@cache
def _function(symbol, lanes):
    return NativeFunction(stacked.text(symbol, lanes), symbol, set())


def call(name, lanes, operands, shape):
    """Whether it failed, and the result for each matrix; nothing is written elsewhere."""
    count = len(operands[0])
    result, is_kept = watched(count * int(np.prod(shape)))
    arrays = [np.ascontiguousarray(x, float) for x in operands]
    types = [ctypes.c_void_p] * (len(arrays) + 1) + [ctypes.c_int64] * (len(arrays) + 2)
    native = ctypes.CFUNCTYPE(ctypes.c_bool, *types)(_function(lanes_module.PREFIX + name, lanes).address)
    advances = [x[0].size for x in arrays] + [int(np.prod(shape))]
    failed = native(*(x.ctypes.data for x in arrays), result.ctypes.data, count, *advances)
    assert is_kept()
    return failed, result.reshape(count, *shape)


def _matrices(n, count=COUNT):
    rng = np.random.default_rng(n)
    a = rng.normal(size=(count, n, n))
    return a, a @ np.swapaxes(a, -1, -2) / n + np.eye(n), rng.normal(size=(count, n, 2)), rng.normal(size=(count, n, n))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("n", ORDERS)
def test_factors_and_solutions_are_those_of_one_matrix_after_the_other(n, lanes):
    """Of positive definite matrices, whose condition is below 1e3: sums in another order are some ulp away."""
    _, a, b, l_bar = _matrices(n)
    failed, l = call(f"cholesky_{n}", lanes, [a], (n, n))
    assert not failed
    np.testing.assert_allclose(l, np.linalg.cholesky(a), rtol=1e-12, atol=1e-14)
    _, pulled = call(f"cholesky_pullback_{n}", lanes, [l, l_bar], (n, n))
    np.testing.assert_allclose(pulled, linear_algebra.CHOLESKY_PULLBACK.evaluate(l, l_bar), rtol=1e-10, atol=1e-12)
    for lower, transposed, unit in ((1, 0, 0), (0, 1, 1), (1, 1, 0)):
        name = f"triangular_solve_{n}_2_{lower ^ transposed}_{transposed}_{unit}"
        expected = linear_algebra.TRIANGULAR_SOLVE.evaluate(a, b, bool(lower), bool(transposed), bool(unit))
        failed, x = call(name, lanes, [a, b], (n, 2))
        assert not failed
        np.testing.assert_allclose(x, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("n", ORDERS)
def test_lu_factors_have_lapacks_layout_and_pivots(n, lanes):
    """So that factors of a constant, which LAPACK makes, serve them too."""
    a, definite, b, _ = _matrices(n)
    a = np.concatenate([a, np.round(a[:2]), definite[:2]])  # with ties
    expected = linear_algebra.LU_FACTOR.evaluate(a)
    failed, lu = call(f"lu_factor_{n}", lanes, [a], (n + 1, n))
    assert not failed
    np.testing.assert_allclose(lu[:, :n], expected[:, :n], rtol=1e-10, atol=1e-12)
    pivots = [np.ascontiguousarray(x[:, n]).view(np.int32)[:, :n] for x in (lu, expected)]
    assert (pivots[0] == pivots[1]).all()
    regular = lu[-2:]
    for transposed in (0, 1):
        _, x = call(f"lu_solve_{n}_2_{transposed}", lanes, [regular, b[:2]], (n, 2))
        np.testing.assert_allclose(x, np.linalg.solve(definite[:2], b[:2]), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(call(f"inverse_{n}", lanes, [regular], (n, n))[1], np.linalg.inv(definite[:2]), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(call(f"det_{n}", lanes, [lu], (1,))[1][:, 0], np.linalg.det(a), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n", [3, 4, 6])
def test_cofactors_of_singular_matrices_are_those_by_singular_values(n):
    """Of rank n, n - 1 and n - 2, and of matrices with a column or a row of zeros."""
    a, _, _, _ = _matrices(n)
    a[1, :, 0] = a[2, 1] = a[3, :, -1] = 0.0
    a[4, 0] = a[4, 1]
    a[5, :, 1] = a[5, :, 0] = 2.0 * a[5, :, -1]
    a[6], a[7] = 0.0, np.ones((n, n))
    _, got = call(f"cofactors_{n}", 8, [linear_algebra.LU_FACTOR.evaluate(a)], (n, n))
    scale = np.linalg.norm(a, 2, axis=(1, 2))[:, None, None] ** (n - 1) + 1.0
    assert np.max(np.abs(got - spectral.cofactors(a)) / scale) < 1e-13


@pytest.mark.parametrize("place", [0, 5, 10])
def test_one_bad_matrix_of_a_stack_is_a_failure(place):
    """Wherever it is, in compiled and in plain calls; and the good ones are answered again afterwards."""
    _, a, b, _ = _matrices(3)
    bad = a.copy()
    bad[place, 2] = 0.0
    indefinite = a.copy()
    indefinite[place, 1, 1] = -1.0
    solve = td.compile(lambda a, b: np.sum(np.linalg.solve(a, b)), a, b)
    factor = td.compile(lambda a: np.sum(np.linalg.cholesky(a)), a)
    invert = td.compile(lambda a: np.sum(np.linalg.inv(a)), a)
    for call_bad, message in (
        (lambda: td.gradient(solve, bad, b), "Singular"), (lambda: solve(bad, b), "Singular"), (lambda: invert(bad), "Singular"),
        (lambda: td.gradient(factor, indefinite), "positive definite"),
    ):  # fmt: skip
        with pytest.raises(np.linalg.LinAlgError, match=message):
            call_bad()
    np.testing.assert_allclose(solve(a, b), np.sum(np.linalg.solve(a, b)), rtol=1e-12)


def _exact_det(a):
    rows = [[Fraction(x) for x in row] for row in a]
    x, y, z = rows
    return sum(x[k] * (y[k - 2] * z[k - 1] - y[k - 1] * z[k - 2]) for k in range(3))


def test_a_determinant_near_zero_is_as_accurate_as_lapacks():
    """Within what a change of each entry by one rounding does to the exact value, which for nearly equal rows is far below the rounding of a
    sum of products; with rows and columns in every order and of unequal sizes."""
    rng = np.random.default_rng(3)
    f = td.compile(np.linalg.det, np.eye(3))
    for trial in range(60):
        a = np.ones((3, 3)) + 10.0 ** -rng.integers(1, 8) * rng.normal(size=(3, 3))
        a = a[rng.permutation(3)] * (1.0 if trial % 2 else 10.0 ** rng.integers(-3, 4, (3, 1)))
        allowed = 8.0 * np.finfo(float).eps * np.sum(np.abs(a) * np.abs(spectral.cofactors(a)))
        assert abs(float(Fraction(float(f(a))) - _exact_det(a))) <= allowed + 1e-300


def test_a_determinant_does_not_overflow_on_the_way():
    """A product of pivots in any order would, where the logarithms do not."""
    scales = np.array([1e200, 1e180, 1e-190, 1e-185])
    stack = np.stack([np.diag(scales), np.diag(scales[::-1]), np.diag(scales[[0, 0, 2, 3]] * 1e105), np.diag(scales[[0, 1, 2, 2]] * 1e-105), np.zeros((4, 4))])
    with np.errstate(over="ignore", divide="ignore"):
        np.testing.assert_allclose(td.compile(np.linalg.det, stack)(stack), [1e5, 1e5, np.inf, 0.0, 0.0], rtol=1e-12)
