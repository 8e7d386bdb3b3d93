"""Iterators of sequences, with the position as a place that branches change."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...base.current_recording import current_recorder
from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..calls.truth import truth
from ..state.fork import exclude, fork_value, refuse
from ..state.joins import maybe
from ..state.numbers.bounds import below
from ..state.places import note_attribute
from ..state.values import CHOICES, Lazy, is_data, negated
from .entries import is_conditional
from .positions import entry_of

# The position of an exhausted iterator.
_OVER = 1 << 40
# Longer loops are rolled, which needs a Python iterator.
_MOST_ENTRIES = 256
_KINDS = (list, tuple, range, np.ndarray, TrackedArray)


class Cursor(Lazy):
    """The iterator of a sequence.

    Attributes:
        holder: the sequence.
        position: of the next entry.
    """

    __slots__ = ("holder", "position")

    def __init__(self, holder: Object) -> None:
        self.holder, self.position = holder, 0

    def __iter__(self) -> Iterator[Object]:
        return self

    def __next__(self) -> Object:
        self.settle()
        if self.position >= len(self.holder):
            self.move(_OVER)
            raise StopIteration
        self.move(self.position + 1)
        return self.holder[self.position - 1]

    def entries(self) -> list[Object]:
        self.settle()
        position, holder = self.position, self.holder
        self.move(_OVER)
        if not is_data(position):
            return [holder[k] for k in range(position, len(holder))]
        return [maybe(truth(position <= k), holder[k]) for k in range(len(holder))]

    def length(self) -> Object:
        raise TypeError(f"object of type '{type(iter(self.holder)).__name__}' has no len()")

    def truth(self) -> Object:
        return True

    def is_at_most(self, position: int) -> Object:
        """The condition that the entry at a position is still to come."""
        self.settle()
        return truth(self.position <= position)

    def settle(self) -> None:
        """Find the position, which branches may have made a choice, by guards."""
        if type(self.position) in CHOICES:
            self.position = CHOICES[type(self.position)].settled(self.position)

    def move(self, position: Object) -> None:
        """Change the position."""
        note_attribute(self, "position")
        self.position = position


def has_cursor(items: Object) -> bool:
    """True for sequences that `iter` returns a cursor for."""
    if type(items) not in _KINDS or is_conditional(items) or (hasattr(items, "shape") and not items.shape):
        return False
    return len(items) <= _MOST_ENTRIES


def following(cursor: Cursor, *default: Object) -> Object:
    """next(cursor, default)"""
    cursor.settle()
    if not is_data(cursor.position):
        return next(cursor, *default)
    position, count = cursor.position, len(cursor.holder)
    is_inside = below(position, count)

    def take() -> Object:
        cursor.move(position + 1)
        return _entry(cursor.holder, position)

    if not default:
        exclude(negated(is_inside), StopIteration)
        return take()

    def end() -> Object:
        cursor.move(_OVER)
        return default[0]

    return fork_value(is_inside, take, end)


def _entry(holder: Object, position: Object) -> Object:
    """The entry at a position within bounds."""
    if type(holder) in (np.ndarray, TrackedArray):
        array: Object = holder if type(holder) is TrackedArray else current_recorder().tracked_constant(holder)
        return np.take(array, position, axis=0, mode="clip")
    return entry_of(list(holder), position)


def exhaust(cursor: Cursor, count: int) -> None:
    """Note that a loop has exhausted a cursor of `count` entries."""
    if len(cursor.holder) != count:
        refuse("a list grows while a loop iterates over it", "use `while k < len(items):`")
    cursor.move(_OVER)
