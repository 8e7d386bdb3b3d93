"""Orders of sets: what is known of CPython's, which depends on a set's hash table and on all earlier changes.

An int has a slot of its own in a table of more slots, unless it was added when another one had its slot, or after a removal of itself.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence

import numpy as np

from ...ir.instruction import Operand
from ..anything import Object
from .values import Maybe, state

Path = tuple[tuple[Operand, bool], ...]

# CPython's smallest hash table, and the bytes of a slot of larger ones.
_LEAST, _BYTES = 8, 16
# Their hashes are their values.
_INTS = (int, bool, np.int64, np.bool_)
# Each may be a guard.
_MOST_ADDITIONS = 256


class History:
    """What translated code has done to a set.

    Attributes:
        additions: to a set that was empty, in their order, each with the path that made it; None if there were other changes.
        is_of: refers to the set.
        size: of its hash table before.
        members: before; None if not all of them are ints in slots of their own.
        has_lost: members were removed.
        is_mixed: members may have been added after removals.
        is_rewritten: a branch, or members that depend on data, have replaced its contents, and Python's own order is lost.
    """

    __slots__ = ("additions", "has_lost", "is_mixed", "is_of", "is_rewritten", "members", "size")

    def __init__(self, holder: set[Object]) -> None:
        self.is_of = weakref.ref(holder)
        self.size = (set.__sizeof__(holder) - type(holder).__basicsize__) // _BYTES or _LEAST
        members = list(set.__iter__(holder))
        self.members = set(members) if _have_slots(members, self.size) and members == sorted(members) else None
        is_new = not members and self.size == _LEAST and id(holder) not in state.callers
        self.additions: list[tuple[Path, Object]] | None = [] if is_new else None
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

    def is_out_of_order(self, holder: set[Object]) -> bool:
        """True if the set's own order may not be Python's."""
        if not self.is_rewritten or self.is_of() is not holder:
            return False
        members = list(set.__iter__(holder))
        if all(type(member) is str for member in members):
            return False
        return not self.has_order(members, len(members)) or members != sorted(members)

    def note_additions(self, members: Sequence[Object]) -> None:
        """Note that members are added, one by one."""
        added = [(tuple(state.path), member) for member in members]
        if state.is_in_loop or self.additions is None or len(self.additions) + len(added) > _MOST_ADDITIONS:
            self.additions = None
        elif Maybe not in map(type, members):  # else each is added by a call of its own
            self.additions += added


def _have_slots(members: Iterable[Object], size: int) -> bool:
    return all(type(key) in _INTS and 0 <= key < size for key in members)


def history_of(holder: set[Object]) -> History:
    found = state.sets.get(id(holder))
    if found is None or found.is_of() is not holder:
        found = state.sets[id(holder)] = History(holder)
    return found


def note_rewriting(holder: Object) -> None:
    """Note that a set's members are written anew; nothing for other containers."""
    if isinstance(holder, set):
        history_of(holder).is_rewritten = state.has_choices = state.has_maybes = True


def note_unordered(holder: set[Object]) -> None:
    """Note that a new set's members were added in another order than Python's."""
    history = history_of(holder)
    history.is_mixed = history.is_rewritten = state.has_choices = state.has_maybes = True
    history.additions = None


def note_change(holder: Object, name: str, args: tuple[Object, ...]) -> None:
    """Note that translated code calls a method of a set."""
    if not isinstance(holder, set):
        return
    history = history_of(holder)
    if name in _ADDING:
        history.is_mixed = history.is_mixed or history.has_lost
        added = args if name == "add" else args[0] if len(args) == 1 and name == "update" else None
        if isinstance(added, (list, tuple)):
            history.note_additions(added)
        else:
            # Merging sets and dicts sizes the hash table.
            history.additions = None
    else:
        history.is_mixed = history.is_mixed or name not in _REMOVING
        history.has_lost, history.additions = True, None


_ADDING = frozenset(("add", "update", "__ior__"))
_REMOVING = frozenset(("remove", "discard", "pop", "clear", "difference_update", "__isub__"))
CHANGING = _ADDING | _REMOVING | {"intersection_update", "symmetric_difference_update"}
