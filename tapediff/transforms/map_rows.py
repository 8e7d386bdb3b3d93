"""Batches a tape: one evaluation for each row of some of its inputs, all in one tape.

Values independent of rows are computed once. The others get a leading axis: by one instruction if the op has a batching rule, otherwise by
a loop of that instruction over the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..ir.instruction import (
    GUARD,
    INPUT,
    INT64,
    DynamicArrayType,
    Instruction,
    Param,
    ValueType,
)
from ..ir.rewriter import BodyBuilder, Rewriter
from ..ir.tape import Tape
from ..ops.arrays.indexing import ASSEMBLE, INDEX, PUT, SCATTER_ADD, Regions, known_positions
from ..ops.arrays.reductions import SUM
from ..ops.arrays.shape import TRANSPOSE
from ..ops.control.calls import CALL, GET, RECALL, LoopForm, TupleOp
from ..ops.elementwise.arithmetic import MULTIPLY
from ..ops.matrices.bands import BAND_SOLVE
from ..ops.matrices.linear_algebra import LU_SOLVE, TRIANGULAR_SOLVE
from ..ops.matrices.products import CORRELATE, MATMUL
from ..passes.loops.loop_builder import emit_loop
from ..passes.reach import reached_from
from ..passes.rolling.vectorize import Batch, is_batchable, spread
from ..passes.rows import box, in_shape


class RowsCannotBeMapped(Exception):
    """A guard depends on a row."""


class HasDynamicArrays(Exception):
    """A value of run-time length would need an axis of rows."""


# Makes the callee of a LOOP from the tape of its body.
LoopCallee = Callable[[Tape], Param]


def map_rows(
    tape: Tape, rows: Sequence[int], count: int, loop_callee: LoopCallee, shared: int = 0, mapper: type[RowMapper] | None = None
) -> Tape:  # fmt: skip
    """The tape of `count` evaluations.

    Args:
        tape: any tape.
        rows: positions of the inputs with a leading axis of length `count`; the other inputs are the same for all rows.
        count: the number of rows.
        loop_callee: makes the callee of a loop from the tape of one iteration.
        shared: the number of first outputs that are the same for all rows and stay as they are.
        mapper: adds the leading axis to instructions; a RowMapper by default.

    Returns:
        A tape of the same inputs and outputs. Every other output has a leading axis of length `count`.

    Raises:
        RowsCannotBeMapped: control flow depends on a row.

    Cost: linear in the number of instructions.
    """
    try:
        return (mapper or RowMapper)(tape, frozenset(rows), count, loop_callee).mapped(shared)
    except HasDynamicArrays:
        return _loop_of_all(tape, rows, count, loop_callee, shared)


def _loop_of_all(tape: Tape, rows: Sequence[int], count: int, loop_callee: LoopCallee, shared: int) -> Tape:
    """Return a loop over the rows with everything but the guards in its body; the guards are checked once."""
    made = Rewriter(tape)
    reached = reached_from(tape, [tape.inputs[k] for k in rows])
    if any(reached[i] for i in tape.outputs[:shared]):
        raise RowsCannotBeMapped
    for number, (op, _, params, type_, site) in enumerate(tape.instructions):
        if not reached[number]:
            made.number[number] = made.copy(number)
        elif op is INPUT:
            made.number[number] = made.emit(INPUT, (), params, ValueType((count, *type_.shape), type_.dtype), site)
    body = _body_of_all(tape, rows, reached, shared)
    order = [*rows, *(k for k in range(len(tape.inputs)) if k not in rows)]
    callee = loop_callee(body)
    form = LoopForm(0, len(rows), len(order) - len(rows), count, single_variant=True)
    items = emit_loop(made, callee, form, [made.number[tape.inputs[k]] for k in order])
    outputs = (*(made.number[i] for i in tape.outputs[:shared]), *items)
    return replace(
        tape, instructions=tuple(made.instructions), inputs=tuple(made.number[i] for i in tape.inputs), outputs=outputs
    )


def _body_of_all(tape: Tape, rows: Sequence[int], reached: Sequence[bool], shared: int) -> Tape:
    """Return the tape of one row: the inputs with rows come first, as a loop's streams do."""
    body = BodyBuilder(tape)
    body.take([*(tape.inputs[k] for k in rows), *(n for k, n in enumerate(tape.inputs) if k not in rows)])
    for number, (op, inputs, params, type_, site) in enumerate(tape.instructions):
        if op is GUARD and any(reached[i] for i in inputs):
            raise RowsCannotBeMapped
        if op is not INPUT and op is not GUARD:
            operands = tuple([body.number[i] for i in inputs])
            body.number[number] = body.emit(RECALL if op is CALL else op, operands, params, type_, site)
    return body.body(body.number[i] for i in tape.outputs[shared:])


class RowMapper(Rewriter):
    """Rebuilds a tape; `per_row[i]` is True if value i has the leading axis."""

    def __init__(self, tape: Tape, rows: frozenset[int], count: int, loop_callee: LoopCallee) -> None:
        super().__init__(tape)
        self.rows, self.count, self.loop_callee = rows, count, loop_callee
        self.per_row: list[bool] = [False] * len(tape.instructions)

    def mapped(self, shared: int) -> Tape:
        for number, instruction in enumerate(self.tape.instructions):
            self.site = instruction.site
            if self.number[number] < 0:
                self._map(number, instruction)
        if any(self.per_row[i] for i in self.tape.outputs[:shared]):
            raise RowsCannotBeMapped
        outputs = [self.number[i] if k < shared else self._whole(i) for k, i in enumerate(self.tape.outputs)]
        return replace(
            self.tape, instructions=tuple(self.instructions), inputs=tuple(self.number[i] for i in self.tape.inputs),
            outputs=tuple(outputs),
        )  # fmt: skip

    def _whole(self, old: int) -> int:
        return self.number[old] if self.per_row[old] else spread(self, self.number[old], self.count)

    def _map(self, number: int, instruction: Instruction) -> None:
        op, inputs, params, type_, site = instruction
        if op is INPUT and params[0] in self.rows:
            self.per_row[number] = True
            self.number[number] = self.emit(INPUT, (), params, ValueType((self.count, *type_.shape), type_.dtype), site)
        elif not any(self.per_row[i] for i in inputs):
            self.number[number] = self.copy(number)
        elif op is GUARD:
            raise RowsCannotBeMapped
        else:
            self.per_row[number] = True
            self._map_dependent(number, instruction)

    def _map_dependent(self, number: int, instruction: Instruction) -> None:
        types = [self.tape.instructions[i].type for i in instruction.inputs]
        batched = [self.per_row[i] for i in instruction.inputs]
        operands = [self.number[i] for i in instruction.inputs]
        rule = RULES.get(instruction.op)
        made = None if rule is None else rule(self, instruction, operands, batched)
        if made is not None:
            self.number[number] = made
        elif rule is None and is_batchable(instruction, types, self.count, [not b for b in batched]):
            self.number[number] = Batch(self, self.count, operands, batched).emit(instruction)
        else:
            self._loop(number, instruction, batched)

    def _loop(self, number: int, instruction: Instruction, batched: Sequence[bool]) -> None:
        """Emit a loop over the rows of one instruction, including the GETs of its result."""
        if any(not isinstance(self.tape.instructions[i].type, ValueType) for i in instruction.inputs):
            raise HasDynamicArrays
        items = list(self._items_of(number)) if isinstance(instruction.op, TupleOp) else [number]
        body, operands, streams = self._body(instruction, items, batched)
        callee = self.loop_callee(body)
        form = LoopForm(0, streams, len(operands) - streams, self.count, single_variant=True)
        for item, made in zip(items, emit_loop(self, callee, form, operands)):
            self.per_row[item] = True
            self.number[item] = made

    def _items_of(self, number: int) -> Iterator[int]:
        for later in range(number + 1, len(self.tape.instructions)):
            instruction = self.tape.instructions[later]
            if instruction.op is GET and instruction.inputs[0] == number:
                if isinstance(instruction.type, DynamicArrayType):
                    raise HasDynamicArrays
                yield later

    def _body(self, instruction: Instruction, items: Sequence[int], batched: Sequence[bool]) -> tuple[Tape, list[int], int]:
        """Return the tape of one row, the operands of the loop, and the number of streams among them."""
        order = [k for k, b in enumerate(batched) if b] + [k for k, b in enumerate(batched) if not b]
        read = [instruction.inputs[k] for k in order]
        body = BodyBuilder(self.tape)
        inputs = [body.add_input(self.tape.instructions[old].type) for old in read]
        places = dict(zip(order, inputs))
        made = body.keep(instruction, tuple(places[k] for k in range(len(order))))
        outputs = [made]
        if isinstance(instruction.op, TupleOp):
            outputs = [body.keep(self.tape.instructions[item], (made,)) for item in items]
        return body.body(outputs), [self.number[old] for old in read], sum(batched)


# Batching rules of ops whose operands are partly the same for all rows. None: the rule does not fit, so a loop is made.


def _transposed(rows: RowMapper, number: int, axes: Sequence[int]) -> int:
    return rows.make(TRANSPOSE, (number,), (tuple(axes),))


def _product(rows: RowMapper, instruction: Instruction, operands: list[int], batched: list[bool]) -> int:
    """Emit one product for all rows if one side is the same for all."""
    left, right = operands
    shapes = [rows.instructions[i].type.shape for i in operands]
    x, y = (s[1:] if b else s for s, b in zip(shapes, batched))
    if all(batched) and len(x) == len(y) == 1:
        return rows.make(SUM, (rows.make(MULTIPLY, (left, right)),), ((1,),))
    if batched[0] and not batched[1] and len(y) <= 2:
        # The left sides of all rows, concatenated.
        whole = in_shape(rows, left, (math.prod(shapes[0][:-1]), x[-1]))
        return in_shape(rows, rows.make(MATMUL, (whole, right)), (rows.count, *instruction.type.shape))
    if batched[1] and not batched[0] and len(y) == 1 and len(x) == 1:
        return rows.make(MATMUL, (right, left))
    if batched[1] and not batched[0] and len(y) == 1 and len(x) == 2:
        return rows.make(MATMUL, (right, _transposed(rows, left, (1, 0))))
    wide = []
    for number, shape, is_row, column in ((left, x, batched[0], False), (right, y, batched[1], True)):
        leading = (rows.count,) if is_row else ()
        if len(shape) == 1:
            number = in_shape(rows, number, (*leading, *shape, 1) if column else (*leading, 1, *shape))
            shape = (*shape, 1) if column else (1, *shape)
        rank = max(len(x), len(y), 2)
        if is_row and len(shape) < rank:
            number = in_shape(rows, number, (rows.count, *(1,) * (rank - len(shape)), *shape))
        wide.append(number)
    return in_shape(rows, rows.make(MATMUL, tuple(wide)), (rows.count, *instruction.type.shape))


def _correlated(rows: RowMapper, instruction: Instruction, operands: list[int], batched: list[bool]) -> int | None:
    """Correlate the rows one after the other, as one vector, and leave out the windows of two rows."""
    x, v = operands
    if batched[1]:
        return None
    length, (count,) = rows.instructions[x].type.shape[1], instruction.type.shape
    line = in_shape(rows, x, (rows.count * length,))
    found = rows.make(CORRELATE, (line, v))
    whole = rows.make(ASSEMBLE, (found,), (Regions((box((0, rows.count * length - length + count)),)), (rows.count * length,), True))
    return rows.make(INDEX, (in_shape(rows, whole, (rows.count, length)),), (box((0, rows.count), (0, count)),))


def _solve(rows: RowMapper, instruction: Instruction, operands: list[int], batched: list[bool]) -> int | None:
    """Solve for the right-hand sides of all rows as columns of one matrix, or with stacks of matrices."""
    types = [rows.tape.instructions[k].type for k in instruction.inputs]
    if all(batched[:-1]) and is_batchable(instruction, types, rows.count, [not b for b in batched]):
        return Batch(rows, rows.count, operands, batched).emit(instruction)
    if any(batched[:-1]) or len(rows.instructions[operands[0]].type.shape) > 2:
        return None
    *matrix, sides = operands
    n, columns = instruction.type.shape[0], math.prod(instruction.type.shape[1:])
    if len(instruction.type.shape) == 1:
        stacked = _transposed(rows, sides, (1, 0))
        return _transposed(rows, rows.make(instruction.op, (*matrix, stacked), instruction.params), (1, 0))
    stacked = in_shape(rows, _transposed(rows, sides, (1, 0, 2)), (n, rows.count * columns))
    solved = rows.make(instruction.op, (*matrix, stacked), instruction.params)
    return _transposed(rows, in_shape(rows, solved, (n, rows.count, columns)), (1, 0, 2))


def _shifted_positions(rows: RowMapper, number: int, size: int) -> int | None:
    """Shift constant positions in each row to positions in the array of all rows; None unless they are known."""
    known = known_positions(rows.instructions, number)
    if known is None:
        return None
    moved = known + (np.arange(rows.count, dtype=np.int64) * size).reshape(-1, *(1,) * known.ndim)
    return rows.constant(moved, ValueType(moved.shape, INT64))


def _scattered(rows: RowMapper, instruction: Instruction, operands: list[int], batched: list[bool]) -> int | None:
    (shape,) = instruction.params
    positions = None if batched[1] else _shifted_positions(rows, operands[1], math.prod(shape))
    return None if positions is None else rows.make(SCATTER_ADD, (operands[0], positions), ((rows.count, *shape),))


def _put(rows: RowMapper, instruction: Instruction, operands: list[int], batched: list[bool]) -> int | None:
    positions = None if batched[2] else _shifted_positions(rows, operands[2], instruction.type.size)
    if positions is None:
        return None
    whole = [n if b else spread(rows, n, rows.count) for n, b in zip(operands[:2], batched)]
    return rows.make(PUT, (*whole, positions), instruction.params)


def _assembled(rows: RowMapper, instruction: Instruction, operands: list[int], batched: list[bool]) -> int:
    """Batch the assembly; overlapping parts are added in each row as in a single one."""
    return Batch(rows, rows.count, operands, batched).emit(instruction)


RULES: dict[Hashable, Callable[[RowMapper, Instruction, list[int], list[bool]], int | None]] = {
    MATMUL: _product,
    CORRELATE: _correlated,
    TRIANGULAR_SOLVE: _solve,
    LU_SOLVE: _solve,
    BAND_SOLVE: _solve,
    SCATTER_ADD: _scattered,
    ASSEMBLE: _assembled,
    PUT: _put,
}
