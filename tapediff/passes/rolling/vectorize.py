"""Batching rules: one operation of all iterations, with the iterations as a leading axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ...ir.instruction import INT64, Instruction, Operand, Params, Primitive, ValueType
from ...ops import Op
from ...ops.arrays.indexing import ASSEMBLE, GATHER, INDEX, REPLACE, SEARCHSORTED, Region, Regions, known_positions
from ...ops.arrays.shape import BROADCAST, RESHAPE, TRANSPOSE
from ...ops.elementwise.arithmetic import ADD
from ...ops.matrices.products import MATMUL

# Larger arrays are not batched over iterations.
LARGEST_ARRAY = 1 << 22


class Emitter(Protocol):
    """Appends instructions to a tape and works out their types."""

    instructions: list[Instruction]

    def make(self, op: Primitive, inputs: tuple[int, ...], params: Params = ()) -> int: ...

    def constant(self, value: Operand, type_: ValueType) -> int: ...


class Batch:
    """Emits one instruction for the same instruction of all iterations.

    Args:
        emitter: appends the instructions.
        count: the number of iterations.
        operands: the operands; `batched` is True for those with the leading axis.
    """

    def __init__(self, emitter: Emitter, count: int, operands: Sequence[int], batched: Sequence[bool]) -> None:
        self.emitter, self.count = emitter, count
        self.operands, self.batched = list(operands), list(batched)

    def emit(self, instruction: Instruction) -> int:
        """Emit the batched instruction; the first axis of its value counts iterations."""
        op = instruction.op
        batching = op.batching if isinstance(op, Op) else None
        assert batching is not None, "is_batchable says which instructions have one"
        return batching.emit(self, instruction)

    def shape(self, k: int) -> tuple[int, ...]:
        """The shape of an operand at one iteration."""
        shape = self.emitter.instructions[self.operands[k]].type.shape
        return shape[1:] if self.batched[k] else shape

    def whole(self, k: int) -> int:
        """An operand with the leading axis."""
        return self.operands[k] if self.batched[k] else spread(self.emitter, self.operands[k], self.count)

    def with_rank(self, k: int, rank: int) -> int:
        """Reshape an operand to broadcast per iteration against those of a higher rank."""
        shape = self.shape(k)
        if not self.batched[k] or len(shape) == rank:
            return self.operands[k]
        wider = (self.count, *(1,) * (rank - len(shape)), *shape)
        return self.emitter.make(RESHAPE, (self.operands[k],), (wider,))

    # The batching rules that ops name

    def elementwise(self, i: Instruction) -> int:
        rank = len(i.type.shape)
        operands = tuple(self.with_rank(k, rank) for k in range(len(self.operands)))
        return self.emitter.make(i.op, operands, i.params)

    def reduced(self, i: Instruction) -> int:
        axes = tuple(a + 1 for a in i.params[0])
        return self.emitter.make(i.op, (self.operands[0],), (axes,))

    def along_axis(self, i: Instruction) -> int:
        axis, *others = i.params
        return self.emitter.make(i.op, (self.operands[0],), (axis + 1, *others))

    def reshaped(self, i: Instruction) -> int:
        return self.emitter.make(RESHAPE, (self.operands[0],), ((self.count, *i.params[0]),))

    def transposed(self, i: Instruction) -> int:
        return self.emitter.make(
            TRANSPOSE, (self.operands[0],), ((0, *(a + 1 for a in i.params[0])),)
        )  # fmt: skip

    def broadcast(self, i: Instruction) -> int:
        (shape,) = i.params
        return self.emitter.make(BROADCAST, (self.with_rank(0, len(shape)),), ((self.count, *shape),))

    def index(self, i: Instruction) -> int:
        return self.emitter.make(INDEX, (self.operands[0],), (widened(i.params[0], self.count),))

    def assembled(self, i: Instruction) -> int:
        regions, shape, disjoint = i.params
        wide = Regions(widened(r, self.count) for r in regions)
        parts = tuple(self.whole(k) for k in range(len(self.operands)))
        return self.emitter.make(ASSEMBLE, parts, (wide, (self.count, *shape), disjoint))

    def replaced(self, i: Instruction) -> int:
        wide = Regions(widened(r, self.count) for r in i.params[0])
        return self.emitter.make(REPLACE, tuple(self.whole(k) for k in range(len(self.operands))), (wide,))

    def gathered(self, i: Instruction) -> int:
        array, positions = self.operands
        if self.batched[0]:
            size = math.prod(self.shape(0))
            starts = (np.arange(self.count, dtype=np.int64) * size).reshape(-1, *(1,) * len(self.shape(1)))
            known = known_positions(self.emitter.instructions, positions)
            if known is not None:
                moved = known + starts
                positions = self.emitter.constant(moved, ValueType(moved.shape, INT64))
            else:
                first = self.emitter.constant(starts, ValueType(starts.shape, INT64))
                from_start = spread(self.emitter, positions, self.count)
                positions = self.emitter.make(ADD, (from_start, first))
        return self.emitter.make(GATHER, (array, positions))

    def searched(self, i: Instruction) -> int:
        """Search all values at once; the sorted array is the same for all iterations."""
        return self.emitter.make(SEARCHSORTED, (self.operands[0], self.operands[1]), i.params)

    def stacked(self, i: Instruction) -> int:
        """One stack of the matrices of all iterations."""
        return self.emitter.make(i.op, tuple(self.whole(k) for k in range(len(self.operands))), i.params)

    def solved(self, i: Instruction) -> int:
        """As stacked; vectors on the right-hand side become matrices of one column."""
        last = len(self.operands) - 1
        shape = self.shape(last)
        operands = [self.whole(k) for k in range(last + 1)]
        if len(shape) > 1:
            return self.emitter.make(i.op, tuple(operands), i.params)
        operands[last] = self.emitter.make(RESHAPE, (operands[last],), ((self.count, *shape, 1),))
        return self.emitter.make(RESHAPE, (self.emitter.make(i.op, tuple(operands), i.params),), ((self.count, *shape),))

    def product(self, i: Instruction) -> int:
        """Turn vectors into matrices of one row or column, since NumPy's stacked products take only matrices."""
        operands = []
        for k, column in ((0, False), (1, True)):
            number, shape = self.operands[k], self.shape(k)
            if len(shape) == 1:
                matrix = (*shape, 1) if column else (1, *shape)
                leading = (self.count,) if self.batched[k] else ()
                number = self.emitter.make(RESHAPE, (number,), ((*leading, *matrix),))
            operands.append(number)
        result = self.emitter.make(MATMUL, tuple(operands))
        shape = (self.count, *i.type.shape)
        if self.emitter.instructions[result].type.shape == shape:
            return result
        return self.emitter.make(RESHAPE, (result,), (shape,))


def widened(region: Region, count: int) -> Region:
    """The same region of every entry along a new first axis."""
    return Region((0, *region.starts), (1, *region.steps), (count, *region.counts), (count, *region.shape))


def spread(emitter: Emitter, number: int, count: int) -> int:
    """Repeat a value along a new first axis."""
    return emitter.make(BROADCAST, (number,), ((count, *emitter.instructions[number].type.shape),))


def is_batchable(instruction: Instruction, types: Sequence[ValueType], count: int, fixed: Sequence[bool]) -> bool:
    """True if all iterations can be batched; `fixed` marks operands that are the same in all of them."""
    op = instruction.op
    if not isinstance(op, Op) or op.batching is None or instruction.type.size * count > LARGEST_ARRAY:
        return False
    return op.batching.suits(instruction, types, fixed)
