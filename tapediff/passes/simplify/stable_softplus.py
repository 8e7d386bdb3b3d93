"""Rewrites log(1 + exp(x)), log1p(exp(x)) and logaddexp(0, x) as softplus(x), which neither overflows nor loses its derivative.

logaddexp(0, x) does neither, but the derivative of softplus is the logistic of x, which shares its exponential.
"""

from __future__ import annotations

from ...ir.instruction import CONSTANT, Instruction
from ...ir.rewriter import Rewriter, rewritten
from ...ir.tape import Tape
from ...ops.elementwise.arithmetic import ADD
from ...ops.elementwise.elementary import EXP, LOG, LOG1P, LOGADDEXP, SOFTPLUS


def stable_softplus(tape: Tape) -> Tape:
    matches = {n: found for n, i in tape.numbered(LOG, LOG1P, LOGADDEXP) if (found := _exponent(tape, i)) is not None}
    if not matches:
        return tape

    def emit(made: Rewriter, _: Instruction, number: int) -> int | None:
        return made.make(SOFTPLUS, (made.number[matches[number]],)) if number in matches else None

    return rewritten(tape, emit, LOG, LOG1P, LOGADDEXP)


def _exponent(tape: Tape, instruction: Instruction) -> int | None:
    """The x of log(1 + exp(x)), if the instruction computes that."""
    if instruction.op is LOGADDEXP:
        return _added_to_zero(tape, instruction)
    if instruction.op is LOG1P:
        argument = tape.instructions[instruction.inputs[0]]
        return argument.inputs[0] if argument.op is EXP else None
    total = tape.instructions[instruction.inputs[0]]
    if total.op is not ADD:
        return None
    for one, other in (total.inputs, total.inputs[::-1]):
        candidate, exponential = tape.instructions[one], tape.instructions[other]
        if (
            candidate.op is CONSTANT
            and candidate.type.shape == ()
            and candidate.params[0] == 1.0
            and exponential.op is EXP
        ):
            return exponential.inputs[0]
    return None


def _added_to_zero(tape: Tape, instruction: Instruction) -> int | None:
    """Return the x of logaddexp(0, x) or logaddexp(x, 0), if the zero is a scalar."""
    for one, other in (instruction.inputs, instruction.inputs[::-1]):
        candidate = tape.instructions[one]
        is_zero = candidate.op is CONSTANT and candidate.type.shape == () and candidate.params[0] == 0.0
        if is_zero and tape.instructions[other].type == instruction.type:
            return other
    return None
