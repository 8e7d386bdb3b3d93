"""Decides which int arguments of a guarded function are data: those that took a second value, unless Python needed one as an int."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...ir.instruction import GUARD, Operand
from ...ir.keys import static_key
from ...ir.tape import Tape
from ...numpy_api.whole_numbers import LARGEST_ARGUMENT
from ..python_state.draws.randomness import reachable_names

# Most paths of one kind of call that differ only in ints: beyond, a tape for each value is as good, and shares its program.
MOST_PATHS_BY_INTS = 8


class IntNeeded(Exception):
    """The call has to be made again with its ints specialised on."""


@dataclass(frozen=True, slots=True)
class AnyInt:
    """Placeholder, among the values that a tape is specialised on, of an int that it takes as data."""

    def __repr__(self) -> str:
        return "any int"


ANY_INT = AnyInt()
ANY_INT_KEY = static_key(ANY_INT)


@dataclass(slots=True)
class IntArguments:
    """The int arguments of a function, by position: the first value of each, and which are data.

    Attributes:
        first: the first value of each, on which tapes are specialised; later values are data.
        specialised: positions of the ints that Python needs as such.
        paths: how many tapes were recorded because a guard on ints alone came out differently.
    """

    first: dict[int, int] = field(default_factory=dict)
    specialised: frozenset[int] = frozenset()
    paths: int = 0

    def data(self, args: Sequence[Operand]) -> tuple[int, ...]:
        """The positions of the ints that are data in a call."""
        return tuple(
            k for k, a in enumerate(args)
            if type(a) is int and k not in self.specialised and self.first.setdefault(k, a) != a and abs(a) < LARGEST_ARGUMENT
        )  # fmt: skip

    def allows_path(self, tape: Tape, ordinal: int) -> bool:
        """Count a path that begins at a guard on ints alone. False if there are too many."""
        self.paths += depends_on_ints_only(tape, ordinal)
        return self.paths <= MOST_PATHS_BY_INTS


def depends_on_ints_only(tape: Tape, ordinal: int) -> bool:
    """True if a guard depends on integer inputs alone."""
    guard = next(k for k, i in enumerate(tape.instructions) if i.op is GUARD and i.params[2] == ordinal)
    waiting, seen = [guard], {guard}
    inputs = set(tape.inputs)
    while waiting:
        number = waiting.pop()
        instruction = tape.instructions[number]
        if number in inputs and (instruction.type.shape or instruction.type.dtype != np.int64):
            return False
        new = set(instruction.inputs) - seen
        seen |= new
        waiting += new
    return True


def may_be_data(f: Callable[..., object]) -> bool:
    """True if a function cannot tell an int that is data from a plain one, as `type(t) is int` would."""
    return "type" not in reachable_names(f)
