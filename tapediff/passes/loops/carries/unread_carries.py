"""Drops carries that nothing reads: the last values of variables that are local to an iteration.

    total, r = 0.0, 0.0                      total = 0.0
    for x in xs:                             for x in xs:
        r = x - a                     →          total = total + (x - a) ** 2
        total = total + r ** 2

The remaining loop may be a sum (distribution/), or need no reverse pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ....ir.instruction import GUARD, INPUT, Instruction, TupleType
from ....ir.rewriter import Rewriter
from ....ir.tape import Tape
from ....ops.control.callee import Callee
from ....ops.control.calls import CALL, GET, LOOP, LoopForm, loop_items
from ...column_rewriter import ColumnRewriter
from ..counted_loops import loops_and_items

# Larger bodies are left as they are.
LARGEST_BODY = 10_000


@dataclass(frozen=True)
class Plan:
    """A loop with fewer carries.

    Attributes:
        callee: of an iteration.
        carries, streams: the numbers of those that are kept.
    """

    callee: Callee
    carries: tuple[int, ...]
    streams: tuple[int, ...]


def unread_carries(tape: Tape) -> Tape:
    """The tape with such loops; itself if there are none.

    Cost: linear in the number of instructions, of the tape and of the bodies of loops.
    """
    if LOOP not in tape.ops:
        return tape
    asked: dict[int, set[int]] = {}
    for _, item in tape.numbered(GET):
        asked.setdefault(item.inputs[0], set()).add(item.params[0])
    plans = {n: p for n, i in tape.numbered(LOOP) if (p := _plan(i.params[0], i.params[1], asked.get(n, set()))) is not None}
    if not plans:
        return tape
    rewriter = ColumnRewriter(tape)
    for number, instruction in rewriter.changing(loops_and_items(tape, plans)):
        if instruction.op is LOOP:
            rewriter.number[number] = _loop(rewriter, instruction, plans[number])
        else:
            (loop,), (k,) = instruction.inputs, instruction.params
            plan, carries = plans[loop], tape.instructions[loop].params[1].carries
            place = plan.carries.index(k) if k < carries else k - carries + len(plan.carries)
            rewriter.number[number] = rewriter.emit(GET, (rewriter.number[loop],), (place,), instruction.type, instruction.site)
    return rewriter.finish()


def _loop(rewriter: ColumnRewriter, loop: Instruction, plan: Plan) -> int:
    form: LoopForm = loop.params[1]
    operands = [rewriter.number[i] for i in loop.inputs]
    first, stop = form.leading + form.carries, form.leading + form.carries + form.streams
    carried = [operands[form.leading + k] for k in plan.carries]
    streams = [operands[first + k] for k in plan.streams]
    shorter = replace(form, carries=len(carried), streams=len(streams))
    inputs = (*operands[: form.leading], *carried, *streams, *operands[stop:])
    return rewriter.emit(LOOP, inputs, (plan.callee, shorter), TupleType(loop_items(plan.callee, shorter)), loop.site)


# Choosing loops


def _plan(callee: Callee, form: LoopForm, asked: set[int]) -> Plan | None:
    if form.variant_given or form.saves_carries or not callee.is_compiled or all(k in asked for k in range(form.carries)):
        return None
    body = callee.only_tape()
    if body is None or len(body) > LARGEST_BODY or GUARD in body.ops or CALL in body.ops:
        return None
    wanted = tuple(sorted(k for k in asked if k < form.carries))
    return callee.once(("unread carries", form, wanted), lambda: _made(callee, body, form, wanted))


def _made(callee: Callee, body: Tape, form: LoopForm, wanted: tuple[int, ...]) -> Plan | None:
    carries, needed = set(wanted), set[int]()
    _add(body, needed, (body.outputs[k] for k in (*wanted, *range(form.carries, len(body.outputs)))))
    while more := [k for k in range(form.carries) if k not in carries and body.inputs[k] in needed]:
        carries.update(more)
        _add(body, needed, (body.outputs[k] for k in more))
    if len(carries) == form.carries:
        return None
    kept = tuple(sorted(carries))
    # The loop's length is in its form: all streams may go.
    streams = tuple(k for k in range(form.streams) if body.inputs[form.carries + k] in needed)
    return Plan(callee.fixed(_body(body, form, kept, streams, needed)), kept, streams)


def _add(body: Tape, needed: set[int], wanted: Iterable[int]) -> None:
    """Add values and all that they are computed from."""
    pending = list(wanted)
    while pending:
        number = pending.pop()
        if number not in needed:
            needed.add(number)
            pending += body.instructions[number].inputs


def _body(body: Tape, form: LoopForm, carries: tuple[int, ...], streams: tuple[int, ...], needed: set[int]) -> Tape:
    """Return the body with only these carries and streams."""
    made, first = Rewriter(body), form.carries + form.streams
    sources = [*(body.inputs[k] for k in carries), *(body.inputs[form.carries + k] for k in streams), *body.inputs[first:]]
    for position, number in enumerate(sources):
        type_, site = body.instructions[number].type, body.instructions[number].site
        made.number[number] = made.emit(INPUT, (), (position,), type_, site)
    for number in sorted(needed):
        if body.instructions[number].op is not INPUT:
            made.number[number] = made.copy(number)
    outputs = tuple(made.number[body.outputs[k]] for k in (*carries, *range(form.carries, len(body.outputs))))
    inputs = tuple(made.number[n] for n in sources)
    active = tuple(k for k, n in enumerate(sources) if body.instructions[n].type.is_float)
    return Tape(tuple(made.instructions), inputs, outputs, body.name, active, True)
