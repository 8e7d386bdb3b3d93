"""Computes values that only the last iteration of a while loop determines after the loop.

A line search carries the points that it tries, but reads none of them: `u = x - size * slope` depends on the last size alone. The loop then
carries the size of the iteration before, and the points are computed from it:

    while goes:                          while goes:
        size, u = f(size)       →            size, before = g(size), size
                                         u = h(before)

If nothing else in the loop depends on floats that have cotangents, the loop needs no reverse pass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ....ir.instruction import CONSTANT, INPUT, Instruction, Primitive, item_types
from ....ir.rewriter import BodyBuilder, Rewriter
from ....ir.tape import Tape
from ....ops import Elementwise
from ....ops.control.callee import Callee
from ....ops.control.calls import GET, LOOP, LoopForm
from ....ops.elementwise.arithmetic import CONVERT
from ....ops.elementwise.comparison import SELECT
from ...activity import active_values
from ...simplify.dead_code import dead_code
from ..loop_builder import Items, loop_like, only_body, with_loops

# Larger bodies are left as they are.
LARGEST_BODY = 1000


@dataclass(frozen=True)
class Plan:
    """How a loop carries fewer values.

    Attributes:
        callee: of an iteration; its carries are those in `kept`, then the previous values of those in `before`.
        last: computes the carries in `computed` from those in `before` and the constants.
    """

    callee: Callee
    last: Tape
    kept: tuple[int, ...]
    before: tuple[int, ...]
    computed: tuple[int, ...]


def last_values(tape: Tape) -> Tape:
    """The tape with such loops of one variant; itself if there are none."""
    asked = {(i.inputs[0], i.params[0]) for i in tape.all_of(GET)} if LOOP in tape.ops else set[tuple[int, int]]()

    def plan_of(loop: Instruction, number: int) -> Plan | None:
        plan = _plan(*loop.params)
        return plan if plan is not None and any((number, k) in asked for k in plan.computed) else None

    made = with_loops(tape, plan_of, _emitted)
    return tape if made is tape else dead_code(made)


# Choosing loops


def _plan(callee: Callee, form: LoopForm) -> Plan | None:
    if not form.stops or form.streams or form.variant_given or form.saves_carries:
        return None
    body = only_body(callee)
    if body is None or len(body) > LARGEST_BODY or len(body.outputs) != form.carries + 1:
        return None
    return callee.once(("last values", form), lambda: _made(callee, body, form))


def _made(callee: Callee, body: Tape, form: LoopForm) -> Plan | None:
    carries, _, constants = form.parts(body.inputs)
    read = {i for instruction in body.instructions for i in instruction.inputs} | set(body.outputs)
    computed = tuple(k for k, n in enumerate(carries) if body.instructions[n].type.is_float and n not in read)
    if not computed:
        return None
    last = dead_code(replace(body, outputs=tuple(body.outputs[k] for k in computed)))
    if not all(_never_fails(i.op) for i in last.instructions):
        return None
    used = {i for instruction in last.instructions for i in instruction.inputs} | set(last.outputs)
    before = tuple(k for k in range(form.carries) if last.inputs[k] in used)
    if _follow_floats(body, form, before):
        return None
    kept = tuple(k for k in range(form.carries) if k not in computed)
    made = BodyBuilder(body)
    made.take(carries[k] for k in kept)
    for k in before:
        made.add_input(body.instructions[carries[k]].type)
    made.take(constants)
    shorter = made.body_of([*(body.outputs[k] for k in kept), *(carries[k] for k in before), body.outputs[-1]])
    return Plan(callee.fixed(shorter), last, kept, before, computed)


def _never_fails(op: Primitive) -> bool:
    if isinstance(op, Elementwise):
        return not op.raises and not op.fails_on_integers
    return op in (INPUT, CONSTANT, CONVERT) or op.is_view


def _follow_floats(body: Tape, form: LoopForm, carries: tuple[int, ...]) -> bool:
    """True if one of these carries depends differentiably on constants of the loop, so that it needs a reverse pass anyway."""
    varied: set[int] = set()
    constants = {i for i in body.inputs[form.carries :] if body.instructions[i].type.is_float}
    while True:
        active = active_values(body, constants | {body.inputs[k] for k in varied})
        more = {k for k in range(form.carries) if active[body.outputs[k]]} - varied
        if not more:
            return bool(varied & set(carries))
        varied |= more


# The new instructions


def _emitted(made: Rewriter, loop: Instruction, plan: Plan) -> Items:
    first, _, constants = loop.params[1].parts(loop.inputs)
    shorter = loop_like(made, loop, plan.callee, [first[k] for k in (*plan.kept, *plan.before)], (), constants)
    items = [made.make(GET, (shorter,), (k,)) for k in range(len(item_types(made.instructions[shorter])))]
    results = [*first, items[-1]]
    arguments = [*first, *constants]
    for k, item in zip(plan.kept, items):
        results[k] = item
    for k, item in zip(plan.before, items[len(plan.kept) :]):
        arguments[k] = item
    for k, number in zip(plan.computed, made.splice(plan.last, arguments)):
        # Without an iteration, the first values stay.
        results[k] = made.make(SELECT, (loop.inputs[0], number, first[k]))
    return results.__getitem__
