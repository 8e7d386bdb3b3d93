"""Unshared objects and lists: two of one kind with no other reference, one on each side, become a new one with joined parts.

All references must be those of the place, of journals and other sides, and of variables of finished calls. Either may be an option of
a choice, such as of an object and None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import FunctionType
from typing import NamedTuple, Protocol

from ....base.byte_code import is_held_elsewhere
from ....base.current_recording import current_recorder
from ....ir.instruction import Operand
from ....recording.arrays.tracked import TrackedArray
from ...anything import Object
from ...users_code import attributes_of, has_only_attributes, with_attributes
from ..joins import join, join_contents, one_of
from ..places import Attribute, Cell, Contents, Entry, Member, Place, mark_made
from ..values import UNBOUND, Choice, Maybe, Unjoinable, any_of, is_by_index, is_data, state

States = dict[Object, tuple[Place, Object]]


class Ran(Protocol):
    """A side that was run: see fork."""

    @property
    def result(self) -> Object: ...
    @property
    def final(self) -> States: ...


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
    firsts = _objects(yes.value_of(place))
    seconds = _objects(no.value_of(place)) if firsts else []
    if not seconds:
        return None
    on_both = {id(one[0]) for one in firsts} & {id(one[0]) for one in seconds}
    first, second = (_first_unshared(found, on_both, slot, (final_yes, final_no)) for found, slot in ((firsts, yes), (seconds, no)))
    if first is None or second is None or type(first[0]) is not type(second[0]):
        return None
    try:
        made = _of_parts(test, yes, no, first, second)
    except Unjoinable:
        return None
    if made is None:
        return None
    taken[id(first[0])], taken[id(second[0])] = first[0], second[0]
    return _replaced(yes.value_of(place), first[0], made), _replaced(no.value_of(place), second[0], made)


def _objects(value: Object) -> list[list[Object]]:
    """The objects and lists that a value may be, each in a list of its own."""
    if type(value) in _NEVER or is_by_index(value):
        return []
    options = value.options if type(value) is Choice else (value,)
    return [[option] for option in options if type(option) is list or has_only_attributes(option)]


def _first_unshared(found: list[list[Object]], on_both: set[int], slot: Slot, finals: tuple[States, ...]) -> list[Object] | None:
    """The first object without other references that only one side has."""
    return next((one for one in found if id(one[0]) not in on_both and _is_unshared(one, slot, finals)), None)


_NEVER = {int, float, bool, str, type(None), tuple, TrackedArray, FunctionType}


def _attribute(owner: Object, name: str) -> Place:
    return Member(owner, name) if hasattr(owner, "__dict__") else Attribute(owner, name)


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
        places = _attribute(yes[0], name), _attribute(no[0], name)
        parts = [first.value_of(places[0])], [second.value_of(places[1])]
        if parts[0][0] is UNBOUND or parts[1][0] is UNBOUND:
            return None
        made = None
        if type(parts[0][0]) is type(parts[1][0]) and (type(parts[0][0]) is list or has_only_attributes(parts[0][0])):
            made = _joined(test, Slot(places[0], first.final), Slot(places[1], second.final), *parts)
        attributes[name] = join(test, parts[0][0], parts[1][0]) if made is None else made
    return mark_made(with_attributes(type(yes[0]), attributes))


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


def with_new_joined(options: Sequence[tuple[Operand, Ran]]) -> list[tuple[Operand, Object]]:
    """The results of sides with their conditions: one object for those of one class that each side has just created."""
    # Held by their runs alone.
    new = [k for k, (_, ran) in enumerate(options) if has_only_attributes(ran.result) and not is_held_elsewhere((ran.result,), 1)]
    kind = type(options[new[0]][1].result) if new and not state.has_identities else None
    joined = [k for k in new if type(options[k][1].result) is kind]
    made = _new_of(kind, [(options[k][0], _at_end(options[k][1])) for k in joined]) if len(joined) > 1 else None
    if made is None:
        return [(test, ran.result) for test, ran in options]
    others = [(test, ran.result) for k, (test, ran) in enumerate(options) if k not in joined]
    return [*others, (any_of(options[k][0] for k in joined), made)]


def _at_end(ran: Ran) -> dict[str, Object]:
    """The attributes of a side's result at its end."""
    slot = Slot(_RESULT, ran.final)
    parts = {name: slot.value_of(_attribute(ran.result, name)) for name in _names(slot, [ran.result])}
    return {name: part for name, part in parts.items() if part is not UNBOUND}


def _new_of(kind: Object, options: Sequence[tuple[Operand, dict[str, Object]]]) -> Object:
    """A new object with joined attributes; None if one has attributes that another lacks, or they cannot be joined."""
    names = options[0][1].keys()
    if any(attributes.keys() != names for _, attributes in options):
        return None
    try:
        parts = {name: one_of([(test, attributes[name]) for test, attributes in options]) for name in names}
    except Unjoinable:
        return None
    return mark_made(with_attributes(kind, parts))


_RESULT = Entry({}, "result")


def _names(slot: Slot, owner: list[Object]) -> list[str]:
    """The attributes of an object at the end of a side."""
    added = [place.name for place, _ in slot.final.values() if type(place) in (Member, Attribute) and place.holder is owner[0]]
    return [*attributes_of(owner[0]), *added]


def join_options(choice: Choice) -> None:
    """Join the options of one class to which nothing else refers: they become one object, in the choice itself."""
    if state.has_identities or choice.index is not None:
        return
    if any(is_data(test) and test._recorder is not current_recorder() for test in choice.conditions):
        return  # it outlasts an iteration
    groups: dict[type, list[int]] = {}
    for k, option in enumerate(choice.options):
        if has_only_attributes(option):
            groups.setdefault(type(option), []).append(k)
    values, places = _references(None, ())
    for kind, of_kind in groups.items():
        alike = [k for k in of_kind if _has_no_others([choice.options[k]], values, places, choice)] if len(of_kind) > 1 else []
        if len(alike) < 2 or (made := _new_of(kind, [(choice.conditions[k], attributes_of(choice.options[k])) for k in alike])) is None:
            continue
        kept = [k for k in range(len(choice.options)) if k not in alike]
        condition = any_of(choice.conditions[k] for k in alike)
        # Nothing else notices, as the choice is the same.
        choice.replace([*(choice.options[k] for k in kept), made], [*(choice.conditions[k] for k in kept), condition])
        return join_options(choice)


def _is_unshared(owner: list[Object], slot: Slot, finals: tuple[States, ...]) -> bool:
    """True if only a place and variables of finished calls refer to an object.

    Args:
        owner: a list that holds only the object.
    """
    return _has_no_others(owner, *_references(slot.place, finals))


def _has_no_others(owner: list[Object], values: list[Object], places: list[Place], of: Choice | None = None) -> bool:
    """True if only these values and places, and a choice, refer to an object."""
    known = 0 if of is None else sum(option is owner[0] for option in of.options)
    for choice in {id(value): value for value in values if type(value) is Choice and value is not of}.values():
        if any(option is owner[0] for option in choice.options):
            if choice.index is not None:
                return False  # other choices may share the options
            # References of the list and the dict of values, and of this name.
            if is_held_elsewhere((choice,), 2 * sum(value is choice for value in values) + 2):
                return False
            known += sum(option is owner[0] for option in choice.options)
    count = sum(place.holder is owner[0] for place in places)
    # References of the list of values, and of `owner`.
    return not is_held_elsewhere((owner[0],), 2 * sum(value is owner[0] for value in values) + known + count + 1)


def _references(place: Place | None, finals: tuple[States, ...]) -> tuple[list[Object], list[Place]]:
    """Values in a place, if given, in variables of finished calls, in journals and on other sides; and all their places."""
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
    if place is not None:
        ended[place.key] = place
    found = [value for _, value in kept.values()]
    found += [entry[1] for number, entry in joined.items() if number not in kept and entry[0].key in ended]
    return [*found, *(other.get() for other in ended.values())], list(places.values())


def _replaced(value: Object, old: Object, new: Object) -> Object:
    if value is old:
        return new
    return value.of(tuple(new if option is old else option for option in value.options))
