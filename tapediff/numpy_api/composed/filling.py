"""Grids, windows, convolutions and parts of numbers: reimplements what NumPy does in C, or by means that tracked arrays lack."""

from __future__ import annotations

import operator

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import DTypeLike

from ...ir.instruction import Operand, is_tracked
from ...ops.arrays.indexing import GATHER
from ...ops.matrices.products import CORRELATE
from ..creating import asarray, asfortranarray
from ..joining import as_value
from ..kinds import as_floats
from ..shaping import copy as new_copy


def meshgrid(*xi: Operand, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Operand, ...]:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    ndim = len(xi)
    grids = [np.reshape(as_value(x), (1,) * k + (-1,) + (1,) * (ndim - 1 - k)) for k, x in enumerate(xi)]
    if indexing == "xy" and ndim > 1:
        grids = [np.swapaxes(grid, 0, 1) for grid in grids]
    if not sparse:
        grids = list(np.broadcast_arrays(*grids))
    return tuple(new_copy(grid) if copy and is_tracked(grid) else grid for grid in grids)


def sliding_window_view(
    x: Operand, window_shape: Operand, axis: Operand = None, *, subok: bool = False, writeable: bool = False
) -> Operand:
    """A copy, where NumPy returns a read-only view."""
    windows = tuple(map(operator.index, window_shape)) if np.iterable(window_shape) else (operator.index(window_shape),)
    if axis is None:
        axes = tuple(range(x.ndim))
        if len(windows) != len(axes):
            raise ValueError(f"Since axis is None, must provide window_shape for all dimensions of `x`; got {len(windows)} of {x.ndim}")
    else:
        axes = normalize_axis_tuple(axis, x.ndim)
    positions = np.lib.stride_tricks.sliding_window_view(np.arange(x.size).reshape(x.shape), windows, axes)
    return GATHER(x, np.ascontiguousarray(positions))._as_view(x, lambda base: GATHER(base, np.ascontiguousarray(positions)), None)


def correlate(a: Operand, v: Operand, mode: str = "valid") -> Operand:
    a, v = (np.ravel(as_value(x)) if np.ndim(x) == 0 else as_value(x) for x in (a, v))
    return convolve(a, v[::-1], mode)


def convolve(a: Operand, v: Operand, mode: str = "full") -> Operand:
    """The correlation of the longer array, zero-padded at the ends, with the other one backwards."""
    a, v = (np.atleast_1d(as_value(x)) for x in (a, v))
    if np.ndim(a) != 1 or np.ndim(v) != 1:
        raise ValueError("object too deep for desired array")
    if a.shape[0] == 0 or v.shape[0] == 0:
        raise ValueError("a cannot be empty" if a.shape[0] == 0 else "v cannot be empty")
    a, v = (v, a) if v.shape[0] > a.shape[0] else (a, v)
    n, k = a.shape[0], v.shape[0]
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    first, count = {"full": (0, n + k - 1), "same": ((k - 1) // 2, n), "valid": (k - 1, n - k + 1)}[mode]
    ends = np.zeros(k - 1, a.dtype)
    padded = np.concatenate([ends, a, ends])[first : first + count + k - 1]
    return CORRELATE(padded, v[::-1])


def polymul(a1: Operand, a2: Operand) -> Operand:
    """np.polymul; leading zeros are dropped, by guards."""
    first, second = (np.trim_zeros(np.atleast_1d(as_value(p)), "f") for p in (a1, a2))
    return convolve(first if first.shape[0] else np.zeros(1), second if second.shape[0] else np.zeros(1))


def modf(x: Operand) -> tuple[Operand, Operand]:
    x = as_floats(as_value(x))
    whole = np.trunc(x)
    # The difference whose zero has the sign of x: np.copysign would have slope 0 there.
    part = np.where(np.signbit(x), -(whole - x), x - whole)
    return np.where(np.isinf(x), np.copysign(0.0, x), part), whole


def ldexp(x: Operand, exponent: Operand) -> Operand:
    x, exponent = as_floats(as_value(x)), as_value(exponent)
    if exponent.dtype.kind not in "iub":
        raise TypeError("ufunc 'ldexp' not supported for the input types")
    # Two finite powers, whose product may overflow although the result for a small x does not.
    smallest, largest = (-1074.0, 1023.0) if x.dtype == np.float64 else (-149.0, 127.0)
    exponent = np.clip(exponent.astype(np.float64), 2.0 * smallest, 2.0 * largest)
    half = np.floor(0.5 * exponent)
    return x * np.exp2(half).astype(x.dtype) * np.exp2(exponent - half).astype(x.dtype)


def imaginary(x: Operand) -> Operand:
    """Read-only zeros, as NumPy returns for real arrays."""
    zeros = as_value(x)._recorder.tracked_constant(np.zeros(np.shape(x), x.dtype))
    return zeros._as_view(new_copy(zeros), lambda base: base, None)


def conjugate(x: Operand) -> Operand:
    return new_copy(_counted(x))


def _counted(x: Operand) -> Operand:
    x = as_value(x)
    return x.astype(np.int64) if x.dtype.kind in "bu" else x


def _shifted(x: Operand, count: Operand) -> tuple[Operand, Operand]:
    x, count = _counted(x), _counted(count)
    if not (x.dtype.kind == count.dtype.kind == "i"):
        raise TypeError("integers are shifted by integers only")
    return x, count


# The last one is -2**63: multiplying an int64 by it gives the bits of a shift by 63.
_POWERS_OF_2 = np.int64(1) << np.arange(64)
_MOST = 63


def _power_of_2(count: Operand, most: int) -> Operand:
    """2**count for counts from 0 to `most`; some power for others, for which NumPy shifts all bits out."""
    places = np.clip(count, 0, most)
    return GATHER(_POWERS_OF_2, places) if is_tracked(places) else _POWERS_OF_2[places]


def _is_beyond(x: Operand, count: Operand, most: int) -> Operand:
    """The mask where the count is negative or above `most`. Raises for negative counts of Python ints."""
    if any(is_tracked(v) and v._id in v._recorder.python_ints for v in (x, count)) and np.any(count < 0):
        raise ValueError("negative shift count")
    return (count < 0) | (count > most)


def left_shift(x: Operand, count: Operand) -> Operand:
    x, count = _shifted(x, count)
    return np.where(_is_beyond(x, count, _MOST), 0, x * _power_of_2(count, _MOST))


def right_shift(x: Operand, count: Operand) -> Operand:
    x, count = _shifted(x, count)
    most = _MOST - 1
    return np.where(_is_beyond(x, count, most), np.where(x < 0, -1, 0), x // _power_of_2(count, most))


def require(a: Operand, dtype: DTypeLike | None = None, requirements: Operand = None, *, like: object = None) -> Operand:
    wanted = {str(r).upper()[:1] for r in ([requirements] if isinstance(requirements, str) else requirements or ())}
    value = asfortranarray(a, dtype) if "F" in wanted else asarray(a, dtype, "C" if "C" in wanted else None)
    return new_copy(value) if value._view is not None and "O" in wanted else value


def tensorsolve(a: Operand, b: Operand, axes: Operand = None) -> Operand:
    a, b = as_value(a), as_value(b)
    if axes is not None:
        last = normalize_axis_tuple(tuple(axes), a.ndim)
        order = [k for k in range(a.ndim) if k not in last] + [*last]
        a = np.transpose(a, order)
    shape = a.shape[-(a.ndim - b.ndim) :]  # all of it where both have as many axes, as in NumPy
    if a.size != int(np.prod(shape)) ** 2:
        raise np.linalg.LinAlgError(
            "Input arrays must satisfy the requirement             prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return np.reshape(np.linalg.solve(np.reshape(a, (b.size, -1)), np.ravel(b)), shape)
