"""Band matrices, stored by diagonals: rows from the highest to the lowest, each entry in its own column."""

from __future__ import annotations

import numpy as np

from ..base.current_recording import failure_may_be_caught
from ..ir.instruction import Operand
from ..numpy_api.matrices import linear_algebra
from ..ops.matrices.bands import BAND_FACTOR, BAND_SOLVE, mirrored, regular_band_factors
from ..ops.matrices.stacks import turned
from .calls import doubles, refuse, scipys
from .systems import cho_solve, from_triangle


def dense(ab: Operand, lower: int, upper: int) -> Operand:
    """The matrix of these diagonals, (..., lower + upper + 1, n)."""
    n = ab.shape[-1]
    rows, columns = np.arange(n)[:, None], np.arange(n)
    diagonal = upper + rows - columns
    is_inside = (diagonal >= 0) & (diagonal <= lower + upper)
    positions = np.where(is_inside, diagonal * n + columns, 0)
    return np.where(is_inside, np.take(np.reshape(ab, (*ab.shape[:-2], -1)), positions, axis=-1), 0.0)


def symmetric(ab: Operand, lower: bool) -> Operand:
    """The symmetric matrix with these diagonals below (or above) the main one."""
    count = ab.shape[-2] - 1
    return from_triangle(dense(ab, count if lower else 0, 0 if lower else count), lower)


def bands_of(a: Operand, lower: int, upper: int) -> Operand:
    """The diagonals of a matrix, padded with zeros."""
    n = a.shape[-1]
    columns = np.arange(n)
    rows = columns + np.arange(lower + upper + 1)[:, None] - upper
    is_inside = (rows >= 0) & (rows < n)
    positions = np.where(is_inside, rows * n + columns, 0)
    return np.where(is_inside, np.take(np.reshape(a, (*a.shape[:-2], -1)), positions, axis=-1), 0.0)


def _solved(ab: Operand, b: Operand, lower: int, upper: int, definite: bool) -> Operand:
    if np.ndim(ab) != 2 or np.ndim(b) not in (1, 2):
        name = "solveh_banded" if definite else "solve_banded"
        raise refuse(name, "takes one matrix, not a stack", "call it for each matrix, or map the call by td.vmap")
    if ab.shape[1] != b.shape[0]:
        raise ValueError("shapes of ab and b are not compatible.")
    how = {"lower": lower, "upper": upper, "definite": definite}
    factors = BAND_FACTOR(ab, **how)
    if failure_may_be_caught():
        ab, factors = regular_band_factors(ab, factors, lower, upper, definite)
    return BAND_SOLVE(ab, factors, b, **how, transposed=False)


@scipys
def solve_banded(
    l_and_u: tuple[int, int], ab: Operand, b: Operand, overwrite_ab: bool = False, overwrite_b: bool = False, check_finite: bool = True
) -> Operand:
    """Solve A x = b for a matrix with this many diagonals below and above the main one.

    Cost: n (lower + 1) (lower + upper + 1) for the factors, which the gradient shares, and n times the number of diagonals to solve.
    """
    lower, upper = map(int, l_and_u)
    ab, b = doubles(ab), doubles(b)
    if lower + upper + 1 != ab.shape[-2]:
        raise ValueError(f"invalid values for the number of lower and upper diagonals: l+u+1 ({lower + upper + 1}) "
                         f"does not equal ab.shape[0] ({ab.shape[-2]})")  # fmt: skip
    return _solved(ab, b, lower, upper, False)


@scipys
def solveh_banded(
    ab: Operand, b: Operand, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False, check_finite: bool = True
) -> Operand:
    """Solve A x = b for a positive definite matrix by its diagonals above (or below) the main one. Cost: as solve_banded."""
    ab = doubles(ab)
    count = ab.shape[-2] - 1
    return _solved(mirrored(ab, bool(lower)) if np.ndim(ab) == 2 else ab, doubles(b), count, count, True)


@scipys
def cholesky_banded(ab: Operand, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True) -> Operand:
    """The Cholesky factor's diagonals. Cost: that of a dense factorisation."""
    ab = doubles(ab)
    count = ab.shape[-2] - 1
    factor = linear_algebra.cholesky(symmetric(ab, lower))
    found = bands_of(factor, count, 0) if lower else bands_of(turned(factor), 0, count)
    # The padding of the diagonals stays as it is.
    return np.where(bands_of(np.ones(factor.shape[-2:]), count if lower else 0, 0 if lower else count) == 1.0, found, ab)


@scipys
def cho_solve_banded(cb_and_lower: tuple[Operand, bool], b: Operand, overwrite_b: bool = False, check_finite: bool = True) -> Operand:
    """Solve A x = b, given cholesky_banded(A). Cost: that of dense triangular solves."""
    cb, lower = cb_and_lower
    cb, count = doubles(cb), np.shape(cb)[-2] - 1
    return cho_solve((dense(cb, count if lower else 0, 0 if lower else count), lower), b)
