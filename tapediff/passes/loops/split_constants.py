"""Passes loops the numbers that they read of an array, in place of the array.

The reverse loop accumulates the cotangent of an array in memory, one of scalars in registers. Parameters of a model are such arrays: a body
reads p[0] and p[1]. The pass runs on a whole program with its nested loops, not on one body: a loop and its reverse loop have to know each
other's values.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.instruction import INPUT, Instruction, TupleType, ValueType
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.arrays.indexing import INDEX, Region
from ...ops.control.callee import Callee
from ...ops.control.calls import CALL, LOOP, RECALL, LoopForm, loop_items

# Each is a register of the loop, and one of the reverse loop.
MOST_NUMBERS = 8


def split_constants(tape: Tape) -> Tape:
    """The tape with such loops; the tape itself where there are none."""
    wanted = {n: made for n, i in tape.numbered(LOOP) if (made := _split(*i.params)) is not None}
    if not wanted:
        return tape
    rewriter = Rewriter(tape)
    for number, instruction in enumerate(tape.instructions):
        rewriter.number[number] = _loop(rewriter, instruction, *wanted[number]) if number in wanted else rewriter.copy(number)
    return rewriter.finish()


# By constant: the numbers read of it; None for one that stays as it is.
Reads = list[list[Region] | None]


def _split(callee: Callee, form: LoopForm) -> tuple[Callee, Reads] | None:
    if form.variant_given or form.saves_carries or not callee.is_compiled:
        return None
    types = callee.in_types[form.carries + form.streams :]
    if not any(t.is_float and len(t.shape) == 1 for t in types):
        return None
    return callee.once(("split", form.carries, form.streams), lambda: _made(callee, form))


def _made(callee: Callee, form: LoopForm) -> tuple[Callee, Reads] | None:
    body: Tape | None = callee.only_tape()
    if body is None or any(i.op in (CALL, RECALL) for i in body.instructions):
        return None
    body = split_constants(body)
    constants = body.inputs[form.carries + form.streams :]
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


def _reading(body: Tape, constants: tuple[int, ...], reads: Reads) -> Tape:
    """The body with the numbers as inputs."""
    rewriter, inputs = Rewriter(body), list[int]()
    numbers: dict[tuple[int, Region], int] = {}

    def add(type_: ValueType) -> int:
        inputs.append(rewriter.emit(INPUT, (), (len(inputs),), type_, None))
        return inputs[-1]

    for old in body.inputs[: len(body.inputs) - len(constants)]:
        rewriter.number[old] = add(body.instructions[old].type)
    for old, regions in zip(constants, reads):
        type_ = body.instructions[old].type
        if regions is None:
            rewriter.number[old] = add(type_)
        else:
            numbers.update({(old, region): add(ValueType((), type_.dtype)) for region in regions})
    for number, (op, operands, params, _, _) in enumerate(body.instructions):
        if op is INDEX and (operands[0], params[0]) in numbers:
            rewriter.number[number] = numbers[operands[0], params[0]]
        elif op is not INPUT:
            rewriter.number[number] = rewriter.copy(number)
    outputs = tuple(rewriter.number[v] for v in body.outputs)
    active = tuple(k for k, n in enumerate(inputs) if rewriter.instructions[n].type.is_float)
    return Tape(tuple(rewriter.instructions), tuple(inputs), outputs, body.name, active, True)


def _loop(rewriter: Rewriter, loop: Instruction, callee: Callee, reads: Reads) -> int:
    form: LoopForm = loop.params[1]
    operands = [rewriter.number[i] for i in loop.inputs]
    first = len(operands) - len(reads)
    constants: list[int] = []
    for operand, regions in zip(operands[first:], reads):
        if regions is None:
            constants.append(operand)
            continue
        type_ = ValueType((), rewriter.instructions[operand].type.dtype)
        constants += [rewriter.emit(INDEX, (operand,), (region,), type_, loop.site) for region in regions]
    form = replace(form, constants=len(constants))
    return rewriter.emit(LOOP, (*operands[:first], *constants), (callee, form), TupleType(loop_items(callee, form)), loop.site)
