"""Reads and writes boxes by positions, if the array is also written at positions and one line takes several boxes.

for d in tables:
    s += K[d[0], d[1]]          iterations take other boxes, but the same steps at other positions
    K[d, d] += b
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ...ir.instruction import INT64, Instruction, ValueType
from ...ir.rewriter import Rewriter, rewritten
from ...ir.tape import Tape
from ...ops.arrays.indexing import GATHER, INDEX, PUT, REPLACE, Region

# Larger parts of an array stay boxes.
LARGEST_PART = 0.5


def reads_by_position(tape: Tape) -> Tape:
    """The tape with such reads and writes; itself where there are none. Cost: linear in the number of instructions and of positions."""
    if PUT not in tape.ops or (INDEX not in tape.ops and REPLACE not in tape.ops):
        return tape
    versions = _versions(tape)
    boxes: dict[Hashable, set[Region]] = {}
    found: dict[int, Hashable] = {}
    for number, instruction in enumerate(tape.instructions):
        region = _box(instruction, versions)
        if region is not None:
            of = tape.instructions[instruction.inputs[0]].type
            if np.prod(region.counts) <= LARGEST_PART * of.size:
                found[number] = key = (instruction.op, instruction.site, of, region.shape)
                boxes.setdefault(key, set()).add(region)
    chosen = {number for number, key in found.items() if len(boxes[key]) > 1}
    if not chosen:
        return tape

    def emit(made: Rewriter, instruction: Instruction, number: int) -> int | None:
        return _at_positions(made, instruction) if number in chosen else None

    return rewritten(tape, emit, INDEX, REPLACE)


def _versions(tape: Tape) -> set[int]:
    """The arrays that are written at positions, before and after each write."""
    found: set[int] = set()
    for number, (op, inputs, *_) in enumerate(tape.instructions):
        if op is PUT or (op is REPLACE and inputs[0] in found):
            found.update((number, inputs[0]))
    return found


def _box(instruction: Instruction, versions: set[int]) -> Region | None:
    """Return the box of such an array that an instruction reads or writes."""
    op, inputs, params, *_ = instruction
    if op is INDEX and inputs[0] in versions:
        return params[0]
    return params[0][0] if op is REPLACE and inputs[0] in versions and len(params[0]) == 1 else None


def _at_positions(made: Rewriter, instruction: Instruction) -> int:
    op, inputs, params, _, _ = instruction
    region: Region = params[0] if op is INDEX else params[0][0]
    array, *part = (made.number[i] for i in inputs)
    positions = _positions(region, made.instructions[array].type.shape)
    at = made.constant(positions, ValueType(region.shape, INT64))
    return made.make(GATHER, (array, at)) if op is INDEX else made.make(PUT, (array, part[0], at), (True,))


def _positions(region: Region, shape: tuple[int, ...]) -> np.ndarray:
    """The flat positions of a box, in its shape."""
    found, stride = np.zeros((), np.int64), 1
    for axis in reversed(range(len(shape))):
        along = (region.starts[axis] + region.steps[axis] * np.arange(region.counts[axis])) * stride
        found = along.reshape(-1, *(1,) * found.ndim) + found
        stride *= shape[axis]
    return found.reshape(region.shape)
