"""A tape as operations on single numbers: its elements, tables of the operations between them, and which of these have an adjoint.

Arrays of a few entries are taken apart. What only moves entries about (indexing, reshaping, stacking) moves their numbers here, and is
no operation at run time.
"""

from __future__ import annotations

import numpy as np

from ....ir.instruction import CONSTANT, GUARD, INPUT, Instruction, Operand, ValueType
from ....ir.tape import Tape
from ....ops import Elementwise, Op
from ....ops.arrays.indexing import ASSEMBLE, GATHER, INDEX, PUT, REPLACE
from ....ops.elementwise.arithmetic import CONVERT
from .small_arrays import TAKEN_APART, square
from .tables import KINDS, Elements, Table, Unsuited


def elements_of(tape: Tape) -> Elements:
    """The operations of a tape. Raises Unsuited."""
    table = Table(tape)
    known, elements = table.known, table.elements
    ids, scalar, kinds = elements.ids, table.scalar, elements.kinds
    form_of, rows, results, makers = elements.form_of, elements.rows, elements.results, elements.makers
    squares = elements.squares
    for number, (op, inputs, params, _, _) in enumerate(tape.instructions):
        # Nearly all operations are on few numbers, by a form that was met before.
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
            _other(table, number)
            continue
        form, kind = found
        form_of.append(form)
        rows.append(row)
        makers.append(number)
        results.append(len(kinds))
        ids.append(len(kinds))
        scalar.append(kind)
        kinds.append(kind)
    return elements


def _other(table: Table, number: int) -> None:
    """An instruction that is no operation on numbers of a form met before."""
    instruction = table.tape.instructions[number]
    op, _, params, type_, _ = instruction
    if op is GUARD:
        _guard(table, instruction)
        return
    if type(type_) is not ValueType or type_.dtype not in KINDS:
        raise Unsuited
    kind = KINDS[type_.dtype]
    if op is INPUT:
        _input(table, params[0], type_, kind)
        return
    if type_.size > table.most:
        raise Unsuited
    if number in table.elements.squares:
        table.define(table.plain(square(table, number, instruction), type_), kind)
    elif op is CONSTANT:
        table.define(table.constants(params[0]), kind)
    elif op is GATHER and table.tape.instructions[instruction.inputs[1]].op is not CONSTANT:
        table.define(table.plain(TAKEN_APART[op](table, number, instruction), type_), kind)
    elif op.moves or op is REPLACE or op is ASSEMBLE or op is PUT:
        table.define(_moved(table, instruction), kind)
    elif isinstance(op, Elementwise) or op is CONVERT:
        if kind != "f64" and isinstance(op, Op) and op.fails_on_integers:
            raise Unsuited
        _elementwise(table, number, instruction)
    elif op in TAKEN_APART:
        table.define(table.plain(TAKEN_APART[op](table, number, instruction), type_), kind)
    else:
        raise Unsuited


def _input(table: Table, position: int, type_: ValueType, kind: str) -> None:
    if kind == "i1":
        raise Unsuited
    kinds = table.elements.kinds
    first, size = len(kinds), type_.size
    table.elements.inputs[position] = (first, size)
    kinds += [kind] * size
    table.define(first if type_.shape == () else np.arange(first, first + size).reshape(type_.shape), kind)


def _moved(table: Table, instruction: Instruction) -> Operand:
    op, inputs, params, type_, _ = instruction
    if op is INDEX and type_.shape == ():
        return int(table.array(inputs[0])[params[0].starts])
    if op is ASSEMBLE and not params[2]:
        raise Unsuited  # it adds
    arrays = [table.array(i) for i in inputs]
    if isinstance(op, Op) and op.positions is not None:
        at = op.positions[0]
        source = table.tape.instructions[inputs[at]]
        if source.op is not CONSTANT:
            raise Unsuited
        arrays[at] = source.params[0]
    if op is ASSEMBLE:
        # One more, so that what is 0 afterwards was not written.
        moved = np.asarray(op.evaluate(*[a + 1 for a in arrays], *params)) - 1
        moved = np.where(moved < 0, table.constant(0, KINDS[type_.dtype]), moved)
    else:
        moved = np.asarray(op.evaluate(*arrays, *params))
    return table.plain(moved, type_)


def _elementwise(table: Table, number: int, instruction: Instruction) -> None:
    op, inputs, params, type_, _ = instruction
    instructions = table.tape.instructions
    kinds = tuple([KINDS[instructions[i].type.dtype] for i in inputs])
    form = table.form(op, params, kinds, KINDS[type_.dtype])
    ids = table.operations(number, form, [table.array(i) for i in inputs])
    if type_.shape == () and len(inputs) < 4:
        table.known[op, params, *kinds] = form, KINDS[type_.dtype]
    table.define(table.plain(ids, type_), KINDS[type_.dtype])


def _guard(table: Table, instruction: Instruction) -> None:
    kind, outcome, ordinal = instruction.params[:3]
    looked_at = table.elements.ids[instruction.inputs[0]]
    if kind not in ("bool", "int") or not isinstance(looked_at, int):
        raise Unsuited
    elements, of_value = table.elements, table.elements.kinds[looked_at]
    expected = table.constant(float(outcome), of_value) if kind == "int" and of_value == "f64" else (
        table.constant(int(outcome), of_value) if kind == "int" else table.constant(bool(outcome), "i1"))  # fmt: skip
    form = table.form(GUARD, (kind, outcome != outcome), (of_value,), "")
    elements.ordinals[len(elements.rows)] = ordinal
    elements.form_of.append(form)
    elements.rows.append((looked_at, expected))
    elements.makers.append(len(elements.ids))
    elements.results.append(-1)
    table.define(None, "")
