"""Rebuilds loops: a loop on other operands in place of another one, and what stands for that one's items.

A pass says which loops it changes, how an iteration is made of a part of the old one (ir/rewriter.py), and what the operands are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from ...ir.instruction import Instruction, Param, Primitive, item_types
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.control.callee import Callee
from ...ops.control.calls import GET, LOOP, LoopForm
from ..column_rewriter import ColumnRewriter
from ..rolling.vectorize import Batch, spread

Plan = TypeVar("Plan")

# From the number of an item of the old loop to a value of the new tape.
Items = Callable[[int], int]


def only_body(callee: Callee) -> Tape | None:
    """The tape of every iteration; None if it is not compiled, or there may be others."""
    return callee.only_tape() if callee.is_compiled else None


def with_loops(
    tape: Tape, plan_of: Callable[[Instruction, int], Plan | None], emit: Callable[[Rewriter, Instruction, Plan], Items],
    kind: Primitive = LOOP,
) -> Tape:  # fmt: skip
    """The tape with some of its loops replaced; itself if there are none. Cost: linear in the number of loops and of their items.

    Args:
        plan_of: the plan for a loop with its number; None for one that stays.
        emit: emits what replaces a loop, which is given with operands of the new tape.
        kind: CALL for calls instead of loops.
    """
    plans = {n: plan for n, loop in tape.numbered(kind) if (plan := plan_of(loop, n)) is not None}
    if not plans:
        return tape
    made, items = ColumnRewriter(tape), dict[int, Items]()
    changed = [(n, i) for n, i in tape.numbered(kind, GET) if (n if i.op is kind else i.inputs[0]) in plans]
    for number, instruction in made.changing(changed):
        made.site = instruction.site
        if instruction.op is kind:
            operands = tuple([made.number[i] for i in instruction.inputs])
            items[number] = emit(made, instruction._replace(inputs=operands), plans[number])
        else:
            made.number[number] = items[instruction.inputs[0]](instruction.params[0])
    return made.finish()


def loop_like(
    made: Rewriter, loop: Instruction, callee: Callee, carries: Sequence[int], streams: Sequence[int], constants: Sequence[int]
) -> int:
    """Emit a loop of the form of another one, of which all operands are values of the new tape."""
    form: LoopForm = loop.params[1]
    new = replace(form, carries=len(carries), streams=len(streams), constants=len(constants))
    return made.make(LOOP, (*loop.inputs[: form.leading], *carries, *streams, *constants), (callee, new))


def items_without(made: Rewriter, loop: int, dropped: Collection[int]) -> Items:
    """The items of a loop that returns those of the old one but some."""
    return lambda k: made.make(GET, (loop,), (k - sum(other < k for other in dropped),))


def emit_loop(made: Rewriter, callee: Param, form: LoopForm, operands: Sequence[int]) -> list[int]:
    """Emit a loop; return its items."""
    loop = made.make(LOOP, tuple(operands), (callee, form))
    return [made.make(GET, (loop,), (k,)) for k in range(len(item_types(made.instructions[loop])))]


def outside_of_loop(
    made: Rewriter, loop: Instruction, body: Tape, outside: Iterable[int], handed_on: Mapping[int, int] | None = None
) -> Callable[[int], int]:
    """Emit values of an iteration for all iterations at once, or once where they do not vary.

    Args:
        loop: with operands of the new tape.
        outside: the values, in order, of which each is computed from others of them and from streams and constants of the loop.
        handed_on: values of the iteration that are known for all iterations.

    Returns:
        From the number of such a value to that of the array of all iterations.
    """
    form: LoopForm = loop.params[1]
    length, site = form.length, made.site
    assert length is not None, "loops of unknown length have no arrays of all iterations"
    (_, streams, constants), (_, entries, same) = form.parts(loop.inputs), form.parts(body.inputs)
    values = dict(zip((*entries, *same), (*streams, *constants))) | dict(handed_on or {})
    varying = {*entries, *(handed_on or ())}
    for number in outside:
        if number in values:
            continue
        instruction = body.instructions[number]
        made.site = instruction.site
        operands = tuple([values[i] for i in instruction.inputs])
        varies = [i in varying for i in instruction.inputs]
        if any(varies):
            varying.add(number)
            values[number] = Batch(made, length, operands, varies).emit(instruction)
        else:
            values[number] = made.keep(instruction, operands)
    made.site = site
    return lambda number: values[number] if number in varying else spread(made, values[number], length)
