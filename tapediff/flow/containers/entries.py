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
from ..state.numbers.python_numbers import one_if
from ..state.places import note_attribute, note_contents
from ..state.values import CHOICES, Maybe, both, either, is_data, negated, parts, state
from . import keys, sets

_HOLDERS = (list, tuple, deque)


def is_conditional(holder: Object) -> bool:
    """True for a list, tuple or deque whose length is data."""
    return state.has_maybes and isinstance(holder, _HOLDERS) and Maybe in map(type, holder)


def length(holder: Object) -> Object:
    """len(holder)"""
    total: Object = 0
    for condition, _ in parts(holder):
        total = total + one_if(condition)
    return total


def ranked(holder: Object) -> list[tuple[Object, Object, Object]]:
    """When each entry is there, how many are there before it, and its value."""
    found: list[tuple[Object, Object, Object]] = []
    before: Object = 0
    for condition, value in parts(holder):
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


def item(holder: Object, key: Object) -> Object:
    """holder[key]"""
    name = type(holder).__name__
    if isinstance(key, slice):
        if (key.start, key.stop, key.step) in ((None, None, None), (0, None, None), (None, None, 1)):
            return type(holder)(holder)
        if (key.start, key.stop, key.step) == (None, None, -1):
            return type(holder)(list(holder)[::-1])
        if key.step in (None, 1) and all(type(end) in (int, type(None)) for end in (key.start, key.stop)):
            return _slice(holder, key)
        return settled_contents(holder)[key]
    return _found(_hits(holder, key), lambda: IndexError(f"{name} index out of range"))


def _slice(holder: Object, key: slice) -> Object:
    """The entries between two positions; each as it was, there in addition only between these."""
    total = length(holder)
    start, stop = ((end if end is None or end >= 0 else end + total) for end in (key.start, key.stop))
    made: list[Object] = []
    for condition, before, value in ranked(holder):
        for inside in (
            True if start is None else truth(before >= start),
            True if stop is None else truth(before < stop),
        ):
            condition = both(condition, inside)
        if condition is not False:
            made.append(maybe(condition, value))
    return type(holder)(made)


def _hits(holder: Object, key: Object) -> list[tuple[Object, Object]]:
    """When each entry is the one at a position."""
    if type(key) is int and key in (0, -1):
        entries = list(parts(holder))
        return entries[::-1] if key else entries
    found = ranked(holder)
    if type(key) is int and key < 0:
        key = key + length(holder)
    elif is_data(key):
        key = np.where(key < 0, key + length(holder), key)
    return [
        (hit, value)
        for condition, before, value in found
        if (hit := both(condition, truth(before == key))) is not False
    ]


def set_item(holder: Object, key: Object, value: Object) -> None:
    """holder[key] = value"""
    if isinstance(key, slice):
        settled_contents(holder)[key] = value
        return
    if type(key) is int and key < 0:
        key = key + length(holder)
    elif is_data(key):
        key = np.where(key < 0, key + length(holder), key)
    missing: Object = True
    made: list[Object] = []
    for condition, before, old in ranked(holder):
        hit = both(condition, truth(before == key))
        missing = both(missing, negated(hit))
        made.append(maybe(condition, value if hit is True else old if hit is False else select(hit, value, old)))
    exclude(missing, lambda: IndexError("list assignment index out of range"))
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
    found = [
        (hit, value)
        for condition, before, value in ranked(holder)
        if (hit := both(condition, truth(before == k))) is not False
    ]
    result = found[-1][1]
    for hit, value in reversed(found[:-1]):
        result = select(hit, value, result)
    return result


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
