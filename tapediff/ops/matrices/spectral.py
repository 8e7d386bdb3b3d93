"""Eigenvalues of symmetric matrices and determinants, by LAPACK's iterative routines."""

from __future__ import annotations

import numpy as np

from ...ir.instruction import Operand, ValueType, is_tracked
from ..declaration.op import Op
from .linear_algebra import LU_FACTOR, LU_SOLVE, attempted, require
from .products import MATMUL
from .repeated_values import rounding_of, slope_of_pair, values_pullback
from .stacks import STACKED, for_each, over_stacks, turned

# Rows, and columns, after and before each of three.
_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])


def _eigh(x: Operand, lower: bool) -> Operand:
    values, vectors = np.linalg.eigh(x, "L" if lower else "U")
    return np.concatenate([vectors.T, values[None]])


def _values_matrix_rule(w_bar: Operand, w: Operand, value: Operand, x: Operand, z: Operand, bar: Operand, lower: bool) -> Operand:
    """Daleckii and Krein (1965): the divided differences of the gradient by the eigenvalues, in the basis of the vectors."""
    vectors, values, n = z[..., :-1, :], z[..., -1, :], x.shape[-1]
    within = MATMUL(MATMUL(vectors, 0.5 * (w_bar + turned(w_bar))), turned(vectors)) * (1.0 - np.eye(n))
    gap = values[..., None, :] - values[..., :, None]
    is_repeated = np.absolute(gap) <= rounding_of(values, x)
    middle = slope_of_pair(bar[..., None, :] - bar[..., :, None], gap, is_repeated, within)
    return _on_triangle(MATMUL(turned(vectors), MATMUL(middle, vectors)), lower)


def _values_bar_rule(w_bar: Operand, w: Operand, value: Operand, x: Operand, z: Operand, bar: Operand, lower: bool) -> Operand:
    vectors = z[..., :-1, :]
    return np.sum(MATMUL(vectors, w_bar) * vectors, axis=-1)


VALUES_PULLBACK = values_pullback(
    "values_pullback", _values_matrix_rule, _values_bar_rule,
    lambda rng: [
        (lambda a, b, t=lower: values_pulled_back(b, EIGH(a, lower=t), a, t), (_separated(rng, n), rng.normal(size=n)))
        for n in (1, 2, 4)
        for lower in (True, False)
    ],
    ("lower",),
)  # fmt: skip


def values_pulled_back(bar: Operand, z: Operand, x: Operand, lower: bool) -> Operand:
    """The cotangent of a symmetric matrix, given that of its eigenvalues; z is the result of EIGH."""
    vectors = z[..., :-1, :]
    return VALUES_PULLBACK(MATMUL(turned(vectors) * bar[..., None, :], vectors), x, z, bar, lower=lower)


def _on_triangle(x_bar: Operand, lower: bool) -> Operand:
    """The cotangent of the triangle that is read, given that of the symmetric matrix."""
    n = x_bar.shape[-1]
    triangle = np.tril(np.ones((n, n)))
    return x_bar * (2.0 * (triangle if lower else triangle.T) - np.eye(n))


def _eigh_rule(z_bar: Operand, z: Operand, x: Operand, lower: bool) -> Operand:
    """Giles (2008), section 3.1, for NumPy's function, which reads one triangle only.

    The vectors of a repeated eigenvalue (up to rounding) have no derivative: it is NaN if their cotangents rotate them into each
    other. Functions of the eigenvalues alone are not affected.
    """
    vectors, values, n = z[..., :-1, :], z[..., -1, :], x.shape[-1]
    inner = MATMUL(vectors, turned(z_bar[..., :-1, :]))
    gap = values[..., None, :] - values[..., :, None]
    is_repeated = np.absolute(gap) <= rounding_of(values, x)
    is_turned = ((inner != 0.0) | (turned(inner) != 0.0)) & ~np.eye(n, dtype=bool)
    quotient = 0.5 * (inner - turned(inner)) / np.where(is_repeated, 1.0, gap)
    quotient = np.where(is_repeated & is_turned, np.nan, quotient)
    x_bar = MATMUL(turned(vectors), MATMUL(quotient, vectors)) + values_pulled_back(z_bar[..., -1, :], z, x, lower)
    return _on_triangle(x_bar, lower)


def _separated(rng: np.random.Generator, n: int) -> np.ndarray:
    """A symmetric matrix with well separated eigenvalues, for the tests."""
    vectors, _ = np.linalg.qr(rng.normal(size=(n, n)))
    return (vectors * (np.arange(n) + rng.uniform(-0.3, 0.3, n))) @ vectors.T


def _checked_eigh(a: Operand, lower: bool) -> Operand:
    if not (is_tracked(a) and a.size):
        return EIGH(a, lower=lower)
    packed = EIGH_ATTEMPT(a, lower=lower)
    require(np.all(packed[..., -1, 0] != 0.0), "Eigenvalues did not converge")
    return packed[..., :-1, :]


EIGH = Op(
    "eigh",
    evaluate=over_stacks(_eigh, lambda x: (x[1] + 1, x[1])),
    # The eigenvectors as rows, and the eigenvalues as the last row.
    infer=lambda x, lower: ValueType((*x.shape[:-2], x.shape[-1] + 1, x.shape[-1]), x.dtype),
    vjp=(_eigh_rule,),
    params=("lower",),
    lower=lambda low, i: low.eigh(i),
    batching=STACKED,
    lapack=True,
    raises=True,
    checked=_checked_eigh,
    examples=lambda rng: [
        (lambda a, t=lower: EIGH(a, lower=t), (_separated(rng, n),)) for n in (1, 2, 5) for lower in (True, False)
    ]
    + [(lambda a: EIGH(a, lower=True), (np.stack([_separated(rng, 3) for _ in range(2)]),))],
)


EIGH_ATTEMPT = Op(
    "eigh_attempt",
    evaluate=attempted(_eigh, 1),
    infer=lambda x, lower: ValueType((*x.shape[:-2], x.shape[-1] + 2, x.shape[-1]), x.dtype),
    vjp=(lambda z_bar, z, x, lower: _eigh_rule(z_bar[..., :-1, :], z[..., :-1, :], x, lower),),
    params=("lower",),
    lower=lambda low, i: low.eigh(i),
    lapack=True,
    examples=lambda rng: [(lambda a: EIGH_ATTEMPT(a, lower=True), (_separated(rng, n),)) for n in (1, 2, 5)],
)


def cofactors(x: np.ndarray) -> np.ndarray:
    """The derivative of the determinant, even if that is zero: det(u v) u d v, where d has the products of the other singular values.

    NaN for a matrix that is not finite, as is its determinant.
    """
    is_finite = np.all(np.isfinite(x), axis=(-2, -1), keepdims=True)
    u, s, v = np.linalg.svd(np.where(is_finite, x, 0.0))
    others = [np.prod(np.delete(s, k, axis=-1), axis=-1) for k in range(s.shape[-1])]
    signs = np.sign(np.linalg.det(u) * np.linalg.det(v))
    return np.where(is_finite, signs[..., None, None] * ((u * np.stack(others, axis=-1)[..., None, :]) @ v), np.nan)


def _cofactor_rule(z_bar: Operand, z: Operand, x: Operand, lu: Operand) -> Operand:
    """For a regular matrix: d cof(x) = (tr(x^-1 dx) - cof(x) dx^T / det(x)) x^-T det(x)."""
    inner = for_each(np.sum(z_bar * z, axis=(-2, -1)), x) * np.eye(x.shape[-1]) - MATMUL(z, turned(z_bar))
    return turned(LU_SOLVE(x, lu, turned(inner), transposed=False))


COFACTORS = Op(
    "cofactors",
    evaluate=lambda x, lu: cofactors(x),
    infer=lambda x, lu: x,
    vjp=(_cofactor_rule, None),
    lower=lambda low, i: low.cofactors(i),
    batching=STACKED,
    lapack=True,
    examples=lambda rng: [
        (lambda a: COFACTORS(a, LU_FACTOR(a)), (rng.normal(size=shape),)) for shape in ((2, 2), (4, 4), (7, 7), (17, 17), (2, 4, 4))
    ],
)

DET = Op(
    "det",
    evaluate=lambda x, lu: np.linalg.det(x),
    infer=lambda x, lu: ValueType(x.shape[:-2], x.dtype),
    vjp=(lambda z_bar, z, x, lu: for_each(z_bar, x) * COFACTORS(x, lu), None),
    lower=lambda low, i: low.det(i),
    batching=STACKED,
    lapack=True,
    examples=lambda rng: [
        (lambda a: DET(a, LU_FACTOR(a)), (rng.normal(size=shape),)) for shape in ((2, 2), (4, 4), (5, 5), (19, 19), (2, 4, 4))
    ],
)


def _crossed(x: Operand, y: Operand) -> Operand:
    """Cross products of the next row of x with the one after it of y; for x = y, the rows of the cofactors."""
    after, before = x[..., _NEXT, :], y[..., _LAST, :]
    return after[..., _NEXT] * before[..., _LAST] - after[..., _LAST] * before[..., _NEXT]


COFACTORS_3 = Op(
    "cofactors_3",
    evaluate=lambda x: _crossed(x, x),
    infer=lambda x: x,
    # Cofactors are quadratic in the matrix, and the second derivative of the determinant is symmetric.
    vjp=(lambda z_bar, z, x: _crossed(z_bar, x) + _crossed(x, z_bar),),
    lower=lambda low, i: low.cofactors_3(i),
    batching=STACKED,
    examples=lambda rng: [(COFACTORS_3, (rng.normal(size=shape),)) for shape in ((3, 3), (2, 3, 3), (2, 5, 3, 3))],
)


# For 3 by 3: elimination with partial pivoting, as accurate as LAPACK; the sum of six products is inaccurate for small
# determinants. Its derivatives are those of the polynomial.
DET_3 = Op(
    "det_3",
    evaluate=np.linalg.det,
    infer=lambda x: ValueType(x.shape[:-2], x.dtype),
    vjp=(lambda z_bar, z, x: for_each(z_bar, x) * COFACTORS_3(x),),
    lower=lambda low, i: low.det_3(i),
    batching=STACKED,
    examples=lambda rng: [(DET_3, (rng.normal(size=shape),)) for shape in ((3, 3), (2, 3, 3), (2, 5, 3, 3))],
)

OPS = (EIGH, EIGH_ATTEMPT, VALUES_PULLBACK, COFACTORS, DET, COFACTORS_3, DET_3)
