"""Determinants at singular matrices, and eigenvectors where they have no derivative."""

import numpy as np
import pytest

import tapediff as td

RNG = np.random.default_rng(31)


def with_singular_values(values):
    """A matrix with these, and with determinants of either sign of its orthogonal factors."""
    n = len(values)
    u, v = (np.linalg.qr(RNG.normal(size=(n, n)))[0] for _ in range(2))
    return (u * values) @ v


def by_minors(a):
    """The cofactors one by one."""
    n = len(a)
    minors = [[np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(n)] for i in range(n)]
    return np.array(minors) * (-1.0) ** np.add.outer(np.arange(n), np.arange(n))


@pytest.mark.parametrize("n", [2, 3, 4, 6])
@pytest.mark.parametrize("lost", [0, 1, 2])
def test_the_derivative_of_a_determinant_is_the_matrix_of_cofactors(n, lost):
    """Of full rank, with one singular value of zero, and with two, where it is zero; uncompiled and compiled."""
    compiled = td.compile(np.linalg.det, RNG.normal(size=(n, n)))
    for _ in range(6):
        a = with_singular_values(np.concatenate([RNG.uniform(0.5, 2.0, n - lost), np.zeros(lost)]))
        for target in (np.linalg.det, compiled):
            np.testing.assert_allclose(td.gradient(target, a), by_minors(a), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("n", [2, 4])
def test_the_hessian_of_a_determinant_is_its_gradients_difference(n):
    """Where the matrix can be inverted."""
    a = RNG.normal(size=(n, n))
    tape, step = td.record(lambda x: np.linalg.det(np.reshape(x, (n, n))), a.ravel()), 1e-5
    differences = [
        (td.gradient(tape, a.ravel() + e) - td.gradient(tape, a.ravel() - e)) / (2 * step)
        for e in step * np.eye(n * n)
    ]
    np.testing.assert_allclose(td.hessian(tape, a.ravel()), differences, rtol=1e-6, atol=1e-7)


def matrix_exponential(a):
    values, vectors = np.linalg.eigh(a)
    return np.sum((vectors * np.exp(values)) @ vectors.T * np.arange(9.0).reshape(3, 3))


@pytest.mark.parametrize("compiles", [False, True])
def test_vectors_of_distinct_eigenvalues_have_a_derivative_of_which_the_lower_triangle_counts(compiles):
    """As NumPy reads it; against central differences."""
    a = np.diag([1.0, 2.0, 4.0]) + 0.3 * RNG.normal(size=(3, 3))
    target = td.compile(matrix_exponential, a) if compiles else matrix_exponential
    td.testing.check_gradient(target, matrix_exponential, a)
    assert (np.triu(td.gradient(target, a), 1) == 0.0).all()


@pytest.mark.parametrize("compiles", [False, True])
@pytest.mark.parametrize("is_rounded", [False, True])
def test_vectors_of_a_repeated_eigenvalue_give_nan_and_never_a_wrong_number(compiles, is_rounded):
    """The derivative of the exponential exists there, but eigenvectors do not lead to it; also where rounding has parted the values."""
    a = np.eye(3)
    if is_rounded:
        q, _ = np.linalg.qr(RNG.normal(size=(3, 3)))
        a = q @ (np.array([[1.0], [1.0], [3.0]]) * q.T)
    target = td.compile(matrix_exponential, np.diag([1.0, 2.0, 3.0])) if compiles else matrix_exponential
    assert np.isnan(np.tril(td.gradient(target, a))).any()


def test_functions_of_repeated_eigenvalues_alone_have_their_derivative():
    """The sum of squares is that of the entries; of the lower triangle, those off the diagonal count twice."""
    a = np.diag([2.0, 2.0, 5.0])
    for target in (f := lambda x: np.sum(np.linalg.eigvalsh(x) ** 2), td.compile(f, a)):
        np.testing.assert_allclose(td.gradient(target, a), 2.0 * a, atol=1e-12)


def test_eigenvalues_of_what_is_not_a_number_raise():
    """As in NumPy, uncompiled and compiled; and a wrong triangle is refused as there."""
    compiled = td.compile(lambda x: np.linalg.eigvalsh(x).sum(), np.eye(3))
    for target in (lambda x: np.linalg.eigvalsh(x).sum(), compiled):
        with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
            td.gradient(target, np.full((3, 3), np.nan))
    with pytest.raises(ValueError, match="UPLO argument must be 'L' or 'U'"):
        td.gradient(lambda x: np.linalg.eigvalsh(x, UPLO="X").sum(), np.eye(3))


def test_a_function_may_catch_that_eigenvalues_do_not_converge():
    """Recorded at a matrix where they do: the tape notices where they do not."""

    def trace_or_none(x):
        try:
            return np.sum(np.linalg.eigh(x)[0])
        except np.linalg.LinAlgError:
            return -1.0 * np.sum(np.eye(3))

    safe = td.GuardedTape(trace_or_none)
    for _ in range(2):
        np.testing.assert_allclose(td.value_and_gradient(safe, np.diag([1.0, 2.0, 4.0]))[0], 7.0, rtol=1e-14)
        assert td.value_and_gradient(safe, np.full((3, 3), np.nan))[0] == -3.0


def matrices_of_order(n):
    """Symmetric matrices, one that is not, and ones with repeated eigenvalues, where bases of the vectors are arbitrary."""
    a, q = RNG.normal(size=(n, n)), np.linalg.qr(RNG.normal(size=(n, n)))[0]
    repeated = (q * np.where(np.arange(n) < n // 2, 1.0, 3.0)) @ q.T
    blocks = np.kron(np.eye(n), np.ones((2, 2)))[:n, :n]
    return [a + a.T, a @ a.T, a, np.round(a + a.T), repeated, np.eye(n), np.zeros((n, n)), np.ones((n, n)), blocks, 1e-200 * (a + a.T)]


@pytest.mark.parametrize("triangle", ["L", "U"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 12, 16, 25, 26, 31, 32, 33, 40])
def test_eigenvectors_have_the_signs_and_the_bases_that_numpy_gives_them(n, triangle):
    """By the kernel and by replay: the vectors themselves, as they were computed by the same routine on the same copy."""

    def both(x):
        values, vectors = np.linalg.eigh(x, UPLO=triangle)
        return np.concatenate([np.reshape(vectors, (-1,)), values])

    tape = td.record(both, np.eye(n) + np.ones((n, n)))
    compiled = td.compile(tape)
    for x in [m for _ in range(4) for m in matrices_of_order(n)]:
        for target in (tape, compiled):
            # The same operations in the same order; threads of a library may add in another one.
            np.testing.assert_allclose(target(x), both(x), rtol=1e-12, atol=1e-12 * np.abs(x).max(initial=1e-3))


@pytest.mark.parametrize("triangle", ["L", "U"])
def test_what_depends_on_the_sign_of_a_vector_has_the_gradient_of_the_function(triangle):
    """The first entry of every vector, which changes its sign with it; compiled and not, against central differences."""

    def first_entries(x):
        return np.sum(np.linalg.eigh(x, UPLO=triangle)[1][0] * np.arange(1.0, 5.0))

    compiled = td.compile(first_entries, np.diag(np.arange(4.0)))
    for _ in range(5):
        a = RNG.normal(size=(4, 4))
        for target in (first_entries, compiled):
            td.testing.check_gradient(target, first_entries, a)


def test_eigenvalues_of_stacks_of_stacks_have_second_derivatives():
    """The sum of their cubes is the trace of the matrix's cube."""
    a = np.diag([1.0, 2.0, 4.0]) + 0.1 * RNG.normal(size=(2, 2, 3, 3))
    v = RNG.normal(size=a.shape)
    found = td.hvp(lambda x: np.sum(np.real(np.linalg.eigvals(x)) ** 3), a, v)
    # Errors of vectors divided by gaps of 1.
    np.testing.assert_allclose(found, 3.0 * np.swapaxes(a @ v + v @ a, -1, -2), rtol=1e-9, atol=1e-9)
