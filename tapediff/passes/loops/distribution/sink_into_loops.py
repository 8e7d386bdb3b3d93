"""Computes cheap streams inside the loop that reads them, instead of storing them for all iterations.

    u = a * w + b                          for t in range(T):
    for t in range(T):             →           x = np.tanh(x + (a * w[t] + b))
        x = np.tanh(x + u[t])

Where an iteration computes with arrays, its lanes are full, and memory costs more than arithmetic. In loops over scalars the opposite pays:
see hoist_from_loops.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ....ir.instruction import CONSTANT, INPUT, Instruction, TupleType, ValueType
from ....ir.rewriter import Rewriter
from ....ir.tape import Tape
from ....ops import Elementwise
from ....ops.control.callee import Callee
from ....ops.control.calls import LOOP, LoopForm, loop_items
from ..save_or_recompute import LANES


def sink_into_loops(tape: Tape) -> Tape:
    """The tape with such streams; the tape itself where there are none. Cost: linear in the number of instructions."""
    if LOOP not in tape.ops:
        return tape
    sunk = _sunk(tape)
    if not sunk:
        return tape
    made = Rewriter(tape)
    for number, instruction in enumerate(tape.instructions):
        if instruction.op is LOOP and not sunk.isdisjoint(_streams(instruction)):
            made.number[number] = _loop(made, tape, instruction, sunk)
        elif number not in sunk:
            made.number[number] = made.copy(number)
    return made.finish()


def _streams(loop: Instruction) -> tuple[int, ...]:
    form: LoopForm = loop.params[1]
    first = form.leading + form.carries
    return loop.inputs[first : first + form.streams]


# Choosing values


def _sunk(tape: Tape) -> set[int]:
    """Return the values used only to compute streams of loops over arrays, each from one array at most."""
    kept, lengths, sunk = set(tape.outputs), dict[int, int](), set[int]()
    for number in range(len(tape.instructions) - 1, -1, -1):
        instruction = tape.instructions[number]
        op, inputs, *_ = instruction
        if op is LOOP:
            streams = _streams(instruction) if _takes_values(*instruction.params) else ()
            first = instruction.params[1].leading + instruction.params[1].carries
            kept.update(inputs[:first], inputs[first + len(streams) :])
            for read in streams:
                _note(read, instruction.params[1].length, lengths, kept)
        elif number in lengths and number not in kept and _is_cheap(tape, instruction, lengths[number]):
            sunk.add(number)
            for read in inputs:
                if _is_stack(tape.instructions[read].type, lengths[number]):
                    _note(read, lengths[number], lengths, kept)
                else:
                    kept.add(read)
        else:
            kept.update(inputs)
    return sunk


def _note(number: int, length: int, lengths: dict[int, int], kept: set[int]) -> None:
    """Note that a loop with this number of iterations reads a value."""
    if lengths.setdefault(number, length) != length:
        kept.add(number)


def _takes_values(callee: Callee, form: LoopForm) -> bool:
    """True if the loop's callee can be rebuilt with other inputs."""
    is_plain = form.length is not None and not form.variant_given and not callee.may_branch
    return is_plain and callee.is_compiled and callee.only_tape() is not None


def _is_stack(type_: ValueType, length: int) -> bool:
    return len(type_.shape) > 1 and type_.shape[0] == length and type_.size >= LANES * length


def _is_cheap(tape: Tape, instruction: Instruction, length: int) -> bool:
    """True for an elementwise function of at most one array, and of scalars."""
    op, inputs, _, type_, _ = instruction
    if not isinstance(op, Elementwise) or op.is_costly or op.divides or not _is_stack(type_, length):
        return False
    others = {k for k in inputs if tape.instructions[k].type.size != 1}
    return len(others) <= 1 and all(tape.instructions[k].type.shape == type_.shape for k in others)


# The loops


class _Sources(NamedTuple):
    """The inputs and computations that replace streams in the new callee, by their values on the tape.

    Attributes:
        streams, constants: the inputs that the loop does not have yet.
        computed: the values that it computes, in order.
    """

    streams: list[int]
    constants: list[int]
    computed: list[int]


def _loop(made: Rewriter, tape: Tape, loop: Instruction, sunk: set[int]) -> int:
    callee, form = loop.params
    streams, first = _streams(loop), form.leading + form.carries
    kept = [k for k, number in enumerate(streams) if number not in sunk]
    sources = _sources(tape, [number for number in streams if number in sunk], [streams[k] for k in kept], sunk)
    body = _body(tape, callee.only_tape(), form, streams, kept, sources)
    form = replace(form, streams=len(kept) + len(sources.streams), constants=form.constants + len(sources.constants))
    read = (*(streams[k] for k in kept), *sources.streams)
    operands = (*loop.inputs[:first], *read, *loop.inputs[first + len(streams) :], *sources.constants)
    new = callee.fixed(body)
    return made.emit(LOOP, tuple(made.number[n] for n in operands), (new, form), TupleType(loop_items(new, form)), loop.site)


def _sources(tape: Tape, wanted: list[int], streams: list[int], sunk: set[int]) -> _Sources:
    """Return the sources of the sunk values among the streams; `streams` are those that stay."""
    computed, leaves, pending = set[int](), set[int](), list(wanted)
    while pending:
        number = pending.pop()
        if number in sunk and number not in computed:
            computed.add(number)
            pending += tape.instructions[number].inputs
        elif number not in sunk:
            leaves.add(number)
    known = leaves.difference(streams)
    new = sorted(n for n in known if tape.instructions[n].type.size != 1)
    numbers = sorted(n for n in known if tape.instructions[n].type.size == 1 and tape.instructions[n].op is not CONSTANT)
    return _Sources(new, numbers, sorted(computed))


def _body(tape: Tape, body: Tape, form: LoopForm, streams: tuple[int, ...], kept: list[int], sources: _Sources) -> Tape:
    """Return an iteration that computes the streams it is no longer given."""
    made, found = Rewriter(body), dict[int, int]()
    after = form.carries + form.streams

    def new_input(type_: ValueType) -> int:
        inputs.append(made.emit(INPUT, (), (len(inputs),), type_, None))
        return inputs[-1]

    inputs: list[int] = []
    for n in body.inputs[: form.carries]:
        made.number[n] = new_input(body.instructions[n].type)
    for k in kept:
        old = body.inputs[form.carries + k]
        found[streams[k]] = made.number[old] = new_input(body.instructions[old].type)
    for n in sources.streams:
        found[n] = new_input(_entry(tape.instructions[n].type))
    for n in body.inputs[after:]:
        made.number[n] = new_input(body.instructions[n].type)
    for n in sources.constants:
        found[n] = new_input(tape.instructions[n].type)
    for n in sources.computed:
        op, operands, params, type_, site = tape.instructions[n]
        for read in operands:
            if read not in found:
                found[read] = made.keep(tape.instructions[read], ())
        found[n] = made.emit(op, tuple(found[k] for k in operands), params, _entry(type_), site)
    for k, n in enumerate(streams):
        if k not in kept:
            made.number[body.inputs[form.carries + k]] = found[n]
    for number, instruction in enumerate(body.instructions):
        if instruction.op is not INPUT:
            made.number[number] = made.copy(number)
    active = tuple(k for k, n in enumerate(inputs) if made.instructions[n].type.is_float)
    outputs = tuple(made.number[n] for n in body.outputs)
    return Tape(tuple(made.instructions), tuple(inputs), outputs, body.name, active, True)


def _entry(type_: ValueType) -> ValueType:
    return ValueType(type_.shape[1:], type_.dtype)
