"""The package's own triangular solves, beside SciPy's."""

import numpy as np
import pytest
from scipy.linalg import solve_triangular
from support.dense import LANES, call, definite, watched

RNG = np.random.default_rng(13)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("n", [1, 3, 8, 13, 24, 40])
@pytest.mark.parametrize("k", [1, 2, 8, 9, 17, 40])
def test_the_solution_is_scipys_for_every_triangle(n, k, lanes):
    """From the first row on or from the last, transposed or not; the other triangle, and a unit diagonal, are not read."""
    for lower in (True, False):
        for transposed in (True, False):
            for unit in (True, False):
                a, b = definite(RNG, n), RNG.normal(size=(n, k))
                expected = solve_triangular(a, b, trans=transposed, lower=lower, unit_diagonal=unit)
                hidden = np.triu if lower else np.tril
                a += hidden(np.full((n, n), np.nan), (0 if unit else 1) * (1 if lower else -1))
                x, is_kept = watched(n * k)
                x[:] = b.ravel()
                s, t = (1, n) if transposed else (n, 1)
                corner, u = 0, k
                if lower == transposed:
                    corner, u, s, t = n - 1, -k, -s, -t
                    assert not call("triangular_solve", lanes, (a, n * n - 1), (x, corner * k), n, k, s, t, u, unit)
                else:
                    assert not call("triangular_solve", lanes, a, x, n, k, s, t, u, unit)
                assert is_kept()
                np.testing.assert_allclose(x.reshape(n, k), expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("n", [1, 7, 8, 20])
def test_a_zero_anywhere_on_the_diagonal_is_told(n, lanes):
    """But not where the diagonal is not read."""
    for position in range(n):
        a = definite(RNG, n)
        a[position, position] = 0.0
        for unit in (False, True):
            assert call("triangular_solve", lanes, a, np.ones(n), n, 1, n, 1, 1, unit) is not unit
