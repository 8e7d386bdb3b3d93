"""Reductions that leave NaN out. Integers and masks have none, and are reduced as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.arithmetic import FMAX, FMIN, ROOT
from ..ops.comparison import IS_NAN, LOGICAL_AND, SELECT
from . import reducing
from .elementwise import as_mask
from .reducing import count_of, degrees_lost, reduced_axes


def _identity(reduction: Callable[..., Any], neutral: float) -> Callable[..., Any]:
    def reduce(
        a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Any:
        filled = SELECT(IS_NAN(a), neutral, a) if a.dtype.kind == "f" else a
        return reduction(filled, axis, dtype, keepdims, initial, where)

    return reduce


nansum = _identity(reducing.sum, 0.0)
nanprod = _identity(reducing.prod, 1.0)


def _extremum(reduction: Callable[..., Any], join: Any, worst: float) -> Callable[..., Any]:
    def reduce(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
        if a.dtype.kind != "f":
            return reduction(a, axis, keepdims, initial, where)
        missing = IS_NAN(a)
        # The plain reduction refuses what it must; where everything is NaN the result is NaN, but for a first value.
        start = None if initial is None else worst
        value = reduction(SELECT(missing, worst, a), axis, keepdims, start, where)
        value = SELECT(reducing.all(missing, axis, keepdims, where=where), np.nan, value)
        return value if initial is None else join(value, reducing.first_value(initial, value.dtype))

    return reduce


nanmax = _extremum(reducing.amax, FMAX, -np.inf)
nanmin = _extremum(reducing.amin, FMIN, np.inf)


def _present(a: Any, where: Any) -> Any:
    there = ~IS_NAN(a)
    return there if where is True else LOGICAL_AND(there, as_mask(where))


def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, *, where: Any = True) -> Any:
    if a.dtype.kind != "f":
        return reducing.mean(a, axis, dtype, keepdims, where)
    return reducing.mean(a, axis, dtype, keepdims, _present(a, where))


def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False, *, where: Any = True,
    mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    ddof = degrees_lost(ddof, correction)
    if a.dtype.kind != "f":
        return reducing.var(a, axis, dtype, ddof, keepdims, where, mean=mean)
    present = _present(a, where)
    result = reducing.var(a, axis, dtype, ddof, keepdims, present, mean=mean)
    count = count_of(present, a.shape, reduced_axes(axis, a.ndim), keepdims, result.dtype)
    return SELECT(count > ddof, result, np.nan)


def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False, *, where: Any = True,
    mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    return ROOT(nanvar(a, axis, dtype, ddof, keepdims, where=where, mean=mean, correction=correction))
