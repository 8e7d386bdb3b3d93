"""Factorisations: LU, QR, singular values, and functions based on them."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from ..ir.instruction import FLOAT64, INT64, Operand, ValueType
from ..numpy_api.matrices import decompositions
from ..ops.matrices.linear_algebra import TRIANGULAR_SOLVE
from ..ops.matrices.stacks import turned
from .calls import array, computed, doubles, floats, given, like, refuse, scipys
from .functions import sqrtm
from .systems import solve, solve_triangular


def _order_of(pivots: np.ndarray, count: int) -> np.ndarray:
    """The order of the rows after swapping row k with row pivots[k], for each k in turn."""
    order = np.empty((*pivots.shape[:-1], count), np.int64)
    for index in np.ndindex(pivots.shape[:-1]):
        rows = list(range(count))
        for k, other in enumerate(pivots[index]):
            rows[k], rows[other] = rows[other], rows[k]
        order[index] = rows
    return order


def _factored(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """LAPACK's factors in one matrix, its pivots, and the order of the rows."""
    getrf = import_module("scipy.linalg.lapack").dgetrf
    packed, pivots = np.empty(a.shape), np.empty((*a.shape[:-2], min(a.shape[-2:])), np.int64)
    for index in np.ndindex(a.shape[:-2] if a.size else (0,)):  # LAPACK takes no matrices without rows
        packed[index], pivots[index], _ = getrf(a[index])
    return packed, pivots, _order_of(pivots, a.shape[-2])


def _factored_types(a: Operand) -> tuple[ValueType, ...]:
    *batch, m, n = np.shape(a)
    return like(a), ValueType((*batch, min(m, n)), INT64), ValueType((*batch, m), INT64)


def _order_type(pivots: Operand, count: int) -> ValueType:
    return ValueType((*np.shape(pivots)[:-1], count), INT64)


def _lu_parts(packed: Operand) -> tuple[Operand, Operand]:
    """L with ones on its diagonal, and U."""
    m, n = packed.shape[-2:]
    k = min(m, n)
    return np.tril(packed[..., :, :k], -1) + np.eye(m, k), np.triu(packed[..., :k, :])


def _lu_rule(z_bar: Operand, z: Operand, rows: Operand) -> tuple[Operand]:
    """For rows = L U. With x = L1^-1 d(rows1) U1^-1 of the first k rows and columns: dL1 = L1 below(x), dU1 = (x - below(x)) U1."""
    (m, n), (l, u) = z.shape[-2:], _lu_parts(z)
    k = min(m, n)
    l_bar, u_bar = np.tril(z_bar[..., :, :k], -1), np.triu(z_bar[..., :k, :])
    l1, l2, u1, u2 = l[..., :k, :], l[..., k:, :], u[..., :k], u[..., k:]
    below = turned(l1) @ l_bar[..., :k, :] - u_bar[..., k:] @ turned(u2)
    above = u_bar[..., :k] @ turned(u1) - turned(l2) @ l_bar[..., k:, :]
    middle = np.tril(below, -1) + np.triu(above)
    first = _divided_by(u1, TRIANGULAR_SOLVE(l1, middle, lower=True, transposed=True, unit=True))
    if m > n:
        return (np.concatenate([first, _divided_by(u1, l_bar[..., k:, :])], axis=-2),)
    if n > m:
        return (np.concatenate([first, TRIANGULAR_SOLVE(l1, u_bar[..., k:], lower=True, transposed=True, unit=True)], axis=-1),)
    return (first,)


def _divided_by(u: Operand, x: Operand) -> Operand:
    """x u^-T."""
    return turned(TRIANGULAR_SOLVE(u, turned(x), lower=False, transposed=False, unit=False))


def _lu(a: Operand) -> tuple[Operand, Operand, Operand]:
    a = doubles(a)
    if np.ndim(a) < 2:
        raise ValueError("The input array must be at least two-dimensional.")
    packed, pivots, order = computed(_factored, _factored_types, a)
    rows = np.take_along_axis(a, order[..., None], axis=-2)
    return given(packed, rows, rule=_lu_rule), pivots, order


@scipys
def lu(
    a: Operand, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> tuple[Operand, ...]:
    """P, L and U with a = P L U. The pivots may change without an error: between changes the factors are smooth."""
    packed, _, order = _lu(a)
    l, u = _lu_parts(packed)
    places = np.argsort(order, axis=-1)
    if permute_l:
        return np.take_along_axis(l, places[..., None], axis=-2), u
    return places if p_indices else (places[..., None] == np.arange(l.shape[-2])).astype(float), l, u


@scipys
def lu_factor(a: Operand, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Operand, Operand]:
    """Both factors in one matrix, and the pivots, for lu_solve."""
    packed, pivots, _ = _lu(a)
    return packed, pivots


@scipys
def lu_solve(
    lu_and_piv: tuple[Operand, Operand], b: Operand, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Operand:
    """Solve a x = b, or a^T x = b with trans=1, given lu_factor(a)."""
    packed, pivots = lu_and_piv
    packed, b = array(packed), array(b)
    n, is_vector = packed.shape[-1], np.ndim(b) == 1
    if np.shape(b)[0 if is_vector else -2] != n:
        raise ValueError(f"Shapes of lu {packed.shape} and b {np.shape(b)} are incompatible")
    order = computed(_order_of, _order_type, array(pivots), count=n)
    columns = b[:, None] if is_vector else b
    if trans:
        columns = solve_triangular(packed, solve_triangular(packed, columns, trans=1), trans=1, lower=True, unit_diagonal=True)
        columns = np.take_along_axis(columns, np.argsort(order, axis=-1)[..., None], axis=-2)
    else:
        columns = np.take_along_axis(columns, order[..., None], axis=-2)
        columns = solve_triangular(packed, solve_triangular(packed, columns, lower=True, unit_diagonal=True))
    return columns[..., 0] if is_vector else columns


def _columns(a: Operand) -> ValueType:
    return ValueType((*np.shape(a)[:-2], np.shape(a)[-1]), INT64)


def _column_order(a: np.ndarray) -> np.ndarray:
    return np.asarray(import_module("scipy.linalg").qr(a, mode="r", pivoting=True, check_finite=False)[1], np.int64)


@scipys
def qr(
    a: Operand, overwrite_a: bool = False, lwork: int | None = None, mode: str = "full", pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Operand, ...]:  # fmt: skip
    """Q and R, in SciPy's modes; with pivoting=True also the order of the columns."""
    if mode not in ("full", "qr", "r", "economic", "raw"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic', 'raw']")
    if mode == "raw":
        raise refuse("qr", "has no mode='raw' for tracked arrays", "use mode='economic'")
    (a,) = floats(a)
    order = computed(_column_order, _columns, a) if pivoting else None
    if order is not None:
        a = np.take_along_axis(a, order[..., None, :], axis=-1)
    if mode == "r":
        r: Operand = np.linalg.qr(a, mode="r")
        missing = a.shape[-2] - r.shape[-2]
        factors = (r if missing == 0 else np.concatenate([r, np.zeros((*a.shape[:-2], missing, a.shape[-1]))], axis=-2),)
    else:
        factors = tuple(np.linalg.qr(a, mode="reduced" if mode == "economic" else "complete"))
    return factors if order is None else (*factors, order)


@scipys
def svd(
    a: Operand, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False, check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Operand:  # fmt: skip
    """The left vectors, the singular values and the right vectors; or the values alone."""
    if lapack_driver != "gesdd":
        raise refuse("svd", f"has no lapack_driver={lapack_driver!r} for tracked arrays", "leave it out")
    result = decompositions.svd(array(a), full_matrices, compute_uv)
    return tuple(result) if compute_uv else result


@scipys
def svdvals(a: Operand, overwrite_a: bool = False, check_finite: bool = True) -> Operand:
    """The singular values alone."""
    return decompositions.svd(array(a), compute_uv=False)


def _count_above(s: Operand, rcond: Operand, shape: tuple[int, ...]) -> int:
    """The number of nonzero singular values; guarded, as it is the width of a result."""
    rcond = np.finfo(s.dtype).eps * max(shape) if rcond is None else rcond
    return int(np.count_nonzero(s > np.max(s, initial=0.0) * rcond))


@scipys
def orth(A: Operand, rcond: Operand = None) -> Operand:
    """Orthonormal vectors that span the columns. Their number is guarded."""
    u, s, _ = svd(A, full_matrices=False)
    return u[:, : _count_above(s, rcond, np.shape(A))]


@scipys
def null_space(
    A: Operand, rcond: Operand = None, *, overwrite_a: bool = False, check_finite: bool = True, lapack_driver: str = "gesdd"
) -> Operand:
    """An orthonormal basis of the null space. Its size is guarded; functions of the space have a derivative."""
    _, s, vh = svd(A, lapack_driver=lapack_driver)
    return turned(vh[_count_above(s, rcond, np.shape(A)) :])


def _same(z_bar: Operand, z: Operand, x: Operand) -> tuple[Operand]:
    return (z_bar,)


def with_value(value: Operand, x: Operand) -> Operand:
    """SciPy's value, with the derivative of x, which computes the same by other operations."""
    return given(value, x, rule=_same)


def _polar(a: np.ndarray, side: str) -> tuple[np.ndarray, np.ndarray]:
    return import_module("scipy.linalg").polar(a, side=side)


def _polar_types(a: Operand, side: str) -> tuple[ValueType, ValueType]:
    n = np.shape(a)[1 if side == "right" else 0]
    return like(a), ValueType((n, n), FLOAT64)


@scipys
def polar(a: Operand, side: str = "right") -> tuple[Operand, Operand]:
    """u and p with a = u p, or p u with side="left", of a matrix of full rank."""
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    a = doubles(a)
    if np.ndim(a) != 2:
        raise ValueError("`a` must be a 2-D array.")
    u, p = computed(_polar, _polar_types, a, side=side)
    if a.shape[0] >= a.shape[1]:
        direction = turned(solve(sqrtm(a.T @ a), a.T))
    else:
        direction = solve(sqrtm(a @ a.T), a)
    return with_value(u, direction), with_value(p, direction.T @ a if side == "right" else a @ direction.T)


@scipys
def orthogonal_procrustes(A: Operand, B: Operand, check_finite: bool = True) -> tuple[Operand, Operand]:
    """The orthogonal matrix that maps A nearest to B, and the sum of the singular values of A^T B."""
    a, b = doubles(A), doubles(B)
    if np.ndim(a) != 2 or np.shape(a) != np.shape(b):
        raise ValueError(f"the shapes of A and B differ ({np.shape(a)} vs {np.shape(b)})")
    product = b.T @ a
    return polar(product)[0].T, np.sum(svdvals(product))


@scipys
def subspace_angles(A: Operand, B: Operand) -> Operand:
    """The angles between the spaces that the columns span, the largest first."""
    a, b = orth(A), orth(B)
    if a.shape[0] != b.shape[0]:
        raise ValueError(f"A and B must have the same number of rows, got {a.shape[0]} and {b.shape[0]}")
    cosines = svdvals(a.T @ b)
    rest = b - a @ (a.T @ b) if a.shape[1] >= b.shape[1] else a - b @ (b.T @ a)
    sines = svdvals(rest)
    is_small = cosines * cosines >= 0.5
    from_sines = np.arcsin(np.clip(np.where(is_small, sines[::-1], 0.0), -1.0, 1.0))
    from_cosines = np.arccos(np.clip(np.where(is_small, 0.0, cosines), -1.0, 1.0))
    return np.where(is_small, from_sines, from_cosines)[::-1]
