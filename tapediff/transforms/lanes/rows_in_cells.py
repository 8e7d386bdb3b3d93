"""Rows of a table that are computed of the row above alone become results of the recurrence along the row.

```
gap = logaddexp(above - open, above_gap - extend)          for j in range(m):
for j in range(m):                                     →       gap[j] = logaddexp(above[j] - open, above_gap[j] - extend)
    row[j] = f(row[j - 1], above[j], above_gap[j])             row[j] = f(row[j - 1], above[j], above_gap[j])
```
Several at a time the rows of a wavefront are only known cell by cell, so that nothing is computed of a whole row.
"""

from __future__ import annotations

from ...ir.instruction import INPUT, ValueType
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops import Elementwise
from ...ops.control.calls import LoopForm
from ..map_rows import LoopCallee, reached_from
from .body_parts import emit_loop
from .tables import Table, needed_for, table_of


def rows_in_cells(table: Table, loop_callee: LoopCallee) -> Table | None:
    """The table with such rows as results of its recurrence; None where there are none. Cost: linear in the size of the body."""
    body, form = table.body, table.form
    late = needed_for(body, [body.outputs[k] for k in table.rows], frozenset([table.recurrence]))
    behind = reached_from(body, [table.recurrence])
    moved = [n for n in late if not behind[n] and _is_row(table, n)]
    if not moved:
        return None
    leaves = list(dict.fromkeys(i for n in moved for i in body.instructions[n].inputs if i not in moved))
    if any(body.instructions[i].type.shape not in ((), (table.cells,)) for i in leaves):
        return None
    streams = [i for i in leaves if body.instructions[i].type.shape]
    constants = [i for i in leaves if not body.instructions[i].type.shape]
    made = _body(table, moved, streams, constants, loop_callee)
    return table_of(table.loop._replace(params=(loop_callee(made), form)), 1)


def _is_row(table: Table, number: int) -> bool:
    """Whether a value is computed of the row above element by element."""
    op, _, _, type_, _ = table.body.instructions[number]
    is_of_above = table.above[number] and not table.beside[number]
    return is_of_above and isinstance(op, Elementwise) and not op.raises and type_.shape == (table.cells,)


def _body(table: Table, moved: list[int], streams: list[int], constants: list[int], loop_callee: LoopCallee) -> Tape:
    body, inner = table.body, table.inner
    made, late = Rewriter(body), reached_from(body, [table.recurrence, *moved])
    for number in range(len(body.instructions)):
        if not late[number]:
            made.number[number] = made.copy(number)
    operands = [made.number[i] for i in body.instructions[table.recurrence].inputs]
    first, last = inner.carries + inner.streams, len(operands)
    added = [made.number[i] for i in streams], [made.number[i] for i in constants]
    operands = [*operands[:first], *added[0], *operands[first:last], *added[1]]
    longer = LoopForm(inner.carries, inner.streams + len(streams), inner.constants + len(constants), inner.length)
    cell = loop_callee(_cell(table, moved, streams, constants))
    items = emit_loop(made, cell, longer, operands, body.instructions[table.recurrence].site)
    for number, item in zip(moved, items[len(items) - len(moved) :]):
        made.number[number] = item
    for number, instruction in enumerate(body.instructions):
        if number in table.items():
            made.number[number] = items[instruction.params[0]]
        elif late[number] and number not in moved and number != table.recurrence:
            made.number[number] = made.copy(number)
    return made.finish()


def _cell(table: Table, moved: list[int], streams: list[int], constants: list[int]) -> Tape:
    """The cell with further results."""
    cell, body, inner = table.cell, table.body, table.inner
    made, first = Rewriter(cell), inner.carries + inner.streams
    known: dict[int, int] = {}
    sources = [*cell.inputs[:first], *streams, *cell.inputs[first:], *constants]
    old = {*range(first), *range(first + len(streams), first + len(streams) + len(cell.inputs) - first)}
    inputs: list[int] = []
    for position, number in enumerate(sources):
        numbers, instructions = (made.number, cell.instructions) if position in old else (known, body.instructions)
        type_ = ValueType((), instructions[number].type.dtype)
        numbers[number] = made.emit(INPUT, (), (position,), type_, None)
        inputs.append(numbers[number])
    for number, instruction in enumerate(cell.instructions):
        if instruction.op is not INPUT:
            made.number[number] = made.copy(number)
    for number in moved:
        op, operands, params, type_, site = body.instructions[number]
        known[number] = made.emit(op, tuple(known[i] for i in operands), params, ValueType((), type_.dtype), site)
    outputs = (*(made.number[n] for n in cell.outputs), *(known[n] for n in moved))
    active = tuple(k for k, number in enumerate(inputs) if made.instructions[number].type.is_float)
    return Tape(tuple(made.instructions), tuple(inputs), outputs, cell.name, active, True)
