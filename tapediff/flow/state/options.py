"""Branches with several options chosen by data: all run from the same state and are joined at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir.instruction import Operand
from ..anything import Object
from .fork import Final, Option, Taken, first_of, fork_value, joined_value, sides_of
from .joins import one_of
from .objects.unshared import with_new_joined
from .objects.withdrawn import withdraw_on_all
from .places import Contents, Place, Plain, Version
from .values import Unjoinable, all_of, negated, state


def fork_options(conditions: Sequence[Operand], sides: Sequence[Callable[[], Object]]) -> Object:
    """Run all sides; the value of the one whose condition holds.

    Args:
        conditions: tracked bools; exactly one holds.
        sides: functions that return the values.
    """
    if len(conditions) == 2:
        return fork_value(conditions[0], *sides)
    found = sides_of([(test, True, side) for test, side in zip(conditions, sides)], _joined_states)
    if isinstance(found, Taken):
        return found.result
    results = with_new_joined([(option.test, option.ran) for option in found])
    for option in found:
        option.ran.final.clear()
    try:
        return one_of(results)
    except Unjoinable:
        return first_of(results)


def _joined_states(found: list[Option]) -> Final:
    """Join the values of all places."""
    if state.withdrawn:
        withdraw_on_all(*(option.ran.final for option in found))
    places: dict[Object, tuple[Place, list[int]]] = {}
    for number, option in enumerate(found):
        for key, (place, _) in option.ran.final.items():
            places.setdefault(key, (place, []))[1].append(number)
    joined: Final = {}
    for key, (place, changing) in places.items():
        try:
            options = [(found[k].test, found[k].ran.final[key][1]) for k in changing]
            joined[key] = place, _at(place, options, len(options) == len(found))
        except Unjoinable as why:
            raise why.of_side(changing[0])  # noqa: B904 -- the same exception
    return joined


def _at(place: Place, options: list[tuple[Operand, Object]], all_change: bool) -> Object:
    """Join a place that some or all options change."""
    are_values = not isinstance(place, (Contents, Version, Plain))
    if all_change and are_values:
        return one_of(options)
    *others, (_, base) = options if all_change else [*options, (None, place.get())]
    if are_values and len(others) > 2:
        return one_of([*others, (all_of(negated(test) for test, _ in others), base)])
    for test, value in reversed(others):
        base = joined_value(test, place, value, base)
    return base
