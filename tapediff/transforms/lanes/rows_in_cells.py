"""Turns rows computed elementwise from the row above into results of the recurrence along the row.

```
gap = logaddexp(above - open, above_gap - extend)          for j in range(m):
for j in range(m):                                     →       gap[j] = logaddexp(above[j] - open, above_gap[j] - extend)
    row[j] = f(row[j - 1], above[j], above_gap[j])             row[j] = f(row[j - 1], above[j], above_gap[j])
```
A wavefront knows rows only cell by cell, so nothing can be computed from a whole row.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.instruction import ValueType
from ...ir.rewriter import BodyBuilder, Rewriter
from ...ir.tape import Tape
from ...ops import Elementwise
from ...ops.control.calls import LoopForm
from ...passes.loops.loop_builder import emit_loop
from ...passes.reach import needed_values, reached_from
from ..map_rows import LoopCallee
from .tables import Table, table_of


def rows_in_cells(table: Table, loop_callee: LoopCallee) -> Table | None:
    """The table with such rows as results of its recurrence; None where there are none. Cost: linear in the size of the body."""
    body, form = table.body, table.form
    late = sorted(needed_values(body, [body.outputs[k] for k in table.rows], [table.recurrence]))
    behind = reached_from(body, [table.recurrence])
    moved = [n for n in late if not behind[n] and _is_row(table, n)]
    leaves = list(dict.fromkeys(i for n in moved for i in body.instructions[n].inputs if i not in moved))
    shapes = [body.instructions[i].type.shape for i in leaves]
    # The cells read such rows directly, or nothing computed from them.
    reached = reached_from(body, moved)
    first = table.inner.carries
    operands = body.instructions[table.recurrence].inputs
    is_mixed = any(reached[i] and not (i in moved and first <= k < first + table.inner.streams) for k, i in enumerate(operands))
    if not moved or is_mixed or any(shape not in ((), (table.cells,)) for shape in shapes):
        return None
    streams, constants = ([i for i, shape in zip(leaves, shapes) if bool(shape) == is_row] for is_row in (True, False))
    made = _body(table, moved, streams, constants, loop_callee)
    return table_of(table.loop._replace(params=(loop_callee(made), form)), 1)


def _is_row(table: Table, number: int) -> bool:
    """True if a value is computed elementwise from the row above."""
    op, _, _, type_, _ = table.body.instructions[number]
    is_of_above = table.above[number] and not table.beside[number]
    return is_of_above and isinstance(op, Elementwise) and not op.raises and type_.shape == (table.cells,)


def _body(table: Table, moved: list[int], streams: list[int], constants: list[int], loop_callee: LoopCallee) -> Tape:
    body, inner = table.body, table.inner
    made, late = Rewriter(body), reached_from(body, [table.recurrence, *moved])
    for number in range(len(body.instructions)):
        if not late[number]:
            made.number[number] = made.copy(number)
    given = body.instructions[table.recurrence].inputs
    first = inner.carries + inner.streams
    read = [k for k in range(first) if given[k] not in moved]
    operands = [made.number[i] for i in (*(given[k] for k in read), *streams, *given[first:], *constants)]
    longer = LoopForm(inner.carries, len(read) - inner.carries + len(streams), inner.constants + len(constants), inner.length)
    cell = loop_callee(_cell(table, moved, read, streams, constants))
    made.site = body.instructions[table.recurrence].site
    items = emit_loop(made, cell, longer, operands)
    for number, item in zip(moved, items[len(items) - len(moved) :]):
        made.number[number] = item
    for number, instruction in enumerate(body.instructions):
        if number in table.items():
            made.number[number] = items[instruction.params[0]]
        elif late[number] and number not in moved and number != table.recurrence:
            made.number[number] = made.copy(number)
    return made.finish()


def _cell(table: Table, moved: list[int], read: list[int], streams: list[int], constants: list[int]) -> Tape:
    """Return the cell with further results. `read`: the carries and streams that it still takes; the others are such rows."""
    cell, body, inner = table.cell, table.body, table.inner
    made, known = BodyBuilder(cell), dict[int, int]()
    first = inner.carries + inner.streams

    def add(values: Sequence[int]) -> None:
        """Add inputs for entries of the body's values."""
        known.update({n: made.add_input(ValueType((), body.instructions[n].type.dtype)) for n in values})

    made.take(cell.inputs[k] for k in read)
    add(streams)
    made.take(cell.inputs[first:])
    add(constants)
    for number in moved:
        op, operands, params, type_, site = body.instructions[number]
        known[number] = made.emit(op, tuple(known[i] for i in operands), params, ValueType((), type_.dtype), site)
    for k, number in enumerate(body.instructions[table.recurrence].inputs[:first]):
        if k not in read:
            made.number[cell.inputs[k]] = known[number]
    made.copy_needed(cell.outputs)
    return made.body((*(made.number[n] for n in cell.outputs), *(known[n] for n in moved)))
