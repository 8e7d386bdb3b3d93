"""Heaps and sorted lists: heapq and bisect."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..blocks.blocks import done, if_
from ..calls.callables import call
from ..calls.truth import truth
from ..containers.entries import is_conditional, item as entry_item, put as put_entries
from ..containers.lengths import by_length
from ..operations.dunder import compared
from ..operations.tests_of_values import if_value
from ..state.fork import select
from ..state.places import note_contents
from ..state.values import is_data, negated
from .arguments import (
    NATIVE,
    SEQUENCES,
    collect,
    gathered,
    is_lazy,
    is_of_interest,
)
from .sorting import MOST_EXCHANGED, sorted_


def on_heap(run: Callable[..., Object]) -> Callable[..., Object]:
    """A program for lists whose length is known, as one for all lists of tracked entries."""

    def program(heap: Object, *values: Object) -> Object:
        if (
            type(heap) is not list
            or not (is_of_interest(heap) or any(map(is_of_interest, values)))
            or len(heap) > MOST_EXCHANGED
        ):
            return NATIVE
        return by_length(heap, lambda _: run(heap, *values)) if is_conditional(heap) else run(heap, *values)

    return program


def _rise(heap: list[Object], position: int, top: int) -> None:
    """Move an entry towards the top as long as it is less than the one above it."""
    if position <= top:
        return

    def exchange() -> None:
        above = (position - 1) >> 1
        _swap(heap, position, above)
        _rise(heap, above, top)

    done(if_(truth(compared("lt", heap[position], heap[(position - 1) >> 1])), exchange, None))


def _sink(heap: list[Object], position: int, top: int) -> None:
    """Move an entry down along the lesser ones to the end, and up again to its place."""
    child = 2 * position + 1
    if child >= len(heap):
        _rise(heap, position, top)
        return

    def to(child: int) -> None:
        _swap(heap, position, child)
        _sink(heap, child, top)

    if child + 1 == len(heap):
        to(child)
    else:
        done(if_(truth(compared("lt", heap[child], heap[child + 1])), lambda: to(child), lambda: to(child + 1)))


def _swap(heap: list[Object], a: int, b: int) -> None:
    note_contents(heap)
    heap[a], heap[b] = heap[b], heap[a]


def heappush_(heap: list[Object], value: Object) -> None:
    collect(heap, value)
    _rise(heap, len(heap) - 1, 0)


def heappop_(heap: list[Object]) -> Object:
    if not heap:
        raise IndexError("index out of range")
    note_contents(heap)
    last = heap.pop()
    return heapreplace_(heap, last) if heap else last


def heapreplace_(heap: list[Object], value: Object) -> Object:
    if not heap:
        raise IndexError("index out of range")
    note_contents(heap)
    least, heap[0] = heap[0], value
    _sink(heap, 0, 0)
    return least


def heappushpop_(heap: list[Object], value: Object) -> Object:
    if not heap:
        return value
    return if_value(truth(compared("lt", heap[0], value)), lambda: heapreplace_(heap, value), lambda: value)


def heapify_(heap: list[Object]) -> None:
    for position in range(len(heap) // 2 - 1, -1, -1):
        _sink(heap, position, position)


def nlargest_(count: Object, items: Object, key: Object = None) -> Object:
    return _extremes(count, items, key, True)


def nsmallest_(count: Object, items: Object, key: Object = None) -> Object:
    return _extremes(count, items, key, False)


def _extremes(count: Object, items: Object, key: Object, reverse: bool) -> Object:
    if type(count) is not int or not (isinstance(items, (*SEQUENCES, TrackedArray)) or is_lazy(items)):
        return NATIVE
    entries = gathered(items)
    found = sorted_(entries, key=key, reverse=reverse)
    return entry_item(found, slice(None, max(count, 0))) if is_conditional(found) else found[: max(count, 0)]


# Searches of longer lists are guards.
_MOST_SEARCHED = 128


def bisect_right_(a: Object, x: Object, lo: Object = 0, hi: Object = None, *, key: Object = None) -> Object:
    return _bisected(a, x, lo, hi, key, lambda value: negated(truth(compared("lt", x, value))))


def bisect_left_(a: Object, x: Object, lo: Object = 0, hi: Object = None, *, key: Object = None) -> Object:
    return _bisected(a, x, lo, hi, key, lambda value: truth(compared("lt", value, x)))


def _bisected(a: Object, x: Object, lo: Object, hi: Object, key: Object, is_before: Callable[[Object], Object]) -> Object:
    if not isinstance(a, (*SEQUENCES, TrackedArray, np.ndarray)) or not (is_of_interest(x) or is_of_interest(a)):
        return NATIVE
    if type(lo) is not int or lo < 0 or not (hi is None or type(hi) is int) or len(a) > _MOST_SEARCHED:
        return NATIVE

    def between(low: int, high: int) -> Object:
        if low >= high:
            return low
        middle = (low + high) // 2
        value = a[middle] if key is None else call(key, a[middle])
        return if_value(is_before(value), lambda: between(middle + 1, high), lambda: between(low, middle))

    run = lambda: between(lo, len(a) if hi is None else hi)  # noqa: E731 -- its name is its use
    return by_length(a, lambda _: run()) if is_conditional(a) else run()


def insort_right_(a: Object, x: Object, lo: Object = 0, hi: Object = None, *, key: Object = None) -> Object:
    return _insorted(bisect_right_, a, x, lo, hi, key)


def insort_left_(a: Object, x: Object, lo: Object = 0, hi: Object = None, *, key: Object = None) -> Object:
    return _insorted(bisect_left_, a, x, lo, hi, key)


def _insorted(search: Callable[..., Object], a: Object, x: Object, lo: Object, hi: Object, key: Object) -> Object:
    if type(a) is not list:
        return NATIVE

    def run() -> Object:
        position = search(a, x if key is None else call(key, x), lo, hi, key=key)
        if position is NATIVE:
            return NATIVE
        _insert(a, position, x)
        return None

    return by_length(a, lambda _: run()) if is_conditional(a) else run()


def insert_(holder: list[Object], position: Object, value: Object) -> Object:
    if is_conditional(holder) and not (type(position) is int and position == 0):
        return by_length(holder, lambda _: _insert(holder, position, value))
    if not is_data(position):
        return NATIVE
    _insert(holder, position, value)
    return None


def _insert(holder: list[Object], position: Object, value: Object) -> None:
    note_contents(holder)
    if type(position) is int:
        holder.insert(position, value)
        return
    n, entries = len(holder), list(holder)
    place = np.where(position < 0, position + n, position)
    made = [select(place <= 0, value, entries[0])] if entries else [value]
    for k in range(1, n):
        made.append(select(place < k, entries[k - 1], select(place == k, value, entries[k])))
    if entries:
        made.append(select(place < n, entries[-1], value))
    # Entries below the place stay; those above move on by one.
    put_entries(holder, made)
