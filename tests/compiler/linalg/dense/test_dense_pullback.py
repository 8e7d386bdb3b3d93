"""The package's own pullback of the Cholesky factor, against NumPy and against long doubles."""

import numpy as np
import pytest
from support.dense import LANES, SIZES, call, definite, watched

from tapediff.compiler.linalg.dense_calls import padded_stride, pullback_scratch
from tapediff.ops.matrices.linear_algebra import pulled_back

RNG = np.random.default_rng(12)


def pull(l, l_bar, lanes):
    n = len(l)
    (result, is_kept), (scratch, is_scratch_kept) = watched(n * n), watched(pullback_scratch(n))
    arrays = np.ascontiguousarray(l), np.ascontiguousarray(l_bar)
    call("cholesky_pullback", lanes, *arrays, result, scratch, n, padded_stride(n))
    assert is_kept()
    assert is_scratch_kept()
    return result.reshape(n, n)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("n", SIZES)
def test_the_pullback_is_numpys(n, lanes):
    """What stands above the diagonals is not read, and nothing is written elsewhere. Sums in another order: some ulp."""
    l, l_bar = np.linalg.cholesky(definite(RNG, n)), RNG.normal(size=(n, n))
    expected = pulled_back(l, l_bar)
    above = np.triu(np.full((n, n), np.nan), 1)
    np.testing.assert_allclose(pull(l + above, l_bar + above, lanes), expected, rtol=1e-11, atol=1e-13)


def in_long_doubles(l, l_bar):
    """l^-T s l^-1 by substitution."""
    l, inner = l.astype(np.longdouble), np.tril(l.astype(np.longdouble).T @ l_bar)
    x = inner + np.tril(inner, -1).T
    for _ in range(2):
        x = x.T.copy()
        for i in range(len(l) - 1, -1, -1):
            x[i] = (x[i] - l[i + 1 :, i] @ x[i + 1 :]) / l[i, i]
    return np.tril(x) - 0.5 * np.diag(np.diag(x))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("condition", [1e4, 1e8, 1e12])
def test_it_is_as_accurate_as_two_triangular_solves_for_smooth_kernels(condition, lanes):
    """Squared exponential kernels with a small diagonal; the blocked reverse of the factorisation is a million times worse there.

    A factor of 3 is the luck of rounding: over many matrices it is even.
    """
    x = np.sort(RNG.uniform(-3, 3, 45))
    l = np.linalg.cholesky(np.exp(-0.5 * (x[:, None] - x) ** 2) + 45 / condition * np.eye(45))
    l_bar = np.tril(RNG.normal(size=(45, 45)))
    exact = in_long_doubles(l, l_bar)
    own, solves = (float(np.linalg.norm(y - exact)) for y in (pull(l, l_bar, lanes), pulled_back(l, l_bar)))
    assert own < 3.0 * solves


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("n", [3, 13])
def test_nan_goes_where_it_goes_in_numpy(n, lanes):
    """From the matrix that was factored; from the factor's cotangent no further, as NumPy multiplies it by structural zeros too."""
    a, l_bar = definite(RNG, n), RNG.normal(size=(n, n))
    for where in ((0, 0), (n - 1, 0), (n - 1, n - 1), (1, 1)):
        bad, bad_bar = a.copy(), l_bar.copy()
        bad[where] = bad_bar[where] = np.nan
        l = np.linalg.cholesky(bad)
        np.testing.assert_array_equal(np.isnan(pull(l, l_bar, lanes)), np.isnan(pulled_back(l, l_bar)))
        l = np.linalg.cholesky(a)
        own = np.isnan(pull(l, bad_bar, lanes))
        assert own[where]
        assert own[0, 0]
        assert not (own & ~np.isnan(pulled_back(l, bad_bar))).any()
