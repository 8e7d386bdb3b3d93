"""Passes loops the numbers that they read of an array, in place of the array.

The reverse loop accumulates the cotangent of an array in memory, one of scalars in registers. Parameters of a model are such arrays: a body
reads p[0] and p[1]. The pass runs on a whole program with its nested loops, not on one body: a loop and its reverse loop have to know each
other's values.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.instruction import Instruction, ValueType
from ...ir.rewriter import BodyBuilder, Rewriter
from ...ir.tape import Tape
from ...ops.arrays.indexing import INDEX, Region
from ...ops.control.callee import Callee
from ...ops.control.calls import CALL, RECALL, LoopForm
from .loop_builder import Items, items_without, loop_like, only_body, with_loops

# Each is a register of the loop, and one of the reverse loop.
MOST_NUMBERS = 8


def split_constants(tape: Tape) -> Tape:
    """The tape with such loops; the tape itself where there are none."""
    return with_loops(tape, lambda loop, _: _split(*loop.params), _emitted)


# By constant: the numbers read of it; None for one that stays as it is.
Reads = list[list[Region] | None]


def _split(callee: Callee, form: LoopForm) -> tuple[Callee, Reads] | None:
    if form.variant_given or form.saves_carries:
        return None
    types = callee.in_types[form.carries + form.streams :]
    if not any(t.is_float and len(t.shape) == 1 for t in types):
        return None
    return callee.once(("split", form.carries, form.streams), lambda: _made(callee, form))


def _made(callee: Callee, form: LoopForm) -> tuple[Callee, Reads] | None:
    body = only_body(callee)
    if body is None or any(i.op in (CALL, RECALL) for i in body.instructions):
        return None
    body = split_constants(body)
    _, _, constants = form.parts(body.inputs)
    found = _numbers_read(body, {n for n in constants if len(body.instructions[n].type.shape) == 1})
    reads = [found.get(n) for n in constants]
    return (callee.fixed(_reading(body, constants, reads)), reads) if any(reads) else None


def _numbers_read(body: Tape, arrays: set[int]) -> dict[int, list[Region]]:
    """Return the numbers read of each array that is read in no other way."""
    found: dict[int, list[Region]] = {n: [] for n in arrays}
    others = arrays.intersection(body.outputs)
    for op, inputs, params, type_, _ in body.instructions:
        read = arrays.intersection(inputs)
        if op is INDEX and read and isinstance(type_, ValueType) and type_.shape == () and type_.is_float:
            if params[0] not in found[inputs[0]]:
                found[inputs[0]].append(params[0])
        else:
            others |= read
    return {n: regions for n, regions in found.items() if n not in others and 0 < len(regions) <= MOST_NUMBERS}


def _reading(body: Tape, constants: Sequence[int], reads: Reads) -> Tape:
    """The body with the numbers as inputs."""
    made = BodyBuilder(body)
    made.take(body.inputs[: len(body.inputs) - len(constants)])
    numbers: dict[tuple[int, Region], int] = {}
    for old, regions in zip(constants, reads):
        if regions is None:
            made.take([old])
        else:
            numbers |= {(old, region): made.add_input(ValueType((), body.instructions[old].type.dtype)) for region in regions}
    for number, (op, operands, params, _, _) in enumerate(body.instructions):
        if op is INDEX and (operands[0], params[0]) in numbers:
            made.number[number] = numbers[operands[0], params[0]]
    return made.body_of(body.outputs)


def _emitted(made: Rewriter, loop: Instruction, plan: tuple[Callee, Reads]) -> Items:
    callee, reads = plan
    carries, streams, constants = loop.params[1].parts(loop.inputs)
    numbers: list[int] = []
    for operand, regions in zip(constants, reads):
        numbers += [operand] if regions is None else [made.make(INDEX, (operand,), (region,)) for region in regions]
    return items_without(made, loop_like(made, loop, callee, carries, streams, numbers), ())
