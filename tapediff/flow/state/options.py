"""A branch of several options, of which data choose one: all are run from the same state, and the states are joined at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from ...base.current_recording import current_recorder
from ...ir.instruction import Operand
from ..anything import Object
from .dead_places import drop_dead
from .fork import Final, Ran, Taken, decided, fork_value, joined_value, keep, put_final, select, sides_of
from .joins import one_of
from .places import Contents, Place, Plain, Version
from .values import Unjoinable, both, facts_of, negated, state

Option = tuple[Operand, Ran]


def fork_options(conditions: Sequence[Operand], sides: Sequence[Callable[[], Object]]) -> Object:
    """The value of the side whose condition holds.

    Args:
        conditions: tracked bools; exactly one of them holds.
        sides: functions that give the value where it does.
    """
    if len(conditions) == 2:
        return fork_value(conditions[0], *sides)
    found = sides_of([(test, True, side) for test, side in zip(conditions, sides)])
    return found.result if isinstance(found, Taken) else _joined(found)


def _joined(found: list[Option]) -> Object:
    """Join the states; options with which this cannot be are decided by guards."""
    while len(found) > 1:
        drop_dead(*(ran.final for _, ran in found))
        final, failed, reason = _joined_states(found)
        if failed is None:
            put_final(final)
            state.report.note("choice", current_recorder().site_of(sys._getframe(1)))
            for _, ran in found:
                ran.final.clear()
            return _result(found)
        holds = decided(found[failed][0], reason)
        found = [found[failed]] if holds else [*found[:failed], *found[failed + 1 :]]
    test, ran = found[0]
    state.facts = {**state.facts, **facts_of(test, True)}
    keep(ran)
    return ran.result


def _result(found: list[Option]) -> Object:
    try:
        return one_of([(test, ran.result) for test, ran in found])
    except Unjoinable:
        pass
    *others, (_, last) = found
    result = last.result
    for test, ran in reversed(others):
        result = select(test, ran.result, result)
    return result


def _joined_states(found: list[Option]) -> tuple[Final, int | None, Object]:
    """The values of all places; or the number of an option with which they cannot be joined, and why."""
    places: dict[Object, tuple[Place, list[tuple[int, Object]]]] = {}
    for number, (_, ran) in enumerate(found):
        for key, (place, value) in ran.final.items():
            places.setdefault(key, (place, []))[1].append((number, value))
    joined: Final = {}
    for key, (place, values) in places.items():
        number = values[0][0]
        try:
            joined[key] = place, _at(place, values, found)
        except Unjoinable as why:
            return {}, number, why.reason
    return joined, None, None


def _at(place: Place, values: list[tuple[int, Object]], found: list[Option]) -> Object:
    """The value of a place that some options change."""
    options = [(found[number][0], value) for number, value in values]
    if len(values) == len(found):
        if not isinstance(place, (Contents, Version, Plain)):
            return one_of(options)
        *options, (_, base) = options
    else:
        base = place.get()
        if len(values) > 2 and not isinstance(place, (Contents, Version, Plain)):
            rest: Object = True
            for test, _ in options:
                rest = both(rest, negated(test))
            return one_of([*options, (rest, base)])
    for test, value in reversed(options):
        base = joined_value(test, place, value, base)
    return base
