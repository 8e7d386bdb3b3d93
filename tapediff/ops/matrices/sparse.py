"""Products with sparse matrices in CSR format: entry p is in column `columns[p]`, and row r has the entries from `starts[r]` on.

The three ops are each other's derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...ir.instruction import Operand, ValueType
from ..declaration.op import Example, Op

# A matrix of scipy.sparse, which has no type information.
Scipys: TypeAlias = Any


def matrix_of(entries: np.ndarray, columns: np.ndarray, starts: np.ndarray, width: int) -> Scipys:
    """SciPy's matrix on the same arrays. (Importing SciPy's takes longer than the rest of tapediff, and few programs need it.)"""
    from scipy.sparse import csr_array

    return csr_array((np.asarray(entries), columns, starts), shape=(len(starts) - 1, width))


def rows_of(starts: np.ndarray) -> np.ndarray:
    """The row of each entry."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def _sampled(y: np.ndarray, x: np.ndarray, columns: np.ndarray, starts: np.ndarray) -> np.ndarray:
    left, right = y[rows_of(starts)], x[columns]
    return left * right if y.ndim == 1 else np.einsum("pj,pj->p", left, right)


def _per_entry(type_: ValueType, types: Sequence[ValueType]) -> float:
    """Two additions for each entry and column, and as many for reading its position."""
    count = max(type_.shape[0], *(t.shape[0] for t in types)) if type_.shape else 1
    return 4.0 * count * math.prod(type_.shape[1:])


def _examples(op: Callable[..., Operand], *sizes: int) -> Callable[[np.random.Generator], list[Example]]:
    """Examples of a 4 by 6 matrix with an empty row and an empty column, times vectors, and matrices of few or many columns."""
    columns, starts = np.array([0, 3, 3, 5, 1, 2, 3, 5]), np.array([0, 3, 3, 4, 8])

    def examples(rng: np.random.Generator) -> list[Example]:
        def shapes(behind: tuple[int, ...]) -> list[tuple[int, ...]]:
            return [(8,) if size == 8 else (size, *behind) for size in sizes]

        calls = [
            (lambda a, b: op(a, b, columns, starts), tuple(rng.normal(size=shape) for shape in shapes(behind)))
            for behind in ((), (1,), (3,), (17,))
        ]
        return [*calls, (lambda a, b: op(a, b, columns[:0], starts * 0), tuple(rng.normal(size=(0 if s == 8 else s,)) for s in sizes))]

    return examples


# A x for a vector x, or for the columns of a matrix.
SPARSE_PRODUCT = Op(
    "sparse_product",
    evaluate=lambda entries, x, columns, starts: matrix_of(entries, columns, starts, len(x)) @ x,
    infer=lambda entries, x, columns, starts: ValueType((starts.shape[0] - 1, *x.shape[1:]), x.dtype),
    vjp=(
        lambda z_bar, z, entries, x, columns, starts: SPARSE_SAMPLED(z_bar, x, columns, starts),
        lambda z_bar, z, entries, x, columns, starts: SPARSE_TRANSPOSED(entries, z_bar, columns, starts, width=x.shape[0]),
        None,
        None,
    ),
    lower=lambda low, i: low.sparse(i),
    additions=_per_entry,
    promote=(0, 1),
    examples=_examples(lambda *operands: SPARSE_PRODUCT(*operands), 8, 6),
)

# A^T y, of a result with `width` rows.
SPARSE_TRANSPOSED = Op(
    "sparse_transposed",
    evaluate=lambda entries, y, columns, starts, width: matrix_of(entries, columns, starts, width).T @ y,
    infer=lambda entries, y, columns, starts, width: ValueType((width, *y.shape[1:]), y.dtype),
    vjp=(
        lambda z_bar, z, entries, y, columns, starts, width: SPARSE_SAMPLED(y, z_bar, columns, starts),
        lambda z_bar, z, entries, y, columns, starts, width: SPARSE_PRODUCT(entries, z_bar, columns, starts),
        None,
        None,
    ),
    params=("width",),
    lower=lambda low, i: low.sparse(i),
    additions=_per_entry,
    promote=(0, 1),
    examples=_examples(lambda *operands: SPARSE_TRANSPOSED(*operands, width=6), 8, 4),
)

# The entries of y x^T in the sparsity pattern.
SPARSE_SAMPLED = Op(
    "sparse_sampled",
    evaluate=_sampled,
    infer=lambda y, x, columns, starts: ValueType(columns.shape, x.dtype),
    vjp=(
        lambda z_bar, z, y, x, columns, starts: SPARSE_PRODUCT(z_bar, x, columns, starts),
        lambda z_bar, z, y, x, columns, starts: SPARSE_TRANSPOSED(z_bar, y, columns, starts, width=x.shape[0]),
        None,
        None,
    ),
    lower=lambda low, i: low.sparse(i),
    additions=_per_entry,
    promote=(0, 1),
    examples=_examples(lambda *operands: SPARSE_SAMPLED(*operands), 4, 6),
)

OPS = (SPARSE_PRODUCT, SPARSE_TRANSPOSED, SPARSE_SAMPLED)
