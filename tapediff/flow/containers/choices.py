"""Operations on choices: a branch on which one it is."""

from __future__ import annotations

import functools
from collections.abc import Callable

from ...base.current_recording import current_recorder
from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..calls.truth import truth
from ..state.fork import decide, decided, exclude, fork_value, observed
from ..state.joins import most_options, where
from ..state.values import CHOICES, UNBOUND, Choice, Unjoinable, both, either, is_data, known, negated, state


def possible(choice: Choice) -> list[int]:
    """The options that it may be on this path."""
    facts = [known(c) if is_data(c) else c for c in choice.conditions]
    if True in facts:
        return [facts.index(True)]
    return [k for k, fact in enumerate(facts) if fact is not False]


def each(choice: Choice, op: Callable[[Object], Object]) -> Object:
    """The results of an operation on each option, joined."""
    left = possible(choice)
    if len(left) > most_options(choice.options[k] for k in left):
        return op(settled(choice))

    def at(position: int) -> Object:
        k = left[position]
        value = choice.options[k]
        if value is UNBOUND:
            raise UnboundLocalError("a variable is read that has no value on this path")
        if position == len(left) - 1:
            return op(value)
        return fork_value(choice.conditions[k], lambda: op(value), lambda: at(position + 1))

    unbound = [k for k in left if choice.options[k] is UNBOUND]
    if unbound and len(left) > 1:
        exclude(choice.conditions[unbound[0]], lambda: UnboundLocalError("a variable is read that has no value on this path"))
        left.remove(unbound[0])
    return at(0)


def as_value(value: Object) -> Object:
    """A choice of arrays as one whose entries are chosen, for operations that only read them; other values as they are."""
    if type(value) is not Choice:
        return value
    options = value.options
    kind = options[0].type if type(options[0]) is TrackedArray else None
    if kind is None or not kind.shape or any(type(option) is not TrackedArray or option.type != kind for option in options):
        return value
    left = possible(value)
    for option in options:
        option._refresh()
    key = id(current_recorder()), tuple(left), *(options[k]._id for k in left)
    if value.read is None or value.read[0] != key:
        *others, last = left
        found = options[last]
        for k in reversed(others):
            found = where(value.conditions[k], options[k], found)
        value.read = key, found
    return value.read[1]


def bound(choice: Choice, error: Callable[[], Exception]) -> Object:
    """A choice where it has a value; elsewhere it is an error to read it."""
    without = next((k for k, option in enumerate(choice.options) if option is UNBOUND), None)
    if without is None:
        return choice
    exclude(choice.conditions[without], error)
    kept = [k for k in range(len(choice.options)) if k != without]
    if len(kept) == 1:
        return choice.options[kept[0]]
    conditions = [choice.conditions[k] for k in kept[1:]]
    # One of them holds behind the error.
    first = negated(functools.reduce(either, conditions))
    return Choice(tuple(choice.options[k] for k in kept), (first, *conditions))


def truth_of(choice: Choice) -> Object:
    """When the option is true."""
    found: Object = False
    for k in possible(choice):
        if choice.options[k] is UNBOUND:
            return truth(each(choice, lambda value: value))
        t = truth(choice.options[k])
        hit = both(choice.conditions[k], t)
        if hit is not False:
            found = hit if found is False else _or(found, hit)
    left = possible(choice)
    if len(left) == 1:
        return truth(choice.options[left[0]])
    if all(type(truth(choice.options[k])) is bool and truth(choice.options[k]) for k in left):
        return True
    return found


def _or(a: Object, b: Object) -> Object:
    if type(a) is bool:
        return True if a else b
    return a | b


def settled(value: Object) -> Object:
    """The option that it is now, by guards."""
    while type(value) is Choice:
        decide("it must be known which of several things a value is")
        left = possible(value)
        for k in left[:-1]:
            if decided(value.conditions[k]):
                value = value.options[k]
                break
        else:
            value = value.options[left[-1]]
        if value is UNBOUND:
            raise UnboundLocalError("a variable is read that has no value on this path")
    return value


def called(choice: Choice) -> Callable[..., Object]:
    """A choice of functions as one."""
    from ..calls.callables import call

    return lambda *args, **named: each(choice, lambda f: call(f, *args, **named))


class _Rules:
    bound = staticmethod(bound)
    each, truth, called, settled = staticmethod(each), staticmethod(truth_of), staticmethod(called), staticmethod(settled)


CHOICES[Choice] = _Rules


def unpacked_choice(choice: Choice, count: int | None) -> Object:
    """The entries of a choice of sequences."""
    if count is None:
        return list(settled(choice))
    return [each(choice, lambda value, k=k: list(value)[k]) for k in range(count)]


__all__ = ["Unjoinable", "called", "each", "negated", "observed", "settled", "state", "where"]
