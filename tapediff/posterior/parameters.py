"""Declarations of parameters: the constraint, and the shape or the names of the dimensions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..errors import PosteriorError
from ..functions.captured.pickling import Portable
from . import transforms
from .transforms import Array, Shape, Transform

# A number, an array, or a function of earlier parameters.
Bound: TypeAlias = float | Array | Callable[..., Array | float]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter as declared, before the lengths of its dimensions are known.

    Attributes:
        transform: from unconstrained vectors; if bounds depend on other parameters, only its name and shapes count.
        shape: of its value; None if `dims` gives it.
        dims: names of dimensions, one for each axis, or ().
        bounds: functions of other parameters, with fixed bounds as numbers; () if no bound depends on others.
        bounded: makes the transform from the bounds' values.
    """

    transform: Transform
    shape: Shape | None
    dims: tuple[str, ...]
    bounds: tuple[Bound, ...] = ()
    bounded: Callable[..., Transform] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        bounds = tuple(Portable(bound) if callable(bound) else bound for bound in self.bounds)
        return Parameter, (self.transform, self.shape, self.dims, bounds, self.bounded)

    def transform_at(self, values: Mapping[str, Array]) -> Transform:
        """The transform for these values of earlier parameters."""
        if self.bounded is None:
            return self.transform
        return self.bounded(
            *(bound(**{n: values[n] for n in _names(bound)}) if callable(bound) else bound for bound in self.bounds)
        )

    def depends_on(self) -> set[str]:
        """The parameters that the bounds depend on."""
        return {name for bound in self.bounds if callable(bound) for name in _names(bound)}

    def of_shape(self, name: str, lengths: Mapping[str, int]) -> Shape:
        """The shape of the value, with the lengths of all known dimensions."""
        missing = [dim for dim in self.dims if dim not in lengths]
        if self.shape is not None:
            shape = self.shape
            if self.dims and (
                len(shape) != len(self.dims) or any(lengths.get(d, n) != n for d, n in zip(self.dims, shape))
            ):
                raise PosteriorError(
                    f"parameter {name!r}: the shape is not that of the dimensions {self.dims}", got=shape, fix="give dims alone"
                )
        elif missing:
            raise PosteriorError(
                f"parameter {name!r}: the length of {', '.join(map(repr, missing))} is unknown", got=set(lengths),
                fix="name it in coords=, or give shape=",
            )  # fmt: skip
        else:
            shape = tuple(lengths[dim] for dim in self.dims)
        try:
            self.transform.unconstrained_shape(shape)
        except ValueError as wrong:
            fix = f"its size, as in td.{self.transform.name}(3)"
            raise PosteriorError(f"parameter {name!r}: td.{self.transform.name}() {wrong}", got=f"shape {shape}", fix=fix) from None
        return shape


def _parameter(transform: Transform, shape: int | Sequence[int] | None, dims: str | Sequence[str] | None) -> Parameter:
    names = () if dims is None else (dims,) if isinstance(dims, str) else tuple(dims)
    if shape is None:
        return Parameter(transform, None if names else (), names)
    return Parameter(
        transform, (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(n) for n in shape), names
    )


def _names(bound: Callable[..., Array | float]) -> tuple[str, ...]:
    return tuple(inspect.signature(bound).parameters)


def _bounded(
    of_bounds: Callable[..., Transform],
    bounds: tuple[Bound, ...],
    shape: int | Sequence[int] | None,
    dims: str | Sequence[str] | None,
) -> Parameter:
    """A parameter with these bounds: fixed, or functions of others."""
    checked = tuple(bound if callable(bound) else np.asarray(bound, dtype=np.float64) for bound in bounds)
    fixed = [bound for bound in checked if not callable(bound)]
    if not all(np.all(np.isfinite(bound)) for bound in fixed):
        raise PosteriorError("bounds have to be finite", got=", ".join(map(str, bounds)), fix="td.lower, td.upper or td.real")
    if len(fixed) == 2 and not np.all(fixed[0] < fixed[1]):
        raise PosteriorError("the lower bound is not below the upper bound", got=", ".join(map(str, bounds)), fix="exchange them")
    if len(fixed) == len(checked):
        return _parameter(of_bounds(*fixed), shape, dims)
    plain = _parameter(of_bounds(*(0.0 for _ in checked)), shape, dims)
    return Parameter(plain.transform, plain.shape, plain.dims, checked, of_bounds)


def real(shape: int | Sequence[int] | None = None, *, dims: str | Sequence[str] | None = None) -> Parameter:
    """A parameter of a td.Posterior that is any number, or an array of them.

    Args:
        shape: of the value; () unless given.
        dims: names of its dimensions instead, with lengths from `coords`.
    """
    return _parameter(transforms.identity(), shape, dims)


def positive(shape: int | Sequence[int] | None = None, *, dims: str | Sequence[str] | None = None) -> Parameter:
    """Numbers above 0: exp(u)."""
    return _parameter(transforms.above(np.zeros(()), "positive"), shape, dims)


def lower(
    bound: Bound, shape: int | Sequence[int] | None = None, *, dims: str | Sequence[str] | None = None
) -> Parameter:
    """Numbers above `bound`: bound + exp(u).

    Args:
        bound: a number or an array that broadcasts to the shape; or a function of earlier parameters, by their names:
            td.lower(lambda mu: mu).
    """
    return _bounded(transforms.above, (bound,), shape, dims)


def upper(
    bound: Bound, shape: int | Sequence[int] | None = None, *, dims: str | Sequence[str] | None = None
) -> Parameter:
    """Numbers below `bound`: bound - exp(u). For bounds, see td.lower."""
    return _bounded(transforms.below, (bound,), shape, dims)


def interval(
    low: Bound, high: Bound, shape: int | Sequence[int] | None = None, *, dims: str | Sequence[str] | None = None
) -> Parameter:
    """Numbers between `low` and `high`: low + (high - low) expit(u). For bounds, see td.lower: td.interval(0, lambda alpha: 1 - alpha)."""
    return _bounded(transforms.between, (low, high), shape, dims)


def ordered(shape: int | Sequence[int] | None = None, *, dims: str | Sequence[str] | None = None) -> Parameter:
    """Vectors, along the last axis, whose entries increase."""
    return _parameter(transforms.ordered(), shape, dims)


def positive_ordered(shape: int | Sequence[int] | None = None, *, dims: str | Sequence[str] | None = None) -> Parameter:
    """Vectors whose entries are positive and increase."""
    return _parameter(transforms.positive_ordered(), shape, dims)


def simplex(shape: int | Sequence[int] | None = None, *, dims: str | Sequence[str] | None = None) -> Parameter:
    """Vectors of positive entries with sum 1; one unconstrained number fewer than entries."""
    return _parameter(transforms.simplex(), shape, dims)


def unit_vector(shape: int | Sequence[int] | None = None, *, dims: str | Sequence[str] | None = None) -> Parameter:
    """Vectors of length 1; as many unconstrained numbers as entries."""
    return _parameter(transforms.unit_vector(), shape, dims)


def zero_sum(shape: int | Sequence[int] | None = None, *, dims: str | Sequence[str] | None = None) -> Parameter:
    """Vectors with sum 0; one unconstrained number fewer than entries."""
    return _parameter(transforms.zero_sum(), shape, dims)


def cholesky_corr(size: int | Sequence[int] | None = None, *, dims: str | Sequence[str] | None = None) -> Parameter:
    """Cholesky factors of correlation matrices: `size` rows, or a shape whose last two axes are the matrix."""
    return _parameter(transforms.cholesky_corr(), _matrix(size), dims)


def corr_matrix(size: int | Sequence[int] | None = None, *, dims: str | Sequence[str] | None = None) -> Parameter:
    """Correlation matrices: symmetric, positive definite, with 1 on the diagonal."""
    return _parameter(transforms.corr_matrix(), _matrix(size), dims)


def cov_matrix(size: int | Sequence[int] | None = None, *, dims: str | Sequence[str] | None = None) -> Parameter:
    """Symmetric positive definite matrices."""
    return _parameter(transforms.cov_matrix(), _matrix(size), dims)


def _matrix(size: int | Sequence[int] | None) -> int | Sequence[int] | None:
    return (int(size), int(size)) if isinstance(size, (int, np.integer)) else size
