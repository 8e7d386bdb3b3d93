"""Finds loops over the rows of a table whose body is one recurrence along the row, and splits the body."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.instruction import CONSTANT, GUARD, INPUT, Instruction, Primitive, ValueType
from ...ir.tape import Tape
from ...ops import Elementwise
from ...ops.control.calls import CALL, GET, LOOP, RECALL
from ...ops.control.loop_forms import LoopForm
from ...passes.reach import needed_values, reached_from

# Bodies of more instructions than this are left alone.
MOST_VALUES = 100
# On shorter rows a wavefront mostly fills and drains; on longer ones the masks would leave the caches.
SHORTEST_ROW, LONGEST_ROW = 12, 1 << 16


@dataclass(frozen=True)
class Table:
    """A loop over rows, each of which is a recurrence along its cells.

    Attributes:
        loop: the instruction.
        body: one row.
        recurrence: the number of the loop over cells in the body.
        cell: the body of that loop; its values are numbers.
        rows: the carries that the recurrence depends on: the state of the row above.
        others: the other carries, such as sums over rows.
        above: True for values of the body that depend on `rows`.
        beside: True for values that depend on `others`.
    """

    loop: Instruction
    body: Tape
    recurrence: int
    cell: Tape
    rows: tuple[int, ...]
    others: tuple[int, ...]
    above: list[bool]
    beside: list[bool]

    @property
    def form(self) -> LoopForm:
        return self.loop.params[1]

    @property
    def inner(self) -> LoopForm:
        return self.body.instructions[self.recurrence].params[1]

    @property
    def cells(self) -> int:
        """Return the number of cells in a row."""
        length = self.inner.length
        assert length is not None
        return length

    def items(self) -> list[int]:
        """Values of the body that are results of the recurrence."""
        return [n for n, i in enumerate(self.body.instructions) if i.op is GET]

    def is_free(self, number: int) -> bool:
        """True if a value of the body can be computed for all rows at once."""
        return not self.above[number] and not self.beside[number]


def is_plain(form: LoopForm) -> bool:
    """True for a loop of known length, first to last iteration, without other features."""
    special = form.stops or form.variant_given or form.saves_carries or form.recomputes or form.backwards
    return form.length is not None and not special


def table_of(loop: Instruction, fewest_rows: int) -> Table | None:
    """Analyse a loop over rows; None if it is not a table, or has too few rows."""
    callee, form = loop.params
    if not form.carries or not is_plain(form) or form.length < fewest_rows:
        return None
    body = callee.only_tape()
    if body is None or len(body.instructions) > MOST_VALUES:
        return None
    loops = [n for n, i in enumerate(body.instructions) if i.op is LOOP]
    if len(loops) != 1 or any(_may_not_stand_there(i.op) for i in body.instructions):
        return None
    cell = _cell(body.instructions[loops[0]])
    rows = None if cell is None else _rows(body, loops[0], form.carries)
    if cell is None or not rows:
        return None
    others = tuple(k for k in range(form.carries) if k not in rows)
    above = reached_from(body, [body.inputs[k] for k in rows])
    beside = reached_from(body, [body.inputs[k] for k in others])
    return Table(loop, body, loops[0], cell, rows, others, above, beside)


def _may_not_stand_there(op: Primitive) -> bool:
    return op is GUARD or op is CALL or op is RECALL or op.raises


def _cell(recurrence: Instruction) -> Tape | None:
    """Return the body of a scalar recurrence that pays as a wavefront; None for others."""
    callee, form = recurrence.params
    cell = callee.only_tape() if form.carries and is_plain(form) and SHORTEST_ROW <= form.length <= LONGEST_ROW else None
    if cell is None or not all(_is_number(i) for i in cell.instructions):
        return None
    waits = reached_from(cell, cell.inputs[: form.carries])
    # Values independent of the cell before are computed for a whole row at once, and a recurrence of cheap operations takes no longer than
    # the selections of a wavefront: linear recurrences 7.9 → 10.1 µs, Gauss-Seidel 7.6 → 11.8.
    is_costly = any(w and isinstance(i.op, Elementwise) and i.op.is_costly for w, i in zip(waits, cell.instructions))
    return cell if is_costly else None


def _is_number(instruction: Instruction) -> bool:
    op, type_ = instruction.op, instruction.type
    is_known = isinstance(op, Elementwise) or op is INPUT or op is CONSTANT
    return is_known and not op.raises and isinstance(type_, ValueType) and type_.shape == ()


def _rows(body: Tape, recurrence: int, carries: int) -> tuple[int, ...]:
    """Return the carries that the recurrence depends on, also through other carries."""
    found: set[int] = set()
    needed = needed_values(body, [recurrence])
    while new := {k for k in range(carries) if body.inputs[k] in needed} - found:
        found |= new
        needed = needed_values(body, [recurrence, *(body.outputs[k] for k in found)])
    return tuple(sorted(found))
