"""One step of a wavefront: the cells of several rows on an anti-diagonal of a table, one per SIMD lane.

At step s lane l is at the cell j = s - delay · l of its row. It reads results of the lane before it from some steps earlier; lane 0 reads
the row above the block. A lane that has not begun, or has ended, computes on zeros, and its results are not read: their cotangents are
exact zeros of discarded values, which the reverse pass keeps zeros where derivatives are infinite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...ir.instruction import BOOL, CONSTANT, INPUT, AnyType, Instruction, ValueType
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops import Elementwise
from ...ops.arrays.indexing import ASSEMBLE, INDEX, REPLACE
from ...ops.arrays.regions import Region, Regions
from ...ops.control.calls import GET
from ...ops.elementwise.comparison import SELECT
from ...passes.rolling.vectorize import spread
from ...passes.rows import box, part_of
from ..map_rows import LoopCallee, map_rows
from .skewed import padded, skewed
from .tables import Table

# Limit on the earlier steps whose results are kept.
MOST_KEPT = 8
# Limit on the values computed as operands of a cell.
MOST_READS = 400


class NoWavefront(Exception):
    """A cell reads a value that is not known in time, or rows are assembled in an unsupported way."""


@dataclass(frozen=True)
class When:
    """The cells that read a value: all of a row, or the one at a position; of the row itself, or of the row below it.

    Attributes:
        at: the position; None for all.
        is_told: the next lane reads the value that this one passes to the row below.
    """

    at: int | None = None
    is_told: bool = False


CELLS, TOLD = When(), When(is_told=True)


class Step(Rewriter):
    """Builds the tape of one step, and in `block` its inputs from the rows.

    Args:
        table: the loop over rows.
        lanes, delay: the number of rows in a block, and of steps between one row and the next.
        block: the tape of one block of rows, for operations on whole rows.
        given: the number in `block` of each free value that is read; with an axis of lanes if it is in `per_row`.
        above: the number in `block` of each carry in `table.rows`.
        per_row: True for values of the body that differ from row to row, but depend on no carry.
    """

    def __init__(
        self, table: Table, lanes: int, delay: int, block: Rewriter, given: dict[int, int], above: dict[int, int], per_row: list[bool]
    ) -> None:
        super().__init__(table.body)
        self.table, self.lanes, self.delay = table, lanes, delay
        self.block, self.given, self.above, self.per_row = block, given, above, per_row
        steps = np.arange(table.cells + delay * (lanes - 1))
        self.at = steps[:, None] - delay * np.arange(lanes)
        self.kept: dict[tuple[int, int], int] = {}
        self.streams: dict[int, int] = {}
        self.constants: dict[int, int] = {}
        self.made: dict[tuple[int, int, When], int] = {}
        self.masks: dict[bytes, int] = {}

    # Inputs of a step: each is an INPUT, keyed by its number in the block

    def _input(self, type_: AnyType) -> int:
        if len(self.instructions) > MOST_READS:
            raise NoWavefront
        return self.emit(INPUT, (), (-1,), type_, None)

    def _stream(self, number: int) -> int:
        """Read an array of the block, one entry per step."""
        if number not in self.streams:
            type_ = self.block.instructions[number].type
            self.streams[number] = self._input(ValueType(type_.shape[1:], type_.dtype))
        return self.streams[number]

    def _shared(self, number: int) -> int:
        """Read a value of the block that is the same at all steps."""
        if number not in self.constants:
            self.constants[number] = self._input(self.block.instructions[number].type)
        return self.constants[number]

    def _mask(self, where: np.ndarray) -> int:
        key = where.tobytes()
        if key not in self.masks:
            self.masks[key] = self._stream(self.block.constant(where, ValueType(where.shape, BOOL)))
        return self.masks[key]

    def _kept(self, value: int, lag: int) -> int:
        """Return the lanes' results of a value of the cell, some steps earlier."""
        if not 1 <= lag <= MOST_KEPT:
            raise NoWavefront
        for earlier in range(1, lag + 1):
            if (value, earlier) not in self.kept:
                type_ = self.table.cell.instructions[value].type
                self.kept[value, earlier] = self._input(ValueType((self.lanes,), type_.dtype))
        return self.kept[value, lag]

    # Values of the body as the lanes see them

    def _selected(self, number: int, where: np.ndarray, other: int) -> int:
        """Select a value at some steps of some lanes, and another one elsewhere."""
        if where.all():
            return number
        if self.instructions[other].type.dtype != self.instructions[number].type.dtype:
            raise NoWavefront
        return self.make(SELECT, (self._mask(where), number, other))

    def _body_shape(self, value: int) -> tuple[int, ...]:
        return self.table.body.instructions[value].type.shape

    def value(self, value: int, offset: int, when: When) -> int:
        """Return a value of the body: a number, or each lane's entry of a row at an offset from its own cell."""
        key = (value, offset if self._body_shape(value) else 0, when)
        if key not in self.made:
            is_free = self.table.is_free(value)
            self.made[key] = self._free(value, offset, when) if is_free else self._dependent(value, offset, when)
        return self.made[key]

    def _free(self, value: int, offset: int, when: When) -> int:
        instruction = self.table.body.instructions[value]
        shape = instruction.type.shape
        if len(shape) > 1:
            raise NoWavefront
        if not shape:
            is_constant = instruction.op is CONSTANT
            return self.constant(instruction.params[0], instruction.type) if is_constant else self._shared(self.given[value])
        (width,) = shape
        if instruction.op is CONSTANT:
            inside = (self.at + offset >= 0) & (self.at + offset < width)
            entries = np.where(inside, instruction.params[0][np.clip(self.at + offset, 0, width - 1)], 0)
            return self._stream(self.block.constant(entries, ValueType(entries.shape, instruction.type.dtype)))
        rows = self.given[value] if self.per_row[value] else spread(self.block, self.given[value], self.lanes)
        return self._stream(skewed(self.block, rows, offset, self.table.cells, self.delay))

    def _dependent(self, value: int, offset: int, when: When) -> int:
        op, inputs, params, type_, _ = self.table.body.instructions[value]
        if len(type_.shape) > 1 or not self.table.above[value] or self.table.beside[value]:
            raise NoWavefront
        if op is INDEX:
            return self._entry_of(inputs[0], params[0], offset, when)
        if op in (ASSEMBLE, REPLACE) and type_.shape:
            return self._of_parts(value, offset, when)
        if op is GET and when.is_told:
            return self._result(params[0], offset, when)
        if op is INPUT and type_.shape and not when.is_told:
            return self._told(value, offset)
        if isinstance(op, Elementwise) and not op.raises:
            return self._elementwise(value, offset, when)
        raise NoWavefront

    def _entry_of(self, array: int, region: Region, offset: int, when: When) -> int:
        if len(region.starts) != 1 or region.steps[0] != 1 or len(region.shape) > 1:
            raise NoWavefront
        if region.shape:
            return self.value(array, offset + region.starts[0], when)
        # One entry, read at one place.
        if when.at is None:
            raise NoWavefront
        return self.value(array, region.starts[0] - when.at, when)

    def _elementwise(self, value: int, offset: int, when: When) -> int:
        op, inputs, params, type_, _ = self.table.body.instructions[value]
        shapes = [self._body_shape(i) for i in inputs]
        if any(shape not in ((), type_.shape) for shape in shapes):
            raise NoWavefront
        return self.make(op, tuple(self.value(i, offset, when) for i in inputs), params)

    def _of_parts(self, value: int, offset: int, when: When) -> int:
        """Select the part that contains the entry, by masks; outside of all parts, the array they are written into, or 0."""
        op, parts, params, type_, _ = self.table.body.instructions[value]
        (width,), regions, disjoint = type_.shape, params[0], op is REPLACE or params[2]
        whole, parts = (parts[0], parts[1:]) if op is REPLACE else (None, parts)
        if not disjoint or any(r.steps[0] != 1 and r.counts[0] != 1 for r in regions):
            raise NoWavefront
        is_constant = [self.table.body.instructions[p].op is CONSTANT and not self._body_shape(p) for p in parts]
        order = sorted(zip(is_constant, parts, regions), key=lambda part: not part[0])
        is_covered = sum(r.counts[0] for r in regions) == width
        chosen = None
        if not is_covered:
            chosen = self.constant(0, ValueType((), type_.dtype)) if whole is None else self.value(whole, offset, when)
        for _, part, region in order:
            (start,), (count,) = region.starts, region.counts
            inside = (self.at + offset >= start) & (self.at + offset < start + count)
            if not inside.any():
                continue
            reads = when if self._body_shape(part) else replace(when, at=start - offset)
            number = self.value(part, offset - start, reads)
            chosen = number if chosen is None else self._selected(number, inside, chosen)
        if chosen is None:
            raise NoWavefront
        return chosen

    # Between lanes and steps

    def _told(self, carry: int, offset: int) -> int:
        """Return entries of the row above each lane: from the lane before, and for lane 0 from the row above the block."""
        table = self.table
        k = table.body.inputs.index(carry)
        (width,) = self._body_shape(carry) or (0,)
        given = self.value(table.body.outputs[k], offset - self.delay, TOLD)
        if not self.instructions[given].type.shape:
            given = spread(self, given, self.lanes)
        first, end = max(0, offset), min(width, offset + table.cells)
        if first >= end or self.instructions[given].type.dtype != self._body_dtype(carry):
            raise NoWavefront
        row = padded(self.block, part_of(self.block, self.above[k], first, end - first), first - offset, len(self.at))
        before = self.make(INDEX, (given,), (box((0, self.lanes - 1)),))
        regions = Regions([box((0, 1), shape=()), box((1, self.lanes - 1))])
        return self.make(ASSEMBLE, (self._stream(row), before), (regions, (self.lanes,), True))

    def _body_dtype(self, value: int) -> np.dtype:
        return self.table.body.instructions[value].type.dtype

    def _result(self, item: int, offset: int, when: When) -> int:
        """Return the lanes' result at the given offset; for a last value of the recurrence, at the last cell."""
        table = self.table
        if item >= table.inner.carries:
            return self._kept(table.cell.outputs[item], -offset)
        if when.at is None:
            raise NoWavefront
        return self._kept(table.cell.outputs[item], when.at - (table.cells - 1))

    # The step

    def cells(self, loop_callee: LoopCallee) -> dict[int, int]:
        """Emit the cell of every lane; map the cell's outputs to their numbers."""
        table, inner = self.table, self.table.inner
        operands = table.body.instructions[table.recurrence].inputs
        arguments: list[int] = []
        for k, operand in enumerate(operands):
            if k >= inner.carries + inner.streams and self._body_shape(operand):
                raise NoWavefront
            if k >= inner.carries:
                arguments.append(self.value(operand, 0, CELLS))
                continue
            first = self.value(operand, 0, When(0))
            arguments.append(self._selected(self._kept(table.cell.outputs[k], 1), self.at != 0, first))
        rows = [k for k, number in enumerate(arguments) if self.instructions[number].type.shape]
        outputs = self.splice(map_rows(table.cell, rows, self.lanes, loop_callee), arguments)
        return dict(zip(table.cell.outputs, outputs))

    def finished(self, given: dict[int, int], results: list[int]) -> tuple[Tape, list[int]]:
        """Return the tape of the step, with the kept values and then `results` as outputs; and the operands of its loop in the block."""
        kept = [given[value] if lag == 1 else self.kept[value, lag - 1] for value, lag in self.kept]
        order = [*self.kept.values(), *self.streams.values(), *self.constants.values()]
        number = {old: position for position, old in enumerate(order)}
        made = [self.instructions[old]._replace(params=(position,)) for old, position in number.items()]
        for old, (op, inputs, params, type_, site) in enumerate(self.instructions):
            if old not in number:
                number[old] = len(made)
                made.append(Instruction(op, tuple(number[i] for i in inputs), params, type_, site))
        outputs = tuple(number[i] for i in (*kept, *(given[value] for value in results)))
        active = tuple(k for k in range(len(order)) if made[k].type.is_float)
        tape = Tape(tuple(made), tuple(range(len(order))), outputs, self.table.body.name, active, True)
        starts = [self._zeros(self.instructions[i].type) for i in self.kept.values()]
        return tape, [*starts, *self.streams, *self.constants]

    def _zeros(self, type_: ValueType) -> int:
        return self.block.constant(np.zeros(type_.shape, type_.dtype), type_)
