"""numpy.linalg on tracked arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ...base.current_recording import failure_may_be_caught
from ...ir.instruction import FLOAT64, Operand
from ...ops.arrays.shape import broadcast
from ...ops.elementwise.arithmetic import CONVERT, ROOT
from ...ops.matrices.linear_algebra import (
    CHOLESKY,
    DET_SIGN,
    INVERSE,
    LOG_ABS_DET,
    LU_FACTOR,
    LU_SOLVE,
    regular_factors,
    where_regular,
)
from ...ops.matrices.spectral import DET, DET_3, EIGH
from ...ops.matrices.stacks import turned
from ..joining import as_value
from ..kinds import as_floats
from ..reducing import amax, axes_of


def matrices(a: Operand) -> Operand:
    a = as_floats(as_value(a))
    if np.ndim(a) < 2:
        raise np.linalg.LinAlgError(f"{np.ndim(a)}-dimensional array given. Array must be at least two-dimensional")
    return a


def square(a: Operand) -> Operand:
    a = matrices(a)
    if np.shape(a)[-2] != np.shape(a)[-1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return a


def cholesky(a: Operand, upper: bool = False) -> Operand:
    a = square(a)
    return turned(_factor(turned(a))) if upper else _factor(a)


def _factor(a: Operand) -> Operand:
    return CHOLESKY.checked(a) if CHOLESKY.checked and failure_may_be_caught() else CHOLESKY(a)


def _lu_solve(a: Operand, b: Operand) -> Operand:
    dtype = np.result_type(a.dtype, b.dtype)
    a, b = _as(FLOAT64, a), _as(FLOAT64, b)
    return _as(dtype, LU_SOLVE(*_regular_factors(a), b, transposed=False))


def _regular_factors(a: Operand) -> tuple[Operand, Operand]:
    lu = LU_FACTOR(a)
    return regular_factors(a, lu) if failure_may_be_caught() else (a, lu)


def _as(dtype: np.dtype, value: Operand) -> Operand:
    """Convert float32 matrices to float64: factors hold their pivots, in 64 bits, together with the numbers."""
    return value if value.dtype == dtype else CONVERT(value, dtype=dtype)


def solve(a: Operand, b: Operand) -> Operand:
    """Solve a x = b. A 1-d b is a vector, else it is a stack of matrices."""
    a, b = square(a), as_floats(as_value(b))
    n, is_vector = np.shape(a)[-1], np.ndim(b) == 1
    if np.ndim(a) == 2 and np.ndim(b) <= 2:
        return _lu_solve(a, b)
    columns = b[:, None] if is_vector else b
    if np.ndim(b) == 0 or np.shape(columns)[-2] != n:
        raise ValueError(f"solve: the sizes of the matrices, {n}, and of the right-hand sides {np.shape(b)} do not fit")
    if np.ndim(a) == 2:  # one factorisation for all right-hand sides
        flat = np.reshape(np.moveaxis(columns, -2, 0), (n, -1))
        shape = (n, *np.shape(columns)[:-2], np.shape(columns)[-1])
        return np.moveaxis(np.reshape(_lu_solve(a, flat), shape), 0, -2)
    batch = np.broadcast_shapes(np.shape(a)[:-2], np.shape(columns)[:-2])
    solved = _lu_solve(broadcast(a, (*batch, n, n)), broadcast(columns, (*batch, *np.shape(columns)[-2:])))
    return solved[..., 0] if is_vector else solved


def inv(a: Operand) -> Operand:
    a = square(a)
    doubles = _as(FLOAT64, a)
    return _as(a.dtype, INVERSE(*_regular_factors(doubles)))


class SlogdetResult(NamedTuple):
    """As numpy.linalg.slogdet returns it."""

    sign: Operand
    logabsdet: Operand


def slogdet(a: Operand) -> SlogdetResult:
    a = square(a)
    doubles = _as(FLOAT64, a)
    lu = LU_FACTOR(doubles)
    return SlogdetResult(_as(a.dtype, DET_SIGN(lu)), _as(a.dtype, _log_abs_det(doubles, lu)))


def _log_abs_det(a: Operand, lu: Operand) -> Operand:
    if not failure_may_be_caught():
        return LOG_ABS_DET(a, lu)
    # Its derivative raises an error for a singular matrix.
    regular = np.all(np.diagonal(lu[..., :-1, :], axis1=-2, axis2=-1) != 0.0, axis=-1)
    one = np.eye(a.shape[-1])
    return np.where(regular, LOG_ABS_DET(where_regular(regular, a, one), where_regular(regular, lu, LU_FACTOR(one))), -np.inf)


def det(a: Operand) -> Operand:
    """The determinant. Its derivative, even where it is zero, is the matrix of cofactors."""
    a = square(a)
    n = a.shape[-1]
    if n == 0:
        return np.ones(a.shape[:-2])
    if n == 1:
        return a[..., 0, 0]
    if n == 2:
        return a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0]
    doubles = _as(FLOAT64, a)
    return _as(a.dtype, DET_3(doubles) if n == 3 else DET(doubles, LU_FACTOR(doubles)))


class EighResult(NamedTuple):
    """As numpy.linalg.eigh returns it."""

    eigenvalues: Operand
    eigenvectors: Operand


def eigh(a: Operand, UPLO: str = "L") -> EighResult:
    """The derivative of the vectors of a repeated eigenvalue is NaN if the choice of vectors matters."""
    packed = _eigen(a, UPLO)
    return EighResult(packed[..., -1, :], turned(packed[..., :-1, :]))


def eigvalsh(a: Operand, UPLO: str = "L") -> Operand:
    return _eigen(a, UPLO)[..., -1, :]


def _eigen(a: Operand, triangle: str) -> Operand:
    a = square(a)
    if triangle.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return _spectrum(a, triangle.upper() == "L")


def _spectrum(a: Operand, lower: bool) -> Operand:
    return EIGH.checked(a, lower=lower) if EIGH.checked and failure_may_be_caught() else EIGH(a, lower=lower)


def norm(x: Operand, ord: float | str | None = None, axis: Operand = None, keepdims: bool = False) -> Operand:
    """All vector norms and the Frobenius norm; the derivative at 0 is 0."""
    x = as_floats(x)
    axes = axes_of(axis, x.ndim)
    is_frobenius = isinstance(ord, str) and ord in ("fro", "f")
    if ord is None and (axis is None or len(axes) in (1, 2)):
        return ROOT(np.sum(np.square(x), axis=axes, keepdims=keepdims))
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"Invalid norm order '{ord}' for vectors")
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if is_frobenius:
        return ROOT(np.sum(np.square(x), axis=axes, keepdims=keepdims))
    if ord in (1, -1, np.inf, -np.inf):
        # The order of the two axes tells which one counts the rows.
        rows, columns = axes if axis is None else normalize_axis_tuple(axis, x.ndim)
        summed, kept = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = np.sum(np.absolute(x), axis=summed, keepdims=True)
        first = None if x.shape[kept] else 0.0
        result = amax(sums, kept, True, first) if ord > 0 else np.min(sums, axis=kept, keepdims=True)
        return result if keepdims else np.squeeze(result, axis=axes)
    if ord in (2, -2, "nuc"):
        rows, columns = axes if axis is None else normalize_axis_tuple(axis, x.ndim)
        kept = [k for k in range(x.ndim) if k not in (rows, columns)]
        values = np.linalg.svdvals(np.transpose(x, (*kept, rows, columns)))
        if ord == 2 and values.shape[-1] == 0:
            result = np.zeros(values.shape[:-1])
        else:
            result = np.sum(values, axis=-1) if ord == "nuc" else values[..., 0 if ord == 2 else -1]
        return np.expand_dims(result, axes) if keepdims else result
    raise ValueError("Invalid norm order for matrices.")


def _vector_norm(x: Operand, ord: Operand, axes: tuple[int, ...], keepdims: bool) -> Operand:
    if ord == 2:
        return ROOT(np.sum(np.square(x), axis=axes, keepdims=keepdims))
    if ord == np.inf:
        return amax(np.absolute(x), axes, keepdims, None if x.shape[axes[0]] else 0.0)
    if ord == -np.inf:
        return np.min(np.absolute(x), axis=axes, keepdims=keepdims)
    if ord == 0:
        return np.sum((x != 0).astype(x.dtype), axis=axes, keepdims=keepdims)
    if ord == 1:
        return np.sum(np.absolute(x), axis=axes, keepdims=keepdims)
    total = np.sum(np.absolute(x) ** ord, axis=axes, keepdims=keepdims)
    at_zero = total == 0.0
    return np.where(at_zero, 0.0 if ord > 0 else np.inf, np.where(at_zero, 1.0, total) ** (1.0 / float(ord)))
