"""Calls of LAPACK's iterations, for symmetric eigenvalues and for singular values, with Python equivalents."""

from __future__ import annotations

import numpy as np

from ...ops.matrices import spectral
from ...ops.matrices.hermitian import HERMITIAN_EIGH
from ..math.simd import Code, Value
from . import matrix_loops
from .dense_calls import product
from .lapack import Counts, copy_doubles, failed, integer, integer_of, letter, order_texts, status_slot

# The 32-bit integers of a routine's workspace, in doubles.
_INTEGERS_PER_DOUBLE = 2


def eigh_scratch(n: int) -> int:
    """Workspace of dsyevd: 1 + 6 n + 2 n^2 doubles and 3 + 5 n integers, of 64 bits in some builds."""
    return (1 + 6 * n + 2 * n * n) + (3 + 5 * n)


def long_integer(code: Code, value: int) -> str:
    """The address of a constant 64-bit integer. Its low half comes first, so it also serves as a 32-bit one."""
    code.declare(f"@tapediff_long_{value} = private unnamed_addr constant i64 {value}")
    return f"ptr @tapediff_long_{value}"


def eigh(code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int) -> str:
    """The eigenvectors in rows, columns to LAPACK, then the eigenvalues in a last row.

    Calls NumPy's routine, on the same triangle of a copy in the same order: other routines choose other signs of eigenvectors.
    """
    n, lower = sizes
    code.declare_all(matrix_loops.transpose())
    code.line(f"call void @tapediff_transpose(ptr {operands[0]}, ptr {result}, i64 {n}, i64 {n})")
    values = code.emit(f"getelementptr double, ptr {result}, i64 {n * n}")
    doubles = 1 + 6 * n + 2 * n * n
    integers = code.emit(f"getelementptr double, ptr {operands[1]}, i64 {doubles}")
    info, order = f"%info{number}", long_integer(code, n)
    slots.append(f"{info} = alloca i64")
    code.line(f"store i64 0, ptr {info}")
    code.call_external("tapediff_numpy_dsyevd", [
        letter(code, "V"), letter(code, "L" if lower else "U"), order, f"ptr {result}", order, f"ptr {values}",
        f"ptr {operands[1]}", long_integer(code, doubles), f"ptr {integers}", long_integer(code, 3 + 5 * n), f"ptr {info}",
    ])  # fmt: skip
    return failed(code, info)


def eigh_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> bool:
    n, lower = sizes
    try:
        result[:] = spectral.EIGH.evaluate(operands[0][: n * n].reshape(n, n), bool(lower)).ravel()
    except np.linalg.LinAlgError:
        return True
    return False


def _works(n: int) -> tuple[int, int, int]:
    """The workspace of zheevd: complex numbers, doubles and integers."""
    return 2 * n + n * n, 1 + 5 * n + 2 * n * n, 3 + 5 * n


def hermitian_scratch(n: int) -> int:
    """The scratch size in doubles; integers may have 64 bits."""
    numbers, doubles, integers = _works(n)
    return 2 * numbers + doubles + integers


def hermitian_eigh(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int
) -> str:
    """The operand is by columns; the vectors are columns to LAPACK, and rows of the result before the eigenvalues."""
    n, lower = sizes
    copy_doubles(code, operands[0], result, 2 * n * n)
    numbers, doubles, integers = _works(n)
    values = code.emit(f"getelementptr double, ptr {result}, i64 {2 * n * n}")
    reals = code.emit(f"getelementptr double, ptr {operands[1]}, i64 {2 * numbers}")
    whole = code.emit(f"getelementptr double, ptr {operands[1]}, i64 {2 * numbers + doubles}")
    info, order = f"%info{number}", long_integer(code, n)
    slots.append(f"{info} = alloca i64")
    code.line(f"store i64 0, ptr {info}")
    code.call_external("tapediff_numpy_zheevd", [
        letter(code, "V"), letter(code, "L" if lower else "U"), order, f"ptr {result}", order, f"ptr {values}", f"ptr {operands[1]}",
        long_integer(code, numbers), f"ptr {reals}", long_integer(code, doubles), f"ptr {whole}",
        long_integer(code, integers), f"ptr {info}",
    ])  # fmt: skip
    return failed(code, info)


def hermitian_eigh_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> bool:
    n, lower = sizes
    matrix = operands[0][: 2 * n * n].reshape(n, n, 2).transpose(1, 0, 2)
    try:
        result[: 2 * n * n + n] = HERMITIAN_EIGH.evaluate(matrix, bool(lower))
    except np.linalg.LinAlgError:
        return True
    return False


def _svd_doubles(n: int) -> int:
    """Workspace of dgesdd with all vectors, at least: 4 n^2 + 7 n."""
    return 4 * n * n + 7 * n + 64


def cofactors_scratch(n: int) -> int:
    """Room for a copy of the matrix, its singular values, left and right vectors, a factor of these with its pivots; doubles and 8 n
    integers."""
    return 4 * n * n + 2 * n + _svd_doubles(n) + 8 * n // _INTEGERS_PER_DOUBLE


def cofactors(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int, counts: Counts = ()
) -> None:
    """Use the singular values of the transpose, which LAPACK sees; the transposed cofactors are then in its order, too.

    LAPACK refuses a matrix that is not finite: its cofactors are NaN.
    """
    (n,), (count,) = sizes, counts or sizes
    matrix, start = operands[2], 0
    places = []
    for doubles in (n * n, n, n * n, n * n, n * n + n, _svd_doubles(n), 0):
        places.append(code.emit(f"getelementptr double, ptr {matrix}, i64 {start}"))
        start += doubles
    copied, values, left, right, factor, work, integers = places
    copy_doubles(code, operands[0], copied, count * n)
    info, rows = status_slot(slots, number), integer(code, n)
    order = integer_of(code, slots, count, number)
    code.call_external("tapediff_lapack_dgesdd", [
        letter(code, "A"), order, order, f"ptr {copied}", rows, f"ptr {values}", f"ptr {left}", rows, f"ptr {right}", rows,
        f"ptr {work}", integer(code, _svd_doubles(n)), f"ptr {integers}", f"ptr {info}",
    ])  # fmt: skip
    bad = failed(code, info)
    code.declare_all(matrix_loops.det_sign(within=isinstance(count, Value)))
    signs, (suffix, orders) = [], order_texts(count, n)
    for vectors in (left, right):
        copy_doubles(code, vectors, factor, count * n)
        pivots = code.emit(f"getelementptr double, ptr {factor}, i64 {n * n}")
        code.call_external("tapediff_lapack_dgetrf", [order, order, f"ptr {factor}", rows, f"ptr {pivots}", f"ptr {info}"])
        signs.append(code.emit(f"call double @tapediff_det_sign{suffix}(ptr {factor}, {orders})"))
    sign = code.emit(f"fmul double {signs[0]}, {signs[1]}")
    sign = code.emit(f"select i1 {bad}, double 0x7FF8000000000000, double {sign}")
    code.declare_all(matrix_loops.scale_columns(within=isinstance(count, Value)))
    code.line(f"call void @tapediff_scale_columns{suffix}(ptr {right}, ptr {values}, double {sign}, {orders})")
    product(code, slots, [right, left], result, (n, n, n, n, 1, n, 1), number, [count] * 3 + [n, 1, n, 1] if counts else ())


def cofactors_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
    (n,) = sizes
    result[:] = spectral.cofactors(operands[0][: n * n].reshape(n, n)).ravel()
