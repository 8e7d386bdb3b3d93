"""The decompositions for numba that LAPACK finds by iterating or by reflections: eigenvalues, singular values, QR.

Each takes its operands, its result and its sizes, and returns whether it failed, as matrix_routines.py has it.
"""

import numpy as np

from .linked_functions import (
    A,
    L,
    N,
    S,
    U,
    V,
    copy,
    dgeev,
    dgeqrf,
    dgesdd,
    dorgqr,
    dsyevd,
    fill,
    integer,
    letter,
    numpy_dgesdd,
    transpose,
    zheevd,
)
from .matrix_routines import gemm, sign_of
from .scalar_functions import inner


@inner
def eigh(a, scratch, out, n, lower):
    """The eigenvectors in rows, which LAPACK takes for columns, and the eigenvalues in a last one."""
    transpose(a, out, n, n)
    doubles, integers = 1 + 6 * n + 2 * n * n, 3 + 5 * n
    work, whole, info, order = np.empty(doubles), np.empty(integers, np.int64), integer(0), integer(n)
    dsyevd(
        letter(V).ctypes, letter(L if lower else U).ctypes, order.ctypes, out.ctypes, order.ctypes, out[n * n :].ctypes,
        work.ctypes, integer(doubles).ctypes, whole.ctypes, integer(integers).ctypes, info.ctypes,
    )  # fmt: skip
    return info[0] != 0


@inner
def hermitian_eigh(a, scratch, out, n, lower):
    """Pairs, by columns; the vectors in rows, and the eigenvalues after them."""
    copy(a, out, 2 * n * n)
    numbers, doubles, integers = 2 * n + n * n, 1 + 5 * n + 2 * n * n, 3 + 5 * n
    work, reals, whole = np.empty(2 * numbers), np.empty(doubles), np.empty(integers, np.int64)
    info, order = integer(0), integer(n)
    zheevd(
        letter(V).ctypes, letter(L if lower else U).ctypes, order.ctypes, out.ctypes, order.ctypes, out[2 * n * n :].ctypes,
        work.ctypes, integer(numbers).ctypes, reals.ctypes, integer(doubles).ctypes, whole.ctypes, integer(integers).ctypes, info.ctypes,
    )  # fmt: skip
    return info[0] != 0


@inner
def eigh_attempt(a, scratch, out, n, lower):
    failed = eigh(a, scratch, out, n, lower)
    fill(out, n * (n + 1), n, 0.0)
    out[n * (n + 1)] = 0.0 if failed else 1.0


@inner
def cofactors(a, lu, scratch, out, n):
    """By the singular values of the transpose, which LAPACK sees: the others' products in place of each.

    LAPACK may not come back from infinite numbers: the cofactors of a matrix with these are NaN.
    """
    for k in range(n * n):
        if not np.isfinite(a[k]):
            fill(out, 0, n * n, np.nan)
            return
    copied, values, left, right = np.empty(n * n), np.empty(n), np.empty(n * n), np.empty(n * n)
    copy(a, copied, n * n)
    doubles = 4 * n * n + 7 * n + 64
    work, whole, info, order = np.empty(doubles), np.empty(8 * n, np.int64), integer(0), integer(n)
    dgesdd(
        letter(A).ctypes, order.ctypes, order.ctypes, copied.ctypes, order.ctypes, values.ctypes, left.ctypes, order.ctypes,
        right.ctypes, order.ctypes, work.ctypes, integer(doubles).ctypes, whole.ctypes, info.ctypes,
    )  # fmt: skip
    sign = sign_of(left, n) * sign_of(right, n)
    for j in range(n):
        others = sign
        for k in range(n):
            if k != j:
                others *= values[k]
        for i in range(n):
            right[i * n + j] *= others
    gemm(right, left, out, n, n, n, 0, 0)


@inner
def svd(a, scratch, out, m, n):
    """The vectors of both sides and the values: u (m, k), s (k,), v^T (k, n)."""
    k = min(m, n)
    return singular_values(a, out, m, n, S, k, k)


@inner
def svd_full(a, scratch, out, m, n):
    """With all vectors of both sides."""
    return singular_values(a, out, m, n, A, m, n)


@inner
def singular_values(a, out, m, n, job, p, q):
    """With p vectors on the left and q on the right."""
    k = min(m, n)
    copied, left, right, info = np.empty(m * n), np.empty(m * p), np.empty(q * n), integer(0)
    transpose(a, copied, m, n)
    doubles = 4 * k * k + 7 * k + max(m, n) + 64 * (m + n + k)
    work, whole, rows, rank = np.empty(doubles), np.empty(8 * k, np.int64), integer(m), integer(q)
    numpy_dgesdd(
        letter(job).ctypes, rows.ctypes, integer(n).ctypes, copied.ctypes, rows.ctypes, out[m * p :].ctypes, left.ctypes, rows.ctypes,
        right.ctypes, rank.ctypes, work.ctypes, integer(doubles).ctypes, whole.ctypes, info.ctypes,
    )  # fmt: skip
    transpose(left, out, p, m)
    transpose(right, out[m * p + k :], n, q)
    return info[0] != 0


@inner
def qr(a, scratch, out, m, n):
    """q (m, k) and r (k, n)."""
    orthogonal_factors(a, out, m, n, min(m, n))


@inner
def qr_full(a, scratch, out, m, n):
    """q (m, m) and r (m, n), for more rows than columns."""
    orthogonal_factors(a, out, m, n, m)


@inner
def orthogonal_factors(a, out, m, n, p):
    """With p columns of q."""
    k, doubles = min(m, n), 64 * max(m, n)
    copied, tau, work, info = np.empty(m * max(n, p)), np.empty(k), np.empty(doubles), integer(0)
    transpose(a, copied, m, n)
    rows, rank, size = integer(m), integer(k), integer(doubles)
    dgeqrf(rows.ctypes, integer(n).ctypes, copied.ctypes, rows.ctypes, tau.ctypes, work.ctypes, size.ctypes, info.ctypes)
    for i in range(p):
        for j in range(n):
            out[m * p + i * n + j] = 0.0 if j < i else copied[j * m + i]
    dorgqr(
        rows.ctypes, integer(p).ctypes, rank.ctypes, copied.ctypes, rows.ctypes, tau.ctypes, work.ctypes, size.ctypes, info.ctypes
    )
    transpose(copied, out, p, m)


@inner
def eig(a, scratch, out, n):
    """Values, vectors in columns, and 1 where all are real."""
    copied, imaginary, columns, info = np.empty(n * n), np.empty(n), np.empty(n * n), integer(0)
    transpose(a, copied, n, n)
    doubles = 68 * n
    work, order, one = np.empty(doubles), integer(n), integer(1)
    dgeev(
        letter(N).ctypes, letter(V).ctypes, order.ctypes, copied.ctypes, order.ctypes, out.ctypes, imaginary.ctypes, work.ctypes,
        one.ctypes, columns.ctypes, order.ctypes, work.ctypes, integer(doubles).ctypes, info.ctypes,
    )  # fmt: skip
    transpose(columns, out[n:], n, n)
    real = 1.0
    for i in range(n):
        if imaginary[i] != 0.0:
            real = 0.0
    out[n + n * n] = real
    return info[0] != 0
