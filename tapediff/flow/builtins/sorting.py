"""Sorting: by exchanges of neighbours where data decide the order."""

from __future__ import annotations

import builtins
import functools

import numpy as np

from ...recording.arrays.tracked import TrackedArray
from ...recording.creation import asarray
from ..anything import Object
from ..calls.truth import truth
from ..containers.entries import put as put_entries
from ..containers.entries import settled_contents
from ..operations.dunder import compared
from ..state.fork import select
from ..state.joins import join_conditions, maybe
from ..state.values import both, either, is_data, negated
from .arguments import (
    NATIVE,
    gathered,
    in_any_order,
    is_callable_of_users,
    is_collection,
    is_of_interest,
)
from .reductions import with_keys

# Entries that are sorted by exchanges; more by positions, where all are numbers.
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
    """The entries in order of their keys; stable."""
    if len(keyed) > 4 and all(condition is True for condition, _, _ in keyed) and all(_is_real(k) for _, k, _ in keyed):
        columns = _columns([value for _, _, value in keyed])
        if columns is not None:
            return _gathered_in_order([k for _, k, _ in keyed], columns, keyed)
    if len(keyed) > MOST_EXCHANGED:
        entries = [maybe(condition, (k, value)) for condition, k, value in keyed]
        pairs = settled_contents(entries)
        return [
            pairs[i][1]
            for i in builtins.sorted(
                range(len(pairs)), key=functools.cmp_to_key(lambda i, j: _order(pairs[i][0], pairs[j][0]))
            )
        ]
    entries = list(keyed)
    for end in range(len(entries) - 1, 0, -1):
        for k in range(end):
            entries[k], entries[k + 1] = _exchanged(entries[k], entries[k + 1])
    return [maybe(condition, value) for condition, _, value in entries if condition is not False]


def _order(a: Object, b: Object) -> int:
    return -1 if bool(truth(compared("lt", a, b))) else 1 if bool(truth(compared("lt", b, a))) else 0


def _exchanged(
    first: tuple[Object, Object, Object], second: tuple[Object, Object, Object]
) -> tuple[tuple[Object, Object, Object], tuple[Object, Object, Object]]:
    """Two neighbours in order; entries that are not there come last."""
    (is_there, a, _), (other_is_there, b, _) = first, second
    swap = both(other_is_there, either(negated(is_there), truth(compared("lt", b, a))))
    if type(swap) is bool:
        return (second, first) if swap else (first, second)
    return _picked(swap, second, first), _picked(swap, first, second)


def _picked(test: Object, yes: tuple[Object, Object, Object], no: tuple[Object, Object, Object]) -> tuple[Object, Object, Object]:
    key = select(test, yes[1], no[1])
    value = key if yes[1] is yes[2] and no[1] is no[2] else select(test, yes[2], no[2])
    return join_conditions(test, yes[0], no[0]), key, value


def _is_real(value: Object) -> bool:
    return type(value) in (int, float, np.float64) or (
        type(value) is TrackedArray and not value.type.shape and value.type.dtype.kind in "fi"
    )


def _columns(values: list[Object]) -> list[list[Object]] | None:
    """Numbers as one column, tuples of numbers as one for each place; None for anything else."""
    if all(map(_is_real, values)):
        kinds = [[*values]]
    elif all(type(v) is tuple and len(v) == len(values[0]) and all(map(_is_real, v)) for v in values):
        kinds = [list(column) for column in zip(*values)]
    else:
        return None
    return kinds if all(_is_uniform(column) for column in kinds) else None


def _is_uniform(column: list[Object]) -> bool:
    kinds = {v.type.dtype.kind if type(v) is TrackedArray else "i" if type(v) is int else "f" for v in column}
    return len(kinds) == 1


def _gathered_in_order(keys: list[Object], columns: list[list[Object]], keyed: list[tuple[Object, Object, Object]]) -> list[Object]:
    order = np.argsort(_stacked(keys), kind="stable")
    made: list[list[Object]] = []
    for column in columns:
        ordered = _stacked(column)[order]
        made.append([ordered[k] for k in range(len(column))])
    return made[0] if type(keyed[0][2]) is not tuple else [tuple(row) for row in zip(*made)]


def _stacked(column: list[Object]) -> Object:
    """A tracked array of numbers."""
    return np.stack(column) if any(map(is_data, column)) else asarray(np.array(column))


def sort_(holder: list[Object], *, key: Object = None, reverse: Object = False) -> Object:
    if not is_of_interest(holder) and not is_callable_of_users(key):
        return NATIVE
    put_entries(holder, sorted_(holder, key=key, reverse=reverse))
    return None
