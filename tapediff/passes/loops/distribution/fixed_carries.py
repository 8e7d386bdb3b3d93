"""Makes constants of carries that no iteration changes: the cotangent of an array that a loop adds to."""

from __future__ import annotations

from dataclasses import replace

from ....ir.instruction import INPUT, TupleType
from ....ir.rewriter import Rewriter
from ....ir.tape import Tape
from ....ops.control.callee import Callee
from ....ops.control.calls import GET, LOOP, LoopForm, loop_items


def fixed_carries(tape: Tape) -> Tape:
    """The tape with such loops; the tape itself where there are none. Cost: linear in the number of instructions."""
    if LOOP not in tape.ops:
        return tape
    plans = {n: plan for n, i in tape.numbered(LOOP) if (plan := _plan(*i.params)) is not None}
    if not plans:
        return tape
    made = Rewriter(tape)
    for number, (op, inputs, params, type_, site) in enumerate(tape.instructions):
        if number in plans:
            fixed, callee = plans[number]
            form: LoopForm = params[1]
            operands = [made.number[i] for i in inputs]
            chosen = [form.leading + k for k in fixed]
            others = [n for k, n in enumerate(operands) if k not in chosen]
            form = replace(form, carries=form.carries - len(fixed), constants=form.constants + len(fixed))
            items = TupleType(loop_items(callee, form))
            made.number[number] = made.emit(LOOP, (*others, *(operands[k] for k in chosen)), (callee, form), items, site)
        elif op is GET and inputs[0] in plans:
            fixed, k = plans[inputs[0]][0], params[0]
            loop = tape.instructions[inputs[0]]
            if k in fixed:
                made.number[number] = made.number[loop.inputs[loop.params[1].leading + k]]
            else:
                place = k - sum(other < k for other in fixed)
                made.number[number] = made.emit(GET, (made.number[inputs[0]],), (place,), type_, site)
        else:
            made.number[number] = made.copy(number)
    return made.finish()


# The carries that are constants, and the callee that takes them as such.
Plan = tuple[tuple[int, ...], Callee]


def _plan(callee: Callee, form: LoopForm) -> Plan | None:
    if form.variant_given or form.saves_carries or not form.carries or callee.may_branch or not callee.is_compiled:
        return None
    return callee.once(("fixed carries", form.carries), lambda: _made(callee, form.carries))


def _made(callee: Callee, carries: int) -> Plan | None:
    body = callee.only_tape()
    if body is None:
        return None
    fixed = tuple(k for k in range(carries) if body.inputs[k] == body.outputs[k])
    if not fixed:
        return None
    made = Rewriter(body)
    order = [*(k for k in range(len(body.inputs)) if k not in fixed), *fixed]
    for position, k in enumerate(order):
        made.number[body.inputs[k]] = made.emit(INPUT, (), (position,), body.instructions[body.inputs[k]].type, None)
    inputs = tuple(made.number[body.inputs[k]] for k in order)
    for number, instruction in enumerate(body.instructions):
        if instruction.op is not INPUT:
            made.number[number] = made.copy(number)
    outputs = tuple(made.number[n] for k, n in enumerate(body.outputs) if k not in fixed)
    active = tuple(k for k, n in enumerate(inputs) if made.instructions[n].type.is_float)
    return fixed, callee.fixed(Tape(tuple(made.instructions), inputs, outputs, body.name, active, True))
