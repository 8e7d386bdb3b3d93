"""Reads the last row of a stacked output from the loop's last carry, where these are the same.

A table written one row per iteration is often filled only for its last row, or for an entry of that row:

    last, table = loop(...)             last, _ = loop(...)
    return table[n - 1, m]      →       return last[m]

The loop then stacks no rows, unless others are read.
"""

from __future__ import annotations

from ....ir.instruction import Instruction, item_types
from ....ir.rewriter import Rewriter
from ....ir.tape import Tape
from ....ops.arrays.indexing import INDEX, Region
from ....ops.control.calls import GET, LOOP, LoopForm
from ...column_rewriter import ColumnRewriter
from ...simplify.dead_code import dead_code
from ..carries.unread_carries import unread_carries
from ..loop_builder import only_body


def last_rows(tape: Tape) -> Tape:
    """Return the tape with such reads; itself if there are none. Cost: linear in the number of instructions, loop bodies included."""
    reads = tape.numbered(INDEX) if LOOP in tape.ops else ()
    found = {n: carry for n, read in reads if (carry := _carry(tape, read)) is not None}
    if not found:
        return tape
    made = ColumnRewriter(tape)
    for number, read in made.changing([(n, tape.instructions[n]) for n in found]):
        made.number[number] = _entry(made, tape, read, found[number])
    return unread_carries(dead_code(made.finish()))


def _carry(tape: Tape, read: Instruction) -> int | None:
    """Return the carry equal to the last row of a stacked output, if the instruction reads that row."""
    rows = tape.instructions[read.inputs[0]]
    loop = tape.instructions[rows.inputs[0]] if rows.op is GET else None
    if loop is None or loop.op is not LOOP:
        return None
    callee, form = loop.params
    form: LoopForm
    region: Region = read.params[0]
    if form.length is None or form.stops or form.variant_given or form.saves_carries:
        return None
    last = 0 if form.backwards else form.length - 1
    if rows.params[0] < form.carries or region.counts[0] != 1 or region.starts[0] != last or (len(region.starts) == 1 and region.shape):
        return None
    body = only_body(callee)
    if body is None:
        return None
    value, carries = body.outputs[rows.params[0]], body.outputs[: form.carries]
    return carries.index(value) if value in carries else None


def _entry(made: Rewriter, tape: Tape, read: Instruction, carry: int) -> int:
    """Read from the carry instead of the last row."""
    rows = tape.instructions[read.inputs[0]]
    loop = tape.instructions[rows.inputs[0]]
    last = made.emit(GET, (made.number[rows.inputs[0]],), (carry,), item_types(loop)[carry], rows.site)
    starts, steps, counts, shape = read.params[0]
    if len(starts) == 1:
        return last
    return made.emit(INDEX, (last,), (Region(starts[1:], steps[1:], counts[1:], shape),), read.type, read.site)
