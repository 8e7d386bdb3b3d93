"""dot, inner, outer, kron and their relatives, in terms of the matrix product and of broadcasting."""

from __future__ import annotations

import math
import operator

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ...ir.instruction import Operand, is_tracked
from ...ops.arrays.shape import reshape
from ...ops.matrices.products import MATMUL
from ..joining import as_value


def dot(a: Operand, b: Operand) -> Operand:
    a, b = as_value_or_tracked(a), as_value_or_tracked(b)
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    if np.ndim(b) <= 2 and np.ndim(a) <= 2:
        return MATMUL(a, b)
    return tensordot(a, b, axes=([np.ndim(a) - 1], [max(np.ndim(b) - 2, 0)]))


def as_value_or_tracked(value: Operand) -> Operand:
    return value if is_tracked(value) else as_value(value)


def matmul(a: Operand, b: Operand) -> Operand:
    return MATMUL(as_value_or_tracked(a), as_value_or_tracked(b))


def inner(a: Operand, b: Operand) -> Operand:
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    return tensordot(a, b, axes=([-1], [-1]))


def outer(a: Operand, b: Operand) -> Operand:
    a, b = as_value_or_tracked(a), as_value_or_tracked(b)
    return reshape(a, (_size(a), 1)) * reshape(b, (1, _size(b)))


def outer_of_vectors(x1: Operand, x2: Operand, /) -> Operand:
    x1, x2 = as_value_or_tracked(x1), as_value_or_tracked(x2)
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are {np.ndim(x1)=} and {np.ndim(x2)=}.")
    return outer(x1, x2)


def _size(a: Operand) -> int:
    return int(np.prod(np.shape(a)))


def kron(a: Operand, b: Operand) -> Operand:
    """Blocks of every entry of a times b: interleave axis k of a and axis k of b, then merge each pair."""
    a, b = as_value_or_tracked(a), as_value_or_tracked(b)
    ndim = max(np.ndim(a), np.ndim(b))
    outer_shape, inner_shape = ((1,) * (ndim - np.ndim(x)) + np.shape(x) for x in (a, b))
    outer_part = reshape(a, tuple(n for extent in outer_shape for n in (extent, 1)))
    inner_part = reshape(b, tuple(n for extent in inner_shape for n in (1, extent)))
    return reshape(outer_part * inner_part, tuple(m * n for m, n in zip(outer_shape, inner_shape)))


def vdot(a: Operand, b: Operand) -> Operand:
    return MATMUL(np.reshape(a, (-1,)), np.reshape(b, (-1,)))


def vecdot(x: Operand, y: Operand, axis: int = -1) -> Operand:
    x, y = as_value_or_tracked(x), as_value_or_tracked(y)
    if axis != -1:
        x, y = np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)
    if not x.ndim or not y.ndim or x.shape[-1] != y.shape[-1]:
        raise ValueError(f"vecdot: vectors of shapes {x.shape} and {y.shape} do not have the same length")
    products = x * y
    return np.any(products, axis=-1) if products.dtype == np.bool_ else np.sum(products, axis=-1)


def matvec(x: Operand, y: Operand) -> Operand:
    x, y = as_value_or_tracked(x), as_value_or_tracked(y)
    if np.ndim(x) < 2:
        raise ValueError(f"matvec: input operand 0 has shape {np.shape(x)}, which is no matrix")
    return matmul(x, y) if np.ndim(y) == 1 else matmul(x, y[..., None])[..., 0]


def vecmat(x: Operand, y: Operand) -> Operand:
    x, y = as_value_or_tracked(x), as_value_or_tracked(y)
    if np.ndim(y) < 2:
        raise ValueError(f"vecmat: input operand 1 has shape {np.shape(y)}, which is no matrix")
    return matmul(x, y) if np.ndim(x) == 1 else matmul(x[..., None, :], y)[..., 0, :]


def tensordot(a: Operand, b: Operand, axes: Operand = 2) -> Operand:
    a_ndim, b_ndim = np.ndim(a), np.ndim(b)
    if not np.iterable(axes):
        axes = operator.index(axes)
        a_axes, b_axes = list(range(a_ndim - axes, a_ndim)), list(range(axes))
    else:
        a_axes, b_axes = axes
    a_axes, b_axes = list(normalize_axis_tuple(a_axes, a_ndim)), list(normalize_axis_tuple(b_axes, b_ndim))
    if [np.shape(a)[k] for k in a_axes] != [np.shape(b)[k] for k in b_axes]:
        raise ValueError("shape-mismatch for sum")
    a_free = [k for k in range(a_ndim) if k not in a_axes]
    b_free = [k for k in range(b_ndim) if k not in b_axes]
    if not a_free and not b_free:  # keeps vectors, so that the product of a vector with itself is recognised
        return MATMUL(np.reshape(np.transpose(a, a_axes), (-1,)), np.reshape(np.transpose(b, b_axes), (-1,)))
    inner_size = math.prod(np.shape(a)[k] for k in a_axes)
    rows, columns = [np.shape(a)[k] for k in a_free], [np.shape(b)[k] for k in b_free]
    left = np.reshape(np.transpose(a, a_free + a_axes), (math.prod(rows), inner_size))
    right = np.reshape(np.transpose(b, b_axes + b_free), (inner_size, math.prod(columns)))
    return np.reshape(MATMUL(left, right), (*rows, *columns))
