"""Sets with conditional members: a set whose members are data holds those that are there by a condition as `Maybe`.

Python finds members by their hashes; here a set is a dict without values, whose keys may be data.
"""

from __future__ import annotations

from collections.abc import Callable

from ..anything import Object
from ..state.fork import exclude, fork, refuse
from ..state.places import note_contents
from ..state.values import CHOICES, DataKey, Maybe, both, either, key_at_this_point, negated, state
from . import keys
from .data_keys import entry, is_data_key, lookup, unwrapped

# CPython goes over ints below this number in order: the smallest table has a place for each of them.
_IN_ORDER = 8


def has_conditional_members(holder: Object) -> bool:
    """True for a set whose members are data."""
    return state.has_maybes and isinstance(holder, set) and Maybe in map(type, holder)


def is_by_data(holder: Object, member: Object) -> bool:
    """True where data decide which members a set has, or which one is meant."""
    return is_data_key(member) or has_conditional_members(holder)


def as_dict(holder: Object) -> dict[Object, Object]:
    """The members as keys."""
    plain = [member for member in holder if type(member) is not Maybe]
    # Their hashes are addresses, so that the order is another one each time.
    found = sorted((member for member in holder if type(member) is Maybe), key=lambda member: member.order)
    return {**dict.fromkeys(plain), **{member.value: Maybe(member.condition, None) for member in found}}


def members_of(entries: dict[Object, Object]) -> list[Object]:
    """The members of a set for the keys of a dict."""
    made: list[Object] = []
    for key in entries:
        condition, _ = entry(entries, key)
        if condition is True and type(key) is not DataKey:
            made.append(key)
        elif condition is not False:
            state.stamp += 1
            state.has_choices = state.has_maybes = True
            made.append(Maybe(condition, key, state.stamp))
    return made


def _put(holder: set[Object], entries: dict[Object, Object]) -> None:
    note_contents(holder)
    members = members_of(entries)
    set.clear(holder)
    set.update(holder, members)


def add(holder: set[Object], member: Object) -> None:
    """holder.add(member)"""
    entries = as_dict(holder)
    keys.set_item(entries, member, None)
    _put(holder, entries)


def discard(holder: set[Object], member: Object) -> None:
    """holder.discard(member)"""
    entries = as_dict(holder)
    keys.discard(entries, member)
    _put(holder, entries)


def remove(holder: set[Object], member: Object) -> None:
    """holder.remove(member)"""
    _, missing = lookup(as_dict(holder), member)
    exclude(missing, lambda: KeyError(key_at_this_point(member)))
    discard(holder, member)


def contains(holder: Object, member: Object) -> Object:
    """member in holder"""
    return keys.contains(as_dict(holder), member)


def length(holder: set[Object]) -> Object:
    """len(holder)"""
    return keys.length(as_dict(holder))


def unordered(holder: set[Object]) -> list[Object]:
    """The members as conditional entries, in any order."""
    entries = as_dict(holder)
    found = [(entry(entries, key)[0], unwrapped(key)) for key in entries]
    return [key if condition is True else Maybe(condition, key) for condition, key in found if condition is not False]


def ordered(holder: set[Object]) -> list[Object]:
    """The members as conditional entries in Python's order, where it is known: else those that are there now, by guards."""
    entries = as_dict(holder)
    if all(type(key) is int and 0 <= key < _IN_ORDER for key in entries):
        return sorted(unordered(holder), key=lambda member: member.value if type(member) is Maybe else member)
    if all(type(key) is str for key in entries):
        # Another run of Python has another order.
        return unordered(holder)
    settle(holder)
    return list(holder)


def _conditions(holder: set[Object]) -> list[tuple[Object, Object]]:
    """The members, as keys, and when each is there."""
    entries = as_dict(holder)
    return [(key, condition) for key in entries if (condition := entry(entries, key)[0]) is not False]


def _is_subset(a: set[Object], b: set[Object]) -> Object:
    within: Object = True
    others = as_dict(b)
    for key, condition in _conditions(a):
        within = both(within, either(negated(condition), keys.contains(others, unwrapped(key))))
    return within


def combined(name: str, a: Object, b: Object) -> Object:
    """The result of an operator on two sets."""
    if name in _COMPARISONS:
        return _COMPARISONS[name](a, b)
    others = as_dict(b)
    made = as_dict(a) if name in ("or", "xor") else {}
    if name in ("and", "sub"):
        for key, condition in _conditions(a):
            is_other = keys.contains(others, unwrapped(key))
            made[key] = Maybe(both(condition, is_other if name == "and" else negated(is_other)), None)
    if name == "or":
        for key, condition in _conditions(b):
            _add_where(made, key, condition)
    if name == "xor":
        return combined("or", combined("sub", a, b), combined("sub", b, a))
    return set(members_of(made))


def _add_where(made: dict[Object, Object], key: Object, condition: Object) -> None:
    if condition is True:
        keys.set_item(made, unwrapped(key), None)
    else:
        fork(condition, lambda: keys.set_item(made, unwrapped(key), None), None)


_COMPARISONS: dict[str, Callable[[set[Object], set[Object]], Object]] = {
    "le": _is_subset,
    "ge": lambda a, b: _is_subset(b, a),
    "eq": lambda a, b: both(_is_subset(a, b), _is_subset(b, a)),
    "ne": lambda a, b: negated(both(_is_subset(a, b), _is_subset(b, a))),
    "lt": lambda a, b: both(_is_subset(a, b), negated(_is_subset(b, a))),
    "gt": lambda a, b: both(_is_subset(b, a), negated(_is_subset(a, b))),
}
OPERATORS = frozenset((*_COMPARISONS, "and", "or", "sub", "xor"))


def replace(holder: set[Object], members: set[Object]) -> None:
    """Make a set equal to another one."""
    note_contents(holder)
    found = list(members)
    set.clear(holder)
    set.update(holder, found)


def settle(holder: Object) -> None:
    """Leave the members that are there now, by guards."""
    if not has_conditional_members(holder):
        return
    refuse("the members of a set depend on data, where code has to know them", "use loops, len and `in`, which need no guard")
    entries = as_dict(holder)
    keys.settle(entries)
    _put(holder, {_plain(key): None for key in entries})


def _plain(key: Object) -> Object:
    return CHOICES[type(key)].settled(key) if type(key) in CHOICES else key
