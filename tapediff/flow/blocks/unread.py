"""Stand-ins for variables at the start of an iteration that may not read them."""

from __future__ import annotations

from ..anything import Object
from ..state.values import CHOICES, Choice, Maybe, Restart, Unjoinable


class ReadBeforeWritten(Restart):
    """An iteration reads the previous one's value of a place."""

    def __init__(self, key: Object) -> None:
        self.key = key


class Unread:
    """The value of a variable that is not read.

    Attributes:
        key: of the place.
        is_behind: it is a value after the loop, of an object that each iteration creates.
    """

    __slots__ = ("is_behind", "key")

    def __init__(self, key: Object, *, is_behind: bool = False) -> None:
        self.key, self.is_behind = key, is_behind

    def __bool__(self) -> bool:
        raise self.read()

    def __getattr__(self, name: str) -> Object:
        raise self.read()

    def read(self) -> BaseException:
        """The exception for a read."""
        if self.is_behind:
            return Unjoinable(
                "an object that a loop makes in its last iteration is read after the loop", "keep numbers, not the object"
            )
        return ReadBeforeWritten(self.key)


def _read(value: Unread, *_: Object) -> Object:
    raise value.read()


class _Rules:
    bound = each = truth = called = settled = staticmethod(_read)


CHOICES[Unread] = _Rules


def is_unread(value: Object) -> bool:
    """True for stand-ins, and containers of them."""
    return unread_in(value) is not None


def unread_in(value: Object) -> Unread | None:
    """The stand-in that a value is or contains; lists may be cyclic."""
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
        elif type(value) in (tuple, list):
            pending += value
    return None
