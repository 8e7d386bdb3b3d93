"""Conditional keys: a dict whose keys are data has values that are there by a condition (Maybe).

Where the order of keys is data, too, each value has a number by which a loop finds it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

import numpy as np

from ..anything import Object
from ..calls.truth import truth
from ..state.fork import decided, exclude, fork, fork_value, refuse, select
from ..state.joins import join_conditions, numbered
from ..state.places import note_contents
from ..state.values import Maybe, both, either, is_data, known, negated, state


def has_conditional_keys(holder: Object) -> bool:
    """True for a dict whose keys are data."""
    return state.has_maybes and isinstance(holder, dict) and Maybe in map(type, holder.values())


def there(holder: dict[Object, Object], key: Object) -> tuple[Object, Object]:
    """When a key is there, and its value."""
    if key not in holder:
        return False, None
    entry = holder[key]
    if type(entry) is not Maybe:
        return True, entry
    fact = known(entry.condition) if is_data(entry.condition) else entry.condition
    return entry.condition if fact is None else fact, entry.value


def item(holder: dict[Object, Object], key: Object) -> Object:
    """holder[key], with what a defaultdict or a Counter makes of a missing one."""
    condition, value = there(holder, key)
    if condition is True:
        return value
    if isinstance(holder, defaultdict) and holder.default_factory is not None:
        return _made(holder, key, holder.default_factory)
    if isinstance(holder, Counter):
        return 0 if condition is False else select(condition, value, 0)
    exclude(negated(condition), lambda: KeyError(key))
    return value


def _made(holder: dict[Object, Object], key: Object, make: Callable[[], Object]) -> Object:
    """The value of a key, which is made where it is missing."""
    condition, value = there(holder, key)
    if condition is True:
        return value
    if condition is False:
        new = make()
        if state.journals and type(new) in (list, dict, set):
            state.made[id(new)] = new, holder, key
    elif _is_of_key(holder, key, value):
        # It is where the key is missing that the value is not known to anything: it can stand for a new one.
        new = value

        def empty() -> None:
            note_contents(value)
            value.clear()

        fork(condition, None, empty)
    else:
        new = fork_value(condition, lambda: value, make)
    set_item(holder, key, new)
    return new


def _is_of_key(holder: dict[Object, Object], key: Object, value: Object) -> bool:
    """True for a value that was made for a key on the side that put it there."""
    _, owner, of_key = state.made.get(id(value), (None, None, None))
    return owner is holder and of_key == key


class Empty:
    """An empty container that nothing else refers to.

    Attributes:
        kind: list, dict or set.
    """

    __slots__ = ("kind",)

    def __init__(self, kind: type) -> None:
        self.kind = kind


def set_item(holder: dict[Object, Object], key: Object, value: Object) -> None:
    """holder[key] = value"""
    note_contents(holder)
    old: Object = dict.get(holder, key)
    if not has_conditional_keys(holder) or (type(old) is not Maybe and key in holder and not _has_order(holder)):
        dict.__setitem__(holder, key, value)
        return
    condition, _ = there(holder, key)
    is_last = key not in holder or next(reversed(holder)) == key
    if not _has_order(holder):
        if is_last or condition is True:
            dict.__setitem__(holder, key, value)
            return
        _number(holder)
        old = dict.get(holder, key)
    state.stamp += 1
    order = (
        state.stamp
        if condition is False
        else old.order
        if condition is True
        else np.where(condition, old.order, state.stamp)
    )
    dict.__setitem__(holder, key, Maybe(True, value, order))


def _has_order(holder: dict[Object, Object]) -> bool:
    return any(type(entry) is Maybe and entry.order is not None for entry in holder.values())


def _number(holder: dict[Object, Object]) -> None:
    for key, entry in numbered(holder).items():
        dict.__setitem__(holder, key, entry)


def delete_item(holder: dict[Object, Object], key: Object) -> None:
    """del holder[key]"""
    condition, value = there(holder, key)
    exclude(negated(condition), lambda: KeyError(key))
    state.made.pop(id(value), None)
    note_contents(holder)
    dict.__delitem__(holder, key)


def pop(holder: dict[Object, Object], key: Object, *default: Object) -> Object:
    """holder.pop(key, default)"""
    condition, value = there(holder, key)
    if not default:
        exclude(negated(condition), lambda: KeyError(key))
    if key in holder:
        state.made.pop(id(value), None)
        note_contents(holder)
        dict.__delitem__(holder, key)
    if condition is True or not default:
        return value
    return default[0] if condition is False else select(condition, value, default[0])


def get(holder: dict[Object, Object], key: Object, default: Object = None) -> Object:
    """holder.get(key, default)"""
    condition, value = there(holder, key)
    return value if condition is True else default if condition is False else select(condition, value, default)


def setdefault(holder: dict[Object, Object], key: Object, default: Object = None) -> Object:
    """holder.setdefault(key, default)"""
    return _made(holder, key, default.kind if type(default) is Empty else lambda: default)


def items(holder: dict[Object, Object]) -> list[Object]:
    """The keys and values as a list with conditional entries, in order; the order of many is found by guards where it is data."""
    found = [(entry.order if type(entry := holder[key]) is Maybe else None, *there(holder, key), key) for key in holder]
    if _has_order(holder):
        if len(found) > _MOST_ORDERED and any(is_data(order) for order, *_ in found):
            settle(holder)
            return list(holder.items())
        found = _in_order(found)
    return [
        (key, value) if condition is True else Maybe(condition, (key, value))
        for _, condition, value, key in found
        if condition is not False
    ]


# So many keys are ordered by exchanges.
_MOST_ORDERED = 6


def _in_order(found: list[Object]) -> list[Object]:
    """The values by their numbers."""
    for end in range(len(found) - 1, 0, -1):
        for k in range(end):
            first, second = found[k], found[k + 1]
            swap = truth(second[0] < first[0])
            if swap is True:
                found[k], found[k + 1] = second, first
            elif swap is not False:
                found[k], found[k + 1] = (_chosen(swap, a, b) for a, b in ((second, first), (first, second)))
    return found


def _chosen(test: Object, yes: Object, no: Object) -> Object:
    """One of two values with their numbers, conditions and keys."""
    (order, condition, *entry), (other_order, other_condition, *other) = yes, no
    rest = (select(test, a, b) for a, b in zip(entry, other))
    return select(test, order, other_order), join_conditions(test, condition, other_condition), *rest


def parts_of(entries: list[Object], which: int) -> list[Object]:
    """The keys or the values of items."""
    return [Maybe(e.condition, e.value[which]) if type(e) is Maybe else e[which] for e in entries]


def settle(holder: Object) -> None:
    """Leave the keys that are there now, by guards."""
    if not has_conditional_keys(holder):
        return
    refuse("it must be known which keys a dict has")
    found: list[tuple[Object, Object, Object]] = []
    for place, key in enumerate(list(holder)):
        entry = holder[key]
        condition, value = there(holder, key)
        if condition is True or (condition is not False and decided(condition)):
            order = entry.order if type(entry) is Maybe and entry.order is not None else place
            at = 0
            while at < len(found) and bool(truth(found[at][0] < order)):
                at += 1
            found.insert(at, (order, key, value))
    note_contents(holder)
    holder.clear()
    for _, key, value in found:
        dict.__setitem__(holder, key, value)


def length(holder: dict[Object, Object]) -> Object:
    """len(holder)"""
    total: Object = 0
    for key in holder:
        condition, _ = there(holder, key)
        total = total + (int(condition) if type(condition) is bool else np.where(condition, 1, 0))
    return total


def by_tracked_key(holder: dict[Object, Object], key: Object) -> Object:
    """holder[key] for a tracked number: the value of the key that it is equal to."""
    hits: list[tuple[Object, Object]] = []
    for k in holder:
        if type(k) in (int, float, bool, np.int64, np.float64):
            condition, value = there(holder, k)
            if condition is not False:
                hits.append((both(condition, truth(key == k)), value))
    missing: Object = True
    for hit, _ in hits:
        missing = both(missing, negated(hit))
    exclude(missing, lambda: KeyError(key._value.item()))

    def at(k: int) -> Object:
        hit, value = hits[k]
        return value if k == len(hits) - 1 else fork_value(hit, lambda: value, lambda: at(k + 1))

    return at(0)


def contains(holder: dict[Object, Object], key: Object) -> Object:
    """key in holder"""
    return there(holder, key)[0]


__all__ = ["either"]
