"""tapediff.linalg: SciPy's signatures and values, and derivatives in every argument."""

import numpy as np
import pytest
import scipy.linalg

import tapediff as td

RNG = np.random.default_rng(3)
LOWER = np.tril(RNG.normal(size=(4, 4))) + 3.0 * np.eye(4)


@pytest.mark.parametrize("trans", [0, 1, "N", "T"])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit_diagonal", [False, True])
@pytest.mark.parametrize("shape", [(4,), (4, 1), (4, 3)])
def test_solve_triangular_is_scipys(trans, lower, unit_diagonal, shape):
    """Only one triangle is read, so the other's derivative is zero; compiled, in both arguments."""
    a, b = (LOWER if lower else LOWER.T) + RNG.normal(size=(4, 4)) * 0.1, RNG.normal(size=shape)
    options = {"trans": trans, "lower": lower, "unit_diagonal": unit_diagonal}
    np.testing.assert_allclose(
        td.linalg.solve_triangular(a, b, **options), scipy.linalg.solve_triangular(a, b, **options), rtol=1e-12
    )

    def of_matrix(t):
        return np.sum(td.linalg.solve_triangular(t, b, **options) ** 2)

    def of_right_side(t):
        return np.sum(td.linalg.solve_triangular(a, t, **options) ** 2)

    td.testing.check_gradient(td.compile(of_matrix, a), of_matrix, a)
    td.testing.check_gradient(td.compile(of_right_side, b), of_right_side, b)


@pytest.mark.parametrize("lower", [False, True])
def test_cho_solve_solves_with_a_cholesky_factor(lower):
    """The same numbers as SciPy's pair of functions."""
    matrix, b = LOWER @ LOWER.T, RNG.normal(size=4)
    expected = scipy.linalg.cho_solve(scipy.linalg.cho_factor(matrix, lower=lower), b)
    np.testing.assert_allclose(td.linalg.cho_solve(td.linalg.cho_factor(matrix, lower=lower), b), expected, rtol=1e-12)

    def f(t):
        return np.sum(td.linalg.cho_solve(td.linalg.cho_factor(t @ t.T + np.eye(4), lower=lower), b))

    td.testing.check_gradient(td.compile(f, LOWER), f, LOWER)


def test_a_singular_triangle_raises_as_scipy_does():
    """Uncompiled and compiled."""
    singular = np.diag([1.0, 0.0])
    tape = td.record(lambda a: td.linalg.solve_triangular(a, np.ones(2)).sum(), np.eye(2))
    for target in (tape, td.compile(tape)):
        with pytest.raises(np.linalg.LinAlgError):
            td.gradient(target, singular)
