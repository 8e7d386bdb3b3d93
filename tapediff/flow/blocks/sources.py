"""Streams: the rest of a long loop's iterable as arrays with one entry per iteration."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...base.current_recording import current_recorder
from ...ir.instruction import Operand
from ...ops.elementwise.comparison import EXISTS
from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..containers.compressed import Compressed, Conditional
from ..state.numbers.bounds import note_bounds, without_shift
from ..state.numbers.python_numbers import Kind, kind_of, note_kind
from ..state.tables.columns import counted
from ..state.tables.forms import Form, Number, form_of, number_form, tuple_of
from ..state.values import Maybe, counted_from, facts_of, is_data, note_packed, packed_count, parted, state


@dataclass(frozen=True)
class Source:
    """The remaining items of an iterable.

    Attributes:
        count: of the items.
        form: of an item.
        streams: an array for each leaf.
        last: the leaves of the last item.
        kinds: of the leaves.
        is_conditional: an item is the condition that it exists, and its value.
        positions, length: an item exists if its position is below the length; None for others.
    """

    count: int
    form: Form
    streams: list[Operand]
    last: list[Object]
    kinds: list[Kind]
    is_conditional: bool = False
    positions: range | None = None
    length: Operand = None

    def item(self, leaves: list[Operand]) -> Object:
        """Rebuild an item from its leaves."""
        item = self.form.made(iter([note_kind(leaf, kind) for leaf, kind in zip(leaves, self.kinds)]))
        return Maybe(*item) if self.is_conditional else item

    def note_existence(self, leaves: list[Operand]) -> None:
        """Note that positions are below the length, in an iteration whose item exists."""
        if self.positions is None:
            return
        for leaf, stream in zip(leaves, self.streams):
            if type(stream) is np.ndarray and np.array_equal(stream, self.positions):
                size, more = without_shift(self.length)
                for position, end in ((leaf, self.length), (leaf - more, size)):
                    state.facts = {**state.facts, **facts_of(EXISTS(position, end), True)}

    def note_conditions(self, columns: list[list[Object]]) -> None:
        """Note columns that hold the conditions of all items: the first ones exist."""
        if self.positions is None:
            return
        first = self.positions[0]
        for column in columns:
            note_packed(column, np.maximum(self.length - first, 0) if first else self.length)

    def note_bounds(self, leaves: list[Operand]) -> None:
        """Note the bounds of entries of integer streams."""
        for leaf, stream in zip(leaves, self.streams):
            if is_data(leaf) and isinstance(stream, np.ndarray) and stream.ndim == 1 and stream.dtype.kind == "i":
                note_bounds(leaf, int(stream.min()), int(stream.max()))

    def entries_at(self, number: Object) -> list[Operand]:
        """The entries of an iteration, by its number."""
        make = current_recorder().tracked_constant
        streams = [stream if isinstance(stream, TrackedArray) else make(stream) for stream in self.streams]
        take: Object = np.take
        entries = [take(stream, number, axis=0, mode="clip") for stream in streams]
        self.note_bounds(entries)
        return entries


def left_in(iterator: Iterator[Object]) -> int:
    """The number of items left in an iterator, without advancing it; 0 if unknown."""
    kind = type(iterator)
    if isinstance(iterator, Conditional):
        return left_in(iterator.pairs)
    if kind is enumerate:
        return left_in(_reduced(iterator)[1][0])
    if kind is zip:
        return min(map(left_in, _reduced(iterator)[1]), default=0)
    return operator.length_hint(iterator) if kind in _OVER_SEQUENCES else 0


def _reduced(iterator: Object) -> Object:
    return iterator.__reduce__()


# Iterators whose sequence and position can be read.
_SEQUENCES = ([], (), range(0), range(2**70), np.zeros(1), {}.items(), {}.keys(), {}.values(), reversed([]))
_OVER_SEQUENCES = {type(iter(made)) for made in _SEQUENCES}


def source_of(iterator: Iterator[Object], count: int) -> Source | None:
    """The next `count` items of an iterator, without advancing it; None if their forms differ."""
    kind = type(iterator)
    if isinstance(iterator, Conditional):
        source, kept = source_of(iterator.pairs, count), iterator.kept
        if source is None or kept is None or kept.length is None:
            return source and replace(source, is_conditional=True)
        first = kept.extent - left_in(_reduced(iterator.pairs)[1][0])
        return replace(source, is_conditional=True, positions=range(first, first + count), length=Compressed.length_of(kept))
    made = _reduced(iterator)
    if kind is enumerate:
        inner, number = made[1]
        parts = [numbers_of(range(number, number + count)), source_of(inner, count)]
    elif kind is zip:
        is_strict = len(made) > 2 and bool(made[2])
        if is_strict and len(set(map(left_in, made[1]))) > 1:
            return None
        parts = [source_of(part, count) for part in made[1]]
    else:
        return _of_items(made, count)
    found = [part for part in parts if part is not None and not part.is_conditional]
    if len(found) < len(parts):
        return None
    return _together(found)


def up_to(length: Operand, positions: range) -> Source:
    """The positions below a length."""
    numbers = numbers_of(positions)
    mask = _of_array(EXISTS(numbers.streams[0], length))
    assert mask is not None, "of an array of bools"
    return replace(_together([mask, numbers]), is_conditional=True, positions=positions, length=length)


def _together(parts: list[Source]) -> Source:
    """Items of several sources as tuples."""
    streams, last, kinds = ([x for part in parts for x in getattr(part, name)] for name in ("streams", "last", "kinds"))
    return Source(parts[0].count, tuple_of([part.form for part in parts]), streams, last, kinds)


def _of_items(made: Object, count: int) -> Source | None:
    items = made[1][0]
    place = made[2] if len(made) > 2 and made[2] is not None else 0
    if made[0] is reversed:
        return _of_list(items[: place + 1][::-1][:count])
    rest = getattr(items, "array", items)[place : place + count]
    if isinstance(rest, range):
        return numbers_of(rest)
    return _of_array(rest) if isinstance(rest, (np.ndarray, TrackedArray)) else _of_list(list(rest))


def numbers_of(items: range) -> Source:
    """The numbers of a range."""
    stream = np.arange(items.start, items.stop, items.step)
    return Source(len(items), Number((), stream.dtype, True), [stream], [items[-1]], [Kind(True, True)])


def _of_array(items: Operand) -> Source | None:
    if items.dtype.kind not in "fib":
        return None
    form = Number(items.shape[1:], items.dtype)
    return Source(len(items), form, [items], [items[-1]], [Kind(False, items.dtype.kind == "i")])


def _of_list(items: list[Object]) -> Source | None:
    if any(type(item) is Maybe for item in items):
        conditions, values = zip(*map(parted, items))
        there, given = _of_list(list(conditions)), _of_list(list(values))
        if there is None or given is None:
            return None
        made = replace(_together([there, given]), is_conditional=True)
        return replace(made, positions=range(len(items)), length=counted(list(conditions))) if are_first_ones(items) else made
    if any(map(_is_conditional, items)):
        return None
    form = form_of_item(items[0]) if type(items[0]) is not bool else Number((), np.dtype(bool))
    while True:
        rows = []
        for item in items:
            leaves = form.leaves(item)
            if leaves is None:
                form = form.wider(item)
                break
            rows.append(leaves)
        else:
            break
    columns = list(zip(*rows))
    return Source(len(items), form, [_stacked(column) for column in columns], list(rows[-1]), list(map(_kind, columns)))


def are_first_ones(items: Object) -> bool:
    """True for a list of conditional entries of which the first ones exist, and how many is known."""
    if type(items) not in (list, tuple) or not items or any(type(item) is not Maybe for item in items):
        return False
    conditions = [item.condition for item in items]
    return counted_from(conditions, 0)[0] == len(items) == packed_count(conditions)


def _is_conditional(value: Object) -> bool:
    """True for a conditional item, or one with conditional parts."""
    return type(value) is Maybe or (type(value) is tuple and any(map(_is_conditional, value)))


def form_of_item(value: Object) -> Form:
    """The narrowest form of an item, which may be an array."""
    number = number_form(value) if type(value) is not bool else None
    if number is not None:
        return number
    if type(value) is tuple:
        return tuple_of([form_of_item(part) for part in value])
    return form_of(value)


def _stacked(column: tuple[Object, ...]) -> Operand:
    return np.stack(column) if any(isinstance(value, TrackedArray) for value in column) else np.array(column)


def _kind(column: tuple[Object, ...]) -> Kind:
    """The kind of all numbers of a column."""
    python, whole = map(set, zip(*map(kind_of, column)))
    return Kind(python.pop() if len(python) == 1 else None, whole.pop() if len(whole) == 1 else None)
