"""Calls of this package's own routines on matrices, and the same in Python for the readable listing.

They run on one thread, always: BLAS hands matrices from about 64 by 64 on to its threads, and a call that takes 20 us waits for up to
half a second where other work keeps the cores busy. The number of its threads cannot be set for one thread of the process.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...ops.matrices.linear_algebra import pulled_back
from ..math.simd import Code
from .dense.tiles import PREFIX
from .lapack import copy_doubles


def call_dense(code: Code, name: str, arguments: list[str], result: str = "void") -> str:
    code.symbols.add(PREFIX + name)
    code.declare(f"declare {result} @{PREFIX}{name}({', '.join(a.split()[0] for a in arguments)})")
    text = f"call {result} @{PREFIX}{name}({', '.join(arguments)})"
    if result != "void":
        return code.emit(text)
    code.line(text)
    return ""


def padded_stride(n: int) -> int:
    """Of the rows of a copy of whole blocks, an odd number of cache lines: rows a power of two apart would share a few of these."""
    return (2 * -(-n // 16) + 1) * 8


def cholesky_scratch(n: int) -> int:
    """The upper factor in whole tiles; the last tile of a row may be half beyond it."""
    return -(-n // 8) * 8 * padded_stride(n)


def pullback_scratch(n: int) -> int:
    """The factor, the cotangent so far, and the inverses of the factor's diagonal."""
    rows = -(-n // 16) * 16
    return 2 * rows * padded_stride(n) + rows


def cholesky(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int
) -> str:
    (n,) = sizes
    pointers = [f"ptr {operands[0]}", f"ptr {result}", f"ptr {operands[1]}"]
    return call_dense(code, "cholesky", [*pointers, f"i64 {n}", f"i64 {padded_stride(n)}"], "i1")


def cholesky_pullback(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int
) -> None:
    (n,) = sizes
    pointers = [f"ptr {p}" for p in (operands[0], operands[1], result, operands[2])]
    call_dense(code, "cholesky_pullback", [*pointers, f"i64 {n}", f"i64 {padded_stride(n)}"])


def cholesky_pullback_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
    (n,) = sizes
    z, z_bar = (x[: n * n].reshape(n, n) for x in operands[:2])
    result[:] = pulled_back(z, z_bar).ravel()


def triangular_solve(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int
) -> str | None:
    """A triangle that is solved from its last row on is a lower one with its rows and columns in the opposite order."""
    n, k, lower, s, t, unit = sizes
    copy_doubles(code, operands[1], result, n * k)
    matrix, rows, stride = operands[0], result, k
    if not lower:
        matrix = code.emit(f"getelementptr double, ptr {matrix}, i64 {(n - 1) * (s + t)}")
        rows = code.emit(f"getelementptr double, ptr {rows}, i64 {(n - 1) * k}")
        s, t, stride = -s, -t, -k
    integers = [f"i64 {size}" for size in (n, k, s, t, stride)]
    is_unit = f"i1 {'true' if unit else 'false'}"
    failed = call_dense(code, "triangular_solve", [f"ptr {matrix}", f"ptr {rows}", *integers, is_unit], "i1")
    return None if unit else failed


def triangular_solve_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> bool:
    from scipy.linalg import solve_triangular

    n, k, lower, s, t, unit = sizes
    a, b = _matrix(operands[0], n, n, s, t), operands[1][: n * k].reshape(n, k)
    if not unit and (np.diagonal(a) == 0.0).any():
        return True
    result[:] = solve_triangular(a, b, lower=bool(lower), unit_diagonal=bool(unit), check_finite=False).ravel()
    return False


def product(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int
) -> None:
    call_dense(code, "product", [*(f"ptr {p}" for p in (*operands, result)), *(f"i64 {size}" for size in sizes)])


def product_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
    m, n, k, s, t, u, v = sizes
    result[:] = (_matrix(operands[0], m, k, s, t) @ _matrix(operands[1], k, n, u, v)).ravel()


def _matrix(flat: np.ndarray, rows: int, columns: int, s: int, t: int) -> np.ndarray:
    return as_strided(flat, (rows, columns), (s * flat.itemsize, t * flat.itemsize), writeable=False)
