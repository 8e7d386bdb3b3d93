"""Withdrawn objects: a loop has replaced them by others, and stand-ins replace their parts, so that a use by another name is refused."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ...anything import Object
from ...users_code import attributes_of, is_mutable, with_attributes
from ..places import Contents, Final, Place, check_writes, is_withdrawn, place_of_attribute, places_of, put
from ..values import Choice, Maybe, Unjoinable, state


def withdraw(value: Object, holder: Place, stand_in: Callable[[Object], Object]) -> list[Place]:
    """Withdraw an object from a list; its places.

    Args:
        holder: the place of the list's entries.
        stand_in: makes one for the key of a place.
    """
    if type(value).__eq__ is object.__eq__:
        # Such objects are found in sets, dicts and lists by identity.
        raise Unjoinable("a list of new objects changes its length in a loop", "keep lists or tuples of numbers, or define `__eq__`")
    check_writes(value)
    if id(value) in state.callers:
        raise Unjoinable("a loop changes the length of a list of the caller's objects", "make the objects in the function")
    places = places_of(value)
    for place in places:
        state.withdrawn[place.key] = stand_in(place.key), holder
        put(place, _of_stand_ins(place, place.get()))
    return places


def _of_stand_ins(place: Place, value: Object) -> Object:
    """A place's value with the stand-in for each part."""
    found = state.withdrawn[place.key][0]
    if type(place) is not Contents:
        return found
    return dict.fromkeys(value, found) if isinstance(value, dict) else type(value)([found] * len(value))


def withdraw_on_all(*finals: Final) -> None:
    """Withdraw objects that one side of a branch has withdrawn on the others, too, whose lists get copies."""
    for key, place in {key: place for final in finals for key, (place, _) in final.items() if key in state.withdrawn}.items():
        others = [final for final in finals if not is_withdrawn(place, _value_in(final, place))]
        for final in others if len(others) < len(finals) else ():
            holder = state.withdrawn[key][1]
            entries, made = _value_in(final, holder), _copied(place.holder, final)
            final[holder.key] = holder, type(entries)(_with_copy(entry, place.holder, made) for entry in entries)


def _value_in(final: Final, place: Place) -> Object:
    """A place's value at the end of a side."""
    return final[place.key][1] if place.key in final else place.get()


def _copied(thing: Object, final: Final) -> Object:
    """A copy of an object as it is at the end of a side, where it is withdrawn."""
    if isinstance(thing, (list, deque, dict)):
        value = _taken(Contents(thing), final)
        if isinstance(value, dict):
            return {key: _copy_of_part(part, final) for key, part in value.items()}
        return type(value)(_copy_of_part(part, final) for part in value)
    parts = {name: _taken(place_of_attribute(thing, name), final) for name in attributes_of(thing)}
    return with_attributes(type(thing), {name: _copy_of_part(part, final) for name, part in parts.items()})


def _taken(place: Place, final: Final) -> Object:
    """The value of a place at the end of a side, where it is withdrawn."""
    value = _value_in(final, place)
    if place.key in state.withdrawn:
        final[place.key] = place, _of_stand_ins(place, value)
    return value


def _copy_of_part(part: Object, final: Final) -> Object:
    """A part of a copy: of a withdrawn object another copy."""
    places = places_of(part) if is_mutable(part) else []
    return _copied(part, final) if places and all(place.key in state.withdrawn for place in places) else part


def _with_copy(entry: Object, thing: Object, made: Object) -> Object:
    """A list's entry with a copy in place of an object."""
    if type(entry) is Maybe:
        return Maybe(entry.condition, _with_copy(entry.value, thing, made), entry.order)
    if type(entry) is Choice:
        return entry.of(tuple(_with_copy(option, thing, made) for option in entry.options))
    return made if entry is thing else entry
