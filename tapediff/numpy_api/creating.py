"""np.array, np.asarray, np.full, np.zeros_like, np.linspace and their relatives on tracked values: the result is a tracked array.

NumPy has no protocol for most of these; numpy_namespace.py puts them in NumPy's namespace while recording.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import wraps
from itertools import islice

import numpy as np
from numpy.typing import DTypeLike

from ..base.source_location import user_site
from ..errors import UnsupportedFunction
from ..ir.instruction import Computes, Operand, Recorded, is_tracked
from ..ops.arrays.shape import BROADCAST
from .complex_numbers.pair import Pair, holds_complex, is_complex, pair, parts, refused
from .joining import as_value
from .kinds import COMPLEX128, Shape, common_floats, converted, tracked_dtype
from .shaping import copy, laid_out, layout, lying_as, reshape

# NumPy's limit on axes: lists nested deeper hold nothing that it would find.
MOST_AXES = 64

_RECORDED = (Recorded, Pair, Computes)


def holds_tracked(value: Operand, depth: int = 0) -> bool:
    """True if a value is tracked, or a nested list or tuple with a tracked value somewhere."""
    kind = type(value)
    if issubclass(kind, _RECORDED):
        return True
    if kind is np.ndarray:
        return value.dtype.hasobject and value.dtype == object and any(map(_is_recorded, value.flat))
    if not issubclass(kind, (list, tuple)) or depth > MOST_AXES:
        return False
    # Scans long lists of numbers at the speed of C.
    kinds = set(map(type, value))
    if any(issubclass(k, _RECORDED) for k in kinds):
        return True
    nested = tuple(k for k in kinds if issubclass(k, (list, tuple)) or k is np.ndarray)
    return bool(nested) and any(holds_tracked(v, depth + 1) for v in value if type(v) in nested)


def _is_recorded(value: Operand) -> bool:
    return issubclass(type(value), _RECORDED)


def _made(given: Operand, dtype: DTypeLike | None, must_copy: bool | None, order: str | None) -> Operand:
    if holds_complex(given):
        return _made_complex(given, dtype, must_copy)
    if type(given) in (list, tuple) and any(issubclass(type(part), Computes) for part in given):
        given = np.stack(given)
    if issubclass(type(given), Computes):
        if dtype is not None and np.dtype(dtype) != given.dtype:
            return given.astype(dtype)
        return given.copy() if must_copy else given
    value = converted(as_value(given if dtype is None else _with_numbers(given, np.dtype(dtype))), dtype)
    if is_complex(value):
        return value
    is_new = value is not given
    if must_copy and not is_new:
        value = copy(value)
    value = layout(value, order)
    if must_copy is False and (is_new or value is not given):
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    return as_array(value)


def _with_numbers(given: Operand, dtype: np.dtype) -> Operand:
    """A nested list with None and text converted as NumPy does in arrays of a dtype: to NaN, and to the number in the text."""
    if type(given) not in (list, tuple) or not holds_tracked(given):
        return given
    kinds = {*map(type, given)}
    if kinds.isdisjoint(_CONVERTED):
        return given
    return [np.asarray(v, dtype) if type(v) in (str, bytes, type(None)) else _with_numbers(v, dtype) for v in given]


# Types that np.array converts to numbers if given a dtype, or lists that may hold such.
_CONVERTED = (str, bytes, type(None), list, tuple)


def _made_complex(given: Operand, dtype: DTypeLike | None, must_copy: bool | None) -> Operand:
    if dtype is not None and np.dtype(dtype) != COMPLEX128:
        raise refused(f"np.array of dtype {np.dtype(dtype)}", "take z.real, or np.abs(z)")
    if issubclass(type(given), Pair):
        return pair(*map(as_array, map(copy, parts(given)))) if must_copy else given
    if must_copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    return pair(*map(as_value, parts(given)))


def as_array(value: Operand) -> Operand:
    """Turn a number into a 0-d array: in-place operators write to it, where for a number they make a new one."""
    if is_complex(value) or value.type.shape or value._view is not None:
        return value
    return copy(value)._as_view(copy(value), lambda base: base, lambda _, part: part)


def arrays(function: Callable[..., Operand]) -> Callable[..., Operand]:
    """Wrap a function whose results are arrays in NumPy even when 0-d."""

    @wraps(function)
    def call(*args: Operand, **named: Operand) -> Operand:
        result = function(*args, **named)
        return as_array(result) if is_tracked(result) else result

    return call


def array(
    object: Operand, dtype: DTypeLike | None = None, *, copy: bool | None = True, order: str = "K", subok: bool = False, ndmin: int = 0
) -> Operand:
    value = _made(object, dtype, copy, order)
    if is_complex(value) and value.ndim < ndmin:
        return value.reshape((1,) * (ndmin - value.ndim) + value.shape)
    return value if value.ndim >= ndmin else reshape(value, (1,) * (ndmin - value.ndim) + value.shape)


def asarray(
    a: Operand, dtype: DTypeLike | None = None, order: str | None = None, *, device: str | None = None, copy: bool | None = None
) -> Operand:
    return _made(a, dtype, copy, order)


def ascontiguousarray(a: Operand, dtype: DTypeLike | None = None) -> Operand:
    value = _made(a, dtype, None, "C")
    return value if value.ndim else reshape(value, (1,))


def asfortranarray(a: Operand, dtype: DTypeLike | None = None) -> Operand:
    value = _made(a, dtype, None, "F")
    return value if value.ndim else reshape(value, (1,))


def asarray_chkfinite(a: Operand, dtype: DTypeLike | None = None, order: str | None = None) -> Operand:
    """np.asarray_chkfinite; a guard checks that all values are finite, else it raises as NumPy does."""
    value = _made(a, dtype, None, order)
    if value.dtype.kind == "f" and not np.all(np.isfinite(value)):
        raise ValueError("array must not contain infs or NaNs")
    return value


def full(shape: Shape, fill_value: Operand, dtype: DTypeLike | None = None, order: str = "C", *, device: str | None = None) -> Operand:
    shape = tuple(map(operator.index, shape)) if np.iterable(shape) else (operator.index(shape),)
    if is_complex(fill_value):
        return pair(*(full(shape, part) if is_tracked(part) else np.full(shape, part) for part in parts(fill_value)))
    value = converted(as_value(fill_value), dtype)
    if is_complex(value):
        return full(shape, value)
    if np.broadcast_shapes(value.shape, shape) != shape:
        raise ValueError(f"could not broadcast input array from shape {value.shape} into shape {shape}")
    return as_array(layout(copy(value) if value.shape == shape else BROADCAST(value, shape=shape), order))


def fromiter(iter: Iterable[Operand], dtype: DTypeLike | None, count: int = -1) -> Operand:
    items = list(islice(iter, None if count < 0 else count))
    if not holds_tracked(items):
        return np.array(items, dtype) if not items else np.fromiter(items, dtype, count)
    if len(items) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(items)} items.")
    return _made(items, dtype, None, None)


def arange(*args: Operand, **named: Operand) -> Operand:
    """The length is a shape: tracked integers are guarded, floats are refused."""
    if any(is_tracked(a) and a.dtype.kind != "i" for a in (*args, *named.values())):
        raise UnsupportedFunction("np.arange of tracked floats, whose length would depend on data", at=user_site(),
                                  fix="write start + step * np.arange(n) with a plain n")  # fmt: skip
    plain = [operator.index(a) if is_tracked(a) else a for a in args]
    return np.arange(*plain, **named)


def of_a_list(function: Callable[..., Operand]) -> Callable[..., Operand]:
    """Wrap a NumPy function that would convert a list of tracked numbers to an object array."""

    def call(a: Operand, *args: Operand, **named: Operand) -> Operand:
        return function(as_value(a), *args, **named)

    return call


def zeros_like(a: Operand, dtype: DTypeLike | None = None, order: str = "K", subok: bool = True, shape: Shape = None) -> Operand:
    return _filled_like(a, 0.0, dtype, shape, order)


def ones_like(a: Operand, dtype: DTypeLike | None = None, order: str = "K", subok: bool = True, shape: Shape = None) -> Operand:
    return _filled_like(a, 1.0, dtype, shape, order)


def full_like(
    a: Operand, fill_value: Operand, dtype: DTypeLike | None = None, order: str = "K", subok: bool = True, shape: Shape = None
) -> Operand:
    result = _filled_like(a, 0.0, dtype, shape, order)
    value = as_value(fill_value)
    if is_tracked(value):
        value = converted(value, result.dtype)
        if np.broadcast_shapes(value.shape, result.shape) != result.shape:
            raise ValueError(f"could not broadcast input array from shape {value.shape} into shape {result.shape}")
        return lying_as(BROADCAST(value, shape=result.shape), result._value)
    return lying_as(a._recorder.tracked_constant(np.full(result.shape, value, result.dtype)), result._value)


def linspace(
    start: Operand, stop: Operand, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Operand:
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    start, stop = (v if type(v) in (int, float) else as_value(v) for v in (start, stop))
    start, stop = np.broadcast_arrays(*common_floats(start, stop))
    gaps = num - 1 if endpoint else num
    step = (stop - start) / (gaps or np.nan)
    places = np.arange(num).reshape(-1, *[1] * start.ndim).astype(step.dtype)
    points = start + places * (step if gaps else stop * 0.0)
    if endpoint and num > 1:
        points[-1] = stop
    if dtype is not None:
        points = converted(np.floor(points) if np.dtype(dtype).kind in "iu" else points, dtype)
    points = np.moveaxis(points, 0, axis)
    return (points, step if gaps > 0 else np.nan) if retstep else points


def _filled_like(a: Operand, value: float, dtype: DTypeLike | None, shape: Shape, order: Operand) -> Operand:
    """A tracked array, for the function to write tracked values into; its memory layout is NumPy's, on which views depend."""
    dtype = a.dtype if dtype is None else tracked_dtype(dtype)
    if order == "C" or a.ndim < 2:
        return a._recorder.tracked_constant(np.full(a.shape if shape is None else shape, value, dtype))
    made = np.full_like(laid_out(a), value, dtype, order, shape=shape)
    return lying_as(a._recorder.tracked_constant(made), made)
