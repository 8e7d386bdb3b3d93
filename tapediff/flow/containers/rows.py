"""Parts of one of many mutable objects at a data-dependent index: one part of all of them is a column, read and written at the index."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from ..anything import Object
from ..state.places import mark_made, note_attribute, note_contents
from ..state.values import Choice, Unjoinable, has_maybes, is_data
from . import keys
from .entries import inside
from .lengths import set_entry
from .positions import entry_of, is_position

MISSING = object()


def item(row: Choice, key: Object) -> Object:
    """row[key]; MISSING where that is not a part of each object."""
    if type(key) is slice and len_of(row) is not None and not is_position(key):
        return entry_of([mark_made(option[key]) for option in row.options], row.index)
    place = _place(row, key)
    return MISSING if place is None else entry_of(*place[:2])


def set_item(row: Choice, key: Object, value: Object) -> bool:
    """row[key] = value; False where that is not a part of each object."""
    place = _place(row, key)
    if place is None:
        return False
    entries, position, names = place
    for (option, name), old, new in zip(names, entries, _replaced(entries, position, value)):
        if new is not old:
            note_contents(option)
            option[name] = new
    return True


def attribute(row: Choice, name: str) -> Object:
    """An attribute that each object has itself."""
    return entry_of([getattr(option, name) for option in row.options], row.index)


def set_attribute(row: Choice, name: str, value: Object) -> None:
    """Set an attribute that each object has itself."""
    entries = [getattr(option, name) for option in row.options]
    for option, old, new in zip(row.options, entries, _replaced(entries, row.index, value)):
        if new is not old:
            note_attribute(option, name)
            setattr(option, name, new)


def len_of(row: Choice) -> int | None:
    """The length of lists of one length; None for other objects."""
    first = row.options[0]
    if not all(type(option) in (list, deque) and len(option) == len(first) and not has_maybes(option) for option in row.options):
        return None
    return len(first)


def entries(row: Choice) -> list[Object] | None:
    """The entries of lists of one length; None for other objects."""
    count = len_of(row)
    return None if count is None else [item(row, k) for k in range(count)]


def steps(row: Choice) -> Iterator[Object] | None:
    """The entries of lists of one length, each read when it is reached; None for other objects."""
    count = len_of(row)
    return None if count is None else _steps(row, count)


def _steps(row: Choice, count: int) -> Iterator[Object]:
    for k in range(count):
        yield item(row, k)
        if len_of(row) != count:
            raise Unjoinable("a loop over one of several lists, chosen by data, changes their lengths", "loop over a copy")


def _replaced(entries: list[Object], position: Object, value: Object) -> list[Object]:
    """The entries with one at a data-dependent position replaced."""
    made = mark_made(list(entries))
    set_entry(made, position, value)
    return made


def _place(row: Choice, key: Object) -> tuple[list[Object], Object, Iterable[tuple[Object, Object]]] | None:
    """All entries that may be the one of a key, its position among them, and their objects and keys; None if there are others."""
    options = row.options
    if type(key) in (int, str) and all(type(option) is dict and key in option and not keys.is_by_data(option, key) for option in options):
        return [option[key] for option in options], row.index, [(option, key) for option in options]
    count = len_of(row)
    if count is None:
        return None
    if type(key) is int and -count <= key < count:
        return [option[key] for option in options], row.index, [(option, key) for option in options]
    of_data: Object = key
    if not is_position(key) or not is_data(key) or of_data.type.dtype.kind != "i":
        return None
    position = inside(key, count, f"{type(options[0]).__name__} index out of range")
    if not is_data(position):
        return _place(row, position)
    names = [(option, k) for option in options for k in range(count)]
    return [option[k] for option, k in names], row.index * count + position, names
