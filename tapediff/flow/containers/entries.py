"""Conditional entries (Maybe): those of a list, tuple or deque of data-dependent length.

A loop runs its block where the entry exists. Positions count existing entries.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterable

import numpy as np

from ..anything import Object
from ..calls.truth import truth
from ..state.fork import decided, exclude, first_of, refuse
from ..state.joins import maybe
from ..state.numbers.bounds import below, equals
from ..state.numbers.python_numbers import one_more
from ..state.places import Contents, note_attribute, note_contents, put as put_place
from ..state.tables.columns import counted
from ..state.values import (
    CHOICES,
    all_of,
    both,
    conditions_of,
    either,
    entries_of,
    has_maybes,
    negated,
    packed_count,
    parts,
    state,
    unset_where,
    without_unbound,
)
from . import keys, sets


def is_conditional(holder: Object) -> bool:
    """True for a list, tuple or deque of data-dependent length."""
    return state.has_maybes and isinstance(holder, (list, tuple, deque)) and has_maybes(holder)


def length(holder: Object) -> Object:
    """len(holder) of a sequence, dict or set."""
    if not state.has_maybes:
        return len(entries_of(holder))
    return counted(conditions_of(list(entries_of(dict.values(holder) if isinstance(holder, dict) else holder))))


def ranked(holder: Object) -> list[tuple[Object, Object, Object]]:
    """Each entry's condition, rank among existing entries, and value."""
    entries = list(parts(holder))
    packed = packed_count([condition for condition, _ in entries])
    found: list[tuple[Object, Object, Object]] = [(condition, place, value) for place, (condition, value) in enumerate(entries[:packed])]
    before = length([maybe(condition, None) for condition, _ in entries[:packed]])
    for condition, value in entries[packed:]:
        found.append((condition, before, value))
        before = one_more(before, condition)
    return found


def first_hit(hits: list[tuple[Object, Object]], error: Callable[[], Exception]) -> Object:
    """The value of the first hit; an error if there is none."""
    if not any(hit is True for hit, _ in hits):
        exclude(all_of(negated(hit) for hit, _ in hits), error)
        if not hits:
            return None
    return first_of(hits)


def from_start(position: Object, count: Object) -> Object:
    """A position counted from the start."""
    t = below(position, 0)
    return position + count if t is True else position if t is False else np.where(t, position + count, position)


def inside(position: Object, count: Object, error: str) -> Object:
    """A position from the start, within bounds; else an error."""
    position = from_start(position, count)
    exclude(below(position, 0), lambda: IndexError(error))
    exclude(negated(below(position, count)), lambda: IndexError(error))
    return position


def item(holder: Object, key: Object) -> Object:
    """holder[key]"""
    return first_hit(_hits(holder, key), lambda: IndexError(f"{type(holder).__name__} index out of range"))


def _hits(holder: Object, key: Object) -> list[tuple[Object, Object]]:
    """The conditions that each entry is at a position."""
    if type(key) is int and key in (0, -1):
        entries = list(parts(holder))
        return entries[::-1] if key else entries
    found, position, _ = _with_places(holder, key)
    hits = [(both(condition, equals(place, position)), value) for condition, place, value in found]
    return [hit for hit in hits if hit[0] is not False]


def _with_places(holder: Object, position: Object) -> tuple[list[tuple[Object, Object, Object]], Object, bool]:
    """The entries with their ranks, the position to compare, and whether both count from the end, as for -1."""
    if type(position) is int and position < 0:
        return ranked(list(entries_of(holder))[::-1])[::-1], -1 - position, True
    return ranked(holder), position if type(position) is int else from_start(position, length(holder)), False


def ranked_within(holder: Object, key: slice) -> list[tuple[Object, Object, Object]]:
    """Each entry's condition, the condition that a slice without a step contains it, and its value."""
    within: list[Object] = [True] * len(entries_of(holder))
    for end, is_start in ((key.start, True), (key.stop, False)):
        if end is not None:
            found, position, is_from_end = _with_places(holder, end)
            for k, (_, place, _) in enumerate(found):
                is_before = below(position, place) if is_from_end else below(place, position)
                within[k] = both(within[k], negated(is_before) if is_start else is_before)
    return [(condition, is_within, value) for (condition, value), is_within in zip(parts(holder), within)]


def noted(found: list[tuple[Object, Object]]) -> list[Object]:
    """Conditional entries with these conditions."""
    return [maybe(condition, value) for condition, value in found if condition is not False]


def put(holder: Object, entries: Object) -> None:
    """Replace the entries of a container."""
    put_place(Contents(holder), entries)


def without_first(
    entries: Iterable[tuple[Object, Object]], is_hit: Callable[[Object], Object] = lambda _: True
) -> tuple[list[Object], Object]:
    """The existing entries without the first hit, and whether there is one."""
    left: list[tuple[Object, Object]] = []
    is_over: Object = False
    for condition, value in entries:
        hit = is_over is True or is_hit(value)
        left.append((both(condition, either(is_over, negated(hit))), value))
        is_over = either(is_over, both(condition, hit))
    return noted(left), is_over


def unpacked(holder: Object, count: int | None) -> Object:
    """The entries for `count` targets."""
    if count is None:
        return settled_contents(holder)
    total = length(holder)
    exclude_too_few(total, count, str(count))
    exclude(truth(total > count), lambda: ValueError(f"too many values to unpack (expected {count})"))
    return [item(holder, k) for k in range(count)]


def exclude_too_few(total: Object, count: int, expected: str) -> None:
    """Raise Python's error for fewer than `count` values."""
    for n in range(count):
        exclude(truth(total == n), lambda n=n: ValueError(f"not enough values to unpack (expected {expected}, got {n})"))


def settled_contents(holder: Object) -> Object:
    """A container with its entries at this point, by guards."""
    keys.settle(holder)
    sets.settle(holder)
    if not is_conditional(holder):
        return holder
    reason = refuse(
        "code needs the length of a list, which depends on data", "use loops, len, sum, min, max or sorted, which need no guard"
    )
    made = [value for condition, value in parts(holder) if condition is True or decided(condition, reason)]
    if isinstance(holder, tuple):
        return tuple(made)
    put(holder, made)
    return holder


def settled_deeply(value: Object, seen: dict[int, tuple[Object, Object]] | None = None) -> Object:
    """A value for code that cannot handle conditional entries."""
    if not state.has_choices:
        return value
    seen = {} if seen is None else seen
    if id(value) in seen:
        return seen[id(value)][1]
    seen[id(value)] = value, value
    made = _settled_once(value, seen)
    seen[id(value)] = value, made
    return made


def _settled_once(value: Object, seen: dict[int, tuple[Object, Object]]) -> Object:
    if type(value) in CHOICES:
        return settled_deeply(CHOICES[type(value)].settled(value), seen)
    value = settled_contents(value)
    if isinstance(value, tuple):
        made = [settled_deeply(v, seen) for v in value]
        if all(a is b for a, b in zip(made, value)):
            return value
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if type(value) is functools.partial:
        given = value.func, value.args, value.keywords
        func, args, named = (settled_deeply(part, seen) for part in given)
        return value if (func, args) == given[:2] else functools.partial(func, *args, **named)
    if isinstance(value, BaseException) and (args := settled_deeply(value.args, seen)) is not value.args:
        value.args = args
    holder: Object = value if isinstance(value, (list, deque, dict)) else getattr(value, "__dict__", None)
    if value is None or (holder is not value and (type(holder) is not dict or isinstance(value, type))):
        return value
    if holder is not value:
        settle_attributes(value)
    for key in list(holder) if isinstance(holder, dict) else ():
        settled_deeply(key, seen)
    entries: Object = holder.items() if isinstance(holder, dict) else enumerate(holder)
    for key, entry in list(entries):
        new = settled_deeply(entry, seen)
        if new is not entry:
            if holder is value:
                note_contents(value)
            else:
                note_attribute(value, key)
            holder[key] = new
    return value


def settle_attributes(value: Object) -> None:
    """Decide by guards which attributes an object has."""
    for name, found in list(value.__dict__.items()):
        unset = unset_where(found)
        if unset is not None:
            reason = refuse("code needs to know which attributes an object has, by data", "use getattr, or set all before the branch")
            note_attribute(value, name)
            if decided(unset, reason):
                del value.__dict__[name]
            else:
                value.__dict__[name] = without_unbound(found)
