"""Computes cheap streams inside the loop that reads them, instead of storing them for all iterations.

    u = a * w + b                          for t in range(T):
    for t in range(T):             →           x = np.tanh(x + (a * w[t] + b))
        x = np.tanh(x + u[t])

Where an iteration computes with arrays, its lanes are full, and memory costs more than arithmetic. In loops over scalars the opposite pays:
see hoist_from_loops.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....base.records import dataclass
from ....ir.instruction import CONSTANT, Instruction, ValueType
from ....ir.rewriter import BodyBuilder, Rewriter
from ....ir.tape import Tape
from ....ops import Elementwise
from ....ops.control.callee import Callee
from ....ops.control.calls import LOOP, LoopForm
from ...reach import needed_values
from ..loop_builder import Items, items_without, loop_like, only_body, with_loops
from ..save_or_recompute import LANES


def sink_into_loops(tape: Tape) -> Tape:
    """The tape with such streams; the tape itself where there are none. Cost: linear in the number of instructions."""
    sunk = _sunk(tape) if LOOP in tape.ops else set[int]()
    leaves = {i for n in sunk for i in tape.instructions[n].inputs} - sunk
    return with_loops(tape, lambda loop, _: _plan(tape, loop, sunk, leaves), _emitted)


# Choosing values


def _sunk(tape: Tape) -> set[int]:
    """Return the values used only to compute streams of loops over arrays, each from one array at most."""
    kept, lengths, sunk = set(tape.outputs), dict[int, int](), set[int]()
    for number in range(len(tape.instructions) - 1, -1, -1):
        instruction = tape.instructions[number]
        op, inputs, *_ = instruction
        if op is LOOP:
            callee, form = instruction.params
            carries, streams, constants = form.parts(inputs)
            kept.update(inputs[: form.leading], carries, constants)
            if _takes_values(callee, form):
                for read in streams:
                    _note(read, form.length, lengths, kept)
            else:
                kept.update(streams)
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
    return form.length is not None and not form.variant_given and only_body(callee) is not None


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


@dataclass(frozen=True)
class Plan:
    """How a loop computes some of its streams.

    Attributes:
        callee: of an iteration.
        kept: the streams that it still reads.
        streams, constants: further operands, by their values on the tape.
    """

    callee: Callee
    kept: tuple[int, ...]
    streams: tuple[int, ...]
    constants: tuple[int, ...]


def _plan(tape: Tape, loop: Instruction, sunk: set[int], leaves: set[int]) -> Plan | None:
    callee, form = loop.params
    _, given, _ = form.parts(loop.inputs)
    if sunk.isdisjoint(given):
        return None
    needed = needed_values(tape, sunk.intersection(given), leaves)
    added = sorted(needed.difference(sunk, given))
    streams = [n for n in added if tape.instructions[n].type.size != 1]
    constants = [n for n in added if tape.instructions[n].type.size == 1 and tape.instructions[n].op is not CONSTANT]
    body = _body(tape, callee.only_tape(), form, given, sorted(needed & sunk), streams, constants)
    kept = tuple(k for k, n in enumerate(given) if n not in sunk)
    return Plan(callee.fixed(body), kept, tuple(streams), tuple(constants))


def _body(
    tape: Tape, body: Tape, form: LoopForm, given: Sequence[int], computed: Sequence[int], streams: Sequence[int], constants: Sequence[int]
) -> Tape:
    """Return an iteration that computes the streams it is no longer given.

    Args:
        given: the streams of the loop, by their values on the tape; those that follow are such values, too.
        computed: what it computes, in order.
        streams, constants: its further operands.
    """
    made, found = BodyBuilder(body), dict[int, int]()
    carries, entries, same = form.parts(body.inputs)
    made.take(carries)
    made_here = set(computed)
    for old, n in zip(entries, given):
        if n not in made_here:
            made.take([old])
            found[n] = made.number[old]
    found |= {n: made.add_input(_entry(tape.instructions[n].type)) for n in streams}
    made.take(same)
    found |= {n: made.add_input(tape.instructions[n].type) for n in constants}
    for n in computed:
        op, operands, params, type_, site = tape.instructions[n]
        for read in operands:
            if read not in found:
                found[read] = made.keep(tape.instructions[read], ())
        found[n] = made.emit(op, tuple(found[k] for k in operands), params, _entry(type_), site)
    for old, n in zip(entries, given):
        made.number[old] = found[n]
    return made.body_of(body.outputs)


def _entry(type_: ValueType) -> ValueType:
    return ValueType(type_.shape[1:], type_.dtype)


def _emitted(made: Rewriter, loop: Instruction, plan: Plan) -> Items:
    carries, given, constants = loop.params[1].parts(loop.inputs)
    streams = [*(given[k] for k in plan.kept), *(made.number[n] for n in plan.streams)]
    new = loop_like(made, loop, plan.callee, carries, streams, [*constants, *(made.number[n] for n in plan.constants)])
    return items_without(made, new, ())
