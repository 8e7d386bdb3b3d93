"""The order of elimination of a sparse symmetric matrix, by counted fill, and what depends on the pattern alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from types import ModuleType

import numpy as np

from ..ops.matrices.sparse import Scipys, matrix_of
from .arrays import Pattern

# An order is dropped while its entries are counted if it has this many times those of the matrix, before another is known.
HOPELESS = 4
MOST_ENTRIES = 2**40
# Off the diagonal of a matrix whose pattern alone matters, so that an incomplete factorisation drops them.
SMALL = 1e-9
# An order whose L has at most this many times the entries of the matrix is taken, without a look at the others.
LITTLE_FILL = 1.05
# Rows with more entries than this many times the root of their number are eliminated last: minimum degree takes quadratic time with them.
DENSE_ROW = 10.0


def kernels() -> ModuleType:
    """The compiled loops; numba is imported here, when the first matrix is factorised."""
    return import_module(".kernels", __package__)


@dataclass(frozen=True, eq=False)
class Analysis:
    """The symbolic part of a factorisation, for all matrices of a pattern; see analysed.

    Attributes:
        pattern: of the matrix, both triangles, without repeated positions.
        method: the name of the order.
        order, places: of each pivot, its row in the matrix; and of each row, its pivot.
        starts, rows: the entries above the diagonal of the matrix in this order, by column.
        parents: the elimination tree; -1 for a root.
        l_starts, l_rows: the entries of L below the diagonal, by column.
    """

    pattern: Pattern
    method: str
    order: np.ndarray
    places: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    parents: np.ndarray
    l_starts: np.ndarray
    l_rows: np.ndarray
    _sources: np.ndarray

    @property
    def fill(self) -> int:
        """The entries of L that the matrix does not have."""
        return len(self.l_rows) - len(self.rows)

    @cached_property
    def checksum(self) -> int:
        """Of the pattern."""
        return self.pattern.checksum

    def above_diagonal(self, entries: np.ndarray) -> np.ndarray:
        """The matrix's entries for `rows`."""
        return entries[self._sources]

    def on_diagonal(self, entries: np.ndarray) -> np.ndarray:
        """The diagonal in the order of elimination; zero where the pattern has no entry."""
        row, source = self._diagonal
        found = np.zeros(len(self.order))
        found[self.places[row]] = entries[source]
        return found

    @cached_property
    def _diagonal(self) -> tuple[np.ndarray, np.ndarray]:
        rows = self.pattern.rows
        (source,) = np.nonzero(rows == self.pattern.columns)
        return rows[source], source

    @cached_property
    def positions(self) -> np.ndarray:
        """Of each entry of the pattern: its position in (entries of L, diagonal)."""
        one, other = self.places[self.pattern.rows], self.places[self.pattern.columns]
        below = kernels().positions(self.l_starts, self.l_rows, np.minimum(one, other), np.maximum(one, other))
        return np.where(one == other, len(self.l_rows) + one, below)


def analysed(pattern: Pattern) -> Analysis:
    """Choose the order with the fewest entries in L among the matrix's own, reverse Cuthill-McKee and minimum degree.

    Cost: in proportion to the entries of the best L, and of a few times the matrix.
    """
    best, limit = None, HOPELESS * len(pattern.columns)
    for method, order_of in _ORDERS.items():
        found = _Counted(pattern, method, order_of(pattern))
        if found.count(limit):
            best, limit = found, found.total
            if found.total <= LITTLE_FILL * len(found.rows):
                break
        elif best is None:
            limit = MOST_ENTRIES
    assert best is not None, "the last orders have no limit unless one is known"
    return best.analysis()


class _Counted:
    """A matrix in an order, and the entries of its factor."""

    def __init__(self, pattern: Pattern, method: str, order: np.ndarray) -> None:
        n = len(order)
        self.pattern, self.method, self.order = pattern, method, order
        self.places = np.empty(n, np.int64)
        self.places[order] = np.arange(n)
        rows, columns = self.places[pattern.rows], self.places[pattern.columns]
        (above,) = np.nonzero(rows < columns)
        self.sources = above[np.lexsort((rows[above], columns[above]))]
        self.rows = rows[self.sources]
        self.starts = np.searchsorted(columns[self.sources], np.arange(n + 1))
        self.parents, self._counts = np.empty(n, np.int64), np.empty(n, np.int64)
        self.total = -1

    def count(self, limit: int) -> bool:
        """Count the entries of L in each column; False if there are more than the limit."""
        self.total = kernels().symbolic(self.starts, self.rows, self.parents, self._counts, limit)
        return self.total >= 0

    def analysis(self) -> Analysis:
        l_starts = np.concatenate([[0], np.cumsum(self._counts)])
        l_rows = np.empty(self.total, np.int64)
        kernels().pattern(self.starts, self.rows, self.parents, l_starts, l_rows)
        return Analysis(self.pattern, self.method, self.order, self.places, self.starts, self.rows, self.parents, l_starts, l_rows,
                        self.sources)  # fmt: skip


def _own(pattern: Pattern) -> np.ndarray:
    return np.arange(pattern.shape[0])


def _dense_rows_last(order_of: Callable[[Scipys], np.ndarray]) -> Callable[[Pattern], np.ndarray]:
    def order(pattern: Pattern) -> np.ndarray:
        n = pattern.shape[0]
        is_dense = np.diff(pattern.starts) > DENSE_ROW * np.sqrt(n) + 10.0
        (sparse,), (dense,) = np.nonzero(~is_dense), np.nonzero(is_dense)
        matrix = matrix_of(np.full(len(pattern.columns), SMALL), pattern.columns, pattern.starts, n)
        return np.concatenate([sparse[order_of(matrix[sparse][:, sparse])], dense])

    return order


def _minimum_degree(matrix: Scipys) -> np.ndarray:
    """SuperLU's order, by way of an incomplete factorisation that keeps the diagonal only."""
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import spilu

    matrix = (matrix + eye_array(matrix.shape[0])).tocsc()
    made = spilu(matrix, drop_tol=1.0, fill_factor=1.0, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0)
    return np.argsort(made.perm_c)


def _reverse_cuthill_mckee(matrix: Scipys) -> np.ndarray:
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    return reverse_cuthill_mckee(matrix, symmetric_mode=True).astype(np.int64)


_ORDERS: dict[str, Callable[[Pattern], np.ndarray]] = {
    "own": _own, "reverse Cuthill-McKee": _dense_rows_last(_reverse_cuthill_mckee),
    "minimum degree": _dense_rows_last(_minimum_degree),
}  # fmt: skip
