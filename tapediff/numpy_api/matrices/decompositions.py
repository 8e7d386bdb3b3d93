"""numpy.linalg's decompositions of arbitrary matrices, and functions based on them: pseudoinverses, ranks, least squares."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...errors import UnsupportedFunction
from ...ir.instruction import Operand
from ...ops.matrices.factors import (
    EIG,
    PINV,
    QR,
    QR_FULL,
    SVD,
    SVD_FULL,
    eig_parts,
    full_qr_parts,
    full_svd_parts,
    pseudoinverse,
    qr_parts,
    svd_parts,
)
from ...ops.matrices.stacks import turned
from ..joining import as_value
from ..kinds import as_floats, converted
from .linear_algebra import eigh, eigvalsh, matrices, square


class SVDResult(NamedTuple):
    """As numpy.linalg.svd returns it."""

    U: Operand
    S: Operand
    Vh: Operand


def svd(a: Operand, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Operand:
    """The derivative of the vectors of a repeated singular value is NaN if the choice of vectors matters. So is that of the vectors
    beyond the shorter side with full_matrices=True, as only their span is determined."""
    a = matrices(a)
    if hermitian:
        return _symmetric_svd(a, compute_uv)
    m, n = a.shape[-2:]
    if compute_uv and full_matrices and m != n:
        if not m * n:
            return SVDResult(_identities(a, m), np.zeros((*a.shape[:-2], 0), a.dtype), _identities(a, n))
        return SVDResult(*full_svd_parts(SVD_FULL(a), m, n))
    result = SVDResult(*svd_parts(SVD(a), m, n))
    return result if compute_uv else result.S


def _identities(a: Operand, size: int) -> np.ndarray:
    """For each matrix of a stack; what matrices without entries are decomposed into."""
    return np.array(np.broadcast_to(np.eye(size, dtype=a.dtype), (*a.shape[:-2], size, size)))


def _symmetric_svd(a: Operand, compute_uv: bool) -> Operand:
    values, vectors = eigh(a)
    order = np.flip(np.argsort(np.absolute(values), axis=-1), axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    if not compute_uv:
        return np.absolute(ordered)
    u = np.take_along_axis(vectors, order[..., None, :], axis=-1)
    return SVDResult(u, np.absolute(ordered), turned(u * np.sign(ordered)[..., None, :]))


def svdvals(x: Operand, /) -> Operand:
    return svd(x, compute_uv=False)


class QRResult(NamedTuple):
    """As numpy.linalg.qr returns it."""

    Q: Operand
    R: Operand


def qr(a: Operand, mode: str = "reduced") -> Operand:
    """With mode="complete", only the span of the columns of q beyond those of a is determined: NaN if the choice of columns matters."""
    a = matrices(a)
    m, n = a.shape[-2:]
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    if mode == "raw":
        raise UnsupportedFunction(f"np.linalg.qr with mode={mode!r}", got=f"shape {a.shape}", fix="use mode='reduced'")
    if mode == "complete" and m > n == 0:
        return QRResult(_identities(a, m), a)
    if mode == "complete" and m > n:
        return QRResult(*full_qr_parts(QR_FULL(a), m, n))
    result = QRResult(*qr_parts(QR(a), m, n))
    return result.R if mode == "r" else result


def pinv(a: Operand, rcond: Operand = None, hermitian: bool = False, *, rtol: Operand = np._NoValue) -> Operand:
    """The derivative holds for changes that keep the rank."""
    a = matrices(a)
    if rcond is None:
        rcond = 1e-15 if rtol is np._NoValue else max(a.shape[-2:]) * np.finfo(a.dtype).eps if rtol is None else rtol
    if hermitian:  # NumPy reads the lower triangle alone
        a = square(a)
        below = a * np.tril(np.ones(a.shape[-2:]), -1)
        a = below + turned(below) + a * np.eye(a.shape[-1])
    if 0 in a.shape:
        return np.zeros_like(a, shape=(*a.shape[:-2], a.shape[-1], a.shape[-2]))
    rcond = np.asarray(rcond)[..., None]
    return PINV(pseudoinverse(a, rcond if rcond.shape != (1,) else float(rcond[0])), a)


def matrix_rank(A: Operand, tol: Operand = None, hermitian: bool = False, *, rtol: Operand = None) -> Operand:
    """An integer of the tape, which has no derivative."""
    a = as_floats(as_value(A))
    if np.ndim(a) < 2:
        return np.any(a != 0.0).astype(int)
    s = np.absolute(eigvalsh(a)) if hermitian else svdvals(a)
    if tol is not None:
        return np.count_nonzero(s > as_value(tol)[..., None], axis=-1)
    rtol = max(a.shape[-2:]) * np.finfo(a.dtype).eps if rtol is None else np.asarray(rtol)[..., None]
    return np.count_nonzero(s > np.max(s, axis=-1, keepdims=True, initial=0.0) * rtol, axis=-1)


def lstsq(a: Operand, b: Operand, rcond: float | None = None) -> tuple[Operand, Operand, int, Operand]:
    """Least squares by the pseudoinverse. The rank is guarded, as it decides if there are residuals."""
    a, b = as_floats(as_value(a)), as_floats(as_value(b))
    if np.ndim(a) != 2 or np.ndim(b) not in (1, 2):
        raise np.linalg.LinAlgError("lstsq takes one matrix, and a vector or matrix of right-hand sides")
    m, n = np.shape(a)
    if np.shape(b)[0] != m:
        raise np.linalg.LinAlgError("Incompatible dimensions")
    eps = np.finfo(np.result_type(a.dtype, b.dtype)).eps
    rcond = max(m, n) * eps if rcond is None else eps if rcond == -1 else rcond
    s = svd(a, compute_uv=False)
    rank = int(np.count_nonzero(s > rcond * s[:1]))
    x = pinv(a, rcond) @ b
    if rank != n or m <= n:
        return x, np.empty(0), rank, s
    residuals = np.sum(np.square(b - a @ x), axis=0)
    return x, np.atleast_1d(residuals), rank, s


@np.errstate(divide="ignore", invalid="ignore")
def cond(x: Operand, p: Operand = None) -> Operand:
    x = as_floats(as_value(x))
    if np.ndim(x) >= 2 and 0 in np.shape(x)[-2:]:
        raise np.linalg.LinAlgError("cond is not defined on empty arrays")
    if p in (None, 2, -2):
        s = svd(x, compute_uv=False)
        ratio = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
        # 0 / 0 comes from a matrix of zeros, whose condition is infinite in NumPy.
        return np.where(np.isnan(ratio) & ~np.any(np.isnan(x), axis=(-2, -1)), np.inf, ratio)
    square(x)
    return np.linalg.norm(x, p, axis=(-2, -1)) * np.linalg.norm(np.linalg.inv(x), p, axis=(-2, -1))


class EigResult(NamedTuple):
    """As numpy.linalg.eig returns it."""

    eigenvalues: Operand
    eigenvectors: Operand


def real_eig(a: Operand) -> EigResult:
    """Decompose matrices with real eigenvalues; a guard checks that they are real."""
    dtype = as_floats(as_value(a)).dtype
    a = square(a)
    if a.size == 0:
        return EigResult(np.sum(a, axis=-1), a)
    packed = EIG(a)
    if not np.all(packed[..., -1] == 1.0):
        raise UnsupportedFunction("np.linalg.eig of a matrix with complex eigenvalues", got=f"shape {a.shape}",
                                  fix="use np.linalg.eigh where the matrix is symmetric, or np.linalg.svd")  # fmt: skip
    return EigResult(*(converted(part, dtype) for part in eig_parts(packed, a.shape[-1])))


# Since NumPy 2.5 real eigenvalues are complex numbers, too.
_IS_COMPLEX = np.linalg.eigvals(np.ones((1, 1))).dtype.kind == "c"


def eig(a: Operand) -> EigResult:
    """The eigenvalues and vectors of real_eig, in NumPy's type."""
    found = real_eig(a)
    return EigResult(*(part + 0j for part in found)) if _IS_COMPLEX else found


def eigvals(a: Operand) -> Operand:
    return eig(a).eigenvalues


def roots(p: Operand) -> Operand:
    """Real roots of polynomials: the eigenvalues of the companion matrix. A guard checks which coefficients at the ends are zero."""
    p = as_floats(np.atleast_1d(as_value(p)))
    if np.ndim(p) != 1:
        raise ValueError("Input must be a rank-1 array.")
    first, end = 0, p.shape[0]
    while first < end and p[first] == 0.0:
        first += 1
    while end > first and p[end - 1] == 0.0:
        end -= 1
    zeros = np.zeros(0 if first == end else p.shape[0] - end)
    if end - first < 2:
        return zeros
    n = end - first - 1
    companion = np.concatenate([(-p[first + 1 : end] / p[first])[None, :], np.eye(n, dtype=p.dtype)[:-1]])
    return np.concatenate([real_eig(companion).eigenvalues, zeros.astype(p.dtype)])
