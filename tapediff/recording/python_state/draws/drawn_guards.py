"""Refuses guards that depend on a number drawn at random, or read from a clock, while recording: the tape would follow one draw for ever.

The origin of a number is not known, so the function is recorded again at the same point to see whether the number changes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ....errors import TapediffError, UnsupportedFunction
from ....ir.instruction import CONSTANT, Guard
from ....ir.tape import Tape
from .randomness import Draws

# Draws with few outcomes, such as of a coin, may repeat by chance.
MOST_RECORDINGS = 4

_CLOCKS = (time.time, time.monotonic, time.perf_counter, time.time_ns, time.monotonic_ns, time.perf_counter_ns)


class DrawnGuards:
    """Looks for such guards after a recording.

    Args:
        functions, values: as in Draws.
    """

    __slots__ = ("_began", "_process", "draws")

    def __init__(self, functions: Sequence[object], values: Sequence[object] = ()) -> None:
        self.draws = Draws(functions, values)
        self._began = [clock() for clock in _CLOCKS]
        self._process = os.getpid()

    def refuse(self, tape: Tape, again: Callable[[], Tape]) -> None:
        """Raise if a guard of a tape depends on a constant that changes when the function is recorded again.

        Args:
            again: records the function at the same point; called if a generator has advanced or a clock was read.
        """
        # A fork gives the child's generators other states, and must not be repeated.
        if not tape.guard_count or os.getpid() != self._process or not (self.draws.have_advanced() or self._has_time(tape)):
            return
        for _ in range(MOST_RECORDINGS):
            try:
                other = again()
            except TapediffError:
                continue  # other draws took a path that cannot be recorded
            guard = _first_drawn(tape, other)
            if guard is not None:
                raise UnsupportedFunction(
                    f"a number that {tape.name} draws at random, or reads from a clock, decides a test of a tracked value; its tape would "
                    "follow this one number at every call",
                    at=guard.site, got=f"another number each time that {tape.name} is recorded here",
                    fix="draw outside and pass the number as an argument, td.Constant(draw), or draw by td.random from a key that is one",
                )  # fmt: skip

    def _has_time(self, tape: Tape) -> bool:
        """True if a constant is a time at which it was recorded."""
        earliest = min(self._began)
        constants = (i.params[0] for i in tape.all_of(CONSTANT))
        numbers = (value.item() for value in constants if not value.ndim and value.dtype.kind in "fi")  # type: ignore[union-attr]
        later = [value for value in numbers if value >= earliest]
        return any(began <= value <= clock() for value in later for began, clock in zip(self._began, _CLOCKS))


def _first_drawn(tape: Tape, other: Tape) -> Guard | None:
    """The first guard common to both tapes that depends on different constants in each."""
    seen: set[tuple[int, int]] = set()
    for guard, counterpart in zip(tape.guards, other.guards):
        if guard.kind != counterpart.kind or guard.site != counterpart.site:
            return None
        if any(_differ(tape, other, *pair) for pair in _ancestors(tape, other, guard.value, counterpart.value, seen)):
            return guard
    return None


def _ancestors(tape: Tape, other: Tape, mine: int, theirs: int, seen: set[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The pairs of values that two values are computed from, except those in `seen`, to which they are added."""
    pending = [(mine, theirs)]
    while pending:
        pair = pending.pop()
        if pair not in seen:
            seen.add(pair)
            yield pair
            pending += zip(tape.instructions[pair[0]].inputs, other.instructions[pair[1]].inputs)


def _differ(tape: Tape, other: Tape, mine: int, theirs: int) -> bool:
    """True if two values come from different operations, or are different constants."""
    a, b = tape.instructions[mine], other.instructions[theirs]
    if a.op is not b.op or len(a.inputs) != len(b.inputs):
        return True
    return a.op is CONSTANT and not np.array_equal(a.params[0], b.params[0], equal_nan=a.type.dtype.kind == "f")  # type: ignore[union-attr]
