"""Heaps that a loop carries: tables whose positions are data. Each level of the tree takes a few instructions, without branches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ir.instruction import Operand
from ..anything import Object
from ..calls.truth import truth
from ..containers.entries import length, put as put_entries
from ..containers.lengths import packed
from ..operations.dunder import compared
from ..state.fork import exclude, select
from ..state.numbers.bounds import below, greater, note_bounds
from ..state.numbers.python_numbers import Kind, note_kind
from ..state.tables.columns import Table, by_position, listed, table_of
from ..state.values import both, is_data, negated, parted


class Heap:
    """The entries of a heap as vectors, one for each leaf of their form, with room for one more.

    Attributes:
        count: the number of entries.
        new: the leaves of a new entry.
    """

    def __init__(self, table: Table, count: Object) -> None:
        self.form, self.count = table.form, count
        self.kinds = [Kind(*(None if type(flags) is list else flags for flags in column.flags())) for column in table.columns]
        self.vectors = [column.own_vector() for column in table.columns]
        self.new = [column.numbers[-1] for column in table.columns]
        self.room = table.count
        self.levels = range(self.room.bit_length())

    @classmethod
    def of(cls, holder: list[Object], value: Object) -> Heap | None:
        """A heap and a new entry; None if they are no table."""
        table = table_of([*(parted(entry)[1] for entry in packed(holder)), value])
        return None if table is None else cls(table, length(holder))

    def at(self, position: Object) -> list[Operand]:
        """The leaves at a position."""
        return [note_kind(np.take(vector, position, mode="clip"), kind) for vector, kind in zip(self.vectors, self.kinds)]

    def value(self, leaves: list[Operand]) -> Object:
        """The entry with these leaves."""
        return self.form.made(iter(leaves))

    def is_less(self, a: list[Operand], b: list[Operand]) -> Object:
        """The condition that one entry precedes another."""
        return truth(compared("lt", self.value(a), self.value(b)))

    def write(self, position: Object, leaves: list[Operand], when: Object = True) -> None:
        """Write an entry where a condition holds."""
        for vector, leaf in zip(self.vectors, leaves):
            vector[position] = leaf if when is True else np.where(when, leaf, vector[position])

    def inner(self, position: Object) -> Object:
        """A position known to be one of an entry."""
        if is_data(position):
            note_bounds(position, 0, self.room - 1)
        return position

    def rise(self, position: Object, top: Object, new: list[Operand]) -> None:
        """Write a new entry at a position, or above it behind the last entry that precedes it."""
        for _ in self.levels:
            above = self.inner(np.maximum((position - 1) >> 1, 0))
            goes_on = both(position > top, self.is_less(new, before := self.at(above)))
            self.write(position, before, goes_on)
            position = self.inner(np.where(goes_on, above, position))
        self.write(position, new)

    def sink(self, new: list[Operand]) -> None:
        """Write a new entry in place of the first one: down along smaller children to a leaf, then up to its place."""
        position: Object = 0
        for _ in self.levels:
            child = 2 * position + 1
            left, right = self.at(child), self.at(child + 1)
            is_right = both(below(child + 1, self.count), negated(self.is_less(left, right)))
            goes_on = below(child, self.count)
            child = np.where(is_right, child + 1, child)
            self.write(position, self.at(child), goes_on)
            position = self.inner(np.where(goes_on, child, position))
        self.rise(position, 0, new)

    def store(self, holder: list[Object], room: int) -> None:
        """Replace the entries of a list."""
        rows = zip(*([note_kind(leaf, kind) for leaf in listed(vector)] for vector, kind in zip(self.vectors, self.kinds)))
        put_entries(holder, by_position(self.count, [self.value(list(row)) for row in rows][:room]))


def _push(heap: Heap) -> None:
    heap.rise(heap.count, 0, heap.new)
    heap.count = heap.count + 1


def _pop(heap: Heap) -> Object:
    exclude(truth(heap.count == 0), lambda: IndexError("index out of range"))
    heap.count = greater(heap.count - 1, 0)
    least, last = heap.at(0), heap.at(heap.count)
    heap.sink(last)
    return heap.value(least)


def _replace(heap: Heap) -> Object:
    exclude(truth(heap.count == 0), lambda: IndexError("index out of range"))
    least = heap.at(0)
    heap.sink(heap.new)
    return heap.value(least)


def _push_and_pop(heap: Heap) -> Object:
    least, before = heap.at(0), [vector.copy() for vector in heap.vectors]
    is_less = both(truth(heap.count > 0), heap.is_less(least, heap.new))
    heap.sink(heap.new)
    heap.vectors = [np.where(is_less, *pair) for pair in zip(heap.vectors, before)]
    return select(is_less, heap.value(least), heap.value(heap.new))


# By name: the operation, and the change of the number of entries.
OPERATIONS: dict[str, tuple[Callable[[Heap], Object], int]] = {
    "heappush": (_push, 1), "heappop": (_pop, -1), "heapreplace": (_replace, 0), "heappushpop": (_push_and_pop, 0),
}  # fmt: skip


def heap_operation(name: str, holder: list[Object], values: tuple[Object, ...]) -> tuple[Object] | None:
    """The result of an operation on a heap; None if it cannot be a table."""
    if name not in OPERATIONS or not holder:
        return None
    run, change = OPERATIONS[name]
    heap = Heap.of(holder, values[0] if values else parted(holder[0])[1])
    if heap is None:
        return None
    result = run(heap)
    heap.store(holder, heap.room - 1 + change)
    return (result,)
