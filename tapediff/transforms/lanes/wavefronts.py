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
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.arrays.indexing import INDEX
from ...ops.arrays.shape import RESHAPE
from ...ops.control.calls import GET, LOOP, LoopForm
from ..map_rows import LoopCallee, map_rows, reached_from
from .body_parts import emit_loop, part_of_body
from .rows_in_cells import rows_in_cells
from .skewed import box, joined, part_of, straightened
from .tables import Table, needed_for, table_of
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
    found = {n: made for n, i in tape.numbered(LOOP) if (made := _replacement(i, loop_callee)) is not None}
    if not found:
        return tape
    made = Rewriter(tape)
    items: dict[int, list[int]] = {}
    for number, instruction in enumerate(tape.instructions):
        op, inputs, params, type_, site = instruction
        operands = tuple([made.number[i] for i in inputs])
        replacement = found.get(number)
        if isinstance(replacement, Tape):
            items[number] = made.splice(replacement, operands)
        elif replacement is not None:
            made.number[number] = made.emit(op, operands, (replacement, params[1]), type_, site)
        elif op is GET and inputs[0] in items:
            made.number[number] = items[inputs[0]][params[0]]
        else:
            made.number[number] = made.keep(instruction, operands)
    return made.finish()


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
    per_row = reached_from(body, body.inputs[form.carries : form.carries + form.streams])
    below = [body.outputs[k] for k in table.rows]
    core = [n for n in needed_for(body, [table.recurrence, *below]) if not table.is_free(n)]
    results = [*(body.outputs[k] for k in table.others), *body.outputs[form.carries :]]
    # The results of the recurrence are inputs of the rest.
    late = [n for n in needed_for(body, results, frozenset(table.items())) if not table.is_free(n)]
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
    made = Rewriter(body)
    above = {body.inputs[k]: made.emit(INPUT, (), (p,), body.instructions[body.inputs[k]].type, None) for p, k in enumerate(table.rows)}
    given: dict[int, int] = {}
    for value in (*parts.rows, *parts.shared):
        shape, dtype = body.instructions[value].type
        type_ = ValueType((lanes, *shape) if parts.per_row[value] else shape, dtype)
        given[value] = made.emit(INPUT, (), (len(above) + len(given),), type_, None)
    inputs = (*above.values(), *given.values())
    step = Step(table, lanes, delay, made, given, above, parts.per_row)
    cells = step.cells(loop_callee)
    read = [body.instructions[n].params[0] for n in table.items()]
    results = list(dict.fromkeys(table.cell.outputs[k] for k in read))
    tape, operands = step.finished(cells, results)
    form = LoopForm(len(step.kept), len(step.streams), len(step.constants), len(step.at))
    items = emit_loop(made, loop_callee(tape), form, operands, table.loop.site)[len(step.kept) :]
    rows = _Rows(table, parts, lanes, delay, made, given, dict(zip(results, items)))
    outputs = (*(rows.last(body.outputs[k]) for k in table.rows), *(rows.of_all(n) for n in parts.items))
    active = tuple(k for k, number in enumerate(inputs) if made.instructions[number].type.is_float)
    return Tape(tuple(made.instructions), inputs, outputs, body.name, active, True)


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
        after = needed_for(body, [wanted], frozenset(self.table.items()))
        for number in after:
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
        steps = self.steps[table.cell.outputs[k]]
        if k >= table.inner.carries:
            return self.made.make(INDEX, (steps,), (box((first, table.cells), (self.lanes - 1, 1), shape=(table.cells,)),))
        return self.made.make(INDEX, (steps,), (box((first + table.cells - 1, 1), (self.lanes - 1, 1), shape=()),))

    def _row(self, value: int) -> int:
        if not self.parts.per_row[value]:
            return self.given[value]
        shape = self.table.body.instructions[value].type.shape
        return self.made.make(INDEX, (self.given[value],), (box((self.lanes - 1, 1), *((0, e) for e in shape), shape=shape),))


class _Wavefront:
    """Builds the tape that replaces a loop over rows."""

    def __init__(self, table: Table, parts: _Parts, lanes: int, block: Tape, loop_callee: LoopCallee) -> None:
        self.table, self.parts, self.lanes, self.block, self.loop_callee = table, parts, lanes, block, loop_callee
        self.length = table.form.length or 0
        self.tape = Rewriter(table.body)
        body, form = table.body, table.form
        inputs = [body.instructions[i].type for i in body.inputs]
        for k in range(form.carries, form.carries + form.streams):
            inputs[k] = ValueType((self.length, *inputs[k].shape), inputs[k].dtype)
        self.inputs = [self.tape.emit(INPUT, (), (k,), type_, None) for k, type_ in enumerate(inputs)]

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
            part = part_of_body(body, read, wanted, needed_for(body, wanted))
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
        streams = [self._reshaped(number, (count, self.lanes), 1) for number in streams]
        form = LoopForm(len(above), len(streams), len(shared), count)
        operands = [*above, *streams, *shared]
        made = emit_loop(self.tape, self.loop_callee(self.block), form, operands, self.table.loop.site)
        return made[: len(above)], [self._reshaped(n, (count * self.lanes,), 2) for n in made[len(above) :]]

    def _reshaped(self, number: int, leading: tuple[int, ...], replaced: int) -> int:
        """Reshape the first axes of an array."""
        shape = self.tape.instructions[number].type.shape
        return self.tape.make(RESHAPE, (number,), ((*leading, *shape[replaced:]),))

    def _rows_left(self, above: list[int], rows: list[int], shared: list[int]) -> tuple[list[int], list[int]]:
        table, parts, body = self.table, self.parts, self.table.body
        inputs = [*(body.inputs[k] for k in table.rows), *parts.rows, *parts.shared]
        outputs = [*(body.outputs[k] for k in table.rows), *parts.items]
        part = part_of_body(body, inputs, outputs, sorted({*parts.core, *parts.items, *parts.constants}))
        count = self.length % self.lanes
        streams = [part_of(self.tape, number, self.length - count, count) for number in rows]
        if count == 1:
            streams = [self._reshaped(number, (), 1) for number in streams]
            made = self.tape.splice(part, [*above, *streams, *shared])
            return made[: len(above)], [self._reshaped(number, (1,), 0) for number in made[len(above) :]]
        form = LoopForm(len(above), len(streams), len(shared), count)
        made = emit_loop(self.tape, self.loop_callee(part), form, [*above, *streams, *shared], table.loop.site)
        return made[: len(above)], made[len(above) :]

    def _rest(self, rows: list[int], items: list[int], shared: list[int]) -> list[int]:
        """The last values of the other carries, and the results of every row."""
        table, parts, body, form = self.table, self.parts, self.table.body, self.table.form
        results = [*(body.outputs[k] for k in table.others), *body.outputs[form.carries :]]
        if not results:
            return []
        inputs = [*(body.inputs[k] for k in table.others), *parts.rows, *parts.items, *parts.shared]
        part = part_of_body(body, inputs, results, sorted({*parts.rest, *parts.constants}))
        operands = [*(self.inputs[k] for k in table.others), *rows, *items, *shared]
        streams = len(rows) + len(items)
        if not table.others:
            return self.tape.splice(map_rows(part, range(streams), self.length, self.loop_callee), operands)
        form = LoopForm(len(table.others), streams, len(shared), self.length)
        return emit_loop(self.tape, self.loop_callee(part), form, operands, table.loop.site)
