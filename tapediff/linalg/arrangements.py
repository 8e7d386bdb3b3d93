"""Structured matrices with tracked entries: each entry of the result is an entry of an argument, or zero."""

from __future__ import annotations

import numpy as np

from ..ir.instruction import Operand
from ..numpy_api.joining import as_value
from ..ops.elementwise.structure import STOP_GRADIENT
from .calls import array, scipys


@scipys
def block_diag(*arrs: Operand) -> Operand:
    """The block-diagonal matrix of the arguments; vectors are rows. Leading axes are a stack."""
    blocks = [np.atleast_2d(array(block)) for block in arrs]
    batch = np.broadcast_shapes(*(block.shape[:-2] for block in blocks))
    width = sum(block.shape[-1] for block in blocks)
    rows, start = [], 0
    for block in blocks:
        height, own = block.shape[-2:]
        before, after = np.zeros((*batch, height, start)), np.zeros((*batch, height, width - start - own))
        rows.append(np.concatenate([before, np.broadcast_to(block, (*batch, height, own)), after], axis=-1))
        start += own
    return np.concatenate(rows, axis=-2)


def _along_diagonals(values: Operand, positions: np.ndarray) -> Operand:
    return np.take(values, positions, axis=-1)


def _vector(values: Operand) -> Operand:
    return np.reshape(array(values), (-1,))


@scipys
def toeplitz(c: Operand, r: Operand = None) -> Operand:
    """Column c and row r, constant along diagonals; symmetric without r."""
    c = array(c)
    r = c if r is None else array(r)
    if np.ndim(c) < 2 and np.ndim(r) < 2:
        c, r = _vector(c), _vector(r)
    values = np.concatenate([np.flip(c, axis=-1), r[..., 1:]], axis=-1)
    n, m = c.shape[-1], r.shape[-1]
    return _along_diagonals(values, n - 1 - np.arange(n)[:, None] + np.arange(m))


@scipys
def circulant(c: Operand) -> Operand:
    """A matrix whose columns are the previous ones, rotated by one."""
    c = np.atleast_1d(array(c))
    n = c.shape[-1]
    return _along_diagonals(c, (np.arange(n)[:, None] - np.arange(n)) % max(n, 1))


@scipys
def hankel(c: Operand, r: Operand = None) -> Operand:
    """Column c and last row r, constant along antidiagonals; zeros without r."""
    c = _vector(c)
    r = np.zeros_like(c) if r is None else _vector(r)
    values = np.concatenate([c, r[..., 1:]], axis=-1)
    return _along_diagonals(values, np.arange(c.shape[-1])[:, None] + np.arange(r.shape[-1]))


@scipys
def companion(a: Operand) -> Operand:
    """The companion matrix of a polynomial, with its highest coefficient first."""
    a = np.atleast_1d(array(a))
    if a.shape[-1] < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    if np.any(a[..., 0] == 0.0):
        raise ValueError("The first coefficient(s) of `a` (i.e. elements of `a[..., 0]`) must not be zero.")
    n = a.shape[-1]
    below = np.broadcast_to(np.eye(n - 2, n - 1), (*a.shape[:-1], n - 2, n - 1))
    return np.concatenate([(-a[..., 1:] / a[..., :1])[..., None, :], below], axis=-2)


@scipys
def leslie(f: Operand, s: Operand) -> Operand:
    """Fertilities in the first row, survivals below the diagonal."""
    f, s = np.atleast_1d(array(f)), np.atleast_1d(array(s))
    n = f.shape[-1]
    if s.shape[-1] != n - 1:
        raise ValueError("Incorrect lengths for f and s. The length of s must be one less than the length of f.")
    if n < 2:
        raise ValueError("The length of f must be at least 2")
    survivals = s[..., :, None] * np.eye(n - 1)
    below = np.concatenate([survivals, np.zeros((*survivals.shape[:-1], 1))], axis=-1)
    return np.concatenate([f[..., None, :], below], axis=-2)


@scipys
def fiedler(a: Operand) -> Operand:
    """The matrix |a_i - a_j|."""
    a = np.atleast_1d(array(a))
    return np.abs(a[..., :, None] - a[..., None, :])


@scipys
def convolution_matrix(a: Operand, n: int, mode: str = "full") -> Operand:
    """The matrix of v -> numpy.convolve(a, v, mode) for vectors v of length n."""
    if n <= 0:
        raise ValueError("n must be a positive integer.")
    if mode not in ("full", "valid", "same"):
        raise ValueError("'mode' argument must be one of ('full', 'valid', 'same')")
    a = np.atleast_1d(array(a))
    size = a.shape[-1]
    if size == 0:
        raise ValueError("len(a) must be at least 1.")
    zeros = np.zeros((*a.shape[:-1], n - 1))
    values = np.concatenate([zeros, a, zeros], axis=-1)
    whole = _along_diagonals(values, n - 1 + np.arange(size + n - 1)[:, None] - np.arange(n))
    if mode == "full":
        return whole
    trim = min(n, size) - 1
    before, after = (trim // 2, trim - trim // 2) if mode == "same" else (trim, trim)
    return whole[..., before : whole.shape[-2] - after, :]


@scipys
def khatri_rao(a: Operand, b: Operand) -> Operand:
    """Kronecker products of corresponding columns."""
    a, b = array(a), array(b)
    if np.ndim(a) < 2 or np.ndim(b) < 2:
        raise ValueError("The both arrays should be 2-dimensional.")
    if a.shape[-1] != b.shape[-1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    products = a[..., :, None, :] * b[..., None, :, :]
    return np.reshape(products, (*products.shape[:-3], products.shape[-3] * products.shape[-2], products.shape[-1]))


@scipys
def diagsvd(s: Operand, M: int, N: int) -> Operand:
    """The matrix of singular values between the factors."""
    s = array(s)
    count = s.shape[-1]
    if count not in (M, N):
        raise ValueError("Length of s must be M or N.")
    whole = s[..., :, None] * np.eye(count)
    if count == M:
        return np.concatenate([whole, np.zeros((*s.shape[:-1], M, N - M))], axis=-1)
    return np.concatenate([whole, np.zeros((*s.shape[:-1], M - N, N))], axis=-2)


# The squares of numbers between its inverse and this, and their sums, are normal floats; other numbers are scaled.
_LARGE, _SCALE = 2.0**400, 2.0**600


@scipys
def norm(a: Operand, ord: Operand = None, axis: Operand = None, keepdims: bool = False, check_finite: bool = True) -> Operand:
    """numpy.linalg.norm, except for lengths of whole vectors, by BLAS, where no square over- or underflows."""
    a = as_value(a)
    if not (ord in (None, 2) and axis is None and not keepdims and a.ndim == 1 and a.size):
        return np.linalg.norm(a, ord, axis, keepdims)
    if a.dtype == np.float32:
        return norm(a.astype(np.float64)).astype(np.float32)
    # Powers of 2, so that normal vectors have NumPy's length to the bit.
    largest = STOP_GRADIENT(np.max(np.abs(a)))
    scale = np.where(largest > _LARGE, 1.0 / _SCALE, np.where(largest < 1.0 / _LARGE, _SCALE, 1.0))
    return np.linalg.norm(a * scale) / scale


@scipys
def issymmetric(a: Operand, atol: Operand = None, rtol: Operand = None) -> bool:
    """True if symmetric, as a guard; exact without tolerances."""
    a = array(a)
    if np.ndim(a) != 2 or a.shape[0] != a.shape[1]:
        return False
    if atol is None and rtol is None:
        return bool(np.all(a == a.T))
    return bool(np.allclose(a, a.T, atol=0.0 if atol is None else atol, rtol=0.0 if rtol is None else rtol))


@scipys
def ishermitian(a: Operand, atol: Operand = None, rtol: Operand = None) -> bool:
    """As issymmetric: tracked matrices are real."""
    return issymmetric(a, atol, rtol)


@scipys
def bandwidth(a: Operand) -> tuple[int, int]:
    """The distances of the outermost nonzero diagonals below and above the main one; both are guarded."""
    a = array(a)
    distance = np.arange(a.shape[-1]) - np.arange(a.shape[-2])[:, None]
    is_there = a != 0.0
    below = np.max(np.where(is_there, np.maximum(-distance, 0), 0))
    above = np.max(np.where(is_there, np.maximum(distance, 0), 0))
    return int(below), int(above)
