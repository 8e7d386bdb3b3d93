"""Inline calls of short merged bodies and of loop tests, so that the caller's loops can be rolled."""

from __future__ import annotations

from ...ir.instruction import Instruction, ValueType
from ...ir.tape import Tape
from ...ops.control.callee import Callee
from ...ops.control.calls import CALL, GET
from ...passes.loops.loop_builder import with_loops

# Longer bodies, and larger values, stay calls: a call stores only its arguments for the reverse pass.
LARGEST_SPLICED = 400

# The most instructions of a caller after inlining.
LONGEST_CALLER = 100_000


def spliced(tape: Tape) -> Tape:
    """Inline the calls of short merged bodies and of loop tests that have one possible variant."""
    if CALL not in tape.ops:
        return tape
    calls = [n for n, i in enumerate(tape.instructions) if i.op is CALL and (i.params[0].is_merged or i.params[0].is_test)]
    found = {callee: _body_of(callee) for callee in {tape.instructions[n].params[0] for n in calls}}
    bodies = {n: body for n in calls if (body := found[tape.instructions[n].params[0]]) is not None}
    for op, inputs, params, *_ in tape.instructions:
        # The reverse half of a call asks for the number of the variant that ran.
        if op is GET and inputs[0] in bodies and params[0] >= len(bodies[inputs[0]].outputs):
            del bodies[inputs[0]]
    if not bodies or sum(map(len, bodies.values())) > LONGEST_CALLER:
        return tape
    return with_loops(tape, lambda _, n: bodies.get(n), lambda made, call, body: made.splice(body, call.inputs).__getitem__, CALL)


def is_spliced_test(instruction: Instruction) -> bool:
    """True for a call of a loop's test that `spliced` would inline."""
    return instruction.op is CALL and instruction.params[0].is_test and _body_of(instruction.params[0]) is not None


def _body_of(callee: Callee) -> Tape | None:
    body = callee.only_tape() if callee.is_compiled else None
    size = 0 if body is None else sum(i.type.size if isinstance(i.type, ValueType) else LARGEST_SPLICED for i in body.instructions)
    return body if size <= LARGEST_SPLICED else None
