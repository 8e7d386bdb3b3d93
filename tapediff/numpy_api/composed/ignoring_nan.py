"""Reductions that skip NaN. Integers and masks have none, and are reduced as usual."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike

from ...ir.instruction import Operand
from ...ops.elementwise.arithmetic import FMAX, FMIN, ROOT
from ...ops.elementwise.comparison import IS_NAN, LOGICAL_AND, SELECT
from .. import reducing
from ..elementwise import as_mask
from ..kinds import Axis
from ..reducing import count_of, degrees_lost, reduced_axes


def _identity(reduction: Callable[..., Operand], neutral: float) -> Callable[..., Operand]:
    def reduce(
        a: Operand, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False, initial: Operand = None,
        where: Operand = True,
    ) -> Operand:
        filled = SELECT(IS_NAN(a), neutral, a) if a.dtype.kind == "f" else a
        return reduction(filled, axis, dtype, keepdims, initial, where)

    return reduce


nansum = _identity(reducing.sum, 0.0)
nanprod = _identity(reducing.prod, 1.0)


def _extremum(reduction: Callable[..., Operand], join: Operand, worst: float) -> Callable[..., Operand]:
    def reduce(a: Operand, axis: Axis = None, keepdims: bool = False, initial: Operand = None, where: Operand = True) -> Operand:
        if a.dtype.kind != "f":
            return reduction(a, axis, keepdims, initial, where)
        missing = IS_NAN(a)
        # The plain reduction raises its own errors; if all entries are NaN, so is the result, unless there is an initial value.
        start = None if initial is None else worst
        value = reduction(SELECT(missing, worst, a), axis, keepdims, start, where)
        value = SELECT(reducing.all(missing, axis, keepdims, where=where), np.nan, value)
        return value if initial is None else join(value, reducing.first_value(initial, value.dtype))

    return reduce


nanmax = _extremum(reducing.amax, FMAX, -np.inf)
nanmin = _extremum(reducing.amin, FMIN, np.inf)


def _present(a: Operand, where: Operand) -> Operand:
    there = ~IS_NAN(a)
    return there if where is True else LOGICAL_AND(there, as_mask(where))


def nanmean(a: Operand, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False, *, where: Operand = True) -> Operand:
    if a.dtype.kind != "f":
        return reducing.mean(a, axis, dtype, keepdims, where)
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise TypeError("If a is inexact, then dtype must be inexact")
    return reducing.mean(a, axis, dtype, keepdims, _present(a, where))


def nanvar(
    a: Operand, axis: Axis = None, dtype: DTypeLike | None = None, ddof: float = 0, keepdims: bool = False, *, where: Operand = True,
    mean: Operand = None, correction: Operand = None,
) -> Operand:  # fmt: skip
    ddof = degrees_lost(ddof, correction)
    if a.dtype.kind != "f":
        return reducing.var(a, axis, dtype, ddof, keepdims, where, mean=mean)
    present = _present(a, where)
    result = reducing.var(a, axis, dtype, ddof, keepdims, present, mean=mean)
    count = count_of(present, a.shape, reduced_axes(axis, a.ndim), keepdims, result.dtype)
    return SELECT(count > ddof, result, np.nan)


def nanstd(
    a: Operand, axis: Axis = None, dtype: DTypeLike | None = None, ddof: float = 0, keepdims: bool = False, *, where: Operand = True,
    mean: Operand = None, correction: Operand = None,
) -> Operand:  # fmt: skip
    return ROOT(nanvar(a, axis, dtype, ddof, keepdims, where=where, mean=mean, correction=correction))
