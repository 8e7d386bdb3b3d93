"""Builds arrays from scattered values, and reads slices of arrays, with few instructions."""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np

from ...ir.instruction import (
    CONSTANT,
    INPUT,
    INT64,
    OWN,
    Instruction,
    Params,
    Primitive,
    ValueType,
    numbers_of,
)
from ...ir.tape import Tape
from ...ops.arrays.indexing import ASSEMBLE, GATHER, INDEX, REPLACE, Region, Regions
from ...ops.arrays.shape import BROADCAST
from ..column_rewriter import ColumnRewriter
from ..columns import operands_in
from ..rows import in_shape
from ..simplify.array_entries import POSITION, SHIFT, own_entries, read_box, split
from .grids import Block, grid_of, window_in
from .tape_arrays import Ints, TapeArrays

# Arrays assembled from fewer parts are left as they are.
MANY_PARTS = 8

# Fewer instructions are copied one by one.
FEW_MEMBERS = 16


class ArrayBuilder(ColumnRewriter):
    """Rebuilds a tape; values are emitted when they are first needed."""

    def __init__(self, sequence: TapeArrays) -> None:
        super().__init__(sequence.tape)
        self.sequence = sequence
        self._made: dict[Hashable, int] = {}
        # New arrays with old values as entries; their source numbers follow the last old value.
        self._arrays: list[int] = []
        for old in sequence.tape.inputs:
            self.number[old] = self.copy(old)

    def make(self, op: Primitive, inputs: tuple[int, ...], params: Params = ()) -> int:
        """Emit an instruction, unless an equal one exists; infer its type from its operands."""
        key = (op, inputs, params)
        known = self._made.get(key)
        if known is None:
            known = self._made[key] = super().make(op, inputs, params)
        return known

    # Old values

    def value(self, old: int) -> int:
        """The new number of an old value."""
        tape, sequence = self.tape, self.sequence
        old = int(sequence.same[old])
        # Nested reads of slices, outermost last; the depth is unlimited.
        reads: list[int] = []
        while self.number[old] < 0 and 0 <= sequence.source[old] < len(tape.instructions):
            reads.append(old)
            old = int(sequence.same[self._read_of(old)])
        made = int(self.number[old])
        if made < 0:
            made = self.number[old] = self._made_now(old)
        for read in reversed(reads):
            if self.columns is not None:
                made = super().copy(read)
                continue
            op, _, params, type_, site = tape.instructions[read]
            made = self.number[read] = self.emit(op, (made,), params, type_, site)
        return made

    def _read_of(self, read: int) -> int:
        """Return the array that an old read reads."""
        columns = self.columns
        if columns is not None and columns.takes[columns.which[read]] != OWN:
            return int(columns.first[read])
        return self.old(read).inputs[0]

    def old(self, number: int) -> Instruction:
        """Return an old instruction; of a column-stored tape only its template, which may lack operands and parameters."""
        columns = self.columns
        return self.tape.instructions[number] if columns is None else columns.templates[columns.which[number]]

    def _made_now(self, old: int) -> int:
        """A value that is the entry of a new array, or a constant."""
        op, inputs, params, type_, site = self.old(old)
        source = int(self.sequence.source[old])
        if source >= len(self.tape.instructions):
            outer, self.site = self.site, site
            made = self.read(self._arrays[source - len(self.tape.instructions)], self._positions(old))
            self.site = outer
            return made
        assert op is CONSTANT, "a value is used that nothing has made"
        return super().copy(old) if self.columns is not None else self.emit(op, inputs, params, type_, site)

    def copy(self, old: int) -> int:
        op, inputs, params, type_, site = self.old(old)
        if op is INPUT or op is CONSTANT:
            return super().copy(old)
        is_joined = op is REPLACE or (op is ASSEMBLE and params[2])
        if is_joined and len(inputs) > MANY_PARTS:
            self.site = site
            base = None if op is ASSEMBLE else self.value(inputs[0])
            parts = np.array(inputs if op is ASSEMBLE else inputs[1:], np.int64)
            made = self._joined_again(base, parts, params[0], type_)
            if made is not None:
                return made
        if self.columns is None:
            return self.emit(op, tuple([self.value(i) for i in inputs]), params, type_, site)
        for i in inputs or operands_in(self.columns, old):
            self.value(i)
        return super().copy(old)

    def final_numbers(self) -> np.ndarray:
        return super().final_numbers()[self.sequence.same]

    def copy_members(self, start: int, stop: int) -> None:
        """Copy a stretch of the sequence."""
        sequence = self.sequence
        # Arrays of many parts may be reassembled.
        parts = np.diff(sequence.first[start : stop + 1])
        for place in (start + np.flatnonzero(parts > MANY_PARTS)).tolist():
            self._copy_between(start, place)
            old = int(sequence.members[place])
            self.number[old] = self.copy(old)
            start = place + 1
        self._copy_between(start, stop)

    def _copy_between(self, start: int, stop: int) -> None:
        sequence, number = self.sequence, self.number
        members = sequence.members[start:stop]
        numbers = members.tolist()
        if self.columns is None or members.size < FEW_MEMBERS:
            for old in numbers:
                number[old] = self.copy(old)
            return
        operands = sequence.same[sequence.operands[sequence.first[start] : sequence.first[stop]]]
        members_of = np.repeat(np.arange(members.size), np.diff(sequence.first[start : stop + 1]))
        # Values emitted at their first use, by the place of that use.
        position = sequence.position[operands]
        outside = np.flatnonzero((position < start) | (position >= stop))
        different, first = np.unique(operands[outside], return_index=True)
        missing = outside[np.sort(first[[number[old] < 0 for old in different.tolist()]])]
        done = 0
        for place, old in zip(members_of[missing].tolist(), operands[missing].tolist()):
            if done < place:
                self.copy_those(numbers[done:place])
                done = place
            self.value(old)
        self.copy_those(numbers[done:])

    def settle(self, old: Ints, array: int) -> None:
        """Old values are the entries of a new array."""
        sequence = self.sequence
        shape = self.instructions[array].type.shape[1:]
        size = math.prod(shape)
        sequence.source[old] = len(self.tape.instructions) + len(self._arrays)
        sequence.offset[old] = np.arange(old.size) * size
        sequence.box[old] = sequence.add_box(np.arange(size).reshape(shape))
        self._arrays.append(array)

    def _positions(self, old: int) -> Ints:
        return self.sequence.offset[old] + self.sequence.boxes[int(self.sequence.box[old])]

    def _source(self, source: int) -> int:
        count = len(self.tape.instructions)
        return self._arrays[source - count] if source >= count else self.value(source)

    # Arrays of old values

    def stacked(self, old: Ints, grows: bool = False) -> int:
        """Return the array of some old values of one type. `grows`: it will be built again with a few more values."""
        made, sequence = self._stacked(old), self.sequence
        if grows or sequence.growing:
            old = sequence.same[old]
            sources = sequence.source[old]
            is_read = sources[0] >= 0 and (sources == sources[0]).all()
            grows |= not sequence.growing.isdisjoint((int(sources[0]), int(sources[-1])))
            if grows and not is_read and np.unique(old).size == old.size:
                sequence.growing.add(len(self.tape.instructions) + len(self._arrays))
                self.settle(old, made)
        return made

    def _stacked(self, old: Ints) -> int:
        sequence = self.sequence
        type_: ValueType = self.tape.instructions[int(old[0])].type
        wide = ValueType((old.size, *type_.shape), type_.dtype)
        if sequence.is_constant[old].all():
            return self.constant(numbers_of(self.tape.instructions, old).reshape(wide.shape), wide)
        sources, boxes = sequence.source[old], sequence.box[old]
        if sources[0] >= 0 and (sources == sources[0]).all() and (boxes == boxes[0]).all():
            first = sequence.offset[old].reshape(-1, *(1,) * len(type_.shape))
            return self.read(self._source(int(sources[0])), first + sequence.boxes[int(boxes[0])])
        if not type_.shape:
            joined = self._joined_entries(old, wide)
            if joined is not None:
                return joined
        zeros, ones = (0,) * len(type_.shape), (1,) * len(wide.shape)
        regions = Regions(Region((k, *zeros), ones, (1, *type_.shape), type_.shape) for k in range(old.size))
        joined = self._joined_again(None, old, regions, wide) if type_.shape else None
        if joined is not None:
            return joined
        return self.make(ASSEMBLE, tuple([self.value(k) for k in old.tolist()]), (regions, wide.shape, True))

    def shifted(self, initial: list[int], array: int) -> int:
        """Shift an array by some iterations: the initial values, then all but its last entries."""
        type_ = self.instructions[array].type
        count, shape = type_.shape[0], type_.shape[1:]
        first = len(initial)
        tail = Region(
            (0,) * len(type_.shape), (1,) * len(type_.shape), (count - first, *shape), (count - first, *shape)
        )
        kept = self.make(INDEX, (array,), (tail,))
        regions = [Region((k, *(0 for _ in shape)), (1,) * len(type_.shape), (1, *shape), shape) for k in range(first)]
        regions.append(Region((first, *(0 for _ in shape)), tail.steps, tail.counts, tail.counts))
        return self.make(ASSEMBLE, (*initial, kept), (Regions(regions), type_.shape, True))

    def _joined_again(self, base: int | None, old: Ints, regions: Regions, type_: ValueType) -> int | None:
        """Assemble an array of parts, merging slices of one source; None if few are slices."""
        sequence, shape = self.sequence, type_.shape
        old = sequence.same[old]
        if not self._are_read(old):
            return None
        entries = np.full(shape, -1, np.int64)
        flat = entries.reshape(-1)
        for start, end, places in regions.stretches(shape):
            if places is not None:
                flat[places] = self._origins(old[start:end])
            else:
                number = int(old[start])
                if sequence.source[number] >= 0:
                    part = (self._source(int(sequence.source[number])) << SHIFT) + self._positions(number)
                else:
                    new = self.value(number)
                    part = own_entries(new, self.instructions[new].type.shape)
                entries[regions[start].slices] = part.reshape(regions[start].counts)
        return self._of_pieces(base, flat, old.size, type_)

    def _joined_entries(self, old: Ints, type_: ValueType) -> int | None:
        """Assemble a one-dimensional array from single entries in the same way."""
        old = self.sequence.same[old]
        return self._of_pieces(None, self._origins(old), old.size, type_) if self._are_read(old) else None

    def _are_read(self, old: Ints) -> bool:
        """True if at least half of them are slices of arrays."""
        return 2 * int(np.count_nonzero(self.sequence.source[old] >= 0)) >= old.size

    def _of_pieces(self, base: int | None, flat: Ints, count: int, type_: ValueType) -> int | None:
        """Assemble an array from given entries, -1 where `base` stays; None if it takes more than half as many pieces as `count`."""
        shape = type_.shape
        filled = np.flatnonzero(flat >= 0)
        pieces = split(filled, flat[filled], shape, self.instructions)
        if any(p.target is None for p in pieces) or 2 * len(pieces) > count:
            return self._grid(flat, type_) if base is None and filled.size == flat.size else None
        parts = tuple([self.read(p.source, p.positions) for p in pieces])
        wide = Regions(p.target for p in pieces if p.target is not None)
        whole = len(pieces) == 1 and base is None and filled.size == flat.size
        if whole and self.instructions[parts[0]].type.shape == shape:
            return parts[0]
        if base is None:
            return self.make(ASSEMBLE, parts, (wide, shape, True))
        return self.make(REPLACE, (base, *parts), (wide,))

    def _grid(self, entries: Ints, type_: ValueType) -> int | None:
        """Assemble such entries as the rows of a grid, as a nested loop reads them."""
        found = grid_of(entries) if len(type_.shape) == 1 else None
        if found is None:
            return None
        grid, blocks = found
        parts = tuple([self._block(block) for block in blocks])
        regions = Regions(block.target for block in blocks)
        return in_shape(self, self.make(ASSEMBLE, parts, (regions, grid.shape, True)), type_.shape)

    def _block(self, block: Block) -> int:
        source, positions = int(block.entries[0, 0]) >> SHIFT, block.entries & POSITION
        if positions.size == 1 and not self.instructions[source].type.shape:
            return in_shape(self, source, positions.shape)
        return self.read(source, positions)

    def _origins(self, old: Ints) -> Ints:
        """The origins of single entries, as in array_entries."""
        sources = self.sequence.source[old]
        numbers = np.empty(old.size, np.int64)
        for source in np.unique(sources[sources >= 0]).tolist():
            numbers[sources == source] = self._source(source)
        for k in np.flatnonzero(sources < 0).tolist():
            numbers[k] = self.value(int(old[k]))
        return (numbers << SHIFT) + np.where(sources >= 0, self.sequence.offset[old], 0)

    # Parts of new arrays

    def read(self, number: int, positions: Ints) -> int:
        """The entries of an array at flat positions, in their shape."""
        positions = np.asarray(positions)
        made = read_box(self, number, positions, positions.shape)
        if made is None:
            made = self._repeated_rows(number, positions)
        if made is None and positions.ndim == 2:
            made = self._box_of_rows(number, positions)
        if made is None:
            made = self.make(GATHER, (number, self.constant(positions, ValueType(positions.shape, INT64))))
        return in_shape(self, made, positions.shape)

    def _repeated_rows(self, number: int, positions: Ints) -> int | None:
        """Read for two nested loops: boxes, or entries that are constant in the inner loop."""
        firsts = positions.reshape(positions.shape[0], -1)[:, 0] if positions.ndim else positions.reshape(1)
        steps = np.diff(firsts)
        if steps.size < 3:
            return None
        breaks = np.flatnonzero(steps != steps[0])
        length = int(breaks[0]) + 1 if breaks.size else 1
        if length < 2 or positions.shape[0] % length:
            return None
        rows = positions.reshape(-1, length, *positions.shape[1:])
        if bool((rows == rows[:, :1]).all()):
            columns = self.read(number, rows[:, 0])
            shape = self.instructions[columns].type.shape
            return self.make(
                BROADCAST, (in_shape(self, columns, (shape[0], 1, *shape[1:])),), (rows.shape,)
            )  # fmt: skip
        if bool((rows == rows[:1]).all()):
            row = self.read(number, rows[0])
            return self.make(BROADCAST, (row,), (rows.shape,))
        made = read_box(self, number, rows, rows.shape)
        return self._box_of_rows(number, rows) if made is None and rows.ndim == 2 else made

    def _box_of_rows(self, number: int, rows: Ints) -> int | None:
        """Read the entries as a box of the flat array reshaped into rows."""
        size = self.instructions[number].type.size
        found = window_in(rows, size)
        if found is None:
            return None
        flat = in_shape(self, number, (size,))
        if found.rows * found.width != size:
            length = found.rows * found.width
            flat = self.make(INDEX, (flat,), (Region((found.first,), (1,), (length,), (length,)),))
        return self.make(INDEX, (in_shape(self, flat, (found.rows, found.width)),), (found.box,))

    def rebuilt(self) -> Tape:
        for output in self.tape.outputs:
            self.number[output] = self.value(output)
        return self.finish()
