"""Replaces conditions that must hold for an iteration to begin by constants in the body of a while loop.

A loop with `break` continues while `not broken`, so `broken` is False at the start of every iteration. The test at the start gives its
value before the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...ir.instruction import BOOL_SCALAR, CONSTANT, Instruction
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.arrays.shape import RESHAPE
from ...ops.control.calls import LOOP, LoopForm
from ...ops.elementwise.comparison import LOGICAL_AND, LOGICAL_NOT
from ..simplify.dead_code import dead_code
from ..simplify.fold_constants import fold_constants

# Known tests: values, and whether they are true.
Facts = dict[int, bool]


def known_conditions(tape: Tape) -> Tape:
    """The tape with such loops of one variant; itself if there are none."""
    if LOOP not in tape.ops:
        return tape
    found = [(number, loop, _with_constants(tape, loop)) for number, loop in tape.numbered(LOOP)]
    if all(loop is made for _, loop, made in found):
        return tape
    instructions = list(tape.instructions)
    for number, _, made in found:
        instructions[number] = made
    return replace(tape, instructions=tuple(instructions))


def _with_constants(tape: Tape, loop: Instruction) -> Instruction:
    callee, form = loop.params
    form: LoopForm
    if not form.stops or form.variant_given or form.saves_carries or not callee.is_compiled:
        return loop
    body = callee.only_tape()
    if body is None or BOOL_SCALAR not in body.input_types:
        return loop
    operands = loop.inputs[form.leading :]
    known = _known(body, form, operands, _facts(tape, loop.inputs[form.leading - 1]), tape)
    if not known:
        return loop
    other = callee.once(("known conditions", tuple(known.items())), lambda: callee.fixed(_simplified(body, known)))
    return loop._replace(params=(other, form))


def _known(body: Tape, form: LoopForm, operands: Sequence[int], first: Facts, tape: Tape) -> Facts:
    """Return the inputs of the body with a known truth value at every iteration, by position."""
    later = _facts(body, body.outputs[-1])
    known: Facts = {}
    for k, (number, operand) in enumerate(zip(body.inputs, operands)):
        if body.input_types[k] != BOOL_SCALAR or form.carries <= k < form.carries + form.streams:
            continue
        value = later.get(body.outputs[k] if k < form.carries else number)
        if value is not None and value == first.get(operand, _constant(tape.instructions[operand])):
            known[k] = value
    return known


def _facts(tape: Tape, test: int) -> Facts:
    """Return the truth values implied by a test that holds."""
    facts, pending = Facts(), [(test, True)]
    while pending:
        number, value = pending.pop()
        facts[number] = value
        op, inputs, *_ = tape.instructions[number]
        if op is LOGICAL_AND and value:
            pending += [(i, True) for i in inputs]
        elif op is LOGICAL_NOT:
            pending.append((inputs[0], not value))
        elif op is RESHAPE:
            pending.append((inputs[0], value))
    return facts


def _constant(instruction: Instruction) -> bool | None:
    return bool(instruction.params[0]) if instruction.op is CONSTANT else None


def _simplified(body: Tape, known: Facts) -> Tape:
    made = Rewriter(body)
    constants = {body.inputs[k]: value for k, value in known.items()}
    read: dict[int, int] = {}
    for number, instruction in enumerate(body.instructions):
        operands = tuple([read.get(i, made.number[i]) for i in instruction.inputs])
        made.number[number] = made.keep(instruction, operands)
        if number in constants:
            read[number] = made.constant(np.bool_(constants[number]), BOOL_SCALAR)
    return dead_code(fold_constants(made.finish()))
