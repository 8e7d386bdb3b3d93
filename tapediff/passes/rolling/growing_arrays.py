"""Builds growing arrays from their previous version and the new parts.

A list that every iteration appends to, and stacks again, is recorded as an array of one part, of two, of three, ...: the number of parts
grows with the square of the iterations, and each has a cotangent. Such arrays begin with the previous one, as one part.
"""

from __future__ import annotations

import math

from ...ir.instruction import Instruction
from ...ir.rewriter import Rewriter, rewritten
from ...ir.tape import Tape
from ...ops.arrays.indexing import ASSEMBLE
from ...ops.arrays.regions import Region, Regions

# Arrays of fewer parts are written out.
FEWEST_PARTS = 4


def growing_arrays(tape: Tape) -> Tape:
    """Return the tape with such arrays; itself if there are none. Cost: linear in the number of parts of arrays."""
    # The last array that ends with each value, and the arrays that begin with another one.
    ending_in, before = dict[int, int](), dict[int, int]()
    for number, array in tape.numbered(ASSEMBLE):
        beginning = _beginning(tape, array, ending_in)
        if beginning is not None:
            before[number] = beginning
        if len(array.inputs) >= FEWEST_PARTS and _stands_in_rows(array):
            ending_in[array.inputs[-1]] = number
    if not before:
        return tape

    def emit(made: Rewriter, instruction: Instruction, number: int) -> int | None:
        return _grown(made, instruction, before[number]) if number in before else None

    return rewritten(tape, emit, ASSEMBLE)


def _beginning(tape: Tape, instruction: Instruction, ending_in: dict[int, int]) -> int | None:
    """Return the longest earlier array that this one begins with."""
    if len(instruction.inputs) <= FEWEST_PARTS:
        return None
    inputs, (regions, shape, is_disjoint) = instruction.inputs, instruction.params
    if not is_disjoint or not shape:
        return None
    for k in range(len(inputs) - 1, FEWEST_PARTS - 1, -1):
        number = ending_in.get(inputs[k - 1])
        if number is None:
            continue
        earlier = tape.instructions[number]
        is_same = earlier.inputs == inputs[:k] and tuple(earlier.params[0]) == tuple(regions[:k])
        if is_same and earlier.params[1][1:] == shape[1:] and earlier.type.dtype == instruction.type.dtype:
            return number
        # Shorter candidates are not tried, as each comparison is linear in their length.
        return None
    return None


def _stands_in_rows(instruction: Instruction) -> bool:
    """True if disjoint parts cover the whole array, so that an array of more rows may begin with it."""
    regions, shape, is_disjoint = instruction.params
    return bool(is_disjoint and shape) and sum(math.prod(region.counts) for region in regions) == math.prod(shape)


def _grown(rewriter: Rewriter, instruction: Instruction, before: int) -> int:
    op, inputs, (regions, shape, is_disjoint), type_, site = instruction
    earlier = rewriter.tape.instructions[before]
    count, extents = len(earlier.inputs), earlier.type.shape
    first = Region((0,) * len(shape), (1,) * len(shape), extents, extents)
    operands = (rewriter.number[before], *[rewriter.number[k] for k in inputs[count:]])
    return rewriter.emit(op, operands, (Regions((first, *regions[count:])), shape, is_disjoint), type_, site)
