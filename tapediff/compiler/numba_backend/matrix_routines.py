"""The routines on whole arrays for numba: SciPy's BLAS and LAPACK by address, on flat row-major arrays, and searches for positions.

Each takes its operands, its result and its sizes, and returns whether it failed; see compiler.linalg.routine_table. Matrices are
row-major, and LAPACK sees their transposes.
"""

import ctypes
import math

import numpy as np
from numba.extending import get_cython_function_address
from numpy.fft import _pocketfft_umath as pocketfft  # pyright: ignore[reportAttributeAccessIssue] -- a compiled module without types

from ..jit.scipy_symbols import loop_of
from .scalar_functions import inner


def library(module, name, arguments):
    """A routine that SciPy's Cython modules export, to be called with so many addresses."""
    address = get_cython_function_address(f"scipy.linalg.cython_{module}", name)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(address)


def numpy_library(name, arguments):
    """A LAPACK routine of the build that numpy.linalg calls, so that eigenvectors have the same signs; SciPy's if it is not found."""
    found = ctypes.CDLL(np.linalg._umath_linalg.__file__)
    for pattern in ("scipy_{}_64_", "{}_64_", "scipy_{}_", "{}_"):
        routine = getattr(found, pattern.format(name), None)
        if routine is not None:
            address = ctypes.cast(routine, ctypes.c_void_p).value or 0
            return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(address)
    return library("lapack", name, arguments)


dgemm = library("blas", "dgemm", 13)
dtrsm = library("blas", "dtrsm", 11)
dpotrf = library("lapack", "dpotrf", 5)
dgetrf = library("lapack", "dgetrf", 6)
dgetrs = library("lapack", "dgetrs", 9)
dgesdd = library("lapack", "dgesdd", 14)
dsyevd = numpy_library("dsyevd", 11)


fft, ifft, rfft_n_even, rfft_n_odd, irfft = (
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(loop_of(getattr(pocketfft, name)))
    for name in ("fft", "ifft", "rfft_n_even", "rfft_n_odd", "irfft")
)
numpy_dgesdd = numpy_library("dgesdd", 14)
dgeqrf = numpy_library("dgeqrf", 8)
dorgqr = numpy_library("dorgqr", 9)
dgeev = numpy_library("dgeev", 14)
zheevd = numpy_library("zheevd", 13)


A, L, N, R, S, T, U, V = map(ord, "ALNRSTUV")


@inner
def letter(code):
    """A letter as Fortran wants it."""
    return np.full(1, code, np.uint8)


@inner
def integer(value):
    """An integer as Fortran wants it: of 32 bits, or of 64, as the low half comes first."""
    return np.full(1, value, np.int64)


# Assignments to slices take numba four seconds to compile.


@inner
def copy(source, target, count):
    for k in range(count):
        target[k] = source[k]


@inner
def fill(target, first, count, value):
    for k in range(first, first + count):
        target[k] = value


@inner
def transpose(source, target, rows, columns):
    for i in range(rows):
        for j in range(columns):
            target[j * rows + i] = source[i * columns + j]


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


# Iterations of LAPACK's


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
    """By the singular values of the transpose, which LAPACK sees: the others' products in place of each."""
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
    return info[0] != 0


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


# Fourier transforms


@inner
def fourier(x, out, kind, count, n_in, n_out, line_in, line_out, entry_in, entry_out, bits):
    factor, forward = np.full(1, bits, np.int64), np.full(1, kind == 0, np.uint8)
    arrays = np.array([x.ctypes.data, factor.ctypes.data, out.ctypes.data], np.int64)
    extents = np.array([count, n_in, n_out], np.int64)
    steps = np.array([8 * line_in, 0, 8 * line_out, 8 * entry_in, 8 * entry_out], np.int64)
    if kind == 0:
        fft(arrays.ctypes, extents.ctypes, steps.ctypes, forward.ctypes)
    elif kind == 1:
        ifft(arrays.ctypes, extents.ctypes, steps.ctypes, forward.ctypes)
    elif kind == 2:
        rfft_n_even(arrays.ctypes, extents.ctypes, steps.ctypes, forward.ctypes)
    elif kind == 3:
        rfft_n_odd(arrays.ctypes, extents.ctypes, steps.ctypes, forward.ctypes)
    else:
        irfft(arrays.ctypes, extents.ctypes, steps.ctypes, forward.ctypes)


# Positions


@inner
def argmax(x, out, before, extent, after):
    for b in range(before):
        for a in range(after):
            start, best = b * extent * after + a, 0
            for k in range(1, extent):
                top, value = x[start + best * after], x[start + k * after]
                if value > top or (value != value and top == top):
                    best = k
            out[b * after + a] = best


@inner
def argmin(x, out, before, extent, after):
    for b in range(before):
        for a in range(after):
            start, best = b * extent * after + a, 0
            for k in range(1, extent):
                least, value = x[start + best * after], x[start + k * after]
                if value < least or (value != value and least == least):
                    best = k
            out[b * after + a] = best


argmax_integers, argmin_integers = argmax, argmin


@inner
def argsort(x, scratch, out, before, extent, after, integers):
    """Stable, NaN last: by merging runs that are twice as long each time."""
    order, merged = np.empty(extent, np.int64), np.empty(extent, np.int64)
    for b in range(before):
        for a in range(after):
            start = b * extent * after + a
            for k in range(extent):
                order[k] = k
            length = 1
            while length < extent:
                for low in range(0, extent, 2 * length):
                    merge_runs(x, start, after, order, merged, low, min(low + length, extent), min(low + 2 * length, extent))
                order, merged = merged, order
                length *= 2
            for k in range(extent):
                out[start + k * after] = order[k]


@inner
def merge_runs(x, start, stride, order, merged, low, middle, high):
    """Merge order[low:middle] and order[middle:high], which are sorted."""
    left, right = low, middle
    for k in range(low, high):
        takes_right = left >= middle
        if left < middle and right < high:
            first, second = x[start + order[left] * stride], x[start + order[right] * stride]
            takes_right = second < first or (first != first and second == second)
        if takes_right:
            merged[k] = order[right]
            right += 1
        else:
            merged[k] = order[left]
            left += 1


@inner
def sparse_product(entries, x, columns, starts, out, rows, width, k):
    for r in range(rows):
        for j in range(k):
            total = 0.0
            for p in range(starts[r], starts[r + 1]):
                total += entries[p] * x[columns[p] * k + j]
            out[r * k + j] = total


@inner
def sparse_transposed(entries, y, columns, starts, out, rows, width, k):
    fill(out, 0, width * k, 0.0)
    for r in range(rows):
        for p in range(starts[r], starts[r + 1]):
            for j in range(k):
                out[columns[p] * k + j] += entries[p] * y[r * k + j]


@inner
def sparse_sampled(y, x, columns, starts, out, rows, width, k):
    for r in range(rows):
        for p in range(starts[r], starts[r + 1]):
            total = 0.0
            for j in range(k):
                total += y[r * k + j] * x[columns[p] * k + j]
            out[p] = total


@inner
def searchsorted(sorted_values, wanted, out, extent, count, right):
    for k in range(count):
        value = wanted[k]
        low, high = 0, extent
        while low < high:
            middle = (low + high) // 2
            other = sorted_values[middle]
            if right:
                goes_right = other <= value or value != value
            else:
                goes_right = other < value or (value != value and other == other)
            if goes_right:
                low = middle + 1
            else:
                high = middle
        out[k] = low
