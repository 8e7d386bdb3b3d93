"""Loop blocking: loops over arrays of many independent rows run to their ends on one block of rows after the other.

```
for t in range(50):                    for rows in blocks:
    y = f(y, z[t])              →          for t in range(50):
s = np.sum(g(y))                               y[rows] = f(y[rows], z[t, rows])
                                           parts.append(np.sum(g(y[rows])))
                                       s = np.sum(parts)
```

The states of 100,000 paths do not fit into a cache, nor do those of all iterations, which the reverse pass reads; those of a block do. Code
before, between and after the loops joins the blocks as well, and so does the reverse pass if it needs no sum over all rows first. Each row
is computed by the same operations; sums over rows are added up block by block, in a fixed order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...ir.instruction import CONSTANT, INPUT, AnyType, Instruction, Primitive, TupleType, ValueType, item_types
from ...ir.rewriter import Rewriter, part_of_tape
from ...ir.tape import Tape
from ...ops import Elementwise
from ...ops.arrays.indexing import ASSEMBLE, INDEX
from ...ops.arrays.reductions import SUM
from ...ops.arrays.regions import Region, Regions
from ...ops.arrays.shape import RESHAPE, TRANSPOSE
from ...ops.control.calls import GET, LOOP, LoopForm
from ...ops.elementwise.arithmetic import ADD, CONVERT
from ...passes.loops.loop_builder import emit_loop
from ...passes.rows import entry_of
from .fewer_rows import constants_lifted, is_filled, with_rows
from .row_axes import PART, RULES, SAME, Kind, RowsMeet, axis_of_rows, body_of, kind_of

# Fewer rows, and loops of fewer iterations, are left as they are.
FEWEST_ROWS, FEWEST_ITERATIONS = 512, 8

# The least bytes of the loops of all rows: more than a second-level cache. Four programs of 1,000 to 2,000 rows took 0.7 to 1.0 of the time
# with 2 to 6 MB, of 20,000 rows 0.4 to 0.65.
LEAST_BYTES = 1 << 20

# The weight of carries, which every iteration reads and writes.
EACH_CARRY = 4

# Bytes of a block: a part of a second-level cache. Blocks of 64 and 128 kB took the same time, of 256 kB up to a tenth more. Shorter
# blocks cost more in loops that begin and end than they save.
BLOCK_BYTES, SHORTEST_BLOCK, LONGEST_BLOCK = 1 << 17, 64, 2_048
LANES = 8

# Longer tapes are left as they are, as most of their work is elsewhere.
LONGEST_TAPE = 20_000

# The number of axis lengths tried.
MOST_TRIALS = 2


def rows_in_blocks(tape: Tape) -> Tape:
    """The tape with such loops; the tape itself where there are none.

    Cost: linear in the number of instructions, of the tape and of the bodies of its loops.
    """
    if LOOP not in tape.ops or len(tape) > LONGEST_TAPE:
        return tape
    for rows in _likely_rows(tape):
        lifted = constants_lifted(tape, rows)
        stages = _stages(lifted, rows)
        if stages.bytes_of_row and 2 * _length_of_block(rows, max(stages.bytes_of_row.values())) <= rows:
            return _Blocks(stages).emitted()
    return tape


def _likely_rows(tape: Tape) -> list[int]:
    """Return the axis lengths with the most entries of loop carries."""
    entries: Counter[int] = Counter()
    for op, _, params, _, _ in tape.instructions:
        if op is LOOP and params[1].length is not None and params[1].length >= FEWEST_ITERATIONS:
            for type_ in params[0].out_types[: params[1].carries]:
                for extent in type_.shape:
                    if extent >= FEWEST_ROWS:
                        entries[extent] += type_.size
    return [extent for extent, _ in entries.most_common(MOST_TRIALS)]


@dataclass
class _Stages:
    """Assigns the values of a tape to stages. Each stage first computes values that mix rows, then those that may run in blocks.

    Attributes:
        tape, rows: the tape, and the number of rows.
        stage: of each value.
        apart: True if it keeps rows separate, so that it may be computed in the blocks of its stage.
        kinds: its kind in the blocks.
        bytes_of_row: by stage that runs in blocks, the bytes of its loops for one row.
    """

    tape: Tape
    rows: int
    stage: list[int]
    apart: list[bool]
    kinds: list[Kind]
    bytes_of_row: dict[int, int]

    def is_in_blocks(self, number: int) -> bool:
        return self.apart[number] and self.stage[number] in self.bytes_of_row


def _stages(tape: Tape, rows: int) -> _Stages:
    found = _Stages(tape, rows, [], [], [], {})
    for number, instruction in enumerate(tape.instructions):
        stage, is_apart, kind = _stage(found, number, instruction)
        found.stage.append(stage)
        found.apart.append(is_apart)
        found.kinds.append(kind)
    # Guards stay before the blocks. Kernels that share a guard compute its value identically, and a gradient has other blocks than a value.
    if any(stage > 0 and not is_apart and not _may_be_late(instruction)
           for stage, is_apart, instruction in zip(found.stage, found.apart, tape.instructions)):  # fmt: skip
        return found
    _choose(found)
    return found


def _stage(found: _Stages, number: int, instruction: Instruction) -> tuple[int, bool, Kind]:
    """Return the stage of the next value, True if it keeps rows separate there, and its kind."""
    op, inputs, _, _, _ = instruction
    if op is INPUT or op is CONSTANT:
        return 0, False, SAME
    first = max((found.stage[i] for i in inputs), default=0)
    for stage in (first, first + 1):
        try:
            kinds = {i: _kind_in(found, i, stage) for i in inputs}
            # After the loops, operations on sums cost nothing.
            if op is not LOOP and PART in kinds.values():
                continue
            kind = kind_of(found.tape, number, kinds, found.rows)
        except RowsMeet:
            continue
        inside = [found.apart[i] and found.stage[i] == stage for i in inputs]
        if _is_for_blocks(op, _all(kind), kinds.values(), inside):
            return stage, True, kind
    return max((found.stage[i] + int(found.apart[i]) for i in inputs), default=0), False, SAME


def _kind_in(found: _Stages, number: int, stage: int) -> Kind:
    if found.apart[number] and found.stage[number] == stage:
        return found.kinds[number]
    return axis_of_rows(found.tape.instructions[number].type, found.rows)


def _all(kind: Kind) -> Sequence[int]:
    return kind if isinstance(kind, tuple) else (kind,)


def _is_for_blocks(op: Primitive, results: Sequence[int], kinds: Iterable[Kind], inside: Sequence[bool]) -> bool:
    """True if a value that keeps rows separate belongs into the blocks: it has rows, or is made of values there."""
    if any(kind >= 0 for given in (results, *map(_all, kinds)) for kind in given):
        return True
    return any(inside) and op is not LOOP and (op is GET or PART not in results)


def _may_be_late(instruction: Instruction) -> bool:
    """True if an instruction may move after the blocks: it neither fails, nor calls anything that may."""
    op, _, params, _, _ = instruction
    if op is LOOP:
        return body_of(*params) is not None
    return isinstance(op, Elementwise) or op is CONVERT or op is GET or op in RULES


def _choose(found: _Stages) -> None:
    """Choose the stages that run in blocks: their loops exchange much data, which then stays in the cache.

    Data of other stages goes through memory anyway. Two scans with the mean of their results between them took a third more time in blocks.
    """
    sizes: Counter[int] = Counter()
    iterations: Counter[int] = Counter()
    crossing, kept = {*found.tape.outputs}, set[int]()
    for number, instruction in enumerate(found.tape.instructions):
        stage = found.stage[number]
        crossing.update(i for i in instruction.inputs if not found.apart[number] or found.stage[i] != stage)
        if found.apart[number] and instruction.op is LOOP:
            form = instruction.params[1]
            iterations[stage] = max(iterations[stage], form.length)
            carries = item_types(instruction)[: form.carries]
            sizes[stage] += EACH_CARRY * sum(_bytes_of_rows(found, type_) for type_ in carries)
            read = {i for i in instruction.inputs if found.apart[i]}
            kept.update(i for i in read if found.stage[i] == stage)
            sizes[stage] -= sum(_bytes_of_rows(found, found.tape.instructions[i].type) for i in read if found.stage[i] != stage)
        elif found.apart[number] and instruction.op is GET:
            kept.add(number)
    for number in filter(found.apart.__getitem__, kept | crossing):
        size = _bytes_of_rows(found, found.tape.instructions[number].type)
        sizes[found.stage[number]] += -size if number in crossing else size
    long = {stage for stage, most in iterations.items() if most >= FEWEST_ITERATIONS and sizes[stage] >= LEAST_BYTES}
    found.bytes_of_row = {stage: sizes[stage] // found.rows for stage in sorted(long)}
    while found.bytes_of_row:
        moved = _bytes_moved(found)
        vain = {stage for stage in found.bytes_of_row if 2 * moved[stage] > sizes[stage]}
        if not vain:
            break
        found.bytes_of_row = {stage: size for stage, size in found.bytes_of_row.items() if stage not in vain}


def _bytes_of_rows(found: _Stages, type_: AnyType) -> int:
    """The bytes of a value with rows; 0 for others."""
    return _bytes(type_) if isinstance(type_, ValueType) and axis_of_rows(type_, found.rows) >= 0 else 0


def _bytes_moved(found: _Stages) -> Counter[int]:
    """Return, by stage, the bytes that its blocks read and write in a transposed order."""
    moved: Counter[int] = Counter()
    instructions = found.tape.instructions
    for number, instruction in enumerate(instructions):
        for i in dict.fromkeys(instruction.inputs):
            inside = found.is_in_blocks(i), found.is_in_blocks(number)
            given = instructions[i]
            if any(inside) and not all(inside) and given.op is not CONSTANT and isinstance(given.type, ValueType):
                if axis_of_rows(given.type, found.rows) > 0:
                    moved[found.stage[i if inside[0] else number]] += _bytes(given.type)
    return moved


def _bytes(type_: AnyType) -> int:
    return type_.size * type_.dtype.itemsize


class _Blocks:
    """Rebuilds a tape, stage by stage, with loops over blocks."""

    def __init__(self, stages: _Stages) -> None:
        self.stages, self.tape, self.rows = stages, stages.tape, stages.rows
        self.made = Rewriter(stages.tape)
        self.block = _length_of_block(self.rows, max(stages.bytes_of_row.values()))
        self.count, self.rest = divmod(self.rows, self.block)
        # Values with rows computed in blocks: all whole blocks, stacked, and the remaining rows.
        self.in_blocks: dict[int, tuple[int, int]] = {}
        self.readers: list[list[int]] = [[] for _ in stages.stage]
        for number, instruction in enumerate(self.tape.instructions):
            for i in instruction.inputs:
                self.readers[i].append(number)

    def emitted(self) -> Tape:
        in_order: list[list[int]] = [[] for _ in range(max(self.stages.stage) + 1)]
        for number, stage in enumerate(self.stages.stage):
            in_order[stage].append(number)
        for numbers in in_order:
            inside = [n for n in numbers if self.stages.is_in_blocks(n)]
            for number in numbers:
                if not self.stages.is_in_blocks(number):
                    for i in self.tape.instructions[number].inputs:
                        self._whole(i)
                    self.made.number[number] = self.made.copy(number)
            if inside:
                self._emit_blocks(inside)
        for number in self.tape.outputs:
            self._whole(number)
        return self.made.finish()

    def _emit_blocks(self, inside: Sequence[int]) -> None:
        members, results = set(inside), set(self.tape.outputs)
        outputs = [n for n in inside if n in results or any(reader not in members for reader in self.readers[n])]
        outputs = [n for n in outputs if not isinstance(self.tape.instructions[n].type, TupleType)]
        read = dict.fromkeys(i for n in inside for i in self.tape.instructions[n].inputs if i not in members)
        constants = {i for i in read if self._is_constant(i)}
        streams = [i for i in read if i not in constants and self._axis(i) >= 0]
        others = [i for i in read if i not in constants and self._axis(i) < 0]
        body = part_of_tape(self.tape, [*streams, *others], outputs)
        loop = next(self.tape.instructions[n] for n in inside if self.tape.instructions[n].op is LOOP)
        callee = loop.params[0].fixed(with_rows(body, self.rows, self.block))
        form = LoopForm(0, len(streams), len(others), self.count, single_variant=True)
        shared = [self._whole(i) for i in others]
        operands = [*map(self._blocks_of, streams), *shared]
        self.made.site = loop.site
        items = emit_loop(self.made, callee, form, operands)
        self.made.site = None
        rest = [-1] * len(items)
        if self.rest:
            rest = self.made.splice(with_rows(body, self.rows, self.rest), [*map(self._rest_of, streams), *shared])
        for number, item, left in zip(outputs, items, rest):
            self._note(number, item, left)

    def _axis(self, number: int) -> int:
        return axis_of_rows(self.tape.instructions[number].type, self.rows)

    def _is_constant(self, number: int) -> bool:
        op, _, params, _, _ = self.tape.instructions[number]
        return op is CONSTANT and (self._axis(number) < 0 or is_filled(params[0]))

    def _note(self, number: int, item: int, left: int) -> None:
        """Record the result of a value computed in blocks."""
        kind = self.stages.kinds[number]
        if kind == PART:
            total = self.made.make(SUM, (item,), ((0,),))
            self.made.number[number] = self.made.make(ADD, (total, left)) if self.rest else total
        elif kind == SAME:
            self.made.number[number] = entry_of(self.made, item, 0)
        else:
            self.in_blocks[number] = item, left

    # Values with rows, whole and in blocks

    def _whole(self, number: int) -> int:
        if self.made.number[number] < 0:
            item, left = self.in_blocks[number]
            axis, shape = self._axis(number), self.tape.instructions[number].type.shape
            rank = len(shape) + 1
            if axis:
                item = self.made.make(TRANSPOSE, (item,), ((*range(1, axis + 1), 0, *range(axis + 1, rank)),))
            main = (*shape[:axis], self.count * self.block, *shape[axis + 1 :])
            item = self.made.make(RESHAPE, (item,), (main,))
            if self.rest:
                regions = Regions([self._region(shape, axis, 0, main[axis]), self._region(shape, axis, main[axis], self.rest)])
                item = self.made.make(ASSEMBLE, (item, left), (regions, shape, True))
            self.made.number[number] = item
        return self.made.number[number]

    @staticmethod
    def _region(shape: Sequence[int], axis: int, start: int, count: int) -> Region:
        starts, counts = [0] * len(shape), [*shape]
        starts[axis], counts[axis] = start, count
        return Region(tuple(starts), (1,) * len(shape), tuple(counts), tuple(counts))

    def _blocks_of(self, number: int) -> int:
        """Return the whole blocks of a value, stacked."""
        if number in self.in_blocks:
            return self.in_blocks[number][0]
        op, _, params, type_, _ = self.tape.instructions[number]
        axis, shape = self._axis(number), type_.shape
        split = (*shape[:axis], self.count, self.block, *shape[axis + 1 :])
        order = (axis, *range(axis), *range(axis + 1, len(split)))
        main = self._region(shape, axis, 0, self.count * self.block)
        if op is CONSTANT:
            value = np.transpose(params[0][main.slices].reshape(split), order)
            return self.made.constant(value, ValueType(value.shape, type_.dtype))
        value = self._whole(number)
        if self.rest:
            value = self.made.make(INDEX, (value,), (main,))
        value = self.made.make(RESHAPE, (value,), (split,))
        return self.made.make(TRANSPOSE, (value,), (order,)) if axis else value

    def _rest_of(self, number: int) -> int:
        """Return the rows of a value after the last whole block."""
        if number in self.in_blocks:
            return self.in_blocks[number][1]
        op, _, params, type_, _ = self.tape.instructions[number]
        axis = self._axis(number)
        region = self._region(type_.shape, axis, self.count * self.block, self.rest)
        if op is CONSTANT:
            value = params[0][region.slices]
            return self.made.constant(value, ValueType(value.shape, type_.dtype))
        return self.made.make(INDEX, (self._whole(number),), (region,))


def _length_of_block(rows: int, bytes_of_row: int) -> int:
    """Return the rows per block: whole vectors, and a divisor of `rows` if there is one near the wanted length."""
    wanted = min(LONGEST_BLOCK, max(SHORTEST_BLOCK, BLOCK_BYTES // bytes_of_row // LANES * LANES))
    near = range(max(SHORTEST_BLOCK, wanted // 2), 2 * wanted, LANES)
    return min((n for n in near if rows % n == 0), key=lambda n: abs(n - wanted), default=wanted)
