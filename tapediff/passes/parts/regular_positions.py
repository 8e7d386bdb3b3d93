"""Turns reads and writes at constant positions into reads and writes of boxes, if the positions form a few.

`np.roll(u, 1, 0)`, `u[left]` with an array of each entry's neighbours, and `u[np.ix_(rows, columns)]` are one or two boxes. Boxes are read
by vectors, without a table of positions; their cotangents are written by vectors, whereas positions are added to one by one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...ir.instruction import Instruction, Primitive
from ...ir.rewriter import Rewriter, rewritten
from ...ir.tape import Tape
from ...ops import Op
from ...ops.arrays.indexing import ASSEMBLE, GATHER, INDEX, PUT, REPLACE, SCATTER_ADD, Region, Regions, known_positions
from ...ops.arrays.regions import are_disjoint
from ...ops.arrays.shape import TRANSPOSE
from ...ops.elementwise.arithmetic import ADD
from ..rows import in_shape
from ..simplify.array_entries import read_region, region_in
from .lattice_tables import MOST_NEIGHBOURS, Lattice, as_lattice

# Fewer positions, smaller boxes or more boxes are gathered one by one as fast.
FEWEST_POSITIONS, SMALLEST_BOX, MOST_BOXES = 32, 8, 16


class Box(NamedTuple):
    """Positions that form a box of the array.

    Attributes:
        here: the box among the positions.
        there: the box of the array, read without its axes of length 1.
        order: the order of these axes among the positions.
    """

    here: Region
    there: Region
    order: tuple[int, ...]


class Found(NamedTuple):
    """The boxes of positions, and their lattice, if they are not boxes of the array itself."""

    boxes: tuple[Box, ...]
    lattice: Lattice | None = None


def regular_positions(tape: Tape) -> Tape:
    if not any(_operand_of_positions(op) for op in tape.ops):
        return tape
    found: dict[int, Found] = {}
    known: dict[tuple[int, tuple[int, ...], bool], Found | None] = {}
    for number, instruction in enumerate(tape.instructions):
        place = _operand_of_positions(instruction.op)
        if place is None:
            continue
        at, shape, is_read = instruction.inputs[place], _array_shape(tape, instruction), instruction.op is GATHER
        if (at, shape, is_read) not in known:
            known[at, shape, is_read] = _found_at(tape, at, shape, is_read)
        boxes = known[at, shape, is_read]
        if boxes is not None and _may_be_boxes(instruction, boxes.boxes, shape):
            found[number] = boxes
    if not found:
        return tape

    def emit(made: Rewriter, instruction: Instruction, number: int) -> int | None:
        return _by_boxes(made, instruction, found[number]) if number in found else None

    return rewritten(tape, emit, GATHER, PUT, SCATTER_ADD)


def _found_at(tape: Tape, at: int, shape: tuple[int, ...], is_read: bool) -> Found | None:
    op, inputs, *_ = tape.instructions[at]
    firsts = known_positions(tape.instructions, inputs[0]) if op is ADD else None
    # Rows are not written out to find that their first positions are no boxes.
    if firsts is not None and firsts.size >= MOST_BOXES * SMALLEST_BOX and boxes_of(firsts, shape) is None:
        return None
    positions = known_positions(tape.instructions, at)
    return None if positions is None else _found(positions, shape, is_read)


def _found(positions: np.ndarray, shape: tuple[int, ...], is_read: bool) -> Found | None:
    if positions.size < FEWEST_POSITIONS:
        return None
    boxes = boxes_of(positions, shape)
    if boxes is not None or not is_read:
        return None if boxes is None else Found(boxes)
    lattice = as_lattice(positions, math.prod(shape))
    boxes = None if lattice is None else boxes_of(lattice.table, lattice.shape)
    return None if boxes is None else Found(boxes, lattice)


def _operand_of_positions(op: Primitive) -> int | None:
    """Return the operand with the positions, for an operation that this pass rewrites; never the first."""
    if not isinstance(op, Op) or op.positions is None:
        return None
    return op.positions[0] if op is GATHER or op is PUT or op is SCATTER_ADD else None


def _array_shape(tape: Tape, instruction: Instruction) -> tuple[int, ...]:
    return instruction.params[0] if instruction.op is SCATTER_ADD else tape.instructions[instruction.inputs[0]].type.shape


def _may_be_boxes(instruction: Instruction, boxes: tuple[Box, ...], shape: tuple[int, ...]) -> bool:
    """True for reads, whose boxes may overlap. Written boxes may not overlap (the last write counts), and are not transposed."""
    if instruction.op is GATHER:
        return True
    if any(list(box.order) != sorted(box.order) for box in boxes):
        return False
    return instruction.op is SCATTER_ADD or are_disjoint(Regions(box.there for box in boxes), shape)


def boxes_of(positions: np.ndarray, shape: tuple[int, ...]) -> tuple[Box, ...] | None:
    """Return the boxes of an array of `shape` that flat positions form; None if they are many or small."""
    most = min(MOST_BOXES, positions.size // SMALLEST_BOX)
    found: list[Box] = []
    pending = [((0,) * positions.ndim, positions)]
    while pending:
        starts, block = pending.pop()
        inside = region_in(block, shape)
        if inside is not None:
            here = Region(starts, (1,) * block.ndim, block.shape, tuple(n for n in block.shape if n > 1))
            found.append(Box(here, *inside))
            continue
        parts = _cut(starts, block, most)
        pending += parts
        if not parts or len(found) + len(pending) > most:
            return None
    return tuple(sorted(found, key=lambda box: box.here.starts))


def _cut(starts: tuple[int, ...], block: np.ndarray, most: int) -> list[tuple[tuple[int, ...], np.ndarray]]:
    """Cut positions into runs of equal steps along one axis, each with its start; empty if no axis has such steps."""
    for axis, extent in enumerate(block.shape):
        line = np.moveaxis(np.diff(block, axis=axis), axis, 0).reshape(extent - 1, -1) if extent > 1 else np.zeros((0, 1), int)
        if line.size and bool((line == line[:, :1]).all()):
            bounds = bounds_of(line[:, 0], most)
            if len(bounds) > 1:
                parts = np.split(block, bounds[1:], axis)
                return [((*starts[:axis], starts[axis] + b, *starts[axis + 1 :]), part) for b, part in zip(bounds, parts)]
    if block.ndim > 1 and 1 < block.shape[0] <= MOST_NEIGHBOURS:  # each line of a table has steps of its own
        return [((starts[0] + k, *starts[1:]), block[k : k + 1]) for k in range(block.shape[0])]
    return []


def bounds_of(steps: np.ndarray, most: int) -> list[int]:
    """Return the starts of runs of equal steps (or rows of steps), separated by single steps of another size. Empty if there are many."""
    steps = steps.reshape(len(steps), -1)
    changes = np.flatnonzero((steps[1:] != steps[:-1]).any(axis=1)) + 1
    if changes.size > 2 * most:
        return []
    starts = [0, *changes.tolist()]
    ends = [*starts[1:], len(steps)]
    usual = steps[max(zip(starts, ends), key=lambda stretch: stretch[1] - stretch[0])[0]]
    bounds, before_is_long = {0}, False
    for start, end in zip(starts, ends):
        is_long = end - start > 1 or bool((steps[start] == usual).all())
        if not is_long or before_is_long:
            bounds.add(start + 1)
        before_is_long = is_long
    return sorted(bounds)


def _by_boxes(made: Rewriter, instruction: Instruction, found: Found) -> int:
    op, inputs, params, type_, _ = instruction
    numbers, boxes = [made.number[i] for i in inputs], found.boxes
    if op is GATHER:
        return _gathered(made, numbers[0], type_.shape, found)
    parts = tuple([_part(made, numbers[1] if op is PUT else numbers[0], box) for box in boxes])
    regions = Regions(box.there for box in boxes)
    if op is PUT:
        return made.make(REPLACE, (numbers[0], *parts), (regions,))
    return made.make(ASSEMBLE, parts, (regions, params[0], are_disjoint(regions, params[0])))


def _gathered(made: Rewriter, source: int, wanted: tuple[int, ...], found: Found) -> int:
    boxes, lattice = found
    shape = wanted if lattice is None else lattice.table.shape
    if lattice is not None:
        source = in_shape(made, source, lattice.shape)
    parts = tuple([read_region(made, source, box.there, box.order, box.here.shape) for box in boxes])
    number = parts[0] if len(parts) == 1 else made.make(ASSEMBLE, parts, (Regions(box.here for box in boxes), shape, True))
    if lattice is not None and lattice.is_turned:
        number = made.make(TRANSPOSE, (in_shape(made, number, wanted[::-1]),), ((1, 0),))
    return in_shape(made, number, wanted)


def _part(made: Rewriter, values: int, box: Box) -> int:
    """Return the values for a box, in the shape of its target."""
    if made.instructions[values].type.shape != box.here.counts or any(box.here.starts):
        values = made.make(INDEX, (values,), (box.here,))
    return in_shape(made, values, box.there.shape)
