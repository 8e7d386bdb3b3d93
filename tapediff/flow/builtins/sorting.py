"""Data-dependent sorting, by swaps of neighbours; heaps and sorted lists."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Sequence

import numpy as np

from ..anything import Object
from ..calls.callables import call
from ..calls.truth import truth
from ..containers.choices import by_exchanges
from ..containers.entries import is_conditional, length, put as put_entries, settled_contents
from ..containers.lengths import absence, by_length, by_position
from ..containers.positions import insert
from ..operations.dunder import compared
from ..state.joins import maybe
from ..state.tables.columns import Table, is_real, stacked, table_of
from ..state.values import both, either, entries_of, is_data, negated, parts
from .arguments import (
    INDEXED,
    NATIVE,
    gathered,
    in_any_order,
    is_callable_of_users,
    is_collection,
    is_lazy,
    is_of_interest,
)
from .heaps import heap_operation
from .reductions import compared_where, with_keys

# Maximum number of entries sorted by swaps; more numbers by a permutation.
MOST_EXCHANGED = 24


def sorted_(items: Object, /, *, key: Object = None, reverse: Object = False) -> Object:
    if key is None and not is_collection(items):
        return NATIVE
    entries = gathered(items) if key is not None else in_any_order(items)
    if not is_of_interest(entries) and not is_callable_of_users(key):
        return builtins.sorted(entries, key=key, reverse=reverse)
    keyed = with_keys(entries, key)
    if not any(condition is not True or is_of_interest(k) for condition, k, _ in keyed):
        order = builtins.sorted(range(len(keyed)), key=lambda i: keyed[i][1], reverse=bool(reverse))
        return [keyed[i][2] for i in order]
    backwards = truth(reverse)
    if type(backwards) is not bool:
        backwards = bool(backwards)
    if backwards:
        keyed.reverse()
    made = _ordered(keyed)
    return made[::-1] if backwards else made


def _ordered(keyed: list[tuple[Object, Object, Object]]) -> list[Object]:
    """Stable sort by key."""
    columns = _columns([k for _, k, _ in keyed]) if len(keyed) > 4 else None
    if columns is not None and (table := table_of([value for _, _, value in keyed])) is not None:
        return _by_gather(keyed, columns, table)
    if len(keyed) > MOST_EXCHANGED:
        entries = [maybe(condition, (k, value)) for condition, k, value in keyed]
        pairs = settled_contents(entries)
        return [
            pairs[i][1]
            for i in builtins.sorted(
                range(len(pairs)), key=functools.cmp_to_key(lambda i, j: _order(pairs[i][0], pairs[j][0]))
            )
        ]
    # A value that is its own key is selected once.
    is_own = all(k is value for _, k, value in keyed)
    rows = by_exchanges([row[:2] if is_own else row for row in keyed], _is_before)
    return [maybe(row[0], row[-1]) for row in rows if row[0] is not False]


def _columns(keys: Sequence[Object]) -> list[Sequence[Object]] | None:
    """Numbers that order keys, the most significant first; None unless all are numbers, texts, or equal-length sequences of these."""
    if all(map(is_real, keys)):
        return [keys]
    kind = type(keys[0])
    if kind in (str, bytes, bool) and all(type(key) is kind for key in keys):
        ranks = {key: rank for rank, key in enumerate(builtins.sorted(set(keys)))}
        return [[ranks[key] for key in keys]]
    base = next((base for base in (tuple, list) if kind.__lt__ is base.__lt__), None)
    if base is None or any(type(key).__lt__ is not base.__lt__ or is_conditional(key) or len(key) != len(keys[0]) for key in keys):
        return None
    parts = [_columns(column) for column in zip(*keys)]
    return [column for part in parts for column in part or ()] if parts and None not in parts else None


def _by_gather(keyed: list[tuple[Object, Object, Object]], columns: Sequence[Sequence[Object]], table: Table) -> list[Object]:
    """Entries of a table in the order of their keys; missing ones come last."""
    order = np.argsort(stacked(list(columns[-1])), kind="stable")
    for column in reversed(columns[:-1]):
        order = np.take(order, np.argsort(np.take(stacked(list(column)), order, mode="clip"), kind="stable"), mode="clip")
    conditions = [condition for condition, _, _ in keyed]
    if not any(map(is_data, conditions)):
        return table.ordered(order)
    absent = np.take(absence(conditions), order, mode="clip")
    order = np.take(order, np.argsort(absent, kind="stable"), mode="clip")
    return by_position(length([maybe(condition, None) for condition in conditions]), table.ordered(order))


def _order(a: Object, b: Object) -> int:
    return -1 if bool(truth(compared("lt", a, b))) else 1 if bool(truth(compared("lt", b, a))) else 0


def _is_before(row: tuple[Object, ...], other: tuple[Object, ...]) -> Object:
    """The condition that one entry precedes another; missing ones come last."""
    (is_there, key, *_), (other_is_there, other_key, *_) = row, other
    return both(is_there, either(negated(other_is_there), compared_where(both(is_there, other_is_there), "lt", key, other_key)))


def sort_(holder: list[Object], *, key: Object = None, reverse: Object = False) -> Object:
    if not is_of_interest(holder) and not is_callable_of_users(key):
        return NATIVE
    put_entries(holder, sorted_(list(entries_of(holder)), key=key, reverse=reverse))
    return None


# Heaps and sorted lists

# Maximum length searched without guards.
_MOST_SEARCHED = 128


def is_branched(holder: Object, most: int) -> bool:
    """True for a sequence of at most a few lengths, whose positions are known on each side of comparisons."""
    return len(holder) <= most and sum(condition is not True for condition, _ in parts(holder)) <= _FEW_LENGTHS


# Maximum number of conditional entries whose positions are known on sides.
_FEW_LENGTHS = 3


def on_heap(run: Callable[..., Object]) -> Callable[..., Object]:
    """A heapq function for tracked entries, and lists of any length."""

    @functools.wraps(run)
    def program(heap: Object, *values: Object) -> Object:
        if type(heap) is not list or not any(map(is_of_interest, (heap, *values))):
            return NATIVE
        if not is_branched(heap, MOST_EXCHANGED):
            done = heap_operation(run.__name__.rstrip("_"), heap, values)
            if done is not None:
                return done[0]
        return NATIVE if len(heap) > MOST_EXCHANGED else by_length(heap, lambda plain: call(run, plain, *values))

    return program


def on_sorted(run: Callable[..., Object]) -> Callable[..., Object]:
    """A bisect function, likewise."""

    @functools.wraps(run)
    def program(a: Object, x: Object, lo: Object = 0, hi: Object = None, *, key: Object = None) -> Object:
        if not isinstance(a, INDEXED) or not (is_of_interest(x) or is_of_interest(a)):
            return NATIVE
        if type(lo) is not int or lo < 0 or not (hi is None or type(hi) is int):
            return NATIVE
        if is_branched(a, _MOST_SEARCHED):
            return by_length(a, lambda plain: call(run, plain, x, lo, hi, key=key))
        return call(run, a, x, lo, hi, key=key, is_long=True)

    return program


def has_extremes(count: Object, items: Object, **_: Object) -> bool:
    """True for a known count of possibly data-dependent entries."""
    return type(count) is int and (isinstance(items, INDEXED) or is_lazy(items))


def insert_(holder: Object, position: Object, value: Object) -> Object:
    if getattr(holder, "maxlen", None) is not None:
        return NATIVE
    if is_conditional(holder) and not (type(position) is int and position == 0):
        return by_length(holder, lambda _: insert(holder, position, value))
    return insert(holder, position, value) if is_data(position) else NATIVE
