"""Bijections from unconstrained vectors to constrained values, each with the logarithm of its Jacobian determinant.

They are Stan's (Stan Development Team, Stan Reference Manual 2.35, "Constraint Transforms"), so unconstrained points can be
compared. All take leading axes, which hold independent values: a simplex of shape (10, 3) is ten simplexes. Functions of the unconstrained
vector use recorded operations; those of the constrained value run on plain arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, wraps
from typing import ParamSpec, TypeAlias

import numpy as np

from .. import special

# Plain or tracked.
Array: TypeAlias = np.ndarray
Shape: TypeAlias = tuple[int, ...]
P = ParamSpec("P")

# The tolerance of sums and symmetries of given values, as Stan's: they come from files and printed tables.
TOLERANCE = 1e-8


@dataclass(frozen=True, slots=True)
class Transform:
    """One kind of constraint.

    Attributes:
        name: for users.
        constrain: u, of the unconstrained shape, to (x, log |det dx/du|), the sum over all values.
        unconstrain: the inverse, of plain arrays within the support.
        violation: describes an invalid plain array; None for a valid one.
        unconstrained_shape: for the shape of a value; raises ValueError for an impossible shape.
        source: the function below that made it, and its arguments: what a pickle stores.
    """

    name: str
    constrain: Callable[[Array], tuple[Array, Array | float]]
    unconstrain: Callable[[Array], Array]
    violation: Callable[[Array], str | None]
    unconstrained_shape: Callable[[Shape], Shape]
    source: tuple[str, tuple[object, ...]] = ("", ())

    def __reduce__(self) -> tuple[object, ...]:
        return _made_again, self.source


def _made_again(name: str, args: tuple[object, ...]) -> Transform:
    return globals()[name](*args)


def _noting_source(make: Callable[P, Transform]) -> Callable[P, Transform]:
    @wraps(make)
    def made(*args: P.args, **named: P.kwargs) -> Transform:
        return replace(make(*args, **named), source=(make.__name__, args))

    return made


# Numbers


@_noting_source
def identity() -> Transform:
    return Transform("real", lambda u: (u, 0.0), lambda x: x, lambda x: None, lambda shape: shape)


@_noting_source
def above(bound: Array, name: str = "lower") -> Transform:
    """x = bound + exp(u)."""
    return Transform(
        name,
        lambda u: (bound + np.exp(u), np.sum(u)),
        lambda x: np.log(x - bound),
        lambda x: None if np.all(x > bound) else f"not above {bound}",
        lambda shape: shape,
    )  # fmt: skip


@_noting_source
def below(bound: Array) -> Transform:
    """x = bound - exp(u)."""
    return Transform(
        "upper",
        lambda u: (bound - np.exp(u), np.sum(u)),
        lambda x: np.log(bound - x),
        lambda x: None if np.all(x < bound) else f"not below {bound}",
        lambda shape: shape,
    )  # fmt: skip


@_noting_source
def between(low: Array, high: Array) -> Transform:
    """x = low + (high - low) expit(u)."""
    return Transform(
        "interval",
        lambda u: (low + (high - low) * special.expit(u), np.sum(_log_expit(u) + _log_expit(-u) + np.log(high - low))),
        lambda x: special.logit((x - low) / (high - low)),
        lambda x: None if np.all((low < x) & (x < high)) else f"not between {low} and {high}",
        lambda shape: shape,
    )  # fmt: skip


def _log_expit(u: Array) -> Array:
    return special.log_expit(u)


# Vectors, along the last axis


@_noting_source
def ordered() -> Transform:
    """x_0 = u_0, x_k = x_(k-1) + exp(u_k)."""
    return Transform(
        "ordered",
        lambda u: (np.cumsum(np.concatenate([u[..., :1], np.exp(u[..., 1:])], axis=-1), axis=-1), np.sum(u[..., 1:])),
        lambda x: np.concatenate([x[..., :1], np.log(np.diff(x, axis=-1))], axis=-1),
        lambda x: None if np.all(np.diff(x, axis=-1) > 0) else "not in increasing order",
        _vector(0),
    )  # fmt: skip


@_noting_source
def positive_ordered() -> Transform:
    """x = cumsum(exp(u))."""
    return Transform(
        "positive_ordered",
        lambda u: (np.cumsum(np.exp(u), axis=-1), np.sum(u)),
        lambda x: np.log(np.diff(x, axis=-1, prepend=0.0)),
        lambda x: None if np.all(np.diff(x, axis=-1, prepend=0.0) > 0) else "not positive and in increasing order",
        _vector(0),
    )  # fmt: skip


@_noting_source
def simplex() -> Transform:
    """Stick breaking: x_k takes the part expit(u_k - log(K - 1 - k)) of the remainder; u = 0 is the centre."""

    def constrain(u: Array) -> tuple[Array, Array | float]:
        v = u - np.log(np.arange(u.shape[-1], 0, -1.0))
        log_part, log_rest = _log_expit(v), _log_expit(-v)
        log_left = np.concatenate(
            [np.zeros((*u.shape[:-1], 1)), np.cumsum(log_rest, axis=-1)], axis=-1
        )  # before each part, and at the end
        x = np.concatenate([np.exp(log_part + log_left[..., :-1]), np.exp(log_left[..., -1:])], axis=-1)
        return x, np.sum(log_part + log_left[..., 1:])

    def unconstrain(x: Array) -> Array:
        left = np.cumsum(x[..., ::-1], axis=-1)[..., ::-1]
        return np.log(x[..., :-1]) - np.log(left[..., 1:]) + np.log(np.arange(x.shape[-1] - 1, 0, -1.0))

    def violation(x: Array) -> str | None:
        return (
            None
            if np.all(x > 0) and np.allclose(x.sum(axis=-1), 1.0, rtol=0, atol=TOLERANCE)
            else "not positive with sum 1"
        )

    return Transform("simplex", constrain, unconstrain, violation, _vector(-1))


@_noting_source
def unit_vector() -> Transform:
    """x = u / |u|. The length of u has a standard normal's distribution, which replaces the log-Jacobian."""
    return Transform(
        "unit_vector",
        lambda u: (u / np.sqrt(np.sum(u**2, axis=-1, keepdims=True)), -0.5 * np.sum(u**2)),
        lambda x: x,
        lambda x: None if np.allclose(np.sum(x**2, axis=-1), 1.0, rtol=0, atol=TOLERANCE) else "not of length 1",
        _vector(0),
    )  # fmt: skip


@_noting_source
def zero_sum() -> Transform:
    """x = B u, where the columns of B are orthonormal and sum to zero (Helmert's): the log-Jacobian is 0."""

    def constrain(u: Array) -> tuple[Array, float]:
        k = np.arange(1.0, u.shape[-1] + 1.0)
        w = u / np.sqrt(k * (k + 1.0))
        zero = np.zeros((*u.shape[:-1], 1))
        later = np.cumsum(w[..., ::-1], axis=-1)[..., ::-1]
        return np.concatenate([later, zero], axis=-1) - np.concatenate([zero, k * w], axis=-1), 0.0

    def unconstrain(x: Array) -> Array:
        k = np.arange(1.0, x.shape[-1])
        return (np.cumsum(x, axis=-1)[..., :-1] - k * x[..., 1:]) / np.sqrt(k * (k + 1.0))

    def violation(x: Array) -> str | None:
        return (
            None
            if np.allclose(x.sum(axis=-1), 0.0, rtol=0, atol=TOLERANCE * max(1.0, np.abs(x).max(initial=0.0)))
            else "not of sum 0"
        )

    return Transform("zero_sum", constrain, unconstrain, violation, _vector(-1))


def _vector(more: int) -> Callable[[Shape], Shape]:
    """The unconstrained shape of vectors: `more` entries more in the last axis."""

    def of(shape: Shape) -> Shape:
        if not shape or shape[-1] < 1:
            raise ValueError("needs a last axis of at least 1")
        return (*shape[:-1], shape[-1] + more)

    return of


# Matrices, in the last two axes


@_noting_source
def cholesky_corr() -> Transform:
    """L with unit rows and a positive diagonal, so that L @ L.T is a correlation matrix.

    Source: Lewandowski, Kurowicka and Joe (2009), J. Multivariate Analysis 100: z = tanh(u) are canonical partial correlations, row by row.
    """
    return Transform(
        "cholesky_corr", _correlation_factor, _partial_correlations, _no_correlation_factor, _below_diagonal
    )


@_noting_source
def corr_matrix() -> Transform:
    """L @ L.T of a cholesky_corr L."""

    def constrain(u: Array) -> tuple[Array, Array]:
        factor, log_jacobian = _correlation_factor(u)
        size = factor.shape[-1]
        # Row by row, d(L @ L.T)_ij / dL_ij = L_jj for i > j.
        diagonal = np.diagonal(factor, axis1=-2, axis2=-1)
        return factor @ np.swapaxes(factor, -1, -2), log_jacobian + np.sum(
            np.arange(size - 1.0, -1.0, -1.0) * np.log(diagonal)
        )

    def violation(x: Array) -> str | None:
        is_unit = np.allclose(np.diagonal(x, axis1=-2, axis2=-1), 1.0, rtol=0, atol=TOLERANCE)
        return _not_positive_definite(x) if is_unit else "without 1 on its diagonal"

    return Transform(
        "corr_matrix", constrain, lambda x: _partial_correlations(np.linalg.cholesky(x)), violation, _below_diagonal
    )


@_noting_source
def cov_matrix() -> Transform:
    """L @ L.T, where u is the lower triangle of L row by row, with the logarithm of its diagonal."""

    def constrain(u: Array) -> tuple[Array, Array]:
        index, size = _triangle(u.shape[-1], 0)
        entries = _in_matrix(u, index)
        log_diagonal = np.diagonal(entries, axis1=-2, axis2=-1)
        factor = np.where(np.eye(size, dtype=bool), np.exp(np.where(np.eye(size, dtype=bool), entries, 0.0)), entries)
        values = np.prod(u.shape[:-1], dtype=int)
        # Column by column, d(L @ L.T)_ij / dL_ij = L_jj, twice that on the diagonal; and exp once.
        log_jacobian = size * values * np.log(2.0) + np.sum(np.arange(size + 1.0, 1.0, -1.0) * log_diagonal)
        return factor @ np.swapaxes(factor, -1, -2), log_jacobian

    def unconstrain(x: Array) -> Array:
        factor, rows = np.linalg.cholesky(x), np.tril_indices(x.shape[-1])
        is_diagonal = np.eye(x.shape[-1], dtype=bool)
        return np.where(is_diagonal, np.log(np.where(is_diagonal, factor, 1.0)), factor)[..., rows[0], rows[1]]

    return Transform(
        "cov_matrix",
        constrain,
        unconstrain,
        _not_positive_definite,
        lambda shape: (*shape[:-2], _square(shape) * (shape[-1] + 1) // 2),
    )


def _correlation_factor(u: Array) -> tuple[Array, Array]:
    index, size = _triangle(u.shape[-1], -1)
    v = _in_matrix(u, index)
    # log(1 - tanh(v)^2) without cancellation; 0 where v is the padding's 0.
    log_rest = np.log(4.0) + _log_expit(2.0 * v) + _log_expit(-2.0 * v)
    log_left = np.cumsum(log_rest, axis=-1) - log_rest  # the remainder of the row's unit length, to the left of each entry
    parts = np.tanh(v) + np.eye(size)
    is_below = np.tri(size, k=-1)
    return parts * np.exp(0.5 * log_left), np.sum(is_below * (log_rest + 0.5 * log_left))


def _partial_correlations(factor: Array) -> Array:
    left = 1.0 - np.cumsum(factor**2, axis=-1) + factor**2
    rows = np.tril_indices(factor.shape[-1], -1)
    return np.arctanh((factor / np.sqrt(np.where(left > 0, left, 1.0)))[..., rows[0], rows[1]])


def _no_correlation_factor(x: Array) -> str | None:
    is_lower, is_positive = np.array_equal(x, np.tril(x)), np.all(np.diagonal(x, axis1=-2, axis2=-1) > 0)
    is_unit = np.allclose(np.sum(x**2, axis=-1), 1.0, rtol=0, atol=TOLERANCE)
    return (
        None
        if is_lower and is_positive and is_unit
        else "not lower triangular with rows of length 1 and a positive diagonal"
    )


def _not_positive_definite(x: Array) -> str | None:
    if not np.allclose(x, np.swapaxes(x, -1, -2), rtol=0, atol=TOLERANCE * max(1.0, np.abs(x).max(initial=0.0))):
        return "not symmetric"
    try:
        np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        return "not positive definite"
    return None


def _square(shape: Shape) -> int:
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < 1:
        raise ValueError("needs the last two axes to be those of a square matrix")
    return shape[-1]


def _below_diagonal(shape: Shape) -> Shape:
    size = _square(shape)
    return (*shape[:-2], size * (size - 1) // 2)


@lru_cache(maxsize=64)
def _triangle(count: int, k: int) -> tuple[Array, int]:
    """The index of each matrix entry in the row-by-row vector of the triangle, `count` outside; and the matrix's size."""
    size = round((np.sqrt(8 * count + 1) - 1) / 2) - k
    index = np.full((size, size), count)
    index[np.tril_indices(size, k)] = np.arange(count)
    return index, size


def _in_matrix(u: Array, index: Array) -> Array:
    return np.concatenate([u, np.zeros((*u.shape[:-1], 1))], axis=-1)[..., index]
