"""Moves broadcasts after elementwise ops, which broadcast anyway, reshapes and sums, so that nothing is computed once per copy.

The sum of n copies is n times the number. It is rounded once, where adding them one by one is rounded n times.
"""

from __future__ import annotations

import math

from ...ir.instruction import FLOAT64, FLOAT_SCALAR, Instruction
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops import Elementwise
from ...ops.arrays.reductions import SUM
from ...ops.arrays.shape import BROADCAST, RESHAPE
from ...ops.elementwise.arithmetic import MULTIPLY
from ..rows import in_shape
from .axis_groups import axis_groups


def sink_broadcasts(tape: Tape) -> Tape:
    if tape.ops.isdisjoint((BROADCAST, RESHAPE)):
        return tape
    rewriter = Rewriter(tape)
    for number, instruction in enumerate(tape.instructions):
        made = None
        rewriter.site = instruction.site
        if isinstance(instruction.op, Elementwise) and instruction.type.shape:
            made = _elementwise(rewriter, instruction)
        elif instruction.op is SUM and instruction.type.dtype == FLOAT64:
            made = _sum(rewriter, instruction)
        elif instruction.op is RESHAPE:
            made = _reshape(rewriter, instruction)
        rewriter.number[number] = rewriter.copy(number) if made is None else made
    return rewriter.finish()


def _elementwise(rewriter: Rewriter, instruction: Instruction) -> int | None:
    op, inputs, params, type_, _ = instruction
    operands = tuple(_before_broadcast(rewriter, rewriter.number[i], len(type_.shape)) for i in inputs)
    if operands == tuple(rewriter.number[i] for i in inputs):
        return None
    return _broadcast(rewriter, rewriter.make(op, operands, params), instruction)


def _before_broadcast(rewriter: Rewriter, number: int, most: int) -> int:
    """Return the source that is broadcast or reshaped into value `number`, if it broadcasts implicitly to an array of `most` axes."""
    op, inputs, _, type_, _ = rewriter.instructions[number]
    if op is not BROADCAST and not (op is RESHAPE and type_.size == 1):
        return number
    source = inputs[0]
    while rewriter.instructions[source].op is RESHAPE and rewriter.instructions[source].type.size == 1:
        source = rewriter.instructions[source].inputs[0]
    return source if len(rewriter.instructions[source].type.shape) <= most else number


def _sum(rewriter: Rewriter, instruction: Instruction) -> int | None:
    """Sum a broadcast value over its own axes, and multiply by the lengths of the others."""
    op, inputs, _, type_, _ = rewriter.instructions[rewriter.number[instruction.inputs[0]]]
    if op is not BROADCAST or type_.size == 0:
        return None
    axes, number = instruction.params[0], inputs[0]
    shape = rewriter.instructions[number].type.shape
    aligned = (1,) * (len(type_.shape) - len(shape)) + shape
    copies = math.prod(type_.shape[k] for k in axes if aligned[k] == 1)
    own = tuple(k - len(aligned) + len(shape) for k in axes if aligned[k] != 1)
    if own:
        number = rewriter.make(SUM, (number,), (own,))
    number = in_shape(rewriter, number, tuple(extent for k, extent in enumerate(aligned) if k not in axes))
    if copies != 1:
        number = rewriter.make(MULTIPLY, (number, rewriter.constant(float(copies), FLOAT_SCALAR)))
    return _broadcast(rewriter, number, instruction)


def _reshape(rewriter: Rewriter, instruction: Instruction) -> int | None:
    """Reshape the source of a broadcast value, and broadcast the result."""
    op, inputs, *_ = rewriter.instructions[rewriter.number[instruction.inputs[0]]]
    if op is not BROADCAST or instruction.type.size == 0:
        return None
    old, new = rewriter.instructions[rewriter.number[instruction.inputs[0]]].type.shape, instruction.type.shape
    source = rewriter.instructions[inputs[0]].type
    aligned = (1,) * (len(old) - len(source.shape)) + source.shape
    shape = list(new)
    for old_axes, new_axes in axis_groups(old, new):
        repeated = {aligned[k] == 1 for k in old_axes if old[k] != 1}
        if len(repeated) > 1:
            return None
        if repeated == {True}:
            for k in new_axes:
                shape[k] = 1
    return _broadcast(rewriter, in_shape(rewriter, inputs[0], tuple(shape)), instruction)


def _broadcast(rewriter: Rewriter, number: int, instruction: Instruction) -> int:
    """Broadcast a value to the shape of the instruction that it replaces."""
    shape = instruction.type.shape
    return number if rewriter.instructions[number].type.shape == shape else rewriter.make(BROADCAST, (number,), (shape,))
