"""The same operation at every iteration as one operation on arrays that have the iterations as one more leading axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ...ir.instruction import CONSTANT, INT64, Instruction, ValueType
from ...ops import Elementwise
from ...ops.arithmetic import ADD, CONVERT
from ...ops.indexing import ASSEMBLE, GATHER, INDEX, REPLACE, SEARCHSORTED, Region, Regions
from ...ops.products import MATMUL
from ...ops.reductions import ALL, ANY, ARGMAX, ARGMIN, CUMSUM, MAX, MIN, SUM
from ...ops.shape import BROADCAST, RESHAPE, TRANSPOSE

# Larger products are left to BLAS, one by one.
LARGEST_PRODUCT = 2000

# Larger arrays than this are not made of all iterations together.
LARGEST_ARRAY = 1 << 22


class Emitter(Protocol):
    """Appends instructions to a tape and works out their types."""

    instructions: list[Instruction]

    def make(self, op: Any, inputs: tuple[int, ...], params: tuple[Any, ...] = ()) -> int: ...

    def constant(self, value: Any, type_: ValueType) -> int: ...


class Batch:
    """Emits one instruction for an instruction of all iterations.

    Args:
        emitter: where to.
        count: how many iterations.
        operands: the operands, and for each whether it has the leading axis.
    """

    def __init__(self, emitter: Emitter, count: int, operands: Sequence[int], batched: Sequence[bool]) -> None:
        self.emitter, self.count = emitter, count
        self.operands, self.batched = list(operands), list(batched)

    def emit(self, instruction: Instruction) -> int:
        """The number of the value of all iterations; its first axis is theirs."""
        op = instruction.op
        rule = _elementwise if isinstance(op, Elementwise) or op is CONVERT else RULES[op]
        return rule(self, instruction)

    def shape(self, k: int) -> tuple[int, ...]:
        """The shape of an operand at one iteration."""
        shape = self.emitter.instructions[self.operands[k]].type.shape
        return shape[1:] if self.batched[k] else shape

    def whole(self, k: int) -> int:
        """An operand with the leading axis."""
        return self.operands[k] if self.batched[k] else spread(self.emitter, self.operands[k], self.count)

    def with_rank(self, k: int, rank: int) -> int:
        """An operand that broadcasts against those of a higher rank at one iteration."""
        shape = self.shape(k)
        if not self.batched[k] or len(shape) == rank:
            return self.operands[k]
        wider = (self.count, *(1,) * (rank - len(shape)), *shape)
        return self.emitter.make(RESHAPE, (self.operands[k],), (wider,))


def spread(emitter: Emitter, number: int, count: int) -> int:
    """A value repeated along a new first axis."""
    return emitter.make(BROADCAST, (number,), ((count, *emitter.instructions[number].type.shape),))


def is_batchable(instruction: Instruction, types: Sequence[ValueType], count: int, fixed: Sequence[bool]) -> bool:
    """Whether all iterations can be done at once; `fixed` tells which operands are the same in all of them."""
    op = instruction.op
    if instruction.type.size * count > LARGEST_ARRAY:
        return False
    if isinstance(op, Elementwise) or op is CONVERT:
        return True
    if op is GATHER:
        return fixed[0] or fixed[1]
    if op is MATMUL:
        inner = types[0].shape[-1]
        return instruction.type.size * inner <= LARGEST_PRODUCT and max(len(t.shape) for t in types) <= 2
    if op is SEARCHSORTED:
        return fixed[0]
    return op in RULES and (op is not ASSEMBLE or bool(instruction.params[2]))


def _elementwise(batch: Batch, instruction: Instruction) -> int:
    rank = len(instruction.type.shape)
    operands = tuple(batch.with_rank(k, rank) for k in range(len(batch.operands)))
    return batch.emitter.make(instruction.op, operands, instruction.params)


def _reduced(batch: Batch, instruction: Instruction) -> int:
    axes = tuple(a + 1 for a in instruction.params[0])
    return batch.emitter.make(instruction.op, (batch.operands[0],), (axes,))


def _along_axis(batch: Batch, instruction: Instruction) -> int:
    axis, *others = instruction.params
    return batch.emitter.make(instruction.op, (batch.operands[0],), (axis + 1, *others))


def _reshaped(batch: Batch, instruction: Instruction) -> int:
    return batch.emitter.make(RESHAPE, (batch.operands[0],), ((batch.count, *instruction.params[0]),))


def _transposed(batch: Batch, instruction: Instruction) -> int:
    return batch.emitter.make(
        TRANSPOSE, (batch.operands[0],), ((0, *(a + 1 for a in instruction.params[0])),)
    )  # fmt: skip


def _broadcast(batch: Batch, instruction: Instruction) -> int:
    (shape,) = instruction.params
    return batch.emitter.make(BROADCAST, (batch.with_rank(0, len(shape)),), ((batch.count, *shape),))


def widened(region: Region, count: int) -> Region:
    """The same region of every entry along a new first axis."""
    return Region((0, *region.starts), (1, *region.steps), (count, *region.counts), (count, *region.shape))


def _index(batch: Batch, instruction: Instruction) -> int:
    return batch.emitter.make(INDEX, (batch.operands[0],), (widened(instruction.params[0], batch.count),))


def _assembled(batch: Batch, instruction: Instruction) -> int:
    regions, shape, disjoint = instruction.params
    wide = Regions(widened(r, batch.count) for r in regions)
    parts = tuple(batch.whole(k) for k in range(len(batch.operands)))
    return batch.emitter.make(ASSEMBLE, parts, (wide, (batch.count, *shape), disjoint))


def _replaced(batch: Batch, instruction: Instruction) -> int:
    wide = Regions(widened(r, batch.count) for r in instruction.params[0])
    return batch.emitter.make(REPLACE, tuple(batch.whole(k) for k in range(len(batch.operands))), (wide,))


def _gathered(batch: Batch, instruction: Instruction) -> int:
    array, positions = batch.operands
    if batch.batched[0]:
        size = math.prod(batch.shape(0))
        starts = (np.arange(batch.count, dtype=np.int64) * size).reshape(-1, *(1,) * len(batch.shape(1)))
        known = batch.emitter.instructions[positions]
        if known.op is CONSTANT:
            moved = known.params[0] + starts
            positions = batch.emitter.constant(moved, ValueType(moved.shape, INT64))
        else:
            first = batch.emitter.constant(starts, ValueType(starts.shape, INT64))
            from_start = spread(batch.emitter, positions, batch.count)
            positions = batch.emitter.make(ADD, (from_start, first))
    return batch.emitter.make(GATHER, (array, positions))


def _searched(batch: Batch, instruction: Instruction) -> int:
    """All values at once in the array that is the same for all of them."""
    return batch.emitter.make(SEARCHSORTED, (batch.operands[0], batch.operands[1]), instruction.params)


def _product(batch: Batch, instruction: Instruction) -> int:
    """Vectors become matrices of one row or column, as NumPy's product of stacks knows matrices only."""
    operands = []
    for k, column in ((0, False), (1, True)):
        number, shape = batch.operands[k], batch.shape(k)
        if len(shape) == 1:
            matrix = (*shape, 1) if column else (1, *shape)
            leading = (batch.count,) if batch.batched[k] else ()
            number = batch.emitter.make(RESHAPE, (number,), ((*leading, *matrix),))
        operands.append(number)
    result = batch.emitter.make(MATMUL, tuple(operands))
    shape = (batch.count, *instruction.type.shape)
    if batch.emitter.instructions[result].type.shape == shape:
        return result
    return batch.emitter.make(RESHAPE, (result,), (shape,))


RULES: dict[Any, Callable[[Batch, Instruction], int]] = {
    **dict.fromkeys((SUM, MAX, MIN, ALL, ANY), _reduced),
    **dict.fromkeys((ARGMAX, ARGMIN, CUMSUM), _along_axis),
    RESHAPE: _reshaped,
    TRANSPOSE: _transposed,
    BROADCAST: _broadcast,
    INDEX: _index,
    ASSEMBLE: _assembled,
    REPLACE: _replaced,
    GATHER: _gathered,
    MATMUL: _product,
    SEARCHSORTED: _searched,
}
