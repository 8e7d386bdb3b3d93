"""Simplifies reads and writes of an array at equal positions.

    put(x, w, places) + scatter_add(v, places)  →  put(x, w + v, places)
    put(x, gather(x, places), places)           →  x
    gather(put(x, w, places), places)           →  w
    put(put(x, w, places), v, places)           →  put(x, v, places)
    select(test, put(x, w, places), x)          →  put(x, select(test, w, gather(x, places)), places)
    select(test, v, select(test, w, x))         →  select(test, v, x)

So the cotangents of `K[places] += b` are those of K: nothing is written at all. And a row that is written column by column is written once.
"""

from __future__ import annotations

import numpy as np

from ...ir.instruction import CONSTANT, Instruction, ValueType
from ...ir.rewriter import Rewriter, rewritten
from ...ir.tape import Tape
from ...ops.arrays.indexing import GATHER, PUT, SCATTER_ADD
from ...ops.elementwise.arithmetic import ADD
from ...ops.elementwise.comparison import SELECT


def equal_positions(tape: Tape) -> Tape:
    """The tape with such reads and writes simplified; the tape itself without writes. Cost: linear in the number of instructions."""
    return rewritten(tape, _changed, ADD, GATHER, PUT, SELECT) if PUT in tape.ops else tape


def _changed(made: Rewriter, instruction: Instruction, _: int) -> int | None:
    op, operands = instruction.op, [made.number[i] for i in instruction.inputs]
    simplified = _sum if op is ADD else _read if op is GATHER else _write if op is PUT else _selection
    return simplified(made, instruction, *operands)


def _sum(made: Rewriter, total: Instruction, a: int, b: int) -> int | None:
    """Add what is added to entries that were written to what is written."""
    for k, j in ((a, b), (b, a)):
        written, added = made.instructions[k], made.instructions[j]
        if written.op is PUT and written.params[0] and _adds_there(made, written, added) and written.type == total.type:
            array, values, at = written.inputs
            op, _, params, type_, _ = made.instructions[values]
            is_zero = op is CONSTANT and not np.any(params[0])
            values = added.inputs[0] if is_zero else made.emit(ADD, (values, added.inputs[0]), (), type_, None)
            write = Instruction(PUT, (array, values, at), written.params, total.type, made.site)
            known = _write(made, write, *write.inputs)
            return made.emit(*write) if known is None else known
    return None


def _adds_there(made: Rewriter, written: Instruction, added: Instruction) -> bool:
    """True if something is added to the entries that were written, all of them different."""
    if added.op is not SCATTER_ADD or added.inputs[1] != written.inputs[2] or added.type != written.type:
        return False
    values = made.instructions[written.inputs[1]].type
    return values == made.instructions[added.inputs[0]].type and values.shape == made.instructions[written.inputs[2]].type.shape


def _read(made: Rewriter, read: Instruction, array: int, at: int) -> int | None:
    """Read what was written."""
    written = made.instructions[array]
    if written.op is PUT and written.params[0] and written.inputs[2] == at and made.instructions[written.inputs[1]].type == read.type:
        return written.inputs[1]
    return None


def _write(made: Rewriter, write: Instruction, array: int, values: int, at: int) -> int | None:
    """Write over an earlier write, or not at all."""
    read, written = made.instructions[values], made.instructions[array]
    if read.op is GATHER and read.inputs == (array, at):
        return array
    if written.op is PUT and written.inputs[2] == at:
        return made.emit(PUT, (written.inputs[0], values, at), write.params, write.type, made.site)
    return None


def _selection(made: Rewriter, selection: Instruction, test: int, yes: int, no: int) -> int | None:
    """Select what is written, in place of arrays; and on one side of a test, what is selected there."""
    sides = [made.instructions[k] for k in (yes, no)]
    if not made.instructions[test].type.shape:
        for array, _, at in (one.inputs for one in sides if one.type == selection.type and _is_of_few(made, one)):
            first, second = (_entries(made, k, array, at) for k in (yes, no))
            if first is not None and second is not None:
                return made.make(PUT, (array, made.make(SELECT, (test, first, second)), at), (True,))
    inner = [k if one.op is not SELECT or one.inputs[0] != test else one.inputs[side] for side, k, one in zip((1, 2), (yes, no), sides)]
    if inner == [yes, no] or any(made.instructions[k].type != one.type for k, one in zip(inner, sides)):
        return None
    return made.emit(SELECT, (test, *inner), selection.params, selection.type, made.site)


def _is_of_few(made: Rewriter, written: Instruction) -> bool:
    """True for a write of at most half of the entries, all of them different, each with a value."""
    if written.op is not PUT or not written.params[0]:
        return False
    values, at = (made.instructions[k].type for k in written.inputs[1:])
    return values == ValueType(at.shape, written.type.dtype) and 2 * at.size <= written.type.size


def _entries(made: Rewriter, version: int, array: int, at: int) -> int | None:
    """The entries at positions of an array, or of one in which nothing else has been written since; None for others."""
    written = made.instructions[version]
    if version == array:
        return made.make(GATHER, (array, at))
    return written.inputs[1] if _is_of_few(made, written) and written.inputs[::2] == (array, at) else None
