"""The Cholesky factorisation of a sparse symmetric positive definite matrix: solves, determinant, inverse on a pattern, samples."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..errors import ArgumentMismatch, DtypeMismatch, NotPositiveDefinite, ShapeMismatch, TrackedValueEscaped
from ..ir.instruction import is_tracked
from ..ops.matrices.sparse import Scipys, matrix_of
from .arrays import Pattern, SparseArray, as_sparse
from .order import Analysis, analysed, kernels

# The relative difference between the triangles of a symmetric matrix, from rounding.
ROUNDING = 1e-8


class Cholesky:
    """A = P^T L D L^T P, with ones on the diagonal of L; see td.sparse.cholesky.

    Attributes:
        shape: (n, n).
        order: of elimination, a permutation of the rows; chosen by its fill among the matrix's own, reverse Cuthill-McKee and minimum
            degree, whose name is `method`.
        fill: the number of entries of L that A does not have.
    """

    def __init__(self, analysis: Analysis, entries: np.ndarray, shift: float = 0.0) -> None:
        """Factorise the matrix with these entries, in the order of the analysis' pattern, plus a multiple of the identity."""
        self.analysis, n = analysis, len(analysis.order)
        self._d, self._values = np.empty(n), np.empty(len(analysis.l_rows))
        a = analysis
        failed = kernels().numeric(a.starts, a.rows, a.above_diagonal(entries), a.on_diagonal(entries) + shift, a.parents, a.l_starts,
                                   a.l_rows, self._values, self._d)  # fmt: skip
        if failed >= 0:
            raise NotPositiveDefinite(
                "the matrix is not positive definite", index=int(a.order[failed]),
                got=f"a pivot of {self._d[failed]:.3g} in row {a.order[failed]}",
                fix="factorise A + c I with a small c > 0, or look for a row without information" if np.isfinite(self._d[failed])
                else "look at what made entries infinite or NaN",
            )  # fmt: skip

    shape = property(lambda self: (len(self._d), len(self._d)))
    order = property(lambda self: self.analysis.order)
    method = property(lambda self: self.analysis.method)
    fill = property(lambda self: self.analysis.fill)

    def __repr__(self) -> str:
        return f"<Cholesky of {self.shape}, {len(self._values) + len(self._d)} entries, fill {self.fill} by the order {self.method!r}>"

    def solve(self, b: np.ndarray) -> np.ndarray:
        """Solve A x = b.

        Args:
            b: shape (n,) or (n, k).

        Returns:
            Array of the shape of b.

        Raises:
            ShapeMismatch: another number of rows.
            DtypeMismatch: b has complex numbers, or is sparse.
            TrackedValueEscaped: b is tracked; td.sparse.spsolve takes these.

        Cost: four operations for each entry of L and column of b.
        """
        if is_tracked(b):
            raise TrackedValueEscaped("a factorisation solves for plain right-hand sides", got=repr(b),
                                      fix="td.sparse.spsolve(A, b), which is recorded")  # fmt: skip
        given = np.asarray(b)
        if given.dtype.kind not in "biuf":
            raise DtypeMismatch("a right-hand side is an array of real numbers", got=f"{type(b).__name__} of dtype {given.dtype}",
                                fix="solve for the real and the imaginary part; or b.toarray() of a sparse matrix")  # fmt: skip
        b = given.astype(float, copy=False)
        if b.ndim not in (1, 2) or len(b) != len(self._d):
            raise ShapeMismatch("the right-hand side does not fit the matrix", got=f"{b.shape} for a matrix of shape {self.shape}")
        x = self._in_order(b)
        self._forward(x)
        x /= self._d
        self._backward(x)
        return self._in_rows(x, b.ndim)

    def half_solve(self, b: np.ndarray) -> np.ndarray:
        """Multiply rows b, shape (k, n), by a root R of the inverse of A, which is R R^T."""
        x = self._in_order(np.asarray(b, float).T)
        self._forward(x)
        return x / np.sqrt(self._d)

    def logdet(self) -> float:
        """The logarithm of the determinant of A."""
        return float(np.sum(np.log(self._d)))

    def inverse_entries(self) -> Scipys:
        """The entries of the inverse of A at the positions of A's entries.

        Returns:
            scipy.sparse.csr_array; its diagonal has the variances, if A is a precision.

        Cost: that of the factorisation, about twice; memory for the entries of L.
        Source: Takahashi, Fagan and Chin (1973), PICA Conference; Erisman and Tinney (1975), Communications of the ACM 18(3).
        """
        p = self.analysis.pattern
        return matrix_of(self.inverse_values(), p.columns, p.starts, p.shape[1])

    def inverse_values(self) -> np.ndarray:
        """The entries of inverse_entries, in the pattern's order."""
        return np.concatenate(self._inverse)[self.analysis.positions]

    def inverse_diagonal(self) -> np.ndarray:
        """The diagonal of the inverse of A, shape (n,)."""
        return self._inverse[1][self.analysis.places]

    @cached_property
    def _inverse(self) -> tuple[np.ndarray, np.ndarray]:
        """The entries of the inverse where L has entries, and on the diagonal."""
        found = np.empty_like(self._values), np.empty_like(self._d)
        kernels().inverse(self.analysis.l_starts, self.analysis.l_rows, self._values, self._d, *found)
        return found

    def sample(self, rng: np.random.Generator, size: int | None = None) -> np.ndarray:
        """Draw from the normal distribution with mean zero and precision A.

        Args:
            rng: NumPy's generator.
            size: the number of draws.

        Returns:
            Array of shape (n,), or (size, n).

        Raises:
            ArgumentMismatch: rng is no generator, or size no number of draws.

        Cost: two operations for each entry of L and draw.
        Source: Rue (2001), Journal of the Royal Statistical Society B 63(2).
        """
        if not hasattr(rng, "standard_normal") or not (size is None or (isinstance(size, (int, np.integer)) and size >= 0)):
            raise ArgumentMismatch("draws take a generator and their number", got=f"{type(rng).__name__}, size={size!r}",
                                   fix="F.sample(np.random.default_rng(1), 5)")  # fmt: skip
        drawn = self.root(rng.standard_normal((1 if size is None else size, len(self._d))))
        return drawn[0] if size is None else drawn

    def root(self, z: np.ndarray) -> np.ndarray:
        """Multiply a root R of the inverse of A, which is R R^T, by rows z, shape (k, n)."""
        x = z / np.sqrt(self._d)
        self._backward(x)
        return np.take(x, self.analysis.places, axis=1)

    def arrays(self) -> tuple[np.ndarray, ...]:
        """The arrays of R, for compiled callers: starts and rows of L by columns, its values, the scale of z, and the order."""
        integers = [np.ascontiguousarray(a, np.int64) for a in (self.analysis.l_starts, self.analysis.l_rows, self.order)]
        return integers[0], integers[1], self._values, 1.0 / np.sqrt(self._d), integers[2]

    # Right-hand sides are rows, in the order of elimination.

    def _in_order(self, b: np.ndarray) -> np.ndarray:
        return np.take(np.atleast_2d(b.T), self.order, axis=1)

    def _in_rows(self, x: np.ndarray, ndim: int) -> np.ndarray:
        found = np.take(x, self.analysis.places, axis=1)
        return found[0] if ndim == 1 else np.ascontiguousarray(found.T)

    def _forward(self, x: np.ndarray) -> None:
        kernels().forward(self.analysis.l_starts, self.analysis.l_rows, self._values, x)

    def _backward(self, x: np.ndarray) -> None:
        kernels().backward(self.analysis.l_starts, self.analysis.l_rows, self._values, x)


def cholesky(A: SparseArray | Scipys) -> Cholesky:
    """Factorise a sparse symmetric positive definite matrix, in an order of elimination with little fill.

    Args:
        A: of scipy.sparse in any format, or of td.sparse with plain entries; shape (n, n), float64, both triangles.

    Returns:
        Cholesky: solve(b), logdet(), inverse_entries(), sample(rng); order, method and fill tell how it was eliminated.

    Raises:
        NotPositiveDefinite: with the row whose pivot is not positive. A LinAlgError.
        ArgumentMismatch: A is dense, or not symmetric.
        ShapeMismatch: A is not square.
        TrackedValueEscaped: entries are tracked; td.sparse.spsolve takes these.

    Cost: for a chain or a tree linear in n; for a lattice of n points about 8 n log n entries and n**1.5 operations. Memory in proportion
        to the entries of L. The first factorisation on a machine compiles for some seconds, for numba's cache; the first of a process
        loads numba.
    Source: Davis (2006), Direct Methods for Sparse Linear Systems, chapters 4 and 7.

    ```python
    Q = scipy.sparse.diags_array([-1.0, 2.1, -1.0], offsets=[-1, 0, 1], shape=(1000, 1000))
    F = td.sparse.cholesky(Q)
    mean = F.solve(np.ones(1000))
    variances = F.inverse_entries().diagonal()
    ```
    """
    matrix = as_sparse(A)
    if is_tracked(matrix.data):
        raise TrackedValueEscaped("td.sparse.cholesky takes plain entries", got=repr(matrix),
                                  fix="td.sparse.spsolve(A, b), which is recorded")  # fmt: skip
    n, width = matrix.shape
    if n != width:
        raise ShapeMismatch("a Cholesky factorisation is of a square matrix", got=repr(A.shape))
    p = matrix.pattern
    given = matrix_of(np.asarray(matrix.data, float), p.columns, p.starts, n)
    stored, difference = ((given + given.T) * 0.5).tocsr(), abs(given - given.T)
    if n and difference.max() > ROUNDING * abs(stored).max():
        raise ArgumentMismatch("a Cholesky factorisation is of a symmetric matrix", got=f"triangles that differ by {difference.max():.3g}",
                               fix="give both triangles")  # fmt: skip
    stored.sum_duplicates()
    return Cholesky(analysed(Pattern(stored.indices, stored.indptr, (n, n))), stored.data)
