"""Conditional entries: a list, tuple or deque whose length is data has entries that are there by a condition (Maybe).

A loop runs its block for such an entry where it is there. Positions count the entries that are there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from ..anything import Object
from ..calls.truth import truth
from ..state.fork import decided, exclude, first_of, refuse, select
from ..state.joins import maybe
from ..state.numbers.bounds import below, equals
from ..state.numbers.python_numbers import one_if
from ..state.places import note_attribute, note_contents
from ..state.values import (
    CHOICES,
    Maybe,
    both,
    either,
    negated,
    packed_count,
    parts,
    state,
)
from . import keys, sets

_HOLDERS = (list, tuple, deque)


def is_conditional(holder: Object) -> bool:
    """True for a list, tuple or deque whose length is data."""
    return state.has_maybes and isinstance(holder, _HOLDERS) and Maybe in map(type, holder)


def length(holder: Object) -> Object:
    """len(holder)"""
    if not is_conditional(holder):
        return len(holder)
    total: Object = 0
    for condition, _ in parts(holder):
        total = total + one_if(condition)
    return total


def ranked(holder: Object) -> list[tuple[Object, Object, Object]]:
    """When each entry is there, how many are there before it if it is, and its value."""
    entries = list(parts(holder))
    packed = packed_count([condition for condition, _ in entries])
    found: list[tuple[Object, Object, Object]] = [(condition, place, value) for place, (condition, value) in enumerate(entries[:packed])]
    before = length([maybe(condition, None) for condition, _ in entries[:packed]])
    for condition, value in entries[packed:]:
        found.append((condition, before, value))
        before = before + one_if(condition)
    return found


def _found(hits: list[tuple[Object, Object]], error: Callable[[], Exception]) -> Object:
    """The value of the first hit; an error where there is none."""
    if not any(hit is True for hit, _ in hits):
        missing: Object = True
        for hit, _ in hits:
            missing = both(missing, negated(hit))
        exclude(missing, error)
        if not hits:
            return None
    return first_of(hits)


def smaller(a: Object, b: Object) -> Object:
    """The smaller one of two ints."""
    t = below(b, a)
    return b if t is True else a if t is False else np.where(t, b, a)


def greater(a: Object, b: Object) -> Object:
    """The greater one of two ints."""
    t = below(a, b)
    return b if t is True else a if t is False else np.where(t, b, a)


def from_start(position: Object, count: Object) -> Object:
    """A position counted from the start, if it was one from the end."""
    t = below(position, 0)
    return position + count if t is True else position if t is False else np.where(t, position + count, position)


def inside(position: Object, count: Object, error: str) -> Object:
    """A position from the start; an error where it is outside."""
    position = from_start(position, count)
    exclude(below(position, 0), lambda: IndexError(error))
    exclude(negated(below(position, count)), lambda: IndexError(error))
    return position


def item(holder: Object, key: Object) -> Object:
    """holder[key]"""
    return _found(_hits(holder, key), lambda: IndexError(f"{type(holder).__name__} index out of range"))


def _hits(holder: Object, key: Object) -> list[tuple[Object, Object]]:
    """When each entry is the one at a position."""
    if type(key) is int and key in (0, -1):
        entries = list(parts(holder))
        return entries[::-1] if key else entries
    found, position, _ = _with_places(holder, key)
    hits = [(both(condition, equals(place, position)), value) for condition, place, value in found]
    return [hit for hit in hits if hit[0] is not False]


def _with_places(holder: Object, position: Object) -> tuple[list[tuple[Object, Object, Object]], Object, bool]:
    """The entries with their places, a position to compare these with, and whether both are counted from the end, as for -1."""
    if type(position) is int and position < 0:
        return ranked(list(holder)[::-1])[::-1], -1 - position, True
    return ranked(holder), position if type(position) is int else from_start(position, length(holder)), False


def ranked_within(holder: Object, key: slice) -> list[tuple[Object, Object, Object]]:
    """When each entry is there, when it is in a slice without a step, and itself."""
    within: list[Object] = [True] * len(holder)
    for end, is_start in ((key.start, True), (key.stop, False)):
        if end is not None:
            found, position, is_from_end = _with_places(holder, end)
            for k, (_, place, _) in enumerate(found):
                is_before = below(position, place) if is_from_end else below(place, position)
                within[k] = both(within[k], negated(is_before) if is_start else is_before)
    return [(condition, is_within, value) for (condition, value), is_within in zip(parts(holder), within)]


def noted(found: list[tuple[Object, Object]]) -> list[Object]:
    """The entries that are there by these conditions."""
    entries = [maybe(condition, value) for condition, value in found if condition is not False]
    if Maybe in map(type, entries):
        state.has_choices = state.has_maybes = True
    return entries


def set_item(holder: Object, key: Object, value: Object) -> None:
    """holder[key] = value for a list or deque, where data decide which entries there are, or which one is written."""
    position = inside(key, length(holder), f"{'deque' if isinstance(holder, deque) else 'list assignment'} index out of range")
    made: list[Object] = []
    for condition, place, old in ranked(holder):
        hit = both(condition, equals(place, position))
        made.append(maybe(condition, value if hit is True else old if hit is False else select(hit, value, old)))
    put(holder, made)


def put(holder: Object, entries: list[Object]) -> None:
    """Replace the entries of a list or deque."""
    note_contents(holder)
    holder.clear()
    holder.extend(entries)


def pop(holder: Object, position: int = -1) -> Object:
    """holder.pop(position) for the first and the last one."""
    entries = list(parts(holder))
    order = range(len(entries)) if position == 0 else range(len(entries) - 1, -1, -1)
    left: list[Object] = [None] * len(entries)
    is_over: Object = False  # the one that is popped was met
    for k in order:
        condition, value = entries[k]
        left[k] = both(condition, is_over), value
        is_over = either(is_over, condition)
    value = _found(
        [entries[k] for k in order],
        lambda: IndexError(f"pop from {'an empty deque' if isinstance(holder, deque) else 'empty list'}"),
    )
    put(holder, [maybe(condition, value) for condition, value in left if condition is not False])
    return value


def unpacked(holder: Object, count: int | None) -> Object:
    """The entries for so many targets."""
    if count is None:
        return settled_contents(holder)
    total = length(holder)
    few, many = truth(total < count), truth(total > count)
    exclude(few, lambda: ValueError(f"not enough values to unpack (expected {count})"))
    exclude(many, lambda: ValueError(f"too many values to unpack (expected {count})"))
    return [item(holder, k) for k in range(count)]


def nth(holder: Object, k: int) -> Object:
    """The entry at a position, if there is one; else any other."""
    return first_of(_hits(holder, k))


def settled_contents(holder: Object) -> Object:
    """A list, tuple or deque with the entries that are there now, by guards."""
    if not is_conditional(holder):
        return holder
    reason = refuse(
        "the length of a list depends on data, where code has to know it", "use loops, len, sum, min, max or sorted, which need no guard"
    )
    made = [value for condition, value in parts(holder) if condition is True or decided(condition, reason)]
    if isinstance(holder, tuple):
        return tuple(made)
    put(holder, made)
    return holder


def settled_deeply(value: Object, seen: set[int] | None = None) -> Object:
    """A value for code that does not know conditional entries."""
    if not state.has_choices:
        return value
    if type(value) in CHOICES:
        return settled_deeply(CHOICES[type(value)].settled(value), seen)
    seen = set() if seen is None else seen
    if id(value) in seen:
        return value
    if isinstance(value, _HOLDERS):
        seen.add(id(value))
        value = settled_contents(value)
        if type(value) is tuple:
            made = [settled_deeply(v, seen) for v in value]
            return value if all(a is b for a, b in zip(made, value)) else tuple(made)
        for k, entry in enumerate(value):
            new = settled_deeply(entry, seen)
            if new is not entry:
                note_contents(value)
                value[k] = new
    elif isinstance(value, set):
        sets.settle(value)
    elif isinstance(value, dict):
        seen.add(id(value))
        keys.settle(value)
        for key, entry in list(value.items()):
            new = settled_deeply(entry, seen)
            if new is not entry:
                note_contents(value)
                value[key] = new
    elif type(getattr(value, "__dict__", None)) is dict and not isinstance(value, type):
        seen.add(id(value))
        for name, entry in list(vars(value).items()):
            new = settled_deeply(entry, seen)
            if new is not entry:
                note_attribute(value, name)
                vars(value)[name] = new
    return value
