"""Factors and solves of band matrices, which are stored by diagonals as in SciPy: entry (i, j) in row upper + i - j, column j.

Factors have a row for each row of the matrix, of 2 lower + upper + 2 numbers: the inverse of the pivot; the entries of the upper factor
to the right of it; the multipliers of the rows below it; and how many rows below the pivot was found, or -1 where there is none.
"""

from __future__ import annotations

import numpy as np

from ...ir.instruction import Operand, ValueType
from ..declaration.op import Op
from .linear_algebra import require, where_regular


def transposed_bands(ab: np.ndarray, lower: int, upper: int) -> np.ndarray:
    """The diagonals of the transpose."""
    n, width = ab.shape[1], lower + upper + 1
    padded = np.concatenate([np.zeros((width, lower)), ab, np.zeros((width, upper))], axis=1)
    return np.stack([padded[width - 1 - k, k : k + n] for k in range(width)])


def mirrored(ab: Operand, lower: bool) -> Operand:
    """All diagonals of the symmetric matrix with these ones below (or above) the main one."""
    count, n = ab.shape[0] - 1, ab.shape[1]
    others = []
    for distance in range(1, count + 1):
        row = ab[distance if lower else count - distance]
        gap = np.zeros(min(distance, n))
        others.append(np.concatenate([gap, row[: max(n - distance, 0)]] if lower else [row[distance:], gap]))
    return np.concatenate([np.stack(others[::-1]), ab] if lower else [ab, np.stack(others)]) if count else ab


@np.errstate(all="ignore")
def _factors(ab: np.ndarray, lower: int, upper: int, definite: bool) -> np.ndarray:
    """LAPACK's factors, by rows. Of a definite matrix L D L^T, without exchanges."""
    from scipy.linalg.lapack import get_lapack_funcs

    n, width = ab.shape[1], lower + upper + 1
    rows, places = np.arange(n), np.arange(width)
    result = np.zeros((n, width + lower + 1))
    if n == 0:
        return result
    if definite:
        (factorise,) = get_lapack_funcs(("pbtrf",), (ab,))
        found, failure = factorise(ab[upper:], lower=True)
        pivots, below = found[0] ** 2, found[1:] / found[0]
        result[:, 1 : lower + 1] = (below * pivots).T
        result[:, width : width + lower] = below.T
    else:
        (factorise,) = get_lapack_funcs(("gbtrf",), (ab,))
        found, exchanged, failure = factorise(np.concatenate([np.zeros((lower, n)), ab]), lower, upper)
        columns = rows[:, None] + places
        inside = np.minimum(columns, n - 1)
        result[:, :width] = np.where(columns < n, found[lower + upper - places, inside], 0.0)
        result[:, width : width + lower] = found[width : width + lower].T
        result[:, -1] = exchanged - rows
        pivots = result[:, 0].copy()
    below = np.arange(1, lower + 1)
    result[:, width : width + lower][rows[:, None] + below >= n] = 0.0
    if definite:
        result[:, 1 : lower + 1][rows[:, None] + below >= n] = 0.0
    result[:, 0] = 1.0 / pivots
    if failure:
        result[failure - 1, -1] = -1.0
    return result


BAND_FACTOR = Op(
    "band_factor",
    evaluate=_factors,
    infer=lambda ab, lower, upper, definite: ValueType((ab.shape[1], 2 * lower + upper + 2), ab.dtype),
    # Nothing is differentiated through the factors: the solution states its derivative in the matrix itself.
    vjp=(None,),
    params=("lower", "upper", "definite"),
    lower=lambda low, i: low.band_factor(i),
    lapack=True,
    exact=True,
    examples=lambda rng: [
        # Where the pivots were found is constant; the factors are tested by what they solve.
        (lambda ab, p=params: BAND_FACTOR(ab, lower=p[0], upper=p[1], definite=False)[:, -1], (rng.normal(size=(sum(params) + 1, n)),))
        for n, *params in ((1, 1, 1), (5, 2, 1), (6, 0, 2), (40, 9, 3))
    ],
)


def _solution(
    ab: np.ndarray, factors: np.ndarray, b: np.ndarray, lower: int, upper: int, definite: bool, transposed: bool
) -> np.ndarray:
    from scipy.linalg import solve_banded, solveh_banded

    if b.size == 0:
        return np.zeros(b.shape)
    if definite:
        # SciPy takes no diagonals outside a matrix of one row.
        return solveh_banded(ab[upper : upper + min(lower + 1, len(b))], b, lower=True, check_finite=False)
    if transposed:
        ab, lower, upper = transposed_bands(ab, lower, upper), upper, lower
    return solve_banded((lower, upper), ab, b, check_finite=False)


def _products(left: Operand, right: Operand, lower: int, upper: int) -> Operand:
    """The diagonals of left right^T."""
    n, count = left.shape
    padded = np.concatenate([np.zeros((upper, count)), left, np.zeros((lower, count))])
    # Row r holds the entries (j + r - upper, j).
    return np.stack([np.sum(padded[r : r + n] * right, axis=1) for r in range(lower + upper + 1)])


def _bands_rule(
    z_bar: Operand, z: Operand, ab: Operand, factors: Operand, b: Operand, lower: int, upper: int, definite: bool, transposed: bool
) -> Operand:
    """-b_bar z^T (or its transpose), on the diagonals. In a definite matrix both of an entry's places count, each once."""
    how = {"lower": lower, "upper": upper, "definite": definite}
    b_bar = BAND_SOLVE(ab, factors, z_bar, **how, transposed=not transposed)
    left, right = (z, b_bar) if transposed else (b_bar, z)
    if len(z.shape) == 1:
        left, right = left[:, None], right[:, None]
    return -_products(left, right, lower, upper)


def regular_band_factors(ab: Operand, factors: Operand, lower: int, upper: int, definite: bool) -> tuple[Operand, Operand]:
    """A matrix and its factors, known to be regular (or definite); raise if they are not."""
    regular = np.all(factors[:, -1] >= 0.0)
    require(regular, "the matrix is not positive definite" if definite else "singular matrix")
    one = np.zeros(ab.shape)
    one[upper] = 1.0
    return where_regular(regular, ab, one), where_regular(regular, factors, _factors(one, lower, upper, definite))


def _checked_solution(ab: Operand, factors: Operand, b: Operand, lower: int, upper: int, definite: bool, transposed: bool) -> Operand:
    known = regular_band_factors(ab, factors, lower, upper, definite)
    return BAND_SOLVE(*known, b, lower=lower, upper=upper, definite=definite, transposed=transposed)


def _solved_again(ab: Operand, b: Operand, lower: int, upper: int, transposed: bool) -> Operand:
    how = {"lower": lower, "upper": upper, "definite": False}
    return BAND_SOLVE(ab, BAND_FACTOR(ab, **how), b, **how, transposed=transposed)


def _solved_definite(ab: Operand, b: Operand, is_lower: bool) -> Operand:
    count = ab.shape[0] - 1
    how = {"lower": count, "upper": count, "definite": True}
    ab = mirrored(ab, is_lower)
    return BAND_SOLVE(ab, BAND_FACTOR(ab, **how), b, **how, transposed=False)


def _dominant(rng: np.random.Generator, n: int, count: int, main: int) -> np.ndarray:
    """Diagonals of a definite matrix, for the tests."""
    ab = rng.uniform(-1.0, 1.0, size=(count + 1, n))
    ab[main] += 2.0 * count + 1.5
    return ab


BAND_SOLVE = Op(
    "band_solve",
    evaluate=_solution,
    infer=lambda ab, factors, b, lower, upper, definite, transposed: b,
    vjp=(
        _bands_rule,
        None,
        lambda z_bar, z, ab, factors, b, lower, upper, definite, transposed: BAND_SOLVE(
            ab, factors, z_bar, lower=lower, upper=upper, definite=definite, transposed=not transposed
        ),
    ),
    params=("lower", "upper", "definite", "transposed"),
    lower=lambda low, i: low.band_solve(i),
    lapack=True,
    raises=True,
    checked=_checked_solution,
    examples=lambda rng: [
        (lambda ab, b, p=(*params, transposed): _solved_again(ab, b, *p), (rng.normal(size=(sum(params) + 1, n)), rng.normal(size=(n, *k))))
        for transposed in (False, True)
        for n, k, *params in ((1, (), 1, 1), (5, (), 1, 1), (6, (2,), 2, 1), (6, (), 0, 2), (14, (11,), 9, 3))
    ]
    + [
        (lambda ab, b, low=low: _solved_definite(ab, b, low), (_dominant(rng, n, count, 0 if low else count), rng.normal(size=(n, *k))))
        for low in (False, True)
        for n, k, count in ((1, (), 1), (6, (), 1), (5, (2,), 2), (14, (), 9))
    ],
)

OPS = (BAND_FACTOR, BAND_SOLVE)
