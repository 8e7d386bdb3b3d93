"""Stand-ins for variables at the start of an iteration that may not read them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ..anything import Object
from ..calls.truth import truth
from ..state.values import CHOICES, Choice, DataKey, Maybe, Restart, Unjoinable, state
from ..users_code import attributes_of, has_only_attributes


class ReadBeforeWritten(Restart):
    """An iteration reads the previous one's value of a place."""

    def __init__(self, key: Object) -> None:
        self.key = key


class Unread:
    """The value of a variable that is not read.

    Attributes:
        key: of the place.
        carry: returns the carry that the variable becomes once it is read; None if the iteration must be recorded again.
        is_behind: of an object that each iteration creates: the previous one's, or the last one's after the loop.
    """

    __slots__ = ("carry", "is_behind", "key")

    def __init__(self, key: Object, carry: Callable[[Object], Object] | None = None, *, is_behind: bool = False) -> None:
        self.key, self.carry, self.is_behind = key, carry, is_behind

    def __bool__(self) -> bool:
        raise self.read()

    def __getattr__(self, name: str) -> Object:
        raise self.read()

    def read(self) -> BaseException:
        """The exception for a read."""
        if self.is_behind:
            return Unjoinable(
                "an object that an iteration of a loop makes is read in the next one or after the loop", "keep numbers, not the object"
            )
        return ReadBeforeWritten(self.key)

    def value(self) -> Object:
        """The previous iteration's value."""
        if self.carry is None or self.is_behind:
            raise self.read()
        return self.carry(self.key)


class _Rules:
    """Reads of a stand-in continue with the carry."""

    @staticmethod
    def bound(value: Unread, error: Callable[[], Exception]) -> Object:
        return _with_rules(value, "bound", error)

    @staticmethod
    def each(value: Unread, f: Callable[[Object], Object]) -> Object:
        found = value.value()
        return CHOICES[type(found)].each(found, f) if type(found) in CHOICES else f(found)

    @staticmethod
    def truth(value: Unread) -> Object:
        return truth(value.value())

    @staticmethod
    def called(value: Unread) -> Object:
        return _with_rules(value, "called")

    @staticmethod
    def read(value: Unread) -> Object:
        return value.value()

    @staticmethod
    def settled(value: Unread) -> Object:
        return _with_rules(value, "settled")


def _with_rules(value: Unread, rule: str, *args: Object) -> Object:
    found = value.value()
    return getattr(CHOICES[type(found)], rule)(found, *args) if type(found) in CHOICES else found


CHOICES[Unread] = _Rules


def is_unread(value: Object) -> bool:
    """True for stand-ins, and containers of them."""
    return unread_in(value) is not None


def unread_in(value: Object) -> Unread | None:
    """The stand-in that a value is or contains, also an object that an iteration creates; lists may be cyclic."""
    seen, pending = set[int](), [value]
    while pending:
        value = pending.pop()
        if type(value) is Unread:
            return value
        if id(value) in seen:
            continue
        seen.add(id(value))
        if type(value) is Choice:
            pending += value.options
        elif type(value) is Maybe:
            pending += value.condition, value.value
        elif type(value) is DataKey:
            pending.append(value.value)
        elif type(value) in (tuple, list, set, deque):
            pending += value
        elif type(value) is dict:
            pending += (*value, *value.values())
        elif id(value) in state.young and has_only_attributes(value):
            pending += attributes_of(value).values()
    return None
