"""Linear systems: dense, triangular, banded and Toeplitz; least squares and inverses."""

from __future__ import annotations

import numpy as np

from ..base.current_recording import failure_may_be_caught
from ..ir.instruction import Operand, of_form
from ..numpy_api.matrices import decompositions, linear_algebra
from ..ops.arrays.shape import broadcast
from ..ops.matrices.factors import PINV, SVD, svd_parts
from ..ops.matrices.linear_algebra import TRIANGULAR_SOLVE, require_regular, where_regular
from ..ops.matrices.stacks import identities, turned
from .arrangements import circulant, toeplitz
from .calls import array, floats, refuse, scipys, square

_TRANSPOSED = {0: False, "N": False, 1: True, "T": True, 2: True, "C": True}


@of_form("solve")
@scipys
def solve_triangular(
    a: Operand, b: Operand, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Operand:  # fmt: skip
    """Solve a x = b for a triangular matrix.

    Args:
        a: shape (..., n, n); only one triangle is read.
        b: shape (n,) or (..., n, k).
        trans: 0 or "N" for a x = b, 1 or "T" for a^T x = b.
        lower: read the lower triangle instead of the upper one.
        unit_diagonal: take the diagonal to be ones without reading it.

    Returns:
        Array of the shape of b, and of the leading axes of both.

    Cost: n^2 k.
    """
    a, b = square(a), array(b)
    if not unit_diagonal and failure_may_be_caught():
        regular = require_regular(a, "singular matrix: resolution failed at diagonal")
        a = where_regular(regular, a, np.eye(a.shape[-1]))
    how = {"lower": bool(lower), "transposed": _TRANSPOSED[trans], "unit": bool(unit_diagonal)}
    if np.ndim(a) == 2 and np.ndim(b) <= 2:
        return TRIANGULAR_SOLVE(a, b, **how)
    columns = b[:, None] if np.ndim(b) == 1 else b
    batch = np.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
    solved = TRIANGULAR_SOLVE(broadcast(a, (*batch, *a.shape[-2:])), broadcast(columns, (*batch, *columns.shape[-2:])), **how)
    return solved[..., 0] if np.ndim(b) == 1 else solved


def from_triangle(a: Operand, lower: bool) -> Operand:
    """The symmetric matrix of one triangle; the other one is not read."""
    part = np.tril(a) if lower else np.triu(a)
    return part + turned(part) * (1.0 - np.eye(a.shape[-1]))


_STRUCTURES = {
    **{
        name: name
        for name in ("general", "symmetric", "positive definite", "diagonal", "tridiagonal", "upper triangular", "lower triangular")
    },
    None: "general", "gen": "general", "banded": "general", "sym": "symmetric", "her": "symmetric", "hermitian": "symmetric",
    "pos": "positive definite",
}  # fmt: skip


@of_form("solve")
@scipys
def solve(
    a: Operand, b: Operand, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False, check_finite: bool = True,
    assume_a: str | None = None, transposed: bool = False,
) -> Operand:  # fmt: skip
    """Solve a x = b, or a^T x = b. Entries that `assume_a` implies are not read; without it the matrix is general."""
    if assume_a not in _STRUCTURES:
        raise ValueError(f"{assume_a} is not a recognized matrix structure")
    a, b = square(a), array(b)
    structure = _STRUCTURES[assume_a]
    if structure in ("diagonal", "upper triangular", "lower triangular"):
        a = a * np.eye(a.shape[-1]) if structure == "diagonal" else a
        return solve_triangular(a, b, trans=int(transposed), lower=structure == "lower triangular")
    if structure == "positive definite":
        return cho_solve(cho_factor(a, lower), b)
    if structure == "symmetric":
        a = from_triangle(a, lower)
    if structure == "tridiagonal":
        places = np.arange(a.shape[-1])
        a = a * (np.abs(places[:, None] - places) <= 1)
    return linear_algebra.solve(turned(a) if transposed else a, b)


@of_form("matrix of a square one")
@scipys
def inv(a: Operand, overwrite_a: bool = False, check_finite: bool = True, *, assume_a: str | None = None, lower: bool = False) -> Operand:
    """The inverse; see `solve` for assume_a."""
    a = square(a)
    return linear_algebra.inv(a) if assume_a is None else solve(a, identities(a), lower=lower, assume_a=assume_a)


@of_form("number of a square matrix")
@scipys
def det(a: Operand, overwrite_a: bool = False, check_finite: bool = True) -> Operand:
    """The determinant; at a singular matrix its derivative is the matrix of cofactors."""
    return linear_algebra.det(square(a))


@of_form("matrix of a square one")
@scipys
def cholesky(a: Operand, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Operand:
    """The Cholesky factor of a positive definite matrix; reads one triangle: the upper one, unless lower=True."""
    return linear_algebra.cholesky(square(a), upper=not lower)


@of_form("matrix of a square one")
@scipys
def cho_factor(a: Operand, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Operand, bool]:
    """The factor for cho_solve; its other triangle is zero."""
    return linear_algebra.cholesky(square(a), upper=not lower), lower


@of_form("solve")
@scipys
def cho_solve(c_and_lower: tuple[Operand, bool], b: Operand, overwrite_b: bool = False, check_finite: bool = True) -> Operand:
    """Solve a x = b, given cho_factor(a)."""
    c, lower = c_and_lower
    half = solve_triangular(c, b, trans=0 if lower else 1, lower=lower)
    if np.ndim(b) == 1 and np.ndim(half) > 1:
        return solve_triangular(c, half[..., None], trans=1 if lower else 0, lower=lower)[..., 0]
    return solve_triangular(c, half, trans=1 if lower else 0, lower=lower)


def _is_large(s: Operand, atol: Operand, rtol: Operand, shape: tuple[int, ...]) -> Operand:
    """A mask of the nonzero singular values."""
    rtol = max(shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else rtol
    return s > (0.0 if atol is None else atol) + rtol * np.max(s, axis=-1, keepdims=True)


@scipys
def pinv(
    a: Operand, *, atol: Operand = None, rtol: Operand = None, return_rank: bool = False, check_finite: bool = True
) -> Operand:
    """The pseudoinverse. Its derivative holds for matrices of the same rank."""
    (a,) = floats(a)
    u, s, v = svd_parts(SVD(a), *a.shape[-2:])
    is_large = _is_large(s, atol, rtol, a.shape)
    inverse = np.where(is_large, 1.0 / np.where(is_large, s, 1.0), 0.0)
    value = PINV(np.matmul(turned(v), inverse[..., :, None] * turned(u)), a)
    return (value, np.count_nonzero(is_large, axis=-1)) if return_rank else value


@scipys
def pinvh(
    a: Operand, atol: Operand = None, rtol: Operand = None, lower: bool = True, return_rank: bool = False, check_finite: bool = True
) -> Operand:
    """The pseudoinverse of the symmetric matrix of one triangle."""
    return pinv(from_triangle(square(a), lower), atol=atol, rtol=rtol, return_rank=return_rank)


@scipys
def lstsq(
    a: Operand, b: Operand, cond: Operand = None, overwrite_a: bool = False, overwrite_b: bool = False, check_finite: bool = True,
    lapack_driver: str | None = None,
) -> tuple[Operand, Operand, int, Operand]:  # fmt: skip
    """Least squares by the pseudoinverse. The rank is guarded, as it decides if there are residuals."""
    a, b = floats(a, b)
    if np.ndim(a) != 2:
        raise ValueError("Input array a should be 2D")
    if a.shape[0] != b.shape[0]:
        raise ValueError(f"Shape mismatch: a and b should have the same number of rows ({a.shape[0]} != {b.shape[0]}).")
    x, residuals, rank, s = decompositions.lstsq(a, b, np.finfo(a.dtype).eps if cond is None else cond)
    return x, residuals[0] if np.ndim(b) == 1 and np.size(residuals) else residuals, rank, s


@scipys
def solve_toeplitz(c_or_cr: Operand, b: Operand, check_finite: bool = True) -> Operand:
    """Solve with the matrix of `toeplitz`. Cost: that of a dense solve."""
    return linear_algebra.solve(_toeplitz(c_or_cr), array(b))


@scipys
def matmul_toeplitz(c_or_cr: Operand, x: Operand, check_finite: bool = False, workers: int | None = None) -> Operand:
    """The product with the matrix of `toeplitz`. Cost: that of a dense product."""
    return np.matmul(_toeplitz(c_or_cr), array(x))


def _toeplitz(c_or_cr: Operand) -> Operand:
    return toeplitz(*c_or_cr) if isinstance(c_or_cr, tuple) else toeplitz(c_or_cr)


@scipys
def solve_circulant(
    c: Operand, b: Operand, singular: str = "raise", tol: Operand = None, caxis: int = -1, baxis: int = 0, outaxis: int = 0
) -> Operand:
    """Solve with the matrix of `circulant`. Cost: that of a dense solve."""
    if singular != "raise" or (caxis, baxis, outaxis) not in ((-1, 0, 0), (0, 0, 0)) or np.ndim(c) > 1:
        raise refuse("solve_circulant", "takes one vector c, and b by columns", "use solve(circulant(c), b)")
    return linear_algebra.solve(circulant(c), array(b))
