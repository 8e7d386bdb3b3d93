"""The package's own Cholesky factor beside LAPACK's."""

import numpy as np
import pytest
from support.dense import LANES, SIZES, call, definite, watched

from tapediff.compiler.linalg.dense_calls import cholesky_scratch, padded_stride

RNG = np.random.default_rng(11)


def factor(a, lanes):
    """Whether it failed, and the factor."""
    n = len(a)
    (result, is_kept), (scratch, is_scratch_kept) = watched(n * n), watched(cholesky_scratch(n))
    failed = call("cholesky", lanes, np.ascontiguousarray(a), result, scratch, n, padded_stride(n))
    assert is_kept()
    assert is_scratch_kept()
    return failed, result.reshape(n, n)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("n", SIZES)
def test_the_factor_is_lapacks(n, lanes):
    """Of the lower triangle, with zeros above the diagonal, and nothing is written elsewhere. Sums in another order: some ulp."""
    a = definite(RNG, n)
    failed, l = factor(np.where(np.tri(n), a, np.nan), lanes)
    assert not failed
    np.testing.assert_allclose(l, np.linalg.cholesky(a), rtol=1e-12, atol=1e-14)
    assert (np.triu(l, 1) == 0.0).all()


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("n", [1, 5, 8, 21, 40])
def test_a_matrix_that_is_not_positive_definite_fails_wherever_it_shows(n, lanes):
    """With a negative, and with a zero pivot."""
    for position in range(n):
        for pivot in (-1e-3, 0.0):
            diagonal = np.ones(n)
            diagonal[position] = pivot
            assert factor(np.diag(diagonal), lanes)[0]


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("position", [(0, 0), (3, 3), (9, 9), (12, 2), (12, 11)])
def test_nan_goes_where_lapack_lets_it_go(position, lanes):
    """It is no failure, and it does not reach what does not depend on it."""
    a = definite(RNG, 13)
    a[position] = np.nan
    failed, l = factor(a, lanes)
    assert not failed
    np.testing.assert_array_equal(np.isnan(l), np.isnan(np.linalg.cholesky(a)))


@pytest.mark.parametrize("lanes", LANES)
def test_infinity_on_the_diagonal_is_no_failure(lanes):
    """As in LAPACK."""
    a = np.diag([1.0, np.inf, 4.0])
    assert np.array_equal(factor(a, lanes)[1], np.linalg.cholesky(a))
