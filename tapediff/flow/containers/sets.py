"""Sets with conditional members, stored as `Maybe`.

Members are found by comparison, as the keys of a dict without values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NoReturn

from .. import in_python
from ..anything import Object
from ..calls.callables import call
from ..calls.truth import truth
from ..state.fork import condition_of, decided, refuse
from ..state.histories import history_of, note_unordered
from ..state.joins import as_dict, maybe, members_of
from ..state.places import Contents, put
from ..state.values import Maybe, Unjoinable, both, has_maybes, negated
from . import keys
from .data_keys import entry, unwrapped


def _method(change: Callable[[dict[Object, Object], Object], Object]) -> Callable[[set[Object], Object], None]:
    """A set method from one of dicts."""

    def run(holder: set[Object], member: Object) -> None:
        entries = as_dict(holder)
        change(entries, member)
        put(Contents(holder), members_of(entries))

    return run


add, discard, remove = _method(lambda entries, member: keys.set_item(entries, member, None)), _method(keys.discard), _method(keys.pop)


def contains(holder: Object, member: Object) -> Object:
    """member in holder"""
    return keys.there(as_dict(holder), member)[0]


def unordered(holder: set[Object]) -> list[Object]:
    """The members as conditional entries, in any order."""
    entries = as_dict(holder)
    found = [(entry(entries, key)[0], unwrapped(key)) for key in entries]
    return [maybe(condition, key) for condition, key in found if condition is not False]


def ordered(holder: set[Object]) -> list[Object]:
    """The members, some of them conditional, in Python's order; other members of a set that was empty get guards.

    Raises:
        Unjoinable: the order is unknown.
    """
    entries = as_dict(holder)
    if _have_any_order(entries):
        return unordered(holder)
    if history_of(holder).has_order(entries, _certain(entries)):
        return sorted(unordered(holder), key=lambda member: member.value if type(member) is Maybe else member)
    settle(holder)
    return list(holder)


def _have_any_order(members: Iterable[Object]) -> bool:
    """True for strings, whose order differs between Python processes."""
    return all(type(key) is str for key in members)


def _certain(entries: dict[Object, Object]) -> int:
    """The number of members on all paths."""
    return sum(value is None for value in entries.values())


def refuse_order() -> NoReturn:
    raise Unjoinable(
        "code needs the order of a set's members after branches have changed it, which depends on all earlier changes",
        "use a dict, or iterate over sorted(...)",
    )


def copied(holder: set[Object]) -> set[Object]:
    """holder.copy()"""
    made = set.copy(holder)
    if has_maybes(holder):
        note_unordered(made)
    return made


def combined(name: str, a: Object, b: Object) -> Object:
    """Apply a set operator."""
    made = _combined(name, a, b)
    if isinstance(made, set):
        # Python adds its members in another order.
        note_unordered(made)
    return made


def _combined(name: str, a: Object, b: Object) -> Object:
    if name == "or":
        return call(in_python.set_, [*unordered(a), *unordered(b)])
    if name == "xor":
        return combined("or", combined("sub", a, b), combined("sub", b, a))
    if name in ("and", "sub"):
        return call(in_python.intersection_ if name == "and" else in_python.difference_, unordered(a), b)
    return _COMPARISONS[name](a, b)


def _is_subset(a: Object, b: Object) -> Object:
    return truth(call(in_python.is_subset_, unordered(a), b))


_COMPARISONS: dict[str, Callable[[Object, Object], Object]] = {
    "le": _is_subset,
    "ge": lambda a, b: _is_subset(b, a),
    "eq": lambda a, b: both(_is_subset(a, b), _is_subset(b, a)),
    "ne": lambda a, b: negated(both(_is_subset(a, b), _is_subset(b, a))),
    "lt": lambda a, b: both(_is_subset(a, b), negated(_is_subset(b, a))),
    "gt": lambda a, b: both(_is_subset(b, a), negated(_is_subset(a, b))),
}
OPERATORS = frozenset((*_COMPARISONS, "and", "or", "sub", "xor"))


def settle(holder: Object) -> None:
    """Keep the members present at this point, by guards, in Python's order.

    Raises:
        Unjoinable: the order is unknown.
    """
    if not isinstance(holder, set) or not has_maybes(holder):
        return
    entries, history = as_dict(holder), history_of(holder)
    is_any, is_in_order = _have_any_order(entries), history.has_order(entries, _certain(entries))
    if is_any or is_in_order:
        if _certain(entries) < len(entries):
            refuse(*_NEEDED)
            keys.settle(entries)
        put(Contents(holder), members_of(entries))
        if is_in_order and list(holder) != sorted(holder):
            refuse_order()
        return
    if history.additions is None:
        refuse_order()
    reason, made = refuse(*_NEEDED), {}
    for path, member in history.additions:
        condition = condition_of(path)
        if condition is True or (condition is not False and decided(condition, reason)):
            made[keys.settled_key(member)] = None
    put(Contents(holder), list(made))
    # Its hash table is Python's.
    history.is_rewritten = False


_NEEDED = (
    "code needs the members of a set, which depend on data, in Python's order",
    "use a dict, or sorted(...), len and `in`, which need no guard",
)
