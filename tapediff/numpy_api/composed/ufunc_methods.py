"""The methods reduce, accumulate and reduceat of ufuncs of two arguments."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import DTypeLike

from ...ir.instruction import Operand
from ...ops.arrays.indexing import SCATTER_ADD
from ..elementwise import as_mask
from ..joining import as_value
from ..kinds import Axis, converted
from ..reducing import reduced_axes
from ..shaping import copy

# Operands are combined in pairs, in log2(n) operations on arrays.
ASSOCIATIVE = (
    np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.logaddexp, np.logaddexp2, np.hypot, np.logical_and, np.logical_or,
    np.logical_xor, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.gcd, np.lcm,
)  # fmt: skip
_LOGICAL = (np.logical_and, np.logical_or, np.logical_xor)


def reduce(
    ufunc: np.ufunc, array: Operand, axis: Axis = 0, dtype: DTypeLike | None = None, keepdims: bool = False, initial: Operand = None,
    where: Operand = True,
) -> Operand:  # fmt: skip
    array = _operand(ufunc, array, dtype)
    axes = reduced_axes(axis, array.ndim)
    if len(axes) > 1 and ufunc not in ASSOCIATIVE:
        raise ValueError(f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be specified")
    in_order = ufunc not in ASSOCIATIVE and (initial is not None or where is not True)
    array = array if in_order else _only(ufunc, array, where, initial)
    kept = [k for k in range(array.ndim) if k not in axes]
    shape = tuple(array.shape[k] for k in kept)
    count = math.prod(array.shape[k] for k in axes)
    as_lines = lambda a: np.reshape(np.transpose(a, (*axes, *kept)), (count, *shape))  # noqa: E731 -- of the array and its masks
    lines = as_lines(array)
    if in_order:
        masks = None if where is True else as_lines(np.broadcast_to(as_value(where), array.shape))
        result = _one_after_the_other(ufunc, lines, initial, masks)
        return np.expand_dims(result, axes) if keepdims and axes else result
    if lines.shape[0] == 0 and initial is None and ufunc.identity is None:
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    if lines.shape[0] == 0:
        result = array._recorder.tracked_constant(np.full(shape, ufunc.identity if initial is None else initial, array.dtype))
    else:
        result = np.abs(copy(lines[0])) if ufunc == np.hypot and count == 1 else _folded(ufunc, lines)
        result = result if initial is None else ufunc(initial, result)
    return np.expand_dims(result, axes) if keepdims and axes else result


def _operand(ufunc: np.ufunc, array: Operand, dtype: DTypeLike | None) -> Operand:
    array = converted(as_value(array), dtype)
    return as_mask(array) if ufunc in _LOGICAL else array


def _one_after_the_other(ufunc: np.ufunc, lines: Operand, initial: Operand, masks: Operand) -> Operand:
    """As NumPy, which begins with the initial value and leaves out entries where the mask does not hold."""
    if initial is None:
        raise ValueError(f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where mask one has to specify "
                         "'initial'")  # fmt: skip
    total = np.broadcast_to(as_value(initial), lines.shape[1:])
    for k in range(lines.shape[0]):
        following = ufunc(total, lines[k])
        total = following if masks is None else np.where(masks[k], following, total)
    return total


def _only(ufunc: np.ufunc, array: Operand, where: Operand, initial: Operand) -> Operand:
    if where is True:
        return array
    neutral = ufunc.identity if ufunc.identity is not None else initial
    if neutral is None:
        name = ufunc.__name__
        raise ValueError(f"reduction operation '{name}' does not have an identity, so to use a where mask one has to specify 'initial'")
    return np.where(where, array, neutral)


def _folded(ufunc: np.ufunc, lines: Operand) -> Operand:
    """Reduce along the first axis, which is not empty: in pairs, or one after the other."""
    if ufunc not in ASSOCIATIVE:
        total = lines[0]
        for k in range(1, lines.shape[0]):
            total = ufunc(total, lines[k])
        return copy(total)
    if ufunc == np.hypot:  # pad to a power of two: joining hypotenuses to the rest would hide that only their squares are read
        missing = (1 << (lines.shape[0] - 1).bit_length()) - lines.shape[0]
        lines = np.concatenate([lines, np.zeros((missing, *lines.shape[1:]), lines.dtype)]) if missing else lines
    while lines.shape[0] > 1:
        half = lines.shape[0] // 2
        pairs = ufunc(lines[:half], lines[half : 2 * half])
        lines = np.concatenate([pairs, lines[2 * half :]]) if lines.shape[0] % 2 else pairs
    return copy(lines[0])


def accumulate(ufunc: np.ufunc, array: Operand, axis: int = 0, dtype: DTypeLike | None = None) -> Operand:
    array = _operand(ufunc, array, dtype)
    if array.ndim == 0:
        raise TypeError("cannot accumulate on a scalar")
    axis = normalize_axis_index(axis, array.ndim)
    lines = np.moveaxis(array, axis, 0)
    if ufunc in ASSOCIATIVE:
        step = 1
        while step < lines.shape[0]:
            lines = np.concatenate([lines[:step], ufunc(lines[:-step], lines[step:])])
            step *= 2
    elif lines.shape[0]:
        parts = [lines[0]]
        for k in range(1, lines.shape[0]):
            parts.append(ufunc(parts[-1], lines[k]))
        lines = np.stack(parts)
    return copy(np.moveaxis(lines, 0, axis))


def reduceat(ufunc: np.ufunc, array: Operand, indices: Operand, axis: int = 0, dtype: DTypeLike | None = None) -> Operand:
    """Reduce the segments that begin at the indices; a segment is one entry if the next index is not larger."""
    array = _operand(ufunc, array, dtype)
    axis = normalize_axis_index(axis, array.ndim)
    lines, extent = np.moveaxis(array, axis, 0), array.shape[axis]
    starts = np.asarray([operator.index(k) for k in indices], np.int64)
    for start in starts:
        if not 0 <= start < extent:
            raise IndexError(f"index {start} out-of-bounds in {ufunc.__name__}.reduceat [0, {extent})")
    ends = np.maximum(np.append(starts[1:], extent), starts + 1)
    if ufunc == np.add and lines.dtype.kind == "f" and (starts[1:] > starts[:-1]).all():
        result = _summed(lines, starts, ends)
    else:
        result = np.stack([_folded(ufunc, lines[start:end]) for start, end in zip(starts, ends)]) if starts.size else lines[:0]
    return np.moveaxis(result, 0, axis)


def _summed(lines: Operand, starts: np.ndarray, ends: np.ndarray) -> Operand:
    """The sums of consecutive segments, in one operation."""
    width = int(np.prod(lines.shape[1:]))
    rows = np.repeat(np.arange(len(starts)), ends - starts)
    places = rows[:, None] * width + np.arange(width)
    used = np.reshape(lines[starts[0] :], (-1,)) if len(starts) else np.reshape(lines[:0], (-1,))
    sums = SCATTER_ADD(used, places.reshape(-1), shape=(len(starts) * width,))
    return np.reshape(sums, (len(starts), *lines.shape[1:]))


METHODS: dict[str, Callable[..., Operand]] = {"reduce": reduce, "accumulate": accumulate, "reduceat": reduceat}


def concerns(ufunc: np.ufunc, method: str) -> bool:
    return method in METHODS and ufunc.nin == 2 and ufunc.nout == 1 and ufunc.signature is None
