"""A tape as scalar operations: its elements, the operations between them as tables, and the adjoints that exist.

Small arrays are split into their entries. Indexing, reshaping and stacking only move entries: they permute elements here, and cost nothing
at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

import numpy as np

from ....ir.instruction import CONSTANT, ENTRY, GUARD, INPUT, NUMBER, ORDINAL, OWN, TWO, Instruction, Operand, ValueType
from ....ir.tape import Tape
from ....ops import Elementwise, Op
from ....ops.arrays.indexing import ASSEMBLE, GATHER, INDEX, PUT, REPLACE
from ....ops.elementwise.arithmetic import CONVERT
from ....passes.columns import as_columns
from .all_at_once import plain_of
from .small_arrays import TAKEN_APART, square
from .tables import KINDS, Elements, Table, Unsuited

_as_bytes = Struct("=q").pack


def elements_of(tape: Tape) -> Elements:
    """The operations of a tape. Raises Unsuited."""
    columns = as_columns(tape.instructions)
    if not all(map(_may_be_suited, columns.templates)):
        raise Unsuited
    table = Table(tape, columns)
    for number, instruction in tape.numbered(INPUT):
        _input(table, number, instruction)
    plain = plain_of(table)
    _one_by_one(table, np.flatnonzero(plain.is_left).tolist())
    return plain.with_others(table)


def _may_be_suited(instruction: Instruction) -> bool:
    """False if the op or the type of an instruction rules out scalar operations for it."""
    op, type_ = instruction.op, instruction.type
    if op is GUARD:
        return True
    if type(type_) is not ValueType or type_.dtype not in KINDS:
        return False
    return op.moves or isinstance(op, Elementwise) or (op in TAKEN_APART and len(type_.shape) <= _MOST_AXES) or op in _OTHERS


_OTHERS = frozenset((CONSTANT, INPUT, CONVERT, REPLACE, ASSEMBLE, PUT))

# For products and reductions. A larger array is a stack, with many entries.
_MOST_AXES = 2


def _one_by_one(table: Table, numbers: Sequence[int]) -> None:
    """Add the instructions that are not found all at once."""
    templates, takes, which, first, second = table.columns
    ids, scalar, known, squares = table.ids, table.scalar, table.known, table.squares
    form_of, rows, results, makers = table.form_of, table.rows, table.results, table.makers
    of, kinds = which[numbers], takes[which[numbers]]
    for number, template, kind, one, other in zip(numbers, *(c.tolist() for c in (of, kinds, first[numbers], second[numbers]))):
        instruction = templates[template]
        if kind == NUMBER:
            ids[number] = table.constant_of("f64", _as_bytes(other))
            continue
        if kind == ENTRY:
            ids[number] = int(table.array(one).item(other))
            continue
        op, inputs, params, type_, site = instruction
        if kind != OWN:
            if kind == ORDINAL:
                instruction = Instruction(op, (one,), (*params, other), type_, site)
            else:
                instruction = Instruction(op, (one, other)[: 1 + (kind == TWO)], params, type_, site)
            _other(table, number, instruction)
            continue
        # Fast path: most instructions are operations on few numbers, in a form seen before.
        if len(inputs) == 2:
            i, j = inputs
            found = known.get((op, params, scalar[i], scalar[j]))
            row = (ids[i], ids[j])
        elif len(inputs) == 1 and op is not GUARD:
            found = known.get((op, params, scalar[inputs[0]]))
            row = (ids[inputs[0]],)
        elif len(inputs) == 3:
            i, j, k = inputs
            found = known.get((op, params, scalar[i], scalar[j], scalar[k]))
            row = (ids[i], ids[j], ids[k])
        else:
            found = row = None
        if found is None or row is None or number in squares:
            _other(table, number, instruction)
            continue
        form_of.append(found)
        rows.append(row)
        makers.append(number)
        results.append(number)


def _other(table: Table, number: int, instruction: Instruction) -> None:
    """Add an instruction that is not a scalar operation in a known form."""
    op, _, params, type_, _ = instruction
    if op is GUARD:
        _guard(table, number, instruction)
        return
    if type(type_) is not ValueType or type_.dtype not in KINDS:
        raise Unsuited
    kind = KINDS[type_.dtype]
    if type_.size > table.most:
        raise Unsuited
    if number in table.squares:
        table.define(number, table.plain(square(table, number, instruction), type_), kind)
    elif op is CONSTANT:
        table.define(number, table.array_of_constants(params[0]), kind)
    elif op is GATHER and table.template(instruction.inputs[1]).op is not CONSTANT:
        table.define(number, table.plain(TAKEN_APART[op](table, number, instruction), type_), kind)
    elif op.moves or op is REPLACE or op is ASSEMBLE or op is PUT:
        table.define(number, _moved(table, instruction), kind)
    elif isinstance(op, Elementwise) or op is CONVERT:
        if kind != "f64" and isinstance(op, Op) and op.fails_on_integers:
            raise Unsuited
        _elementwise(table, number, instruction)
    elif op in TAKEN_APART:
        table.define(number, table.plain(TAKEN_APART[op](table, number, instruction), type_), kind)
    else:
        raise Unsuited


def _input(table: Table, number: int, instruction: Instruction) -> None:
    _, _, (position,), type_, _ = instruction
    kind = KINDS.get(type_.dtype)
    if kind is None or kind == "i1":
        raise Unsuited
    first, size = len(table.kinds), type_.size
    table.inputs[position] = (first, size)
    table.kinds += [kind] * size
    table.define(number, first if type_.shape == () else np.arange(first, first + size).reshape(type_.shape), kind)


def _moved(table: Table, instruction: Instruction) -> Operand:
    op, inputs, params, type_, _ = instruction
    if op is INDEX and type_.shape == ():
        return int(table.array(inputs[0])[params[0].starts])
    if op is ASSEMBLE and not params[2]:
        raise Unsuited  # overlapping parts are added
    arrays = [table.array(i) for i in inputs]
    if isinstance(op, Op) and op.positions is not None:
        at = op.positions[0]
        source = table.template(inputs[at])
        if source.op is not CONSTANT:
            raise Unsuited
        arrays[at] = source.params[0]
    if op is ASSEMBLE:
        # Start at 1, so that a 0 marks an entry that was not written.
        moved = np.asarray(op.evaluate(*[a + 1 for a in arrays], *params)) - 1
        moved = np.where(moved < 0, table.constant(0, KINDS[type_.dtype]), moved)
    else:
        moved = np.asarray(op.evaluate(*arrays, *params))
    return table.plain(moved, type_)


def _elementwise(table: Table, number: int, instruction: Instruction) -> None:
    op, inputs, params, type_, _ = instruction
    kinds = tuple([table.kind_of(i) for i in inputs])
    form = table.form(op, params, kinds, KINDS[type_.dtype])
    ids = table.operations(number, form, [table.array(i) for i in inputs])
    if type_.shape == () and len(inputs) < 4:
        table.known[op, params, *kinds] = form
    table.define(number, table.plain(ids, type_), KINDS[type_.dtype])


def _guard(table: Table, number: int, instruction: Instruction) -> None:
    kind, outcome, ordinal = instruction.params[:3]
    looked_at = table.ids[instruction.inputs[0]]
    if kind not in ("bool", "int") or not isinstance(looked_at, int):
        raise Unsuited
    of_value = table.kinds[looked_at]
    expected = table.constant(float(outcome), of_value) if kind == "int" and of_value == "f64" else (
        table.constant(int(outcome), of_value) if kind == "int" else table.constant(bool(outcome), "i1"))  # fmt: skip
    form = table.form(GUARD, (kind, outcome != outcome), (of_value,), "")
    table.ordinals[len(table.rows)] = ordinal
    table.form_of.append(form)
    table.rows.append((looked_at, expected))
    table.makers.append(number)
    table.results.append(-1)
    table.define(number, None, "")
