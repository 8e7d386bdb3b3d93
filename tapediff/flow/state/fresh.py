"""Objects that both sides of a branch have made: where nothing else refers to them, one object takes the place of both.

Its attributes, or its entries, are joined one by one. What refers to an object is told by its reference count: only the place that a side
leaves it in, and what the journal says of its own attributes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from .places import Contents, Member, Place
from .values import UNBOUND, Choice, Maybe

States = dict[object, tuple[Place, Object]]

# Of an object in a tuple, and of one in a namespace: that, and the argument of getrefcount.
_ONE = 2


class Fresh:
    """The objects that two sides have made.

    Attributes:
        taken: the ids of those for which another one stands, with themselves.
    """

    def __init__(self, yes: States, no: States) -> None:
        self.sides = yes, no
        self.taken: dict[int, Object] = {}
        self._places: tuple[dict[int, dict[int, tuple[Place, Object]]], ...] | None = None

    def places_of(self, side: int, value: Object) -> dict[int, tuple[Place, Object]]:
        """The places that are parts of an object, with what a side has left there."""
        if self._places is None:
            self._places = {}, {}
            for found, state in zip(self._places, self.sides):
                for place, new in state.values():
                    found.setdefault(id(place.holder), {})[id(place)] = place, new
        return self._places[side].get(id(value), {})

    def is_alone(self, side: int, count: int, value: Object) -> bool:
        """True if only what is counted refers to an object, besides the places of a side that are parts of it."""
        return count - len(self.places_of(side, value)) <= _ONE

    def joined(self, yes: Object, no: Object, counts: tuple[int, int], join: Callable[[Object, Object], Object]) -> Object:
        """One object for both; UNBOUND where there has to be a choice.

        Args:
            counts: their reference counts, as seen from where they are.
            join: joins two values.
        """
        kind = type(yes)
        if yes is no or not may_be_fresh(yes, no):
            return UNBOUND
        if not all(self.is_alone(side, count, value) for side, (count, value) in enumerate(zip(counts, (yes, no)))):
            return UNBOUND
        ours, theirs = (self._parts(side, value) for side, value in enumerate((yes, no)))
        if ours.keys() != theirs.keys():
            return UNBOUND
        self.taken[id(yes)], self.taken[id(no)] = yes, no
        parts = {}
        for name in ours:
            found = self.joined(ours[name], theirs[name], (sys.getrefcount(ours[name]) - 1, sys.getrefcount(theirs[name]) - 1), join)
            parts[name] = join(ours[name], theirs[name]) if found is UNBOUND else found
        if kind is list:
            return list(parts.values())
        made = object.__new__(kind)
        vars(made).update(parts)
        return made

    def _parts(self, side: int, value: Object) -> dict[Object, Object]:
        """The attributes or entries that a side has given to an object."""
        places = self.places_of(side, value).values()
        if type(value) is list:
            entries = next((new for place, new in places if isinstance(place, Contents)), value)
            return dict(enumerate(entries))
        parts = dict(vars(value))
        parts.update((place.name, new) for place, new in places if isinstance(place, Member))
        return {name: part for name, part in parts.items() if part is not UNBOUND}


def may_be_fresh(yes: Object, no: Object) -> bool:
    """True for two lists, or instances of one class."""
    kind = type(yes)
    return kind is type(no) and kind not in _NEVER and (kind is list or is_plain_instance(yes))


_NEVER = {int, float, bool, str, type(None), tuple, TrackedArray, Choice, Maybe}


def is_plain_instance(value: Object) -> bool:
    """True for an instance of a class of the user's that has all its state in its namespace."""
    kind = type(value)
    return type(getattr(value, "__dict__", None)) is dict and kind.__new__ is object.__new__ and not isinstance(value, BaseException)


__all__ = ["Fresh"]
