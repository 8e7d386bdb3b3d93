"""Band matrices, stored by diagonals: rows from the highest to the lowest, each entry in its own column."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import numpy as np

from ..ir.instruction import Operand, ValueType
from ..numpy_api.matrices import linear_algebra
from ..ops.matrices.stacks import turned
from .calls import computed, doubles, given, like, scipys
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


def _side(ab: Operand, b: Operand, **_: object) -> ValueType:
    return like(b)


def _banded_value(ab: np.ndarray, b: np.ndarray, lower: int, upper: int) -> np.ndarray:
    return import_module("scipy.linalg").solve_banded((lower, upper), ab, b, check_finite=False)


def _definite_value(ab: np.ndarray, b: np.ndarray, lower: bool) -> np.ndarray:
    return import_module("scipy.linalg").solveh_banded(ab, b, lower=lower, check_finite=False)


def _products(b_bar: Operand, z: Operand, lower: int, upper: int) -> Operand:
    """The diagonals of b_bar z^T."""
    left, right = (b_bar[:, None], z[:, None]) if np.ndim(z) == 1 else (b_bar, z)
    n, count = left.shape
    padded = np.concatenate([np.zeros((upper, count)), left, np.zeros((lower, count))])
    # Row r holds the entries (j + r - upper, j).
    return np.stack([np.sum(padded[r : r + n] * right, axis=1) for r in range(lower + upper + 1)])


@dataclass(frozen=True)
class _BandedRule:
    """b_bar solves the transposed system; the cotangent of the matrix is -b_bar z^T, of which the stored diagonals count."""

    lower: int
    upper: int

    def __call__(self, z_bar: Operand, z: Operand, ab: Operand, b: Operand) -> tuple[Operand, Operand]:
        n, width = ab.shape[1], self.lower + self.upper + 1
        # In the transpose, row k and column c hold the entry (c, c + k - lower).
        padded = np.concatenate([np.zeros((width, self.lower)), ab, np.zeros((width, self.upper))], axis=1)
        transposed = np.stack([padded[width - 1 - k, k : k + n] for k in range(width)])
        b_bar = _solved(transposed, z_bar, self.upper, self.lower)
        return -_products(b_bar, z, self.lower, self.upper), b_bar


def _solved(ab: Operand, b: Operand, lower: int, upper: int) -> Operand:
    return given(computed(_banded_value, _side, ab, b, lower=lower, upper=upper), ab, b, rule=_BandedRule(lower, upper))


@dataclass(frozen=True)
class _DefiniteRule:
    """As for a general matrix, but a stored entry also counts for its mirror image."""

    lower: bool

    def __call__(self, z_bar: Operand, z: Operand, ab: Operand, b: Operand) -> tuple[Operand, Operand]:
        b_bar = _solved_definite(ab, z_bar, self.lower)
        below, above = (ab.shape[0] - 1, 0) if self.lower else (0, ab.shape[0] - 1)
        mirrored = np.ones(ab.shape[0])
        mirrored[0 if self.lower else -1] = 0.0  # the main diagonal
        ab_bar = _products(b_bar, z, below, above) + mirrored[:, None] * _products(z, b_bar, below, above)
        return -ab_bar, b_bar


def _solved_definite(ab: Operand, b: Operand, lower: bool) -> Operand:
    return given(computed(_definite_value, _side, ab, b, lower=lower), ab, b, rule=_DefiniteRule(lower))


@scipys
def solve_banded(
    l_and_u: tuple[int, int], ab: Operand, b: Operand, overwrite_ab: bool = False, overwrite_b: bool = False, check_finite: bool = True
) -> Operand:
    """Solve A x = b for a matrix with this many diagonals below and above the main one.

    Cost: n times the number of diagonals, plus SciPy's call from Python, also in a compiled function; the same for the gradient.
    """
    lower, upper = map(int, l_and_u)
    ab, b = doubles(ab), doubles(b)
    if lower + upper + 1 != ab.shape[0]:
        raise ValueError(f"invalid values for the number of lower and upper diagonals: l+u+1 ({lower + upper + 1}) "
                         f"does not equal ab.shape[0] ({ab.shape[0]})")  # fmt: skip
    return _solved(ab, b, lower, upper)


@scipys
def solveh_banded(
    ab: Operand, b: Operand, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False, check_finite: bool = True
) -> Operand:
    """Solve A x = b for a positive definite matrix by its diagonals above (or below) the main one. Cost: as solve_banded."""
    return _solved_definite(doubles(ab), doubles(b), bool(lower))


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
