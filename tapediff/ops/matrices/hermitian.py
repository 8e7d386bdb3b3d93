"""Eigenvalues and eigenvectors of complex Hermitian matrices, by the routine that numpy.linalg calls.

A complex array of shape S is a real one of shape (*S, 2). The result is one row: the eigenvectors, each as a row of pairs, then the
eigenvalues.
"""

from __future__ import annotations

import numpy as np

from ...ir.instruction import Operand, ValueType
from ...ir.pytree import put_together
from ..declaration.op import Op
from .given_values import GIVEN
from .repeated_values import rounding_of, slope_of_pair
from .stacks import turned

# Cotangents of a vector's phase below this, relative to those of the vector, are rounding.
PHASE_ROUNDING = 1e-13


def _eigh(x: np.ndarray, lower: bool) -> np.ndarray:
    matrix = np.ascontiguousarray(x).view(np.complex128)[..., 0]
    values, vectors = np.linalg.eigh(matrix, "L" if lower else "U")
    rows = np.ascontiguousarray(turned(vectors)).view(np.float64)
    return np.concatenate([rows.reshape(*matrix.shape[:-2], -1), values], axis=-1)


def split(row: Operand, n: int) -> tuple[Operand, Operand]:
    """The eigenvectors, in rows, and the eigenvalues."""
    batch = np.shape(row)[:-1]
    pairs = np.reshape(row[..., : 2 * n * n], (*batch, n, n, 2))
    return put_together(pairs[..., 0], pairs[..., 1]), row[..., 2 * n * n :]


def _rule(z_bar: Operand, z: Operand, x: Operand, lower: bool) -> Operand:
    """As for real symmetric matrices, Giles (2008), plus the phase of each vector: its first entry is real,
    or its last one if the upper triangle is read.

    The vectors of a repeated eigenvalue have no derivative: it is NaN if their cotangents rotate them into each other. If phases cancel
    in a function, their cotangents are zero up to rounding, and are left out.
    """
    n = x.shape[-2]
    rows, values = split(z, n)
    rows_bar, values_bar = split(z_bar, n)
    inner: Operand = np.conjugate(rows) @ turned(rows_bar)
    fixed = turned(rows)[..., 0 if lower else -1, :]  # the entries that are real
    phases = np.diagonal(inner.imag, axis1=-2, axis2=-1)
    sizes = np.sqrt(np.sum(inner.real**2 + inner.imag**2, axis=-2))
    is_turned = np.abs(phases) > PHASE_ROUNDING * n * sizes
    slope = np.where(is_turned, -phases / np.where(is_turned, fixed.real, 1.0), 0.0)
    slope = np.where(is_turned & (fixed.imag != 0.0), np.nan, slope)
    off_diagonal = 1.0 - np.eye(n)
    real, imaginary = inner.real * off_diagonal, (inner.imag + fixed.real[..., :, None] * slope[..., None, :]) * off_diagonal
    gap = values[..., None, :] - values[..., :, None]
    is_repeated = (np.abs(gap) <= rounding_of(values, gap)) & (off_diagonal != 0.0)
    meets = (real != 0.0) | (imaginary != 0.0)
    scale = np.where(is_repeated & (meets | turned(meets)), np.nan, 1.0 / np.where(is_repeated | (off_diagonal == 0.0), 1.0, gap))
    real, imaginary = (real - turned(real)) * scale, (imaginary + turned(imaginary)) * scale
    x_bar = turned(rows) @ (put_together(real, imaginary) @ np.conjugate(rows))
    pulled = turned(rows) @ (values_bar[..., :, None] * np.conjugate(rows))
    value = np.stack([pulled.real, pulled.imag], axis=-1)
    by_values = GIVEN(value, x, z, values_bar, rule=_lower_values_rule if lower else _upper_values_rule)
    return _on_triangle(x_bar.real, x_bar.imag, lower) + _on_triangle(2.0 * by_values[..., 0], 2.0 * by_values[..., 1], lower)


def _on_triangle(real: Operand, imaginary: Operand, lower: bool) -> Operand:
    n = real.shape[-1]
    triangle = np.tril(np.ones((n, n))) if lower else np.triu(np.ones((n, n)))
    strict = triangle - np.eye(n)
    return np.stack([real * (strict + 0.5 * np.eye(n)), imaginary * strict], axis=-1)


def _values_rule(w_bar: Operand, x: Operand, z: Operand, bar: Operand, lower: bool) -> tuple[Operand, ...]:
    """The rule for the cotangent that comes from the eigenvalues, as in `spectral`."""
    n = x.shape[-2]
    rows, values = split(z, n)
    matrix = put_together(w_bar[..., 0], w_bar[..., 1])
    within = np.conjugate(rows) @ ((0.5 * (matrix + np.conjugate(turned(matrix)))) @ turned(rows))
    gap, off_diagonal = values[..., None, :] - values[..., :, None], 1.0 - np.eye(n)
    is_repeated = np.abs(gap) <= rounding_of(values, gap)
    parts = [
        slope_of_pair(bar[..., None, :] - bar[..., :, None], gap, is_repeated, part * off_diagonal)
        for part in (within.real, within.imag)
    ]
    x_bar = turned(rows) @ (put_together(*parts) @ np.conjugate(rows))
    return _on_triangle(2.0 * x_bar.real, 2.0 * x_bar.imag, lower), None, np.diagonal(within.real, axis1=-2, axis2=-1)


def _lower_values_rule(w_bar: Operand, w: Operand, x: Operand, z: Operand, bar: Operand) -> tuple[Operand, ...]:
    return _values_rule(w_bar, x, z, bar, True)


def _upper_values_rule(w_bar: Operand, w: Operand, x: Operand, z: Operand, bar: Operand) -> tuple[Operand, ...]:
    return _values_rule(w_bar, x, z, bar, False)


def _example(rng: np.random.Generator, n: int, *batch: int) -> np.ndarray:
    """A Hermitian matrix with well separated eigenvalues."""
    vectors, _ = np.linalg.qr(rng.normal(size=(*batch, n, n)) + 1j * rng.normal(size=(*batch, n, n)))
    matrix = (vectors * (np.arange(n) + rng.uniform(-0.3, 0.3, n))) @ turned(vectors.conj())
    return np.stack([matrix.real, matrix.imag], axis=-1)


HERMITIAN_EIGH = Op(
    "hermitian_eigh",
    evaluate=_eigh,
    infer=lambda x, lower: ValueType((*x.shape[:-3], x.shape[-2] * (2 * x.shape[-2] + 1)), x.dtype),
    vjp=(_rule,),
    params=("lower",),
    lower=lambda low, i: low.hermitian_eigh(i),
    lapack=True,
    raises=True,
    examples=lambda rng: [
        (lambda a, t=lower: HERMITIAN_EIGH(a, lower=t), (_example(rng, n),)) for n in (2, 3, 5) for lower in (True, False)
    ]
    + [(lambda a: HERMITIAN_EIGH(a, lower=True), (_example(rng, 3, 2),))],
)

OPS = (HERMITIAN_EIGH,)
