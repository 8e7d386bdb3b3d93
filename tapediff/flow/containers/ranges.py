"""Ranges with data-dependent ends.

If bounds leave few ints, these are conditional entries; else the loop is data-dependent.
"""

from __future__ import annotations

import math

import numpy as np

from ..anything import Object
from ..calls.truth import truth
from ..report import Reason
from ..state.fork import decide, fork, observed
from ..state.joins import maybe
from ..state.numbers.bounds import below, bounds_of, ends
from ..state.recursions import is_of_sizes
from ..state.values import Lazy, Unjoinable, both, is_data, negated, state

# Maximum number of conditional entries.
MOST_ENTRIES = 64


class Counting(Lazy):
    """A range of unbounded length."""

    __slots__ = ("start", "step", "stop")

    def __init__(self, start: Object, stop: Object, step: int) -> None:
        self.start, self.stop, self.step = start, stop, step

    def length(self) -> Object:
        first, last, step = (self.start, self.stop, self.step) if self.step > 0 else (self.stop, self.start, -self.step)
        return np.where(first < last, (last - first - 1) // step + 1, 0)

    def __len__(self) -> int:
        return int(self.length())

    def __iter__(self) -> Object:
        return iter(range(int(self.start), int(self.stop), self.step))

    def entries(self, reason: Reason | None = None) -> tuple[Object, ...]:
        """The numbers as conditional entries: those that bounds leave if they are few, else up to a power of two that guards ensure."""
        if (few := self.few()) is not None:
            return few
        return _listed(self.start, self.stop, self.step, _most(self.length(), reason))


    def few(self) -> tuple[Object, ...] | None:
        """The numbers as conditional entries, if bounds leave few of them; else None."""
        start, stop, step = self.start, self.stop, self.step
        (low, high), (least, most) = ends(bounds_of(start)), ends(bounds_of(stop))
        longest = (most - low) / step if step > 0 else (least - high) / step
        if math.isinf(longest) or longest > MOST_ENTRIES:
            return None
        if abs(step) > 1 and is_data(start):
            return _listed(start, stop, step, math.ceil(longest))
        # The numbers themselves are known.
        numbers = range(int(low), math.ceil(most), step) if step > 0 else range(int(high), math.floor(least), step)
        return tuple(maybe(condition, k) for k in numbers if (condition := _is_within(k, start, stop, step)) is not False)


def _most(count: Object, reason: Reason | None) -> int:
    """A power of two that bounds a count, by guards."""
    most = 8
    while True:
        more = count > most
        if state.path or state.is_in_loop:
            fork(more, _refused, None)
            return most
        if not observed(more, reason or decide(*_MANY)):
            return most
        most *= 2


def _refused() -> None:
    raise Unjoinable(*_MANY)


_MANY = ("a range of data-dependent length is used as a list", "loop over the range itself, or use `while`")


def range_of(start: Object, stop: Object, step: Object) -> Object:
    """range(start, stop, step) with a data-dependent end."""
    if is_data(step) or not all(_is_int(end) for end in (start, stop)):
        return None
    if step == 0:
        raise ValueError("range() arg 3 must not be zero")
    (low, high), (least, most) = ends(bounds_of(start)), ends(bounds_of(stop))
    longest = (most - low) / step if step > 0 else (least - high) / step
    if longest <= 0:
        return ()
    made = Counting(start, stop, step)
    if is_of_sizes():
        return made
    few = made.few()
    return made if few is None else few


def _is_within(k: int, start: Object, stop: Object, step: int) -> Object:
    if step > 0:
        return both(negated(below(k, start)), below(k, stop))
    return both(negated(below(start, k)), below(stop, k))


def _listed(start: Object, stop: Object, step: int, count: int) -> tuple[Object, ...]:
    numbers = [start + k * step for k in range(count)]
    found = [(below(number, stop) if step > 0 else below(stop, number), number) for number in numbers]
    return tuple(maybe(condition, number) for condition, number in found if condition is not False)


def _is_int(value: Object) -> bool:
    return type(value) in (int, bool) or (is_data(value) and not value.type.shape and value.type.dtype.kind == "i")


def holds(numbers: Counting, value: Object) -> Object:
    """value in numbers"""
    start, stop = (numbers.start, numbers.stop) if numbers.step > 0 else (numbers.stop + 1, numbers.start + 1)
    found = both(negated(below(value, start)), below(value, stop))
    return found if abs(numbers.step) == 1 else both(found, truth((value - numbers.start) % numbers.step == 0))
