"""Groups columns of a sparse matrix that one product with a vector can find: no two of a group share a row."""

from __future__ import annotations

import numpy as np

from .sparsity_rules import Pattern

# Limit on the pairs of entries in one row that a greedy colouring visits, in about a second.
MOST_PAIRS = 8_000_000

# Cyclic colours k % n are tried before a greedy colouring, for n up to so many more than the longest row has entries.
TURNS = 3


def column_colors(pattern: Pattern) -> np.ndarray | None:
    """Return a colour for each column; columns that share a row differ. None if that takes too long.

    Cost: for banded matrices one look at each entry, otherwise the number of pairs of entries that share a row.
    Source: Curtis, Powell and Reid (1974), IMA Journal of Applied Mathematics 13(1); greedy in the order of the columns.
    """
    longest = int(np.diff(pattern.indptr).max(initial=0))
    columns = np.arange(pattern.shape[1])
    for count in range(max(longest, 1), longest + TURNS + 1):
        if _is_valid(pattern, columns % count):
            return columns % count
    lengths = np.diff(pattern.indptr).astype(np.int64)
    return None if int((lengths**2).sum()) > MOST_PAIRS else _greedy(pattern)


def _is_valid(pattern: Pattern, colors: np.ndarray) -> bool:
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    keys = np.sort(rows * (int(colors.max(initial=0)) + 1) + colors[pattern.indices])
    return not (keys[1:] == keys[:-1]).any()


def _greedy(pattern: Pattern) -> np.ndarray:
    by_column = pattern.tocsc()
    colors = np.full(pattern.shape[1], -1)
    rows = [pattern.indices[a:b] for a, b in zip(pattern.indptr, pattern.indptr[1:])]
    for column, (a, b) in enumerate(zip(by_column.indptr, by_column.indptr[1:])):
        taken = set().union(*(colors[rows[r]].tolist() for r in by_column.indices[a:b]))
        color = 0
        while color in taken:
            color += 1
        colors[column] = color
    return colors


def symmetric_colors(pattern: Pattern) -> np.ndarray | None:
    """Colours for a symmetric matrix: a row of many entries gets a colour of its own, and its entries are read from its column.

    Two entries of a row may share a colour only if one of them is known from the other triangle, as in a star colouring.

    Returns:
        As column_colors. With h the columns with a unique colour, entry (i, j) is found at row i of the product for the colour of j, unless
        row i is in h; then it is entry (j, i).

    Source: after Gebremedhin, Manne and Pothen (2005), SIAM Review 47(4), section 4.
    """
    import scipy.sparse

    degrees = np.diff(pattern.indptr)
    order = np.argsort(-degrees, kind="stable")
    n = len(order)
    # With the k longest rows set aside, at least as many colours are needed as the longest other row has entries.
    k = int(np.argmin(np.arange(n) + degrees[order])) if n else 0
    if k == 0:
        return column_colors(pattern)
    is_hub = np.zeros(n, bool)
    is_hub[order[:k]] = True
    rows = np.repeat(np.arange(n), degrees)
    kept = ~is_hub[rows] & ~is_hub[pattern.indices]
    rest = scipy.sparse.csr_array((np.ones(kept.sum(), bool), (rows[kept], pattern.indices[kept])), pattern.shape)
    colors = column_colors(rest)
    if colors is None:
        return None
    used = np.unique(colors[~is_hub], return_inverse=True)[1]
    result = np.empty(n, np.int64)
    result[~is_hub] = used
    result[order[:k]] = int(used.max(initial=-1)) + 1 + np.arange(k)
    return result
