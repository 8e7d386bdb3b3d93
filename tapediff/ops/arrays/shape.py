"""Changes of shape, and the sum over broadcast axes that undoes a broadcast."""

from __future__ import annotations

import numpy as np

from ...ir.instruction import Operand, ValueType, is_tracked
from ..declaration.op import Batching, Op
from .reductions import SUM

RESHAPE = Op(
    "reshape",
    evaluate=lambda x, shape: np.reshape(x, shape)[()] if shape == () else np.reshape(x, shape),
    infer=lambda x, shape: ValueType(shape, x.dtype),
    vjp=(lambda z_bar, z, x, shape: reshape(z_bar, x.shape),),
    params=("shape",),
    lower=lambda low, i: low.reshape(i),
    moves=True,
    is_view=True,
    batching=Batching(lambda batch, i: batch.reshaped(i)),
    promote=(),
    examples=lambda rng: (
        [
            (lambda x, s=shape: RESHAPE(x, shape=s), (rng.normal(size=(3, 8)),))
            for shape in ((24,), (2, 3, 4), (8, 3), (1, 24, 1))
        ]
        + [(lambda x: RESHAPE(TRANSPOSE(x, axes=(1, 0)), shape=(6, 4)), (rng.normal(size=(3, 8)),))]
    ),
)

TRANSPOSE = Op(
    "transpose",
    evaluate=lambda x, axes: np.transpose(x, axes),
    infer=lambda x, axes: ValueType(tuple(x.shape[a] for a in axes), x.dtype),
    vjp=(lambda z_bar, z, x, axes: TRANSPOSE(z_bar, axes=tuple(int(a) for a in np.argsort(axes))),),
    params=("axes",),
    lower=lambda low, i: low.transpose(i, i.params[0]),
    moves=True,
    is_view=True,
    batching=Batching(lambda batch, i: batch.transposed(i)),
    promote=(),
    examples=lambda rng: [
        (lambda x, a=axes: TRANSPOSE(x, axes=a), (rng.normal(size=(2, 3, 9)),))
        for axes in ((2, 1, 0), (1, 0, 2), (1, 2, 0))
    ],
)

BROADCAST = Op(
    "broadcast",
    evaluate=lambda x, shape: np.broadcast_to(x, shape),
    infer=lambda x, shape: ValueType(shape, x.dtype),
    vjp=(lambda z_bar, z, x, shape: unbroadcast(z_bar, x.shape),),
    params=("shape",),
    lower=lambda low, i: low.broadcast(i),
    moves=True,
    is_view=True,
    batching=Batching(lambda batch, i: batch.broadcast(i)),
    promote=(),
    examples=lambda rng: [
        (lambda x, s=target: BROADCAST(x, shape=s), (rng.normal(size=source),))
        for source, target in (((), (9,)), ((1,), (3, 4)), ((4,), (3, 4)), ((3, 1), (2, 3, 17)))
    ],
)


def reshape(x: Operand, shape: tuple[int, ...]) -> Operand:
    return x if np.shape(x) == shape else RESHAPE(x, shape=shape)


def broadcast(x: Operand, shape: tuple[int, ...]) -> Operand:
    return x if np.shape(x) == shape else BROADCAST(x, shape=shape)


def unbroadcast(z_bar: Operand, shape: tuple[int, ...]) -> Operand:
    """Sum a cotangent over the axes along which a value of `shape` was broadcast; broadcast it where the rule left it smaller."""
    # np.shape of a tracked array would go through NumPy's slow dispatch.
    given = z_bar.shape if is_tracked(z_bar) else np.shape(z_bar)
    if given == shape:
        return z_bar
    extra = len(given) - len(shape)
    if extra < 0 or any(g != s and s != 1 for g, s in zip(given[max(extra, 0) :], shape)):
        return broadcast(z_bar, shape)
    axes = tuple(range(extra)) + tuple(extra + k for k, s in enumerate(shape) if s == 1 and given[extra + k] != 1)
    return reshape(SUM(z_bar, axes=axes), shape)


OPS = (RESHAPE, TRANSPOSE, BROADCAST)
