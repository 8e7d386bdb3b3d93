"""Keeps the tapes of one function by path: what its guards came to, and which tape to try when one of them differs.

The paths form a trie: guard outcomes so far → next guard. Only its branching points are stored, as forks: a loop with
ten thousand guards has ten thousand outcomes on its path and perhaps three forks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import GuardFailed
from ..ir.instruction import FLOAT64
from ..ir.interpreter import Miss, run
from ..ir.keys import outcome_key
from ..ir.outputs import deliver
from ..ir.tape import Tape
from ..targets.compiled_tape import CompiledTape
from ..targets.derived_tapes import gradient_tape_in_use
from ..targets.shared_programs import Program


class Variant:
    """One tape of a guarded function, its compiled form, its path, and how often it was used.

    Attributes:
        number: recordings are counted from 1.
        outcomes: of the guards, in order; `path` holds their keys.
        forks: where other tapes leave this one's path, by guard ordinal.
        hits: calls that it answered, beside those that recorded it.
        used: when it was last used, in the order of a counter.
        is_direct: its inputs are the call's arguments, in order: nothing is specialised on.
        program, constants: what is differentiated and compiled for it, and what that takes after the arguments.
    """

    __slots__ = (
        "call", "constants", "dtype", "forks", "hits", "is_direct", "jumps", "key", "number", "outcomes", "path", "program",
        "reason", "seconds", "shape", "tape", "used",
    )  # fmt: skip

    def __init__(
        self, tape: Tape, key: Any, number: int, reason: Any, seconds: float, is_direct: bool, program: Program | None = None
    ) -> None:  # fmt: skip
        self.tape = tape
        self.program = Program(tape) if program is None else program
        self.constants = self.program.constants(tape)
        self.key, self.number, self.reason, self.seconds, self.is_direct = key, number, reason, seconds, is_direct
        self.outcomes = tuple(guard.outcome for guard in tape.guards)
        self.path = tuple(outcome_key(outcome) for outcome in self.outcomes)
        self.forks: dict[int, Fork] = {}
        self.hits = self.used = 0
        # The kernel of value and gradient by the first argument, once there is one, with the type of that gradient.
        self.call: Any = None
        # From what this kernel returns at a failed guard to the tape that answered there last.
        self.jumps: dict[complex, Variant] = {}
        self.shape = tape.input_types[0].shape if tape.inputs else ()
        self.dtype = tape.input_types[0].dtype if tape.inputs else FLOAT64

    @property
    def compiled(self) -> CompiledTape:
        return self.program.compiled

    @property
    def replays(self) -> int:
        """How many answers of its program came from the NumPy replay."""
        return self.program.replays

    @replays.setter
    def replays(self, count: int) -> None:
        self.program.replays = count

    def attempt(self, argnums: tuple[int, ...] | None, inputs: Sequence[Any], outs: Any) -> Any:
        """CompiledTape.attempt on the call's inputs."""
        return self.compiled.attempt(argnums, [*inputs, *self.constants], outs)

    def note_jump(self, miss: Miss, taken: Variant) -> None:
        """Remember which tape answered after this one missed, where the outcome is a number."""
        if isinstance(miss.outcome, (bool, int)):
            self.jumps[complex(miss.ordinal + 1, miss.outcome)] = taken

    def sibling(self, miss: Miss) -> Variant | None:
        """The most recently used tape that agrees with this one up to the missed guard and has its new outcome."""
        fork = self.forks.get(miss.ordinal)
        others = fork.tapes.get(outcome_key(miss.outcome)) if fork is not None else None
        return max(others, key=_last_use) if others else None

    def replay(self, argnums: tuple[int, ...] | None, inputs: Sequence[Any], outs: Any, settled: int) -> Any:
        """CompiledTape.attempt with NumPy; the first `settled` guards have been decided and are not looked at again."""
        tape = self.program.tape
        if argnums is not None:
            tape = gradient_tape_in_use(tape, argnums)
        try:
            outputs = run(tape, [*inputs, *self.constants], settled)
        except GuardFailed as failure:
            return Miss(failure.ordinal, failure.outcome)
        value = deliver(outputs[:1], None, False)
        value = float(value) if type(value) is np.float64 else value
        if argnums is not None:
            return value, deliver(outputs[1:], outs, True)
        return ((value, *deliver(outputs[1:], None, True)) if tape.returns_tuple else value), ()


def _last_use(variant: Variant) -> int:
    return variant.used


class Fork:
    """A guard at which paths part: the tapes on each side of it, by the guard's outcome."""

    __slots__ = ("ordinal", "tapes")

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        # Tuples that are replaced, never changed: calls read them without the lock.
        self.tapes: dict[Any, tuple[Variant, ...]] = {}

    def add(self, variant: Variant) -> None:
        side = variant.path[self.ordinal]
        tapes = self.tapes.get(side, ())
        if variant not in tapes:
            self.tapes[side] = (*tapes, variant)
        variant.forks[self.ordinal] = self

    def remove(self, variant: Variant) -> None:
        side = variant.path[self.ordinal]
        rest = tuple(v for v in self.tapes.get(side, ()) if v is not variant)
        if rest:
            self.tapes[side] = rest
        else:
            self.tapes.pop(side, None)


class Paths:
    """The tapes that share argument types, specialised values and the user's guard value."""

    __slots__ = ("last", "tapes")

    def __init__(self) -> None:
        self.tapes: tuple[Variant, ...] = ()
        self.last: Variant | None = None

    def find(self, settled: tuple[Any, ...]) -> Variant | None:
        """The most recently used tape whose path starts with these outcomes."""
        prefix = tuple(outcome_key(outcome) for outcome in settled)
        return max((v for v in self.tapes if v.path[: len(prefix)] == prefix), key=_last_use, default=None)

    def insert(self, variant: Variant) -> None:
        """Add a tape and the forks where its path leaves the others'."""
        for other in self.tapes:
            ordinal = _first_difference(variant.path, other.path)
            # All tapes with this difference share the path up to it, so one fork serves them.
            fork = other.forks.get(ordinal) or variant.forks.get(ordinal) or Fork(ordinal)
            fork.add(variant)
            fork.add(other)
        self.tapes = (*self.tapes, variant)
        self.last = variant

    def remove(self, variant: Variant) -> None:
        for fork in variant.forks.values():
            fork.remove(variant)
        self.tapes = tuple(v for v in self.tapes if v is not variant)
        if self.last is variant:
            self.last = max(self.tapes, key=_last_use, default=None)


def _first_difference(a: tuple[Any, ...], b: tuple[Any, ...]) -> int:
    return next(k for k, (left, right) in enumerate(zip(a, b)) if left != right)
