"""In the body of a reverse loop: cotangents times reciprocals instead of cotangents by values of the iteration.

A reciprocal of a value independent of the carries is computed while the processor waits for them, whereas a division would be on the
critical path of the recurrence. The last bit of a cotangent may differ, and divisors below 5.6e-309 have no finite
reciprocal; values and guards are unaffected.
"""

from __future__ import annotations

from ...ir.instruction import Instruction
from ...ir.rewriter import Rewriter, rewritten
from ...ir.tape import Tape
from ...ops.elementwise.arithmetic import DIVIDE, MULTIPLY, RECIPROCAL
from ..reach import reached_from


def multiply_by_reciprocals(tape: Tape, carries: int) -> Tape:
    """Return the tape of an iteration whose first `carries` inputs are carried."""
    follows = reached_from(tape, tape.inputs[:carries])
    known: dict[int, int] = {}

    def emit(made: Rewriter, division: Instruction, _: int) -> int | None:
        cotangent, divisor = division.inputs
        if not follows[cotangent] or follows[divisor]:
            return None
        x, y = made.number[cotangent], made.number[divisor]
        if y not in known:
            known[y] = made.make(RECIPROCAL, (y,))
        return made.make(MULTIPLY, (x, known[y]))

    return rewritten(tape, emit, DIVIDE)
