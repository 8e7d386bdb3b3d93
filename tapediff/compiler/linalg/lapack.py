"""Calls of SciPy's LAPACK and BLAS by symbol, with Python equivalents. See compiler.linalg.routine_table.

Matrices are row-major; LAPACK sees their transposes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..math.simd import Code
from . import matrix_loops


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


class Call(NamedTuple):
    """A call of a routine in a kernel that is being emitted.

    Attributes:
        slots: the definitions of the kernel's stack variables.
        operands, result: names of addresses.
        number: of the call, for names.
    """

    code: Code
    slots: list[str]
    operands: list[str]
    result: str
    sizes: tuple[int, ...]
    number: int


def called(code: Code, symbol: str, arguments: Sequence[str], result: str = "void") -> str:
    """Call a routine that is linked by its symbol; return the name of its result."""
    code.symbols.add(symbol)
    code.declare(f"declare {result} @{symbol}({', '.join(a.split()[0] for a in arguments)})")
    return _emitted(code, f"call {result} @{symbol}({', '.join(arguments)})")


def looped(code: Code, loop: Callable[[], list[str]], *arguments: str, result: str = "void") -> str:
    """Call one of matrix_loops; return the name of its result."""
    code.declare_all(loop())
    return _emitted(code, f"call {result} @tapediff_{loop.__name__}({', '.join(arguments)})")


def _emitted(code: Code, call: str) -> str:
    if not call.startswith("call void"):
        return code.emit(call)
    code.line(call)
    return ""


def pointers(code: Code, start: str, sizes: Sequence[int]) -> list[str]:
    """The addresses of consecutive arrays, and of their end."""
    places, offset = [], 0
    for size in (*sizes, 0):
        places.append(code.emit(f"getelementptr double, ptr {start}, i64 {offset}"))
        offset += size
    return places


def status_slot(slots: list[str], number: int) -> str:
    slots.append(f"%info{number} = alloca i32")
    return f"%info{number}"


def long_status_slot(call: Call) -> str:
    """The same for a routine whose integers have 32 or 64 bits."""
    info = f"%info{call.number}"
    call.slots.append(f"{info} = alloca i64")
    call.code.line(f"store i64 0, ptr {info}")
    return info


def copy_doubles(code: Code, source: str, target: str, doubles: int) -> None:
    code.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    code.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {8 * doubles}, i1 false)")


def transpose(code: Code, source: str, target: str, rows: int, columns: int) -> None:
    looped(code, matrix_loops.transpose, f"ptr {source}", f"ptr {target}", f"i64 {rows}", f"i64 {columns}")


def sign_of_det(code: Code, lu: str, n: int) -> str:
    return looped(code, matrix_loops.det_sign, f"ptr {lu}", f"i64 {n}", result="double")


def failed(code: Code, info: str) -> str:
    loaded = code.emit(f"load i32, ptr {info}")
    return code.emit(f"icmp ne i32 {loaded}, 0")


# Matrix product


def gemm(call: Call) -> None:
    code, _, operands, result, (m, n, k, x_transposed, y_transposed), _ = call
    called(code, "tapediff_blas_dgemm", [
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

def cholesky(call: Call) -> str:
    code, slots, operands, result, (n,), number = call
    copy_doubles(code, operands[0], result, n * n)
    info = status_slot(slots, number)
    order = integer(code, n)
    called(code, "tapediff_lapack_dpotrf", [letter(code, "U"), order, f"ptr {result}", order, f"ptr {info}"])
    looped(code, matrix_loops.zero_upper, f"ptr {result}", f"i64 {n}")
    return failed(code, info)


def cholesky_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> bool:
    (n,) = sizes
    try:
        result[:] = np.linalg.cholesky(operands[0][: n * n].reshape(n, n)).ravel()
    except np.linalg.LinAlgError:
        return True
    return False


# Triangular solve

def _zero_on_diagonal(code: Code, matrix: str, n: int) -> str:
    return looped(code, matrix_loops.zero_on_diagonal, f"ptr {matrix}", f"i64 {n}", result="i1")


def triangular_solve(call: Call) -> str | None:
    code, _, operands, result, (n, k, lower, transposed, unit), _ = call
    copy_doubles(code, operands[1], result, n * k)
    called(code, "tapediff_blas_dtrsm", [
        letter(code, "R"), letter(code, "U" if lower else "L"), letter(code, "T" if transposed else "N"),
        letter(code, "U" if unit else "N"), integer(code, k), integer(code, n), _one(code),
        f"ptr {operands[0]}", integer(code, n), f"ptr {result}", integer(code, k),
    ])  # fmt: skip
    return None if unit else _zero_on_diagonal(code, operands[0], n)


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


def lu_factor(call: Call) -> None:
    code, slots, operands, result, (n,), number = call
    copy_doubles(code, operands[0], result, n * n)
    pivots = code.emit(f"getelementptr double, ptr {result}, i64 {n * n}")
    info, order = status_slot(slots, number), integer(code, n)
    called(code, "tapediff_lapack_dgetrf", [order, order, f"ptr {result}", order, f"ptr {pivots}", f"ptr {info}"])


def lu_factor_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
    from scipy.linalg.lapack import get_lapack_funcs

    (n,) = sizes
    matrix = operands[0][: n * n].reshape(n, n)
    (getrf,) = get_lapack_funcs(("getrf",), (matrix,))
    factors, pivots, _ = getrf(matrix.T)
    result[: n * n] = factors.T.ravel()
    result[n * n :] = 0.0
    result[n * n :].view(np.int32)[:n] = pivots + 1


def lu_solve(call: Call) -> str:
    code, slots, (lu, b, scratch), result, (n, k, transposed), number = call
    pivots = code.emit(f"getelementptr double, ptr {lu}, i64 {n * n}")
    work = result if k == 1 else scratch
    if k == 1:
        copy_doubles(code, b, result, n)
    else:
        transpose(code, b, scratch, n, k)
    info, order = status_slot(slots, number), integer(code, n)
    called(code, "tapediff_lapack_dgetrs", [
        letter(code, "N" if transposed else "T"), order, integer(code, k), f"ptr {lu}", order, f"ptr {pivots}",
        f"ptr {work}", order, f"ptr {info}",
    ])  # fmt: skip
    if k != 1:
        transpose(code, scratch, result, k, n)
    return _zero_on_diagonal(code, lu, n)


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


def inverse(call: Call) -> str:
    """The inverse of the transpose by columns is that of the matrix by rows."""
    code, slots, (lu, scratch), result, (n,), number = call
    copy_doubles(code, lu, result, n * n)
    pivots = code.emit(f"getelementptr double, ptr {lu}, i64 {n * n}")
    info, order = status_slot(slots, number), integer(code, n)
    called(code, "tapediff_lapack_dgetri", [
        order, f"ptr {result}", order, f"ptr {pivots}", f"ptr {scratch}", integer(code, _BLOCK * n), f"ptr {info}",
    ])  # fmt: skip
    return failed(code, info)


def inverse_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> bool:
    return lu_solve_python([operands[0], np.eye(sizes[0]).ravel()], result, (*sizes, *sizes, 0))


def det_sign(call: Call) -> None:
    code, _, operands, result, sizes, _ = call
    code.line(f"store double {sign_of_det(code, operands[0], sizes[0])}, ptr {result}")


def det_sign_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
    (n,) = sizes
    pivots = operands[0][n * n : n * n + n].copy().view(np.int32)[:n]
    swaps = np.count_nonzero(pivots != np.arange(1, n + 1))
    result[0] = np.prod(np.sign(np.diagonal(operands[0][: n * n].reshape(n, n)))) * (-1.0) ** swaps


@np.errstate(divide="ignore")
def det_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
    det_sign_python(operands, result, sizes)
    result[0] *= np.exp(np.sum(np.log(np.abs(operands[0][: sizes[0] ** 2 : sizes[0] + 1]))))
