"""Reads the last row of a stacked output from the loop's last carry, where these are the same.

A table written one row per iteration is often filled only for its last row, or for an entry of that row:

    last, table = loop(...)             last, _ = loop(...)
    return table[n - 1, m]      →       return last[m]

The loop then stacks no rows, unless others are read.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ....ir.instruction import Instruction, TupleType, item_types
from ....ir.rewriter import Rewriter
from ....ir.tape import Tape
from ....ops.arrays.indexing import INDEX, Region
from ....ops.control.callee import Callee
from ....ops.control.calls import GET, LOOP, LoopForm, loop_items
from ...simplify.dead_code import dead_code


def last_rows(tape: Tape) -> Tape:
    """Return the tape with such reads; itself if there are none. Cost: linear in the number of instructions, loop bodies included."""
    if LOOP not in tape.ops:
        return tape
    found = {n: carry for n, i in tape.numbered(INDEX) if (carry := _carry(tape, i)) is not None}
    if not found:
        return tape
    kept = _kept(tape, found)
    made = Rewriter(tape)
    for number, instruction in enumerate(tape.instructions):
        op, inputs, params, type_, site = instruction
        if op is LOOP and number in kept:
            callee, form = params
            other = callee.once(("rows", form.carries, kept[number]), partial(_with_rows, callee, form, kept[number]))
            operands = tuple(made.number[i] for i in inputs)
            made.number[number] = made.emit(LOOP, operands, (other, form), TupleType(loop_items(other, form)), site)
        elif op is GET and inputs[0] in kept:
            whole, k, carries = inputs[0], params[0], tape.instructions[inputs[0]].params[1].carries
            if k < carries or k in kept[whole]:
                place = k if k < carries else carries + kept[whole].index(k)
                made.number[number] = made.emit(GET, (made.number[whole],), (place,), type_, site)
        elif number in found:
            made.number[number] = _entry(made, tape, instruction, found[number])
        else:
            made.number[number] = made.copy(number)
    return made.finish()


def _kept(tape: Tape, found: dict[int, int]) -> dict[int, tuple[int, ...]]:
    """Return, by loop, the stacked outputs that are read in other ways."""
    loops = {tape.instructions[tape.instructions[n].inputs[0]].inputs[0] for n in found}
    read = {i for n, instruction in enumerate(tape.instructions) if n not in found for i in instruction.inputs} | set(tape.outputs)
    asked: dict[int, set[int]] = {loop: set() for loop in loops}
    for number, (op, inputs, params, _, _) in enumerate(tape.instructions):
        if op is GET and inputs[0] in loops and number in read:
            asked[inputs[0]].add(params[0])
    return {n: tuple(sorted(k for k in ks if k >= tape.instructions[n].params[1].carries)) for n, ks in asked.items()}


def _with_rows(callee: Callee, form: LoopForm, kept: tuple[int, ...]) -> Callee:
    """Return the callee that gives only these further results, after its carries."""
    body = callee.only_tape()
    assert body is not None
    return callee.fixed(dead_code(replace(body, outputs=(*body.outputs[: form.carries], *(body.outputs[k] for k in kept)))))


def _carry(tape: Tape, read: Instruction) -> int | None:
    """Return the carry equal to the last row of a stacked output, if the instruction reads that row."""
    rows = tape.instructions[read.inputs[0]]
    loop = tape.instructions[rows.inputs[0]] if rows.op is GET else None
    if loop is None or loop.op is not LOOP:
        return None
    callee, form = loop.params
    form: LoopForm
    region: Region = read.params[0]
    if form.length is None or form.stops or form.variant_given or form.saves_carries or callee.may_branch or not callee.is_compiled:
        return None
    last = 0 if form.backwards else form.length - 1
    if rows.params[0] < form.carries or region.counts[0] != 1 or region.starts[0] != last or (len(region.starts) == 1 and region.shape):
        return None
    body = callee.only_tape()
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
