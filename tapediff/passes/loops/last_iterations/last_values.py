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

from ....ir.instruction import CONSTANT, INPUT, Instruction, Primitive, TupleType
from ....ir.rewriter import Rewriter
from ....ir.tape import Tape
from ....ops import Elementwise
from ....ops.arrays.shape import RESHAPE
from ....ops.control.callee import Callee
from ....ops.control.calls import GET, LOOP, LoopForm, loop_items
from ....ops.elementwise.arithmetic import CONVERT
from ....ops.elementwise.comparison import LOGICAL_AND, LOGICAL_NOT, SELECT
from ...activity import active_values
from ...simplify.dead_code import dead_code

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
    if LOOP not in tape.ops:
        return tape
    asked = {(i.inputs[0], i.params[0]) for i in tape.all_of(GET)}
    plans: dict[int, Plan] = {}
    for number, instruction in tape.numbered(LOOP):
        plan = _plan(*instruction.params)
        if plan is not None and any((number, k) in asked for k in plan.computed):
            plans[number] = plan
    if not plans:
        return tape
    rewriter, results = Rewriter(tape), dict[int, list[int]]()
    for number, instruction in enumerate(tape.instructions):
        if number in plans:
            results[number] = _emitted(rewriter, instruction, plans[number])
        elif instruction.op is GET and instruction.inputs[0] in plans:
            rewriter.number[number] = results[instruction.inputs[0]][instruction.params[0]]
        elif instruction.op is SELECT:
            condition, chosen, other = (rewriter.number[i] for i in instruction.inputs)
            rewriter.number[number] = rewriter.keep(instruction, (condition, _where(rewriter, condition, chosen), other))
        else:
            rewriter.number[number] = rewriter.copy(number)
    return dead_code(rewriter.finish())


# Choosing loops


def _plan(callee: Callee, form: LoopForm) -> Plan | None:
    if not form.stops or form.streams or form.variant_given or form.saves_carries or not callee.is_compiled:
        return None
    body = callee.only_tape()
    if body is None or len(body) > LARGEST_BODY or len(body.outputs) != form.carries + 1:
        return None
    return callee.once(("last values", form), lambda: _made(callee, body, form))


def _made(callee: Callee, body: Tape, form: LoopForm) -> Plan | None:
    carries = range(form.carries)
    read = {i for instruction in body.instructions for i in instruction.inputs} | set(body.outputs)
    computed = tuple(k for k in carries if body.input_types[k].is_float and body.inputs[k] not in read)
    if not computed:
        return None
    last = _gathered(replace(body, outputs=tuple(body.outputs[k] for k in computed)))
    if last is None:
        return None
    used = {i for instruction in last.instructions for i in instruction.inputs} | set(last.outputs)
    before = tuple(k for k in carries if last.inputs[k] in used)
    if _follow_floats(body, form, before):
        return None
    kept = tuple(k for k in carries if k not in computed)
    outputs = [body.outputs[k] for k in kept] + [body.inputs[k] for k in before] + [body.outputs[-1]]
    return Plan(callee.fixed(_handing_on(body, form, kept, before, outputs)), last, kept, before, computed)


def _gathered(body: Tape) -> Tape | None:
    """Return the instructions that the outputs need; None if they may fail, or not terminate, at values that no iteration has had."""
    needed = dead_code(body)
    return needed if all(_never_fails(i.op) for i in needed.instructions) else None


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


def _handing_on(body: Tape, form: LoopForm, kept: tuple[int, ...], before: tuple[int, ...], outputs: list[int]) -> Tape:
    """Return the body of the remaining loop."""
    made = Rewriter(body)
    for k in kept:
        made.number[body.inputs[k]] = _input(made, body.instructions[body.inputs[k]])
    for k in before:
        _input(made, body.instructions[body.inputs[k]])
    for number in body.inputs[form.carries :]:
        made.number[number] = _input(made, body.instructions[number])
    inputs = tuple(range(len(made.instructions)))
    for number, instruction in enumerate(body.instructions):
        if instruction.op is not INPUT:
            made.number[number] = made.copy(number)
    numbers = tuple(made.number[i] for i in outputs)
    active = tuple(k for k in inputs if made.instructions[k].type.is_float)
    return dead_code(Tape(tuple(made.instructions), inputs, numbers, body.name, active, True))


def _input(made: Rewriter, instruction: Instruction) -> int:
    return made.emit(INPUT, (), (len(made.instructions),), instruction.type, instruction.site)


# The new instructions


def _emitted(made: Rewriter, loop: Instruction, plan: Plan) -> list[int]:
    """The items of the whole loop."""
    form: LoopForm = loop.params[1]
    leading, operands = form.leading, [made.number[i] for i in loop.inputs]
    first, constants = operands[leading : leading + form.carries], operands[leading + form.carries :]
    shorter = replace(form, carries=len(plan.kept) + len(plan.before))
    carried = [first[k] for k in (*plan.kept, *plan.before)]
    types = loop_items(plan.callee, shorter)
    returned = made.emit(
        LOOP, (*operands[:leading], *carried, *constants), (plan.callee, shorter), TupleType(types), loop.site
    )
    items = [made.emit(GET, (returned,), (k,), type_, loop.site) for k, type_ in enumerate(types)]
    results = [*first, items[-1]]
    for place, k in enumerate(plan.kept):
        results[k] = items[place]
    arguments = [*first, *constants]
    for place, k in enumerate(plan.before):
        arguments[k] = items[len(plan.kept) + place]
    begins = _without_true(made, operands[leading - 1])
    for k, number in zip(plan.computed, made.splice(plan.last, arguments)):
        is_certain = _is_true(made, begins)
        results[k] = number if is_certain else made.emit(SELECT, (begins, number, first[k]), (), made.instructions[number].type, loop.site)
    return results


def _where(made: Rewriter, condition: int, value: int) -> int:
    """Return the value under a condition: the chosen side of a selection by the same condition."""
    op, inputs, _, type_, _ = made.instructions[value]
    is_same = op is SELECT and inputs[0] == condition and made.instructions[inputs[1]].type == type_
    return inputs[1] if is_same else value


def _without_true(made: Rewriter, test: int) -> int:
    """Return a conjunction without its parts that are always true."""
    while True:
        op, inputs, _, type_, _ = made.instructions[test]
        uncertain = [i for i in inputs if not _is_true(made, i)]
        is_same = op is LOGICAL_AND or (op is RESHAPE and made.instructions[inputs[0]].type == type_)
        if not is_same or len(uncertain) != 1:
            return test
        test = uncertain[0]


def _is_true(made: Rewriter, number: int) -> bool:
    op, inputs, params, *_ = made.instructions[number]
    if op is LOGICAL_NOT:
        op, _, params, *_ = made.instructions[inputs[0]]
        return op is CONSTANT and not params[0]
    return op is CONSTANT and bool(params[0])
