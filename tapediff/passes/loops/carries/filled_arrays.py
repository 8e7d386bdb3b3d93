"""Arrays that a loop fills row by row become stacked outputs, and the rows that later iterations read, carries:

    out = np.zeros(n)                            last, out = 0.0, np.zeros(n)
    for k in range(1, n):                        for x_k in x[1:]:
        out[k] = a * out[k - 1] + x[k]     →         last = a * last + x_k; give last
                                                 out[1:] = the rows that the iterations gave

The carries stay in registers, and what depends on neither of them is computed for all iterations at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ....base.token import blake2b
from ....ir.instruction import Instruction, ValueType
from ....ir.rewriter import BodyBuilder, Rewriter, rewritten
from ....ir.tape import Tape
from ....ops.arrays.indexing import GATHER, PUT
from ....ops.arrays.shape import TRANSPOSE
from ....ops.control.callee import Callee
from ....ops.control.calls import GET, LoopForm
from ...rows import in_shape, joined, part_of
from ...simplify.array_entries import read_at
from ...simplify.common_subexpressions import common_subexpressions
from ...simplify.dead_code import dead_code
from ...simplify.equal_positions import equal_positions
from ..counted_loops import LARGEST_BODY, integers_of, is_table
from ..loop_builder import Items, loop_like, only_body, with_loops

# Rows of earlier iterations: each is a carry of the loop, and one of its reverse.
MOST_CARRIES = 4


@dataclass(frozen=True)
class Filled:
    """An array of which each iteration writes a row.

    Attributes:
        carry: its number among the carries.
        first: the row that the first iteration writes; the next one writes the next.
        versions: the array in an iteration, as read and after each write, and the value of the row then; None for that of before.
        reads: by number of a read, how many rows before the written one it reads, and the entries of that row.
        by_column: the rows are columns of the array, of which the last axis counts the iterations.
    """

    carry: int
    first: int
    versions: dict[int, int | None]
    reads: dict[int, tuple[int, np.ndarray]]
    by_column: bool = False

    @property
    def kept(self) -> int:
        """The number of earlier iterations whose rows are read."""
        return max((back for back, _ in self.reads.values()), default=0)

    def asks_for_before(self, body: Tape) -> list[int]:
        """How many rows from the written one those are that are read as they were before the loop."""
        return sorted({
            back for n, (back, _) in self.reads.items() if back < 0 or (back == 0 and self.versions[body.instructions[n].inputs[0]] is None)
        })  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """How a loop is rewritten.

    Attributes:
        body: the original tape of an iteration; `callee`: of the new one.
        filled: the arrays that it no longer carries.
    """

    body: Tape
    callee: Callee
    filled: tuple[Filled, ...]

    @property
    def carries(self) -> frozenset[int]:
        return frozenset(one.carry for one in self.filled)


def filled_arrays(tape: Tape) -> Tape:
    """The tape with such loops; itself if there are none.

    Cost: linear in the number of instructions, of the tape and of the bodies of loops, times the length of these.
    """
    return with_loops(tape, lambda loop, _: _plan(tape, loop), _emitted)


def _plan(tape: Tape, loop: Instruction) -> Plan | None:
    callee, form = loop.params
    if not form.length or form.stops or form.backwards or form.variant_given or form.saves_carries:
        return None
    body = only_body(callee)
    if body is None or len(body) > LARGEST_BODY or PUT not in body.ops:
        return None
    _, *given = form.parts(body.inputs)
    _, *others = form.parts(loop.inputs)
    operands = [[tape.instructions[k] for k in part] for part in others]
    rows, tables = ({n: i.params[0] for n, i in zip(*part) if is_table(i)} for part in zip(given, operands))
    digests = ((n, blake2b(table.tobytes(), digest_size=32).digest()) for n, table in (*rows.items(), *tables.items()))
    return callee.once(("filled", form, *digests), lambda: _made(callee, body, form, rows, tables))


def _made(callee: Callee, body: Tape, form: LoopForm, rows: Mapping[int, np.ndarray], tables: Mapping[int, np.ndarray]) -> Plan | None:
    def integers(of: Tape) -> Mapping[int, np.ndarray] | None:
        constants = {n: i.params[0] for n, i in enumerate(of.instructions) if is_table(i)}
        given, same = ({n: table[k] for n, k in zip(of.inputs, body.inputs) if k in table} for table in (rows, tables))
        return integers_of(of, given, form.length or 0, {**same, **constants})

    simple = dead_code(equal_positions(common_subexpressions(body)))
    known = integers(simple)
    if known is not None and (apart := _past_other_rows(simple, known)) is not simple:
        simple = dead_code(equal_positions(apart))
        known = integers(simple)
    found = [] if known is None else [_filled(simple, k, known) for k in range(form.carries)]
    filled = tuple(one for one in found if one is not None)
    return Plan(simple, callee.fixed(_body(simple, form, filled)), filled) if filled else None


def _past_other_rows(body: Tape, known: Mapping[int, np.ndarray]) -> Tape:
    """Read rows of the version before a write of other ones: gather(put(x, w, places), others) → gather(x, others)."""
    found = dict[int, int]()
    for number, (op, inputs, *_) in enumerate(body.instructions):
        if op is GATHER and inputs[1] in known:
            version = inputs[0]
            while (written := body.instructions[version]).op is PUT and _are_apart(known, inputs[1], written.inputs[2]):
                version = written.inputs[0]
            if version != inputs[0]:
                found[number] = version
    if not found:
        return body

    def emit(made: Rewriter, instruction: Instruction, number: int) -> int | None:
        return made.make(GATHER, (made.number[found[number]], made.number[instruction.inputs[1]])) if number in found else None

    return rewritten(body, emit, GATHER)


def _are_apart(known: Mapping[int, np.ndarray], a: int, b: int) -> bool:
    """True if two arrays of positions share none in any iteration."""
    if b not in known:
        return False
    first, second = (known[n].reshape(len(known[n]), -1) for n in (a, b))
    is_ordered = (first.max(axis=1) < second.min(axis=1)) | (second.max(axis=1) < first.min(axis=1))
    return bool(is_ordered.all())


def _filled(body: Tape, carry: int, known: Mapping[int, np.ndarray]) -> Filled | None:
    """The writes and reads of a carried array, if each iteration writes the row after the one before it; else None."""
    given = body.inputs[carry]
    type_, versions, written = body.instructions[given].type, dict[int, int | None]({given: None}), None
    reads = dict[int, tuple[int, np.ndarray]]()
    if body.outputs[carry] == given:
        return None
    for number, (op, inputs, *_) in enumerate(body.instructions):
        if not versions.keys() & {*inputs}:
            continue
        if inputs[0] not in versions or versions.keys() & {*inputs[1:]} or inputs[-1] not in known:
            return None
        positions = known[inputs[-1]].reshape(len(known[inputs[-1]]), -1)
        if op is PUT:
            value = body.instructions[inputs[1]].type
            is_next = inputs[0] == [*versions][-1] and (written is None or np.array_equal(positions, written))
            if not is_next or value.size != positions.shape[1] or value.dtype != type_.dtype:
                return None
            written, versions[number] = positions, inputs[1]
        elif op is GATHER:
            reads[number] = 0, positions
        else:
            return None
    if written is None or [*versions][-1] != body.outputs[carry] or sum(n in versions for n in body.outputs) > 1:
        return None
    width = written.shape[1]
    by_column = width > 1 and type_.size % width == 0 and bool(written[0, 1] - written[0, 0] == type_.size // width)
    if by_column:
        written = _across(written, width, type_.size)
        reads = {number: (back, _across(positions, width, type_.size)) for number, (back, positions) in reads.items()}
    first, length = int(written[0, 0]), len(written)
    follows = np.array_equal(written.ravel(), first + np.arange(written.size))
    if first % width or type_.size % width or not follows or first + written.size > type_.size:
        return None
    for number, (_, positions) in reads.items():
        found = _row_read(positions, width, first // width, type_.size // width)
        if found is None:
            return None
        reads[number] = found
    made = Filled(carry, first // width, versions, reads, by_column)
    return made if made.kept <= min(MOST_CARRIES, length) else None


def _across(positions: np.ndarray, width: int, size: int) -> np.ndarray:
    """Positions in the transpose of an array of `width` rows."""
    return positions % (size // width) * width + positions // (size // width)


def _row_read(positions: np.ndarray, width: int, first: int, count: int) -> tuple[int, np.ndarray] | None:
    """How many rows before the written one each iteration reads, and the entries in it; None if that differs between iterations."""
    row, entries = np.divmod(positions, width)
    back = first - int(row[0, 0])
    is_regular = (row == (first - back + np.arange(len(row)))[:, None]).all() and (entries == entries[0]).all()
    return (back, entries[0]) if is_regular and 0 <= first - back and row.max() < count else None


def _body(body: Tape, form: LoopForm, filled: tuple[Filled, ...]) -> Tape:
    made, dropped = BodyBuilder(body), {one.carry for one in filled}
    carries, streams, constants = form.parts(body.inputs)
    made.take(n for k, n in enumerate(carries) if k not in dropped)
    types = [_row_type(body, one) for one in filled]
    earlier = [[made.add_input(type_) for _ in range(one.kept)] for one, type_ in zip(filled, types)]
    made.take(streams)
    before = [{back: made.add_input(type_) for back in one.asks_for_before(body)} for one, type_ in zip(filled, types)]
    made.take(constants)
    reads = sorted((n, k) for k, one in enumerate(filled) for n in one.reads)
    for number, k in reads:
        one, instruction = filled[k], body.instructions[number]
        back, entries = one.reads[number]
        value = one.versions[instruction.inputs[0]]
        if back > 0:
            row = earlier[k][back - 1]
        elif back < 0 or value is None:
            row = before[k][back]
        else:
            made.copy_needed([value])
            row = in_shape(made, made.number[value], types[k].shape)
        made.number[number] = _entries(made, row, entries, instruction.type.shape)
    last = [one.versions[body.outputs[one.carry]] for one in filled]
    outputs = [n for k, n in enumerate(body.outputs) if k not in dropped]
    made.copy_needed([*outputs, *(n for n in last if n is not None)])
    values = [in_shape(made, made.number[n], type_.shape) for n, type_ in zip(last, types) if n is not None]
    new = [made.number[n] for n in outputs]
    after = [n for value, numbers in zip(values, earlier) for n in [value, *numbers][: len(numbers)]]
    kept = form.carries - len(dropped)
    return made.body([*new[:kept], *after, *new[kept:], *values])


def _row_type(body: Tape, one: Filled) -> ValueType:
    """The type of a row: a number, or a vector."""
    type_, last = body.instructions[body.inputs[one.carry]].type, one.versions[body.outputs[one.carry]]
    size = 1 if last is None else body.instructions[last].type.size
    return ValueType((size,) if size > 1 else (), type_.dtype)


def _entries(made: Rewriter, row: int, entries: np.ndarray, shape: tuple[int, ...]) -> int:
    """Read entries of a row."""
    size = made.instructions[row].type.size
    return in_shape(made, row, shape) if np.array_equal(entries, np.arange(size)) else read_at(made, row, entries.reshape(shape))


def _emitted(made: Rewriter, loop: Instruction, plan: Plan) -> Items:
    form: LoopForm = loop.params[1]
    carries, streams, constants = form.parts(loop.inputs)
    length = form.length
    assert length is not None, "its positions are known"
    arrays = [made.instructions[carries[one.carry]].type for one in plan.filled]
    tables, starts, read = list[int](), list[int](), list[int]()
    for one, array in zip(plan.filled, arrays):
        type_ = _row_type(plan.body, one)
        table = (array.size // type_.size, *type_.shape)
        whole = carries[one.carry]
        if one.by_column:
            whole = made.make(TRANSPOSE, (in_shape(made, whole, table[::-1]),), ((1, 0),))
        tables.append(in_shape(made, whole, table))
        starts += [in_shape(made, part_of(made, tables[-1], one.first - back, 1), type_.shape) for back in range(1, one.kept + 1)]
        read += [part_of(made, tables[-1], one.first - back, length) for back in one.asks_for_before(plan.body)]
    kept = [n for k, n in enumerate(carries) if k not in plan.carries]
    new = loop_like(made, loop, plan.callee, [*kept, *starts], [*streams, *read], constants)
    added, count = len(starts), len(plan.body.outputs) - len(plan.filled) + len(starts)

    def item(k: int) -> int:
        if k not in plan.carries:
            place = k - sum(one < k for one in plan.carries)
            return made.make(GET, (new,), (place if k < form.carries else place + added,))
        (which,) = [w for w, one in enumerate(plan.filled) if one.carry == k]
        one, table = plan.filled[which], tables[which]
        rows = made.make(GET, (new,), (count + which,))
        total, *_ = made.instructions[table].type.shape
        end = one.first + length
        parts = [part_of(made, table, 0, one.first)] if one.first else []
        parts += [rows, *([part_of(made, table, end, total - end)] if end < total else [])]
        whole = joined(made, parts)
        return in_shape(made, made.make(TRANSPOSE, (whole,), ((1, 0),)) if one.by_column else whole, arrays[which].shape)

    return item
