"""Why a tape was recorded: the kind of call, and the guard that failed on all recorded tapes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from ...errors import describe
from ...functions.callees.path_messages import short
from ...ir.instruction import Guard, Outcome, Tree, ValueType


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
