"""Sorting, searching and data-dependent selections: integer-valued instructions, or a guard if the shape depends on values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ...base.current_recording import current_recorder
from ...errors import UnsupportedFunction
from ...ir.instruction import FLOAT64, Operand, SupportsRecording, is_tracked
from ...ops import Elementwise
from ...ops.arrays.indexing import ARGSORT, GATHER, SEARCHSORTED
from ...ops.elementwise.arithmetic import CONVERT
from ..elementwise import as_mask
from ..indexing import in_range
from ..joining import as_value
from ..kinds import Axis, as_floats, converted
from ..reducing import axes_of
from ..shaping import copy, reshape


def argsort(a: Operand, axis: int | None = -1, kind: object = None, order: object = None, *, stable: object = None) -> Operand:
    _check_options(kind, order, stable)
    if axis is None or a.ndim == 0:
        a, axis = np.reshape(a, (-1,)), 0
    axis = normalize_axis_index(axis, a.ndim)
    return ARGSORT(a, axis=axis)


def _check_options(kind: object, order: object, stable: object) -> None:
    """Check the options: every sort here is stable; `order`, which names fields of records, is refused."""
    if kind is not None and stable is not None:
        raise ValueError("`kind` and keyword parameters can't be provided at the same time. Use only one of them.")
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")


def sort(a: Operand, axis: int | None = -1, kind: object = None, order: object = None, *, stable: object = None) -> Operand:
    _check_options(kind, order, stable)
    if axis is None:
        a, axis = np.reshape(a, (-1,)), 0
    axis = normalize_axis_index(axis, a.ndim)
    return _gathered_along(a, ARGSORT(a, axis=axis), axis)


def take_along_axis(arr: Operand, indices: Operand, axis: int | None = -1) -> Operand:
    if axis is None:
        arr, axis = np.reshape(arr, (-1,)), 0
    axis = normalize_axis_index(axis, np.ndim(arr))
    require_same_axes(arr, indices)
    if is_tracked(indices):
        return _gathered_along(arr, in_range(indices, np.shape(arr)[axis], axis), axis)
    places = np.take_along_axis(np.arange(arr.size).reshape(arr.shape), indices, axis)
    return GATHER(arr, places)


def require_same_axes(arr: Operand, indices: Operand) -> None:
    if np.ndim(indices) != np.ndim(arr):
        raise ValueError("`indices` and `arr` must have the same number of dimensions")


def _gathered_along(arr: Operand, indices: Operand, axis: int) -> Operand:
    """The entries at tracked positions, known to be in range, along an axis."""
    return GATHER(arr, positions_along(np.shape(arr), indices, axis))


def positions_along(shape: tuple[int, ...], indices: Operand, axis: int) -> Operand:
    """Convert indices along an axis to flat positions in an array of `shape`."""
    strides = [int(np.prod(shape[k + 1 :])) for k in range(len(shape))]
    base = np.zeros((1,) * len(shape), np.int64)
    for k in range(len(shape)):
        if k != axis:
            places = np.arange(shape[k]) * strides[k]
            base = base + places.reshape(tuple(-1 if d == k else 1 for d in range(len(shape))))
    return indices * strides[axis] + base


def searchsorted(a: Operand, v: Operand, side: str = "left", sorter: object = None) -> Operand:
    if sorter is not None:
        raise UnsupportedFunction("np.searchsorted with sorter=", fix="pass a[sorter]")
    return SEARCHSORTED(a if is_tracked(a) else as_value(a), v, side=side)


def median(a: Operand, axis: Axis = None, keepdims: bool = False, overwrite_input: bool = False) -> Operand:
    axes = axes_of(axis, a.ndim)
    kept = [k for k in range(a.ndim) if k not in axes]
    n = math.prod(a.shape[k] for k in axes)
    rows = reshape(np.transpose(as_floats(a), (*kept, *axes)), (*(a.shape[k] for k in kept), n))
    if n == 0:
        result = rows._recorder.tracked_constant(np.full(rows.shape[:-1], np.nan, rows.dtype))
    else:
        ordered = sort(rows, -1)
        middle = ordered[..., n // 2] if n % 2 else (ordered[..., n // 2 - 1] + ordered[..., n // 2]) * 0.5
        # With a NaN, which sorts last, NumPy's median is NaN.
        result = np.where(np.isnan(ordered[..., -1]), np.nan, middle)
    return reshape(result, tuple(1 if k in axes else s for k, s in enumerate(a.shape))) if keepdims else result


def take(a: Operand, indices: Operand, axis: int | None = None) -> Operand:
    if axis is None:
        return np.reshape(a, (-1,))[indices]
    taken = a[(slice(None),) * normalize_axis_index(axis, a.ndim) + (indices,)]
    return copy(taken) if isinstance(indices, (int, np.integer)) else taken


def nonzero(a: Operand) -> Operand:
    mask = as_mask(a)
    if not mask.type.shape:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    plain = mask._plain() if mask.type.size else np.zeros(mask.type.shape, bool)
    return a._recorder.compressed.nonzero(mask) if plain is None else np.nonzero(plain)


def flatnonzero(a: Operand) -> Operand:
    return nonzero(np.reshape(a, (-1,)))[0]


def argwhere(a: Operand) -> Operand:
    return np.argwhere(a._recorder.observe(as_mask(a), "array"))


def piecewise(x: Operand, condlist: Operand, funclist: Operand, *args: Operand, **kwargs: Operand) -> Operand:
    """NumPy's: each function gets the entries where its condition holds, or all if it acts on each alone."""
    x, recorder = as_value(x), current_recorder()
    if not is_tracked(x):
        x = recorder.tracked_constant(np.asarray(x))
    conditions, choices = _conditions_of(x, condlist), list(funclist)
    if len(choices) == len(conditions) + 1:
        conditions.append(np.logical_not(reduce(np.logical_or, conditions)))
    elif len(choices) != len(conditions):
        n = len(conditions)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    result = np.zeros_like(x)
    for condition, choice in zip(conditions, choices):
        start = len(recorder.instructions)
        value = as_value(choice(x, *args, **kwargs) if callable(choice) else choice)
        is_whole = value.ndim == 0 or (is_tracked(value) and _is_entrywise(recorder, start, x))
        if is_whole and (not callable(choice) or _is_of_any_length(choice, args, kwargs, x, value)):
            result = np.where(np.reshape(condition, condition.shape + (1,) * (x.ndim - condition.ndim)), _in_dtype_of(x, value), result)
        elif np.any(condition):
            result[condition] = choice(x[condition], *args, **kwargs) if callable(choice) else value
    return result


def _conditions_of(x: Operand, condlist: Operand) -> list[Operand]:
    """Masks on the first axes of x: one of each item, or the only one, by NumPy's rule."""
    items = list(condlist) if isinstance(condlist, (list, tuple)) or np.ndim(condlist) else []
    several = items and (x.ndim == 0 or isinstance(items[0], (list, tuple)) or np.ndim(items[0]) > 0)
    masks = [as_mask(as_value(c)) for c in (items if several else [condlist])]
    for mask in masks:
        if mask.shape != x.shape[: mask.ndim]:
            raise IndexError(f"boolean index did not match indexed array: a condition has shape {mask.shape}, the array {x.shape}")
    return masks


def _is_entrywise(recorder: Operand, start: int, x: Operand) -> bool:
    """True if each entry recorded from start on depends on that entry of x alone."""
    if x.ndim == 0:
        return True
    x = x if x._recorder is recorder else recorder.capture(x)
    dependent = {x._id}
    for k in range(start, len(recorder.instructions)):
        instruction = recorder.instructions[k]
        if dependent.isdisjoint(instruction.inputs):
            continue
        others = [recorder.instructions[i].type.shape for i in instruction.inputs if i not in dependent]
        if not isinstance(instruction.op, Elementwise) and instruction.op is not CONVERT:
            return False
        if instruction.type.shape != x.shape or any(others):
            return False
        dependent.add(k)
    return True


def _is_of_any_length(
    choice: Callable[..., Operand], args: Sequence[Operand], named: Mapping[str, Operand], x: Operand, value: Operand
) -> bool:
    """True if a function gives the same for an entry alone as among all: it might compute with their number."""
    if x.ndim == 0 or x.size < 2:
        return True
    largest = int(np.argmax(np.abs(x._value)))
    alone, among = (getattr(v, "_value", v) for v in (as_value(choice(np.ravel(x)[largest : largest + 1], *args, **named)), value))
    return np.size(alone) == 1 and np.array_equal(np.ravel(alone), np.ravel(among)[[largest if value.ndim else 0]], equal_nan=True)


def _in_dtype_of(x: Operand, value: Operand) -> Operand:
    value = as_value(value)
    return converted(value, x.dtype) if is_tracked(value) else value.astype(x.dtype)


def interp(x: Operand, xp: Operand, fp: Operand, left: Operand = None, right: Operand = None, period: float | None = None) -> Operand:
    """Piecewise linear interpolation; an integer-valued instruction finds the interval."""
    if period is not None:
        return interp(*_periodic(as_value(x), as_value(xp), as_value(fp), period))
    recorder = max((v._recorder for v in (x, xp, fp) if is_tracked(v)), key=lambda r: r.level)  # type: ignore[attr-defined]
    x, xp, fp = (converted(v, FLOAT64) if is_tracked(v) else v for v in map(as_value, (x, xp, fp)))
    x = x if is_tracked(x) else np.asarray(x, dtype=float)
    n = np.shape(xp)[0]
    if n == 0 or np.shape(fp) != (n,):
        raise ValueError("fp and xp are not of the same length." if n else "array of sample points is empty")
    upper = np.clip(np.searchsorted(xp, x, side="right"), 1, n - 1)
    lower = upper - 1
    xp, fp = (v if is_tracked(v) else _Lookup(v, recorder) for v in (xp, fp))
    x0, x1, f0, f1 = xp[lower], xp[upper], fp[lower], fp[upper]
    inside = f0 + (x - x0) * ((f1 - f0) / (x1 - x0))
    below = np.where(x < xp[0], fp[0] if left is None else left, inside)
    return np.where(x > xp[n - 1], fp[n - 1] if right is None else right, below)


def _periodic(x: Operand, xp: Operand, fp: Operand, period: float) -> tuple[Operand, Operand, Operand]:
    """Points and ordinates within one period, and one more at either end."""
    if period == 0:
        raise ValueError("period must be a non-zero value")
    period = abs(period)
    x, xp = x % period, xp % period
    order = np.argsort(xp)
    xp, fp = np.take(xp, order), np.take(fp, order)
    return x, np.concatenate([xp[-1:] - period, xp, xp[:1] + period]), np.concatenate([fp[-1:], fp, fp[:1]])


class _Lookup:
    """A plain array that can be read at tracked positions."""

    def __init__(self, array: Operand, recorder: SupportsRecording) -> None:
        self.array = np.asarray(array, dtype=float)
        self.recorder = recorder

    def __getitem__(self, index: Operand) -> Operand:
        return self.recorder.apply(GATHER, (self.array, index)) if is_tracked(index) else self.array[index]
