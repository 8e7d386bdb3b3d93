"""Removes instructions that no output, guard or input needs.

A call that may take another path is a guard, too: what its results look like is part of the recording.
"""

from __future__ import annotations

from ...ir.instruction import GUARD, INPUT
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.control.calls import CALL


def dead_code(tape: Tape) -> Tape:
    needed = [False] * len(tape.instructions)
    for output in tape.outputs:
        needed[output] = True
    for number in range(len(tape.instructions) - 1, -1, -1):
        op, inputs, params, *_ = tape.instructions[number]
        if op is GUARD or op is INPUT or (op is CALL and params[0].may_branch):
            needed[number] = True
        if needed[number]:
            for i in inputs:
                needed[i] = True
    if all(needed):
        return tape
    rewriter = Rewriter(tape)
    rewriter.copy_all(needed)
    return rewriter.finish()
