"""Makes loops return their carries at every iteration for the reverse pass, only if something reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....ir.instruction import Instruction, TupleType
from ....ir.tape import Tape
from ....ops.control.callee import Callee
from ....ops.control.calls import GET, LOOP, LoopForm, loop_items

# If only some carries of a loop are read and the unread ones exceed so many bytes, the read ones are copied as further results; else all
# are stored where they are computed. Beyond the second-level cache a copy takes less than storing unread carries.
LARGEST_UNREAD = 1 << 19


def save_carries(tape: Tape) -> Tape:
    """Before differentiation: make every loop return the carries of all its iterations, after its other results."""
    chosen = {n for n, _ in tape.numbered(LOOP)}
    if not chosen:
        return tape
    instructions = list(tape.instructions)
    for number in chosen:
        callee, form = instructions[number].params
        if not form.saves_carries and not form.variant_given:
            form = replace(form, single_variant=callee.only_tape() is not None)
        instructions[number] = _loop(instructions[number], callee, replace(form, saves_carries=True))
    return replace(tape, instructions=tuple(instructions))


def drop_saved_carries(tape: Tape) -> Tape:
    """After differentiation: stop loops from storing carries that are not read, or of which few are."""
    # By loop: the GET instructions of saved carries, and the carry each reads; for one variant.
    read: dict[int, dict[int, int]] = {n: {} for n, i in tape.numbered(LOOP) if i.params[1].saves_carries}
    if not read:
        return tape
    for number, (op, inputs, params, *_) in enumerate(tape.instructions):
        if op is GET and inputs[0] in read and params[0] >= (first := _results(*tape.instructions[inputs[0]].params)):
            read[inputs[0]][number] = params[0] - first
    instructions = list(tape.instructions)
    for number, reads in read.items():
        callee, form = instructions[number].params
        kept = tuple(sorted(set(reads.values())))
        if not kept:
            instructions[number] = _loop(instructions[number], callee, replace(form, saves_carries=False))
        elif _are_few(callee, form, kept):
            also = callee.once(("carries as results", kept), lambda callee=callee, kept=kept: _returning(callee, kept))
            instructions[number] = _loop(instructions[number], also, replace(form, saves_carries=False))
            for get, carry in reads.items():
                place = len(callee.out_types) + kept.index(carry)
                instructions[get] = instructions[get]._replace(params=(place,))
    return replace(tape, instructions=tuple(instructions))


def _results(callee: Callee, form: LoopForm) -> int:
    """Return the number of items before the saved carries (and before the variant numbers, if there are several)."""
    return len(loop_items(callee, replace(form, saves_carries=False)))


def _are_few(callee: Callee, form: LoopForm, read: Sequence[int]) -> bool:
    """True if the unread carries are so large that copying the read ones is cheaper."""
    if form.length is None or form.stops or not form.single_variant or not callee.is_compiled or callee.only_tape() is None:
        return False
    unread = sum(t.size * t.dtype.itemsize for k, t in enumerate(callee.in_types[: form.carries]) if k not in read)
    return unread * form.length > LARGEST_UNREAD


def _returning(callee: Callee, carries: tuple[int, ...]) -> Callee:
    """The callee that also returns some of the carries as they were before the iteration."""
    tape: Tape = callee.variant_tape(0)
    return callee.fixed(replace(tape, outputs=(*tape.outputs, *(tape.inputs[k] for k in carries))), extends=callee)


def _loop(loop: Instruction, callee: Callee, form: LoopForm) -> Instruction:
    return Instruction(loop.op, loop.inputs, (callee, form), TupleType(loop_items(callee, form)), loop.site)
