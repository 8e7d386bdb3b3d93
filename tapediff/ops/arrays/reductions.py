"""Reductions over axes and running sums. Results drop the reduced axes; `keepdims` is a reshape in the NumPy layer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ir.instruction import BOOL, INT64, Operand, ValueType
from ..declaration.op import Batching, Op
from ..elementwise.comparison import EQUAL, IS_NAN, LOGICAL_OR, SELECT


def kept_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(1 if k in axes else extent for k, extent in enumerate(shape))


def _dropped(x: ValueType, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(extent for k, extent in enumerate(x.shape) if k not in axes)


def spread(z: Operand, shape: tuple[int, ...], axes: tuple[int, ...]) -> Operand:
    """Broadcast a reduced value along the axes it was reduced over."""
    return np.broadcast_to(np.reshape(z, kept_shape(shape, axes)), shape)


def _over_axes(op: Op, x: np.ndarray) -> list[tuple[Callable[..., Operand], tuple[np.ndarray]]]:
    """The op over each axis of an array and over all of them, for the tests."""
    choices = [*[(k,) for k in range(x.ndim)], (0, x.ndim - 1), tuple(range(x.ndim))]
    return [(lambda x, a=axes: op(x, axes=a), (x,)) for axes in dict.fromkeys(tuple(sorted(set(c))) for c in choices)]


def _op(name: str) -> Op:
    return next(op for op in OPS if op.name == name)


def _sum(x: Operand, axes: tuple[int, ...]) -> Operand:
    return np.add.reduce(x, axis=axes)  # what np.sum calls


SUM = Op(
    "sum",
    evaluate=_sum,
    infer=lambda x, axes: ValueType(_dropped(x, axes), INT64 if x.dtype == BOOL else x.dtype),
    vjp=(lambda z_bar, z, x, axes: spread(z_bar, x.shape, axes),),
    params=("axes",),
    lower=lambda low, i: low.reduce(i, "add"),
    additions=lambda type_, types: types[0].size,
    batching=Batching(lambda batch, i: batch.reduced(i)),
    promote=(),
    examples=lambda rng: [
        *_over_axes(SUM, rng.normal(size=(3, 4, 17))),
        *_over_axes(SUM, rng.normal(size=(5, 1))),
        *_over_axes(SUM, rng.random((3, 9)) < 0.5),
        *_over_axes(SUM, rng.integers(-5, 5, (3, 9))),
    ],
)


def _extremum_rule(z_bar: Operand, z: Operand, x: Operand, axes: tuple[int, ...]) -> Operand:
    """Split the cotangent equally among the extremal entries; a NaN counts as extremal, as it decides the value."""
    chosen = LOGICAL_OR(EQUAL(x, spread(z, x.shape, axes)), IS_NAN(x))
    return SELECT(chosen, spread(z_bar / SUM(SELECT(chosen, 1.0, 0.0), axes=axes), x.shape, axes), 0.0)


def best_two(x: Operand, axes: tuple[int, ...], is_greatest: bool) -> tuple[np.ndarray, np.ndarray]:
    """The two most extreme entries along the reduced axes; empty if there is only one entry."""
    x = np.asarray(x)
    kept = [k for k in range(x.ndim) if k not in axes]
    rows = np.transpose(x, (*kept, *axes)).reshape(*[x.shape[k] for k in kept], -1)
    if rows.shape[-1] < 2:
        return np.empty(0), np.empty(0)
    ordered = np.sort(rows, axis=-1)
    return (ordered[..., -1], ordered[..., -2]) if is_greatest else (ordered[..., 0], ordered[..., 1])


def _extremum(name: str, evaluate: Callable[..., Operand], combine: str) -> Op:
    def compares(z: Operand, x: Operand, axes: tuple[int, ...]) -> tuple[Operand, Operand, Operand]:
        left, right = best_two(x, axes, combine == "maximum")
        return left, right, np.greater(left, right)

    return Op(
        name,
        evaluate=lambda x, axes: evaluate(x, axis=axes),
        infer=lambda x, axes: ValueType(_dropped(x, axes), x.dtype),
        vjp=(_extremum_rule,),
        params=("axes",),
        lower=lambda low, i: low.reduce(i, combine),
        promote=(),
        floats_only=False,
        masks=True,
        exact=True,
        batching=Batching(lambda batch, i: batch.reduced(i)),
        compares=compares,
        examples=lambda rng: [
            *_over_axes(_op(name), rng.normal(size=(3, 4, 17))),
            *_over_axes(_op(name), rng.normal(size=(5, 1))),
            *_over_axes(_op(name), rng.random((3, 9)) < 0.5),
            *_over_axes(_op(name), rng.integers(-5, 5, (3, 9))),
        ],
    )


MAX = _extremum("max", np.max, "maximum")
MIN = _extremum("min", np.min, "minimum")


def _all_any(name: str, evaluate: Callable[..., Operand], combine: str) -> Op:
    return Op(
        name,
        evaluate=lambda x, axes: evaluate(x, axis=axes),
        infer=lambda x, axes: ValueType(_dropped(x, axes), BOOL),
        vjp=(None,),
        params=("axes",),
        lower=lambda low, i: low.reduce(i, combine),
        promote=(),
        floats_only=False,
        batching=Batching(lambda batch, i: batch.reduced(i)),
        examples=lambda rng: [
            *_over_axes(_op(name), rng.random((3, 4, 17)) < 0.9),
            *_over_axes(_op(name), rng.random((5, 1)) < 0.5),
        ],
    )


ALL = _all_any("all", np.all, "and")
ANY = _all_any("any", np.any, "or")


def _arg(name: str, evaluate: Callable[..., Operand], is_greatest: bool) -> Op:
    return Op(
        name,
        evaluate=lambda x, axis: evaluate(x, axis=axis),
        infer=lambda x, axis: ValueType(_dropped(x, (axis,)), INT64),
        vjp=(None,),
        params=("axis",),
        lower=lambda low, i: low.index_routine(i),
        promote=(),
        floats_only=False,
        batching=Batching(lambda batch, i: batch.along_axis(i)),
        compares=lambda z, x, axis: (*best_two(x, (axis,), is_greatest), z),
        examples=lambda rng: [
            (lambda x, a=axis: _op(name)(x, axis=a), (values,))
            for values in (rng.normal(size=(3, 4)), rng.integers(0, 3, (3, 4)), rng.random((3, 4)) < 0.5)
            for axis in (0, 1)
        ],
    )


ARGMAX = _arg("argmax", np.argmax, True)
ARGMIN = _arg("argmin", np.argmin, False)


def _cumsum(x: Operand, axis: int, backwards: bool) -> Operand:
    return np.flip(np.cumsum(np.flip(x, axis), axis=axis), axis) if backwards else np.cumsum(x, axis=axis)


CUMSUM = Op(
    "cumsum",
    evaluate=_cumsum,
    infer=lambda x, axis, backwards: ValueType(x.shape, x.dtype),
    vjp=(lambda z_bar, z, x, axis, backwards: CUMSUM(z_bar, axis=axis, backwards=not backwards),),
    params=("axis", "backwards"),
    lower=lambda low, i: low.cumulate(i),
    batching=Batching(lambda batch, i: batch.along_axis(i)),
    promote=(),
    examples=lambda rng: [
        (lambda x, a=axis, b=backwards: CUMSUM(x, axis=a, backwards=b), (rng.normal(size=shape),))
        for shape in ((9,), (3, 4, 5), (4, 1), (1,))
        for axis in range(len(shape))
        for backwards in (False, True)
    ],
)

SUMS = (SUM, CUMSUM)
OPS = (SUM, MAX, MIN, ALL, ANY, ARGMAX, ARGMIN, CUMSUM)
