"""Loop bodies with one call in them: the paths of the called function become paths of the body.

An iteration is then one run of native code with its values in registers. A call would pass arguments and results
through memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...errors import GuardFailed
from ...ir.instruction import INT_SCALAR, Instruction, Operand
from ...ir.interpreter import GuardFailure, run
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.control.calls import CALL
from ...passes.loops.loop_builder import Items, with_loops
from .callee import Callee, prepared_once, without_guards
from .path_trie import PathEntry


def branching_calls(tape: Tape) -> list[int]:
    """The calls on a tape that may take several paths."""
    return [n for n, i in enumerate(tape.instructions) if i.op is CALL and i.params[0].may_branch]


class InlinedCallee(Callee):
    """A tape with one branching call, as a callee. Variant k inlines variant k of the called function.

    Args:
        tape: without guards of its own.
        call: the number of the call instruction.
    """

    may_branch = True

    def __init__(self, name: str, tape: Tape, call: int) -> None:
        from ...passes.simplify.dead_code import dead_code

        self.called: Callee = tape.instructions[call].params[0]
        super().__init__(name, tape.input_types, is_compiled=self.called.is_compiled)
        self.out_types = tape.output_types
        self._tape, self._call = tape, call
        operands = tape.instructions[call].inputs
        self._before = dead_code(replace(tape, instructions=tape.instructions[:call], outputs=operands))

    def variant_tape(self, number: int) -> Tape:
        made = self._made_once("guarded", number, lambda: self._with(self.called.guarded_tape(number), number))
        # A search begins with the path taken last. If constants of this tape rule it out, keep the tape unsimplified: its guards fail.
        try:
            return prepared_once(made)
        except GuardFailed:
            return made

    def plain_tape(self, number: int, inputs: Sequence[Operand] | None) -> Tape:
        def made() -> Tape:
            given = None if inputs is None else self._arguments(inputs)
            return without_guards(self._with(self.called.plain_tape(number, given), number))

        return self._made_once("plain", number, made)

    def missed(self, number: int | None, miss: GuardFailure | None, inputs: Sequence[Operand]) -> int:
        return self.called.missed(number, miss, self._arguments(inputs))

    def answer(self, number: int | None, inputs: Sequence[Operand]) -> tuple[list[Operand], int]:
        if number is None:
            _, number = self.called.answer(None, self._arguments(inputs))
        return super().answer(number, inputs)

    def may_compile(self, number: int) -> bool:
        return self.called.may_compile(number)

    def known_paths(self) -> dict[int, PathEntry | None]:
        return self.called.known_paths()

    def _arguments(self, inputs: Sequence[Operand]) -> list[Operand]:
        """The arguments of the called function."""
        return run(self._before, inputs)

    def _with(self, inner: Tape, number: int) -> Tape:
        """Inline a variant's tape of the called function at the call."""

        def emit(made: Rewriter, call: Instruction, _: bool) -> Items:
            return [*made.splice(inner, call.inputs), made.constant(np.int64(number), INT_SCALAR)].__getitem__

        return with_loops(self._tape, lambda _, n: n == self._call or None, emit, CALL)
