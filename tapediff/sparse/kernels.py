"""The loops of the sparse factorisation L D L^T, compiled by numba; imported when the first matrix is factorised.

Matrices are in compressed columns: `starts`, `rows`. L has ones on its diagonal, which are not stored; within a column its rows ascend.

Source: Davis (2005), ACM Transactions on Mathematical Software 31(4) (L D L^T row by row); Erisman and Tinney (1975), Communications of the
    ACM 18(3) (the inverse on the pattern of L).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

# The relative size of a pivot that is not told from zero.
ROUNDING = 1e-14

Function = TypeVar("Function", bound=Callable[..., object])


def _compiled(function: Function) -> Function:
    made: Any = numba.njit(cache=True, nogil=True, error_model="numpy")(function)  # with the function's types, which numba's does not say
    return made


@_compiled
def symbolic(starts: np.ndarray, rows: np.ndarray, parents: np.ndarray, counts: np.ndarray, limit: int) -> int:
    """Write the elimination tree and the entries in each column of L; return their sum, or -1 beyond the limit.

    `starts`, `rows`: the entries above the diagonal, by column.
    """
    n, total = len(parents), 0
    seen = np.empty(n, np.int64)
    for k in range(n):
        parents[k], counts[k], seen[k] = -1, 0, k
        for p in range(starts[k], starts[k + 1]):
            i = rows[p]
            while seen[i] != k:
                if parents[i] == -1:
                    parents[i] = k
                counts[i] += 1
                total += 1
                seen[i] = k
                i = parents[i]
        if total > limit:
            return -1
    return total


@_compiled
def pattern(starts: np.ndarray, rows: np.ndarray, parents: np.ndarray, l_starts: np.ndarray, l_rows: np.ndarray) -> None:
    """Write the row of each entry of L."""
    n = len(parents)
    seen, ends = np.empty(n, np.int64), l_starts[:n].copy()
    for k in range(n):
        seen[k] = k
        for p in range(starts[k], starts[k + 1]):
            i = rows[p]
            while seen[i] != k:
                l_rows[ends[i]] = k
                ends[i] += 1
                seen[i] = k
                i = parents[i]


@_compiled
def positions(l_starts: np.ndarray, l_rows: np.ndarray, columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The position in L of each entry (row, column), row > column, by bisection."""
    found = np.empty(len(rows), np.int64)
    for e in range(len(rows)):
        low, high = l_starts[columns[e]], l_starts[columns[e] + 1]
        while high - low > 1:
            middle = (low + high) // 2
            if l_rows[middle] <= rows[e]:
                low = middle
            else:
                high = middle
        found[e] = low
    return found


@_compiled
def numeric(
    starts: np.ndarray, rows: np.ndarray, values: np.ndarray, diagonal: np.ndarray, parents: np.ndarray,
    l_starts: np.ndarray, l_rows: np.ndarray, l_values: np.ndarray, d: np.ndarray,
) -> int:  # fmt: skip
    """Write L and D; return the first column whose pivot is not positive beyond rounding, or -1. Row by row, each from those before."""
    n = len(parents)
    seen, ends = np.full(n, -1, np.int64), l_starts[:n].copy()
    way, stack, y = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(n)
    for k in range(n):
        top = n
        seen[k] = k
        for p in range(starts[k], starts[k + 1]):  # the columns of this row, in an order that the tree allows
            i = rows[p]
            y[i] += values[p]
            length = 0
            while seen[i] != k:
                way[length] = i
                length += 1
                seen[i] = k
                i = parents[i]
            while length > 0:
                length -= 1
                top -= 1
                stack[top] = way[length]
        pivot = diagonal[k]
        for s in range(top, n):
            i = stack[s]
            y_i = y[i]
            y[i] = 0.0
            for p in range(l_starts[i], ends[i]):
                y[l_rows[p]] -= l_values[p] * y_i
            l_values[ends[i]] = y_i / d[i]
            pivot -= l_values[ends[i]] * y_i
            ends[i] += 1
        d[k] = pivot
        if not ROUNDING * abs(diagonal[k]) < pivot < np.inf:
            return k
    return -1


@_compiled
def forward(l_starts: np.ndarray, l_rows: np.ndarray, l_values: np.ndarray, b: np.ndarray) -> None:
    """Replace each row of b by the solution of L x = b."""
    for c in range(b.shape[0]):
        x = b[c]
        for j in range(len(x)):
            x_j = x[j]
            if x_j != 0.0:
                for p in range(l_starts[j], l_starts[j + 1]):
                    x[l_rows[p]] -= l_values[p] * x_j


@_compiled
def backward(l_starts: np.ndarray, l_rows: np.ndarray, l_values: np.ndarray, b: np.ndarray) -> None:
    """Replace each row of b by the solution of L^T x = b."""
    for c in range(b.shape[0]):
        x = b[c]
        for j in range(len(x) - 1, -1, -1):
            x_j = x[j]
            for p in range(l_starts[j], l_starts[j + 1]):
                x_j -= l_values[p] * x[l_rows[p]]
            x[j] = x_j


@_compiled
def inverse(
    l_starts: np.ndarray, l_rows: np.ndarray, l_values: np.ndarray, d: np.ndarray, z: np.ndarray, diagonal: np.ndarray
) -> None:
    """Write the entries of (L D L^T)^-1 below the diagonal, where L has entries, and those on it; from the last column to the first."""
    n = len(d)
    column, sums = np.zeros(n), np.zeros(n)
    for j in range(n - 1, -1, -1):
        first, last = l_starts[j], l_starts[j + 1]
        for p in range(first, last):
            column[l_rows[p]] = l_values[p]
            sums[l_rows[p]] = 0.0
        for p in range(first, last):  # sums = Z L_j; rows of column k that L_j does not have are multiplied by zero, and not read
            k = l_rows[p]
            l_k, sum_k = l_values[p], diagonal[k] * l_values[p]
            for q in range(l_starts[k], l_starts[k + 1]):
                i = l_rows[q]
                sums[i] += z[q] * l_k
                sum_k += z[q] * column[i]
            sums[k] += sum_k
        total = 1.0 / d[j]
        for p in range(first, last):
            i = l_rows[p]
            z[p] = -sums[i]
            total += l_values[p] * sums[i]
            column[i] = 0.0
        diagonal[j] = total
