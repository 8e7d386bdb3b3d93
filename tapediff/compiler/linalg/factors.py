"""Calls of LAPACK for singular values, orthogonal factors and general eigenvalues, with Python equivalents.

Calls NumPy's own routines on the same column-major copy: other builds choose other signs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ir.instruction import Operand
from ...ops.matrices import factors
from ..math.simd import Code
from . import matrix_loops
from .lapack import failed, letter
from .spectral import long_integer

# Limit on the columns of a block in blocked routines; it gives the size of the workspace.
_BLOCK = 64


def _pointers(code: Code, start: str, sizes: tuple[int, ...]) -> list[str]:
    """The addresses of consecutive arrays, and of their end."""
    places, offset = [], 0
    for size in (*sizes, 0):
        places.append(code.emit(f"getelementptr double, ptr {start}, i64 {offset}"))
        offset += size
    return places


def _transpose(code: Code, source: str, target: str, rows: int, columns: int) -> None:
    code.declare_all(matrix_loops.transpose())
    code.line(f"call void @tapediff_transpose(ptr {source}, ptr {target}, i64 {rows}, i64 {columns})")


def _status(code: Code, slots: list[str], number: int) -> str:
    info = f"%info{number}"
    slots.append(f"{info} = alloca i64")
    code.line(f"store i64 0, ptr {info}")
    return info


def svd_doubles(m: int, n: int) -> int:
    """Workspace of dgesdd for the first vectors, with room for blocks."""
    k, longest = min(m, n), max(m, n)
    return 4 * k * k + 7 * k + longest + _BLOCK * (m + n + k)


def svd_scratch(m: int, n: int) -> int:
    """Room for the matrix by columns, left and right vectors by columns, the workspace, and 8 k integers of 64 bits."""
    k = min(m, n)
    return m * n + m * k + k * n + svd_doubles(m, n) + 8 * k


def full_svd_scratch(m: int, n: int) -> int:
    """svd_scratch with square matrices of vectors."""
    return m * n + m * m + n * n + svd_doubles(m, n) + 8 * min(m, n)


def svd(code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int) -> str:
    return _svd(code, slots, operands, result, sizes, number, "S", min(sizes), min(sizes))


def svd_full(code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int) -> str:
    return _svd(code, slots, operands, result, sizes, number, "A", *sizes)


def _svd(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int, job: str, p: int, q: int
) -> str:
    """Emit an SVD with p left and q right vectors."""
    m, n = sizes
    k = min(m, n)
    copied, left, right, work, integers, _ = _pointers(code, operands[1], (m * n, m * p, q * n, svd_doubles(m, n), 8 * k))
    u, s, v, _ = _pointers(code, result, (m * p, k, q * n))
    _transpose(code, operands[0], copied, m, n)
    info = _status(code, slots, number)
    code.call_external("tapediff_numpy_dgesdd", [
        letter(code, job), long_integer(code, m), long_integer(code, n), f"ptr {copied}", long_integer(code, m), f"ptr {s}",
        f"ptr {left}", long_integer(code, m), f"ptr {right}", long_integer(code, q), f"ptr {work}",
        long_integer(code, svd_doubles(m, n)), f"ptr {integers}", f"ptr {info}",
    ])  # fmt: skip
    bad = failed(code, info)
    _transpose(code, left, u, p, m)
    _transpose(code, right, v, n, q)
    return bad


def qr_scratch(m: int, n: int) -> int:
    """Room for the matrix by columns, the factors of the reflections, and the workspace."""
    return m * n + min(m, n) + _BLOCK * max(m, n)


def full_qr_scratch(m: int, n: int) -> int:
    """qr_scratch with room for all columns of q, which has more columns than the matrix."""
    return m * m + min(m, n) + _BLOCK * max(m, n)


def qr(code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int) -> None:
    _qr(code, slots, operands, result, sizes, number, min(sizes))


def qr_full(code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int) -> None:
    _qr(code, slots, operands, result, sizes, number, sizes[0])


def _qr(
    code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int, p: int
) -> None:
    """Emit a QR factorisation with p columns of q."""
    m, n = sizes
    k, work_size = min(m, n), _BLOCK * max(m, n)
    copied, tau, work, _ = _pointers(code, operands[1], (m * max(n, p), k, work_size))
    q, r, _ = _pointers(code, result, (m * p, p * n))
    _transpose(code, operands[0], copied, m, n)
    info = _status(code, slots, number)
    rows, columns, rank, width, doubles = (long_integer(code, size) for size in (m, n, k, p, work_size))
    code.call_external("tapediff_numpy_dgeqrf", [
        rows, columns, f"ptr {copied}", rows, f"ptr {tau}", f"ptr {work}", doubles, f"ptr {info}",
    ])  # fmt: skip
    code.declare_all(matrix_loops.upper_triangle())
    code.line(f"call void @tapediff_upper_triangle(ptr {copied}, ptr {r}, i64 {m}, i64 {p}, i64 {n})")
    code.call_external("tapediff_numpy_dorgqr", [
        rows, width, rank, f"ptr {copied}", rows, f"ptr {tau}", f"ptr {work}", doubles, f"ptr {info}",
    ])  # fmt: skip
    _transpose(code, copied, q, p, m)


def eig_scratch(n: int) -> int:
    """Room for the matrix by columns, imaginary parts, vectors by columns, and the workspace."""
    return n * n + n + n * n + (4 + _BLOCK) * n


def eig(code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int) -> str:
    (n,) = sizes
    copied, imaginary, columns, work, _ = _pointers(code, operands[1], (n * n, n, n * n, (4 + _BLOCK) * n))
    values, vectors, flag, _ = _pointers(code, result, (n, n * n, 1))
    _transpose(code, operands[0], copied, n, n)
    info, order, one = _status(code, slots, number), long_integer(code, n), long_integer(code, 1)
    code.call_external("tapediff_numpy_dgeev", [
        letter(code, "N"), letter(code, "V"), order, f"ptr {copied}", order, f"ptr {values}", f"ptr {imaginary}", f"ptr {work}", one,
        f"ptr {columns}", order, f"ptr {work}", long_integer(code, (4 + _BLOCK) * n), f"ptr {info}",
    ])  # fmt: skip
    _transpose(code, columns, vectors, n, n)
    code.declare_all(matrix_loops.all_zero())
    are_real = code.emit(f"call i1 @tapediff_all_zero(ptr {imaginary}, i64 {n})")
    told = code.emit(f"select i1 {are_real}, double 1.0, double 0.0")
    code.line(f"store double {told}, ptr {flag}")
    return failed(code, info)


def _python(evaluate: Callable[[np.ndarray], Operand], is_square: bool) -> Callable[..., bool]:
    def run(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> bool:
        m, n = (sizes[0], sizes[0]) if is_square else sizes
        try:
            result[:] = evaluate(operands[0][: m * n].reshape(m, n))
        except np.linalg.LinAlgError:
            return True
        return False

    return run


svd_python = _python(factors.SVD.evaluate, False)
svd_full_python = _python(factors.SVD_FULL.evaluate, False)
qr_python = _python(factors.QR.evaluate, False)
qr_full_python = _python(factors.QR_FULL.evaluate, False)
eig_python = _python(factors.EIG.evaluate, True)
