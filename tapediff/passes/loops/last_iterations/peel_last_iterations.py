"""Peels the last iteration of loops whose last carries are not all used.

The reverse pass begins with the last iteration. A carry that nothing uses has an exact zero cotangent there, which must not meet an
infinity, so every iteration would have to check. Outside of the loop there is just no cotangent.
"""

from __future__ import annotations

from dataclasses import replace

from ....ir.instruction import Instruction, TupleType
from ....ir.rewriter import Rewriter
from ....ir.tape import Tape
from ....ops.control.callee import Callee
from ....ops.control.calls import CALL, GET, LOOP, RECALL, LoopCotangents, LoopForm
from ...activity import active_values
from ...rows import entry_of, joined, part_of, with_leading
from ...simplify.dead_code import dead_code
from ..loop_builder import Items, emit_loop, only_body, with_loops

# For shorter loops, a second copy of the body gains little.
FEWEST_ITERATIONS = 16

# Passes over the tape: carries may be passed on for a few iterations before something uses them.
MOST_PEELED = 3

# Larger bodies are left in their loop.
LARGEST_BODY = 1000


def peel_last_iterations(tape: Tape) -> Tape:
    for _ in range(MOST_PEELED):
        chosen = _chosen(tape)
        if not chosen:
            break
        # Fewer items are used then, and perhaps not all results of an iteration.
        tape = dead_code(with_loops(tape, lambda _, number, chosen=chosen: number if number in chosen else None, _peeled))
    return tape


# Choosing loops


def _chosen(tape: Tape) -> set[int]:
    loops = [n for n, i in tape.numbered(LOOP) if _may_be_peeled(*i.params)]
    if not loops:
        return set()
    active = active_values(tape, {tape.inputs[k] for k in tape.active_inputs})
    asked = _asked(tape)
    items: dict[int, set[int]] = {n: set() for n in loops}
    for number, (op, inputs, params, *_) in enumerate(tape.instructions):
        if op is GET and inputs[0] in items and asked[number]:
            items[inputs[0]].add(params[0])
    return {n for n in loops if items[n] and _hides_not_yet_seeded(tape.instructions[n], active, items[n])}


def _may_be_peeled(callee: Callee, form: LoopForm) -> bool:
    if form.length is None or form.length < FEWEST_ITERATIONS or form.saves_carries or form.variant_given:
        return False
    tape = only_body(callee)
    # A call that may take another path must keep its place.
    return tape is not None and len(tape) <= LARGEST_BODY and not any(i.op in (CALL, RECALL) for i in tape.instructions)


def _hides_not_yet_seeded(loop: Instruction, active: list[bool], items: set[int]) -> bool:
    callee, form = loop.params
    carries, streams, constants = (tuple(k for k, i in enumerate(part) if active[i]) for part in form.parts(loop.inputs))
    seeds = tuple(sorted(k - form.carries for k in items if k >= form.carries and callee.out_types[k].is_float))
    which = LoopCotangents(form.carries, form.streams, carries, streams, constants, seeds, ())
    given = tuple(sorted(k for k in items if k < form.carries and callee.out_types[k].is_float))
    return callee.loop_flow(which, given).hides_not_yet_seeded


def _asked(tape: Tape) -> list[bool]:
    """Return the values that the outputs depend on through floats."""
    asked = [False] * len(tape.instructions)
    for output in tape.outputs:
        asked[output] = True
    for number in range(len(tape.instructions) - 1, -1, -1):
        type_ = tape.instructions[number].type
        if asked[number] and (type_.is_float or isinstance(type_, TupleType)):
            for i in tape.instructions[number].inputs:
                asked[i] = True
    return asked


# The new instructions


def _peeled(made: Rewriter, loop: Instruction, _: int) -> Items:
    """Emit a loop, one iteration shorter, and the instructions of its last iteration."""
    callee, form = loop.params
    carries, streams, constants = form.parts(loop.inputs)
    others = form.length - 1
    # The positions of the last iteration's entries, and of the first of the others.
    place, rest = (0, 1) if form.backwards else (others, 0)
    operands = [*carries, *(part_of(made, stream, rest, others) for stream in streams), *constants]
    items = emit_loop(made, callee, replace(form, length=others), operands)
    last = made.splice(callee.only_tape(), [*items[: form.carries], *(entry_of(made, stream, place) for stream in streams), *constants])

    def whole(k: int) -> int:
        row = with_leading(made, last[k], (1,), 0)
        return joined(made, [row, items[k]] if form.backwards else [items[k], row])

    return [*last[: form.carries], *map(whole, range(form.carries, len(last)))].__getitem__
