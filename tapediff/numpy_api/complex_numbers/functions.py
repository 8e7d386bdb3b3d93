"""NumPy's functions of complex values: on each part, products part by part, and compositions."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ...ir.instruction import Operand, is_tracked
from ...ops.elementwise.arithmetic import ROOT
from ..joining import as_value
from ..kinds import Axis
from ..shaping import size
from . import arithmetic
from .arithmetic import absolute, conjugate, multiply, nonzero_mask
from .pair import COMPLEX128, both, is_complex, joined, pair, parts, refused

Function = Callable[..., Operand]


# Functions that are linear over the real numbers: applied to each part


def on_parts(function: Function, *data: int | str) -> Function:
    """Apply a function to the real and to the imaginary parts of the arguments `data`, by position or name.

    The parts of a list of arrays are those of each array.
    """

    def call(*args: Operand, **named: Operand) -> Operand:
        is_data = [k in data for k in range(len(args))], {key: key in data for key in named}
        if any(is_complex(v) and not is_data[0][k] for k, v in enumerate(args)) or any(
            is_complex(v) and not is_data[1][key] for key, v in named.items()
        ):
            raise refused(f"np.{function.__name__} with such complex arguments", "call it on z.real and z.imag")
        return joined(*(
            function(
                *(_part(v, k) if data else v for v, data in zip(args, is_data[0])),
                **{key: _part(v, k) if is_data[1][key] else v for key, v in named.items()},
            ) for k in (0, 1)
        ))

    return call


def _part(value: Operand, k: int) -> Operand:
    if type(value) in (list, tuple):
        return type(value)(_part(v, k) for v in value)
    if value is None or value is np._NoValue:
        return value
    return both(value)[k]


def _of_each(function: Function) -> Function:
    """A function of each of its arguments."""

    def call(*args: Operand) -> Operand:
        made = [on_parts(function, 0)(v) if is_complex(v) else function(v) for v in args]
        return made[0] if len(made) == 1 else tuple(made)

    return call


_OF_A = (
    np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.expand_dims, np.squeeze, np.broadcast_to, np.flip,
    np.fliplr, np.flipud, np.roll, np.rot90, np.tile, np.repeat, np.diagonal, np.diag, np.diagflat, np.trace, np.tril, np.triu, np.take,
    np.take_along_axis, np.copy, np.mean, np.cumsum, np.cumulative_sum, np.delete, np.resize, np.matrix_transpose,
    np.unstack, np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.lib.stride_tricks.sliding_window_view, np.nan_to_num,
    np.linalg.diagonal, np.linalg.trace, np.linalg.matrix_transpose, np.gradient,
    np.around, np.round,
)  # fmt: skip

PARTWISE: dict[Function, Function] = {
    **{f: on_parts(f, 0, next(iter(inspect.signature(f).parameters))) for f in _OF_A},
    # What is added or put beside the values is split, too.
    np.sum: on_parts(np.sum, 0, 5, "a", "initial"), np.diff: on_parts(np.diff, 0, 3, 4, "a", "prepend", "append"),
    np.ediff1d: on_parts(np.ediff1d, 0, 1, 2, "ary", "to_end", "to_begin"),
    **{f: _of_each(f) for f in (np.atleast_1d, np.atleast_2d, np.atleast_3d)},
    **{f: on_parts(f, 0, "arrays", "tup") for f in (
        np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.block)},
    np.append: on_parts(np.append, 0, 1, "arr", "values"),
    np.compress: on_parts(np.compress, 1, "a"), np.extract: on_parts(np.extract, 1, "arr"),
    np.select: on_parts(np.select, 1, 2, "choicelist", "default"), np.choose: on_parts(np.choose, 1, "choices"),
    np.interp: on_parts(np.interp, 2, 3, 4, "fp", "left", "right"), np.linspace: on_parts(np.linspace, 0, 1, "start", "stop"),
}  # fmt: skip


def insert(arr: Operand, obj: Operand, values: Operand, axis: int | None = None) -> Operand:
    if not is_complex(arr):  # NumPy drops the imaginary parts
        raise refused("np.insert of complex values into real ones", "write arr.astype(complex), or insert z.real")
    return on_parts(np.insert, 0, 2)(arr, obj, values, axis)


PARTWISE[np.insert] = insert


# Products


def bilinear(function: Function, *, conjugates: int | None = None) -> Function:
    """A product of two operands from the real products of their parts; a conjugated operand negates its imaginary part."""

    def call(x: Operand, y: Operand, *args: Operand, **named: Operand) -> Operand:
        (a, b), (c, d) = (_operand(v) for v in (x, y))
        if conjugates == 0 and b is not None:
            b = -b
        if conjugates == 1 and d is not None:
            d = -d
        re = function(a, c, *args, **named)
        im = None
        if b is not None and d is not None:
            re = re - function(b, d, *args, **named)
        if d is not None:
            im = function(a, d, *args, **named)
        if b is not None:
            crossed = function(b, c, *args, **named)
            im = crossed if im is None else im + crossed
        return pair(re, 0.0 if im is None else im)

    return call


def _operand(value: Operand) -> tuple[Operand, Operand]:
    """The real and imaginary part; None for the latter of a real operand."""
    re, im = parts(value)
    return re, (im if is_complex(value) or not (type(im) is float and im == 0.0) else None)


def einsum(*args: Operand, **named: Operand) -> Operand:
    """Linear in each operand."""
    where = next((k for k, v in enumerate(args) if is_complex(v)), None)
    if where is None:
        return np.einsum(*args, **named)
    re, im = (einsum(*args[:where], part, *args[where + 1 :], **named) for part in parts(args[where]))
    (a, b), (c, d) = parts(re), parts(im)
    return pair(a - d, b + c)


PRODUCTS: dict[Function, Function] = {
    np.dot: bilinear(np.dot), np.inner: bilinear(np.inner), np.outer: bilinear(np.outer), np.tensordot: bilinear(np.tensordot),
    np.kron: bilinear(np.kron), np.convolve: bilinear(np.convolve), np.correlate: bilinear(np.correlate, conjugates=1),
    np.vdot: bilinear(np.vdot, conjugates=0), np.cross: bilinear(np.cross), np.linalg.outer: bilinear(np.linalg.outer),
    np.linalg.matmul: bilinear(np.linalg.matmul), np.linalg.cross: bilinear(np.linalg.cross),
    np.linalg.vecdot: bilinear(np.linalg.vecdot, conjugates=0), np.linalg.tensordot: bilinear(np.linalg.tensordot),
    np.einsum: einsum,
}  # fmt: skip


# Reductions and compositions


def prod(a: Operand, axis: Axis = None, dtype: object = None, keepdims: bool = False) -> Operand:
    """Multiply the two halves with each other until one number is left."""
    array, axes = _with_axes_last(as_complex(a), axis)
    while array.shape[-1] > 1:
        half = array.shape[-1] // 2
        halves = multiply(array[..., :half], array[..., half : 2 * half])
        array = np.concatenate([halves, array[..., 2 * half :]], axis=-1) if array.shape[-1] % 2 else halves
    result = array[..., 0] if array.shape[-1] else np.ones(array.shape[:-1], COMPLEX128)
    return np.expand_dims(result, axes) if keepdims else result


def as_complex(value: Operand) -> Operand:
    return value if is_complex(value) else joined(*both(value))


def _with_axes_last(a: Operand, axis: Axis) -> tuple[Operand, tuple[int, ...]]:
    """Move the reduced axes to one last axis."""
    ndim = a.ndim
    axes = tuple(range(ndim)) if axis is None else normalize_axis_tuple(axis, ndim)
    kept = [k for k in range(ndim) if k not in axes]
    moved = np.transpose(a, (*kept, *axes))
    return np.reshape(moved, (*(a.shape[k] for k in kept), int(np.prod([a.shape[k] for k in axes], dtype=int)))), axes


def cumprod(a: Operand, axis: int | None = None, dtype: object = None) -> Operand:
    """Doubling steps: after step k each entry is the product of the last 2^k."""
    array = np.ravel(as_complex(a)) if axis is None else np.moveaxis(as_complex(a), axis, -1)
    step = 1
    while step < array.shape[-1]:
        array = np.concatenate([array[..., :step], multiply(array[..., step:], array[..., :-step])], axis=-1)
        step *= 2
    return array if axis is None else np.moveaxis(array, -1, axis)


def var(a: Operand, axis: Axis = None, dtype: object = None, ddof: float = 0, keepdims: bool = False, **named: Operand) -> Operand:
    """The variance: the sum of the variances of both parts."""
    if "mean" in named:
        raise refused("np.var with mean=", "leave it out")
    return sum(np.var(part, axis, ddof=ddof, keepdims=keepdims, **named) for part in both(a))


def std(a: Operand, *args: Operand, **named: Operand) -> Operand:
    return ROOT(var(a, *args, **named))


def average(a: Operand, axis: Axis = None, weights: Operand = None, returned: bool = False, *, keepdims: bool = False) -> Operand:
    if is_complex(weights):
        raise refused("np.average with complex weights", "write np.sum(z * w) / np.sum(w)")
    (re, scale), (im, _) = (np.average(part, axis, weights, returned=True, keepdims=keepdims) for part in both(a))
    return (pair(re, im), pair(scale, 0.0)) if returned else pair(re, im)


def where(condition: Operand, x: Operand = None, y: Operand = None) -> Operand:
    condition = nonzero_mask(condition) if is_complex(condition) else condition
    if x is None or y is None:
        return np.where(condition)
    (a, b), (c, d) = parts(x), parts(y)
    return pair(np.where(condition, a, c), np.where(condition, b, d))


def isclose(a: Operand, b: Operand, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Operand:
    distance = absolute(arithmetic.subtract(a, b))
    close = np.less_equal(distance, atol + rtol * absolute(b)) & np.isfinite(absolute(b))
    return close | _equal(a, b, equal_nan)


def _equal(a: Operand, b: Operand, equal_nan: bool = False) -> Operand:
    equal = arithmetic.equal(a, b)
    return equal | (np.isnan(a) & np.isnan(b)) if equal_nan else equal


def norm(x: Operand, ord: Operand = None, axis: Axis = None, keepdims: bool = False) -> Operand:
    """The norm of the absolute values, if it depends on these alone."""
    is_matrix = (axis is None and ord is not None and np.ndim(x) == 2) or (isinstance(axis, tuple) and len(axis) == 2)
    if is_matrix and ord in (2, -2, "nuc"):
        raise refused(f"np.linalg.norm(ord={ord!r}) of matrices", "use the roots of np.linalg.eigvalsh(z.conj().T @ z)")
    if ord in (None, "fro", 2) and not keepdims and axis is None:
        re, im = both(x)
        return np.linalg.norm(np.concatenate([np.ravel(re), np.ravel(im)]))
    return np.linalg.norm(absolute(x), ord, axis, keepdims)


def _like(fill: float) -> Function:
    def call(a: Operand, dtype: object = None, order: str = "K", subok: bool = True, shape: Operand = None) -> Operand:
        return full_like(a, fill, dtype, shape=shape)

    return call


def full_like(
    a: Operand, fill_value: Operand, dtype: Operand = None, order: str = "K", subok: bool = True, shape: Operand = None
) -> Operand:
    shape = np.shape(a) if shape is None else shape
    is_of_complex = is_complex(a) if dtype is None else np.dtype(dtype).kind == "c"
    recorder = _recorder_of(a)
    if not is_of_complex:
        return recorder.tracked_constant(np.full(shape, fill_value, dtype))
    return pair(*(np.full_like(recorder.tracked_constant(np.zeros(shape)), part) for part in parts(fill_value)))


def _recorder_of(value: Operand) -> Operand:
    return (value.re if is_complex(value) else value)._recorder


def _of_masks(function: Function) -> Function:
    def call(a: Operand, *args: Operand, **named: Operand) -> Operand:
        return function(nonzero_mask(a), *args, **named)

    return call


def copyto(dst: Operand, src: Operand, casting: Operand = "same_kind", where: Operand = True) -> None:
    if not is_complex(dst):
        raise TypeError(f"Cannot cast array data from dtype('complex128') to {dst.dtype!r} according to the rule {casting!r}")
    for target, part in zip(parts(dst), parts(src)):
        np.copyto(target, part, where=where)


def fill_diagonal(a: Operand, val: Operand, wrap: bool = False) -> None:
    if not is_complex(a):
        raise TypeError("complex numbers do not fit an array of real ones")
    for target, part in zip(parts(a), parts(val)):
        np.fill_diagonal(target, part, wrap)


def multi_dot(arrays: Sequence[Operand]) -> Operand:
    """Multiply from the left."""
    product, *rest = (v if is_tracked(v) or is_complex(v) else as_value(v) for v in arrays)
    for array in rest:
        product = np.dot(product, array)
    return product


def matrix_power(a: Operand, n: int) -> Operand:
    n = operator.index(n)
    if n < 0:
        return matrix_power(np.linalg.inv(a), -n)
    result, square = None, a
    while n:
        if n & 1:
            result = square if result is None else square @ result
        n >>= 1
        square = square @ square if n else square
    return np.broadcast_to(np.eye(a.shape[-1], dtype=COMPLEX128), a.shape).copy() if result is None else result


def meshgrid(*xi: Operand, **named: Operand) -> Operand:
    """Real grids stay real."""
    re, im = (np.meshgrid(*(both(x)[k] for x in xi), **named) for k in (0, 1))
    return type(re)(pair(a, b) if is_complex(x) else a for x, a, b in zip(xi, re, im))


COMPOSED: dict[Function, Function] = {
    np.prod: prod, np.cumprod: cumprod, np.var: var, np.std: std, np.where: where, np.isclose: isclose,
    np.allclose: lambda a, b, rtol=1e-5, atol=1e-8, equal_nan=False: np.all(isclose(a, b, rtol, atol, equal_nan)),
    np.array_equal: lambda a1, a2, equal_nan=False: np.shape(a1) == np.shape(a2) and np.all(_equal(a1, a2, equal_nan)),
    np.linalg.norm: norm, np.linalg.vector_norm: lambda x, **named: np.linalg.vector_norm(absolute(x), **named),
    np.real: lambda val: parts(val)[0], np.imag: lambda val: both(val)[1],
    np.iscomplexobj: lambda x: True, np.isrealobj: lambda x: False, np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim,
    np.average: average, np.zeros_like: _like(0.0), np.empty_like: _like(0.0), np.ones_like: _like(1.0), np.full_like: full_like,
    np.all: _of_masks(np.all), np.any: _of_masks(np.any), np.count_nonzero: _of_masks(np.count_nonzero),
    np.nonzero: _of_masks(np.nonzero), np.flatnonzero: _of_masks(np.flatnonzero), np.argwhere: _of_masks(np.argwhere),
    np.copyto: copyto, np.fill_diagonal: fill_diagonal, np.linalg.multi_dot: multi_dot, np.linalg.matrix_power: matrix_power,
    np.meshgrid: meshgrid,
    np.broadcast_arrays: lambda *args: tuple(np.broadcast_to(v, np.broadcast_shapes(*map(np.shape, args))) for v in args),
    np.conj: conjugate, np.size: size,
}  # fmt: skip

