"""Data-dependent positions: reads, writes and deletions of entries and slices of sequences.

Few possible ints, or different entries, give a choice; else a gather. Slices of lists and tuples have conditional entries; slices of
arrays are compressed arrays, slices of text choices.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np

from ...base.current_recording import current_recorder
from ...ir.instruction import INT64, Computes
from ...recording.arrays.compressed import DTYPES, is_mask
from ...recording.arrays.tracked import TrackedArray
from .. import in_python
from ..anything import Object
from ..calls.callables import call
from ..state.fork import by_guards, decide, exclude, select
from ..state.joins import LEAST_GATHERED, one_of
from ..state.numbers.bounds import (
    as_choice,
    below,
    bounds_of,
    bounds_on_all_paths,
    ends,
    equals,
    greater,
    possible_ints,
    smaller,
)
from ..state.numbers.python_numbers import is_int, note_python
from ..state.places import note_contents, plain_root, shown_by_data
from ..state.tables.columns import table_of
from ..state.values import CHOICES, Unjoinable, both, entries_of, is_data, lifted, negated, state
from .compressed import Compressed
from .entries import (
    from_start,
    inside,
    is_conditional,
    length,
    noted,
    put,
    ranked,
    ranked_within,
    settled_contents,
)
from .lengths import cut, entry, packed

_NAMES = {str: "string", range: "range object", np.ndarray: "array"}
_CUT = (list, tuple)


def is_position(key: Object) -> bool:
    """True for a data-dependent int or slice, and tuples with one."""
    if type(key) is TrackedArray:
        return not key.type.shape and (key.type.dtype.kind == "i" or (key.type.dtype.kind == "f" and is_int(key) not in (None, False)))
    if type(key) is tuple:
        return any(map(is_position, key)) or has_choice(key)
    return type(key) is slice and any(type(end) is TrackedArray for end in (key.start, key.stop, key.step))


def has_choice(key: Object) -> bool:
    """True for a tuple of positions with a choice among them."""
    return type(key) is tuple and any(type(part) in CHOICES for part in key)


def has_slice(key: Object) -> bool:
    """True for a slice with data-dependent ends, and tuples with one."""
    return any(type(part) is slice and is_position(part) for part in (key if type(key) is tuple else (key,)))


def are_positions(holder: Object, key: Object) -> bool:
    """True for data-dependent arrays of ints or bools that index a plain array."""
    if not isinstance(holder, np.ndarray) or type(holder) is TrackedArray:
        return False
    parts = key if type(key) is tuple else (key,)
    if any(type(part) is TrackedArray and part.type.dtype.kind == "i" for part in parts):
        return True
    return holder.dtype in DTYPES and any(is_mask(part) or issubclass(type(part), Computes) for part in parts)


def inside_array(entry: Object, extent: int, error: str, count: Object = None) -> Object:
    """Positions in an array, of which the first `count` entries exist, counted from the start; an error outside."""
    if not is_data(entry) or not entry.type.shape:
        position = inside(entry, extent if count is None else count, error)
        if not is_data(position):
            return position
        low, high = ends(bounds_on_all_paths(position))
        is_inside = low >= 0 and high < extent
    else:
        exclude(negated(np.all((entry >= -extent) & (entry < extent))), lambda: IndexError(error))
        position, is_inside = np.where(entry < 0, entry + extent, entry), False
    position = position if position.type.dtype == INT64 else position.astype(INT64)
    # Sides are also computed where they are not taken.
    return np.clip(position, 0, extent - 1) if (state.path or state.is_in_loop) and not is_inside else position


def _name(holder: Object) -> str:
    return _NAMES.get(type(holder), type(holder).__name__)


def entry_at(holder: Object, key: Object) -> Object:
    """holder[key] for a data-dependent key, or of a list with data-dependent entries."""
    if type(key) is slice:
        return _part_of(holder, key)
    if is_conditional(holder):
        return entry(holder, key)
    if type(key) is tuple:
        return _at_positions(holder, key)
    if issubclass(type(key), Computes) or key.type.shape:
        return _part(holder, key)
    if key.type.dtype.kind == "f":
        # An int joined with a float.
        if is_int(key) is not True:
            raise Unjoinable("whether a position is an int or a float depends on data", "make it an int everywhere")
        key = note_python(key.astype(np.int64))
    if isinstance(holder, np.ndarray) and holder.dtype == object and holder.ndim == 1:
        holder = list(holder)
    if isinstance(holder, (list, tuple, deque, str, bytes, range)):
        n = len(entries_of(holder))
        position = inside(key, n, f"{_name(holder)} index out of range")
        if type(holder) is range and n:
            return holder.start + position * holder.step
        return entry_of(holder, position)
    return _part(holder, key)


def _at_positions(holder: Object, key: tuple[Object, ...]) -> Object:
    """An entry or part of an array."""
    places = [place for place, part in enumerate(key) if type(part) is slice and is_position(part)]
    is_plain = Ellipsis not in [part for part in key if part is Ellipsis] and all(key[k].step in (None, 1) for k in places)
    if not places or not is_plain or holder.dtype not in DTYPES:
        return _part(holder, key) if is_position(key) or are_positions(holder, key) else holder[key]
    return sliced(holder)[key]


def sliced(array: Object) -> Object:
    """A view of an array whose slices may have data-dependent ends."""
    return Compressed(_part(array, ...), {})


def _not_written(part: TrackedArray, array: TrackedArray, plain: np.ndarray) -> TrackedArray:
    """A part that shares memory with a plain array: writes to either are refused."""
    for root in (plain_root(plain), array):
        state.shown[id(root)] = root

    def write(*_: Object) -> Object:
        raise shown_by_data()

    view = part._view
    assert view is not None, "of a part that shares memory"
    part._view = view._replace(write=write)
    return part


def _part(holder: Object, key: Object) -> Object:
    """An entry of an array, or a view that shares writes with it."""
    if type(holder) is not np.ndarray:
        return holder[key]
    array = current_recorder().tracked_constant(holder)
    part = array[key]
    return part if type(part) is not TrackedArray or part._view is None else _not_written(part, array, holder)


def entry_of(holder: Object, position: Object) -> Object:
    """The entry at a position from the start."""
    if not is_data(position):
        return holder[position]
    entries = list(entries_of(holder))
    if len(entries) >= LEAST_GATHERED and (table := table_of(entries)) is not None:
        return table.at(position)
    left = possible_ints(position) or range(len(entries))
    hits = [(equals(position, k), entries[k]) for k in left if 0 <= k < len(entries)]
    try:
        return one_of(hits)
    except Unjoinable as why:
        return holder[by_guards(current_recorder(), lambda: int(position), decide(*why.reason[:2]))]


def _part_of(holder: Object, key: slice) -> Object:
    """holder[key]"""
    if is_conditional(holder):
        if (key.start, key.stop, key.step) == (None, None, -1):
            return holder[::-1]
        if key.step not in (None, 1):
            return entry_at(settled_contents(holder), key)
    elif not isinstance(holder, _CUT) or key.step not in (None, 1):
        return _sliced(holder, key)
    return cut(holder, key)


def _sliced(holder: Object, key: slice) -> Object:
    """A part of an array, or a choice of the possible slices."""
    if not hasattr(holder, "__len__"):
        return holder[key]
    if isinstance(holder, np.ndarray) and key.step in (None, 1) and holder.ndim and holder.dtype in DTYPES:
        return sliced(holder)[key]
    n = len(holder)
    is_forward = key.step in (None, 1)

    def option(end: Object) -> Object:
        if is_data(end) and is_forward:
            end = smaller(greater(from_start(end, n), 0), n)
        return as_choice(end)

    # The ends may depend on each other: the second is evaluated where the first is known.
    return lifted(
        lambda start: lifted(lambda stop, step: holder[slice(start, stop, step)], option(key.stop), as_choice(key.step)), option(key.start)
    )


def repeated(holder: Object, count: Object) -> Object:
    """holder * count for a data-dependent int."""
    high = ends(bounds_of(count))[1]
    is_cut = isinstance(holder, _CUT)
    if not is_cut or len(holder) * high > _MOST_REPEATED:
        choice = as_choice(count)
        if choice is count and is_cut:
            made = call(in_python.repeated_, holder, count)
            return made if isinstance(holder, list) else tuple(made)
        if choice is count:
            reason = decide("a text is repeated a data-dependent number of times", "use a loop")
            choice = by_guards(current_recorder(), lambda: int(count), reason)
        return lifted(lambda n: holder * n, choice)
    made = noted([(both(condition, below(k, count)), value) for k in range(int(high)) for condition, _, value in ranked(holder)])
    return made if isinstance(holder, list) else tuple(made)


_MOST_REPEATED = 256

# Writing


def replace_slice(holder: Object, key: slice, values: Object) -> None:
    """holder[key] = values for a list, with data-dependent slice ends or entries."""
    if key.step not in (None, 1):
        reason = decide("a slice with a step and data-dependent ends is written to", "write to the entries in a loop")
        known = (None if end is None else int(end) for end in (key.start, key.stop, key.step))
        settled_contents(holder)[by_guards(current_recorder(), lambda: slice(*known), reason)] = values
        return
    count, (start, stop) = length(holder), (key.start, key.stop)
    start = 0 if start is None else smaller(greater(from_start(start, count), 0), count)
    stop = count if stop is None else smaller(from_start(stop, count), count)
    # Python inserts at the start if the slice is empty.
    stop = greater(start, stop)
    found = [(condition, place, value) for condition, place, value in ranked(holder)]
    before = [(both(condition, below(place, start)), value) for condition, place, value in found]
    after = [(both(condition, negated(below(place, stop))), value) for condition, place, value in found]
    made = [*noted(before), *values, *noted(after)]
    most = len(values) + int(ends(bounds_of(count))[1])
    # Unpacked, a list would double with each slice.
    put(holder, made if len(made) <= most else packed(made)[:most])


def rotate(holder: Object, steps: Object) -> None:
    """holder.rotate(steps)"""
    entries = list(entries_of(holder))
    put(holder, [entry_of(entries, (k - steps) % len(entries)) for k in range(len(entries))])


def insert(holder: list[Object], position: Object, value: Object) -> None:
    """holder.insert(position, value) for a list of known length."""
    if not is_data(position):
        note_contents(holder)
        (list if isinstance(holder, list) else deque).insert(holder, position, value)
        return
    entries = list(entries_of(holder))
    n = len(entries)
    place = smaller(greater(from_start(position, n), 0), n)
    # Entries below the place stay; those above move up by one.
    others = zip([value, *entries], [*entries, value])
    put(holder, [select(below(k, place), after, select(equals(place, k), value, before)) for k, (before, after) in enumerate(others)])


def delete(holder: list[Object] | deque[Object], key: Object) -> None:
    """del holder[key] with a data-dependent key or entries."""
    if type(key) is not slice:
        take(holder, key, f"{'deque' if isinstance(holder, deque) else 'list assignment'} index out of range")
        return
    if key.step not in (None, 1):
        raise Unjoinable("a slice with a step and data-dependent entries is deleted", "keep the others in a new list")
    put(holder, noted([(both(condition, negated(within)), value) for condition, within, value in ranked_within(holder, key)]))


def take(holder: Object, key: Object, error: str) -> Object:
    """Remove the entry at a position, and return it."""
    position = inside(key, length(holder), error)
    if not is_conditional(holder):
        entries = list(entries_of(holder))
        value = entry_of(entries, position)
        put(holder, [select(below(k, position), *pair) for k, pair in enumerate(pairwise(entries))])
        return value
    hits: list[tuple[Object, Object]] = []
    left: list[tuple[Object, Object]] = []
    for condition, place, value in ranked(holder):
        hit = both(condition, equals(place, position))
        if hit is not False:
            hits.append((hit, value))
        left.append((both(condition, negated(hit)), value))
    put(holder, noted(left))
    return one_of(hits)
