"""Streams: the rest of a long loop's iterable as arrays with one entry per iteration."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...base.current_recording import current_recorder
from ...ir.instruction import Operand
from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..state.numbers.bounds import note_bounds
from ..state.numbers.python_numbers import note_python
from ..state.values import Maybe, is_data
from .carries import Form, Number, form_of, number_form, tuple_of


@dataclass(frozen=True)
class Source:
    """The remaining items of an iterable.

    Attributes:
        count: of the items.
        form: of an item.
        streams: an array for each leaf.
        last: the leaves of the last item.
        is_python: which leaves are Python numbers.
    """

    count: int
    form: Form
    streams: list[Operand]
    last: list[Object]
    is_python: list[bool]

    def item(self, leaves: list[Operand]) -> Object:
        """Rebuild an item from its leaves."""
        return self.form.made(iter([note_python(leaf) if own else leaf for leaf, own in zip(leaves, self.is_python)]))

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

    def cut(self, count: int) -> Source:
        """The first `count` items."""
        if count == self.count:
            return self
        last = [stream[count - 1] for stream in self.streams]
        last = [value.item() if own and not isinstance(value, TrackedArray) else value for value, own in zip(last, self.is_python)]
        return replace(self, count=count, streams=[stream[:count] for stream in self.streams], last=last)


def left_in(iterator: Iterator[Object]) -> int | None:
    """The number of items left in an iterator, without advancing it; None if unknown."""
    kind = type(iterator)
    if kind is enumerate:
        return left_in(_reduced(iterator)[1][0])
    if kind is zip:
        found = [left_in(part) for part in _reduced(iterator)[1]]
        known = [count for count in found if count is not None]
        return None if not found or len(known) < len(found) else min(known)
    return operator.length_hint(iterator, -1) if kind in _OVER_SEQUENCES else None


def _reduced(iterator: Object) -> Object:
    return iterator.__reduce__()


# Iterators whose sequence and position can be read.
_SEQUENCES = ([], (), range(0), range(2**70), np.zeros(1), {}.items(), {}.keys(), {}.values(), reversed([]))
_OVER_SEQUENCES = {type(iter(made)) for made in _SEQUENCES}


def source_of(iterator: Iterator[Object]) -> Source | None:
    """The items left in an iterator, without advancing it; None if their forms differ."""
    kind = type(iterator)
    made = _reduced(iterator)
    if kind is enumerate:
        inner, number = made[1]
        part = source_of(inner)
        return None if part is None else _together([_numbers(range(number, number + part.count)), part])
    if kind is zip:
        found = [source_of(part) for part in made[1]]
        parts = [part for part in found if part is not None]
        is_strict = len(made) > 2 and bool(made[2])
        if len(parts) < len(found) or (is_strict and len({part.count for part in parts}) > 1):
            return None
        return _together(parts)
    items = made[1][0]
    place = made[2] if len(made) > 2 and made[2] is not None else 0
    if made[0] is reversed:
        return _of_list(items[: place + 1][::-1])
    rest = getattr(items, "array", items)[place:]
    if isinstance(rest, range):
        return _numbers(rest)
    return _of_array(rest) if isinstance(rest, (np.ndarray, TrackedArray)) else _of_list(list(rest))


def _numbers(items: range) -> Source:
    stream = np.arange(items.start, items.stop, items.step)
    return Source(len(items), Number((), stream.dtype, True), [stream], [items[-1]], [True])


def _together(parts: list[Source]) -> Source:
    count = min(part.count for part in parts)
    parts = [part.cut(count) for part in parts]
    streams, last, own = ([x for part in parts for x in getattr(part, name)] for name in ("streams", "last", "is_python"))
    return Source(count, tuple_of([part.form for part in parts]), streams, last, own)


def _of_array(items: Operand) -> Source | None:
    if items.dtype.kind not in "fib":
        return None
    form = Number(items.shape[1:], items.dtype)
    return Source(len(items), form, [items], [items[-1]], [False])


def _of_list(items: list[Object]) -> Source | None:
    if any(map(_is_conditional, items)):
        return None
    form = form_of_item(items[0])
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
    return Source(len(items), form, [_stacked(column) for column in columns], list(rows[-1]), [_is_python(column) for column in columns])


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


def _is_python(column: tuple[Object, ...]) -> bool:
    return all(type(value) in (int, float) for value in column)
