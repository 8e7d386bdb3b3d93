"""In the body of a reverse loop: cotangents times reciprocals instead of cotangents by values of the iteration.

A reciprocal of a value independent of the carries is computed while the processor waits for them, whereas a division would be on the
critical path of the recurrence. The last bit of a cotangent may differ, and divisors below 5.6e-309 have no finite
reciprocal; values and guards are unaffected.
"""

from __future__ import annotations

from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.elementwise.arithmetic import DIVIDE, MULTIPLY, RECIPROCAL
from ..reach import reached_from


def multiply_by_reciprocals(tape: Tape, carries: int) -> Tape:
    """Return the tape of an iteration whose first `carries` inputs are carried."""
    follows = reached_from(tape, tape.inputs[:carries])
    rewriter = Rewriter(tape)
    known: dict[int, int] = {}
    for number, (op, inputs, _, type_, site) in enumerate(tape.instructions):
        if op is not DIVIDE or not follows[inputs[0]] or follows[inputs[1]]:
            rewriter.number[number] = rewriter.copy(number)
            continue
        x, y = (rewriter.number[i] for i in inputs)
        if y not in known:
            known[y] = rewriter.emit(RECIPROCAL, (y,), (), rewriter.instructions[y].type, site)
        rewriter.number[number] = rewriter.emit(MULTIPLY, (x, known[y]), (), type_, site)
    return rewriter.finish()
