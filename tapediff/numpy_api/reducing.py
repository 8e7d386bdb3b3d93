"""Reductions with NumPy's arguments: axis, keepdims, dtype, ddof, where, initial.

Every reduction goes through `_reduced`, which handles numbers, empty arrays, axis=(), masks and initial values.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.typing import DTypeLike

from ..errors import UnsupportedFunction
from ..ir.instruction import BOOL, FLOAT64, INT64, Operand, is_tracked
from ..ops import Op
from ..ops.arrays.reductions import ALL, ANY, ARGMAX, ARGMIN, CUMSUM, MAX, MIN, SUM, kept_shape
from ..ops.arrays.shape import broadcast, reshape
from ..ops.elementwise.arithmetic import ADD, CONVERT, MAXIMUM, MINIMUM, MULTIPLY, ROOT
from ..ops.elementwise.comparison import SELECT
from .elementwise import as_mask
from .joining import as_value
from .kinds import Axis, as_floats
from .shaping import copy

# Products along longer axes are recorded in doubling steps, as an instruction for each entry would take milliseconds.
LONGEST_LOOP = 1024


def axes_of(axis: Axis, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    axes = normalize_axis_tuple(axis if isinstance(axis, tuple) else operator.index(axis), ndim)
    return tuple(sorted(axes))


def reduced_axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """Like `axes_of`, but a number can be reduced along axis 0 or -1, as by the reductions of ufuncs."""
    if ndim == 0 and axis is not None and not isinstance(axis, tuple) and operator.index(axis) in (0, -1):
        return ()
    return axes_of(axis, ndim)


def _in_dtype(a: Operand, dtype: DTypeLike | None) -> Operand:
    """Convert the entries to NumPy's dtype= argument before the reduction."""
    if dtype is None or (np.dtype(dtype) == a.dtype and a.dtype != BOOL):
        return a
    if np.dtype(dtype) not in (FLOAT64, np.float32, INT64):
        raise UnsupportedFunction(f"a reduction with dtype={np.dtype(dtype)}", fix="use float64, float32 or int64, or leave dtype out")
    return CONVERT(a, dtype=np.dtype(dtype))


def _counted(a: Operand) -> Operand:
    """Convert masks to integers, for sums and products."""
    return CONVERT(a, dtype=INT64) if a.dtype == BOOL else a


def _only(where: Operand, a: Operand, neutral: Operand) -> Operand:
    """Replace the entries that `where` leaves out by the neutral one."""
    if where is True:
        return a
    mask = as_mask(where)
    if np.broadcast_shapes(np.shape(mask), a.shape) != a.shape:
        raise ValueError(f"where= of shape {np.shape(mask)} cannot be broadcast to the array's shape {a.shape}")
    return SELECT(mask, a, neutral if a.dtype.kind == "f" else a.dtype.type(neutral))


def _reduced(
    op: Callable[..., Operand], a: Operand, axes: tuple[int, ...], keepdims: bool, where: Operand, neutral: Operand,
    initial: Operand = None, join: Operand = None,
) -> Operand:
    """Reduce by `op`. `neutral` is its neutral element; `join` combines the result with `initial`."""
    chosen = _only(where, a, neutral)
    if _count(a.shape, axes):
        value = op(chosen, axes=axes) if axes else copy(chosen)
    else:
        kept = tuple(extent for k, extent in enumerate(a.shape) if k not in axes)
        value = chosen._recorder.tracked_constant(np.full(kept, neutral, a.dtype))
    if keepdims:
        value = reshape(value, kept_shape(a.shape, axes))
    return value if initial is None else join(value, first_value(initial, value.dtype))


def first_value(initial: Operand, dtype: np.dtype) -> Operand:
    """NumPy's initial= argument: one number, converted to the dtype of the result."""
    if is_tracked(initial):
        if initial.type.shape:
            raise ValueError("setting an array element with a sequence.")
        return initial if initial.dtype == dtype else CONVERT(initial, dtype=dtype)
    if np.ndim(initial):
        raise ValueError("setting an array element with a sequence.")
    return float(initial) if dtype is FLOAT64 else dtype.type(initial)


def _count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod(shape[k] for k in axes)


def sum(
    a: Operand, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False, initial: Operand = None, where: Operand = True
) -> Operand:
    axes = reduced_axes(axis, a.ndim)
    return _reduced(SUM, _counted(_in_dtype(a, dtype)), axes, keepdims, where, 0.0, initial, ADD)


def prod(
    a: Operand, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False, initial: Operand = None, where: Operand = True
) -> Operand:
    axes = reduced_axes(axis, a.ndim)
    return _reduced(_product, _counted(_in_dtype(a, dtype)), axes, keepdims, where, 1.0, initial, MULTIPLY)


def _product(a: Operand, axes: tuple[int, ...]) -> Operand:
    """A tree of pairwise products, whose derivatives are exact at zeros to every order."""
    kept = [k for k in range(a.ndim) if k not in axes]
    product = np.reshape(np.transpose(a, (*axes, *kept)), (_count(a.shape, axes), *(a.shape[k] for k in kept)))
    while product.shape[0] > 1:
        half = product.shape[0] // 2
        pairs = product[:half] * product[half : 2 * half]
        product = np.concatenate([pairs, product[2 * half :]]) if product.shape[0] % 2 else pairs
    return copy(product[0])


def mean(a: Operand, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False, where: Operand = True) -> Operand:
    axes = _averaged_axes(axis, a.ndim, where)
    result = sum(a, axes, dtype, keepdims, where=where)
    count = count_of(where, a.shape, axes, keepdims, result.dtype)
    return result / count if dtype is None or result.dtype.kind == "f" else CONVERT(result / count, dtype=result.dtype)


def _averaged_axes(axis: Axis, ndim: int, where: Operand) -> tuple[int, ...]:
    """The axes whose entries NumPy counts: none for a number, unless a mask counts them."""
    return axes_of(axis, ndim) if where is True else reduced_axes(axis, ndim)


def count_of(where: Operand, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool, dtype: np.dtype) -> Operand:
    """The number of entries that a mean divides by, in the float precision of its sum."""
    if where is True:
        return float(_count(shape, axes))
    mask, dtype = as_mask(where), dtype if dtype.kind == "f" else FLOAT64
    if not is_tracked(mask):
        return np.sum(np.broadcast_to(mask, shape), axis=axes, keepdims=keepdims, dtype=dtype)
    return sum(broadcast(CONVERT(mask, dtype=dtype), shape), axes, None, keepdims)


def var(
    a: Operand, axis: Axis = None, dtype: DTypeLike | None = None, ddof: float = 0, keepdims: bool = False, where: Operand = True,
    *, mean: Operand = None, correction: Operand = None,
) -> Operand:  # fmt: skip
    axes = _averaged_axes(axis, a.ndim, where)
    if dtype is not None and np.dtype(dtype).kind in "iub":
        raise UnsupportedFunction("a variance in integers", got=f"dtype={np.dtype(dtype)}", fix="leave dtype= out")
    a = as_floats(_in_dtype(a, dtype))
    count = count_of(where, a.shape, axes, True, a.dtype)
    center = sum(a, axes, None, True, where=where) / count if mean is None else mean
    squares = sum(np.square(a - center), axes, None, keepdims, where=where)
    ddof = degrees_lost(ddof, correction)
    if where is True:
        return squares / max(count - ddof, 0.0)
    return squares / np.maximum(reshape(count, squares.shape) - ddof, 0.0)


def degrees_lost(ddof: float, correction: Operand) -> float:
    if correction is None:
        return ddof
    if ddof:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def std(
    a: Operand, axis: Axis = None, dtype: DTypeLike | None = None, ddof: float = 0, keepdims: bool = False, where: Operand = True,
    *, mean: Operand = None, correction: Operand = None,
) -> Operand:  # fmt: skip
    return ROOT(var(a, axis, dtype, ddof, keepdims, where, mean=mean, correction=correction))


def cumprod(a: Operand, axis: int | None = None, dtype: DTypeLike | None = None) -> Operand:
    """A loop of products in NumPy's order; for long axes, doubling steps of shifted products. Both are exact at zeros."""
    a, axis = _line(_counted(_in_dtype(a, dtype)), axis)
    if 2 <= a.shape[axis] <= LONGEST_LOOP:
        lines = [(*[slice(None)] * axis, k) for k in range(a.shape[axis])]
        products = [a[lines[0]]]
        for line in lines[1:]:
            products.append(products[-1] * a[line])
        return np.stack(products, axis=axis)
    a = np.moveaxis(a, axis, 0)
    step = 1
    while step < a.shape[0]:
        a = np.concatenate([a[:step], a[step:] * a[:-step]])
        step *= 2
    return copy(np.moveaxis(a, 0, axis))


def cumsum(a: Operand, axis: int | None = None, dtype: DTypeLike | None = None) -> Operand:
    a, axis = _line(_counted(_in_dtype(a, dtype)), axis)
    return CUMSUM(a, axis=axis, backwards=False)


def _line(a: Operand, axis: int | None) -> tuple[Operand, int]:
    """An array and its axis to work along: the flat array for None; a number becomes an array of one entry."""
    if axis is None or a.ndim == 0:
        a = np.reshape(a, (-1,))
    position = normalize_axis_index(0 if axis is None else axis, a.ndim)
    return a, position


def diff(a: Operand, n: int = 1, axis: int = -1, prepend: Operand = None, append: Operand = None) -> Operand:
    """Differences between neighbours, n times; for masks, not_equal."""
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if np.ndim(a) == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    if n == 0:
        return a
    axis = normalize_axis_index(axis, np.ndim(a))
    edge = (*np.shape(a)[:axis], 1, *np.shape(a)[axis + 1 :])
    ends = [x if x is None or np.ndim(x) else np.broadcast_to(x, edge) for x in (prepend, append)]
    parts = [x for x in (ends[0], a, ends[1]) if x is not None]
    joined = np.concatenate(parts, axis=axis) if len(parts) > 1 else a
    ahead, behind = ((*[slice(None)] * axis, part) for part in (slice(1, None), slice(None, -1)))
    for _ in range(n):
        joined = joined[ahead] != joined[behind] if joined.dtype == BOOL else joined[ahead] - joined[behind]
    return joined


def _extremum(op: Op, join: Operand, largest: bool) -> Callable[..., Operand]:
    def reduce(a: Operand, axis: Axis = None, keepdims: bool = False, initial: Operand = None, where: Operand = True) -> Operand:
        axes = reduced_axes(axis, a.ndim)
        name = "maximum" if largest else "minimum"
        if where is not True and initial is None:
            raise ValueError(f"reduction operation '{name}' does not have an identity, so to use a where mask one has to specify 'initial'")
        if initial is None and a.size == 0 and builtins.any(a.shape[k] == 0 for k in axes):
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
        return _reduced(op, a, axes, keepdims, where, _worst(a.dtype, largest), initial, join)

    return reduce


def _worst(dtype: np.dtype, largest: bool) -> Operand:
    """The neutral element of a maximum or minimum for a dtype."""
    if dtype.kind == "f":
        return -np.inf if largest else np.inf
    if dtype == BOOL:
        return not largest
    return np.iinfo(dtype).min if largest else np.iinfo(dtype).max


amax = _extremum(MAX, MAXIMUM, True)
amin = _extremum(MIN, MINIMUM, False)


def ptp(a: Operand, axis: Axis = None, keepdims: bool = False) -> Operand:
    return amax(a, axis, keepdims) - amin(a, axis, keepdims)


def _logic(op: Op, neutral: bool) -> Callable[..., Operand]:
    def reduce(a: Operand, axis: Axis = None, keepdims: bool = False, *, where: Operand = True) -> Operand:
        return _reduced(op, as_mask(a), reduced_axes(axis, a.ndim), keepdims, where, neutral)

    return reduce


all = _logic(ALL, True)
any = _logic(ANY, False)


def count_nonzero(a: Operand, axis: Axis = None, keepdims: bool = False) -> Operand:
    return sum(as_mask(a), axis, keepdims=keepdims)


def _arg(op: Op) -> Callable[..., Operand]:
    def reduce(a: Operand, axis: int | None = None, keepdims: bool = False) -> Operand:
        line, position = _line(a, axis)
        if line.shape[position] == 0:
            raise ValueError(f"attempt to get {op.name} of an empty sequence")
        result = op(line, axis=position)
        if not keepdims or not a.ndim:
            return reshape(result, ()) if not a.ndim else result
        return reshape(result, kept_shape(a.shape, axes_of(axis, a.ndim)))

    return reduce


argmax = _arg(ARGMAX)
argmin = _arg(ARGMIN)


def average(a: Operand, axis: Axis = None, weights: Operand = None, returned: bool = False, *, keepdims: bool = False) -> Operand:
    a = as_value(a)
    axes = axes_of(axis, np.ndim(a))
    if weights is None:
        result: Operand = mean(a, axes, None, keepdims)
        scale: Operand = result.dtype.type(_count(np.shape(a), axes))
    else:
        weights = _weights_along(a, axis, weights)
        weighted = as_floats(a * weights)
        scale = np.sum(weights, axis=axes, dtype=weighted.dtype, keepdims=keepdims)
        # A guard if the weights are tracked, as NumPy raises depending on their sum.
        if np.any(scale == 0.0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        result = np.sum(weighted, axis=axes, keepdims=keepdims) / scale
    return (result, np.broadcast_to(scale, np.shape(result))) if returned else result


def _weights_along(a: Operand, axis: Axis, weights: Operand) -> Operand:
    """Broadcast the weights of the averaged axes to the shape of the array."""
    weights = as_value(weights)
    if weights.shape == np.shape(a):
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    places = [operator.index(k) % np.ndim(a) for k in (axis if isinstance(axis, tuple) else (axis,))]
    if weights.shape != tuple(np.shape(a)[k] for k in places):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    weights = np.transpose(weights, np.argsort(places))
    laid_out = np.reshape(weights, tuple(extent if k in places else 1 for k, extent in enumerate(np.shape(a))))
    return np.broadcast_to(laid_out, np.shape(a))
