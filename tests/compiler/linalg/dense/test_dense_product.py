"""The package's own matrix products, beside NumPy's."""

import numpy as np
import pytest
from support.dense import LANES, call, watched

RNG = np.random.default_rng(13)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("m", [1, 7, 19, 110])
@pytest.mark.parametrize("n", [1, 8, 33, 123])
@pytest.mark.parametrize("k", [1, 9, 400])
def test_the_product_is_numpys_for_every_layout(m, n, k, lanes):
    """Rows or columns that follow each other, and parts of larger matrices. Sums in another order: some ulp."""
    for x_transposed in (False, True):
        for y_transposed in (False, True):
            x = RNG.normal(size=(k + 1, m + 2) if x_transposed else (m + 1, k + 2))
            y = RNG.normal(size=(n + 1, k + 2) if y_transposed else (k + 1, n + 2))
            s, t = (1, m + 2) if x_transposed else (k + 2, 1)
            u, v = (1, k + 2) if y_transposed else (n + 2, 1)
            z, is_kept = watched(m * n)
            call("product", lanes, (x, 1), (y, 1), z, m, n, k, s, t, u, v)
            assert is_kept()
            left = (x.T if x_transposed else x)[(1 if x_transposed else 0) :, (0 if x_transposed else 1) :][:m, :k]
            right = (y.T if y_transposed else y)[(1 if y_transposed else 0) :, (0 if y_transposed else 1) :][:k, :n]
            np.testing.assert_allclose(z.reshape(m, n), left @ right, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("lanes", LANES)
def test_an_entry_has_the_same_bits_in_every_tile(lanes):
    """Rows on their own, and columns, are those of the whole product: terms are added in their order."""
    m, n, k = 50, 70, 300
    x, y, z = RNG.normal(size=(m, k)), RNG.normal(size=(k, n)), np.empty((m, n))
    call("product", lanes, x, y, z, m, n, k, k, 1, n, 1)
    for first, rows in ((0, 1), (3, 17), (13, 37)):
        part = np.empty((rows, n))
        call("product", lanes, (x, first * k), y, part, rows, n, k, k, 1, n, 1)
        assert part.tobytes() == z[first : first + rows].tobytes()
    for first, columns in ((0, 3), (5, 20), (20, 50)):
        part = np.empty((m, columns))
        call("product", lanes, x, (y, first), part, m, columns, k, k, 1, n, 1)
        assert part.tobytes() == z[:, first : first + columns].tobytes()
