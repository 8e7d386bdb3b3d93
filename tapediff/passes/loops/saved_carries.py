"""Lets loops return their carries at every iteration, which the reverse pass reads, and only where something does."""

from __future__ import annotations

from dataclasses import replace

from ...ir.instruction import Instruction, TupleType
from ...ir.tape import Tape
from ...ops.control.calls import GET, LOOP, loop_items


def save_carries(tape: Tape) -> Tape:
    """Before differentiation: every loop returns the carries of all its iterations, behind its other results."""
    return _with_loops(tape, {n for n, _ in tape.numbered(LOOP)}, saves_carries=True)


def drop_saved_carries(tape: Tape) -> Tape:
    """After differentiation: loops whose carries nobody reads do not store them."""
    unread = {n for n, i in tape.numbered(LOOP) if i.params[1].saves_carries}
    for instruction in tape.instructions:
        if instruction.op is GET and instruction.inputs[0] in unread:
            callee, form = tape.instructions[instruction.inputs[0]].params
            if instruction.params[0] >= len(loop_items(callee, replace(form, saves_carries=False))):
                unread.discard(instruction.inputs[0])
    return _with_loops(tape, unread, saves_carries=False)


def _with_loops(tape: Tape, chosen: set[int], *, saves_carries: bool) -> Tape:
    if not chosen:
        return tape
    instructions = list(tape.instructions)
    for number in chosen:
        op, inputs, (callee, form), _, site = instructions[number]
        if saves_carries and not form.saves_carries and not form.variant_given:
            form = replace(form, single_variant=callee.only_tape() is not None)
        form = replace(form, saves_carries=saves_carries)
        instructions[number] = Instruction(op, inputs, (callee, form), TupleType(loop_items(callee, form)), site)
    return replace(tape, instructions=tuple(instructions))
