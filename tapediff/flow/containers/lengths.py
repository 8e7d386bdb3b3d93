"""Lists of data-dependent length by position: packing, and one run for each length for code that cannot handle conditional entries."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...recording.arrays.tracked import TrackedArray
from ...recording.creation import asarray
from ..anything import Object
from ..calls.truth import truth
from ..state.fork import exclude, first_of, fork_value, select
from ..state.joins import maybe
from ..state.numbers.bounds import below
from ..state.numbers.python_numbers import one_more
from ..state.values import Maybe, both, entries_of, is_data, note_packed, packed_count, parted, parts
from .entries import is_conditional, length, noted, put, ranked_within, settled_contents, without_first

# Maximum number of lengths of one list.
MOST_LENGTHS = 16


def packed(holder: Object) -> list[Object]:
    """Pack entries by position: entry k exists if the list is longer than k."""
    entries = list(parts(holder))
    ready = packed_count([condition for condition, _ in entries])
    if ready == len(entries):
        return [maybe(condition, value) for condition, value in entries]
    first = next(k for k, (condition, _) in enumerate(entries) if condition is not True)
    tail = entries[first:]
    total = length([maybe(condition, value) for condition, value in tail])
    return [value for _, value in entries[:first]] + by_position(total, _values(tail, ready - first))


def by_position(count: Object, values: list[Object]) -> list[Object]:
    """The first `count` values, as conditional entries."""
    conditions = [below(k, count) for k in range(len(values))]
    note_packed(conditions)
    return noted(list(zip(conditions, values)))


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
    if len(entries) - ready > _MOST_SELECTED and (columns := columns_of([value for _, value in entries])) is not None:
        return in_order(columns, np.argsort(absence([condition for condition, _ in entries]), kind="stable"), entries[0][1])
    found = [value for _, value in entries[:ready]]
    before = length([maybe(condition, None) for condition, _ in entries[:ready]])
    for condition, value in entries[ready:]:
        found = [*(select(below(k, before), old, value) for k, old in enumerate(found)), value]
        before = one_more(before, condition)
    return found


def absence(conditions: list[Object]) -> Object:
    """1 for each missing entry, else 0."""
    return np.stack([np.where(condition, 0, 1) if is_data(condition) else np.int64(not condition) for condition in conditions])


# Maximum number of entries packed by selects; more numbers by a gather.
_MOST_SELECTED = 6


def is_real(value: Object) -> bool:
    """True for ints and floats, tracked or not."""
    return type(value) in (int, float, np.float64) or (
        type(value) is TrackedArray and not value.type.shape and value.type.dtype.kind in "fi"
    )


def columns_of(values: list[Object]) -> list[list[Object]] | None:
    """Numbers as one column, equal-length tuples of numbers as several; None for anything else."""
    if all(map(is_real, values)):
        kinds = [[*values]]
    elif all(type(v) is tuple and len(v) == len(values[0]) and all(map(is_real, v)) for v in values):
        kinds = [list(column) for column in zip(*values)]
    else:
        return None
    return kinds if all(map(_is_uniform, kinds)) else None


def _is_uniform(column: list[Object]) -> bool:
    kinds = {v.type.dtype.kind if type(v) is TrackedArray else "i" if type(v) is int else "f" for v in column}
    return len(kinds) == 1


def in_order(columns: list[list[Object]], order: Object, like: Object) -> list[Object]:
    """Permute numbers or tuples of numbers by data."""
    made: list[list[Object]] = []
    for column in columns:
        ordered = np.take(stacked(column), order, mode="clip")
        made.append([ordered[k] for k in range(len(column))])
    return made[0] if type(like) is not tuple else [tuple(row) for row in zip(*made)]


def stacked(column: list[Object]) -> Object:
    """Stack numbers into a tracked array."""
    return np.stack(column) if any(map(is_data, column)) else asarray(np.array(column))


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

    def at(k: int) -> Object:
        if k == len(values):
            return here(k)
        return fork_value(entries[k].condition, lambda: at(k + 1), lambda: here(k))

    result = at(sum(type(entry) is not Maybe for entry in entries))
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

    def at(k: int, done: tuple[Object, ...]) -> Object:
        return run(done) if k == len(holders) else by_length(holders[k], lambda plain: at(k + 1, (*done, plain)))

    return at(0, ())


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
    exclude(truth(length(holder) < before + after), lambda: ValueError(f"not enough values to unpack (expected at least {before + after})"))
    return split(holder, before, after)
