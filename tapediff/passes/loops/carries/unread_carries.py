"""Drops results that nothing reads: rows of all iterations, and carries, such as variables that are local to an iteration.

    total, r = 0.0, 0.0                      total = 0.0
    for x in xs:                             for x in xs:
        r = x - a                     →          total = total + (x - a) ** 2
        total = total + r ** 2

The remaining loop may be a sum (distribution/), or need no reverse pass. Results of a loop within count one by one: a variable
that both loops hand on to themselves alone is dropped, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....ir.instruction import GUARD, Instruction
from ....ir.rewriter import Rewriter, part_of_tape
from ....ir.tape import Tape
from ....ops.control.callee import Callee
from ....ops.control.calls import CALL, GET, LOOP, LoopForm
from ...reach import needed_values
from ...simplify.dead_code import dead_code
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
    body = _body(callee, form) if asked else None
    if body is None or (LOOP not in body.ops and asked.issuperset(range(len(callee.out_types)))):
        return None
    return callee.once(("unread", form, frozenset(asked)), lambda: _made(callee, body, form, asked))


def _body(callee: Callee, form: LoopForm) -> Tape | None:
    """The tape of an iteration of a loop that may have fewer results; None for others."""
    body = None if form.variant_given or form.saves_carries else only_body(callee)
    return None if body is None or len(body) > LARGEST_BODY or GUARD in body.ops or CALL in body.ops else body


def _made(callee: Callee, body: Tape, form: LoopForm, asked: set[int]) -> Plan | None:
    kept, _ = _kept(body, form, asked)
    dropped = frozenset(range(len(body.outputs))) - kept
    left = replace(body, outputs=tuple([body.outputs[k] for k in sorted(kept)]))
    # Nests are a few loops deep.
    smaller = unread_carries(dead_code(left)) if LOOP in body.ops else left
    if not dropped and len(smaller) == len(body):
        return None
    given, entries, constants = form.parts(smaller.inputs)
    needed = needed_values(smaller, smaller.outputs)
    # The loop's length is in its form: all streams may go.
    streams = tuple(k for k, n in enumerate(entries) if n in needed)
    sources = [*(n for k, n in enumerate(given) if k in kept), *(entries[k] for k in streams), *constants]
    return Plan(callee.fixed(part_of_tape(smaller, sources, smaller.outputs)), dropped, streams)


def _kept(body: Tape, form: LoopForm, asked: set[int]) -> tuple[set[int], set[int]]:
    """The results of a loop of which some are read, and the values of an iteration that these need."""
    given, _, _ = form.parts(body.inputs)
    kept, more, needed = set[int](), asked | ({len(body.outputs) - 1} if form.stops else set()), set[int]()
    while more:
        kept |= more
        needed |= _needed(body, [body.outputs[k] for k in more])
        more = {k for k, n in enumerate(given) if n in needed} - kept
    return kept, needed


def _needed(body: Tape, wanted: Sequence[int]) -> set[int]:
    """The values that some values are computed from; of a loop within, what the items that are read need."""
    needed, pending, items = set[int](), list(wanted), dict[int, set[int]]()
    while pending:
        number = pending.pop()
        if number in needed:
            continue
        needed.add(number)
        op, inputs, params, *_ = body.instructions[number]
        loop = body.instructions[inputs[0]] if op is GET else None
        if loop is None or loop.op is not LOOP:
            pending += inputs
            continue
        items.setdefault(inputs[0], set()).add(params[0])
        pending += _operands(loop, items[inputs[0]])
    return needed


def _operands(loop: Instruction, asked: set[int]) -> list[int]:
    """The operands that some items of a loop need."""
    callee, form = loop.params
    body = _body(callee, form)
    if body is None:
        return [*loop.inputs]
    kept, needed = callee.once(("kept", form, frozenset(asked)), lambda: _kept(body, form, {*asked}))
    (carries, streams, constants), (_, entries, _) = form.parts(loop.inputs), form.parts(body.inputs)
    read = [n for k, n in enumerate(carries) if k in kept] + [n for n, entry in zip(streams, entries) if entry in needed]
    return [*loop.inputs[: form.leading], *read, *constants]
