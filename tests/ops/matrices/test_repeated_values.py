"""Second derivatives of functions of eigenvalues and singular values alone: right, or NaN where values are repeated."""

import numpy as np
import pytest
import scipy.linalg
from support.differences import differences

import tapediff as td
from tapediff.ops.matrices.repeated_values import slope_of_pair


def symmetric(x):
    return np.array([[x[0], x[1]], [x[1], x[0]]])


def hermitian(x):
    return np.array([[x[0], 1j * x[1]], [-1j * x[1], x[0]]])


def squares(values):
    return lambda x: np.sum(values(x) ** 2)


# 2 x0^2 + 2 x1^2, but for the pair.
SQUARES = {
    "eigvalsh": squares(lambda x: np.linalg.eigvalsh(symmetric(x))), "eigh": squares(lambda x: np.linalg.eigh(symmetric(x), UPLO="U")[0]),
    "hermitian": squares(lambda x: np.linalg.eigvalsh(hermitian(x))), "upper hermitian": squares(lambda x: np.linalg.eigh(hermitian(x), "U")[0]),
    "svdvals": squares(lambda x: np.linalg.svdvals(symmetric(x))), "svd": squares(lambda x: np.linalg.svd(symmetric(x))[1]),
    "symmetric svd": squares(lambda x: np.linalg.svd(symmetric(x), compute_uv=False, hermitian=True)),
    "complex svdvals": squares(lambda x: np.linalg.svdvals(hermitian(x))), "eigvals": squares(lambda x: np.real(np.linalg.eigvals(symmetric(x)))),
    "stack": squares(lambda x: np.linalg.eigvalsh(np.stack([symmetric(x), np.eye(2)]))[0]),
    "scipy eigvalsh": squares(lambda x: scipy.linalg.eigvalsh(symmetric(x))), "scipy svdvals": squares(lambda x: scipy.linalg.svdvals(symmetric(x))),
    "pair": squares(lambda x: scipy.linalg.eigh(symmetric(x), np.array([[2.0, 0.5], [0.5, 1.0 + 0.1 * x[1]]]), eigvals_only=True)),
    "tridiagonal": squares(lambda x: scipy.linalg.eigvalsh_tridiagonal(np.stack([x[0], x[0]]), x[1:])),
    "banded": squares(lambda x: scipy.linalg.eigvals_banded(np.array([[0.0, x[1]], [x[0], x[0]]]))),
}  # fmt: skip


@pytest.mark.parametrize("name", SQUARES)
def test_hessians_are_right_or_nan_where_values_are_repeated(name):
    """At multiples of the identity, at its mirror image, of which the singular values are one, and at zero; compiled and not."""
    f = SQUARES[name]
    compiled = td.compile(f, np.array([2.0, 1.0]))
    for x, is_apart in (([0.0, 1.0], "sv" not in name), ([1.0, 0.0], False), ([0.0, 0.0], False), ([2.0, 1.0], True)):
        x = np.array(x)
        for hessian in (td.hessian(f, x), compiled.hessian(x)):
            is_known = ~np.isnan(hessian)
            assert is_known.all() or not is_apart or name == "symmetric svd"
            # Differences of step 1e-4 keep seven digits of a polynomial.
            np.testing.assert_allclose(hessian[is_known], differences(lambda x: td.gradient(f, x), x, 1e-4)[is_known], rtol=1e-6, atol=1e-6)


def test_a_change_that_does_not_turn_repeated_vectors_into_each_other_has_its_derivative():
    """The nuclear norm is 2 sqrt((1 + a)^2 + b^2): rotations leave singular values equal."""
    f = lambda x: np.linalg.norm(np.array([[x[0] + 1.0, x[1]], [-x[1], x[0] + 1.0]]), "nuc")
    for target in (f, td.compile(f, np.ones(2))):
        np.testing.assert_allclose(td.hessian(target, np.zeros(2)), [[0.0, 0.0], [0.0, 2.0]], atol=1e-12)


def test_at_the_zero_matrix_a_change_along_the_diagonal_has_its_derivative():
    """Where all singular values are zero, so is what rounding may have made of them; their squares have the sum of the entries' squares."""
    f = lambda x: np.sum(np.linalg.svd(np.diag(x), compute_uv=False) ** 2)
    for target in (f, td.compile(f, np.array([1.0, 2.0]))):
        np.testing.assert_allclose(td.hessian(target, np.zeros(2)), 2.0 * np.eye(2), atol=1e-12)


RNG = np.random.default_rng(5)
GENERAL = {
    "tall": lambda x: np.linalg.svdvals(x[:12].reshape(4, 3)), "wide": lambda x: np.linalg.svdvals(x[:12].reshape(3, 4)),
    "square": lambda x: np.linalg.svdvals(x[:9].reshape(3, 3)), "eigenvalues": lambda x: np.linalg.eigvalsh(x[:9].reshape(3, 3)),
    "hermitian": lambda x: np.linalg.eigvalsh(x[:9].reshape(3, 3) + 1j * x[3:12].reshape(3, 3)),
    "general": lambda x: np.real(np.linalg.eigvals(np.diag([1.0, 3.0, 6.0]) + 0.3 * x[:9].reshape(3, 3))),
    "pair": lambda x: scipy.linalg.eigh(x[:9].reshape(3, 3), np.eye(3) * 4.0 + 0.3 * x[3:12].reshape(3, 3), eigvals_only=True),
}  # fmt: skip


@pytest.mark.parametrize("name", GENERAL)
def test_where_values_are_apart_the_derivatives_to_third_order_are_those_of_differences(name):
    """Of a function that is not symmetric in the values."""
    f = lambda x: np.sum(np.sin(values := GENERAL[name](x)) * np.arange(1.0, len(values) + 1.0))
    x, v = RNG.normal(size=12), RNG.normal(size=12)
    hessian = td.hessian(f, x)
    # Differences of step 1e-4 have an error of 1e-8 times the third derivatives.
    np.testing.assert_allclose(hessian, differences(lambda x: td.gradient(f, x), x, 1e-4), rtol=1e-5, atol=1e-5 * np.max(np.abs(hessian)))
    np.testing.assert_allclose(td.compile(f, x).hessian(x), hessian, rtol=1e-9, atol=1e-9 * np.max(np.abs(hessian)))
    curvature = lambda x: v @ td.hvp(f, x, v)
    third = td.gradient(curvature, x)
    slopes = np.array([(curvature(x + 1e-4 * e) - curvature(x - 1e-4 * e)) / 2e-4 for e in np.eye(12)])
    np.testing.assert_allclose(third, slopes, rtol=1e-4, atol=1e-4 * np.max(np.abs(third)))


@pytest.mark.parametrize("n", [2, 3, 8])
def test_a_change_that_turns_repeated_vectors_is_told_from_rounding(n):
    """By four rounding errors for each of n terms, of the largest entry: beyond them there is no derivative, below it is zero."""
    rounding = n * np.finfo(float).eps
    for size in (1.0, 1e-30, 1e30):
        within = np.zeros((n, n))
        within[0, 0], within[0, 1], within[1, 0] = size, 3.9 * rounding * size, -4.1 * rounding * size
        slopes = slope_of_pair(np.ones((n, n)), np.full((n, n), 0.0), np.ones((n, n), bool), within)
        assert np.array_equal(np.isnan(slopes), np.absolute(within) > 4.0 * rounding * size)
        assert not np.any(slopes[~np.isnan(slopes)])
    apart = slope_of_pair(np.full((n, n), 3.0), np.full((n, n), 2.0), np.zeros((n, n), bool), np.full((n, n), 5.0))
    assert np.array_equal(apart, np.full((n, n), 7.5))
