"""The routines on matrices for numba that BLAS and LAPACK answer at once: products, Cholesky, triangles, and LU with what uses it.

Each takes its operands, its result and its sizes, and returns whether it failed; see compiler.linalg.routine_table. Matrices are
flat and row-major, and LAPACK sees their transposes.
"""

import math

import numpy as np

from .linked_functions import (
    L,
    N,
    R,
    T,
    U,
    copy,
    dgemm,
    dgetrf,
    dgetrs,
    dpotrf,
    dtrsm,
    fill,
    integer,
    letter,
    transpose,
)
from .scalar_functions import inner

# Products


@inner
def gemm(x, y, out, m, n, k, x_transposed, y_transposed):
    one, zero = np.full(1, 1.0), np.full(1, 0.0)
    of_y, of_x = integer(k if y_transposed else n), integer(m if x_transposed else k)
    dgemm(
        letter(T if y_transposed else N).ctypes, letter(T if x_transposed else N).ctypes, integer(n).ctypes, integer(m).ctypes,
        integer(k).ctypes, one.ctypes, y.ctypes, of_y.ctypes, x.ctypes, of_x.ctypes, zero.ctypes, out.ctypes, integer(n).ctypes,
    )  # fmt: skip


@inner
def strided(flat, rows, columns, s, t):
    """A copy of the matrix whose entry (i, j) is at i * s + j * t."""
    matrix = np.empty(rows * columns)
    for i in range(rows):
        for j in range(columns):
            matrix[i * columns + j] = flat[i * s + j * t]
    return matrix


@inner
def product(x, y, out, m, n, k, s, t, u, v):
    if m > 0 and n > 0:
        gemm(strided(x, m, k, s, t), strided(y, k, n, u, v), out, m, n, k, 0, 0)


# Cholesky


@inner
def potrf(a, out, n):
    copy(a, out, n * n)
    info, order = integer(0), integer(n)
    dpotrf(letter(U).ctypes, order.ctypes, out.ctypes, order.ctypes, info.ctypes)
    for i in range(n):
        fill(out, i * n + i + 1, n - i - 1, 0.0)
    return info[0] != 0


@inner
def potrf_attempt(a, out, n):
    """With a row more, which begins with 1 where it succeeded, with 0 else."""
    failed = potrf(a, out, n)
    fill(out, n * n, n, 0.0)
    out[n * n] = 0.0 if failed else 1.0


@inner
def cholesky(a, scratch, out, n):
    return potrf(a, out, n)


@inner
def cholesky_attempt(a, scratch, out, n):
    potrf_attempt(a, out, n)


@inner
def cholesky_pullback(z, z_bar, scratch, out, n):
    """Murray (2016), Differentiation of the Cholesky decomposition, arXiv:1602.07527, eq. 10."""
    below, inner, left = np.empty(n * n), np.empty(n * n), np.empty(n * n)
    for i in range(n):
        for j in range(n):
            below[i * n + j] = z_bar[i * n + j] if j <= i else 0.0
    gemm(z, below, inner, n, n, n, 1, 0)
    for i in range(n):
        for j in range(i):
            inner[j * n + i] = inner[i * n + j]
    trsm(z, inner, left, n, n, 1, 1, 0)
    transpose(left, inner, n, n)
    trsm(z, inner, out, n, n, 1, 1, 0)
    for i in range(n):
        out[i * n + i] *= 0.5
        fill(out, i * n + i + 1, n - i - 1, 0.0)


# Triangles


@inner
def zero_on_diagonal(a, n):
    for i in range(n):
        if a[i * n + i] == 0.0:
            return True
    return False


@inner
def trsm(a, b, out, n, k, lower, transposed, unit):
    copy(b, out, n * k)
    one, rows, columns = np.full(1, 1.0), integer(n), integer(k)
    dtrsm(
        letter(R).ctypes, letter(U if lower else L).ctypes, letter(T if transposed else N).ctypes,
        letter(U if unit else N).ctypes, columns.ctypes, rows.ctypes, one.ctypes, a.ctypes, rows.ctypes, out.ctypes,
        columns.ctypes,
    )  # fmt: skip
    return not unit and zero_on_diagonal(a, n)


@inner
def triangular_solve(a, b, out, n, k, lower, s, t, unit):
    """Of a triangle whose entry (i, j) is at i * s + j * t."""
    return trsm(strided(a, n, n, s, t), b, out, n, k, lower, 0, unit)


# LU: the factors are of the transpose, as LAPACK sees it; the pivots are kept as 32-bit integers in the last row.


@inner
def lu_factor(a, out, n):
    copy(a, out, n * n)
    fill(out, n * n, n, 0.0)
    order, info = integer(n), integer(0)
    dgetrf(order.ctypes, order.ctypes, out.ctypes, order.ctypes, out[n * n :].ctypes, info.ctypes)


@inner
def lu_solve(lu, b, scratch, out, n, k, transposed):
    columns = np.empty(n * k)
    transpose(b, columns, n, k)
    order, info = integer(n), integer(0)
    dgetrs(
        letter(N if transposed else T).ctypes, order.ctypes, integer(k).ctypes, lu.ctypes, order.ctypes, lu[n * n :].ctypes,
        columns.ctypes, order.ctypes, info.ctypes,
    )  # fmt: skip
    transpose(columns, out, k, n)
    return zero_on_diagonal(lu, n)


@inner
def lu_solve_columns(lu, b, out, n, k, transposed):
    return lu_solve(lu, b, out, out, n, k, transposed)


@inner
def getri(lu, scratch, out, n):
    return inverse(lu, out, n)


@inner
def inverse(lu, out, n):
    identity = np.zeros(n * n)
    for i in range(n):
        identity[i * n + i] = 1.0
    return lu_solve(lu, identity, identity, out, n, n, 0)


@inner
def det_sign(lu, out, n):
    pivots = lu[n * n : n * n + n].view(np.int32)
    value = 1.0
    for i in range(n):
        entry = lu[i * n + i]
        value *= 1.0 if entry > 0.0 else -1.0 if entry < 0.0 else entry
        if pivots[i] != i + 1:
            value = -value
    out[0] = value


@inner
def det(lu, out, n):
    """As a product of powers of two and numbers around 1, so that it cannot overflow on the way."""
    det_sign(lu, out, n)
    value, power = out[0], 0
    for i in range(n):
        mantissa, exponent = math.frexp(value * abs(lu[i * n + i]))
        value, power = mantissa, power + exponent
    out[0] = math.ldexp(value, power)


@inner
def sign_of(matrix, n):
    lu, sign = np.empty(n * n + n), np.empty(1)
    lu_factor(matrix, lu, n)
    det_sign(lu, sign, n)
    return sign[0]
