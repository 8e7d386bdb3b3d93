"""Sparse matrices with tracked entries, and SciPy's as constants: products, arithmetic, solves. The pattern is fixed, never tracked.

SciPy's own matrices multiply tracked arrays directly (`A @ x`, `A.T @ y`, `A.multiply(x)`); csr_array, csc_array and coo_array are
for tracked entries. spsolve solves with either.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Hashable, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from ..base.source_location import user_site
from ..errors import ArgumentMismatch, UnsupportedFunction, UnsupportedMethod
from ..functions.sparse_solve import sparse_solve
from ..ir.instruction import Operand, is_tracked
from ..ir.pytree import register_container
from ..numpy_api.joining import as_value
from ..ops.arrays.indexing import GATHER, SCATTER_ADD
from ..ops.matrices.sparse import SPARSE_PRODUCT, SPARSE_TRANSPOSED, rows_of

__all__ = ["SparseArray", "coo_array", "csc_array", "csr_array", "spsolve"]

# An untyped matrix or array of scipy.sparse.
Scipys: TypeAlias = Any


class Pattern:
    """The positions of a matrix's entries, in CSR order: columns, and starts[r], where row r begins. Compared by contents."""

    __slots__ = ("columns", "shape", "starts")

    def __init__(self, columns: np.ndarray, starts: np.ndarray, shape: tuple[int, int]) -> None:
        self.columns, self.starts = map(_as_indices, (columns, starts))
        self.shape = (int(shape[0]), int(shape[1]))
        if len(self.starts) != self.shape[0] + 1 or self.starts[0] != 0 or self.starts[-1] != len(self.columns):
            raise ValueError(f"the index pointer does not fit {self.shape[0]} rows and {len(self.columns)} entries")
        if (np.diff(self.starts) < 0).any() or ((self.columns < 0) | (self.columns >= self.shape[1])).any():
            raise ValueError(f"an index is out of bounds for a matrix of shape {self.shape}")

    @property
    def rows(self) -> np.ndarray:
        return rows_of(self.starts)

    @property
    def checksum(self) -> int:
        return zlib.crc32(self.columns.tobytes(), zlib.crc32(self.starts.tobytes()))

    def without_repeats(self) -> tuple[Pattern, np.ndarray] | None:
        """The pattern without repeated positions, and for each old entry its index there; None if no position is repeated."""
        positions = self.rows * self.shape[1] + self.columns
        if (np.diff(positions) > 0).all():
            return None
        found, which = np.unique(positions, return_inverse=True)
        if len(found) == len(positions):
            return None
        rows, columns = np.divmod(found, self.shape[1])
        return Pattern(columns, np.searchsorted(rows, np.arange(self.shape[0] + 1)), self.shape), which

    def __eq__(self, other: object) -> bool:
        return type(other) is Pattern and (self is other or (
            self.shape == other.shape and np.array_equal(self.starts, other.starts) and np.array_equal(self.columns, other.columns)
        ))  # fmt: skip

    def __hash__(self) -> int:
        return hash((self.shape, len(self.columns)))

    def __repr__(self) -> str:
        return f"{len(self.columns)} entries of {self.shape}"


def _as_indices(numbers: np.ndarray) -> np.ndarray:
    found = np.asarray(numbers)
    if found.dtype.kind not in "iu" and found.size:
        raise ValueError(f"indices must be integers, not {found.dtype}")
    return np.ascontiguousarray(found, np.int64)


class SparseArray:
    """A sparse matrix whose entries may be tracked, with SciPy's methods that are linear in the entries.

    Args:
        entries: in the pattern's order, 1-d, tracked or plain.
        pattern: of the matrix, or of its transpose.
        is_transposed: True if the pattern is that of the transpose.
        is_matrix: True if `*` is the matrix product, as for SciPy's csr_matrix; False if elementwise, as for csr_array.
    """

    ndim = 2
    __array_ufunc__ = None  # so that NumPy's arrays leave their operators to this class
    __array_priority__ = 10.1

    def __init__(self, entries: Operand, pattern: Pattern, is_transposed: bool = False, is_matrix: bool = False) -> None:
        self.data = entries if is_tracked(entries) else np.asarray(as_value(entries))
        if self.data.dtype.kind == "c":
            raise UnsupportedFunction("a sparse matrix of complex numbers met a tracked array", at=user_site(), got=repr(pattern),
                                      fix="keep real and imaginary parts in matrices of their own")  # fmt: skip
        if self.data.shape != pattern.columns.shape:
            raise ValueError(f"the pattern has {len(pattern.columns)} entries, and {self.data.shape} are given")
        self.pattern, self.is_transposed, self.is_matrix = pattern, is_transposed, is_matrix

    shape = property(lambda self: self.pattern.shape[::-1] if self.is_transposed else self.pattern.shape)
    dtype = property(lambda self: self.data.dtype)
    nnz = size = property(lambda self: len(self.pattern.columns))
    T = property(lambda self: SparseArray(self.data, self.pattern, not self.is_transposed, self.is_matrix))

    def transpose(self) -> SparseArray:
        return self.T

    def __repr__(self) -> str:
        return f"<sparse {self.dtype} {self.shape}, {self.nnz} entries{', tracked' * is_tracked(self.data)}>"

    def _coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """The row and the column of each entry."""
        return (self.pattern.columns, self.pattern.rows) if self.is_transposed else (self.pattern.rows, self.pattern.columns)

    def _with(self, entries: Operand) -> SparseArray:
        return SparseArray(entries, self.pattern, self.is_transposed, self.is_matrix)

    # Products with dense arrays

    def _times(self, x: Operand, transposed: bool) -> Operand:
        """The product of this matrix or its transpose with a vector or the columns of a matrix."""
        x = _dense(x, "@")
        height = self.shape[0 if transposed else 1]
        if x.ndim not in (1, 2) or x.shape[0] != height:
            raise ValueError(f"matmul: dimension mismatch, {self.shape[::-1] if transposed else self.shape} @ {x.shape}")
        p = self.pattern
        if self.is_transposed != transposed:
            return SPARSE_TRANSPOSED(self.data, x, p.columns, p.starts, width=p.shape[1])
        return SPARSE_PRODUCT(self.data, x, p.columns, p.starts)

    def __matmul__(self, x: Operand) -> Operand:
        return self._times(x, False)

    def __rmatmul__(self, x: Operand) -> Operand:
        return np.transpose(self._times(np.transpose(_dense(x, "@")), True))

    def dot(self, other: Operand) -> Operand:
        return self.multiply(other) if np.ndim(other) == 0 else self @ other

    def rdot(self, other: Operand) -> Operand:
        return self.multiply(other) if np.ndim(other) == 0 else self.__rmatmul__(other)

    # Arithmetic

    def multiply(self, other: Operand) -> SparseArray:
        """The entries times a number, or times a dense array that is broadcast to the shape."""
        return self._scaled(other, np.multiply)

    def _scaled(self, other: Operand, operation: np.ufunc) -> SparseArray:
        other = _dense(other, "multiply")
        if other.ndim == 0:
            return self._with(operation(self.data, other))
        positions = np.broadcast_to(np.arange(other.size).reshape(other.shape), self.shape)[self._coordinates()]
        return self._with(operation(self.data, GATHER(other, positions)))

    def __mul__(self, other: Operand) -> Operand:
        return self @ other if self.is_matrix and np.ndim(other) else self.multiply(other)

    def __rmul__(self, other: Operand) -> Operand:
        return self.__rmatmul__(other) if self.is_matrix and np.ndim(other) else self.multiply(other)

    def __truediv__(self, other: Operand) -> SparseArray:
        return self._scaled(other, np.divide)

    def __neg__(self) -> SparseArray:
        return self._with(-self.data)

    def __add__(self, other: Operand) -> Operand:
        if type(other) is SparseArray or _is_scipys(other):
            return self._plus(as_sparse(other))
        if type(other) in (int, float) and other == 0:
            return self
        self._refuse_matrix("+")
        return self.toarray() + _dense(other, "+", of=self.shape)

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Operand:
        return self + (-other)

    def __rsub__(self, other: Operand) -> Operand:
        return (-self) + other

    def _plus(self, other: SparseArray) -> SparseArray:
        if self.shape != other.shape:
            raise ValueError(f"inconsistent shapes {self.shape} and {other.shape}")
        if self.is_transposed == other.is_transposed and self.pattern == other.pattern:
            return self._with(self.data + other.data)
        rows, columns = (np.concatenate(pair) for pair in zip(self._coordinates(), other._coordinates()))
        return _from_coordinates(np.concatenate([self.data, other.data]), rows, columns, self.shape, self.is_matrix)

    # Dense results

    def toarray(self) -> Operand:
        """The dense matrix."""
        rows, columns = self._coordinates()
        return SCATTER_ADD(self.data, rows * self.shape[1] + columns, shape=self.shape)

    def todense(self) -> Operand:
        self._refuse_matrix("todense()")
        return self.toarray()

    def _refuse_matrix(self, operation: str) -> None:
        if self.is_matrix:
            raise UnsupportedFunction(f"{operation} of a sparse matrix, whose result would be an np.matrix", at=user_site(), got=repr(self),
                                      fix="use A.toarray(), or scipy.sparse.csr_array instead of csr_matrix")  # fmt: skip

    def sum(self, axis: int | None = None, dtype: None = None, out: None = None) -> Operand:
        """The sum of all entries, of each column (axis 0) or of each row (axis 1)."""
        if axis is None:
            return np.sum(self.data)
        sums = self._times(np.ones(self.shape[axis]), transposed=axis % 2 == 0)
        return np.expand_dims(sums, axis) if self.is_matrix else sums

    def mean(self, axis: int | None = None) -> Operand:
        return self.sum(axis) / (math.prod(self.shape) if axis is None else self.shape[axis])

    def diagonal(self, k: int = 0) -> Operand:
        rows, columns = self._coordinates()
        (chosen,) = np.nonzero(columns - rows == k)
        length = max(0, min(self.shape[0] + min(k, 0), self.shape[1] - max(k, 0)))
        return SCATTER_ADD(GATHER(self.data, chosen), rows[chosen] + min(k, 0), shape=(length,))

    def trace(self, offset: int = 0) -> Operand:
        return np.sum(self.diagonal(offset))

    # Formats: only one exists

    def _same(self, *_: object, **__: object) -> SparseArray:
        return self

    tocsr = tocsc = tocoo = asformat = copy = _same

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnsupportedMethod(f"sparse matrices with tracked entries have no {name}", at=user_site(), got=repr(self),
                                fix="compute with .data, the entries, or with the dense matrix, .toarray()")  # fmt: skip


def register(scipys: type) -> None:
    """Register a SciPy matrix class as a container of its entries; a recorded function gets a SparseArray instead."""
    if hasattr(scipys, "tocsr"):
        register_container(scipys, lambda a: _taken_apart(as_sparse(a)), lambda rest, parts: _unflattened(parts[0], *rest))


def _taken_apart(a: SparseArray) -> tuple[tuple[Operand], tuple[Hashable, ...]]:
    """The entries, and the rest as metadata. Equal positions are joined first: the derivative by the matrix has each once."""
    entries, pattern = a.data, a.pattern
    found = pattern.without_repeats()
    if found is not None:
        pattern, which = found
        entries = SCATTER_ADD(entries, which, shape=pattern.columns.shape)
    return (entries,), (pattern, a.is_transposed, a.is_matrix)


def _unflattened(entries: Operand, pattern: Pattern, is_transposed: bool, is_matrix: bool) -> SparseArray:
    made = SparseArray.__new__(SparseArray)  # the entries may be anything
    made.data, made.pattern, made.is_transposed, made.is_matrix = entries, pattern, is_transposed, is_matrix
    return made


register_container(SparseArray, _taken_apart, lambda rest, parts: _unflattened(parts[0], *rest))


def _is_scipys(value: object) -> bool:
    return type(value).__module__.startswith("scipy.sparse.") and hasattr(value, "tocsr")


def _dense(value: Operand, operation: str, of: tuple[int, int] | None = None) -> Operand:
    """A dense operand, with the shape of the matrix if required."""
    if type(value) is SparseArray or _is_scipys(value):
        raise UnsupportedFunction(f"a product ({operation}) of two sparse matrices, of which one is tracked", at=user_site(),
                                  got=f"{value!r}", fix="multiply with the vector first, A @ (B @ x); or with .toarray()")  # fmt: skip
    value = value if is_tracked(value) else as_value(value)
    if of is not None and (value.ndim == 0 or np.broadcast_shapes(value.shape, of) != of):
        raise ValueError(f"a dense array of shape {value.shape} does not fit a sparse matrix of shape {of}")
    return value


# Constructors


def as_sparse(matrix: SparseArray | Scipys) -> SparseArray:
    """Convert a scipy.sparse matrix with its entries as constants; a SparseArray stays as it is."""
    if type(matrix) is SparseArray:
        return matrix
    if not hasattr(matrix, "tocsr"):
        raise ArgumentMismatch("td.sparse takes a sparse matrix", at=user_site(), got=type(matrix).__name__,
                               fix="scipy.sparse.csr_array(A), or numpy.linalg for a dense one")  # fmt: skip
    is_matrix = not _is_array(matrix)
    is_transposed = matrix.format == "csc"
    stored = matrix if is_transposed else matrix.tocsr()
    shape = stored.shape[::-1] if is_transposed else stored.shape
    if len(shape) != 2:
        raise UnsupportedFunction("a sparse array of one axis met a tracked array", at=user_site(), got=repr(matrix),
                                  fix="multiply with matrix.toarray(), or with a sparse matrix of one row")  # fmt: skip
    entries = stored.data if stored.dtype.kind in "fc" else stored.data.astype(float)
    return SparseArray(entries, Pattern(stored.indices, stored.indptr, shape), is_transposed, is_matrix)


def _is_array(matrix: Scipys) -> bool:
    return any(base.__name__ == "sparray" for base in type(matrix).__mro__)


def csr_array(arg: Scipys, shape: Sequence[int] | None = None) -> SparseArray:
    """A sparse matrix, row by row, whose entries may be tracked; arguments as scipy.sparse.csr_array.

    Args:
        arg: (entries, indices, indptr), or (entries, (rows, columns)); or a sparse matrix.
        shape: needed for (entries, (rows, columns)); else the largest index gives the number of columns.

    Returns:
        SparseArray with `@`, `.T`, multiply, `+`, `-`, sums and toarray; also an argument of functions, a container of its entries.
    """
    return _compressed(arg, shape, False)


def csc_array(arg: Scipys, shape: Sequence[int] | None = None) -> SparseArray:
    """A sparse matrix, column by column, whose entries may be tracked; see csr_array."""
    return _compressed(arg, shape, True)


def _compressed(arg: Scipys, shape: Sequence[int] | None, by_columns: bool) -> SparseArray:
    if not isinstance(arg, tuple) or len(arg) == 2:
        return coo_array(arg, shape)
    entries, indices, indptr = arg
    if shape is None:
        others = int(np.max(indices, initial=-1)) + 1
        shape = (others, len(indptr) - 1) if by_columns else (len(indptr) - 1, others)
    rows, columns = reversed(shape) if by_columns else shape
    return SparseArray(entries, Pattern(np.asarray(indices), np.asarray(indptr), (rows, columns)), by_columns)


def coo_array(arg: Scipys, shape: Sequence[int] | None = None) -> SparseArray:
    """A sparse matrix of (entries, (rows, columns)), whose entries may be tracked; equal positions add up. See csr_array."""
    if not isinstance(arg, tuple):
        return as_sparse(arg)
    entries, (rows, columns) = arg
    rows, columns = map(_as_indices, (rows, columns))
    if shape is None:
        shape = (int(np.max(rows, initial=-1)) + 1, int(np.max(columns, initial=-1)) + 1)
    return _from_coordinates(entries, rows, columns, (shape[0], shape[1]), False)


def _from_coordinates(
    entries: Operand, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int], is_matrix: bool
) -> SparseArray:
    if rows.size and (rows.min() < 0 or rows.max() >= shape[0]):
        raise ValueError(f"a row is out of bounds for a matrix of shape {shape}")
    order = np.lexsort((columns, rows))
    entries = entries if is_tracked(entries) else as_value(entries)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    return SparseArray(entries[order], Pattern(columns[order], starts, shape), False, is_matrix)


# SciPy's own matrices with a tracked operand during recordings; see recording/python_state/scipy_methods.py


def answer(matrix: Scipys, method: str, *operands: Operand) -> Operand:
    """Evaluate an operator or method of a SciPy matrix; or spsolve, whose further arguments choose among algorithms."""
    return spsolve(matrix, operands[0]) if method == "spsolve" else _ANSWERS[method](as_sparse(matrix), operands[0])


_ANSWERS = {
    "_matmul_dispatch": SparseArray.dot, "_rmatmul_dispatch": SparseArray.rdot, "multiply": SparseArray.multiply,
    "_divide": SparseArray.__truediv__, "_add_dense": SparseArray.__add__, "_sub_dense": SparseArray.__sub__,
    "_rsub_dense": SparseArray.__rsub__,
}  # fmt: skip


# Solving


def spsolve(A: SparseArray | Scipys, b: Operand) -> Operand:
    """Solve A x = b for a square sparse matrix; as scipy.sparse.linalg.spsolve, for tracked entries of A and tracked b.

    Args:
        A: of SciPy, or from csr_array, csc_array or coo_array.
        b: shape (n,) or (n, k), dense.

    Returns:
        Array of the shape of b.

    Raises:
        RuntimeError: A is singular. (scipy.sparse.linalg.spsolve warns.)

    Cost: SuperLU's factorisation, once for the value, the gradient and further derivatives, and two solves with its factors for each
    derivative; called from kernels through Python, under the interpreter lock.
    """
    matrix, b = as_sparse(A), b if is_tracked(b) else as_value(b)
    n = matrix.shape[0]
    if matrix.shape != (n, n) or b.shape[:1] != (n,) or b.ndim > 2:
        raise ValueError(f"matrix of shape {matrix.shape} and right-hand side of shape {b.shape} do not fit")
    p = matrix.pattern
    return sparse_solve(matrix.data, b, p.columns, p.starts, matrix.is_transposed)
