"""Computes several rows of a recurrent table at a time, each some cells after the one above, in SIMD lanes.

```
for i in range(n):                              for i in range(0, n, 8):
    for j in range(m):                    →         for s in range(m + 7):      # lane l is at the cell s - l of row i + l
        row[j] = f(row[j - 1], above[j])                cells = f(cells, cells of the lanes before)
    above = row
```

The cells of an anti-diagonal do not depend on each other, so their exponentials and logarithms are vectorised, whereas the cells of a row
wait for each other. Each cell is computed from the same operands by the same operations, so that it has the same bits. Rows left over when
their number is divided by that of the lanes are computed as before. Sums over rows and results of every row are a loop after the table, or
operations on all of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.instruction import CONSTANT, INPUT, Instruction, Param, ValueType
from ...ir.rewriter import BodyBuilder, Rewriter, part_of_tape
from ...ir.tape import Tape
from ...ops.arrays.indexing import INDEX
from ...ops.control.calls import GET, LOOP, LoopForm
from ...passes.loops.loop_builder import Items, emit_loop, items_without, with_loops
from ...passes.reach import needed_values, reached_from
from ...passes.rows import box, entry_of, joined, part_of, with_leading
from ..map_rows import LoopCallee, map_rows
from .rows_in_cells import rows_in_cells
from .skewed import straightened
from .tables import Table, table_of
from .wavefront_step import NoWavefront, Step

# Relative time of a step by number of lanes. Other numbers of lanes took up to twice as long per row, as vectors are then masked; sixteen
# up to a third longer with vectors of four numbers, a tenth less for the cheapest of cells.
STEP = {8: 1.0, 4: 0.7}
# Relative time of a single cell: 65 ns of 160, for the soft minima of an alignment.
ALONE = 0.4
# Smaller tables save some microseconds a call, less than their longer compilation costs.
FEWEST_CELLS = 200
# Limit on the cells between a row and the one above: 1 if a cell reads the entries above and before it, 2 for the one above to the right.
MOST_DELAY = 3


def wavefronts(tape: Tape, loop_callee: LoopCallee) -> Tape:
    """Return the tape with tables as wavefronts where possible, also in the bodies of its loops; itself if there are none.

    Cost: linear in the number of instructions, of the tape and of the bodies of its loops.
    """

    def emitted(made: Rewriter, loop: Instruction, replacement: Tape | Param) -> Items:
        if isinstance(replacement, Tape):
            return made.splice(replacement, loop.inputs).__getitem__
        return items_without(made, made.make(LOOP, loop.inputs, (replacement, loop.params[1])), ())

    return with_loops(tape, lambda loop, _: _replacement(loop, loop_callee), emitted)


def _replacement(loop: Instruction, loop_callee: LoopCallee) -> Tape | Param | None:
    """Return a tape that replaces a loop, or a new callee if its body has tables; None if it stays as it is."""
    table = table_of(loop, min(STEP))
    if table is not None:
        made = _as_wavefront(table, loop_callee)
        other = None if made is not None else rows_in_cells(table, loop_callee)
        return made if other is None else _as_wavefront(other, loop_callee)
    body = loop.params[0].only_tape()
    if body is None or not any(i.op is LOOP for i in body.instructions):
        return None
    inner = wavefronts(body, loop_callee)
    return None if inner is body else loop_callee(inner)


def _as_wavefront(table: Table, loop_callee: LoopCallee) -> Tape | None:
    count = table.form.length or 0
    if count * table.cells < FEWEST_CELLS:
        return None
    lanes = _lanes(count, table.cells)
    for delay in range(1, MOST_DELAY + 1):
        try:
            parts = _parts(table)
            return _Wavefront(table, parts, lanes, _block(table, parts, lanes, delay, loop_callee), loop_callee).made()
        except NoWavefront:
            continue
    return None


def _lanes(rows: int, cells: int) -> int:
    """Choose the number of lanes by estimated time, so that few rows are left over."""

    def time(lanes: int) -> float:
        return rows // lanes * (cells + lanes - 1) * STEP[lanes] + rows % lanes * cells * ALONE

    return min((lanes for lanes in STEP if lanes <= rows), key=time)


@dataclass(frozen=True)
class _Parts:
    """Splits the body of a table.

    Attributes:
        core: values needed by the row below that depend on carries, in order.
        rest: carry-dependent values needed by sums over rows and results of every row; results of the recurrence are its inputs.
        per_row: True for values that depend on the streams of the outer loop.
        rows, shared: carry-independent values that the core or the rest read: those that differ from row to row, and the others.
        items: results of the recurrence that the rest reads.
        constants: all constants of the body.
    """

    core: list[int]
    rest: list[int]
    per_row: list[bool]
    rows: list[int]
    shared: list[int]
    items: list[int]
    constants: list[int]


def _parts(table: Table) -> _Parts:
    body, form = table.body, table.form
    per_row = reached_from(body, form.parts(body.inputs)[1])
    below = [body.outputs[k] for k in table.rows]
    core = [n for n in sorted(needed_values(body, [table.recurrence, *below])) if not table.is_free(n)]
    results = [*(body.outputs[k] for k in table.others), *body.outputs[form.carries :]]
    # The results of the recurrence are inputs of the rest.
    late = [n for n in sorted(needed_values(body, results, table.items())) if not table.is_free(n)]
    items = [n for n in late if body.instructions[n].op is GET]
    rest = [n for n in late if body.instructions[n].op is not GET]
    if any(table.above[n] and body.instructions[n].op is INPUT for n in rest):
        raise NoWavefront
    read = {i for n in (*core, *rest) for i in body.instructions[n].inputs} | {*below, *results}
    constants = [n for n, i in enumerate(body.instructions) if i.op is CONSTANT]
    crossing = sorted(n for n in read - set(constants) if table.is_free(n))
    return _Parts(
        core, rest, per_row, [n for n in crossing if per_row[n]], [n for n in crossing if not per_row[n]], items, constants
    )  # fmt: skip


def _block(table: Table, parts: _Parts, lanes: int, delay: int, loop_callee: LoopCallee) -> Tape:
    """Return the tape of one block of rows. Inputs: the state of the row above, the entries of `parts.rows` for its rows, and
    `parts.shared`.

    Outputs: the state of its last row, and the items that the rest reads, for its rows.
    """
    body = table.body
    made = BodyBuilder(body)
    made.site = table.loop.site
    made.take(body.inputs[k] for k in table.rows)
    above = {body.inputs[k]: made.number[body.inputs[k]] for k in table.rows}
    given: dict[int, int] = {}
    for value in (*parts.rows, *parts.shared):
        shape, dtype = body.instructions[value].type
        given[value] = made.add_input(ValueType((lanes, *shape) if parts.per_row[value] else shape, dtype))
    step = Step(table, lanes, delay, made, given, above, parts.per_row)
    cells = step.cells(loop_callee)
    read = [body.instructions[n].params[0] for n in table.items()]
    results = list(dict.fromkeys(table.cell.outputs[k] for k in read))
    tape, operands = step.finished(cells, results)
    form = LoopForm(len(step.kept), len(step.streams), len(step.constants), len(step.at))
    items = emit_loop(made, loop_callee(tape), form, operands)[len(step.kept) :]
    rows = _Rows(table, parts, lanes, delay, made, given, dict(zip(results, items)))
    return made.body((*(rows.last(body.outputs[k]) for k in table.rows), *(rows.of_all(n) for n in parts.items)))


@dataclass(frozen=True)
class _Rows:
    """Converts the lanes' results at each step to values of the body."""

    table: Table
    parts: _Parts
    lanes: int
    delay: int
    made: Rewriter
    given: dict[int, int]
    steps: dict[int, int]

    def of_all(self, item: int) -> int:
        """A result of the recurrence, for all lanes."""
        table, k = self.table, self.table.body.instructions[item].params[0]
        rows = straightened(self.made, self.steps[table.cell.outputs[k]], table.cells, self.delay)
        if k >= table.inner.carries:
            return rows
        return self.made.make(INDEX, (rows,), (box((0, self.lanes), (table.cells - 1, 1), shape=(self.lanes,)),))

    def last(self, wanted: int) -> int:
        """Return a value of the body for the last lane, computed from results of the recurrence and carry-independent values."""
        body = self.table.body
        known: dict[int, int] = {}
        for number in sorted(needed_values(body, [wanted], self.table.items())):
            instruction = body.instructions[number]
            if instruction.op is GET:
                known[number] = self._result(instruction.params[0])
            elif number in self.given:
                known[number] = self._row(number)
            elif instruction.op is CONSTANT:
                known[number] = self.made.constant(instruction.params[0], instruction.type)
            elif not self.table.is_free(number):
                if any(i not in known for i in instruction.inputs) or instruction.op is INPUT:
                    raise NoWavefront
                known[number] = self.made.keep(instruction, tuple(known[i] for i in instruction.inputs))
        return known[wanted]

    def _result(self, k: int) -> int:
        table, first = self.table, self.delay * (self.lanes - 1)
        if k < table.inner.carries:
            raise NoWavefront
        steps = self.steps[table.cell.outputs[k]]
        return self.made.make(INDEX, (steps,), (box((first, table.cells), (self.lanes - 1, 1), shape=(table.cells,)),))

    def _row(self, value: int) -> int:
        if not self.parts.per_row[value]:
            return self.given[value]
        return entry_of(self.made, self.given[value], self.lanes - 1)


class _Wavefront:
    """Builds the tape that replaces a loop over rows."""

    def __init__(self, table: Table, parts: _Parts, lanes: int, block: Tape, loop_callee: LoopCallee) -> None:
        self.table, self.parts, self.lanes, self.block, self.loop_callee = table, parts, lanes, block, loop_callee
        self.length = table.form.length or 0
        self.tape = BodyBuilder(table.body)
        self.tape.site = table.loop.site
        body, form = table.body, table.form
        for kind, inputs in enumerate(form.parts(body.inputs)):
            for i in inputs:
                shape, dtype = body.instructions[i].type
                self.tape.add_input(ValueType((self.length, *shape), dtype) if kind == 1 else ValueType(shape, dtype))
        self.inputs = self.tape.inputs

    def made(self) -> Tape:
        table, form = self.table, self.table.form
        rows, shared = self._free()
        above, items = self._blocks(rows, shared)
        if self.length % self.lanes:
            above, last = self._rows_left(above, rows, shared)
            items = [joined(self.tape, [first, second]) for first, second in zip(items, last)]
        others = self._rest(rows, items, shared)
        final = dict(zip((*table.rows, *table.others), (*above, *others)))
        outputs = (*(final[k] for k in range(form.carries)), *others[len(table.others) :])
        return Tape(tuple(self.tape.instructions), tuple(self.inputs), outputs, table.body.name, (), True)

    def _free(self) -> tuple[list[int], list[int]]:
        """Compute all carry-independent values, for all rows."""
        parts, body, form = self.parts, self.table.body, self.table.form
        read, operands = body.inputs[form.carries :], self.inputs[form.carries :]
        made: list[list[int]] = []
        for wanted in (parts.rows, parts.shared):
            part = part_of_tape(body, read, wanted)
            if wanted is parts.rows:
                part = map_rows(part, range(form.streams), self.length, self.loop_callee)
            made.append(self.tape.splice(part, operands))
        return made[0], made[1]

    def _blocks(self, rows: list[int], shared: list[int]) -> tuple[list[int], list[int]]:
        """Return the state of the last block's last row, and the items of all rows."""
        count = self.length // self.lanes
        above = [self.inputs[k] for k in self.table.rows]
        streams = [part_of(self.tape, number, 0, count * self.lanes) for number in rows]
        if count == 1:
            made = self.tape.splice(self.block, [*above, *streams, *shared])
            return made[: len(above)], made[len(above) :]
        streams = [with_leading(self.tape, number, (count, self.lanes), 1) for number in streams]
        form = LoopForm(len(above), len(streams), len(shared), count)
        operands = [*above, *streams, *shared]
        made = emit_loop(self.tape, self.loop_callee(self.block), form, operands)
        return made[: len(above)], [with_leading(self.tape, n, (count * self.lanes,), 2) for n in made[len(above) :]]

    def _rows_left(self, above: list[int], rows: list[int], shared: list[int]) -> tuple[list[int], list[int]]:
        table, parts, body = self.table, self.parts, self.table.body
        inputs = [*(body.inputs[k] for k in table.rows), *parts.rows, *parts.shared]
        outputs = [*(body.outputs[k] for k in table.rows), *parts.items]
        part = part_of_tape(body, inputs, outputs)
        count = self.length % self.lanes
        streams = [part_of(self.tape, number, self.length - count, count) for number in rows]
        if count == 1:
            streams = [with_leading(self.tape, number, (), 1) for number in streams]
            made = self.tape.splice(part, [*above, *streams, *shared])
            return made[: len(above)], [with_leading(self.tape, number, (1,), 0) for number in made[len(above) :]]
        form = LoopForm(len(above), len(streams), len(shared), count)
        made = emit_loop(self.tape, self.loop_callee(part), form, [*above, *streams, *shared])
        return made[: len(above)], made[len(above) :]

    def _rest(self, rows: list[int], items: list[int], shared: list[int]) -> list[int]:
        """The last values of the other carries, and the results of every row."""
        table, parts, body, form = self.table, self.parts, self.table.body, self.table.form
        results = [*(body.outputs[k] for k in table.others), *body.outputs[form.carries :]]
        if not results:
            return []
        inputs = [*(body.inputs[k] for k in table.others), *parts.rows, *parts.items, *parts.shared]
        part = part_of_tape(body, inputs, results)
        operands = [*(self.inputs[k] for k in table.others), *rows, *items, *shared]
        streams = len(rows) + len(items)
        if not table.others:
            return self.tape.splice(map_rows(part, range(streams), self.length, self.loop_callee), operands)
        form = LoopForm(len(table.others), streams, len(shared), self.length)
        return emit_loop(self.tape, self.loop_callee(part), form, operands)
