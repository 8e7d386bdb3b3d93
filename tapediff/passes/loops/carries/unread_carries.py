"""Drops results that nothing reads: rows of all iterations, and carries, such as variables that are local to an iteration.

    total, r = 0.0, 0.0                      total = 0.0
    for x in xs:                             for x in xs:
        r = x - a                     →          total = total + (x - a) ** 2
        total = total + r ** 2

The remaining loop may be a sum (distribution/), or need no reverse pass.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....ir.instruction import GUARD, Instruction
from ....ir.rewriter import Rewriter, part_of_tape
from ....ir.tape import Tape
from ....ops.control.callee import Callee
from ....ops.control.calls import CALL, GET, LOOP, LoopForm
from ...reach import needed_values
from ..loop_builder import Items, items_without, loop_like, only_body, with_loops

# Larger bodies are left as they are.
LARGEST_BODY = 10_000


@dataclass(frozen=True)
class Plan:
    """A loop with fewer results.

    Attributes:
        callee: of an iteration.
        dropped: the results that it no longer has, carries among them.
        streams: the numbers of those that are kept.
    """

    callee: Callee
    dropped: frozenset[int]
    streams: tuple[int, ...]


def unread_carries(tape: Tape) -> Tape:
    """The tape with such loops; itself if there are none.

    Cost: linear in the number of instructions, of the tape and of the bodies of loops.
    """
    asked: dict[int, set[int]] = {}
    for _, item in tape.numbered(GET) if LOOP in tape.ops else ():
        asked.setdefault(item.inputs[0], set()).add(item.params[0])
    return with_loops(tape, lambda loop, number: _plan(loop.params[0], loop.params[1], asked.get(number, set())), _emitted)


def _emitted(made: Rewriter, loop: Instruction, plan: Plan) -> Items:
    carries, streams, constants = loop.params[1].parts(loop.inputs)
    carries, streams = [n for k, n in enumerate(carries) if k not in plan.dropped], [streams[k] for k in plan.streams]
    return items_without(made, loop_like(made, loop, plan.callee, carries, streams, constants), plan.dropped)


# Choosing loops


def _plan(callee: Callee, form: LoopForm, asked: set[int]) -> Plan | None:
    if form.variant_given or form.saves_carries or not asked or asked.issuperset(range(len(callee.out_types))):
        return None
    body = only_body(callee)
    if body is None or len(body) > LARGEST_BODY or GUARD in body.ops or CALL in body.ops:
        return None
    return callee.once(("unread", form, frozenset(asked)), lambda: _made(callee, body, form, asked))


def _made(callee: Callee, body: Tape, form: LoopForm, asked: set[int]) -> Plan | None:
    given, entries, constants = form.parts(body.inputs)
    kept, more, needed = set[int](), asked | ({len(body.outputs) - 1} if form.stops else set()), set[int]()
    while more:
        kept |= more
        needed |= needed_values(body, [body.outputs[k] for k in more], needed)
        more = {k for k, n in enumerate(given) if n in needed} - kept
    dropped = frozenset(range(len(body.outputs))) - kept
    if not dropped:
        return None
    # The loop's length is in its form: all streams may go.
    streams = tuple(k for k, n in enumerate(entries) if n in needed)
    sources = [*(n for k, n in enumerate(given) if k in kept), *(entries[k] for k in streams), *constants]
    return Plan(callee.fixed(part_of_tape(body, sources, [body.outputs[k] for k in sorted(kept)])), dropped, streams)
