"""Changing shapes, joining and splitting arrays, with NumPy's view semantics where NumPy returns a view."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence

import numpy as np
from numpy import asarray  # NumPy's own; see namespace.py
from numpy.typing import DTypeLike

from ..errors import UnsupportedFunction
from ..ir.instruction import Operand, Recorded, is_tracked
from ..ops.arrays.indexing import GATHER, PUT, Region, assemble
from ..ops.arrays.shape import BROADCAST, RESHAPE, TRANSPOSE
from ..ops.arrays.shape import reshape as reshape_value
from .kinds import Axis, Shape, common_floats, converted, tracked_dtype


def reshape(a: Operand, shape: Shape = None, order: str = "C", copy: bool | None = None) -> Operand:
    if order == "F":
        shape = shape if isinstance(shape, (tuple, list)) else (shape,)
        return transpose(reshape(transpose(a), tuple(reversed(shape))))
    if order not in ("C", "A"):
        raise UnsupportedFunction(f"reshape with order={order!r}", fix="use order='C' or 'F'")
    target = _full_shape(a.shape, shape)
    old = a.shape
    result = RESHAPE(a, shape=target)
    if copy or not _is_view(a, target):
        if copy is False:
            raise ValueError("Unable to avoid creating a copy while reshaping.")
        return result
    return result._as_view(a, lambda base: RESHAPE(base, shape=target), lambda _, part: RESHAPE(part, shape=old))


def _is_view(a: Operand, shape: tuple[int, ...]) -> bool:
    """Whether NumPy reshapes the array without copying it. Arguments count as laid out row by row."""
    if a._view is None and (type(a._value) is not np.ndarray or a._value.flags.c_contiguous):
        return True
    laid_out = _laid_out(a)
    return np.may_share_memory(laid_out, np.reshape(laid_out, shape))


def _laid_out(a: Operand) -> np.ndarray:
    """An array without contents that lies in memory as NumPy's would."""
    reads = []
    while a._view is not None and a._value is not None:
        reads.append(a._view.read)
        a = a._view.base
    laid_out = np.empty_like(a._value) if type(a._value) is np.ndarray else np.empty(a.shape)
    for read in reversed(reads):
        laid_out = asarray(read(laid_out))
    return laid_out


def layout(a: Operand, order: str | None) -> Operand:
    """The array, or a copy of it where NumPy makes one to have it lie row by row ("C") or column by column ("F")."""
    flags = _laid_out(a).flags if order in ("C", "F") else None
    if flags is None or (flags.c_contiguous if order == "C" else flags.f_contiguous):
        return a
    laid_out = a._value
    if type(laid_out) is np.ndarray:
        laid_out = np.ascontiguousarray(laid_out) if order == "C" else np.asfortranarray(laid_out)
    return type(a)(a._recorder, a._id, laid_out, a.type)


def _full_shape(old: tuple[int, ...], shape: Shape) -> tuple[int, ...]:
    wanted = [int(s) for s in (shape if isinstance(shape, (tuple, list)) else (shape,))]
    size = int(np.prod(old))
    if wanted.count(-1) == 1:
        known = int(np.prod([s for s in wanted if s != -1]))
        wanted[wanted.index(-1)] = size // known if known else 0
    if int(np.prod(wanted)) != size or -1 in wanted:
        raise ValueError(f"cannot reshape array of size {size} into shape {tuple(wanted)}")
    return tuple(wanted)


def ravel(a: Operand, order: str = "C") -> Operand:
    return reshape(a, (-1,), order=order)


def flatten(a: Operand, order: str = "C") -> Operand:
    return copy(ravel(a, order), "C")


def copy(a: Operand, order: str = "K", subok: bool = False) -> Operand:
    """A tracked array of its own, on the same value: later writes to either are not seen by the other."""
    a._refresh()
    value = a._value
    if order == "C" and type(value) is np.ndarray and not value.flags.c_contiguous:
        value = np.array(value, order="C")  # laid out as NumPy's copy, so that it is reshaped to views as that is
    return type(a)(a._recorder, a._id, value, a.type)


def method_copy(a: Operand, order: str = "C") -> Operand:
    """The method copies row by row, the function as the array lies."""
    return copy(a, order)


def transpose(a: Operand, axes: Sequence[int] | None = None) -> Operand:
    axes = tuple(reversed(range(a.ndim))) if axes is None else tuple(int(k) % a.ndim for k in axes)
    if sorted(axes) != list(range(a.ndim)):
        raise ValueError("axes don't match array")
    if axes == tuple(range(a.ndim)):
        return a
    back = tuple(int(k) for k in np.argsort(axes))
    result = TRANSPOSE(a, axes=axes)
    return result._as_view(a, lambda base: TRANSPOSE(base, axes=axes), lambda _, part: TRANSPOSE(part, axes=back))


def swapaxes(a: Operand, axis1: int, axis2: int) -> Operand:
    axes = list(range(a.ndim))
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return transpose(a, axes)


def moveaxis(a: Operand, source: int | Sequence[int], destination: int | Sequence[int]) -> Operand:
    source = [source] if isinstance(source, int) else list(source)
    destination = [destination] if isinstance(destination, int) else list(destination)
    source, destination = [s % a.ndim for s in source], [d % a.ndim for d in destination]
    order = [k for k in range(a.ndim) if k not in source]
    for d, s in sorted(zip(destination, source)):
        order.insert(d, s)
    return transpose(a, order)


def expand_dims(a: Operand, axis: Axis) -> Operand:
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    ndim = a.ndim + len(axes)
    axes = {k % ndim for k in axes}
    rest = iter(a.shape)
    return reshape(a, tuple(1 if k in axes else next(rest) for k in range(ndim)))


def squeeze(a: Operand, axis: Axis = None) -> Operand:
    if axis is None:
        return reshape(a, tuple(s for s in a.shape if s != 1))
    axes = {k % a.ndim for k in (axis if isinstance(axis, (tuple, list)) else (axis,))}
    if builtins.any(a.shape[k] != 1 for k in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return reshape(a, tuple(s for k, s in enumerate(a.shape) if k not in axes))


def broadcast_to(array: Operand, shape: Shape, subok: bool = False) -> Operand:
    shape = tuple(int(s) for s in shape) if isinstance(shape, (tuple, list)) else (int(shape),)
    if np.broadcast_shapes(array.shape, shape) != shape:
        raise ValueError(f"cannot broadcast shape {array.shape} to {shape}")
    if array.shape == shape:
        return copy(array)._as_view(array, lambda base: base, None)
    return BROADCAST(array, shape=shape)._as_view(array, lambda base: BROADCAST(base, shape=shape), None)


def broadcast_arrays(*args: Operand, subok: bool = False) -> Operand:
    shape = np.broadcast_shapes(*(np.shape(a) for a in args))
    return tuple(np.broadcast_to(a, shape) for a in args)


def concatenate(arrays: Operand, axis: int | None = 0, dtype: DTypeLike | None = None, casting: str = "same_kind") -> Operand:
    parts = [part if is_tracked(part) else as_value(part) for part in arrays]
    if axis is None:
        parts, axis = [np.reshape(part, (-1,)) for part in parts], 0
    shapes = [np.shape(part) for part in parts]
    ndim = len(shapes[0])
    if ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis %= ndim
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
    return assemble(parts, regions, full)


def stack(arrays: Operand, axis: int = 0) -> Operand:
    parts = [part if is_tracked(part) else as_value(part) for part in arrays]
    shapes = {np.shape(part) for part in parts}
    if len(shapes) != 1:
        raise ValueError("all input arrays must have the same shape")
    (shape,) = shapes
    axis %= len(shape) + 1
    full = (*shape[:axis], len(parts), *shape[axis:])
    counts = (*shape[:axis], 1, *shape[axis:])
    regions = [
        Region(tuple(k if d == axis else 0 for d in range(len(full))), (1,) * len(full), counts, shape)
        for k in range(len(parts))
    ]
    return assemble(parts, regions, full)


def as_value(part: Operand) -> Operand:
    """A list or object array that holds tracked scalars becomes one tracked array; anything else an ndarray."""
    if is_tracked(part):
        return part
    array = part if isinstance(part, np.ndarray) else _nested(part)
    if is_tracked(array) or array.dtype != object:
        return array
    return stack_objects(array)


def _nested(part: Operand) -> Operand:
    if type(part) is int and not -(2**63) <= part < 2**63:
        return asarray(float(part))
    if isinstance(part, (list, tuple)) and builtins.any(isinstance(p, (Recorded, list, tuple)) for p in part):
        rows = [p if is_tracked(p) else as_value(p) for p in part]
        return stack(rows) if builtins.any(is_tracked(row) for row in rows) else asarray(part)
    return asarray(part)


def stack_objects(array: np.ndarray) -> Operand:
    """An object array that NumPy built around tracked scalars, as one tracked array."""
    if not builtins.any(is_tracked(entry) for entry in array.flat):
        raise UnsupportedFunction("an object array met a tracked array", got=f"dtype object, shape {array.shape}",
                                  fix="convert it to floats first")  # fmt: skip
    return reshape_value(stack(list(array.flat)), array.shape)


def vstack(tup: Operand) -> Operand:
    return concatenate([np.atleast_2d(part) for part in map(as_value, tup)], axis=0)


def hstack(tup: Operand) -> Operand:
    parts = [np.atleast_1d(part) for part in map(as_value, tup)]
    return concatenate(parts, axis=0 if np.ndim(parts[0]) == 1 else 1)


def column_stack(tup: Operand) -> Operand:
    parts = [as_value(part) for part in tup]
    return concatenate([np.reshape(p, (-1, 1)) if np.ndim(p) < 2 else p for p in parts], axis=1)


def atleast_1d(a: Operand) -> Operand:
    return a if a.ndim >= 1 else reshape(a, (1,))


def atleast_2d(a: Operand) -> Operand:
    return a if a.ndim >= 2 else reshape(a, (1, a.size))


def flip(m: Operand, axis: Axis = None) -> Operand:
    axes = range(m.ndim) if axis is None else {k % m.ndim for k in (axis if isinstance(axis, tuple) else (axis,))}
    return m[tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(m.ndim))]


def roll(a: Operand, shift: Operand, axis: Axis = None) -> Operand:
    if axis is None:
        total = int(np.sum(shift))  # a flat array is rolled by all shifts together
        return reshape(_rolled(ravel(a), total, 0), a.shape)
    shifts, axes = np.broadcast_arrays(np.atleast_1d(shift), np.atleast_1d(axis))
    if shifts.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    for by, along in zip(shifts.tolist(), axes.tolist()):
        a = _rolled(a, by, along)
    return a


def _rolled(a: Operand, shift: int, axis: int) -> Operand:
    if not -a.ndim <= axis < a.ndim:
        raise np.exceptions.AxisError(axis, a.ndim)
    order = np.roll(np.arange(a.shape[axis]), shift)
    return a[(slice(None),) * (axis % a.ndim) + (order,)]


def tile(A: Operand, reps: Operand) -> Operand:
    reps = (reps,) if isinstance(reps, int) else tuple(reps)
    positions = np.tile(np.arange(A.size).reshape(A.shape), reps)
    return ravel(A)[positions]


def repeat(a: Operand, repeats: Operand, axis: int | None = None) -> Operand:
    positions = np.repeat(np.arange(a.size).reshape(a.shape), repeats, axis)
    return ravel(a)[positions]


def diagonal(a: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Operand:
    """A view that cannot be written to, as NumPy's."""
    positions = np.diagonal(np.arange(a.size).reshape(a.shape), offset, axis1, axis2)
    return GATHER(a, positions)._as_view(a, lambda base: GATHER(base, positions), None)


def diag(v: Operand, k: int = 0) -> Operand:
    if v.ndim == 2:
        return diagonal(v, k)
    n = v.shape[0] + abs(k)
    positions = np.diagonal(np.arange(n * n).reshape(n, n), k)
    return reshape(PUT(np.zeros(n * n, v.dtype), v, positions), (n, n))


def trace(a: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Operand:
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1)


def tril(m: Operand, k: int = 0) -> Operand:
    return np.where(np.tri(*m.shape[-2:], k=k, dtype=bool), m, m.dtype.type(0))


def triu(m: Operand, k: int = 0) -> Operand:
    return np.where(np.tri(*m.shape[-2:], k=k - 1, dtype=bool), m.dtype.type(0), m)


def split(ary: Operand, indices_or_sections: Operand, axis: int = 0) -> Operand:
    if isinstance(indices_or_sections, int) and ary.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def array_split(ary: Operand, indices_or_sections: Operand, axis: int = 0) -> Operand:
    pieces = np.array_split(np.arange(ary.shape[axis]), indices_or_sections)
    lead = (slice(None),) * (axis % ary.ndim)
    return [ary[lead + (slice(int(p[0]), int(p[-1]) + 1) if len(p) else slice(0, 0),)] for p in pieces]


def zeros_like(a: Operand, dtype: DTypeLike | None = None, order: str = "K", subok: bool = True, shape: Shape = None) -> Operand:
    return _filled_like(a, 0.0, dtype, shape)


def ones_like(a: Operand, dtype: DTypeLike | None = None, order: str = "K", subok: bool = True, shape: Shape = None) -> Operand:
    return _filled_like(a, 1.0, dtype, shape)


def full_like(
    a: Operand, fill_value: Operand, dtype: DTypeLike | None = None, order: str = "K", subok: bool = True, shape: Shape = None
) -> Operand:
    result = _filled_like(a, 0.0, dtype, shape)
    value = as_value(fill_value)
    if is_tracked(value):
        value = converted(value, result.dtype)
        if np.broadcast_shapes(value.shape, result.shape) != result.shape:
            raise ValueError(f"could not broadcast input array from shape {value.shape} into shape {result.shape}")
        return layout(BROADCAST(value, shape=result.shape), "C")
    return a._recorder.tracked_constant(np.full(result.shape, value, result.dtype))


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
    points = np.moveaxis(points if dtype is None else converted(points, dtype), 0, axis)
    return (points, step) if retstep else points


def _filled_like(a: Operand, value: float, dtype: DTypeLike | None, shape: Shape) -> Operand:
    """A tracked array, so that the function can write tracked values into it."""
    dtype = a.dtype if dtype is None else tracked_dtype(dtype)
    return a._recorder.tracked_constant(np.full(a.shape if shape is None else shape, value, dtype))
