"""Conditional keys: a dict with data-dependent keys holds conditional values (Maybe).

If the order of keys depends on data, each value has a number that orders it.
"""

from __future__ import annotations

import gc
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from functools import partial

import numpy as np

from ..anything import Object
from ..calls.callables import call
from ..calls.truth import truth
from ..state.callers import key_at_this_point
from ..state.fork import decided, exclude, fork, fork_value, refuse, select
from ..state.joins import CONSTANTS, has_order, maybe, numbered, one_of
from ..state.places import Contents, WithCells, items_in_order, note_contents, put
from ..state.tables.columns import by_position, counted, table_of
from ..state.values import (
    CHOICES,
    Choice,
    DataKey,
    Maybe,
    Unjoinable,
    Young,
    both,
    either,
    has_maybes,
    is_data,
    negated,
    parted,
    state,
)
from ..users_code import users_method
from .choices import by_exchanges
from .data_keys import Rows, entry, has_data_keys, is_data_key, lookup, plain_keys, read, unwrapped


def has_conditional_keys(holder: Object) -> bool:
    """True for a dict with data-dependent keys."""
    return isinstance(holder, dict) and has_maybes(holder)


def is_by_data(holder: Object, key: Object) -> bool:
    """True for a data-dependent key or member, or a dict or set with some."""
    return has_maybes(holder) or is_data_key(key)


def there(holder: dict[Object, Object], key: Object) -> tuple[Object, Object]:
    """The condition that a key is present, and its value."""
    if not is_data_key(key) and not has_data_keys(holder):
        return entry(holder, key) if key in holder else (False, None)
    hits, missing = lookup(holder, key)
    return negated(missing), one_of([(hit, value) for hit, _, value in hits]) if hits else None


def item(holder: dict[Object, Object], key: Object) -> Object:
    """holder[key]; defaultdict and `__missing__` supply missing values."""
    condition, value = there(holder, key)
    if condition is True:
        return value
    if (make := users_method(type(holder), "__missing__")) is not None:
        made = WithCells(lambda: call(make, holder, key), make)
        return fork_value(condition, lambda: value, made)
    if isinstance(holder, defaultdict) and holder.default_factory is not None:
        return _made(holder, key, holder.default_factory)
    exclude(negated(condition), lambda: _missing(key))
    return value


def _missing(key: Object) -> KeyError:
    return KeyError(key_at_this_point(key))


def _made(holder: dict[Object, Object], key: Object, make: Callable[[], Object]) -> Object:
    """The value of a key, created where it is missing."""
    key = read(key)
    if is_data_key(key) and (plain := plain_keys(key)) is not None:
        # Each possible key has its own value.
        if len(plain) == 1:
            return _made(holder, plain[0][1], make)
        choice = Choice(tuple(k for _, k in plain), tuple(condition for condition, _ in plain))
        return CHOICES[Choice].each(choice, lambda k: _made(holder, k, partial(_new, holder, make)))
    condition, value = there(holder, key)
    if condition is True:
        return value
    if condition is False:
        new = make()
        if state.journals and type(new) in (list, dict, set):
            state.made[id(new)] = new, holder, key
    elif _is_of_key(holder, key, value):
        # Created for this key, so it serves as the new value where the key is missing.
        new = value

        def empty() -> None:
            note_contents(value)
            value.clear()

        fork(condition, None, empty)
    elif state.is_in_loop:
        return fork_value(condition, lambda: value, lambda: _entered(holder, key, _new(holder, make)))
    else:
        new = fork_value(condition, lambda: value, make)
    return _entered(holder, key, new)


def _entered(holder: dict[Object, Object], key: Object, value: Object) -> Object:
    set_item(holder, key, value)
    return value


def _new(holder: dict[Object, Object], make: Callable[[], Object]) -> Object:
    """A value for a missing key; an iteration creates objects only for its own dicts."""
    new = make()
    if state.is_in_loop and not is_data(new) and type(new) not in (*CONSTANTS, tuple) and id(holder) not in Young(state.earlier):
        raise Unjoinable("a dict gets a new object for a data-dependent key in a loop", "enter all keys before the loop")
    return new


def _is_of_key(holder: dict[Object, Object], key: Object, value: Object) -> bool:
    """True for a value created for this key on a side."""
    _, owner, of_key = state.made.get(id(value), (None, None, None))
    return owner is holder and (of_key is key or (not is_data_key(key) and not is_data_key(of_key) and of_key == key))


class Empty:
    """An empty container with no other reference.

    Attributes:
        kind: list, dict or set.
    """

    __slots__ = ("kind",)

    def __init__(self, kind: type) -> None:
        self.kind = kind


def set_item(holder: dict[Object, Object], key: Object, value: Object) -> None:
    """holder[key] = value"""
    note_contents(holder)
    if is_data_key(key) or has_data_keys(holder):
        _set_by_data(holder, key, value)
        return
    old: Object = dict.get(holder, key)
    if not has_conditional_keys(holder) or (type(old) is not Maybe and key in holder and not has_order(holder)):
        _base(holder).__setitem__(holder, key, value)
        return
    condition, _ = there(holder, key)
    is_last = key not in holder or next(reversed(holder)) == key
    if not has_order(holder):
        if is_last or condition is True:
            _base(holder).__setitem__(holder, key, value)
            return
        _number(holder)
        old = dict.get(holder, key)
    state.stamp += 1
    order = state.stamp if condition is False else old.order if condition is True else np.where(condition, old.order, state.stamp)
    _base(holder).__setitem__(holder, key, Maybe(True, value, order))


def _set_by_data(holder: dict[Object, Object], key: Object, value: Object) -> None:
    """holder[key] = value with a data-dependent key or keys."""
    key = read(key)
    hits, missing = lookup(holder, key)
    for hit, own, _ in hits:
        if type(own) is Rows:
            _set_values(holder, own, hit, value)
            continue
        # Two possible keys may equal one existing key.
        _, old = entry(holder, own)
        held, new = dict.get(holder, own), select(hit, value, old)
        _base(holder).__setitem__(holder, own, Maybe(held.condition, new, held.order) if type(held) is Maybe else new)
    if missing is False:
        return
    plain = plain_keys(key)
    if plain is None:
        plain = [(True, DataKey(key))]
    has_one = len(plain) == 1 and plain[0][1] not in holder
    if not has_one or has_order(holder):
        _number(holder)
    state.stamp += 1
    for condition, own in plain:
        is_new = both(condition, missing)
        if is_new is not False:
            _put_new(holder, own, is_new, value, None if has_one and not has_order(holder) else state.stamp)


def _set_values(holder: dict[Object, Object], rows: Rows, hit: Object, value: Object) -> None:
    """Set the value of the key that is hit."""
    held = [dict.__getitem__(holder, key) for key in rows.keys]
    values = [old for _, old in map(parted, held)]
    if (table := table_of([*values, value])) is not None:
        made = table.with_last_where(rows.selected())
    else:
        made = [select(both(hit, one), value, old) for one, old in zip(rows.hits, values)]
    for key, new, old in zip(rows.keys, made, held):
        _base(holder).__setitem__(holder, key, Maybe(old.condition, new, old.order) if type(old) is Maybe else new)


def _put_new(holder: dict[Object, Object], key: Object, is_new: Object, value: Object, order: Object) -> None:
    """Insert a key where it is new."""
    if key in holder:
        old = dict.__getitem__(holder, key)
        condition, before = entry(holder, key)
        if condition is True:
            return
        if condition is not False:
            value, order = select(is_new, value, before), select(is_new, order, old.order)
            is_new = either(condition, is_new)
    _base(holder).__setitem__(holder, key, Maybe(is_new, value, order))


_MISSING = object()


def _number(holder: dict[Object, Object]) -> None:
    Contents(holder).set({**numbered(holder)})


def pop(holder: dict[Object, Object], key: Object, default: Object = _MISSING, /) -> Object:
    """holder.pop(key, default)"""
    condition, value = there(holder, key)
    if default is _MISSING:
        exclude(negated(condition), lambda: _missing(key))
    if condition is not False:
        discard(holder, key)
    return value if default is _MISSING else select(condition, value, default)


def discard(holder: dict[Object, Object], key: Object) -> None:
    """Remove a key if present."""
    note_contents(holder)
    hits, _ = lookup(holder, key)
    for hit, own, value in hits:
        if type(own) is Rows:
            for one, is_hit in zip(own.keys, own.selected()):
                held = dict.__getitem__(holder, one)
                condition, old = parted(held)
                stays, order = both(condition, negated(is_hit)), held.order if type(held) is Maybe else None
                _base(holder).__setitem__(holder, one, Maybe(stays, old, order))
            continue
        condition, _ = entry(holder, own)
        stays = both(condition, negated(hit))
        if stays is False or condition is hit or not (is_data_key(key) or type(own) is DataKey):
            state.made.pop(id(value), None)
            _base(holder).__delitem__(holder, own)
            continue
        held = dict.__getitem__(holder, own)
        order = held.order if type(held) is Maybe else None
        _base(holder).__setitem__(holder, own, Maybe(stays, value, order))


def get(holder: dict[Object, Object], key: Object, default: Object = None, /) -> Object:
    """holder.get(key, default)"""
    condition, value = there(holder, key)
    return select(condition, value, default)


def setdefault(holder: dict[Object, Object], key: Object, default: Object = None) -> Object:
    """holder.setdefault(key, default)"""
    return _made(holder, key, default.kind if type(default) is Empty else lambda: default)


def items(holder: dict[Object, Object], *, is_in_order: bool = True) -> list[Object]:
    """The items as a list with conditional entries, in order. A data-dependent order of many keys is found by guards."""
    found = _numbered_items(holder)
    if is_in_order and has_order(holder):
        if len(found) > _MOST_ORDERED and any(is_data(order) for _, _, order, _ in found):
            if (entries := _by_order(found)) is not None:
                return entries
            settle(holder)
            return list(holder.items())
        found = by_exchanges(found, lambda a, b: truth(a[2] < b[2]))
    return [maybe(condition, (key, value)) for condition, value, _, key in found if condition is not False]


def _numbered_items(holder: dict[Object, Object]) -> list[tuple[Object, Object, Object, Object]]:
    """Conditions, values, order numbers and keys."""
    return [(*entry(holder, key), held.order if type(held) is Maybe else None, unwrapped(key)) for key, held in items_in_order(holder)]


def _by_order(found: list[tuple[Object, Object, Object, Object]]) -> list[Object] | None:
    """Items by position, in order; None for values that are in no table."""
    table = table_of([(key, value) for _, value, _, key in found])
    if table is None:
        return None
    numbers = [select(condition, order, _BEHIND) for condition, _, order, _ in found]
    return by_position(counted([condition for condition, *_ in found]), table.ordered(np.argsort(np.stack(numbers), kind="stable")))


# Exceeds all order numbers.
_BEHIND = 1 << 60


# Maximum number of keys sorted by swaps.
_MOST_ORDERED = 6


def parts_of(entries: list[Object], which: int) -> list[Object]:
    """The keys or the values of items."""
    return [Maybe(e.condition, e.value[which]) if type(e) is Maybe else e[which] for e in entries]


def _base(holder: Object) -> type[dict[Object, Object]]:
    """The Python class whose methods write to a dict; OrderedDict stores its own order."""
    return OrderedDict if isinstance(holder, OrderedDict) else dict


# Python's views, of dicts that had no conditional keys when they were made.
PLAIN_VIEWS: dict[type, int | None] = {type({}.keys()): 0, type({}.values()): 1, type({}.items()): None}


def settle(holder: Object) -> None:
    """Keep the keys present at this point, by guards; also those of a dict that a view shows."""
    if type(holder) in PLAIN_VIEWS:
        (holder,) = gc.get_referents(holder)
    if not has_conditional_keys(holder):
        return
    reason = refuse("code needs the keys of a dict, which depend on data", "use loops, len, get and `in`, which need no guard")
    found: list[tuple[Object, Object, Object]] = []
    for place, key in enumerate(list(holder)):
        held = dict.__getitem__(holder, key)
        condition, value = entry(holder, key)
        if condition is True or (condition is not False and decided(condition, reason)):
            order = held.order if type(held) is Maybe and held.order is not None else place
            at = 0
            while at < len(found) and bool(truth(found[at][0] < order)):
                at += 1
            found.insert(at, (order, key, value))
    put(Contents(holder), {settled_key(key): value for _, key, value in found})


def settled_key(key: Object) -> Object:
    """The plain value of a key, by guards."""
    key = unwrapped(key)
    if type(key) in CHOICES:
        return CHOICES[type(key)].settled(key)
    if is_data(key):
        return {"i": int, "f": float, "b": bool}[key.type.dtype.kind](key)
    return tuple(map(settled_key, key)) if type(key) is tuple else key
