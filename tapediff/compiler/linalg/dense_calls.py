"""Calls of this package's own routines on matrices, with Python equivalents for the readable listing.

They always run on one thread. BLAS uses its own threads from about 64 by 64 on, and a call that takes 20 us then waits for up to half a
second if other work keeps the cores busy. Their number cannot be set for one thread of the process.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...ops.matrices.linear_algebra import pulled_back
from ..llvm.values import greatest, least
from ..math.simd import Code, Value
from . import matrix_loops
from .dense.tiles import PREFIX
from .lapack import Counts, copy_doubles, order_texts, size_text
from .matrix_loops import WITHIN


def padded_stride(n: int) -> int:
    """The row stride of a copy in whole blocks: an odd number of cache lines, since rows a power of two apart would share a few cache
    sets."""
    return (2 * -(-n // 16) + 1) * 8


def cholesky_scratch(n: int) -> int:
    """Room for the upper factor in whole tiles; half of the last tile of a row may be past its end."""
    return -(-n // 8) * 8 * padded_stride(n)


def pullback_scratch(n: int) -> int:
    """Room for the factor, the cotangent so far, and the inverses of the factor's diagonal."""
    rows = -(-n // 16) * 16
    return 2 * rows * padded_stride(n) + rows


def cholesky(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int, counts: Counts = ()
) -> str:
    pointers = [f"ptr {operands[0]}", f"ptr {result}", f"ptr {operands[1]}"]
    return _call_padded(code, "cholesky", pointers, sizes[0], counts, "i1")


def _call_padded(code: Code, name: str, pointers: list[str], n: int, counts: Counts, result: str = "void") -> str:
    suffix, order, row = ("", f"i64 {n}", []) if not counts else (WITHIN, f"i64 {size_text(counts[0])}", [f"i64 {n}"])
    return code.call_external(PREFIX + name + suffix, [*pointers, order, f"i64 {padded_stride(n)}", *row], result)


def cholesky_pullback(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int, counts: Counts = ()
) -> None:
    pointers = [f"ptr {p}" for p in (operands[0], operands[1], result, operands[2])]
    _call_padded(code, "cholesky_pullback", pointers, sizes[0], counts)


def cholesky_pullback_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
    (n,) = sizes
    z, z_bar = (x[: n * n].reshape(n, n) for x in operands[:2])
    result[:] = pulled_back(z, z_bar).ravel()


def triangular_solve(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int, counts: Counts = ()
) -> str | None:
    """An upper triangle is solved as a lower one, with rows and columns in reverse order."""
    (_, row, lower, s, t, unit), (n, k, *_) = sizes, counts or sizes
    copy_doubles(code, operands[1], result, n * row)
    failed = _solve_in_place(code, (operands[0], n, s, t), (result, k, row), lower=bool(lower), unit=bool(unit))
    return None if unit else failed


def _solve_in_place(
    code: Code, a: tuple[str, int | Value, int, int], x: tuple[str, int | Value, int], *, lower: bool, unit: bool
) -> str:  # fmt: skip
    """Solve in place. a: address, order and strides of a triangle; x: address, columns and stride of the rows."""
    (matrix, n, s, t), (rows, k, stride) = a, x
    if not lower:
        matrix = code.emit(f"getelementptr double, ptr {matrix}, i64 {size_text((n - 1) * (s + t))}")
        rows = code.emit(f"getelementptr double, ptr {rows}, i64 {size_text((n - 1) * stride)}")
        s, t, stride = -s, -t, -stride
    integers = [f"i64 {size_text(size)}" for size in (n, k, s, t, stride)]
    return code.call_external(PREFIX + "triangular_solve", [f"ptr {matrix}", f"ptr {rows}", *integers, f"i1 {str(unit).lower()}"], "i1")


# LU: by rows, the factors of the transpose are a lower triangle, and a unit upper one.


def lu_solve_columns(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int, counts: Counts = ()
) -> str:
    """Solve for several columns stored by rows; LAPACK would need them column by column."""
    (row, stride, transposed), (n, k, _) = sizes, counts or sizes
    lu, b = operands
    copy_doubles(code, b, result, n * stride)
    if transposed:
        _exchange_rows(code, result, lu, n, row, stride, backwards=False)
        _solve_in_place(code, (lu, n, 1, row), (result, k, stride), lower=True, unit=True)
        return _solve_in_place(code, (lu, n, 1, row), (result, k, stride), lower=False, unit=False)
    failed = _solve_in_place(code, (lu, n, row, 1), (result, k, stride), lower=True, unit=False)
    _solve_upper(code, lu, row, (result, n, k, stride))
    return failed


def _solve_upper(code: Code, lu: str, row: int, x: tuple[str, int | Value, int | Value, int]) -> None:
    """Solve in place. x: address, rows, columns, and the stride of the rows."""
    rows, n, k, stride = x
    _solve_in_place(code, (lu, n, row, 1), (rows, k, stride), lower=False, unit=True)
    _exchange_rows(code, rows, lu, n, row, stride, backwards=True)


def _exchange_rows(code: Code, x: str, lu: str, n: int | Value, row: int, k: int, *, backwards: bool) -> None:
    code.declare_all(matrix_loops.exchange_rows(within=isinstance(n, Value)))
    suffix, order = (WITHIN, f", i64 {row}") if isinstance(n, Value) else ("", "")
    integers = f"i64 {size_text(n)}, i64 {k}, i1 {str(backwards).lower()}{order}"
    code.line(f"call void @tapediff_exchange_rows{suffix}(ptr {x}, ptr {lu}, {integers})")


# Columns of the inverse of a triangle to solve for together; they are zero above the block's own rows.
_BLOCK = 32


def inverse(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int, counts: Counts = ()
) -> str:
    (n,), (count,) = sizes, counts or sizes
    (lu,) = operands
    code.declare_all(matrix_loops.identity(within=isinstance(count, Value)))
    suffix, order = order_texts(count, n)
    code.line(f"call void @tapediff_identity{suffix}(ptr {result}, {order})")
    failed = "false"
    for start in range(0, n, _BLOCK):
        corner = code.emit(f"getelementptr double, ptr {lu}, i64 {start * (n + 1)}")
        columns = code.emit(f"getelementptr double, ptr {result}, i64 {start * (n + 1)}")
        left = greatest(count - start, 0) if isinstance(count, Value) else n - start
        width = least(left, _BLOCK) if isinstance(left, Value) else min(_BLOCK, left)
        of_block = _solve_in_place(code, (corner, left, n, 1), (columns, width, n), lower=True, unit=False)
        failed = of_block if start == 0 else failed
    _solve_upper(code, lu, n, (result, count, count, n))
    return failed


def triangular_solve_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> bool:
    from scipy.linalg import solve_triangular

    n, k, lower, s, t, unit = sizes
    a, b = _matrix(operands[0], n, n, s, t), operands[1][: n * k].reshape(n, k)
    if not unit and (np.diagonal(a) == 0.0).any():
        return True
    result[:] = solve_triangular(a, b, lower=bool(lower), unit_diagonal=bool(unit), check_finite=False).ravel()
    return False


def product(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int, counts: Counts = ()
) -> None:
    arguments = [*(f"ptr {p}" for p in (*operands, result)), *(f"i64 {size_text(size)}" for size in counts or sizes)]
    if counts and isinstance(counts[1], Value):
        code.call_external(PREFIX + "product" + WITHIN, [*arguments, f"i64 {sizes[1]}"])
    else:
        code.call_external(PREFIX + "product", arguments)


def product_of_rows(
    code: Code, operands: list[str], result: str, sizes: tuple[int, ...], first: str, rows: str, counts: Counts = ()
) -> None:
    """The rows of a product from `first` on. `first` and the count `rows` are names in the code."""
    _, n, k, s, t, u, v = sizes
    moved = []
    for pointer, stride in ((operands[0], s), (result, n)):
        entries = code.emit(f"mul nsw i64 {first}, {stride}")
        moved.append(code.emit(f"getelementptr double, ptr {pointer}, i64 {entries}"))
    if counts:
        product(code, [], [moved[0], operands[1]], moved[1], sizes, 0, counts)
        return
    pointers = [f"ptr {p}" for p in (moved[0], operands[1], moved[1])]
    code.call_external(PREFIX + "product", [*pointers, f"i64 {rows}", *(f"i64 {size}" for size in (n, k, s, t, u, v))])


def product_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
    m, n, k, s, t, u, v = sizes
    result[:] = (_matrix(operands[0], m, k, s, t) @ _matrix(operands[1], k, n, u, v)).ravel()


def _matrix(flat: np.ndarray, rows: int, columns: int, s: int, t: int) -> np.ndarray:
    return as_strided(flat, (rows, columns), (s * flat.itemsize, t * flat.itemsize), writeable=False)
