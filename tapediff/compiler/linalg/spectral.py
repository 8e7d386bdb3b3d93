"""Calls of LAPACK's iterations, for symmetric eigenvalues and for singular values, and the same in Python."""

from __future__ import annotations

import numpy as np

from ...ops import spectral
from ..math.simd import Code
from .dense_calls import call_dense
from .lapack import DET_SIGN, TRANSPOSE, copy_doubles, failed, integer, letter, library, status_slot
from .tiles import TileWriter

# Integers of 32 bits that a routine works in, as doubles.
_INTEGERS_PER_DOUBLE = 2


def eigh_scratch(n: int) -> int:
    """Workspace of dsyevd: 1 + 6 n + 2 n^2 doubles and 3 + 5 n integers, of 64 bits in some builds."""
    return (1 + 6 * n + 2 * n * n) + (3 + 5 * n)


def _long(code: Code, value: int) -> str:
    """The address of a constant integer of 64 bits, which is also that of one of 32, as the low half comes first."""
    code.declare(f"@tapediff_long_{value} = private unnamed_addr constant i64 {value}")
    return f"ptr @tapediff_long_{value}"


def eigh(code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int) -> str:
    """The eigenvectors in rows, which LAPACK takes for columns, and the eigenvalues in a last one.

    NumPy's routine, on the same triangle of a copy in the same order: other routines choose other signs of eigenvectors.
    """
    n, lower = sizes
    code.declare(TRANSPOSE)
    code.line(f"call void @tapediff_transpose(ptr {operands[0]}, ptr {result}, i64 {n}, i64 {n})")
    values = code.emit(f"getelementptr double, ptr {result}, i64 {n * n}")
    doubles = 1 + 6 * n + 2 * n * n
    integers = code.emit(f"getelementptr double, ptr {operands[1]}, i64 {doubles}")
    info, order = f"%info{number}", _long(code, n)
    slots.append(f"{info} = alloca i64")
    code.line(f"store i64 0, ptr {info}")
    library(code, "tapediff_numpy_dsyevd", [
        letter(code, "V"), letter(code, "L" if lower else "U"), order, f"ptr {result}", order, f"ptr {values}",
        f"ptr {operands[1]}", _long(code, doubles), f"ptr {integers}", _long(code, 3 + 5 * n), f"ptr {info}",
    ])  # fmt: skip
    return failed(code, info)


def eigh_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> bool:
    n, lower = sizes
    try:
        result[:] = spectral.EIGH.evaluate(operands[0][: n * n].reshape(n, n), bool(lower)).ravel()
    except np.linalg.LinAlgError:
        return True
    return False


def _svd_doubles(n: int) -> int:
    """Workspace of dgesdd with all vectors, at least: 4 n^2 + 7 n."""
    return 4 * n * n + 7 * n + 64


def cofactors_scratch(n: int) -> int:
    """A copy of the matrix, its singular values, both kinds of vectors, a factor of these with its pivots; doubles and 8 n integers."""
    return 4 * n * n + 2 * n + _svd_doubles(n) + 8 * n // _INTEGERS_PER_DOUBLE


def cofactors(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int
) -> str:
    """By the singular values of the transpose, which LAPACK is given; the cofactors' transpose is then in its order too."""
    (n,) = sizes
    matrix, start = operands[1], 0
    places = []
    for doubles in (n * n, n, n * n, n * n, n * n + n, _svd_doubles(n), 0):
        places.append(code.emit(f"getelementptr double, ptr {matrix}, i64 {start}"))
        start += doubles
    copied, values, left, right, factor, work, integers = places
    copy_doubles(code, operands[0], copied, n * n)
    info, order = status_slot(slots, number), integer(code, n)
    library(code, "tapediff_lapack_dgesdd", [
        letter(code, "A"), order, order, f"ptr {copied}", order, f"ptr {values}", f"ptr {left}", order, f"ptr {right}", order,
        f"ptr {work}", integer(code, _svd_doubles(n)), f"ptr {integers}", f"ptr {info}",
    ])  # fmt: skip
    bad = failed(code, info)
    code.declare(DET_SIGN)
    signs = []
    for vectors in (left, right):
        copy_doubles(code, vectors, factor, n * n)
        pivots = code.emit(f"getelementptr double, ptr {factor}, i64 {n * n}")
        library(code, "tapediff_lapack_dgetrf", [order, order, f"ptr {factor}", order, f"ptr {pivots}", f"ptr {info}"])
        signs.append(code.emit(f"call double @tapediff_det_sign(ptr {factor}, i64 {n})"))
    sign = code.emit(f"fmul double {signs[0]}, {signs[1]}")
    writer = _scale_columns()
    for declaration in writer.code.declarations:
        code.declare(declaration)
    code.declare(writer.text().replace("define ", "define internal ", 1))
    code.line(f"call void @tapediff_scale_columns(ptr {right}, ptr {values}, double {sign}, i64 {n})")
    strides = (n, n, n, n, 1, n, 1)
    call_dense(code, "product", [*(f"ptr {p}" for p in (right, left, result)), *(f"i64 {size}" for size in strides)])
    return bad


def _scale_columns() -> TileWriter:
    """Each column of a matrix times the sign and the product of the other values."""
    w = TileWriter("tapediff_scale_columns", ("ptr matrix", "ptr values", "double sign", "i64 n"), "void", 4)
    slot = w.slot("double")
    with w.loop(0, "%n") as j:
        w.code.line(f"store double %sign, ptr {slot}")
        with w.loop(0, "%n") as k, w.when(w.compare("ne", j, k)):
            longer = w.code.emit(f"fmul double {w.number(slot)}, {w.number(w.at('%values', k))}")
            w.code.line(f"store double {longer}, ptr {slot}")
        with w.loop(0, "%n") as i:
            place = w.at("%matrix", w.times(i, "%n"), j)
            scaled = w.code.emit(f"fmul double {w.number(place)}, {w.number(slot)}")
            w.code.line(f"store double {scaled}, ptr {place}")
    w.code.line("ret void")
    return w


def cofactors_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> bool:
    (n,) = sizes
    try:
        result[:] = spectral.cofactors(operands[0][: n * n].reshape(n, n)).ravel()
    except np.linalg.LinAlgError:
        return True
    return False
