"""One tape of a guarded function: its path in the trie, its compiled form, and how to call it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...functions.callees.path_trie import PathEntry
from ...ir.instruction import Operand, Tree
from ...ir.interpreter import GuardFailure, attempt
from ...ir.tape import Tape
from ..compiled_tape import CompiledTape, Key
from ..evaluate.shared_programs import Program
from ..tapes.gradient_tape import gradient_tape_in_use
from ..tapes.operator_tapes import Operator
from .keyed_call import CallKey
from .reason import Reason

# States of tapes that are not compiled yet: before and after the first result.
NEW, ONCE = 2, 1


class CompiledProgram(Program):
    """A program of a guarded function, compiled once for all tapes that differ in constants alone.

    Attributes:
        compiled: its kernels.
        replays: the number of NumPy replays.
    """

    __slots__ = ("compiled", "replays")

    def __init__(
        self, base: Tape, lifted: tuple[int, ...] = (), *, backend: str, memory: int | None = None, threads: int | None = None
    ) -> None:  # fmt: skip
        super().__init__(base, lifted)
        self.compiled = CompiledTape(self.tape, backend, memory, threads)
        self.replays = 0


class Variant(PathEntry):
    """One tape of a guarded function, its compiled form, its path, and its use count.

    Attributes:
        hits: calls that it answered, not counting those that recorded it.
        is_direct: its inputs are the call's arguments, in order: no argument is specialised on.
        rare: NEW or ONCE while it is not worth compiling, as paths hardly recur so far; else 0.
        report: what was merged and what was not, if merging was tried: a flow.report.Report.
        program: the tape to differentiate and compile; constants: its inputs after the arguments.
    """

    __slots__ = ("constants", "hits", "is_direct", "key", "program", "rare", "reason", "report", "seconds")

    def __init__(
        self, tape: Tape, key: CallKey, number: int, reason: Reason, seconds: float, is_direct: bool, program: CompiledProgram
    ) -> None:  # fmt: skip
        super().__init__(tape, number)
        self.program = program
        self.constants = self.program.constants(tape)
        self.compiled.cause = reason
        self.key, self.reason, self.seconds, self.is_direct = key, reason, seconds, is_direct
        self.hits = self.rare = 0
        self.report: Any = None

    @property
    def compiled(self) -> CompiledTape:
        return self.program.compiled

    def kernel_call(self, key: tuple[int, ...] | Operator | None) -> Callable[..., Tree]:
        """A kernel, called with the call's arguments, tangents or cotangents, and arrays for the results."""
        call, first = self.compiled.kernel(key).call, len(self.program.tape.inputs) - len(self.constants)
        if not self.constants:
            return call
        constants = list(map(np.array, self.constants))
        return lambda *arrays: call(*arrays[:first], *constants, *arrays[first:])

    def replay(self, key: Key, inputs: Sequence[Operand], decided: int, vectors: Sequence[Operand] = ()) -> list[Operand] | GuardFailure:
        """CompiledTape.run_operator with NumPy, on a call's inputs; the first `decided` guards hold and are not evaluated.

        Args:
            vectors: tangents or cotangents.
        """
        tape = self.program.tape
        if isinstance(key, Operator):
            tape = key.tape(tape)
        else:
            tape = tape.without_aux() if key is None else gradient_tape_in_use(tape, key)
        return attempt(tape, [*inputs, *self.constants, *vectors], decided)
