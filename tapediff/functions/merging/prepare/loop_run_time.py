"""What rewritten loops call while they are recorded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from ....ir.instruction import Operand
from ....recording.arrays.tracked import TrackedArray
from ..rules import Place, Refusing

# A loop that goes on after its end takes the time of all its turns at every call.
MOST_TURNS = 1_000

# Going over these changes nothing, and ends.
_VALUES = frozenset((list, tuple, range, dict, str, np.ndarray, TrackedArray, type({}.items()), type({}.keys()), type({}.values())))

Values = TypeVar("Values", bound=Iterable[Any])


class LoopRunTime(Refusing):
    """Called by the loops of one rewritten function."""

    # In place of a value that is never used.
    nothing = np.float64(1.0)

    def values(self, place: Place, values: Values, has_turns: bool) -> Values:
        """What a loop goes over, also after its end. `has_turns`: there must be at least one."""
        if type(values) not in _VALUES:
            raise self._refuse("iterables", place, f"it loops over {type(values).__name__}")
        length = len(values)  # type: ignore[arg-type]  # all of them have one
        if has_turns and not length:
            raise self._refuse("bound", place, "the loop has no turns")
        if length > MOST_TURNS:
            raise self._refuse("cost", place, f"the loop has {length} turns")
        return values

    def turns(self, place: Place, values: range, has_turns: bool) -> int:
        """The number of turns of a loop over a range."""
        if has_turns and not values:
            raise self._refuse("bound", place, "the loop has no turns")
        return len(values)

    def is_over(self, stop: Operand) -> bool:
        """Whether a loop has ended as plain Python sees it."""
        return stop is True
