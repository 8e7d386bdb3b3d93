"""The call of LAPACK's zheevd, and the same in Python."""

from __future__ import annotations

import numpy as np

from ...ops.matrices.hermitian import HERMITIAN_EIGH
from ..math.simd import Code
from .lapack import copy_doubles, failed, letter, library
from .spectral import long_integer


def _works(n: int) -> tuple[int, int, int]:
    """Complex numbers, doubles and integers that zheevd works in."""
    return 2 * n + n * n, 1 + 5 * n + 2 * n * n, 3 + 5 * n


def hermitian_scratch(n: int) -> int:
    """In doubles; integers may have 64 bits."""
    numbers, doubles, integers = _works(n)
    return 2 * numbers + doubles + integers


def hermitian_eigh(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int
) -> str:
    """The operand is by columns; the vectors, which are columns to LAPACK, are rows of the result, and the eigenvalues stand after them."""
    n, lower = sizes
    copy_doubles(code, operands[0], result, 2 * n * n)
    numbers, doubles, integers = _works(n)
    values = code.emit(f"getelementptr double, ptr {result}, i64 {2 * n * n}")
    reals = code.emit(f"getelementptr double, ptr {operands[1]}, i64 {2 * numbers}")
    whole = code.emit(f"getelementptr double, ptr {operands[1]}, i64 {2 * numbers + doubles}")
    info, order = f"%info{number}", long_integer(code, n)
    slots.append(f"{info} = alloca i64")
    code.line(f"store i64 0, ptr {info}")
    library(code, "tapediff_numpy_zheevd", [
        letter(code, "V"), letter(code, "L" if lower else "U"), order, f"ptr {result}", order, f"ptr {values}", f"ptr {operands[1]}",
        long_integer(code, numbers), f"ptr {reals}", long_integer(code, doubles), f"ptr {whole}", long_integer(code, integers), f"ptr {info}",
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
