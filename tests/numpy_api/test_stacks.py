"""numpy.linalg on stacks of matrices: failures, policies, signs, and shapes at the edge; compiled as uncompiled."""

import functools

import numpy as np
import pytest

import tapediff as td
from tapediff.testing import check_gradient

RNG = np.random.default_rng(71)
STACK = RNG.normal(size=(2, 3, 3))
DEFINITE = STACK @ np.swapaxes(STACK, 1, 2) + np.eye(3)


def all_factors(x):
    """Vectors and factors, whose signs are the routine's."""
    parts = (*np.linalg.svd(x, full_matrices=False), *np.linalg.qr(x))
    return np.concatenate([np.reshape(part, (-1,)) for part in parts])


@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (40, 40), (50, 7), (3, 20, 20), (2, 2, 4, 3)])
def test_factors_have_the_signs_that_numpy_gives_them(shape):
    """In kernels, of many matrices, also of low rank and with repeated values: the same routine on the same copy. The blocks that it
    works in may differ, so to rounding, where the vectors are determined."""
    compiled = td.compile(all_factors, RNG.normal(size=shape))
    for _ in range(20 if np.prod(shape) < 100 else 3):
        x = RNG.normal(size=shape)
        np.testing.assert_allclose(compiled(x), all_factors(x), rtol=1e-9, atol=1e-9)


FAILURES = {
    "cholesky": (np.linalg.cholesky, np.stack([np.eye(3), -np.eye(3)])),
    "solve": (lambda x: np.linalg.solve(x, np.ones(3)), np.stack([np.eye(3), np.ones((3, 3))])),
    "inv": (np.linalg.inv, np.stack([np.zeros((3, 3)), np.eye(3)])),
    "eigh": (lambda x: np.linalg.eigh(x)[0], np.stack([np.eye(3), np.full((3, 3), np.nan)])),
    "svd": (lambda x: np.linalg.svd(x)[1], np.stack([np.full((3, 3), np.nan), np.eye(3)])),
}


@pytest.mark.parametrize("name", FAILURES)
def test_one_bad_matrix_raises_what_numpy_raises(name):
    """Compiled and not; and where the function catches the error, what it does then."""
    f, bad = FAILURES[name]
    g = lambda x: np.sum(f(x) ** 2)

    def caught(x):
        try:
            return np.sum(f(x) ** 2)
        except np.linalg.LinAlgError:
            return np.sum(x[1, 0])

    compiled = td.compile(g, DEFINITE)
    for target in (g, compiled):
        with pytest.raises(np.linalg.LinAlgError):
            td.gradient(target, bad)
        assert np.isfinite(td.gradient(target, DEFINITE)).all()
    if name in ("cholesky", "solve", "inv"):
        guarded = td.GuardedTape(caught)
        check_gradient(guarded, caught, DEFINITE)
        np.testing.assert_array_equal(guarded.gradient(bad)[1, 0], 1.0)


def test_shapes_broadcast_as_numpys():
    """Leading axes of both sides, vectors for all matrices, one matrix for many sides; several leading axes."""
    x = RNG.normal(size=(2, 1, 3, 3)) + 3 * np.eye(3)
    sides = RNG.normal(size=(4, 3, 2))
    for f in (
        lambda x: np.linalg.solve(x, sides), lambda x: np.linalg.solve(x, sides[0, :, 0]), lambda x: np.linalg.solve(x[0, 0], sides),
        lambda x: np.linalg.slogdet(x)[1], lambda x: np.linalg.inv(x) @ sides, lambda x: np.linalg.pinv(x) @ sides,
        lambda x: np.linalg.norm(x, 2, axis=(-2, -1)), lambda x: np.linalg.cond(x), lambda x: np.linalg.matrix_power(x, -3),
    ):  # fmt: skip
        assert np.shape(td.record(f, x)(x)) == np.shape(f(x))
        weights = np.cos(np.arange(np.size(f(x)))).reshape(np.shape(f(x)))
        number = lambda x: np.sum(f(x) * weights)
        check_gradient(number, number, x)
    with pytest.raises(ValueError, match="do not fit"):
        td.record(lambda x: np.linalg.solve(x, np.ones((3, 2, 2))), x)
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        td.record(lambda x: np.linalg.inv(x[:, :, :2]), x)


@pytest.mark.parametrize("compiles", [False, True])
def test_no_matrices_give_no_results(compiles):
    """A leading axis of length 0."""
    def f(x):
        none = x[:0]
        parts = [np.linalg.cholesky(none), np.linalg.inv(none), np.linalg.det(none), np.linalg.eigvalsh(none), *np.linalg.svd(none)]
        return np.sum(x) + sum(np.sum(part) for part in parts)

    target = td.compile(f, DEFINITE) if compiles else f
    np.testing.assert_array_equal(td.gradient(target, DEFINITE), np.ones_like(DEFINITE))


@pytest.mark.parametrize("compiles", [False, True])
def test_functions_of_repeated_singular_values_alone_have_their_derivative(compiles):
    """Of a multiple of an orthogonal matrix: the nuclear norm has u v^T, the sum of squares twice the matrix."""
    q = 2.0 * np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    nuclear, squares = lambda x: np.linalg.norm(x, "nuc"), lambda x: np.sum(np.linalg.svdvals(x) ** 2)
    for f, wanted in ((nuclear, q / 2.0), (squares, 2.0 * q)):
        target = td.compile(f, RNG.normal(size=(3, 3))) if compiles else f
        np.testing.assert_allclose(td.gradient(target, q), wanted, atol=1e-12)  # rounding of the vectors


@pytest.mark.parametrize("compiles", [False, True])
def test_singular_values_of_a_matrix_of_low_rank_have_a_finite_derivative(compiles):
    """Of those that are not zero, that of their vectors; the pseudoinverse has that of matrices of the same rank."""
    a = np.outer([1.0, 2.0, 3.0], [1.0, -1.0, 0.5])
    target = td.compile(lambda x: np.linalg.norm(x, 2), np.eye(3)) if compiles else (lambda x: np.linalg.norm(x, 2))
    np.testing.assert_allclose(td.gradient(target, a), a / np.linalg.norm(a), atol=1e-12)
    same_rank = lambda v: np.sum(np.linalg.pinv(np.outer(v[:3], v[3:])) * np.arange(9.0).reshape(3, 3))
    check_gradient(td.compile(same_rank, np.ones(6)) if compiles else same_rank, same_rank, np.array([1.0, 2.0, 3.0, 1.0, -1.0, 0.5]))


@pytest.mark.parametrize("compiles", [False, True])
def test_vectors_of_repeated_singular_values_give_nan_and_never_a_wrong_number(compiles):
    """Where it matters which they are."""
    f = lambda x: np.sum(np.linalg.svd(x)[0][0] * np.arange(1.0, 4.0))
    target = td.compile(f, RNG.normal(size=(3, 3))) if compiles else f
    assert np.isnan(td.gradient(target, np.eye(3))).any()


@pytest.mark.parametrize("compiles", [False, True])
def test_vectors_that_complete_a_basis_have_the_derivative_of_their_space(compiles):
    """Of svd with full_matrices and qr with mode="complete"; NaN where it matters which vectors they are. One vector more is determined."""
    weights = np.cos(np.arange(25.0)).reshape(5, 5)
    projection = lambda vectors: np.sum(vectors @ vectors.T * weights[: vectors.shape[0], : vectors.shape[0]])
    x = RNG.normal(size=(5, 3))
    spaces = lambda x: projection(np.linalg.svd(x)[0][:, 3:]) + projection(np.linalg.svd(x.T)[2][3:].T) + projection(np.linalg.qr(x, mode="complete")[0][:, 3:])
    last = lambda x: np.sum(np.linalg.qr(x[:4], mode="complete")[0] * weights[:4, :4]) + np.sum(np.linalg.svd(x[:, :2].T[:, :3])[2] * weights[:3, :3])
    vectors = lambda x: np.sum(np.linalg.svd(x)[0] * weights)
    for f in (spaces, last):
        check_gradient(td.compile(f, np.cos(x)) if compiles else f, f, x)
    assert np.isnan(td.gradient(td.compile(vectors, x) if compiles else vectors, x)).all()
    assert not np.isnan(td.gradient(lambda x: np.sum(np.linalg.svd(x)[1]) + np.linalg.svd(x)[0][0, 0] ** 2, x)).any()


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (lambda x: np.linalg.qr(x, mode="raw")[0], "mode='raw'"),
        (lambda x: np.linalg.eigvals(np.array([[0.0, 1.0], [-1.0, 0.0]]) * x[0, 0]), "complex eigenvalues"),
    ],
)
def test_what_has_no_derivative_is_refused(f, what):
    with pytest.raises(td.UnsupportedFunction, match=what) as raised:
        td.record(lambda x: np.sum(f(x)), RNG.normal(size=(2, 3)))
    assert raised.value.fix.startswith("use ")


def test_eigenvalues_that_become_complex_fail_a_guard():
    """A compiled tape does not answer there."""
    f = lambda x: np.sum(np.real(np.linalg.eigvals(np.stack([np.stack([1.0, x[0]]), np.stack([x[1], 2.0])]))) ** 3)
    compiled = td.compile(f, np.array([0.5, 0.5]))
    check_gradient(compiled, f, np.array([0.25, 0.75]))
    with pytest.raises(td.GuardFailed):
        compiled(np.array([3.0, -3.0]))


@pytest.mark.parametrize("name", ["svd", "qr", "pinv", "cholesky", "inv", "eigh", "slogdet"])
def test_float32_gives_float32(name):
    """To the rounding of 32 bits, times the condition of the matrices."""
    x = DEFINITE.astype(np.float32)
    f = getattr(np.linalg, name)
    first = lambda result: result[-1] if isinstance(result, tuple) else result
    for target in (tape := td.record(lambda x: first(f(x)), x), td.compile(tape)):
        assert target(x).dtype == np.float32
        np.testing.assert_allclose(np.abs(target(x)), np.abs(first(f(x))), rtol=2e-4, atol=2e-4)


@functools.cache
def log_density(n):
    scales = np.arange(1.0, n + 1.0)

    def f(x):
        covariance = x[..., :, None] * x[..., None, :] + np.eye(n) * scales
        factor = np.linalg.cholesky(covariance)
        white = np.linalg.solve(factor, x[..., None])[..., 0]
        return -0.5 * np.sum(white**2) - np.sum(np.log(np.diagonal(factor, axis1=-2, axis2=-1)))

    return f


@pytest.mark.parametrize("n", [2, 8])
def test_many_small_densities_are_one_call(n):
    """Gradient and Hessian product of 50 normal densities at once: one routine call with a count, no loop of Python's."""
    x, f = RNG.normal(size=(50, n)), log_density(n)
    compiled = td.compile(f, x)
    check_gradient(compiled, f, x, rtol=1e-5)
    assert "cholesky_of_each_" in compiled.kernel(None).source
    v = RNG.normal(size=x.shape)
    np.testing.assert_allclose(td.hvp(compiled, x, v), td.hvp(td.record(f, x), x, v), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "f",
    [
        np.linalg.cholesky, np.linalg.inv, np.linalg.eigvalsh, np.linalg.svdvals, lambda x: np.linalg.eigh(x)[1], lambda x: np.linalg.qr(x)[1],
        lambda x: np.linalg.norm(x, 2), np.linalg.matrix_rank, lambda x: np.linalg.solve(x, np.zeros((0, 2))), np.linalg.det,
        lambda x: np.linalg.slogdet(x)[0], lambda x: np.linalg.lstsq(x, np.zeros(0))[0], np.linalg.eigvals, lambda x: np.linalg.eig(x)[1],
        lambda x: td.linalg.lu_factor(x)[0],
    ],
)  # fmt: skip
def test_matrices_without_rows_are_no_failure(f, capfd):
    """LAPACK is not called for them: it would write a complaint."""
    x = np.zeros((0, 0))
    try:
        expected = f(x)
    except ValueError:
        pytest.skip("this version of NumPy refuses them")
    for call in (td.record(f, x), td.compile(f, x)):
        np.testing.assert_array_equal(call(x), expected)
        assert td.jacobian(call, x).size == td.jacobian(lambda x: td.gradient(lambda y: np.sum(np.real(f(y))), x), x).size == 0
    assert capfd.readouterr() == ("", "")


def test_the_condition_of_zeros_is_infinite_and_of_no_matrices_empty():
    """As NumPy has it."""
    stack = np.stack([np.zeros((3, 3)), np.eye(3), np.full((3, 3), np.inf)])[:2]
    np.testing.assert_array_equal(td.compile(np.linalg.cond, stack)(stack), np.linalg.cond(stack))
    none = np.zeros((0, 3, 3))
    assert td.record(np.linalg.cond, none)(none).shape == (0,)


def test_a_loop_over_matrices_is_that_over_a_stack():
    """One routine call for all of them, with the same value and gradient."""
    stack = np.concatenate([DEFINITE] * 6)
    sides = RNG.normal(size=(12, 3))

    def looped(a, b):
        total = 0.0
        for k in range(12):
            total = total + np.sum(np.linalg.solve(a[k], b[k]) ** 2) + np.linalg.slogdet(a[k])[1] + np.sum(np.linalg.cholesky(a[k]))
        return total

    def stacked(a, b):
        return np.sum(np.linalg.solve(a, b[..., None]) ** 2) + np.sum(np.linalg.slogdet(a)[1]) + np.sum(np.linalg.cholesky(a))

    compiled = td.compile(looped, stack, sides)
    value, gradient = td.value_and_gradient(compiled, stack, sides)
    expected, slope = td.value_and_gradient(td.record(stacked, stack, sides), stack, sides)
    # Sums in another order.
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-12)
    assert "lu_factor_of_each_" in compiled.source
