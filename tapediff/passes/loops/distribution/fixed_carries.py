"""Makes constants of carries that no iteration changes: the cotangent of an array that a loop adds to."""

from __future__ import annotations

from ....ir.instruction import Instruction
from ....ir.rewriter import Rewriter, part_of_tape
from ....ir.tape import Tape
from ....ops.control.callee import Callee
from ....ops.control.calls import LoopForm
from ..loop_builder import Items, items_without, loop_like, only_body, with_loops

# The carries that are constants, and the callee that takes them as such.
Plan = tuple[tuple[int, ...], Callee]


def fixed_carries(tape: Tape) -> Tape:
    """The tape with such loops; the tape itself where there are none. Cost: linear in the number of instructions."""
    return with_loops(tape, lambda loop, _: _plan(*loop.params), _emitted)


def _plan(callee: Callee, form: LoopForm) -> Plan | None:
    if form.variant_given or form.saves_carries or not form.carries:
        return None
    return callee.once(("fixed carries", form.carries), lambda: _made(callee, form.carries))


def _made(callee: Callee, carries: int) -> Plan | None:
    body = only_body(callee)
    fixed = () if body is None else tuple(k for k in range(carries) if body.inputs[k] == body.outputs[k])
    if body is None or not fixed:
        return None
    order = [*(n for k, n in enumerate(body.inputs) if k not in fixed), *(body.inputs[k] for k in fixed)]
    return fixed, callee.fixed(part_of_tape(body, order, [n for k, n in enumerate(body.outputs) if k not in fixed]))


def _emitted(made: Rewriter, loop: Instruction, plan: Plan) -> Items:
    fixed, callee = plan
    carries, streams, constants = loop.params[1].parts(loop.inputs)
    others = [n for k, n in enumerate(carries) if k not in fixed]
    items = items_without(made, loop_like(made, loop, callee, others, streams, [*constants, *(carries[k] for k in fixed)]), fixed)
    return lambda k: carries[k] if k in fixed else items(k)
