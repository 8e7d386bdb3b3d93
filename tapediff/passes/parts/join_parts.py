"""Merges the sum of an array with a cleared box and an assembled array into one assembled array.

The cotangent of an array that was written to, and read in shifted boxes, is such a sum at every step of a stencil. The rest of the cleared
array is a frame of few strips, which become parts as well.
"""

from __future__ import annotations

import numpy as np

from ...ir.instruction import CONSTANT, Instruction
from ...ir.rewriter import Rewriter, rewritten
from ...ir.tape import Tape
from ...ops.arrays.indexing import ASSEMBLE, INDEX, REPLACE
from ...ops.arrays.regions import Regions, frame
from ...ops.elementwise.arithmetic import ADD

# Arrays of more dimensions have frames of too many strips.
MOST_DIMENSIONS = 3


def join_parts(tape: Tape) -> Tape:
    if ASSEMBLE not in tape.ops:
        return tape
    uses = np.bincount(np.array([k for i in tape.instructions for k in i.inputs] + list(tape.outputs), np.int64))
    found = {n: pair for n, i in enumerate(tape.instructions) if i.op is ADD and (pair := _parts(tape, i, uses)) is not None}
    if not found:
        return tape

    def emit(made: Rewriter, _: Instruction, number: int) -> int | None:
        return _joined(made, *found[number]) if number in found else None

    return rewritten(tape, emit, ADD)


def _parts(tape: Tape, instruction: Instruction, uses: np.ndarray) -> tuple[Instruction, Instruction] | None:
    """Return the instructions that clear a box and that assemble parts, if the sum is of these two and alone reads them."""
    for cleared, assembled in (instruction.inputs, instruction.inputs[::-1]):
        write, join = tape.instructions[cleared], tape.instructions[assembled]
        if write.op is not REPLACE or join.op is not ASSEMBLE or uses[cleared] > 1 or uses[assembled] > 1:
            continue
        regions = write.params[0]
        if len(regions) > 1 or write.type != join.type or len(write.type.shape) > MOST_DIMENSIONS or not write.type.size:
            continue
        if set(regions[0].steps) <= {1} and _is_zero(tape.instructions[write.inputs[1]]):
            return write, join
    return None


def _is_zero(instruction: Instruction) -> bool:
    return instruction.op is CONSTANT and not np.any(instruction.params[0])


def _joined(made: Rewriter, write: Instruction, join: Instruction) -> int:
    regions, shape, _ = join.params
    strips = frame(write.params[0][0], shape)
    parts = [made.number[k] for k in join.inputs]
    parts += [made.make(INDEX, (made.number[write.inputs[0]],), (strip,)) for strip in strips]
    return made.make(ASSEMBLE, tuple(parts), (Regions((*regions, *strips)), shape, False))
