"""One tape of a guarded function: its path in the trie, its compiled form, and how to call it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...errors import GuardFailed
from ...functions.callees.path_trie import PathEntry
from ...ir.containers import structured
from ...ir.instruction import FLOAT64, Operand, Tree
from ...ir.interpreter import GuardFailure, run
from ...ir.outputs import Out, as_number, deliver
from ...ir.tape import Tape
from ..compiled_tape import CompiledTape
from ..evaluate.shared_programs import Program
from ..tapes.gradient_tape import gradient_tape_in_use
from ..tapes.operator_tapes import Operator
from .keyed_call import CallKey
from .reason import Reason

if TYPE_CHECKING:
    pass


# The result of a call on one path: a pair of value and gradients, or a list of outputs; a GuardFailure if the path does not hold.
Answer: TypeAlias = Tree


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

    __slots__ = (
        "constants", "dtype", "hits", "is_direct", "key", "program", "rare", "reason", "report", "seconds", "shape",
    )  # fmt: skip

    def __init__(
        self, tape: Tape, key: CallKey, number: int, reason: Reason, seconds: float, is_direct: bool, program: CompiledProgram
    ) -> None:  # fmt: skip
        super().__init__(tape, number)
        self.program = program
        self.constants = self.program.constants(tape)
        self.key, self.reason, self.seconds, self.is_direct = key, reason, seconds, is_direct
        self.hits = self.rare = 0
        self.report: Any = None
        self.shape = tape.input_types[0].shape if tape.inputs else ()
        self.dtype = tape.input_types[0].dtype if tape.inputs else FLOAT64

    @property
    def compiled(self) -> CompiledTape:
        return self.program.compiled

    @property
    def replays(self) -> int:
        """The number of NumPy replays of its program."""
        return self.program.replays

    @replays.setter
    def replays(self, count: int) -> None:
        self.program.replays = count

    def attempt(self, argnums: tuple[int, ...] | None, inputs: Sequence[Operand], outs: Out) -> Answer:
        """CompiledTape.attempt on the call's inputs."""
        return self.compiled.attempt(argnums, [*inputs, *self.constants], outs)

    def operate(
        self, operator: Operator, inputs: Sequence[Operand], outs: Out, decided: int, is_replayed: bool
    ) -> list[Operand] | GuardFailure:
        """The outputs of an operator's tape, by its kernel or with NumPy. For NumPy, the first `decided` guards hold.

        Args:
            inputs: of the call, the constants, and the operator's vectors.
        """
        if not is_replayed:
            return self.compiled.run_operator(operator, inputs, outs)
        try:
            return run(operator.tape(self.program.tape), inputs, decided)
        except GuardFailed as failure:
            return GuardFailure(failure.ordinal, failure.outcome)

    def kernel_call(self, key: tuple[int, ...] | Operator | None) -> Callable[..., Tree]:
        """A kernel, called with the call's arguments, tangents or cotangents, and arrays for the results."""
        call, first = self.compiled.kernel(key).call, len(self.program.tape.inputs) - len(self.constants)
        if not self.constants:
            return call
        constants = list(map(np.array, self.constants))
        return lambda *arrays: call(*arrays[:first], *constants, *arrays[first:])

    def replay(self, argnums: tuple[int, ...] | None, inputs: Sequence[Operand], outs: Out, decided: int) -> Answer:
        """CompiledTape.attempt with NumPy; the first `decided` guards hold and are not evaluated."""
        tape = self.program.tape.without_aux()
        if argnums is not None:
            tape = gradient_tape_in_use(tape, argnums)
        try:
            outputs = run(tape, [*inputs, *self.constants], decided)
        except GuardFailed as failure:
            return GuardFailure(failure.ordinal, failure.outcome)
        if argnums is None:
            values = deliver(outputs, None, True)
            return structured(tape.result, tape.returns_tuple, [as_number(values[0]), *values[1:]] if values else values), ()
        return as_number(deliver(outputs[:1], None, False)), deliver(outputs[1:], outs, True)
