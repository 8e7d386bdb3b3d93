"""Folds an addition to just-written entries into the write: the cotangent of an array where a program wrote what it had read there.

    put(x, w, places) + scatter_add(v, places)  →  put(x, w + v, places)
    put(x, gather(x, places), places)           →  x

The cotangents of `K[places] += b` are those of K: nothing is written at all.
"""

from __future__ import annotations

import numpy as np

from ...ir.instruction import CONSTANT, Instruction
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.arrays.indexing import GATHER, PUT, SCATTER_ADD
from ...ops.elementwise.arithmetic import ADD


def added_to_writes(tape: Tape) -> Tape:
    """The tape with such additions; the tape itself where there are none. Cost: linear in the number of instructions."""
    if PUT not in tape.ops or GATHER not in tape.ops:
        return tape
    made = Rewriter(tape)
    for number, instruction in enumerate(tape.instructions):
        made.number[number] = _changed(made, number, instruction)
    return made.finish()


def _changed(made: Rewriter, number: int, instruction: Instruction) -> int:
    op, inputs, params, type_, site = instruction
    operands = [made.number[i] for i in inputs]
    if op is ADD:
        for k, j in (operands, reversed(operands)):
            written, added = made.instructions[k], made.instructions[j]
            if written.op is PUT and written.params[0] and _adds_there(made, written, added) and written.type == type_:
                operands = [written.inputs[0], _sum(made, written.inputs[1], added.inputs[0]), written.inputs[2]]
                op, params = PUT, written.params
                break
    if op is PUT:
        read = made.instructions[operands[1]]
        if read.op is GATHER and read.inputs == (operands[0], operands[2]):
            return operands[0]
    return made.copy(number) if op is instruction.op else made.emit(op, tuple(operands), params, type_, site)


def _adds_there(made: Rewriter, written: Instruction, added: Instruction) -> bool:
    """True if something is added to the entries that were written, all of them different."""
    if added.op is not SCATTER_ADD or added.inputs[1] != written.inputs[2] or added.type != written.type:
        return False
    values = made.instructions[written.inputs[1]].type
    return values == made.instructions[added.inputs[0]].type and values.shape == made.instructions[written.inputs[2]].type.shape


def _sum(made: Rewriter, written: int, added: int) -> int:
    op, _, params, type_, _ = made.instructions[written]
    if op is CONSTANT and not np.any(params[0]):
        return added
    return made.emit(ADD, (written, added), (), type_, None)
