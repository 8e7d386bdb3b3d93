"""Vectorises loop code that is independent of the carries: computed for all iterations at once, on SIMD lanes.

The reverse pass of a loop knows the saved carries, so often only a few products remain in the loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....ir.instruction import INPUT, Instruction, Primitive
from ....ir.rewriter import Rewriter, part_of_tape
from ....ir.tape import Tape
from ....ops import Elementwise
from ....ops.arrays.indexing import INDEX
from ....ops.arrays.shape import RESHAPE
from ....ops.control.callee import Callee
from ....ops.control.calls import GET, LoopForm, TupleOp
from ....ops.elementwise.arithmetic import CONVERT
from ...reach import needed_values
from ..loop_builder import Items, items_without, loop_like, outside_of_loop, with_loops

# Shorter loops are left alone.
FEWEST_ITERATIONS = 16

# The kinds of a body's values: they depend on constants only, on entries of streams, or on carries.
CONSTANTS, ENTRIES, CARRIES = range(3)


@dataclass(frozen=True)
class Plan:
    """How a loop is split.

    Attributes:
        body: the original tape of an iteration.
        outside: the values of the body that are computed outside, and what they read, in order.
        callee: of the shorter loop.
        streams: the streams that it still reads; those of `crossing` follow.
        crossing: the hoisted values that it reads.
        direct: further results of the loop that are entirely computed outside, by their number among the outputs.
    """

    body: Tape
    outside: tuple[int, ...]
    callee: Callee
    streams: tuple[int, ...]
    crossing: tuple[int, ...]
    direct: dict[int, int]


def hoist_from_loops(tape: Tape) -> Tape:
    return with_loops(tape, lambda loop, _: _plan(*loop.params), _emitted)


def _emitted(made: Rewriter, loop: Instruction, plan: Plan) -> Items:
    form: LoopForm = loop.params[1]
    carries, streams, constants = form.parts(loop.inputs)
    whole = outside_of_loop(made, loop, plan.body, plan.outside)
    read = [*(streams[k] for k in plan.streams), *(whole(v) for v in plan.crossing)]
    items = items_without(made, loop_like(made, loop, plan.callee, carries, read, constants), plan.direct)
    return lambda k: whole(plan.direct[k]) if k in plan.direct else items(k)


# Choosing values to hoist


def _plan(callee: Callee, form: LoopForm) -> Plan | None:
    if form.length is None or form.length < FEWEST_ITERATIONS or callee.may_branch or not callee.is_compiled:
        return None
    return callee.once(("hoisted", form.carries, form.streams), lambda: _made(callee, form))


def _made(callee: Callee, form: LoopForm) -> Plan | None:
    body: Tape = callee.variant_tape(0)
    kinds = _kinds(body, form)
    entries = [n for n, kind in enumerate(kinds) if kind == ENTRIES and body.instructions[n].op is not INPUT]
    if not any(_is_costly(body.instructions[n].op) for n in entries):
        return None
    read = {i for n, kind in enumerate(kinds) if kind == CARRIES for i in body.instructions[n].inputs}
    read.update(body.outputs[: form.carries])
    chosen = set(entries)
    direct = {k: v for k, v in enumerate(body.outputs) if k >= form.carries and v in chosen}
    crossing = tuple(n for n in entries if n in read)
    others = [v for k, v in enumerate(body.outputs) if k not in direct]
    carries, streams, constants = form.parts(body.inputs)
    kept = tuple(k for k, v in enumerate(streams) if v in read or v in others)
    rest = part_of_tape(body, [*carries, *(streams[k] for k in kept), *crossing, *constants], others)
    outside = tuple(sorted(needed_values(body, [*crossing, *direct.values()])))
    return Plan(body, outside, callee.fixed(rest), kept, crossing, direct)


def _kinds(body: Tape, form: LoopForm) -> list[int]:
    kinds: list[int] = []
    for op, inputs, params, _, _ in body.instructions:
        if op is INPUT:
            position = params[0]
            streamed = form.carries <= position < form.carries + form.streams
            kinds.append(CARRIES if position < form.carries else ENTRIES if streamed else CONSTANTS)
            continue
        kind = max((kinds[i] for i in inputs), default=CONSTANTS)
        whole = isinstance(op, Elementwise) or op is INDEX or op is CONVERT or op is RESHAPE
        is_tuple_or_item = isinstance(op, TupleOp) or op is GET
        kinds.append(CARRIES if is_tuple_or_item or (kind == ENTRIES and not whole) else kind)
    return kinds


def _is_costly(op: Primitive) -> bool:
    return isinstance(op, Elementwise) and op.is_costly
