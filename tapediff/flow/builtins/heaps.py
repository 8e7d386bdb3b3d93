"""Heaps and sorted lists of what data decide: their length is known, and not great."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..calls.callables import call
from ..containers.entries import is_conditional
from ..containers.lengths import by_length
from ..containers.positions import insert
from ..state.values import is_data
from .arguments import NATIVE, SEQUENCES, is_lazy, is_of_interest
from .sorting import MOST_EXCHANGED

# Searches of longer lists are guards.
_MOST_SEARCHED = 128


def on_heap(run: Callable[..., Object]) -> Callable[..., Object]:
    """A function of heapq for tracked entries, and lists of any length."""

    @functools.wraps(run)
    def program(heap: Object, *values: Object) -> Object:
        if type(heap) is not list or not any(map(is_of_interest, (heap, *values))) or len(heap) > MOST_EXCHANGED:
            return NATIVE
        return by_length(heap, lambda plain: call(run, plain, *values))

    return program


def on_sorted(run: Callable[..., Object]) -> Callable[..., Object]:
    """The same of bisect."""

    @functools.wraps(run)
    def program(a: Object, x: Object, lo: Object = 0, hi: Object = None, *, key: Object = None) -> Object:
        if not isinstance(a, (*SEQUENCES, TrackedArray, np.ndarray)) or not (is_of_interest(x) or is_of_interest(a)):
            return NATIVE
        if type(lo) is not int or lo < 0 or not (hi is None or type(hi) is int) or len(a) > _MOST_SEARCHED:
            return NATIVE
        return by_length(a, lambda plain: call(run, plain, x, lo, hi, key=key))

    return program


def has_extremes(count: Object, items: Object, **_: Object) -> bool:
    """True for numbers of entries that are known, of what data may decide."""
    return type(count) is int and (isinstance(items, (*SEQUENCES, TrackedArray)) or is_lazy(items))


def insert_(holder: list[Object], position: Object, value: Object) -> Object:
    if is_conditional(holder) and not (type(position) is int and position == 0):
        return by_length(holder, lambda _: insert(holder, position, value))
    return insert(holder, position, value) if is_data(position) else NATIVE
