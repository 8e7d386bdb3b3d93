"""Operations on choices: a branch for each option."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable

import numpy as np

from ...base.current_recording import current_recorder
from ...ir.instruction import Operand
from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..calls.callables import call
from ..calls.truth import truth
from ..state.fork import decide, decided, exclude, select
from ..state.joins import CONSTANTS, is_constant, join, join_conditions, most_options, one_of, where
from ..state.options import fork_options
from ..state.values import (
    CHOICES,
    UNBOUND,
    Choice,
    Unjoinable,
    any_of,
    both,
    holds_several,
    is_by_index,
    is_data,
    known,
    lifted,
    state,
    without_unbound,
)
from ..users_code import shared_method


def possible(choice: Choice) -> list[int]:
    """The options possible on this path."""
    facts = [known(c) if is_data(c) else c for c in choice.conditions]
    if True in facts:
        return [facts.index(True)]
    return [k for k, fact in enumerate(facts) if fact is not False]


_NO_VALUE = "a variable is read that has no value on this path"


def each(choice: Choice, op: Callable[[Object], Object]) -> Object:
    """Apply an operation to each option, and join the results."""
    left = possible(choice)
    if len(left) > most_options(choice.options[k] for k in left):
        return op(settled(choice))
    unbound = next((k for k in left if choice.options[k] is UNBOUND), None)
    if unbound is not None:
        exclude(choice.conditions[unbound] if len(left) > 1 else True, lambda: UnboundLocalError(_NO_VALUE))
        left.remove(unbound)
    if len(left) == 1:
        return op(choice.options[left[0]])
    return fork_options([choice.conditions[k] for k in left], [functools.partial(op, choice.options[k]) for k in left])


def kinds_of(value: Object) -> set[type]:
    """The types of a choice's possible options, or the type of another value."""
    if is_by_index(value):
        return set(map(type, value.options))
    return {type(value.options[k]) for k in possible(value)} if type(value) is Choice else {type(value)}


def mapped(op: Callable[..., Object], *args: Object, is_pure: bool = False) -> Object:
    """Apply an operation to each option of a choice; without running sides if it has no side effects.

    Args:
        is_pure: it has none for all values; else none for constants.
    """
    choice = next((argument for argument in args if type(argument) is Choice), None)
    if choice is None or not all(argument is choice or type(argument) in CONSTANTS for argument in args):
        return lifted(op, *args)
    left = possible(choice)
    if not is_pure and not all(map(is_constant, (choice.options[k] for k in left))):
        return lifted(op, *args)
    try:
        results = [op(*(choice.options[k] if argument is choice else argument for argument in args)) for k in left]
    except Exception:  # noqa: BLE001 -- raised again on the side of its option
        return lifted(op, *args)
    if not is_pure and not all(map(is_constant, results)):
        return lifted(op, *args)
    if len(left) == 1:
        return results[0]
    conditions = [choice.conditions[k] for k in left]
    try:
        result = join(conditions[0], *results) if len(left) == 2 else one_of(list(zip(conditions, results)))
    except Unjoinable:
        return lifted(op, *args)
    state.report.note("choice" if holds_several(result) else "select", current_recorder().site_of(sys._getframe(1)))
    return result


def as_value(value: Object) -> Object:
    """A choice of arrays as one array of selected entries, for operations that only read; other values unchanged."""
    if type(value) is not Choice:
        return value
    options = value.options
    if any(type(option) is not TrackedArray and type(option) is not np.ndarray for option in options):
        return value
    first = options[0]
    if not first.shape or any(option.shape != first.shape or option.dtype != first.dtype for option in options):
        return value
    left = possible(value)
    key = id(current_recorder()), *((k, _version(options[k])) for k in left)
    if value.read is None or value.read[0] != key:
        *others, last = left
        found = options[last]
        for k in reversed(others):
            found = where(value.conditions[k], options[k], found)
        value.read = key, found
    return value.read[1]


def _version(array: Object) -> Object:
    """A key that changes with the array's entries."""
    if type(array) is np.ndarray:
        return array.tobytes()
    array._refresh()
    return array._id


def bound(choice: Choice, error: Callable[[], Exception]) -> Object:
    """A choice without its unbound option, whose read is an error."""
    without = next((k for k, option in enumerate(choice.options) if option is UNBOUND), None)
    if without is None:
        return choice
    exclude(choice.conditions[without], error)
    return without_unbound(choice)


def truth_of(choice: Choice) -> Object:
    """The condition that the choice is true."""
    left = possible(choice)
    if any(choice.options[k] is UNBOUND for k in left):
        return truth(each(choice, lambda value: value))
    truths = [truth(choice.options[k]) for k in left]
    if len(left) == 1 or all(t is True for t in truths):
        return truths[0]
    return any_of(both(choice.conditions[k], t) for k, t in zip(left, truths))


def settled(value: Object) -> Object:
    """The option at this point, by guards."""
    while type(value) is Choice:
        reason = decide(
            "code needs to know which of several objects data have chosen", "test it before (`if value is None:`)"
        )
        left = possible(value)
        for k in left[:-1]:
            if decided(value.conditions[k], reason):
                value = value.options[k]
                break
        else:
            value = value.options[left[-1]]
        if value is UNBOUND:
            raise UnboundLocalError(_NO_VALUE)
    return value


def called(choice: Choice) -> Callable[..., Object]:
    """A choice of functions as one function."""
    def run(*args: Object, **named: Object) -> Object:
        if (method := shared_method(kinds_of(choice), "__call__")) is not None:
            return call(method, choice, *args, **named)
        return each(choice, lambda f: call(f, *args, **named)) if named else mapped(call, choice, *args)

    return run


class _Rules:
    bound = staticmethod(bound)
    each, truth, called, settled = staticmethod(each), staticmethod(truth_of), staticmethod(called), staticmethod(settled)

    @staticmethod
    def read(choice: Choice) -> Object:
        return choice


CHOICES[Choice] = _Rules


def by_exchanges(rows: list[tuple[Object, ...]], is_before: Callable[[Object, Object], Object]) -> list[tuple[Object, ...]]:
    """Sort rows stably, by swaps of neighbours. Each row begins with its condition."""
    for end in range(len(rows) - 1, 0, -1):
        for k in range(end):
            pair = rows[k], rows[k + 1]
            swap = is_before(*pair[::-1])
            if swap is not False:
                rows[k : k + 2] = pair[::-1] if swap is True else [_row(swap, pair[1], pair[0]), _row(swap, *pair)]
    return rows


def _row(test: Operand, yes: tuple[Object, ...], no: tuple[Object, ...]) -> tuple[Object, ...]:
    """Select a row."""
    return join_conditions(test, yes[0], no[0]), *(select(test, a, b) for a, b in zip(yes[1:], no[1:]))
