"""Calls of SciPy's LAPACK and BLAS by symbol, with Python equivalents. See compiler.linalg.routine_table.

Matrices are row-major; LAPACK sees their transposes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ..llvm.values import convert
from ..math.simd import Code, Value
from . import matrix_loops
from .matrix_loops import WITHIN

# The sizes of a routine in a call. Of leading blocks, some are values; the routine's own sizes are then the largest ones, and tell the
# layout of the matrices.
Counts: TypeAlias = Sequence[int | Value]


def size_text(count: int | Value) -> str:
    return count.ref if isinstance(count, Value) else str(count)


def order_texts(count: int | Value, n: int) -> tuple[str, str]:
    """The end of the name, and the sizes in the call, of a loop over the first `count` rows and columns of a matrix of order n."""
    return (WITHIN, f"i64 {count.ref}, i64 {n}") if isinstance(count, Value) else ("", f"i64 {count}")


def integer_of(code: Code, slots: list[str], count: int | Value, number: int) -> str:
    """The address of a size as a 32-bit integer."""
    if isinstance(count, int):
        return integer(code, count)
    slots.append(f"%count{number} = alloca i32")
    code.line(f"store i32 {convert('trunc', count, 'i32').ref}, ptr %count{number}")
    return f"ptr %count{number}"


def integer(code: Code, value: int) -> str:
    """The address of a constant 32-bit integer, since Fortran takes arguments by reference."""
    code.declare(f"@tapediff_int_{value} = private unnamed_addr constant i32 {value}")
    return f"ptr @tapediff_int_{value}"


def letter(code: Code, letter: str) -> str:
    code.declare(f"@tapediff_char_{letter} = private unnamed_addr constant i8 {ord(letter)}")
    return f"ptr @tapediff_char_{letter}"


def _number(code: Code, name: str, bits: str) -> str:
    code.declare(f"@tapediff_double_{name} = private unnamed_addr constant double {bits}")
    return f"ptr @tapediff_double_{name}"


def _one(code: Code) -> str:
    return _number(code, "one", "1.0")


def _zero(code: Code) -> str:
    return _number(code, "zero", "0.0")


def status_slot(slots: list[str], number: int) -> str:
    slots.append(f"%info{number} = alloca i32")
    return f"%info{number}"


def copy_doubles(code: Code, source: str, target: str, doubles: int | Value) -> None:
    code.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    code.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size_text(doubles * 8)}, i1 false)")


def failed(code: Code, info: str) -> str:
    loaded = code.emit(f"load i32, ptr {info}")
    return code.emit(f"icmp ne i32 {loaded}, 0")


# Matrix product


def gemm(code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int) -> None:
    m, n, k, x_transposed, y_transposed = sizes
    code.call_external("tapediff_blas_dgemm", [
        letter(code, "T" if y_transposed else "N"), letter(code, "T" if x_transposed else "N"),
        integer(code, n), integer(code, m), integer(code, k), _one(code),
        f"ptr {operands[1]}", integer(code, k if y_transposed else n),
        f"ptr {operands[0]}", integer(code, m if x_transposed else k), _zero(code), f"ptr {result}", integer(code, n),
    ])  # fmt: skip


def gemm_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
    m, n, k, x_transposed, y_transposed = sizes
    x = operands[0][: m * k].reshape((k, m) if x_transposed else (m, k))
    y = operands[1][: k * n].reshape((n, k) if y_transposed else (k, n))
    result[:] = ((x.T if x_transposed else x) @ (y.T if y_transposed else y)).ravel()


# Cholesky

def cholesky(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int, counts: Counts = ()
) -> str:
    (n,), (count,) = sizes, counts or sizes
    copy_doubles(code, operands[0], result, count * n)
    info, rows = status_slot(slots, number), integer(code, n)
    order = integer_of(code, slots, count, number)
    code.call_external("tapediff_lapack_dpotrf", [letter(code, "U"), order, f"ptr {result}", rows, f"ptr {info}"])
    code.declare_all(matrix_loops.zero_upper(within=isinstance(count, Value)))
    suffix, orders = order_texts(count, n)
    code.line(f"call void @tapediff_zero_upper{suffix}(ptr {result}, {orders})")
    return failed(code, info)


def cholesky_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> bool:
    (n,) = sizes
    try:
        result[:] = np.linalg.cholesky(operands[0][: n * n].reshape(n, n)).ravel()
    except np.linalg.LinAlgError:
        return True
    return False


# Triangular solve

def _zero_on_diagonal(code: Code, matrix: str, n: int, count: int | Value) -> str:
    code.declare_all(matrix_loops.zero_on_diagonal(within=isinstance(count, Value)))
    suffix, order = order_texts(count, n)
    return code.emit(f"call i1 @tapediff_zero_on_diagonal{suffix}(ptr {matrix}, {order})")


def triangular_solve(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int
) -> str | None:
    n, k, lower, transposed, unit = sizes
    copy_doubles(code, operands[1], result, n * k)
    code.call_external("tapediff_blas_dtrsm", [
        letter(code, "R"), letter(code, "U" if lower else "L"), letter(code, "T" if transposed else "N"),
        letter(code, "U" if unit else "N"), integer(code, k), integer(code, n), _one(code),
        f"ptr {operands[0]}", integer(code, n), f"ptr {result}", integer(code, k),
    ])  # fmt: skip
    return None if unit else _zero_on_diagonal(code, operands[0], n, n)


def triangular_solve_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> bool:
    from scipy.linalg import solve_triangular

    n, k, lower, transposed, unit = sizes
    a, b = operands[0][: n * n].reshape(n, n), operands[1][: n * k].reshape(n, k)
    if not unit and (np.diagonal(a) == 0.0).any():
        return True
    result[:] = solve_triangular(
        a, b, trans=transposed, lower=bool(lower), unit_diagonal=bool(unit), check_finite=False
    ).ravel()
    return False


# LU: LAPACK sees the transpose, so the factors are of that; the pivots are 32-bit integers in the last row.


def lu_factor(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int, counts: Counts = ()
) -> None:
    (n,), (count,) = sizes, counts or sizes
    copy_doubles(code, operands[0], result, count * n)
    pivots = code.emit(f"getelementptr double, ptr {result}, i64 {n * n}")
    info, rows = status_slot(slots, number), integer(code, n)
    order = integer_of(code, slots, count, number)
    code.call_external("tapediff_lapack_dgetrf", [order, order, f"ptr {result}", rows, f"ptr {pivots}", f"ptr {info}"])


def lu_factor_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
    from scipy.linalg.lapack import get_lapack_funcs

    (n,) = sizes
    matrix = operands[0][: n * n].reshape(n, n)
    (getrf,) = get_lapack_funcs(("getrf",), (matrix,))
    factors, pivots, _ = getrf(matrix.T)
    result[: n * n] = factors.T.ravel()
    result[n * n :] = 0.0
    result[n * n :].view(np.int32)[:n] = pivots + 1


def lu_solve(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int, counts: Counts = ()
) -> str:
    """Solve for columns; of leading blocks, for one."""
    n, k, transposed = sizes
    count = counts[0] if counts else n
    lu, b, scratch = operands
    pivots = code.emit(f"getelementptr double, ptr {lu}, i64 {n * n}")
    work = result if k == 1 else scratch
    if k == 1:
        copy_doubles(code, b, result, count)
    else:
        code.declare_all(matrix_loops.transpose())
        code.line(f"call void @tapediff_transpose(ptr {b}, ptr {scratch}, i64 {n}, i64 {k})")
    info, rows = status_slot(slots, number), integer(code, n)
    order = integer_of(code, slots, count, number)
    code.call_external("tapediff_lapack_dgetrs", [
        letter(code, "N" if transposed else "T"), order, integer(code, k), f"ptr {lu}", rows, f"ptr {pivots}",
        f"ptr {work}", rows, f"ptr {info}",
    ])  # fmt: skip
    if k != 1:
        code.line(f"call void @tapediff_transpose(ptr {scratch}, ptr {result}, i64 {k}, i64 {n})")
    return _zero_on_diagonal(code, lu, n, count)


def lu_solve_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> bool:
    from scipy.linalg import lu_solve

    n, k, transposed = sizes[:3]
    factors = operands[0][: n * n].reshape(n, n).T
    if (np.diagonal(factors) == 0.0).any():
        return True
    pivots = operands[0][n * n : n * n + n].copy().view(np.int32)[:n] - 1
    b = operands[1][: n * k].reshape(n, k)
    result[:] = lu_solve((factors, pivots), b, trans=0 if transposed else 1, check_finite=False).ravel()
    return False


# Limit on the columns that LAPACK processes in one block.
_BLOCK = 64


def inverse_scratch(n: int) -> int:
    return _BLOCK * n


def inverse(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int
) -> str:
    """The inverse of the transpose by columns is that of the matrix by rows."""
    (n,) = sizes
    lu, scratch = operands
    copy_doubles(code, lu, result, n * n)
    pivots = code.emit(f"getelementptr double, ptr {lu}, i64 {n * n}")
    info, order = status_slot(slots, number), integer(code, n)
    code.call_external("tapediff_lapack_dgetri", [
        order, f"ptr {result}", order, f"ptr {pivots}", f"ptr {scratch}", integer(code, _BLOCK * n), f"ptr {info}",
    ])  # fmt: skip
    return failed(code, info)


def inverse_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> bool:
    return lu_solve_python([operands[0], np.eye(sizes[0]).ravel()], result, (*sizes, *sizes, 0))


def det_sign(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int, counts: Counts = ()
) -> None:
    count = (counts or sizes)[0]
    code.declare_all(matrix_loops.det_sign(within=isinstance(count, Value)))
    suffix, order = order_texts(count, sizes[0])
    sign = code.emit(f"call double @tapediff_det_sign{suffix}(ptr {operands[0]}, {order})")
    code.line(f"store double {sign}, ptr {result}")


def det_sign_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
    (n,) = sizes
    pivots = operands[0][n * n : n * n + n].copy().view(np.int32)[:n]
    swaps = np.count_nonzero(pivots != np.arange(1, n + 1))
    result[0] = np.prod(np.sign(np.diagonal(operands[0][: n * n].reshape(n, n)))) * (-1.0) ** swaps


@np.errstate(divide="ignore")
def det_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
    det_sign_python(operands, result, sizes)
    result[0] *= np.exp(np.sum(np.log(np.abs(operands[0][: sizes[0] ** 2 : sizes[0] + 1]))))
