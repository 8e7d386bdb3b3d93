"""Calls of LAPACK for singular values, orthogonal factors and general eigenvalues, with Python equivalents.

Calls NumPy's own routines on the same column-major copy: other builds choose other signs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ir.instruction import Operand
from ...ops.matrices import factors
from . import matrix_loops
from .lapack import Call, called, failed, letter, long_status_slot, looped, pointers, transpose
from .spectral import long_integer

# Limit on the columns of a block in blocked routines; it gives the size of the workspace.
_BLOCK = 64


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


def svd(call: Call) -> str:
    return _svd(call, "S", min(call.sizes), min(call.sizes))


def svd_full(call: Call) -> str:
    return _svd(call, "A", *call.sizes)


def _svd(call: Call, job: str, p: int, q: int) -> str:
    """Emit an SVD with p left and q right vectors."""
    code, _, operands, result, (m, n), _ = call
    k = min(m, n)
    copied, left, right, work, integers, _ = pointers(code, operands[1], (m * n, m * p, q * n, svd_doubles(m, n), 8 * k))
    u, s, v, _ = pointers(code, result, (m * p, k, q * n))
    transpose(code, operands[0], copied, m, n)
    info = long_status_slot(call)
    called(code, "tapediff_numpy_dgesdd", [
        letter(code, job), long_integer(code, m), long_integer(code, n), f"ptr {copied}", long_integer(code, m), f"ptr {s}",
        f"ptr {left}", long_integer(code, m), f"ptr {right}", long_integer(code, q), f"ptr {work}",
        long_integer(code, svd_doubles(m, n)), f"ptr {integers}", f"ptr {info}",
    ])  # fmt: skip
    bad = failed(code, info)
    transpose(code, left, u, p, m)
    transpose(code, right, v, n, q)
    return bad


def qr_scratch(m: int, n: int) -> int:
    """Room for the matrix by columns, the factors of the reflections, and the workspace."""
    return m * n + min(m, n) + _BLOCK * max(m, n)


def full_qr_scratch(m: int, n: int) -> int:
    """qr_scratch with room for all columns of q, which has more columns than the matrix."""
    return m * m + min(m, n) + _BLOCK * max(m, n)


def qr(call: Call) -> None:
    _qr(call, min(call.sizes))


def qr_full(call: Call) -> None:
    _qr(call, call.sizes[0])


def _qr(call: Call, p: int) -> None:
    """Emit a QR factorisation with p columns of q."""
    code, _, operands, result, (m, n), _ = call
    k, work_size = min(m, n), _BLOCK * max(m, n)
    copied, tau, work, _ = pointers(code, operands[1], (m * max(n, p), k, work_size))
    q, r, _ = pointers(code, result, (m * p, p * n))
    transpose(code, operands[0], copied, m, n)
    info = long_status_slot(call)
    rows, columns, rank, width, doubles = (long_integer(code, size) for size in (m, n, k, p, work_size))
    called(code, "tapediff_numpy_dgeqrf", [
        rows, columns, f"ptr {copied}", rows, f"ptr {tau}", f"ptr {work}", doubles, f"ptr {info}",
    ])  # fmt: skip
    looped(code, matrix_loops.upper_triangle, f"ptr {copied}", f"ptr {r}", f"i64 {m}", f"i64 {p}", f"i64 {n}")
    called(code, "tapediff_numpy_dorgqr", [
        rows, width, rank, f"ptr {copied}", rows, f"ptr {tau}", f"ptr {work}", doubles, f"ptr {info}",
    ])  # fmt: skip
    transpose(code, copied, q, p, m)


def eig_scratch(n: int) -> int:
    """Room for the matrix by columns, imaginary parts, vectors by columns, and the workspace."""
    return n * n + n + n * n + (4 + _BLOCK) * n


def eig(call: Call) -> str:
    code, _, operands, result, (n,), _ = call
    copied, imaginary, columns, work, _ = pointers(code, operands[1], (n * n, n, n * n, (4 + _BLOCK) * n))
    values, vectors, flag, _ = pointers(code, result, (n, n * n, 1))
    transpose(code, operands[0], copied, n, n)
    info, order, one = long_status_slot(call), long_integer(code, n), long_integer(code, 1)
    called(code, "tapediff_numpy_dgeev", [
        letter(code, "N"), letter(code, "V"), order, f"ptr {copied}", order, f"ptr {values}", f"ptr {imaginary}", f"ptr {work}", one,
        f"ptr {columns}", order, f"ptr {work}", long_integer(code, (4 + _BLOCK) * n), f"ptr {info}",
    ])  # fmt: skip
    transpose(code, columns, vectors, n, n)
    are_real = looped(code, matrix_loops.all_zero, f"ptr {imaginary}", f"i64 {n}", result="i1")
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
