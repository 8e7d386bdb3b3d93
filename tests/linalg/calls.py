"""Calls of scipy.linalg's names: a function of the module and of arrays, and the arrays. Vectors come in forms without signs."""

import numpy as np

RNG = np.random.default_rng(0)
A, B, VECTOR = RNG.normal(size=(4, 4)), RNG.normal(size=(4, 4)), RNG.normal(size=4)
TALL, WIDE, THREE = RNG.normal(size=(4, 2)), RNG.normal(size=(2, 4)), RNG.normal(size=(3, 4))
DEFINITE, TRIANGLE, STACK = A @ A.T + np.eye(4), np.triu(A) + 3 * np.eye(4), RNG.normal(size=(2, 3, 3))
# Of positive real parts, so that roots and logarithms are real.
NEAR_ONE = 0.3 * A + 2.0 * np.eye(4)
TRIDIAGONAL, BANDS = THREE + [[0.0], [4.0], [0.0]], A + [[0.0], [4.0], [0.0], [0.0]]
UPPER_BANDS, LOWER_BANDS = THREE + [[0.0], [0.0], [9.0]], THREE + [[9.0], [0.0], [0.0]]


def squares(result):
    """Vectors without their signs."""
    values, vectors = result
    return values, vectors * vectors


def spaces(vectors, count):
    """The projections on the first columns and on the rest."""
    first, rest = vectors[:, :count], vectors[:, count:]
    return first @ first.T, rest @ rest.T


def definite(x):
    return x @ x.T + np.eye(x.shape[0])


CALLS = {
    "block_diag": [(lambda m, x, y: m.block_diag(x, y, x[0]), A, TALL), (lambda m, x: m.block_diag(x, x[:, :1]), STACK)],
    "toeplitz": [(lambda m, x, y: m.toeplitz(x, y), VECTOR, THREE[0]), (lambda m, x: m.toeplitz(x), VECTOR)],
    "circulant": [(lambda m, x: m.circulant(x), VECTOR), (lambda m, x: m.circulant(x), TALL)],
    "hankel": [(lambda m, x, y: m.hankel(x, y), VECTOR, THREE[0]), (lambda m, x: m.hankel(x), VECTOR)],
    "companion": [(lambda m, x: m.companion(x), VECTOR)],
    "leslie": [(lambda m, x, y: m.leslie(x, y), VECTOR, VECTOR[:3])],
    "fiedler": [(lambda m, x: m.fiedler(x), VECTOR)],
    "convolution_matrix": [
        (lambda m, x, n=n, mode=mode: m.convolution_matrix(x, n, mode), VECTOR) for n in (3, 7) for mode in ("full", "same", "valid")
    ],
    "khatri_rao": [(lambda m, x, y: m.khatri_rao(x, y), A, THREE)],
    "diagsvd": [(lambda m, x: m.diagsvd(x, 4, 6), VECTOR), (lambda m, x: m.diagsvd(x, 6, 4), VECTOR)],
    "norm": [(lambda m, x: m.norm(x, 1), A), (lambda m, x: m.norm(x), A)],
    "issymmetric": [(lambda m, x: np.sum(x) * (m.issymmetric(x @ x.T) + 2 * m.issymmetric(x)), A)],
    "ishermitian": [(lambda m, x: np.sum(x) * m.ishermitian(x, atol=0.1), A)],
    "bandwidth": [(lambda m, x: np.sum(x) * (m.bandwidth(np.triu(x, 1))[1] + m.bandwidth(np.tril(x))[0]), A)],
    "solve": [
        (lambda m, x, y: m.solve(x, y), A, VECTOR), (lambda m, x, y: m.solve(x, y, transposed=True), A, TALL),
        (lambda m, x, y: m.solve(x, y), STACK, THREE[:, :2]), (lambda m, x, y: m.solve(x, y), STACK, VECTOR[:3]),
        (lambda m, x, y: m.solve(x, y, assume_a="sym", lower=True), A, TALL),
        (lambda m, x, y: m.solve(x, y, assume_a="pos", lower=True), DEFINITE + np.triu(A, 1), VECTOR),
        *((lambda m, x, y, kind=kind: m.solve(x, y, assume_a=kind), DEFINITE, TALL)
          for kind in ("sym", "pos", "gen", "her", "banded", "diagonal", "tridiagonal", "upper triangular", "lower triangular")),
    ],
    "inv": [(lambda m, x: m.inv(x), A), (lambda m, x: m.inv(x, assume_a="pos"), DEFINITE), (lambda m, x: m.inv(x, assume_a="upper triangular"), TRIANGLE)],
    "det": [(lambda m, x: m.det(x), A), (lambda m, x: m.det(x), STACK)],
    "pinv": [(lambda m, x: m.pinv(x), TALL), (lambda m, x: m.pinv(x, atol=0.1, return_rank=True), TALL)],
    "pinvh": [(lambda m, x: m.pinvh(x), DEFINITE)],
    "cholesky": [(lambda m, x: m.cholesky(x), DEFINITE), (lambda m, x: m.cholesky(x, lower=True), DEFINITE)],
    "cho_factor": [(lambda m, x: np.triu(m.cho_factor(x)[0]), DEFINITE)],
    "cho_solve": [(lambda m, x, y: m.cho_solve(m.cho_factor(x), y), DEFINITE, VECTOR)],
    "lstsq": [(lambda m, x, y: m.lstsq(x, y), TALL, VECTOR), (lambda m, x, y: m.lstsq(x, y)[0], WIDE, WIDE)],
    "solve_triangular": [
        (lambda m, x, y: m.solve_triangular(x, y, trans=1), TRIANGLE, VECTOR),
        (lambda m, x, y: m.solve_triangular(x + 3 * np.eye(3), y, lower=True), STACK, THREE[:, :2]),
    ],
    "lu": [
        *((lambda m, x: m.lu(x), x) for x in (A, TALL, WIDE, STACK)), (lambda m, x: m.lu(x, permute_l=True), TALL),
        (lambda m, x: m.lu(x, p_indices=True), TALL),
    ],
    "lu_factor": [(lambda m, x: m.lu_factor(x), A), (lambda m, x: m.lu_factor(x), WIDE)],
    "lu_solve": [(lambda m, x, y, t=t: m.lu_solve(m.lu_factor(x), y, trans=t), A, y) for t, y in ((0, VECTOR), (1, TALL))],
    "qr": [
        (lambda m, x: m.qr(x, mode="economic"), TALL), (lambda m, x: m.qr(x), THREE), (lambda m, x: m.qr(x, mode="r"), TALL),
        (lambda m, x: m.qr(x, pivoting=True, mode="economic"), A), (lambda m, x: (*spaces(m.qr(x)[0], 2), m.qr(x)[1]), TALL),
    ],
    "svd": [
        (lambda m, x: m.svd(x), A), (lambda m, x: m.svd(x, full_matrices=False), TALL), (lambda m, x: m.svd(x), THREE),
        (lambda m, x: (*spaces(m.svd(x)[0], 2), m.svd(x)[2] ** 2), TALL), (lambda m, x: m.svd(x, compute_uv=False), STACK),
    ],
    "svdvals": [(lambda m, x: m.svdvals(x), THREE)],
    "eigh": [
        (lambda m, x: squares(m.eigh(x)), DEFINITE), (lambda m, x: squares(m.eigh(x, lower=False)), A), (lambda m, x: squares(m.eigh(x)), STACK),
        (lambda m, x, y: squares(m.eigh(x, definite(y))), A, B),
    ],
    "eigvalsh": [(lambda m, x: m.eigvalsh(x), A), (lambda m, x, y: m.eigvalsh(x, definite(y), lower=False), A, B)],
    "eigh_tridiagonal": [(lambda m, x, y: squares(m.eigh_tridiagonal(x, y)), VECTOR, VECTOR[:3])],
    "eigvalsh_tridiagonal": [(lambda m, x, y: m.eigvalsh_tridiagonal(x, y), VECTOR, VECTOR[:3])],
    "eig_banded": [(lambda m, x: squares(m.eig_banded(x)), THREE)],
    "eigvals_banded": [(lambda m, x: m.eigvals_banded(x, lower=True), THREE)],
    "eig": [(lambda m, x: squares([np.real(part) for part in m.eig(definite(x))]), A)],
    "eigvals": [(lambda m, x: np.real(m.eigvals(definite(x))), A)],
    "solve_banded": [
        (lambda m, x, y: m.solve_banded((1, 1), x, y), TRIDIAGONAL, VECTOR), (lambda m, x, y: m.solve_banded((2, 1), x, y), BANDS, TALL),
    ],
    "solveh_banded": [
        (lambda m, x, y: m.solveh_banded(x, y), UPPER_BANDS, VECTOR), (lambda m, x, y: m.solveh_banded(x, y, lower=True), LOWER_BANDS, TALL),
    ],
    "cholesky_banded": [(lambda m, x: m.cholesky_banded(x), UPPER_BANDS), (lambda m, x: m.cholesky_banded(x, lower=True), LOWER_BANDS)],
    "cho_solve_banded": [
        (lambda m, x, y: m.cho_solve_banded((m.cholesky_banded(x), False), y), UPPER_BANDS, VECTOR),
        (lambda m, x, y: m.cho_solve_banded((m.cholesky_banded(x, lower=True), True), y), LOWER_BANDS, TALL),
    ],
    "solve_toeplitz": [(lambda m, x, y: m.solve_toeplitz(x, y), np.array([4.0, 1.0, 0.5, 0.2]), VECTOR)],
    "matmul_toeplitz": [(lambda m, x, y: m.matmul_toeplitz((x, 2 * x), y), VECTOR, TALL)],
    "solve_circulant": [(lambda m, x, y: m.solve_circulant(x, y), VECTOR, TALL)],
    "solve_sylvester": [(lambda m, x, y, z: m.solve_sylvester(x, y, z), A, np.array([[3.0, 0.5], [0.2, 4.0]]), TALL)],
    "solve_continuous_lyapunov": [(lambda m, x, y: m.solve_continuous_lyapunov(x, y), A, B)],
    "solve_lyapunov": [(lambda m, x, y: m.solve_lyapunov(x, y), A, B)],
    "solve_discrete_lyapunov": [(lambda m, x, y, how=how: m.solve_discrete_lyapunov(x, y, how), 0.3 * A, B) for how in (None, "bilinear")],
    "solve_continuous_are": [(lambda m, a, b, q, r: m.solve_continuous_are(a, b, q @ q.T, definite(r)), A, TALL, B, TALL[:2])],
    "solve_discrete_are": [(lambda m, a, b, q, r: m.solve_discrete_are(a, b, q @ q.T, definite(r)), A, TALL, B, TALL[:2])],
    "expm": [(lambda m, x: m.expm(x), 3.0 * A), (lambda m, x: m.expm(x), 0.1 * A), (lambda m, x: m.expm(x), STACK * np.array([0.1, 9.0])[:, None, None])],
    "expm_frechet": [(lambda m, x, y: m.expm_frechet(x, y), A, B)],
    **{name: [(lambda m, x, name=name: getattr(m, name)(x), A)] for name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm")},
    "sqrtm": [(lambda m, x: m.sqrtm(x), NEAR_ONE), (lambda m, x: m.sqrtm(x + 4.0 * np.eye(3)), STACK)],
    "logm": [(lambda m, x: m.logm(x), NEAR_ONE)],
    "fractional_matrix_power": [(lambda m, x: np.real(m.fractional_matrix_power(x, 0.3)), NEAR_ONE), (lambda m, x: m.fractional_matrix_power(x, 2), A)],
    "orth": [(lambda m, x: m.orth(x), TALL)],
    "null_space": [(lambda m, x: m.null_space(x) ** 2, THREE), (lambda m, x: m.null_space(x) @ m.null_space(x).T, WIDE)],
    "polar": [(lambda m, x, side=side: m.polar(x, side), x) for side in ("left", "right") for x in (A, TALL, THREE)],
    "orthogonal_procrustes": [(lambda m, x, y: m.orthogonal_procrustes(x, y), A, B)],
    "subspace_angles": [(lambda m, x, y: m.subspace_angles(x, y), TALL, A[:, :2])],
}  # fmt: skip
