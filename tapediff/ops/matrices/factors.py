"""Singular values, orthogonal factors, pseudoinverses, and eigenvalues of matrices that are not symmetric."""

from __future__ import annotations

import math

import numpy as np

from ...ir.instruction import Operand, ValueType
from ..arrays.shape import reshape
from ..declaration.op import Op
from .linear_algebra import LU_FACTOR, LU_SOLVE, TRIANGULAR_SOLVE
from .products import MATMUL
from .repeated_values import rounding_of, slope_of_pair, values_pullback
from .stacks import STACKED, for_each, over_stacks, turned


def _quotient(numerator: Operand, denominator: Operand, is_zero: Operand) -> Operand:
    """The quotient; for a denominator that is zero up to rounding, 0 if the numerator is zero, else NaN."""
    quotient = numerator / np.where(is_zero, 1.0, denominator)
    return np.where(is_zero, np.where(numerator != 0.0, np.nan, 0.0), quotient)


# Singular values: u (m, k), s (k,) and v^T (k, n), flattened into one row.


def _svd(x: Operand) -> Operand:
    return np.concatenate([np.ravel(part) for part in np.linalg.svd(x, full_matrices=False)])


def svd_parts(packed: Operand, m: int, n: int) -> tuple[Operand, Operand, Operand]:
    """u, s and v^T of each matrix."""
    k, batch = min(m, n), packed.shape[:-1]
    u = reshape(packed[..., : m * k], (*batch, m, k))
    return u, packed[..., m * k : m * k + k], reshape(packed[..., m * k + k :], (*batch, k, n))


def _values_matrix_rule(w_bar: Operand, w: Operand, value: Operand, x: Operand, z: Operand, bar: Operand) -> Operand:
    """Divided differences of the gradient by the singular values for the symmetric part of a change, divided sums for the other."""
    m, n = x.shape[-2:]
    u, s, v = svd_parts(z, m, n)
    rounding = rounding_of(s, x)
    columns, rows, off_diagonal = s[..., None, :], s[..., :, None], 1.0 - np.eye(s.shape[-1])
    columns_bar, rows_bar = bar[..., None, :], bar[..., :, None]
    within = MATMUL(MATMUL(turned(u), w_bar), turned(v))
    turning = slope_of_pair(
        columns_bar - rows_bar, columns - rows, np.absolute(columns - rows) <= rounding, 0.5 * (within + turned(within)) * off_diagonal
    )
    swapping = slope_of_pair(
        columns_bar + rows_bar, columns + rows, columns + rows <= rounding, 0.5 * (within - turned(within)) * off_diagonal
    )
    x_bar = MATMUL(u, MATMUL(turning + swapping, v))
    is_zero = columns <= rounding
    if m > n:
        beyond = MATMUL(w_bar, turned(v)) - MATMUL(u, within)
        x_bar = x_bar + MATMUL(slope_of_pair(columns_bar, columns, is_zero, beyond), v)
    if n > m:
        beyond = MATMUL(turned(w_bar), u) - MATMUL(turned(v), turned(within))
        x_bar = x_bar + MATMUL(u, turned(slope_of_pair(columns_bar, columns, is_zero, beyond)))
    return x_bar


def _values_bar_rule(w_bar: Operand, w: Operand, value: Operand, x: Operand, z: Operand, bar: Operand) -> Operand:
    u, _, v = svd_parts(z, *x.shape[-2:])
    return np.sum(MATMUL(turned(u), w_bar) * v, axis=-1)


def _pulled_back(bar: Operand, z: Operand, x: Operand) -> Operand:
    """The cotangent of a matrix, given that of its singular values."""
    u, _, v = svd_parts(z, *x.shape[-2:])
    return SINGULAR_VALUES_PULLBACK(MATMUL(u * bar[..., None, :], v), x, z, bar)


SINGULAR_VALUES_PULLBACK = values_pullback(
    "singular_values_pullback", _values_matrix_rule, _values_bar_rule,
    lambda rng: [
        (lambda a, b: _pulled_back(b, SVD(a), a), (_separated(rng, *shape), rng.normal(size=(*shape[:-2], min(shape[-2:])))))
        for shape in ((1, 1), (3, 3), (4, 2), (2, 5), (2, 3, 3))
    ],
)  # fmt: skip


def _svd_rule(z_bar: Operand, z: Operand, x: Operand) -> Operand:
    """Townsend (2016), Differentiating the singular value decomposition.

    Vectors of a repeated singular value have no derivative: it is NaN if their cotangents rotate them into each other.
    """
    m, n = x.shape[-2:]
    (u, s, v), (u_bar, s_bar, v_bar) = svd_parts(z, m, n), svd_parts(z_bar, m, n)
    rounding = rounding_of(s, x)
    columns, rows = s[..., None, :], s[..., :, None]
    in_u, in_v = MATMUL(turned(u), u_bar), MATMUL(v, turned(v_bar))
    turning = (in_u - turned(in_u)) * columns + rows * (in_v - turned(in_v))
    inner = _quotient(turning, (columns - rows) * (columns + rows), np.absolute(columns - rows) <= rounding)
    x_bar = MATMUL(u, MATMUL(inner, v)) + _pulled_back(s_bar, z, x)
    if m > n:
        beyond = _quotient(u_bar - MATMUL(u, in_u), columns, columns <= rounding)
        x_bar = x_bar + MATMUL(beyond, v)
    if n > m:
        beyond = _quotient(v_bar - MATMUL(turned(in_v), v), rows, rows <= rounding)
        x_bar = x_bar + MATMUL(u, beyond)
    return x_bar


def _separated(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """A matrix with well separated singular values, for the tests."""
    u, s, v = np.linalg.svd(rng.normal(size=shape), full_matrices=False)
    return (u * (s + np.arange(s.shape[-1])[::-1] + 0.5)[..., None, :]) @ v


def _turns_within(bar: Operand, vectors: Operand) -> Operand:
    """True if a cotangent rotates orthonormal vectors into each other, by more than rounding."""
    inner = MATMUL(turned(vectors), bar)
    turning = np.max(np.absolute(inner - turned(inner)), axis=(-2, -1), initial=0.0)
    return turning > 1e-9 * np.max(np.absolute(bar), axis=(-2, -1), initial=0.0)


def _of_first(bar: Operand, vectors: Operand, k: int) -> Operand:
    """The cotangent of the first k orthonormal vectors, given that of all, where the others complete a basis arbitrarily.

    The others rotate against the first ones. Among themselves they are not determined: NaN if the choice matters.
    """
    first, rest, rest_bar = vectors[..., :k], vectors[..., k:], bar[..., k:]
    if rest.shape[-1] == 0:
        return bar
    own = bar[..., :k] - MATMUL(rest, MATMUL(turned(rest_bar), first))
    return own if rest.shape[-1] == 1 else np.where(for_each(_turns_within(rest_bar, rest), own), np.nan, own)


def _svd_full(x: Operand) -> Operand:
    return np.concatenate([np.ravel(part) for part in np.linalg.svd(x)])


def full_svd_parts(packed: Operand, m: int, n: int) -> tuple[Operand, Operand, Operand]:
    """u, s and v^T of each matrix, both square."""
    k, batch = min(m, n), packed.shape[:-1]
    u = reshape(packed[..., : m * m], (*batch, m, m))
    return u, packed[..., m * m : m * m + k], reshape(packed[..., m * m + k :], (*batch, n, n))


def _flat(batch: tuple[int, ...], *parts: Operand) -> Operand:
    """Concatenate the matrices and vectors of each entry of a stack into one row."""
    return np.concatenate([reshape(part, (*batch, math.prod(part.shape[len(batch) :]))) for part in parts], axis=-1)


def _svd_full_rule(z_bar: Operand, z: Operand, x: Operand) -> Operand:
    m, n = x.shape[-2:]
    k = min(m, n)
    (u, s, v), (u_bar, s_bar, v_bar) = full_svd_parts(z, m, n), full_svd_parts(z_bar, m, n)
    batch = x.shape[:-2]
    bars = _flat(batch, _of_first(u_bar, u, k), s_bar, turned(_of_first(turned(v_bar), turned(v), k)))
    return _svd_rule(bars, _flat(batch, u[..., :k], s, v[..., :k, :]), x)


SVD_FULL = Op(
    "svd_full",
    evaluate=over_stacks(_svd_full, lambda x: (x[0] ** 2 + min(x) + x[1] ** 2,)),
    infer=lambda x: ValueType((*x.shape[:-2], x.shape[-2] ** 2 + min(x.shape[-2:]) + x.shape[-1] ** 2), x.dtype),
    vjp=(_svd_full_rule,),
    lower=lambda low, i: low.svd_full(i),
    batching=STACKED,
    lapack=True,
    raises=True,
    # One vector more than singular values: it is determined up to its sign.
    examples=lambda rng: [(SVD_FULL, (_separated(rng, *shape),)) for shape in ((3, 3), (4, 3), (1, 2), (2, 3, 4))],
)

SVD = Op(
    "svd",
    evaluate=over_stacks(_svd, lambda x: (min(x) * (sum(x) + 1),)),
    infer=lambda x: ValueType((*x.shape[:-2], min(x.shape[-2:]) * (sum(x.shape[-2:]) + 1)), x.dtype),
    vjp=(_svd_rule,),
    lower=lambda low, i: low.svd(i),
    batching=STACKED,
    lapack=True,
    raises=True,
    examples=lambda rng: [(SVD, (_separated(rng, *shape),)) for shape in ((1, 1), (3, 3), (4, 2), (2, 5), (2, 3, 4))],
)


# Orthogonal factors: q (m, k) and r (k, n), flattened into one row.


def _qr(x: Operand) -> Operand:
    return np.concatenate([np.ravel(part) for part in np.linalg.qr(x)])


def qr_parts(packed: Operand, m: int, n: int) -> tuple[Operand, Operand]:
    k, batch = min(m, n), packed.shape[:-1]
    return reshape(packed[..., : m * k], (*batch, m, k)), reshape(packed[..., m * k :], (*batch, k, n))


def _qr_rule(z_bar: Operand, z: Operand, x: Operand) -> Operand:
    """For the first k columns, Walter and Lehmann (2013), arXiv:1001.1654; the others are products with q^T."""
    m, n = x.shape[-2:]
    k = min(m, n)
    (q, r), (q_bar, r_bar) = qr_parts(z, m, n), qr_parts(z_bar, m, n)
    if n > m:
        q_bar = q_bar + MATMUL(x[..., k:], turned(r_bar[..., k:]))
    square, square_bar = r[..., :k], r_bar[..., :k] * np.triu(np.ones((k, k)))
    inner = MATMUL(square, turned(square_bar)) - MATMUL(turned(q_bar), q)
    below = inner * np.tril(np.ones((k, k)), -1)
    whole = q_bar + MATMUL(q, below + turned(below) + inner * np.eye(k))
    first = turned(TRIANGULAR_SOLVE(square, turned(whole), lower=False, transposed=False, unit=False))
    return first if n <= m else np.concatenate([first, MATMUL(q, r_bar[..., k:])], axis=-1)


def _qr_full(x: Operand) -> Operand:
    return np.concatenate([np.ravel(part) for part in np.linalg.qr(x, mode="complete")])


def full_qr_parts(packed: Operand, m: int, n: int) -> tuple[Operand, Operand]:
    """The square q and r of each matrix with more rows than columns."""
    batch = packed.shape[:-1]
    return reshape(packed[..., : m * m], (*batch, m, m)), reshape(packed[..., m * m :], (*batch, m, n))


def _qr_full_rule(z_bar: Operand, z: Operand, x: Operand) -> Operand:
    m, n = x.shape[-2:]
    (q, r), (q_bar, r_bar) = full_qr_parts(z, m, n), full_qr_parts(z_bar, m, n)
    batch = x.shape[:-2]
    bars = _flat(batch, _of_first(q_bar, q, n), r_bar[..., :n, :])
    return _qr_rule(bars, _flat(batch, q[..., :n], r[..., :n, :]), x)


QR_FULL = Op(
    "qr_full",
    evaluate=over_stacks(_qr_full, lambda x: (x[0] * sum(x),)),
    infer=lambda x: ValueType((*x.shape[:-2], x.shape[-2] * sum(x.shape[-2:])), x.dtype),
    vjp=(_qr_full_rule,),
    lower=lambda low, i: low.qr_full(i),
    batching=STACKED,
    lapack=True,
    examples=lambda rng: [(QR_FULL, (_separated(rng, *shape),)) for shape in ((2, 1), (4, 3), (2, 3, 2))],
)

QR = Op(
    "qr",
    evaluate=over_stacks(_qr, lambda x: (min(x) * sum(x),)),
    infer=lambda x: ValueType((*x.shape[:-2], min(x.shape[-2:]) * sum(x.shape[-2:])), x.dtype),
    vjp=(_qr_rule,),
    lower=lambda low, i: low.qr(i),
    batching=STACKED,
    lapack=True,
    examples=lambda rng: [(QR, (_separated(rng, *shape),)) for shape in ((1, 1), (3, 3), (4, 2), (2, 5), (2, 3, 4))],
)


def _pinv_rule(z_bar: Operand, z: Operand, value: Operand, a: Operand) -> Operand:
    """Golub and Pereyra (1973), SIAM J. Numer. Anal. 10(2), eq. 4.12; valid while the rank does not change."""
    m, n = a.shape[-2:]
    z_t, bar_t = turned(z), turned(z_bar)
    # No product is larger than the matrix: for 200 by 50, projections on 200 dimensions would take most of a gradient's time.
    if m >= n:
        inner = MATMUL(z, bar_t)
        outside = MATMUL(bar_t - MATMUL(a, inner), MATMUL(z, z_t))
        return outside + MATMUL(z_t, inner - MATMUL(inner, MATMUL(z, a)) - turned(inner))
    inner = MATMUL(bar_t, z)
    outside = MATMUL(MATMUL(z_t, z), bar_t - MATMUL(inner, a))
    return outside + MATMUL(inner - MATMUL(MATMUL(a, z), inner) - turned(inner), z_t)


# A pseudoinverse that was computed in any way, with its derivative in the matrix.
PINV = Op(
    "pinv",
    evaluate=lambda value, a: value,
    infer=lambda value, a: value,
    vjp=(None, _pinv_rule),
    lower=lambda low, i: low.reshape(i),
    batching=STACKED,
    lapack=True,
    examples=lambda rng: [
        (lambda a: PINV(pseudoinverse(a, 1e-15), a), (rng.normal(size=shape),)) for shape in ((3, 3), (4, 2), (2, 5), (2, 3, 4))
    ],
)


def pseudoinverse(a: Operand, rcond: Operand) -> Operand:
    u, s, v = svd_parts(SVD(a), *a.shape[-2:])
    is_large = s > rcond * np.max(s, axis=-1, keepdims=True)
    inverse = np.where(is_large, 1.0 / np.where(is_large, s, 1.0), 0.0)
    return MATMUL(turned(v), inverse[..., :, None] * turned(u))


# Eigenvalues (n,), vectors in columns (n, n), and 1 if all are real, else 0, flattened into one row.


def _eig(x: Operand) -> Operand:
    values, vectors = np.linalg.eig(x)
    if np.any(np.imag(values) != 0.0):
        return np.append(np.full(x.shape[0] * (x.shape[0] + 1), np.nan), 0.0)
    # From NumPy 2.5 on they have a complex dtype, even if all are real.
    return np.concatenate([np.real(values), np.real(vectors).ravel(), [1.0]])


def eig_parts(packed: Operand, n: int) -> tuple[Operand, Operand]:
    return packed[..., :n], reshape(packed[..., n : n + n * n], (*packed.shape[:-1], n, n))


def _eig_values_matrix_rule(w_bar: Operand, w: Operand, value: Operand, x: Operand, z: Operand, bar: Operand) -> Operand:
    values, vectors = eig_parts(z, x.shape[-1])
    factors = LU_FACTOR(vectors)
    within = LU_SOLVE(vectors, factors, MATMUL(w_bar, vectors), transposed=False) * (1.0 - np.eye(x.shape[-1]))
    gap = values[..., None, :] - values[..., :, None]
    is_repeated = np.absolute(gap) <= rounding_of(values, x)
    middle = slope_of_pair(bar[..., None, :] - bar[..., :, None], gap, is_repeated, within)
    return LU_SOLVE(vectors, factors, MATMUL(turned(middle), turned(vectors)), transposed=True)


def _eig_values_bar_rule(w_bar: Operand, w: Operand, value: Operand, x: Operand, z: Operand, bar: Operand) -> Operand:
    _, vectors = eig_parts(z, x.shape[-1])
    within = LU_SOLVE(vectors, LU_FACTOR(vectors), MATMUL(w_bar, vectors), transposed=False)
    return np.diagonal(within, axis1=-2, axis2=-1)


def _eig_pulled_back(bar: Operand, z: Operand, x: Operand) -> Operand:
    """The cotangent of a matrix, given that of its eigenvalues."""
    _, vectors = eig_parts(z, x.shape[-1])
    value = LU_SOLVE(vectors, LU_FACTOR(vectors), bar[..., :, None] * turned(vectors), transposed=True)
    return EIG_VALUES_PULLBACK(value, x, z, bar)


EIG_VALUES_PULLBACK = values_pullback(
    "eig_values_pullback", _eig_values_matrix_rule, _eig_values_bar_rule,
    lambda rng: [
        (lambda a, b: _eig_pulled_back(b, EIG(a), a), (_with_real_values(rng, *shape), rng.normal(size=shape[:-1])))
        for shape in ((1, 1), (3, 3), (2, 3, 3))
    ],
)  # fmt: skip


def _eig_rule(z_bar: Operand, z: Operand, x: Operand) -> Operand:
    """The rule for unit vectors. Vectors of a repeated eigenvalue have no derivative, as in `eigh`."""
    n = x.shape[-1]
    (values, vectors), (values_bar, vectors_bar) = eig_parts(z, n), eig_parts(z_bar, n)
    inner = MATMUL(turned(vectors), vectors_bar)
    own = np.diagonal(inner, axis1=-2, axis2=-1)
    turning = (inner - MATMUL(turned(vectors), vectors) * own[..., None, :]) * (1.0 - np.eye(n))
    gap = values[..., None, :] - values[..., :, None]
    middle = MATMUL(_quotient(turning, gap, np.absolute(gap) <= rounding_of(values, x)), turned(vectors))
    return LU_SOLVE(vectors, LU_FACTOR(vectors), middle, transposed=True) + _eig_pulled_back(values_bar, z, x)


def _with_real_values(rng: np.random.Generator, *shape: int) -> np.ndarray:
    n = shape[-1]
    vectors = np.eye(n) + 0.2 * rng.normal(size=shape)
    return vectors @ (np.arange(1.0, n + 1.0)[:, None] * np.linalg.inv(vectors))


EIG = Op(
    "eig",
    evaluate=over_stacks(_eig, lambda x: (x[1] * (x[1] + 1) + 1,)),
    infer=lambda x: ValueType((*x.shape[:-2], x.shape[-1] * (x.shape[-1] + 1) + 1), x.dtype),
    vjp=(_eig_rule,),
    lower=lambda low, i: low.eig(i),
    batching=STACKED,
    lapack=True,
    raises=True,
    examples=lambda rng: [(EIG, (_with_real_values(rng, *shape),)) for shape in ((1, 1), (3, 3), (2, 3, 3))],
)

OPS = (SVD, SVD_FULL, SINGULAR_VALUES_PULLBACK, QR, QR_FULL, PINV, EIG, EIG_VALUES_PULLBACK)
