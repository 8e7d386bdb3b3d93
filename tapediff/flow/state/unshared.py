"""Unshared objects and lists: two of one kind with no other reference, one on each side, become a new one with joined parts.

All references must be those of the place, of journals and other sides, and of variables of finished calls. Either may be an option of
a choice, such as of an object and None.
"""

from __future__ import annotations

import weakref
from collections import Counter
from types import FunctionType
from typing import NamedTuple

from ...base.byte_code import is_held_elsewhere
from ...ir.instruction import Operand
from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from .joins import join, join_contents
from .places import Cell, Contents, Entry, Member, Place, mark_made
from .values import UNBOUND, Choice, Maybe, Unjoinable, state

States = dict[Object, tuple[Place, Object]]


class Slot(NamedTuple):
    """A place at the end of one side.

    Attributes:
        final: the side's final values.
    """

    place: Place
    final: States

    def value_of(self, place: Place) -> Object:
        """A place's value at the end of the side."""
        found = self.final.get(place.key)
        return place.get() if found is None else found[1]


def joined_unshared(
    test: Operand, place: Place, final_yes: States, final_no: States, taken: dict[int, Object]
) -> tuple[Object, Object] | None:
    """A place's values after two sides, with one new object in place of two unshared ones; None if there are none.

    Args:
        taken: objects that were replaced; extended.
    """
    if state.has_identities:
        return None
    yes, no = Slot(place, final_yes), Slot(place, final_no)
    first, second = _only_one(yes.value_of(place)), None
    if first is not None:
        second = _only_one(no.value_of(place))
    if first is None or second is None or first[0] is second[0] or type(first[0]) is not type(second[0]):
        return None
    try:
        made = _joined(test, yes, no, first, second)
    except Unjoinable:
        return None
    if made is None:
        return None
    taken[id(first[0])], taken[id(second[0])] = first[0], second[0]
    return _replaced(yes.value_of(place), first[0], made), _replaced(no.value_of(place), second[0], made)


def _only_one(value: Object) -> list[Object] | None:
    """The only object or list that a value may be, in a list of its own; else None."""
    if type(value) in _NEVER:
        return None
    options = value.options if type(value) is Choice else (value,)
    found = [option for option in options if type(option) is list or has_only_attributes(option)]
    return found if len(found) == 1 else None


_NEVER = {int, float, bool, str, type(None), tuple, TrackedArray, FunctionType}


def has_only_attributes(value: Object) -> bool:
    """True for instances of Python classes whose whole state is their attributes."""
    kind = type(value)
    if not kind.__flags__ & _HEAP or isinstance(value, (type, BaseException)) or kind.__new__ is not object.__new__:
        return False
    has_more = (
        kind.__basicsize__ != _Plain.__basicsize__
        or hasattr(kind, "__del__")
        or kind.__setattr__ is not object.__setattr__
    )
    return not has_more and type(getattr(value, "__dict__", None)) is dict and not weakref.getweakrefcount(value)


_HEAP = 1 << 9


class _Plain:
    pass


def _joined(test: Operand, first: Slot, second: Slot, yes: list[Object], no: list[Object]) -> Object:
    """A new object with joined parts; None if either has other references."""
    finals = first.final, second.final
    if not _is_unshared(yes, first, finals) or not _is_unshared(no, second, finals):
        return None
    return _of_parts(test, first, second, yes, no)


def _of_parts(test: Operand, first: Slot, second: Slot, yes: list[Object], no: list[Object]) -> Object:
    """A new object with joined parts; None if one has parts that the other lacks."""
    if type(yes[0]) is list:
        a, b = first.value_of(Contents(yes[0])), second.value_of(Contents(no[0]))
        return join_contents(test, a, b) if len(a) == len(b) and Maybe not in map(type, (*a, *b)) else None
    attributes: dict[str, Object] = {}
    for name in dict.fromkeys((*_names(first, yes), *_names(second, no))):
        places = Member(yes[0], name), Member(no[0], name)
        parts = [first.value_of(places[0])], [second.value_of(places[1])]
        if parts[0][0] is UNBOUND or parts[1][0] is UNBOUND:
            return None
        made = None
        if type(parts[0][0]) is type(parts[1][0]) and (type(parts[0][0]) is list or has_only_attributes(parts[0][0])):
            made = _joined(test, Slot(places[0], first.final), Slot(places[1], second.final), *parts)
        attributes[name] = join(test, parts[0][0], parts[1][0]) if made is None else made
    found = object.__new__(type(yes[0]))
    vars(found).update(attributes)
    mark_made(found)
    return found


def joined_results(test: Operand, results: tuple[Object, Object], final_yes: States, final_no: States) -> Object:
    """A branch's result: a new object for two without other references, which each side has just created.

    Args:
        results: of the sides, also referred to by their runner or completion.
    """
    yes, no = results
    if yes is no or type(yes) is not type(no) or type(yes) in _NEVER or state.has_identities:
        return join(test, yes, no)
    is_plain = type(yes) is list or (has_only_attributes(yes) and has_only_attributes(no))
    # Each is held by its run, the tuple and a variable.
    if is_plain and not is_held_elsewhere((yes,), 3) and not is_held_elsewhere((no,), 3):
        try:
            made = _of_parts(test, Slot(_RESULT, final_yes), Slot(_RESULT, final_no), [yes], [no])
        except Unjoinable:
            made = None  # a choice of the two
        if made is not None:
            return made
    return join(test, yes, no)


_RESULT = Entry({}, "result")


def _names(slot: Slot, owner: list[Object]) -> list[str]:
    """The attributes of an object at the end of a side."""
    added = [place.name for place, _ in slot.final.values() if type(place) is Member and place.holder is owner[0]]
    return [*vars(owner[0]), *added]


def _is_unshared(owner: list[Object], slot: Slot, finals: tuple[States, ...]) -> bool:
    """True if only a place and variables of finished calls refer to an object.

    Args:
        owner: a list that holds only the object.
    """
    values, places = _references(slot.place, finals)
    known = 0
    for choice in {id(value): value for value in values if type(value) is Choice}.values():
        if any(option is owner[0] for option in choice.options):
            # References of the list and the dict of values, and of this name.
            if is_held_elsewhere((choice,), 2 * sum(value is choice for value in values) + 2):
                return False
            known += sum(option is owner[0] for option in choice.options)
    count = sum(place.holder is owner[0] for place in places)
    # References of the list of values, and of `owner`.
    return not is_held_elsewhere((owner[0],), 2 * sum(value is owner[0] for value in values) + known + count + 1)


def _references(place: Place, finals: tuple[States, ...]) -> tuple[list[Object], list[Place]]:
    """Values in a place, in variables of finished calls, in journals and on other sides; and all their places."""
    errors = [raised.final for attempt in state.attempts for raised in attempt.pending]
    kept = {id(entry): entry for side in (state.before, *state.journals, *state.left, *errors) for entry in side.values()}
    joined = {id(entry): entry for side in finals for entry in side.values()}
    places = {id(other): other for other, _ in (*kept.values(), *joined.values())}
    places.update((id(other), other) for other in state.unsettled.values())
    counts = Counter(id(other.holder) for other in places.values())
    ended: dict[Object, Place] = {}
    for other in places.values():
        if type(other) is Cell and not is_held_elsewhere((other.holder,), counts[id(other.holder)]):
            ended[other.key] = other
    ended[place.key] = place
    found = [value for _, value in kept.values()]
    found += [entry[1] for number, entry in joined.items() if number not in kept and entry[0].key in ended]
    return [*found, *(other.get() for other in ended.values())], list(places.values())


def _replaced(value: Object, old: Object, new: Object) -> Object:
    if value is old:
        return new
    return Choice(tuple(new if option is old else option for option in value.options), value.conditions)
