"""Eigenvalues of symmetric, tridiagonal and band matrices, and of pairs; eigenvectors have the signs of SciPy's routines."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from ..ir.instruction import FLOAT64, Operand, ValueType
from ..numpy_api.matrices import decompositions
from ..ops.matrices.linear_algebra import CHOLESKY_PULLBACK
from ..ops.matrices.spectral import values_pulled_back
from ..ops.matrices.stacks import turned
from .bands import symmetric
from .calls import computed, doubles, given, refuse, scipys, square
from .systems import from_triangle


def _packed(values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """The vectors as columns, and the values as a last row."""
    return np.concatenate([vectors, values[..., None, :]], axis=-2)


def _row_more(a: Operand, *_: Operand, **__: object) -> ValueType:
    n = np.shape(a)[-1]
    return ValueType((*np.shape(a)[: max(np.ndim(a) - 2, 0)], n + 1, n), FLOAT64)


def _of_pair(a: np.ndarray, *b: np.ndarray, lower: bool, driver: str | None) -> np.ndarray:
    return _packed(*import_module("scipy.linalg").eigh(a, *b, lower=lower, driver=driver, check_finite=False))


def _of_tridiagonal(d: np.ndarray, e: np.ndarray, lapack_driver: str) -> np.ndarray:
    return _packed(*import_module("scipy.linalg").eigh_tridiagonal(d, e, lapack_driver=lapack_driver, check_finite=False))


def _of_band(a_band: np.ndarray, lower: bool) -> np.ndarray:
    return _packed(*import_module("scipy.linalg").eig_banded(a_band, lower=lower, check_finite=False))


def _eigen_rule(z_bar: Operand, z: Operand, a: Operand, *pair: Operand) -> tuple[Operand, ...]:
    """dw_i = v_i^T (da - w_i db) v_i. The v_j component of dv_i is v_j^T (da - w_i db) v_i / (w_i - w_j). Without b, db = 0.

    The vectors of a repeated eigenvalue have no derivative: it is NaN where their cotangents rotate them into each other, also for
    eigenvalues that are equal up to rounding.
    """
    vectors, values, n = z[..., :-1, :], z[..., -1, :], a.shape[-1]
    inner = turned(vectors) @ z_bar[..., :-1, :]
    gap = values[..., None, :] - values[..., :, None]
    size = np.max(np.absolute(values), axis=-1)[..., None, None]
    is_repeated = np.absolute(gap) <= 4.0 * n * np.finfo(float).eps * size
    turning = inner if pair else 0.5 * (inner - turned(inner))
    is_turned = ((inner != 0.0) | (turned(inner) != 0.0)) & ~np.eye(n, dtype=bool)
    quotient = np.where(is_repeated & is_turned, np.nan, np.where(is_repeated, 0.0, turning) / np.where(is_repeated, 1.0, gap))
    a_bar = _symmetrised(vectors @ quotient @ turned(vectors))
    by_values = _by_values(z_bar[..., -1, :], vectors, values, a, *pair)
    if not pair:
        return (a_bar + by_values[0],)
    lengths = 0.5 * np.eye(n) * np.diagonal(inner, axis1=-2, axis2=-1)[..., None, :]
    b_bar = -_symmetrised(vectors @ (quotient * values[..., None, :] + lengths) @ turned(vectors))
    return a_bar + by_values[0], b_bar + by_values[1]


def _by_values(bar: Operand, vectors: Operand, values: Operand, a: Operand, *pair: Operand) -> tuple[Operand, ...]:
    """The cotangents from the eigenvalues: for a pair those of L^-1 a L^-T, where b = L L^T, whose vectors are L^T v."""
    if not pair:
        return (values_pulled_back(bar, _rows(vectors, values), a, True),)
    factor = np.linalg.cholesky(pair[0])
    inverse = np.linalg.inv(factor)
    reduced = inverse @ a @ turned(inverse)
    reduced_bar = _symmetrised(values_pulled_back(bar, _rows(turned(factor) @ vectors, values), reduced, True))
    factor_bar = -2.0 * turned(inverse) @ reduced_bar @ reduced
    return turned(inverse) @ reduced_bar @ inverse, CHOLESKY_PULLBACK(factor, factor_bar * np.tril(np.ones(a.shape[-2:])))


def _rows(vectors: Operand, values: Operand) -> Operand:
    """In EIGH's layout."""
    return np.concatenate([turned(vectors), values[..., None, :]], axis=-2)


def _symmetrised(x: Operand) -> Operand:
    return 0.5 * (x + turned(x))


def _parts(packed: Operand, values_only: bool) -> Operand:
    values, vectors = packed[..., -1, :], packed[..., :-1, :]
    return values if values_only else (values, vectors)


def _require_all(name: str, is_part: bool) -> None:
    if is_part:
        raise refuse(name, "gives all eigenvalues of tracked arrays", "take what you want of them, which are in ascending order")


@scipys
def eigh(
    a: Operand, b: Operand = None, *, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False,
    overwrite_b: bool = False, type: int = 1, check_finite: bool = True, subset_by_index: Operand = None,
    subset_by_value: Operand = None, driver: str | None = None,
) -> Operand:  # fmt: skip
    """Eigenvalues, ascending, and vectors of a symmetric matrix by one triangle, or of the pair a v = w b v with b positive definite."""
    _require_all("eigh", subset_by_index is not None or subset_by_value is not None)
    if type != 1:
        raise refuse("eigh", f"solves a v = w b v only, not type={type}", "use eigh(b @ a @ b, b) for type=2 with the vectors b^-1 v")
    operands = [from_triangle(doubles(square(x)), lower) for x in (a, b) if x is not None]
    if len(operands) == 2 and operands[0].shape != operands[1].shape:
        raise ValueError(f"wrong b dimensions {operands[1].shape}, should be {operands[0].shape}")
    value = computed(_of_pair, _row_more, *operands, lower=bool(lower), driver=driver)
    return _parts(given(value, *operands, rule=_eigen_rule), eigvals_only)


@scipys
def eigvalsh(
    a: Operand, b: Operand = None, *, lower: bool = True, overwrite_a: bool = False, overwrite_b: bool = False, type: int = 1,
    check_finite: bool = True, subset_by_index: Operand = None, subset_by_value: Operand = None, driver: str | None = None,
) -> Operand:  # fmt: skip
    """The eigenvalues of eigh."""
    subset = {"subset_by_index": subset_by_index, "subset_by_value": subset_by_value}
    return eigh(a, b, lower=lower, eigvals_only=True, type=type, driver=driver, **subset)


@scipys
def eigh_tridiagonal(
    d: Operand, e: Operand, eigvals_only: bool = False, select: Operand = "a", select_range: Operand = None, check_finite: bool = True,
    tol: float = 0.0, lapack_driver: str = "auto",
) -> Operand:  # fmt: skip
    """Eigenvalues and vectors of a symmetric matrix by diagonal d and off-diagonal e. Cost of the gradient: n^3 with vectors, else n^2."""
    _require_all("eigh_tridiagonal", select not in ("a", "all", 0))
    d, e = doubles(d), doubles(e)
    if np.ndim(d) != 1 or np.ndim(e) != 1 or d.shape[0] != e.shape[0] + 1:
        raise ValueError(f"d (size {np.size(d)}) must have one more element than e (size {np.size(e)}), both of one axis")
    value = computed(_of_tridiagonal, _row_more, d, e, lapack_driver=lapack_driver)
    beside = np.concatenate([e, np.zeros(1)])
    return _parts(given(value, symmetric(np.stack([d, beside]), lower=True), rule=_eigen_rule), eigvals_only)


@scipys
def eigvalsh_tridiagonal(
    d: Operand, e: Operand, select: Operand = "a", select_range: Operand = None, check_finite: bool = True, tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Operand:  # fmt: skip
    """The eigenvalues of eigh_tridiagonal."""
    return eigh_tridiagonal(d, e, True, select, select_range, lapack_driver=lapack_driver)


@scipys
def eig_banded(
    a_band: Operand, lower: bool = False, eigvals_only: bool = False, overwrite_a_band: bool = False, select: Operand = "a",
    select_range: Operand = None, max_ev: int = 0, check_finite: bool = True,
) -> Operand:  # fmt: skip
    """Eigenvalues and vectors of a symmetric matrix by its diagonals. Cost of the gradient: n^3."""
    _require_all("eig_banded", select not in ("a", "all", 0))
    a_band = doubles(a_band)
    value = computed(_of_band, _row_more, a_band, lower=bool(lower))
    return _parts(given(value, symmetric(a_band, lower), rule=_eigen_rule), eigvals_only)


@scipys
def eigvals_banded(
    a_band: Operand, lower: bool = False, overwrite_a_band: bool = False, select: Operand = "a", select_range: Operand = None,
    check_finite: bool = True,
) -> Operand:  # fmt: skip
    """The eigenvalues of eig_banded."""
    return eig_banded(a_band, lower, True, select=select, select_range=select_range)


@scipys
def eig(
    a: Operand, b: Operand = None, left: bool = False, right: bool = True, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True, homogeneous_eigvals: bool = False,
) -> Operand:  # fmt: skip
    """For matrices with real eigenvalues, which is guarded. SciPy's are complex numbers with imaginary part zero."""
    if b is not None or left or homogeneous_eigvals:
        raise refuse("eig", "has no b=, left= and homogeneous_eigvals= for tracked arrays",
                     "use eig(inv(b) @ a), or eig(a.T) for left vectors")  # fmt: skip
    values, vectors = decompositions.real_eig(square(a))
    return (values, vectors) if right else values


@scipys
def eigvals(
    a: Operand, b: Operand = None, overwrite_a: bool = False, overwrite_b: bool = False, check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Operand:  # fmt: skip
    """The eigenvalues of eig."""
    return eig(a, b, right=False, homogeneous_eigvals=homogeneous_eigvals)
