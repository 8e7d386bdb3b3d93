"""Functions of Python numbers, called for each element: np.vectorize, np.frompyfunc, np.apply_along_axis. Their arithmetic is recorded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ...ir.instruction import Operand, is_tracked
from ...ops.arrays.shape import reshape
from ..creating import arrays
from ..joining import as_value, stack
from .numpys_own import method_code


def is_of_python(ufunc: np.ufunc) -> bool:
    """True if a ufunc was made by np.frompyfunc: it has loops for objects alone."""
    return ufunc.types == ["O" * ufunc.nin + "->" + "O" * ufunc.nout]


def of_python(ufunc: np.ufunc, inputs: tuple[Operand, ...]) -> Operand:
    """Call the ufunc for each element; results are tracked arrays, where NumPy has object arrays."""
    results = ufunc(*map(_objects, inputs))
    return tuple(map(as_value, results)) if isinstance(results, tuple) else as_value(results)


def _objects(value: Operand) -> Operand:
    """An object array of the entries of an array."""
    value = as_value(value)
    if not is_tracked(value):
        return value.astype(object)
    entries = np.empty(value.size, object)
    flat = reshape(value, (value.size,))
    for k in range(value.size):
        entries[k] = flat[k]
    return entries.reshape(value.shape)


def apply_along_axis(func1d: Callable[..., Operand], axis: int, arr: Operand, *args: Operand, **kwargs: Operand) -> Operand:
    arr = as_value(arr)
    axis = normalize_axis_index(axis, np.ndim(arr))
    lines = np.moveaxis(arr, axis, -1)
    outer = np.shape(lines)[:-1]
    if 0 in outer:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = stack([as_value(func1d(lines[index], *args, **kwargs)) for index in np.ndindex(outer)])
    inner = np.shape(results)[1:]
    results = np.reshape(results, (*outer, *inner))
    ndim, kept = len(outer), tuple(range(len(outer)))
    return np.transpose(results, (*kept[:axis], *range(ndim, ndim + len(inner)), *kept[axis:]))


def call_vectorized(self: np.vectorize, *args: Operand, **kwargs: Operand) -> Operand:
    """np.vectorize(f)(...) where an argument is tracked."""
    if self.signature is not None:
        return method_code(vars(np.vectorize)["_vectorize_call_with_signature"])(self, *_split(self, args, kwargs))
    function, values = _split(self, args, kwargs)
    values = [as_value(v) for v in values]
    shape = np.broadcast_shapes(*map(np.shape, values))
    flat = [np.reshape(np.broadcast_to(v, shape), (-1,)) for v in values]
    count = int(np.prod(shape))
    if not count:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    results = [function(*(v[k] for v in flat)) for k in range(count)]
    if not isinstance(results[0], tuple):
        return arrays(reshape)(as_value(results), shape)
    return tuple(np.reshape(as_value(list(column)), shape) for column in zip(*results))


def _split(self: np.vectorize, args: tuple[Operand, ...], kwargs: dict[str, Operand]) -> tuple[Callable[..., Operand], list[Operand]]:
    """The function of the vectorised arguments alone, and these arguments."""
    excluded = self.excluded
    names = [name for name in kwargs if name not in excluded]
    places = [k for k in range(len(args)) if k not in excluded]

    def function(*values: Operand) -> Operand:
        given = list(args)
        for place, value in zip(places, values):
            given[place] = value
        return self.pyfunc(*given, **{**kwargs, **dict(zip(names, values[len(places) :]))})

    return function, [*(args[k] for k in places), *(kwargs[name] for name in names)]
