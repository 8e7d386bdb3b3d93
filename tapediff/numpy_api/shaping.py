"""Changing shapes and the order of entries, with NumPy's view semantics where NumPy returns a view."""

from __future__ import annotations

import builtins
import itertools
import math
import operator
from collections.abc import Callable, Sequence

import numpy as np
from numpy import asarray  # NumPy's own; see numpy_namespace.py
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ..errors import UnsupportedFunction
from ..ir.instruction import Operand, is_tracked
from ..ops.arrays.indexing import GATHER, PUT
from ..ops.arrays.shape import BROADCAST, RESHAPE, TRANSPOSE
from .kinds import Axis, Shape, as_view


def reshape(a: Operand, shape: Shape = None, order: str = "C", copy: bool | None = None) -> Operand:
    order = _order(a, order) if order == "A" else order
    if order == "F":
        shape = shape if isinstance(shape, (tuple, list)) else (shape,)
        return transpose(reshape(transpose(a), tuple(reversed(shape))))
    if order != "C":
        raise UnsupportedFunction(f"reshape with order={order!r}", fix="use order='C' or 'F'")
    target = _full_shape(a.shape, shape)
    old = a.shape
    result = RESHAPE(a, shape=target)
    is_number = not old and a._view is None
    if copy or is_number or not _is_view(a, target):
        if copy is False:
            raise ValueError("Unable to avoid creating a copy while reshaping.")
        return result
    return as_view(result, a, lambda base: RESHAPE(base, shape=target), lambda _, part: RESHAPE(part, shape=old))


def _is_row_by_row(a: Operand) -> bool:
    """True if the array is C-contiguous. Arguments of the function count as such."""
    if not is_tracked(a):
        return not isinstance(a, np.ndarray) or a.flags.c_contiguous
    if a._view is None and (type(a._value) is not np.ndarray or a._value.flags.c_contiguous):
        return True
    return laid_out(a).flags.c_contiguous


def _order(a: Operand, order: str) -> str:
    """ Resolve NumPy's order "A" to "C" or "F" by the memory layout; "K" too, if the array is contiguous."""
    if _is_row_by_row(a):
        return "C"
    return "F" if laid_out(a).flags.f_contiguous else "C" if order == "A" else order


def _is_view(a: Operand, shape: tuple[int, ...]) -> bool:
    """True if NumPy reshapes the array without copying it."""
    if _is_row_by_row(a):
        return True
    memory = laid_out(a)
    return np.may_share_memory(memory, np.reshape(memory, shape))


def laid_out(a: Operand) -> np.ndarray:
    """An uninitialised array with the memory layout that NumPy's array would have."""
    reads = []
    while a._view is not None and a._value is not None:
        reads.append(a._view.read)
        a = a._view.base
    memory = np.empty_like(a._value) if type(a._value) is np.ndarray else np.empty(a.shape)
    for read in reversed(reads):
        memory = asarray(read(memory))
    return memory


def layout(a: Operand, order: str | None) -> Operand:
    """The array, or a copy if NumPy makes one for the row-major ("C") or column-major ("F") order."""
    flags = laid_out(a).flags if order in ("C", "F") else None
    if flags is None or (flags.c_contiguous if order == "C" else flags.f_contiguous):
        return a
    return lying_as(a, np.empty(a.shape, order="C" if order == "C" else "F"))


def lying_as(a: Operand, memory: Operand) -> Operand:
    """A new array with the memory layout of another."""
    value = a._value
    if type(value) is np.ndarray and type(memory) is np.ndarray and not (memory.flags.c_contiguous and value.flags.c_contiguous):
        value = np.empty_like(memory, value.dtype)
        value[...] = a._value
    return type(a)(a._recorder, a._id, value, a.type)


def as_numpy_lays_out(made: Operand, numpys: Callable[..., Operand], args: Sequence[Operand], named: dict[str, Operand]) -> Operand:
    """New arrays of several axes in the memory layout of NumPy's results, which decides if a later reshape is a view.

    Where all arrays are C-contiguous, that of the results is taken as it is.
    """
    results = made if isinstance(made, (tuple, list)) else (made,)
    new = [is_tracked(one) and one.ndim > 1 and one._view is None for one in results]
    if not any(new):
        return made
    operands = _operands_of((*args, *named.values()))
    if any(callable(a) and not isinstance(a, type) for a in operands):  # a function is not called twice
        return made
    if all(map(_is_row_by_row, operands)) and all(map(_is_row_by_row, itertools.compress(results, new))):
        return made
    try:
        memory = numpys(*map(_plain, args), **{name: _plain(value) for name, value in named.items()})
    except Exception:  # noqa: BLE001 -- not the caller's: the values are recorded already
        return made
    memories = memory if isinstance(made, (tuple, list)) else (memory,)
    laid = [
        lying_as(one, its) if is_new and np.shape(its) == one.shape and not any(a is one for a in operands) else one
        for one, is_new, its in zip(results, new, memories)
    ]
    return laid[0] if results is not made else getattr(type(made), "_make", type(made))(laid)


def _operands_of(values: Sequence[Operand]) -> list[Operand]:
    """The arrays and functions among values and in lists."""
    nested = [_operands_of(v) if isinstance(v, (tuple, list)) else [v] for v in values]
    return [a for found in nested for a in found if is_tracked(a) or isinstance(a, np.ndarray) or callable(a)]


def _plain(value: Operand) -> Operand:
    """A tracked value at the recorded point, in NumPy's layout; lists of such."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(_plain, value))
    if not is_tracked(value):
        return value
    value._refresh()
    memory = laid_out(value)
    made = np.empty_like(memory, value.dtype)
    made[...] = value._value
    return made


def _full_shape(old: tuple[int, ...], shape: Shape) -> tuple[int, ...]:
    wanted = [int(s) for s in (shape if np.iterable(shape) else (shape,))]
    size = int(np.prod(old))
    if wanted.count(-1) == 1:
        known = int(np.prod([s for s in wanted if s != -1]))
        wanted[wanted.index(-1)] = size // known if known else 0
    if int(np.prod(wanted)) != size or -1 in wanted:
        raise ValueError(f"cannot reshape array of size {size} into shape {tuple(wanted)}")
    return tuple(wanted)


def ravel(a: Operand, order: str = "C") -> Operand:
    order = _order(a, order) if order in ("A", "K") else order
    if order == "F":
        return ravel(transpose(a))
    # A copy unless contiguous, even if np.reshape would return a view.
    return reshape(a, (-1,), order=order, copy=None if _is_row_by_row(a) else True)


def flatten(a: Operand, order: str = "C") -> Operand:
    return copy(ravel(a, order), "C")


def copy(a: Operand, order: str = "K", subok: bool = False) -> Operand:
    """A new tracked array with the same value: neither sees later writes to the other."""
    a._refresh()
    value = a._value
    if order in ("C", "F") and type(value) is np.ndarray:
        value = np.asarray(value, order=order)  # the memory layout of NumPy's copy, which decides if a reshape is a view
    return type(a)(a._recorder, a._id, value, a.type)


def method_copy(a: Operand, order: str = "C") -> Operand:
    """a.copy(): in C order by default, where np.copy keeps the memory layout."""
    return copy(a, order)


def transpose(a: Operand, axes: Sequence[int] | None = None) -> Operand:
    axes = tuple(reversed(range(a.ndim))) if axes is None else normalize_axis_tuple(axes, a.ndim)
    if sorted(axes) != list(range(a.ndim)):
        raise ValueError("axes don't match array")
    if axes == tuple(range(a.ndim)):
        return a
    back = tuple(int(k) for k in np.argsort(axes))
    result = TRANSPOSE(a, axes=axes)
    return as_view(result, a, lambda base: TRANSPOSE(base, axes=axes), lambda _, part: TRANSPOSE(part, axes=back))


def swapaxes(a: Operand, axis1: int, axis2: int) -> Operand:
    axes = list(range(a.ndim))
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return transpose(a, axes)


def moveaxis(a: Operand, source: int | Sequence[int], destination: int | Sequence[int]) -> Operand:
    source = normalize_axis_tuple(source, a.ndim, "source")
    destination = normalize_axis_tuple(destination, a.ndim, "destination")
    if len(source) != len(destination):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [k for k in range(a.ndim) if k not in source]
    for d, s in sorted(zip(destination, source)):
        order.insert(d, s)
    return transpose(a, order)


def size(a: Operand, axis: Axis = None) -> Operand:
    if axis is None:
        return a.size
    extents = [a.shape[k] for k in normalize_axis_tuple(axis, a.ndim)]
    return extents[0] if len(extents) == 1 else math.prod(extents)


def expand_dims(a: Operand, axis: Axis) -> Operand:
    axes: Operand = axis if isinstance(axis, (tuple, list)) else (axis,)
    ndim = a.ndim + len(axes)
    axes = normalize_axis_tuple(axes, ndim)
    rest = iter(a.shape)
    return reshape(a, tuple(1 if k in axes else next(rest) for k in range(ndim)))


def squeeze(a: Operand, axis: Axis = None) -> Operand:
    if axis is None:
        return reshape(a, tuple(s for s in a.shape if s != 1))
    axes = () if a.ndim == 0 and axis in (0, -1) else normalize_axis_tuple(axis, a.ndim)  # as in NumPy
    if builtins.any(a.shape[k] != 1 for k in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return reshape(a, tuple(s for k, s in enumerate(a.shape) if k not in axes))


def broadcast_to(array: Operand, shape: Shape, subok: bool = False) -> Operand:
    shape = tuple(map(operator.index, shape)) if np.iterable(shape) else (operator.index(shape),)
    if np.broadcast_shapes(array.shape, shape) != shape:
        raise ValueError(f"cannot broadcast shape {array.shape} to {shape}")
    if array.shape == shape:
        return as_view(copy(array), array, lambda base: base, None)
    return as_view(BROADCAST(array, shape=shape), array, lambda base: BROADCAST(base, shape=shape), None)


def broadcast_arrays(*args: Operand, subok: bool = False) -> Operand:
    shape = np.broadcast_shapes(*(np.shape(a) for a in args))
    return tuple(np.broadcast_to(a, shape) for a in args)


def flip(m: Operand, axis: Axis = None) -> Operand:
    axes = range(m.ndim) if axis is None else normalize_axis_tuple(axis, m.ndim)
    return m[tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(m.ndim))]


def roll(a: Operand, shift: Operand, axis: Axis = None) -> Operand:
    if axis is None:
        total = int(np.sum(shift))  # a flat array is rolled by the sum of the shifts
        return reshape(_rolled(ravel(a), total, 0), a.shape)
    shifts, axes = np.broadcast_arrays(np.atleast_1d(shift), np.atleast_1d(axis))
    if shifts.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    for by, along in zip(shifts.tolist(), axes.tolist()):
        a = _rolled(a, by, along)
    return a


def _rolled(a: Operand, shift: int, axis: int) -> Operand:
    axis = normalize_axis_index(axis, a.ndim)
    order = np.roll(np.arange(a.shape[axis]), shift)
    return a[(slice(None),) * axis + (order,)]


def tile(A: Operand, reps: Operand) -> Operand:
    reps = tuple(operator.index(r) for r in (reps if np.ndim(reps) else (reps,)))
    rank = max(len(reps), A.ndim)
    reps, shape = (1,) * (rank - len(reps)) + reps, (1,) * (rank - A.ndim) + A.shape
    return _spread(A, [(1, n) for n in shape], [(r, n) for r, n in zip(reps, shape)])


def repeat(a: Operand, repeats: Operand, axis: int | None = None) -> Operand:
    if not isinstance(repeats, (int, np.integer)) or repeats < 1 or not a.ndim:
        positions = np.repeat(np.arange(a.size).reshape(a.shape), repeats, axis)
        return ravel(a)[positions]
    a, along = (ravel(a), 0) if axis is None else (a, normalize_axis_index(axis, a.ndim))
    times = [int(repeats) if k == along else 1 for k in range(a.ndim)]
    return _spread(a, [(n, 1) for n in a.shape], [(n, r) for n, r in zip(a.shape, times)])


def _spread(a: Operand, before: list[tuple[int, int]], after: list[tuple[int, int]]) -> Operand:
    """Repeat entries by broadcasting along inserted axes: the cotangent is a sum, where a gather's is a scatter-add."""
    shape = tuple(m * n for m, n in after)
    if 0 in shape:
        return ravel(a)[np.zeros(shape, int)]
    apart, spread = (tuple(n for pair in pairs for n in pair) for pairs in (before, after))
    return RESHAPE(BROADCAST(RESHAPE(a, shape=apart), shape=spread), shape=shape)


def diagonal(a: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Operand:
    """np.diagonal; a read-only view, as in NumPy."""
    positions = np.diagonal(np.arange(a.size).reshape(a.shape), offset, axis1, axis2)
    return as_view(GATHER(a, positions), a, lambda base: GATHER(base, positions), None)


def diag(v: Operand, k: int = 0) -> Operand:
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = v.shape[0] + abs(k)
    positions = np.diagonal(np.arange(n * n).reshape(n, n), k)
    return reshape(PUT(np.zeros(n * n, v.dtype), v, positions, distinct=True), (n, n))


def trace(a: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Operand:
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1)


def tril(m: Operand, k: int = 0) -> Operand:
    return np.where(np.tri(*m.shape[-2:], k=k, dtype=bool), m, m.dtype.type(0))


def triu(m: Operand, k: int = 0) -> Operand:
    return np.where(np.tri(*m.shape[-2:], k=k - 1, dtype=bool), m.dtype.type(0), m)
