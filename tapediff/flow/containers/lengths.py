"""Lists of data-dependent length by position: packing, and one run for each length for code that cannot handle conditional entries."""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Callable

import numpy as np

from ...base.current_recording import current_recorder
from ..anything import Object
from ..calls.truth import truth
from ..state.fork import exclude, first_of, fork_value, select
from ..state.joins import LEAST_GATHERED, maybe
from ..state.numbers.bounds import below, equals
from ..state.numbers.python_numbers import one_more
from ..state.tables.columns import appended, by_position, table_of
from ..state.values import Maybe, both, entries_of, is_data, note_packed, packed_count, parted, parts, state
from .entries import (
    exclude_too_few,
    first_hit,
    inside,
    is_conditional,
    item,
    length,
    noted,
    put,
    ranked,
    ranked_within,
    settled_contents,
    without_first,
)

# Maximum number of lengths of one list.
MOST_LENGTHS = 16


def packed(holder: Object) -> list[Object]:
    """Pack entries by position: entry k exists if the list is longer than k."""
    return _packed(list(parts(holder))) if (entries := _long(holder)) is None else _packed_once(entries)


def _packed(entries: list[tuple[Object, Object]]) -> list[Object]:
    ready = packed_count([condition for condition, _ in entries])
    if ready == len(entries):
        return [maybe(condition, value) for condition, value in entries]
    first = next(k for k, (condition, _) in enumerate(entries) if condition is not True)
    tail = entries[first:]
    total = length([maybe(condition, value) for condition, value in tail])
    return [value for _, value in entries[:first]] + by_position(total, _values(tail, ready - first))


def _long(holder: Object) -> list[tuple[Object, Object]] | None:
    """The conditions, as on any path, and values of a sequence of numbers that takes a gather to pack; None for others."""
    entries = list(map(parted, entries_of(holder)))
    is_long = len(entries) - packed_count([condition for condition, _ in entries]) > _MOST_SELECTED
    return entries if is_long and table_of([value for _, value in entries]) is not None else None


def _packed_once(entries: list[tuple[Object, Object]]) -> list[Object]:
    """Pack the same entries once, for all paths and the loops among them."""
    key = tuple(map(id, itertools.chain.from_iterable(entries)))
    _, found = state.packings.get(key, (None, []))
    if not found or not are_of_here(found):
        before, state.path, state.facts = (state.path, state.facts), [], dict(state.guarded)
        try:
            found = _packed(entries)
        finally:
            state.path, state.facts = before
        state.packings[key] = entries, found
    return list(found)


def are_of_here(entries: list[Object]) -> bool:
    """True for entries of the current recording, and of those around it."""
    of = {id(part._recorder) for entry in entries for part in parted(entry) if is_data(part)}
    recorder = current_recorder()
    while recorder is not None:
        of.discard(id(recorder))
        recorder = recorder.outer
    return not of


def entry(holder: Object, key: Object) -> Object:
    """holder[key] of a sequence of data-dependent length."""
    is_end = type(key) is int and key in (0, -1)
    if not _is_vector(holder) if is_end else not (is_data(key) or _long(holder)):
        return item(holder, key)
    found = packed(holder)
    values = [value for _, value in map(parted, found)]
    table = table_of(values) if len(values) >= LEAST_GATHERED or not is_data(key) else None
    if table is None:
        return item(holder, key)
    position = inside(key, length(found), f"{type(holder).__name__} index out of range")
    return table.at(position) if is_data(position) else values[position]


def set_entry(holder: Object, key: Object, value: Object) -> None:
    """holder[key] = value for a list or deque, with data-dependent entries or position."""
    position = inside(key, length(holder), f"{'deque' if isinstance(holder, deque) else 'list assignment'} index out of range")
    if is_data(position) and len(entries_of(holder)) >= LEAST_GATHERED:
        conditions, values = map(list, zip(*map(parted, packed(holder))))
        if (table := table_of([*values, value])) is not None:
            put(holder, list(map(maybe, conditions, table.with_last_at(position))))
            return
    found = ranked(holder)
    put(holder, [maybe(condition, select(both(condition, equals(place, position)), value, old)) for condition, place, old in found])


def _is_vector(holder: Object) -> bool:
    """True for a long packed sequence of numbers."""
    conditions, values = zip(*map(parted, entries_of(holder)))
    return len(values) >= LEAST_GATHERED and packed_count(list(conditions)) == len(values) and table_of(values) is not None


def pop(holder: Object, position: int = -1) -> Object:
    """holder.pop(position) for the first or the last entry."""
    step = 1 if position == 0 else -1
    found = list(parts(holder))[::step]
    error = f"pop from {'an empty deque' if isinstance(holder, deque) else 'empty list'}"
    if not _is_vector(holder):
        value = first_hit(found, lambda: IndexError(error))
        put(holder, without_first(found)[0][::step])
        return value
    if not any(condition is True for condition, _ in found):
        exclude(truth(length(holder) == 0), lambda: IndexError(error))
    value, values = entry(holder, position), [value for _, value in map(parted, entries_of(holder))]
    put(holder, by_position(length(holder) - 1, values[1:] if position == 0 else values[:-1]))
    return value


def cut(holder: Object, key: slice) -> Object:
    """Slice a sequence without a step, with data-dependent ends or entries."""
    entries = list(entries_of(holder))
    if key.stop is not None and not (type(key.stop) is int and key.stop < 0) and is_conditional(holder):
        # Known ranks exclude more entries.
        entries = packed(holder)
    found = ranked_within(entries, key)
    made = noted([(both(condition, within), value) for condition, within, value in found])
    if not is_data(key.start) and packed_count([condition for condition, _, _ in found]) == len(found):
        note_packed([parted(entry)[0] for entry in made])
    return made if isinstance(holder, list) else tuple(made)


def _values(entries: list[tuple[Object, Object]], ready: int) -> list[Object]:
    """The values by position, arbitrary past the end; the first `ready` entries are packed already."""
    table = table_of([value for _, value in entries]) if len(entries) - ready > _MOST_SELECTED else None
    if table is not None:
        return table.ordered(np.argsort(absence([condition for condition, _ in entries]), kind="stable"))
    found = [value for _, value in entries[:ready]]
    before = length([maybe(condition, None) for condition, _ in entries[:ready]])
    for condition, value in entries[ready:]:
        made = appended(found, value, before)
        found = made or [*(select(below(k, before), old, value) for k, old in enumerate(found)), value]
        before = one_more(before, condition)
    return found


def absence(conditions: list[Object]) -> Object:
    """1 for each missing entry, else 0."""
    return np.stack([np.where(condition, 0, 1) if is_data(condition) else np.int64(not condition) for condition in conditions])


# Maximum number of entries packed by selects; more numbers by a gather.
_MOST_SELECTED = 6


def by_length(holder: Object, run: Callable[[Object], Object]) -> Object:
    """Run an operation on a list, for each possible length if that is data."""
    if not is_conditional(holder):
        return run(holder)
    if sum(condition is not True for condition, _ in parts(holder)) > MOST_LENGTHS:
        return run(settled_contents(holder))
    entries = packed(holder)
    values = [entry.value if type(entry) is Maybe else entry for entry in entries]
    is_as_before = True

    def here(k: int) -> Object:
        nonlocal is_as_before
        if isinstance(holder, tuple):
            return run(tuple(values[:k]))
        put(holder, values[:k])
        result = run(holder)
        is_as_before = is_as_before and len(holder) == k and all(a is b for a, b in zip(holder, values))
        return result

    rest: Callable[[], Object] = lambda: here(len(values))  # noqa: E731 -- its name is its use
    for k in range(len(values) - 1, sum(type(entry) is not Maybe for entry in entries) - 1, -1):
        rest = functools.partial(fork_value, entries[k].condition, rest, lambda k=k: here(k))
    result = rest()
    if is_as_before and is_conditional(holder) and not isinstance(holder, tuple):
        put(holder, entries)
    return result


def by_lengths(holders: tuple[Object, ...], run: Callable[[tuple[Object, ...]], Object]) -> Object:
    """Likewise for several lists at once."""
    ways = 1
    for holder in holders:
        if is_conditional(holder):
            ways *= 1 + sum(condition is not True for condition, _ in parts(holder))
    if ways > 2 * MOST_LENGTHS:
        holders = tuple(map(settled_contents, holders))
    if not holders:
        return run(())
    return by_length(holders[0], lambda first: by_lengths(holders[1:], lambda others: run((first, *others))))


def split(holder: Object, before: int, after: int) -> list[Object]:
    """The first entries, all between, and the last ones; arbitrary where missing."""
    rest = packed(holder)
    first = [parted(entry)[1] for entry in rest[:before]]
    rest, last = rest[before:], []
    for _ in range(min(after, len(rest))):
        entries = [parted(entry) for entry in reversed(rest)]
        last.append(first_of(entries))
        rest = without_first(entries)[0][::-1]
    return [*first, *rest, *last[::-1]]


def unpacked_around(holder: Object, before: int, after: int) -> list[Object]:
    """The entries for targets around a starred one."""
    exclude_too_few(length(holder), before + after, f"at least {before + after}")
    return split(holder, before, after)
