"""Reductions with NumPy's arguments: axis, keepdims, ddof, where, initial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import UnsupportedFunction
from ..instruction import BOOL, INT64
from ..ops.arithmetic import CONVERT
from ..ops.comparison import EQUAL, IS_NAN, SELECT
from ..ops.reductions import ALL, ANY, ARGMAX, ARGMIN, CUMSUM, MAX, MIN, SUM, kept_shape
from ..ops.shape import reshape
from .elementwise import as_mask
from .shaping import copy


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    normal = []
    for a in axes:
        if not -ndim <= a < ndim:
            raise np.exceptions.AxisError(int(a), ndim)
        normal.append(int(a) % ndim)
    if len(set(normal)) != len(normal):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(normal))


def _finish(z: Any, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> Any:
    return reshape(z, kept_shape(shape, axes)) if keepdims else z


def _only(where: Any, x: Any, neutral: float) -> Any:
    return x if where is True else SELECT(where, x, neutral)


def _in_dtype(x: Any, dtype: Any) -> Any:
    """NumPy's dtype= argument: compute in float64, or in the given float type."""
    if dtype is None or np.dtype(dtype) == x.dtype:
        return x
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise UnsupportedFunction(f"a reduction with dtype={np.dtype(dtype)}", fix="leave dtype out")
    return CONVERT(x, dtype=np.dtype(dtype))


def sum(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    a = _in_dtype(a, dtype)
    axes = axes_of(axis, a.ndim)
    if a.dtype == BOOL:
        a = CONVERT(a, dtype=INT64)
    total = copy(a) if not axes else SUM(_only(where, a, 0.0), axes=axes)
    total = _finish(total, a.shape, axes, keepdims)
    return total if initial is None else total + initial


def mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, where: Any = True) -> Any:
    axes = axes_of(axis, a.ndim)
    if where is True:
        return sum(a, axis, dtype, keepdims) / float(_count(a.shape, axes))
    return sum(a, axis, dtype, keepdims, where=where) / sum(as_floats(where, a), axis, None, keepdims)


def as_floats(where: Any, a: Any) -> Any:
    return SELECT(where, 1.0, 0.0) + np.zeros(a.shape)


def _count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return int(np.prod([shape[k] for k in axes], dtype=np.int64))


def var(
    a: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False, where: Any = True,
    *, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    ddof = ddof if correction is None else correction
    a = _in_dtype(a, dtype)
    axes = axes_of(axis, a.ndim)
    if where is True:
        count: Any = float(_count(a.shape, axes))
        center = sum(a, axes, None, True) / count if mean is None else mean
        squares = sum(np.square(a - center), axes, None, keepdims)
        return squares / (count - ddof if count > ddof else 0.0)
    count = sum(as_floats(where, a), axes, None, True)
    center = sum(a, axes, None, True, where=where) / count if mean is None else mean
    squares = sum(np.square(a - center), axes, None, keepdims, where=where)
    return squares / np.maximum(reshape(count, squares.shape) - ddof, 0.0)


def std(
    a: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False, where: Any = True, **more: Any
) -> Any:
    return root(var(a, axis, dtype, ddof, keepdims, where, **more))


def root(square: Any) -> Any:
    """The square root with derivative 0 at 0: what a norm and a standard deviation take there."""
    at_zero = EQUAL(square, 0.0)
    return SELECT(at_zero, 0.0, np.sqrt(SELECT(at_zero, 1.0, square)))


def prod(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """A tree of pairwise products: exact with zeros at every order of differentiation."""
    a = _only(where, _in_dtype(a, dtype), 1.0)
    if a.dtype == BOOL:
        a = CONVERT(a, dtype=INT64)
    axes = axes_of(axis, a.ndim)
    shape = a.shape
    kept = [k for k in range(a.ndim) if k not in axes]
    count = _count(shape, axes)
    product = np.reshape(np.transpose(a, (*axes, *kept)), (count, *(shape[k] for k in kept)))
    if count == 0:
        product = np.ones((1, *product.shape[1:]))
    while product.shape[0] > 1:
        half = product.shape[0] // 2
        pairs = product[:half] * product[half : 2 * half]
        product = np.concatenate([pairs, product[2 * half :]]) if product.shape[0] % 2 else pairs
    result = _finish(copy(product[0]), shape, axes, keepdims)
    return result if initial is None else result * initial


def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """Doubling steps of shifted products: exact with zeros, log2(n) array operations."""
    a = _in_dtype(a, dtype)
    if axis is None:
        a, axis = np.reshape(a, (-1,)), 0
    (axis,) = axes_of(axis, a.ndim)
    a = np.moveaxis(a, axis, 0)
    step = 1
    while step < a.shape[0]:
        a = np.concatenate([a[:step], a[step:] * a[:-step]])
        step *= 2
    return copy(np.moveaxis(a, 0, axis))


def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    a = _in_dtype(a, dtype)
    if axis is None:
        a, axis = np.reshape(a, (-1,)), 0
    if a.dtype == BOOL:
        a = CONVERT(a, dtype=INT64)
    (axis,) = axes_of(axis, a.ndim)
    return CUMSUM(a, axis=axis, backwards=False)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences between neighbours, n times over; masks differ where they are not equal."""
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if np.ndim(a) == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    if n == 0:
        return a
    (axis,) = axes_of(axis, np.ndim(a))
    edge = (*np.shape(a)[:axis], 1, *np.shape(a)[axis + 1 :])
    ends = [x if x is None or np.ndim(x) else np.broadcast_to(x, edge) for x in (prepend, append)]
    parts = [x for x in (ends[0], a, ends[1]) if x is not None]
    joined = np.concatenate(parts, axis=axis) if len(parts) > 1 else a
    ahead, behind = ((*[slice(None)] * axis, part) for part in (slice(1, None), slice(None, -1)))
    for _ in range(n):
        joined = joined[ahead] != joined[behind] if joined.dtype == BOOL else joined[ahead] - joined[behind]
    return joined


def _extremum(op: Any, worst: float, pairwise: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
        axes = axes_of(axis, a.ndim)
        if where is not True and initial is None:
            raise ValueError("a reduction with where= and no identity needs initial=")
        if axes and _count(a.shape, axes) == 0 and initial is None:
            raise ValueError("zero-size array to reduction operation which has no identity")
        value = op(_only(where, a, worst), axes=axes) if axes else copy(a)
        value = _finish(value, a.shape, axes, keepdims)
        return value if initial is None else pairwise(value, initial)

    return reduce


amax = _extremum(MAX, -np.inf, np.maximum)
amin = _extremum(MIN, np.inf, np.minimum)


def ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return amax(a, axis, keepdims) - amin(a, axis, keepdims)


def _logic(op: Any) -> Callable[..., Any]:
    def reduce(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        axes = axes_of(axis, a.ndim)
        mask = as_mask(a)
        return _finish(op(mask, axes=axes) if axes else copy(mask), a.shape, axes, keepdims)

    return reduce


all = _logic(ALL)
any = _logic(ANY)


def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return sum(as_mask(a), axis, keepdims=keepdims)


def _arg(op: Any) -> Callable[..., Any]:
    def reduce(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        if axis is None:
            position = op(np.reshape(a, (-1,)), axis=0)
            return reshape(position, (1,) * a.ndim) if keepdims else position
        (axis,) = axes_of(axis, a.ndim)
        return _finish(op(a, axis=axis), a.shape, (axis,), keepdims)

    return reduce


argmax = _arg(ARGMAX)
argmin = _arg(ARGMIN)


def average(a: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Any:
    if weights is None:
        return mean(a, axis, None, keepdims)
    if np.shape(weights) != np.shape(a):
        if np.ndim(weights) != 1 or axis is None or isinstance(axis, tuple):
            raise TypeError("1D weights expected when shapes of a and weights differ")
        (axis,) = axes_of(axis, np.ndim(a))
        weights = np.reshape(weights, tuple(-1 if k == axis else 1 for k in range(np.ndim(a)))) * np.ones(np.shape(a))
    return np.sum(a * weights, axis=axis, keepdims=keepdims) / np.sum(weights, axis=axis, keepdims=keepdims)


def _ignoring_nan(reduction: Callable[..., Any], neutral: float) -> Callable[..., Any]:
    def reduce(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return reduction(SELECT(IS_NAN(a), neutral, a), axis, keepdims=keepdims)

    return reduce


nansum = _ignoring_nan(sum, 0.0)
nanprod = _ignoring_nan(prod, 1.0)
nanmax = _ignoring_nan(amax, -np.inf)
nanmin = _ignoring_nan(amin, np.inf)


def nanmean(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return mean(a, axis, None, keepdims, where=~IS_NAN(a))


def nanvar(a: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
    return var(a, axis, None, ddof, keepdims, where=~IS_NAN(a))


def nanstd(a: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
    return root(nanvar(a, axis, ddof, keepdims))
