"""Finds the arrays that are the states of a program: written cell by cell, and read as a whole by its next step."""

from __future__ import annotations

from ...ir.tape import Tape
from ...ops.arrays.indexing import ASSEMBLE, INDEX, REPLACE

# Parts that are larger than this share of an array do not count: such an array is not read cell by cell.
SMALLEST_SHARE = 4

# An array of which so many parts are read is a state.
MANY_READS = 32


def states(tape: Tape) -> list[int]:
    """The versions of arrays of which many parts are read, together as much as half of the array.

    The next step of a cellular automaton reads cells of the border, which nothing wrote, as it reads the others. Forwarded to where
    they were written, these reads would differ; from one array they are alike.
    """
    if not {REPLACE, ASSEMBLE} & tape.ops:
        return []
    instructions = tape.instructions
    count = len(instructions)
    sizes = [type_.size if op is INDEX or op is REPLACE or op is ASSEMBLE else 0 for op, _, _, type_, _ in instructions]
    # What a part of a part is a part of.
    whole = list(range(count))
    reads, entries = [0] * count, [0] * count
    for number, instruction in enumerate(instructions):
        if instruction.op is not INDEX:
            continue
        source, size = whole[instruction.inputs[0]], sizes[number]
        if SMALLEST_SHARE * size <= sizes[source]:
            reads[source] += 1
            entries[source] += size
        if size > 1:
            whole[number] = source
    return [k for k in range(count) if reads[k] >= MANY_READS and 2 * entries[k] >= sizes[k] and instructions[k].op is not INDEX]
