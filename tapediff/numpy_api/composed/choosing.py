"""Selections by positions: choose, take of plain arrays and with mode=, partitions, counts, positions in several axes."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ...errors import UnsupportedFunction
from ...ir.instruction import FLOAT64, Operand, is_tracked
from ...ops.arrays.indexing import GATHER, SCATTER_ADD
from ...ops.arrays.shape import broadcast, reshape
from ..indexing import in_range
from ..joining import as_value, stack
from ..kinds import Axis, Shape, converted
from ..shaping import copy
from .ordering import argsort, sort, take as take_in_range


def _with_mode(positions: Operand, extent: int, mode: str, axis: int = 0, refusal: str = "") -> Operand:
    """Map positions to 0 ... extent - 1 by NumPy's mode= argument; raises NumPy's error for positions out of range."""
    if mode == "wrap":
        return positions % extent
    if mode == "clip":
        return np.clip(positions, 0, extent - 1)
    if mode != "raise":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    if not refusal:
        return in_range(positions, extent, axis)
    try:
        return in_range(positions, extent, axis)
    except IndexError:
        raise ValueError(refusal) from None


def take(a: Operand, indices: Operand, axis: int | None = None, mode: str = "raise") -> Operand:
    """np.take, also from a plain array at tracked positions."""
    a, indices = as_value(a), as_value(indices)
    if indices.dtype.kind == "b" or (indices.dtype.kind == "f" and not is_tracked(indices)):
        indices = indices.astype(np.int64)  # masks are zeros and ones here; NumPy truncates floats
    if np.ndim(a) == 0:  # as in NumPy
        a = np.reshape(a, (1,))
    if axis is not None:
        axis = normalize_axis_index(axis, np.ndim(a))
    if mode == "raise" and is_tracked(a):
        return take_in_range(a, int(indices) if indices.ndim == 0 and not is_tracked(indices) else indices, axis)
    if axis is None:
        a, axis = np.reshape(a, (-1,)), 0
    if indices.dtype.kind not in "iu":
        raise TypeError(f"Cannot cast array data from {indices.dtype!r} to dtype('int64') according to the rule 'safe'")
    shape = np.shape(a)
    before, after = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    places = _with_mode(indices, shape[axis], mode, axis) * after
    places = reshape(places, (1, *indices.shape, 1)) + np.arange(before).reshape(-1, *[1] * (indices.ndim + 1)) * (shape[axis] * after)
    places = places + np.arange(after)
    taken = GATHER(a, places)
    return reshape(taken, (*shape[:axis], *indices.shape, *shape[axis + 1 :]))


def choose(a: Operand, choices: Operand, mode: str = "raise") -> Operand:
    options = [as_value(choice) for choice in choices] if isinstance(choices, (list, tuple)) else list(choices)
    dtype = np.result_type(*(option.dtype for option in options))
    chosen = _with_mode(as_value(a), len(options), mode, refusal="invalid entry in choice array")
    shape = np.broadcast_shapes(np.shape(chosen), *map(np.shape, options))
    table = stack([broadcast(converted(o, dtype) if is_tracked(o) else o.astype(dtype), shape) for o in options])
    size = math.prod(shape)
    places = broadcast(chosen, shape) * size + np.arange(size).reshape(shape)
    return GATHER(table, places)


def compress(condition: Operand, a: Operand, axis: int | None = None) -> Operand:
    """The entries where the condition, which may be shorter, holds; a guard if it is tracked."""
    condition = as_value(condition)
    if np.ndim(condition) != 1:
        raise ValueError("condition must be a 1-d array")
    return take_in_range(as_value(a), np.nonzero(condition)[0], axis)


def partition(a: Operand, kth: Operand, axis: int | None = -1, kind: object = None, order: object = None) -> Operand:
    """Sort, which is a partition at every position."""
    _check_places(a, kth, axis, kind)
    return sort(a, axis, order=order)


def argpartition(a: Operand, kth: Operand, axis: int | None = -1, kind: object = None, order: object = None) -> Operand:
    _check_places(a, kth, axis, kind)
    return argsort(a, axis, order=order)


def _check_places(a: Operand, kth: Operand, axis: int | None, kind: object) -> None:
    if kind not in (None, "introselect"):
        raise ValueError(f"select kind must be 'introselect' (got {kind!r})")
    extent = a.size if axis is None else a.shape[normalize_axis_index(axis, a.ndim)]
    for place in np.ravel(kth).tolist():
        if extent and not -extent <= operator.index(place) < extent:
            raise ValueError(f"kth(={place % extent if extent else place}) out of bounds ({extent})")


def partition_in_place(a: Operand, kth: Operand, axis: int = -1, kind: object = None, order: object = None) -> None:
    a[...] = partition(a, kth, axis, kind, order)


def lexsort(keys: Operand, axis: int = -1) -> Operand:
    """Sort stably by one key after the other; the last key is the primary one."""
    axis = operator.index(axis)
    keys = [as_value(key) for key in keys]
    if any(key.shape != keys[0].shape for key in keys):
        raise ValueError("all keys need to be the same shape")
    axis = normalize_axis_index(axis, keys[0].ndim)
    order = argsort(keys[0], axis)
    for key in keys[1:]:
        order = np.take_along_axis(order, argsort(np.take_along_axis(key, order, axis), axis), axis)
    return order


def nanmedian(a: Operand, axis: Axis = None, keepdims: bool = False) -> Operand:
    """The middle number for an odd count, else half the sum of the two in the middle, which may be infinite."""
    low, high = (np.nanquantile(a, 0.5, axis, method=method, keepdims=keepdims) for method in ("lower", "higher"))
    is_odd = np.sum(~np.isnan(a), axis=axis, keepdims=keepdims) % 2 == 1
    return np.where(is_odd, low, (low + high) * 0.5)


def bincount(x: Operand, weights: Operand = None, minlength: int = 0) -> Operand:
    """The result's length is a shape: for tracked integers, guard that all are below `minlength`, or guard the largest one."""
    x = as_value(x)
    if np.ndim(x) == 1 and x.dtype.kind == "b":
        x = x.astype(np.int64)
    if np.ndim(x) != 1 or x.dtype.kind not in "iu":
        raise UnsupportedFunction("np.bincount of what is not a list of integers", fix="pass integers, as by x.astype(int)")
    if x.size and np.min(x) < 0:
        raise ValueError("'list' argument must have no negative elements")
    length = operator.index(minlength)
    if length < 0:
        raise ValueError("'minlength' must not be negative")
    if x.size and not np.max(x) < length:
        length = int(np.max(x)) + 1
    if weights is None:
        counted: Operand = np.ones(x.shape, np.int64)
    else:
        weights = as_value(weights)
        if np.shape(weights) != x.shape:
            raise ValueError("The weights and list don't have the same length.")
        counted = converted(weights, FLOAT64) if is_tracked(weights) else weights.astype(float)
    return SCATTER_ADD(counted, x, shape=(length,))


def histogram(
    a: Operand, bins: Operand = 10, range: Operand = None, density: bool | None = None, weights: Operand = None
) -> tuple[Operand, Operand]:
    """Counts, or sums of weights, in bins that tracked data may decide; an entry's bin has no derivative."""
    edges = np.histogram_bin_edges(a, bins, range, weights)
    data, count = np.ravel(as_value(a)), edges.shape[0] - 1
    places = np.searchsorted(edges, data, side="right") - 1
    places = np.where(data == edges[-1], count - 1, places)
    is_inside = (places >= 0) & (places < count)
    added = np.ones(data.shape, np.int64) if weights is None else np.ravel(as_value(weights))
    sums = SCATTER_ADD(np.where(is_inside, added, added.dtype.type(0)), np.clip(places, 0, count - 1), shape=(count,))
    return (sums / np.diff(edges) / np.sum(sums) if density else sums), edges


def isin(
    element: Operand, test_elements: Operand, assume_unique: bool = False, invert: bool = False, *, kind: str | None = None
) -> Operand:
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    found = np.any(as_value(element)[..., None] == np.ravel(as_value(test_elements)), axis=-1)
    return ~found if invert else found


def setdiff1d(ar1: Operand, ar2: Operand, assume_unique: bool = False) -> Operand:
    """np.setdiff1d; the length of the result is guarded."""
    values = np.ravel(as_value(ar1)) if assume_unique else np.unique(as_value(ar1))
    return values[isin(values, ar2, invert=True)]


def _check_order(order: str) -> None:
    if order not in ("C", "F"):
        raise ValueError("only 'C' or 'F' order is permitted")


def unravel_index(indices: Operand, shape: Shape, order: str = "C") -> tuple[Operand, ...]:
    _check_order(order)
    extents = tuple(int(n) for n in np.atleast_1d(shape))
    size = math.prod(extents)
    places = _with_mode(as_value(indices), size, "raise", refusal=f"an index is out of bounds for array with size {size}")
    results: list[Operand] = []
    for extent in reversed(extents) if order == "C" else extents:
        results.append(places % extent)
        places = places // extent
    return tuple(reversed(results) if order == "C" else results)


def ravel_multi_index(multi_index: Sequence[Operand], dims: Shape, mode: str = "raise", order: str = "C") -> Operand:
    _check_order(order)
    extents = [int(n) for n in np.atleast_1d(dims)]
    places = [_with_mode(as_value(k), n, mode, 0, "invalid entry in coordinates array") for k, n in zip(multi_index, extents)]
    pairs = list(zip(places, extents)) if order == "C" else list(zip(places, extents))[::-1]
    total: Operand = 0
    for place, extent in pairs:
        total = total * extent + place
    return total


def unique(
    ar: Operand, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None,
    *, equal_nan: bool = True, sorted: bool = True,
) -> Operand:  # fmt: skip
    """The sorted distinct values, or slices along an axis. The pattern of repetitions is guarded, as it decides the shape."""
    if axis is not None:
        axis = normalize_axis_index(axis, np.ndim(ar))
    along = None if np.ndim(ar) == 1 else axis
    slices = np.reshape(ar, (-1,)) if along is None else np.moveaxis(ar, along, 0)
    rows = np.reshape(slices, (len(slices), -1) if slices.size else (len(slices), math.prod(slices.shape[1:])))
    order = _order_of_rows(rows)
    ordered = copy(slices[order])
    repeats = np.all(copy(rows[order])[1:] == copy(rows[order])[:-1], axis=-1)
    if equal_nan and along is None and ordered.dtype.kind == "f":
        repeats = repeats | (np.isnan(ordered[1:]) & np.isnan(ordered[:-1]))
    is_new = np.concatenate([np.ones(min(len(rows), 1), bool), ~repeats._recorder.observe(repeats, "array")])
    starts = np.flatnonzero(is_new)
    results = [ordered[starts] if along is None else np.moveaxis(ordered[starts], 0, along)]
    if return_index:
        results.append(order[starts])
    if return_inverse:
        ranks = np.cumsum(is_new) - 1
        shape = np.unique(np.zeros(ar.shape), return_inverse=True, axis=axis)[1].shape  # which depends on NumPy's version
        results.append(np.reshape(GATHER(ranks, argsort(order)), shape))
    if return_counts:
        results.append(np.diff(np.append(starts, len(rows))))
    return tuple(results) if len(results) > 1 else results[0]


def _order_of_rows(rows: Operand) -> Operand:
    """The permutation that sorts rows lexicographically."""
    if rows.shape[1] == 1:
        return argsort(rows[:, 0])
    return np.lexsort(np.flip(np.transpose(rows), 0)) if rows.shape[1] else np.arange(len(rows))
