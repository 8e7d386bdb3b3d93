"""Writes into tracked arrays: item assignment, out=, in-place methods, and the NumPy functions that change their argument.

A write makes a new version of the array; `TrackedArray._store` assigns it to the array and to its bases.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy import asarray  # NumPy's own; see numpy_namespace.py
from numpy.lib.array_utils import normalize_axis_index

from ..base.byte_code import is_held_elsewhere
from ..base.current_recording import current_recorder
from ..base.source_location import user_site
from ..errors import UnsupportedFunction
from ..ir.instruction import BOOL, FLOAT64, Computes, Operand, is_tracked
from ..ops.arrays.indexing import GATHER, PUT, REPLACE, SCATTER_ADD, Region, Regions, are_distinct, replace
from ..ops.arrays.shape import broadcast, reshape
from ..ops.elementwise.comparison import NOT_EQUAL, SELECT
from .complex_numbers.pair import is_complex
from .composed.ordering import positions_along, require_same_axes, sort
from .indexing import (
    MOST_WRITTEN_OUT,
    holds_tracked_index,
    in_range,
    is_basic,
    is_tracked_index,
    place_of,
    positions_of,
    recorded_positions,
    region_of,
    tracked_positions_of,
    with_known_entries,
)
from .joining import as_value
from .kinds import converted


def assign(array: Operand, index: Operand, value: Operand) -> None:
    """array[index] = value."""
    array._refresh()
    value = _of_dtype(value, array.dtype)
    if array._recorder.fills and is_tracked_index(index):
        index = with_known_entries(index)
    if is_basic(index):
        region = region_of(index, array.shape)
        if is_tracked(value) and _is_part(value, array, region):
            return
        if _written_in_place(array, region, value):
            return
        new = replace(array, broadcast(_squeezed(value, region.shape), region.shape), region)
    elif is_tracked(index) and index.dtype == BOOL and not np.ndim(value):
        if index.shape != array.shape[: index.ndim]:
            raise IndexError(f"boolean index of shape {index.shape} did not match indexed array of shape {array.shape}")
        new = SELECT(reshape(index, index.shape + (1,) * (array.ndim - index.ndim)), value, array)
    else:
        if is_tracked(value) and _is_place(value, array, index):
            return
        positions = flat_positions(index, array.shape)
        here = _recorded(array, index, positions)
        new = PUT(array, broadcast(_squeezed(value, positions.shape), positions.shape), here, distinct=are_distinct(positions))
        if is_tracked(positions):
            array._recorder.written_at[new._id] = positions
    array._store(new)


def _is_part(value: Operand, array: Operand, region: Region) -> bool:
    """True if a value is the same part of the array that it is assigned to: x[k] += v has written it through the view x[k]."""
    view = value._view
    return view is not None and view.base is array and view.region == region and view.writes_seen == array._writes


def _is_place(value: Operand, array: Operand, index: Operand) -> bool:
    """`_is_part` for a tracked index."""
    view = value._view
    if view is None or view.place is None or view.base is not array or view.writes_seen != array._writes:
        return False
    return view.place == place_of(index)


def _written_in_place(array: Operand, region: Region, value: Operand) -> bool:
    """Write a part into the array's NumPy value in place if nothing else holds it; else do nothing and return False.

    Each write makes a new version of the array on the tape; copying its value each time would make filling an array entry by entry
    take quadratic time.
    """
    recorder, part = array._recorder, value
    if array._view is not None or array.type.dtype is not FLOAT64 or recorder is not current_recorder():
        return False
    if is_tracked(value):
        value._refresh()
        if value._recorder is not recorder or value.type != (region.shape, FLOAT64):
            return False
        part, number = value._value, value._id
    elif type(value) is float and not region.shape:
        number = -1
    else:
        return False
    whole = array._value
    # Two references are known, the array's and this variable; views of the memory would be further ones.
    if not recorder.concrete or type(whole) is not np.ndarray or is_held_elsewhere((whole,), 2):
        return False
    flags = whole.flags
    if not (flags.owndata and flags.writeable):
        return False
    if number < 0:
        number = recorder.constant(asarray(part))
    if region.shape:
        whole[region.slices] = np.reshape(part, region.counts)
    else:
        whole[region.starts] = part
    array._wrote_in_place(recorder.append(REPLACE, (array._id, number), (Regions((region,)),), array.type))
    return True


def _of_dtype(value: Operand, dtype: np.dtype) -> Operand:
    """Cast a value to the dtype of the array, as NumPy's assignment does (unsafe casting)."""
    if type(value) is float and dtype is FLOAT64:
        return value
    value = value if is_tracked(value) else as_value(value)
    if value.dtype == dtype or value.dtype.kind not in "fiub":
        return value
    return converted(value, dtype) if is_tracked(value) else value.astype(dtype)


def _squeezed(value: Operand, shape: tuple[int, ...]) -> Operand:
    """Drop leading axes of length 1 of an assigned value, as NumPy does."""
    extra = np.ndim(value) - len(shape)
    return reshape(value, np.shape(value)[extra:]) if extra > 0 and set(np.shape(value)[:extra]) == {1} else value


def flat_positions(index: Operand, shape: tuple[int, ...]) -> Operand:
    """Flat positions that an index selects; masks that depend on data are guarded."""
    index = without_masks(index)
    return tracked_positions_of(index, shape) if is_tracked_index(index) else positions_of(index, shape)


def _recorded(array: Operand, index: Operand, positions: Operand) -> Operand:
    """The positions as they are read (one value for equal ones); many rows by their first positions."""
    if is_tracked(positions) or positions.size < MOST_WRITTEN_OUT:
        return positions
    return recorded_positions(array, without_masks(index))


def without_masks(index: Operand) -> Operand:
    """Replace tracked masks in an index by their guarded pattern, and lists of tracked integers by arrays."""
    return tuple(map(_without_mask, index)) if type(index) is tuple else _without_mask(index)


def _without_mask(entry: Operand) -> Operand:
    if type(entry) in (list, tuple) and holds_tracked_index(entry):
        entry = as_value(entry)
    return entry._recorder.observe(entry, "array") if is_tracked(entry) and entry.dtype == BOOL else entry


# Results written into an existing array


def deliver_into(out: Operand, result: Operand, name: str | None, *, broadcasts: bool = False) -> Operand:
    """Write a result into `out`, by NumPy's rules for out= and for in-place operators: same kind of number, same shape.

    Args:
        name: of the function, for the error about another kind of number; None if any kind is allowed.
    """
    given, wanted = np.shape(result), out.shape
    if given != wanted and not (broadcasts and _broadcasts_to(given, wanted)):
        raise ValueError(
            f"non-broadcastable output operand with shape {wanted} doesn't match the broadcast shape {given}"
        )
    if name is not None:
        require_same_kind(result, out, name)
    assign(out, Ellipsis, result)
    return out


def require_same_kind(result: Operand, out: Operand, name: str) -> None:
    dtype = result.dtype if is_tracked(result) or is_complex(result) or issubclass(type(result), Computes) else np.asarray(result).dtype
    if not np.can_cast(dtype, out.dtype, "same_kind"):
        raise TypeError(
            f"Cannot cast ufunc '{name}' output from {dtype!r} to {out.dtype!r} with casting rule 'same_kind'"
        )


def _broadcasts_to(given: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    aligned = zip(given, wanted[len(wanted) - len(given) :])
    return len(given) <= len(wanted) and all(g == w or g == 1 for g, w in aligned)


def in_place(operation: Callable[..., Operand], name: str) -> Callable[..., Operand]:
    """x += y and its relatives. NumPy's scalars are immutable, so for them the operator makes a new value.

    0-d arrays, which are views (x[0, ...]) or come from np.array, are written to.
    """

    def operator_in_place(self: Operand, other: Operand) -> Operand:
        result = operation(self, other)
        return result if not self.type.shape and self._view is None else deliver_into(self, result, name)

    return operator_in_place


# NumPy functions and methods that change their argument


def sort_in_place(a: Operand, axis: int = -1, kind: object = None, order: object = None, *, stable: object = None) -> None:
    assign(a, Ellipsis, sort(a, axis, kind, order, stable=stable))


def fill(a: Operand, value: Operand) -> None:
    assign(a, Ellipsis, value)


def copyto(dst: Operand, src: Operand, casting: Operand = "same_kind", where: Operand = True) -> None:
    src = src if is_tracked(src) else as_value(src)
    require_tracked(dst, "copyto")
    if not np.can_cast(src.dtype, dst.dtype, casting):
        raise TypeError(f"Cannot cast array data from {src.dtype!r} to {dst.dtype!r} according to the rule '{casting}'")
    if where is not True:
        src = np.where(where, _of_dtype(src, dst.dtype), dst)
    assign(dst, Ellipsis, src)


def put(a: Operand, ind: Operand, v: Operand, mode: str = "raise") -> None:
    """Write values, repeated as often as needed, to the flat positions `ind`."""
    require_tracked(a, "put")
    ind = ind if is_tracked(ind) else np.asarray(ind)
    if ind.dtype.kind == "b":
        ind = ind.astype(np.int64)
    if not math.prod(ind.shape):
        return
    if mode == "wrap":
        ind = ind % a.size
    elif mode == "clip":
        ind = np.clip(ind, 0, a.size - 1)
    elif mode != "raise":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    put_flat(a, reshape(in_range(ind, a.size, 0), (math.prod(ind.shape),)), v)


def place(arr: Operand, mask: Operand, vals: Operand) -> None:
    """Write the values to the masked entries in turn. The number of these is guarded if the mask is tracked."""
    require_tracked(arr, "place")
    if math.prod(np.shape(vals)) == 1 and np.shape(mask) == arr.shape:
        return putmask(arr, mask, vals)
    mask = without_masks(_as_tracked_mask(mask))
    if mask.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    positions = np.flatnonzero(mask)
    if positions.size and not math.prod(np.shape(vals)):
        raise ValueError("Cannot insert from an empty array!")
    return put_flat(arr, positions, vals)


def putmask(a: Operand, mask: Operand, values: Operand) -> None:
    """Write values[n % len(values)] to entry n where the mask holds."""
    require_tracked(a, "putmask")
    mask = _as_tracked_mask(mask)
    if math.prod(np.shape(mask)) != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    if math.prod(np.shape(values)):
        values = reshape(_cycled(_of_dtype(values, a.dtype), a.size), a.shape)
        assign(a, Ellipsis, SELECT(reshape(mask, a.shape), values, a))


def fill_diagonal(a: Operand, val: Operand, wrap: bool = False) -> None:
    require_tracked(a, "fill_diagonal")
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim == 2:
        step, end = a.shape[1] + 1, a.size if wrap else a.shape[1] * a.shape[1]
    else:
        if len(set(a.shape)) != 1:
            raise ValueError("All dimensions of input must be of equal length")
        step, end = 1 + int(np.cumprod(a.shape[:-1]).sum()), a.size
    put_flat(a, np.arange(0, min(end, a.size), step), val)


def put_along_axis(arr: Operand, indices: Operand, values: Operand, axis: int | None) -> None:
    require_tracked(arr, "put_along_axis")
    if axis is None:
        return put(arr, indices, broadcast(values, np.shape(indices)))
    axis = normalize_axis_index(axis, arr.ndim)
    require_same_axes(arr, indices)
    positions = positions_along(arr.shape, in_range(indices, arr.shape[axis], axis), axis)
    values = _of_dtype(values, arr.dtype)
    arr._refresh()
    return arr._store(PUT(arr, broadcast(values, np.shape(positions)), positions, distinct=are_distinct(positions)))


def put_flat(a: Operand, positions: Operand, values: Operand) -> None:
    """Write values, repeated as often as needed, to flat positions; where positions repeat the last value stays."""
    if not math.prod(positions.shape) or not math.prod(np.shape(values)):
        return
    a._refresh()
    a._store(PUT(a, _cycled(_of_dtype(values, a.dtype), positions.shape[0]), positions, distinct=are_distinct(positions)))


def _cycled(values: Operand, count: int) -> Operand:
    size = math.prod(np.shape(values))
    if size == 1:
        return broadcast(reshape(values, (1,)), (count,))
    flat = reshape(values, (size,))
    return flat if size == count else flat[np.arange(count) % size]


def _as_tracked_mask(mask: Operand) -> Operand:
    if is_tracked(mask):
        return mask if mask.dtype == BOOL else NOT_EQUAL(mask, 0)
    return np.asarray(mask, dtype=bool)


def require_tracked(array: Operand, name: str) -> None:
    if not is_tracked(array):
        error = UnsupportedFunction(
            f"np.{name} is not supported on tracked arrays: writing tracked values into a plain array",
            at=user_site(), fix="use td.zeros(...) for the array, or copy it first with td.zeros(...) and x[...] = array",
        )  # fmt: skip
        error.is_write = True
        raise error


# ufunc.at


def at(ufunc: np.ufunc, a: Operand, indices: Operand, *operands: Operand) -> None:
    """ufunc.at: repeated positions are applied repeatedly."""
    name = ufunc.__name__
    require_tracked(a, f"{name}.at")
    if a._recorder.fills and is_tracked_index(indices):
        indices = with_known_entries(indices)
    if is_basic(indices):
        return assign(a, indices, ufunc(a[indices], *operands))
    a._refresh()
    positions = flat_positions(indices, a.shape)
    given = [v if is_tracked(v) else as_value(v) for v in operands]
    spread = [broadcast(v, positions.shape) for v in given]
    values = [reshape(v, (math.prod(positions.shape),)) for v in spread]
    here = _recorded(a, indices, positions)
    positions = reshape(positions, (math.prod(positions.shape),))
    is_sum = ufunc in (np.add, np.subtract) and a.dtype != BOOL and np.can_cast(values[0].dtype, a.dtype, "same_kind")
    if is_tracked(positions):
        if not is_sum:
            raise UnsupportedFunction(f"np.{name}.at is not supported on tracked arrays with tracked indices", at=user_site(),
                                      fix="make an array of floats for values that are floats" if ufunc in (np.add, np.subtract)
                                      and a.dtype != BOOL else "use np.add.at, or loop over the indices")  # fmt: skip
        return _sum_at(ufunc, a, positions, values[0])
    occurrences = _occurrences(positions)
    if is_sum and occurrences.max(initial=0) > 0:
        return _sum_at(ufunc, a, here, spread[0])
    for occurrence in range(occurrences.max(initial=-1) + 1):
        chosen = np.flatnonzero(occurrences == occurrence)
        # NumPy casts each of these results unsafely, unlike those of out=.
        result = ufunc(GATHER(a, positions[chosen]), *(v[chosen] for v in values))
        a._store(PUT(a, _of_dtype(result, a.dtype), positions[chosen], distinct=True))
    return None


def _sum_at(ufunc: np.ufunc, a: Operand, positions: Operand, values: Operand) -> None:
    """Add to (or subtract from) each entry the sum of its values: one scatter-add, instead of a write for each repetition."""
    values = _of_dtype(values, a.dtype)
    if ufunc == np.add and (is_tracked(values) or is_tracked(positions)) and _is_zeros(a):
        return a._store(SCATTER_ADD(values, positions, shape=a.shape))
    # Subtracting 0.0 from entries without values keeps the sign of zeros; adding 0.0 would turn -0.0 to 0.0.
    lost = SCATTER_ADD(values if ufunc == np.subtract else np.negative(values), positions, shape=a.shape)
    return a._store(np.subtract(a, lost))


def _is_zeros(a: Operand) -> bool:
    """True if an array is constant and all 0.0, as from np.zeros without a write since."""
    recorder = a._recorder
    return recorder.concrete and recorder.is_constant(a._id) and not np.any(a._value) and not np.any(np.signbit(a._value))


def _occurrences(positions: np.ndarray) -> np.ndarray:
    """The number of earlier occurrences of each entry's position."""
    order = np.argsort(positions, kind="stable")
    ordered = positions[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if ordered.size else np.zeros(0, int)
    lengths = np.diff(np.append(starts, ordered.size))
    occurrences = np.empty(positions.shape, np.int64)
    occurrences[order] = np.arange(ordered.size) - np.repeat(starts, lengths)
    return occurrences
