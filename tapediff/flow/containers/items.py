"""Containers: writes of entries, iteration, unpacking, and comprehensions."""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np

from ...base.byte_code import COUNTS_REFERENCES, is_held_elsewhere
from ...numpy_api.creating import holds_tracked
from ...recording.arrays.tracked import Flat, TrackedArray
from .. import in_python
from ..anything import Object
from ..calls.callables import call
from ..state.fork import refuse, refuse_store
from ..state.histories import note_change
from ..state.places import are_restorable, note_attribute, note_contents, unwritable
from ..state.recursions import is_of_sizes
from ..state.values import CHOICES, Choice, Lazy, has_maybes, is_by_index, is_tracked_value, lifted, state
from ..users_code import users_method
from . import entries, keys, lengths, positions, rows, sets
from .choices import each
from .compressed import Compressed
from .cursors import Cursor
from .entries import is_conditional
from .generators import Generator
from .lengths import unpacked_around
from .ranges import Counting
from .views import View, viewed

_ITERABLE: set[type] = {list, tuple, dict, set, frozenset, range, str, np.ndarray, TrackedArray, enumerate, zip, reversed, deque}

# Iteration over these has no side effects.
REPEATABLE: set[type] = {list, tuple, dict, set, frozenset, range, str, np.ndarray, TrackedArray, deque}


def set_item(holder: Object, key: Object, value: Object) -> None:
    """holder[key] = value"""
    kind = type(holder)
    if is_by_index(holder) and rows.set_item(holder, key, value):
        return
    for choice in (holder, key):
        if type(choice) is Choice and (choice is holder or not isinstance(holder, dict)):
            each(choice, lambda v, c=choice: set_item(v if c is holder else holder, v if c is key else key, value))
            return
    if kind in (TrackedArray, Compressed) and type(value) is Choice:
        each(value, lambda v: set_item(holder, key, v))
        return
    if (method := users_method(kind, "__setitem__")) is not None:
        call(method, holder, key, value)
        return
    if positions.has_choice(key) and not isinstance(holder, dict):
        lifted(lambda *parts: set_item(holder, parts, value), *key)
        return
    if set_by_data(holder, key, value):
        return
    note_items(holder, key)
    if kind is TrackedArray and positions.has_slice(key) and type(part := positions.entry_at(holder, key)) is Compressed:
        part[...] = value
        return
    if type(holder) is np.ndarray:
        if positions.is_position(key):
            raise unwritable("a plain array is written to at a data-dependent position")
        if is_tracked_value(value) or (type(value) in (tuple, list) and holds_tracked(value)):
            raise unwritable("a tracked value is written into a plain array")
    holder[key] = value


def set_by_data(holder: Object, key: Object, value: Object) -> bool:
    """holder[key] = value in Python's containers, with a data-dependent key or entries; False elsewhere."""
    if isinstance(holder, (list, deque)) and (is_conditional(holder) or positions.is_position(key)):
        (positions.replace_slice if type(key) is slice else lengths.set_entry)(holder, key, value)
        return True
    if isinstance(holder, dict) and keys.is_by_data(holder, key):
        keys.set_item(holder, key, value)
        return True
    return False


def delete_item(holder: Object, key: Object) -> None:
    """del holder[key]"""
    kind = type(holder)
    if kind in CHOICES or (type(key) in CHOICES and not isinstance(holder, dict)):
        lifted(delete_item, holder, key)
        return
    if (method := users_method(kind, "__delitem__")) is not None:
        call(method, holder, key)
        return
    if delete_by_data(holder, key):
        return
    note_items(holder, key)
    del holder[key]


def note_items(holder: Object, key: Object) -> None:
    """Note the entries of an object before one is stored or deleted; refuse it on a side if they cannot be restored."""
    if type(key) is str and id(holder) in state.namespaces:
        note_attribute(state.namespaces[id(holder)], key)
        return
    holder = holder.base if type(holder) in (np.flatiter, Flat) else holder
    if not are_restorable(holder):
        refuse_store(f"an entry of a {type(holder).__name__} is set in a branch")
    note_contents(holder)


def delete_by_data(holder: Object, key: Object) -> bool:
    """del holder[key] in Python's containers, with a data-dependent key or entries; False elsewhere."""
    is_slice_of_deque = isinstance(holder, deque) and type(key) is slice  # Python's own error
    if isinstance(holder, (list, deque)) and not is_slice_of_deque and (is_conditional(holder) or positions.is_position(key)):
        positions.delete(holder, key)
        return True
    if isinstance(holder, dict) and keys.is_by_data(holder, key):
        keys.pop(holder, key)
        return True
    return False


def slice_(start: Object, stop: Object, step: Object) -> Object:
    """start:stop:step"""
    return lifted(slice, start, stop, step)


def _is_iterator(kind: type) -> bool:
    return hasattr(kind, "__next__") and kind not in (Generator, Cursor) and users_method(kind, "__next__") is None


def _draws_from_shared(items: Object) -> bool:
    return gc.is_tracked(items) and any(count > _ONLY_DRAWN or _draws_from_shared(part) for part, count in _drawn(items))


def _drawn(items: Object) -> list[tuple[Object, int]]:
    """The iterators that an iterator such as zip or map draws from, with reference counts."""
    parts = [inner for part in gc.get_referents(items) for inner in (part if type(part) is tuple else (part,))]
    return [(part, sys.getrefcount(part)) for part in parts if hasattr(type(part), "__next__")]


_ONLY_DRAWN = _drawn(zip([0]))[0][1] if COUNTS_REFERENCES else 0


def refuse_iterators(items: Object, is_held: bool) -> bool:
    """True for a Python iterator that something else can advance, itself or its sources. Ends a side, which cannot restore its position."""
    found = _is_iterator(type(items)) and (is_held or _draws_from_shared(items))
    if found and state.journals:
        refuse("a branch advances an iterator that was made before it", "take the value before the branch, or count in an int")
    return found


def iterated(items: Object) -> Iterable[Object]:
    """An iterable for Python's own iteration."""
    items = viewed(items)
    kind = type(items)
    method = users_method(kind, "__iter__")
    if method is None and issubclass(kind, (dict, set)) and has_maybes(items):
        return View(items, 0).entries() if isinstance(items, dict) else sets.ordered(items)
    if kind in _ITERABLE:
        return items
    if kind is Owned:
        return items.iterator
    if kind in CHOICES:
        return iterated(CHOICES[kind].settled(items))
    if isinstance(items, Lazy):
        return items.steps()
    return steps(iterator_of(items)) if is_iterable_of_users(kind) else items


def is_iterable_of_users(kind: type) -> bool:
    """True for classes whose iterators the user's code makes."""
    if users_method(kind, "__iter__") is not None:
        return True
    return getattr(kind, "__iter__", None) is None and users_method(kind, "__getitem__") is not None


def spread(items: Object) -> Object:
    """The arguments of a starred iterable."""
    if type(items) in CHOICES:
        return spread(CHOICES[type(items)].settled(items))
    if isinstance(items, dict) or type(items) in _ITERABLE:
        return entries.settled_contents(items)
    hint = users_method(type(items), "__len__") or users_method(type(items), "__length_hint__")
    found = iterated(items)
    if hint is not None:
        # list() also calls `__len__` or `__length_hint__`.
        call(hint, items)
    return found


def iterator_of(items: Object) -> Object:
    """iter(items), made by the user's code."""
    method = users_method(type(items), "__iter__")
    if method is None:
        return call(in_python.by_position_, items)
    made = call(method, items)
    if not hasattr(type(made), "__next__"):
        raise TypeError(f"iter() returned non-iterator of type '{type(made).__name__}'")
    return made


def steps(iterator: Object) -> Object:
    """An iterator; of the user's class as a generator, which a loop can run with its own block."""
    if users_method(type(iterator), "__next__") is None:
        return iterator
    made = call(in_python.steps_, iterator)
    if type(made) is Generator:
        made.is_owned = True
    return made


class Owned:
    """A Python iterator that only one loop advances."""

    __slots__ = ("iterator",)

    def __init__(self, iterator: Object) -> None:
        self.iterator = iterator

    def __iter__(self) -> Iterator[Object]:
        return self.iterator


def owned(items: Object, is_held: bool) -> Object:
    """Give a loop the ownership of iterators, also in a choice, unless something else holds them.

    Args:
        is_held: found before the call, which adds references.
    """
    if is_held:
        return items
    kind = type(items)
    if kind is Choice:
        options: list[Object] = []
        for option in items.options:
            # References of the choice and of the variable.
            is_held = is_held_elsewhere((option,), 2)
            options.append(owned(option, is_held))
        return items.of(tuple(options))
    if kind is Generator:
        items.is_owned = True
    elif _is_iterator(kind) and not _draws_from_shared(items):
        return Owned(items)
    return items


def own(*args: Object) -> Object:
    """A comprehension's first iterable."""
    (items,) = args
    is_held = is_held_elsewhere((items,), 2)
    return owned(items, is_held)


def first_iterable(items: Object) -> Object:
    """A generator expression's first iterable; Python requests its iterator at once."""
    kind = type(items)
    is_kept = kind in (Owned, Generator, Cursor) or kind in CHOICES or kind in REPEATABLE or (kind is Counting and is_of_sizes())
    return items if is_kept else iter(iterated(items))


def entries_of_choice(choice: Object) -> list[Object]:
    """The entries of a choice of iterables, conditional if not in all of them."""
    made: list[Object] = []

    def fill(value: Object) -> None:
        note_contents(made)
        found = value if is_conditional(value) else iterated(value)
        is_owned = type(found) is Generator and (found.is_owned or found is not value)
        made.extend(collected(found) if is_owned else found)

    CHOICES[type(choice)].each(choice, fill)
    return made


def unpacked(*args: Object) -> Object:
    """The values for `around` targets, or those before and after a starred one; None: all.

    Args:
        args: the iterable and `around`, in a tuple, so that references to the iterable can be counted.
    """
    value, around = args
    is_owned = type(value) is Generator and (value.is_owned or not is_held_elsewhere((value,), 2))
    if type(value) in CHOICES:
        choice: Object = value
        found = rows.entries(choice) if is_by_index(choice) else None
        value = entries_of_choice(choice) if found is None else found
    kind = type(value)
    count = around if isinstance(around, int) else None
    if is_conditional(value):
        if isinstance(around, tuple):
            return unpacked_around(value, *around)
        return entries.unpacked(value, count)
    if kind is tuple or kind is list:
        return value
    if has_maybes(value):
        return entries.unpacked(iterated(value), count)
    if not is_owned and not is_iterable_of_users(kind):
        return value
    found = value if is_owned else iterated(value)
    if count is not None:
        if type(found) is Generator:
            found.is_owned = True
        # Python requests one more than it needs.
        found = call(in_python.islice_, found, 0, count + 1, 1)
    return unpacked(collected(found), around)


def collected(iterator: Object) -> Object:
    """The items of an iterator that nothing else advances as a list; conditional ones of a generator."""
    if type(iterator) is Generator:
        iterator.is_owned = True
    return call(in_python.list_, iterator)


def append(result: list[Object], value: Object) -> None:
    """Collect an entry of a list comprehension."""
    note_contents(result)
    result.append(value)


def include(result: set[Object], value: Object) -> None:
    """Collect an entry of a set comprehension."""
    note_change(result, "add", (value,))
    if keys.is_by_data(result, value):
        sets.add(result, value)
        return
    note_contents(result)
    result.add(value)


def set_of(members: Iterable[Object]) -> set[Object]:
    """{*members}"""
    if is_conditional(members):
        return call(in_python.set_, members)
    made: set[Object] = set()
    for member in members:
        include(made, member)
    return made


def dict_of(parts: tuple[tuple[Object, ...], ...]) -> Object:
    """{key: value, **mapping}, from pairs and single mappings."""
    return lifted(lambda *mappings: _dict_of(parts, iter(mappings)), *[mapping for mapping, *values in parts if not values])


def _dict_of(parts: tuple[tuple[Object, ...], ...], mappings: Iterator[Object]) -> dict[Object, Object]:
    made: dict[Object, Object] = {}
    for part in parts:
        if len(part) == 2:
            set_item(made, *part)
        else:
            mapping = next(mappings)
            call(made.update, mapping if isinstance(mapping, dict) else {**mapping})
    return made
