"""Joining and splitting arrays; lists and object arrays that hold tracked values, as one tracked array."""

from __future__ import annotations

import builtins
from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter, eq, itemgetter

import numpy as np
from numpy import asarray  # NumPy's own; see numpy_namespace.py
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import DTypeLike

from ..base.current_recording import current_recorder
from ..errors import ShapeMismatch, UnsupportedFunction
from ..ir.instruction import Computes, Operand, Recorded, is_tracked
from ..ops.arrays.indexing import ASSEMBLE, Region, assemble
from ..ops.arrays.regions import entries_of_vector
from ..ops.arrays.shape import reshape as reshape_value
from .kinds import check_cast, converted, is_foreign, plain_data

# Vectors of numbers up to this length use cached regions.
LONGEST_KEPT = 64


def concatenate(arrays: Operand, axis: int | None = 0, dtype: DTypeLike | None = None, casting: str = "same_kind") -> Operand:
    parts = [part if is_tracked(part) else as_value(part) for part in arrays]
    if axis is None:
        parts, axis = [np.reshape(part, (-1,)) for part in parts], 0
    shapes = [np.shape(part) for part in parts]
    ndim = len(shapes[0])
    if ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normalize_axis_index(axis, ndim)
    if builtins.any(
        len(s) != ndim or s[:axis] != shapes[0][:axis] or s[axis + 1 :] != shapes[0][axis + 1 :] for s in shapes
    ):
        raise ValueError(f"all the input array dimensions except for axis {axis} must match exactly, got {shapes}")
    total = int(np.sum([s[axis] for s in shapes]))
    full = (*shapes[0][:axis], total, *shapes[0][axis + 1 :])
    regions, start = [], 0
    for shape in shapes:
        starts = tuple(start if k == axis else 0 for k in range(ndim))
        regions.append(Region(starts, (1,) * ndim, shape, shape))
        start += shape[axis]
    joined = assemble(parts, regions, full)
    if dtype is not None or casting != "same_kind":
        for part in parts:
            check_cast(part.dtype, joined.dtype if dtype is None else dtype, casting)
    return joined if dtype is None else converted(joined, dtype) if is_tracked(joined) else joined.astype(dtype)


def stack(arrays: Operand, axis: int = 0) -> Operand:
    whole = _whole_run(arrays) if axis == 0 else None
    if whole is not None:
        return whole
    parts = [part if is_tracked(part) else as_value(part) for part in arrays]
    shapes = {part.shape if is_tracked(part) else np.shape(part) for part in parts}
    if len(shapes) != 1:
        raise ValueError("all input arrays must have the same shape")
    (shape,) = shapes
    axis = normalize_axis_index(axis, len(shape) + 1)
    recorder = current_recorder()
    if not shape and recorder is not None and recorder.entry_runs and len(parts) > 1:
        return _joined_runs(parts, recorder.entry_runs)
    if not shape and len(parts) <= LONGEST_KEPT:
        return ASSEMBLE(*parts, regions=entries_of_vector(len(parts)), shape=(len(parts),), disjoint=True)
    full = (*shape[:axis], len(parts), *shape[axis:])
    counts = (*shape[:axis], 1, *shape[axis:])
    regions = [
        Region(tuple(k if d == axis else 0 for d in range(len(full))), (1,) * len(full), counts, shape)
        for k in range(len(parts))
    ]
    return assemble(parts, regions, full)


def _whole_run(numbers: Operand) -> Operand | None:
    """The slice of a vector that a list of its consecutive entries stands for; None for other lists. Scans at the speed of C."""
    recorder = current_recorder()
    if recorder is None or not recorder.entry_runs or type(numbers) is not list or len(numbers) < 2:
        return None
    kinds = set(map(type, numbers))
    if len(kinds) > 1 or not issubclass(kinds.pop(), Recorded):
        return None
    first, runs = numbers[0]._id, recorder.entry_runs
    found = bisect_right(runs, first, key=itemgetter(0)) - 1
    if found < 0:
        return None
    start, vector = first - runs[found][0], runs[found][1]
    end = start + len(numbers)
    are_entries = end <= len(vector) and all(map(eq, map(attrgetter("_id"), numbers), range(first, first + len(numbers))))
    if not are_entries or set(map(id, map(attrgetter("_recorder"), numbers))) != {id(vector._recorder)}:
        return None
    return vector[start:end].copy()


def _joined_runs(numbers: Sequence[Operand], runs: Sequence[tuple[int, Operand]]) -> Operand:
    """Join numbers to one array, using slices of vectors for their consecutive entries; runs: `entry_runs` of Recorder."""
    parts: list[Operand] = []
    regions: list[Region] = []
    full, firsts = (len(numbers),), [first for first, _ in runs]
    at = 0
    while at < len(numbers):
        part, count = _run_from(numbers, at, runs, firsts)
        parts.append(part)
        regions.append(Region((at,), (1,), (count,), np.shape(part)))
        at += count
    return parts[0].copy() if len(parts) == 1 else assemble(parts, regions, full)


def _run_from(
    numbers: Sequence[Operand], at: int, runs: Sequence[tuple[int, Operand]], firsts: Sequence[int]
) -> tuple[Operand, int]:
    """The longest slice of a vector whose entries are numbers[at:], or numbers[at] alone; and its length."""
    part = numbers[at]
    found = bisect_right(firsts, part._id) - 1 if is_tracked(part) else -1
    if found < 0:
        return part, 1
    first, vector = runs[found]
    start = part._id - first
    if start >= len(vector) or part._recorder is not vector._recorder:
        return part, 1
    count, most = 1, min(len(vector) - start, len(numbers) - at)
    while count < most and _follows(numbers[at + count], part, count):
        count += 1
    return (part, 1) if count == 1 else (vector[start : start + count], count)


def _follows(number: Operand, first: Operand, count: int) -> bool:
    """True if a number was recorded `count` instructions after another."""
    return is_tracked(number) and number._id == first._id + count and number._recorder is first._recorder


def as_value(part: Operand) -> Operand:
    """Turn a list or object array of tracked scalars into one tracked array; anything else into an ndarray."""
    if is_tracked(part):
        return part
    if issubclass(type(part), Computes):
        return part.settled()
    array = plain_data(part)
    array = array if isinstance(array, np.ndarray) else _nested(array)
    if is_tracked(array) or array.dtype != object:
        return array
    return stack_objects(array)


def _nested(part: Operand) -> Operand:
    if type(part) is int and not -(2**63) <= part < 2**63:
        return asarray(float(part))
    whole = _whole_run(part)
    if whole is not None:
        return whole
    if isinstance(part, (list, tuple)) and builtins.any(isinstance(p, (Recorded, list, tuple)) for p in part):
        rows = [p if is_tracked(p) else _row(p) for p in part]
        if not builtins.any(is_tracked(row) for row in rows):
            return asarray(part)
        for p, row in zip(part, rows):
            if not is_tracked(row) and row.dtype.kind not in "fiubc":
                raise UnsupportedFunction(
                    "a list with a tracked number in it also holds what is no number", got=repr(p)[:60],
                    fix="leave it out, or np.array([...], dtype=float), which makes NaN of None and numbers of text",
                )  # fmt: skip
        shapes = [row.shape for row in rows]
        if len(set(shapes)) > 1:
            at = next(k for k, shape in enumerate(shapes) if shape != shapes[0])
            raise ShapeMismatch(
                "the entries of a list that is to be an array have different shapes, which NumPy refuses, too",
                got=f"shape {shapes[0]} of the first one and {shapes[at]} of number {at}, counted from 0",
                fix="give all the same length; np.concatenate([...]) joins vectors of different lengths",
            )  # fmt: skip
        return stack(rows)
    return asarray(part)


def _row(part: Operand) -> Operand:
    """An entry of a list as an array; an object array unless it is numeric."""
    may_be_tracked = isinstance(part, (int, float, list, tuple, np.ndarray)) or is_foreign(part)
    return as_value(part) if may_be_tracked else asarray(part)


def stack_objects(array: np.ndarray) -> Operand:
    """Turn an object array that NumPy built of tracked scalars into one tracked array."""
    if not builtins.any(is_tracked(entry) for entry in array.flat):
        raise UnsupportedFunction("an object array met a tracked array", got=f"dtype object, shape {array.shape}",
                                  fix="convert it to floats first")  # fmt: skip
    return reshape_value(stack(list(array.flat)), array.shape)


def vstack(tup: Operand, *, dtype: DTypeLike | None = None, casting: str = "same_kind") -> Operand:
    return concatenate([np.atleast_2d(part) for part in map(as_value, tup)], 0, dtype, casting)


def hstack(tup: Operand, *, dtype: DTypeLike | None = None, casting: str = "same_kind") -> Operand:
    parts = [np.atleast_1d(part) for part in map(as_value, tup)]
    return concatenate(parts, 0 if np.ndim(parts[0]) == 1 else 1, dtype, casting)


def column_stack(tup: Operand) -> Operand:
    parts = [as_value(part) for part in tup]
    return concatenate([np.reshape(p, (-1, 1)) if np.ndim(p) < 2 else p for p in parts], axis=1)
