"""Why a tape was recorded: the kind of call, and the guard that failed on all recorded tapes."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from ...errors import describe
from ...functions.callees.path_messages import short
from ...ir.instruction import Guard, Outcome, Tree, ValueType

# explain() gives the reasons of this many recordings, the latest.
REASONS_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Specialisation:
    """The kind of a call, as a user reads it: everything in the key of a tape except its path.

    Attributes:
        types: of the inputs.
        static: position, type and value of the static arguments.
        guard_value: of the user's guard: one value, or empty.
    """

    types: tuple[ValueType, ...]
    static: tuple[tuple[int, type, Tree], ...]
    guard_value: tuple[Hashable, ...]

    def __str__(self) -> str:
        parts = [str(type_) for type_ in self.types]
        parts += [
            f"argument {position} = {short(value)}" if position >= 0 else f"arguments {value!r}" for position, _, value in self.static
        ]
        parts += [f"guard = {short(value)}" for value in self.guard_value]
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a tape was recorded: the first call of its kind, a guard with another outcome, or a changed environment.

    Attributes:
        changed: the name of the changed variable.
        is_again: an earlier tape of this path was dropped for newer ones.
    """

    called_with: Specialisation
    guard: Guard | None = None
    outcome: Outcome | None = None
    changed: str = ""
    is_again: bool = False

    def __str__(self) -> str:
        if self.changed:
            return f"{self.changed}, which the function reads, has changed; called with {self.called_with}"
        if self.guard is None:
            text = f"{'' if self.is_again else 'first '}call with {self.called_with}"
        else:
            text = f"{self.guard.site or 'unknown line'} → {describe(self.outcome)}, was {describe(self.guard.outcome)}"
        return f"{text}; again, as its tape was dropped for newer ones (max_tapes)" if self.is_again else text


@dataclass(frozen=True, slots=True)
class LastFailure:
    """A call without a tape, with the closest kept tape.

    Attributes:
        reason: the kind of call, and the guard that failed.
        closest: the number of that tape; it has the longest path in common.
        takes: the kind of call that the closest tape was recorded for.
        differs: how this call differs from that.
        sides: the comparisons of the guard, evaluated at this call.
    """

    reason: Reason
    closest: int | None
    takes: Specialisation | None = None
    differs: str = ""
    sides: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        if self.reason.guard is None:
            differs = f"differs in: {self.differs}"
            return [str(self.reason), f"closest: tape {self.closest}, for {self.takes}", *[differs] * bool(self.differs)]
        return [f"called with {self.reason.called_with}", f"closest: tape {self.closest}", f"parted at {self.reason}",
                *self.sides]  # fmt: skip


@dataclass(slots=True)
class Counts:
    """What has happened to a GuardedTape so far, in all environments.

    Attributes:
        misses: calls without a recorded path.
        recordings, seconds_recording: tapes recorded, and the time it took.
        evictions, dropped_hits, dropped_seconds: the number of dropped tapes, their hits and their seconds of compilation.
        reasons: why each tape was recorded, by its number; the latest of them.
        last_failure: the last call without a tape.
    """

    misses: int = 0
    recordings: int = 0
    seconds_recording: float = 0.0
    evictions: int = 0
    dropped_hits: int = 0
    dropped_seconds: float = 0.0
    reasons: deque[tuple[int, Reason]] = field(default_factory=lambda: deque(maxlen=REASONS_KEPT))
    last_failure: LastFailure | None = None
