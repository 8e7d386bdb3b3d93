"""The path trie: the tapes of one function by the outcomes of their guards, and the tape to try when one of them differs.

The paths form a trie: guard outcomes so far → next guard. Only its branching points are stored, as forks: a loop with
ten thousand guards has ten thousand outcomes on its path and perhaps three forks.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Generic, Self, TypeVar

from ...ir.instruction import Outcome
from ...ir.interpreter import GuardFailure
from ...ir.keys import outcome_key
from ...ir.tape import Tape
from ...recording.python_state.filled_arrays import Fills


class PathEntry:
    """One tape, and the guards at which other paths diverge from its own.

    Attributes:
        number: recordings are counted from 1.
        outcomes: of the guards, in order; `path` has their keys.
        forks: where other tapes diverge from this path, by guard ordinal.
        used: when it was last used, in the order of a counter.
        form: tapes of the same form have the same guards as long as their outcomes agree.
        fills: which arrays made by the function are tracked.
    """

    __slots__ = ("fills", "forks", "form", "number", "outcomes", "path", "tape", "used")

    def __init__(self, tape: Tape, number: int) -> None:
        self.tape, self.number, self.used = tape, number, 0
        self.outcomes = tuple(guard.outcome for guard in tape.guards)
        self.path = tuple(outcome_key(outcome) for outcome in self.outcomes)
        self.forks: dict[int, Fork[Any]] = {}
        self.form: Hashable = 0
        self.fills = Fills.NOTHING

    def decided(self, miss: GuardFailure) -> tuple[Outcome, ...]:
        """The outcomes up to the failed guard, and the new outcome of that guard."""
        return (*self.outcomes[: miss.ordinal], miss.outcome)

    def sibling(self, miss: GuardFailure) -> Self | None:
        """The most recently used tape that agrees with this one up to the missed guard and has its new outcome."""
        fork = self.forks.get(miss.ordinal)
        others = fork.tapes.get(outcome_key(miss.outcome)) if fork is not None else None
        return max(others, key=_last_use) if others else None


Entry = TypeVar("Entry", bound=PathEntry)


def _last_use(entry: PathEntry) -> int:
    return entry.used


class Fork(Generic[Entry]):
    """A guard at which paths diverge: the tapes for each of its outcomes."""

    __slots__ = ("ordinal", "tapes")

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        # Tuples are replaced, never mutated: calls read them without the lock.
        self.tapes: dict[Hashable, tuple[Entry, ...]] = {}

    def add(self, entry: Entry) -> None:
        side = entry.path[self.ordinal]
        tapes = self.tapes.get(side, ())
        if entry not in tapes:
            self.tapes[side] = (*tapes, entry)
        entry.forks[self.ordinal] = self

    def remove(self, entry: Entry) -> None:
        side = entry.path[self.ordinal]
        rest = tuple(v for v in self.tapes.get(side, ()) if v is not entry)
        if rest:
            self.tapes[side] = rest
        else:
            self.tapes.pop(side, None)


class Paths(Generic[Entry]):
    """The tapes that share argument types, specialised values and the user's guard value."""

    __slots__ = ("last", "tapes")

    def __init__(self) -> None:
        self.tapes: tuple[Entry, ...] = ()
        self.last: Entry | None = None

    def find(self, decided: tuple[Outcome, ...]) -> Entry | None:
        """The most recently used tape whose path starts with these outcomes."""
        prefix = tuple(outcome_key(outcome) for outcome in decided)
        return max((v for v in self.tapes if v.path[: len(prefix)] == prefix), key=_last_use, default=None)

    def insert(self, entry: Entry) -> None:
        """Add a tape, and the forks where its path diverges from the others'. It replaces a tape of its path with fewer guards."""
        for other in self.tapes:
            if entry.path[: len(other.path)] == other.path:
                self.remove(other)
        for other in self.tapes:
            ordinal = _first_difference(entry.path, other.path)
            # All tapes with this difference share the path up to it, so one fork serves them.
            fork = other.forks.get(ordinal) or entry.forks.get(ordinal) or Fork[Entry](ordinal)
            fork.add(entry)
            fork.add(other)
        self.tapes = (*self.tapes, entry)
        self.last = entry

    def remove(self, entry: Entry) -> None:
        for fork in entry.forks.values():
            fork.remove(entry)
        self.tapes = tuple(v for v in self.tapes if v is not entry)
        if self.last is entry:
            self.last = max(self.tapes, key=_last_use, default=None)


def _first_difference(a: tuple[object, ...], b: tuple[object, ...]) -> int:
    return next(k for k, (left, right) in enumerate(zip(a, b)) if left != right)
