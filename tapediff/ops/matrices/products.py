"""Matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy import correlate  # NumPy's own, also while recording; see recording/python_state/numpy_namespace.py

from ...ir.instruction import BOOL, Instruction, Operand, ValueType, is_tracked
from ..arrays.indexing import GATHER
from ..arrays.shape import unbroadcast
from ..declaration.op import Batching, Op


def _infer(x: ValueType, y: ValueType) -> ValueType:
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    rows = x.shape[-2:-1] if len(x.shape) > 1 else ()
    columns = y.shape[-1:] if len(y.shape) > 1 else ()
    return ValueType((*batch, *rows, *columns), x.dtype)


def _left_rule(z_bar: Operand, z: Operand, x: Operand, y: Operand) -> Operand:
    x_ndim, y_ndim = len(x.shape), len(y.shape)
    if x_ndim == 1 and y_ndim == 1:
        return z_bar * y
    if y_ndim == 1:
        return unbroadcast(z_bar[..., None] * y, x.shape)
    if x_ndim == 1:
        return unbroadcast(MATMUL(y, z_bar[..., None])[..., 0], x.shape)
    return unbroadcast(MATMUL(z_bar, np.swapaxes(y, -1, -2)), x.shape)


def _right_rule(z_bar: Operand, z: Operand, x: Operand, y: Operand) -> Operand:
    x_ndim, y_ndim = len(x.shape), len(y.shape)
    if x_ndim == 1 and y_ndim == 1:
        return z_bar * x
    if x_ndim == 1:
        return unbroadcast(x[:, None] * z_bar[..., None, :], y.shape)
    if x_ndim == 2 and y_ndim <= 2:
        return MATMUL(np.transpose(x), z_bar)
    if y_ndim == 1:
        return unbroadcast(MATMUL(np.swapaxes(x, -1, -2), z_bar[..., None])[..., 0], y.shape)
    if y_ndim == 2:  # the sum over the stack, as one product of all rows
        rows = math.prod(x.shape[:-1])
        return MATMUL(np.transpose(np.reshape(x, (rows, x.shape[-1]))), np.reshape(z_bar, (rows, z_bar.shape[-1])))
    return unbroadcast(MATMUL(np.swapaxes(x, -1, -2), z_bar), y.shape)


def _product_of_integers(x: Operand, y: Operand) -> Operand:
    """Sums of products, as matrix routines take floats only; for masks, True where any product is."""
    x, y = (v if is_tracked(v) else np.asarray(v) for v in (x, y))
    rows, columns = (x if x.ndim > 1 else x[None, :]), (y if y.ndim > 1 else y[:, None])
    if rows.shape[-1] != columns.shape[-2]:
        raise ValueError(f"matmul: shapes {x.shape} and {y.shape} do not fit")
    products = rows[..., :, :, None] * columns[..., None, :, :]
    result = np.any(products, axis=-2) if products.dtype == BOOL else np.sum(products, axis=-2)
    result = result[..., 0] if y.ndim == 1 else result
    return result[..., 0] if x.ndim == y.ndim == 1 else result[..., 0, :] if x.ndim == 1 else result


# BLAS computes larger products, one by one.
LARGEST_BATCHED = 2000


def _is_small_product(i: Instruction, types: Sequence[ValueType], fixed: Sequence[bool]) -> bool:
    return i.type.size * types[0].shape[-1] <= LARGEST_BATCHED and max(len(t.shape) for t in types) <= 2


MATMUL = Op(
    "matmul",
    evaluate=np.matmul,
    infer=_infer,
    integers=_product_of_integers,
    vjp=(_left_rule, _right_rule),
    lower=lambda low, i: low.matmul(i),
    additions=lambda type_, types: 2.0 * type_.size * types[0].shape[-1],
    batching=Batching(lambda batch, i: batch.product(i), _is_small_product),
    answers=(np.matmul,),
    examples=lambda rng: (
        [
            (lambda x, y: MATMUL(x, y), (rng.normal(size=x), rng.normal(size=y)))
            for x, y in (
                ((9,), (9,)),
                ((4, 9), (9,)),
                ((9,), (9, 4)),
                ((3, 4), (4, 9)),
                ((3, 1), (1, 4)),
                ((1, 5), (5, 1)),
                ((17, 12), (12, 11)),
                ((5, 3, 4), (4, 2)),
                ((5, 3, 4), (5, 4, 2)),
                ((3, 4), (5, 4, 2)),
                ((2, 1, 3, 4), (5, 4, 2)),
                ((2, 1, 3, 6), (5, 6, 2)),
                ((5, 3, 6), (6, 4)),
                ((6,), (5, 6, 2)),
                ((5, 3, 4), (4,)),
                ((4,), (5, 4, 2)),
                ((2, 9, 10), (10, 12)),
                ((2, 9, 10), (2, 10, 12)),
                ((9, 10), (2, 10, 12)),
                ((2, 1, 9, 10), (2, 10, 12)),
            )
        ]
        + [
            (
                lambda x, y: MATMUL(np.transpose(x), np.transpose(y)),
                (rng.normal(size=(12, 17)), rng.normal(size=(11, 12))),
            ),
            (
                lambda x, y: MATMUL(np.transpose(x, (1, 2, 0)), np.swapaxes(y, 1, 2)),
                (rng.normal(size=(9, 3, 10)), rng.normal(size=(3, 10, 9))),
            ),
        ]
    ),
)

def _correlated_integers(x: Operand, v: Operand) -> Operand:
    count, width = x.shape[0] - v.shape[0] + 1, v.shape[0]
    return _product_of_integers(GATHER(x, np.arange(count)[:, None] + np.arange(width)), v)


def _padded(z_bar: Operand, width: int) -> Operand:
    ends = np.zeros(width - 1, z_bar.dtype)
    return np.concatenate([ends, z_bar, ends])


# The sums of products of a vector's windows with a vector that is not longer: z[i] = sum of x[i + j] v[j]. No window is written out.
CORRELATE = Op(
    "correlate",
    evaluate=lambda x, v: correlate(x, v, "valid"),
    infer=lambda x, v: ValueType((x.shape[0] - v.shape[0] + 1,), x.dtype),
    integers=_correlated_integers,
    vjp=(
        lambda z_bar, z, x, v: CORRELATE(_padded(z_bar, v.shape[0]), v[::-1]),
        lambda z_bar, z, x, v: CORRELATE(x, z_bar),
    ),
    lower=lambda low, i: low.correlate(i),
    additions=lambda type_, types: 2.0 * type_.size * types[1].shape[0],
    examples=lambda rng: [
        (CORRELATE, (rng.normal(size=n), rng.normal(size=k)))
        for n, k in ((1, 1), (7, 7), (7, 1), (12, 3), (60, 9), (60, 50), (60, 59), (90, 40))
    ],
)

OPS = (MATMUL, CORRELATE)
