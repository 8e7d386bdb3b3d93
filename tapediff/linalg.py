"""scipy.linalg's names for tracked and plain arrays; SciPy's own functions convert their arguments and cannot be intercepted."""

from __future__ import annotations

import numpy as np

from .base.current_recording import failure_may_be_caught
from .ir.instruction import Operand, is_tracked
from .numpy_api.joining import as_value
from .ops.matrices.linear_algebra import TRIANGULAR_SOLVE, require_regular


def solve_triangular(a: Operand, b: Operand, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False) -> Operand:
    """Solve a x = b for a triangular matrix; signature as scipy.linalg.solve_triangular.

    Args:
        a: shape (n, n); only one triangle is read.
        b: shape (n,) or (n, k).
        trans: 0 or "N" for a x = b, 1 or "T" for a^T x = b.
        lower: read the lower triangle instead of the upper one.
        unit_diagonal: take the diagonal to be ones without reading it.

    Returns:
        Array of the shape of b.

    Cost: n^2 k.
    """
    transposed = trans in (1, "T", 2, "C")
    a = _array(a)
    if not unit_diagonal and failure_may_be_caught():
        require_regular(a, "singular matrix: resolution failed at diagonal")
    return TRIANGULAR_SOLVE(a, _array(b), lower=bool(lower), transposed=transposed, unit=bool(unit_diagonal))


def cho_factor(a: Operand, lower: bool = False) -> tuple[Operand, bool]:
    """Cholesky factor for cho_solve; as scipy.linalg.cho_factor, but the other triangle is zero."""
    factor = np.linalg.cholesky(_array(a))
    return (factor, True) if lower else (np.transpose(factor), False)


def cho_solve(c_and_lower: tuple[Operand, bool], b: Operand) -> Operand:
    """Solve a x = b given cho_factor(a); as scipy.linalg.cho_solve."""
    c, lower = c_and_lower
    half = solve_triangular(c, b, trans=0 if lower else 1, lower=lower)
    return solve_triangular(c, half, trans=1 if lower else 0, lower=lower)


def _array(value: Operand) -> Operand:
    return value if is_tracked(value) else as_value(value)
