"""Orders of sets: what is known of CPython's, which depends on a set's hash table and on all earlier changes.

An int has a slot of its own in a table of more slots, unless it was added when another one had its slot, or after a removal of itself.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable

from ..anything import Object
from .values import state

# CPython's smallest hash table, and the bytes of a slot of larger ones.
_LEAST, _BYTES = 8, 16


class History:
    """What translated code has done to a set.

    Attributes:
        is_of: refers to the set.
        size: of its hash table before.
        members: before; None if not all of them are ints in slots of their own.
        has_lost: members were removed.
        is_mixed: members may have been added after removals.
        is_rewritten: a branch, or members that depend on data, have replaced its contents, and Python's own order is lost.
    """

    __slots__ = ("has_lost", "is_mixed", "is_of", "is_rewritten", "members", "size")

    def __init__(self, holder: set[Object]) -> None:
        self.is_of = weakref.ref(holder)
        self.size = (set.__sizeof__(holder) - type(holder).__basicsize__) // _BYTES or _LEAST
        members = list(set.__iter__(holder))
        self.members = set(members) if _have_slots(members, self.size) and members == sorted(members) else None
        # Others may have changed it before.
        self.has_lost, self.is_mixed, self.is_rewritten = id(holder) in state.callers, False, False

    def has_order(self, members: Iterable[Object], count: int) -> bool:
        """True for ints in the order of their slots.

        Args:
            members: those that the set may have.
            count: how many it has on all paths.
        """
        if self.is_mixed or self.members is None:
            return False
        least = _LEAST
        while 5 * count >= 3 * (least - 1):
            least *= 2
        return _have_slots(members, max(least, self.size) if self.members.issuperset(members) else least)

    @property
    def is_of_additions(self) -> bool:
        """True if the order follows from the order of additions."""
        return self.members == set() and self.size == _LEAST and not self.has_lost and not self.is_mixed


def _have_slots(members: Iterable[Object], size: int) -> bool:
    return all(type(key) is int and 0 <= key < size for key in members)


def history_of(holder: set[Object]) -> History:
    found = state.sets.get(id(holder))
    if found is None or found.is_of() is not holder:
        found = state.sets[id(holder)] = History(holder)
    return found


def note_change(holder: Object, name: str) -> None:
    """Note that translated code calls a method of a set."""
    if not isinstance(holder, set):
        return
    history = history_of(holder)
    if name in _ADDING:
        history.is_mixed = history.is_mixed or history.has_lost
    else:
        history.is_mixed = history.is_mixed or name not in _REMOVING
        history.has_lost = True


_ADDING = frozenset(("add", "update", "__ior__"))
_REMOVING = frozenset(("remove", "discard", "pop", "clear", "difference_update", "__isub__"))
CHANGING = _ADDING | _REMOVING | {"intersection_update", "symmetric_difference_update"}
