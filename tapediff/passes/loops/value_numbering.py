"""Finds values that two bodies both compute: by the same operations on the same operands."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

from ...ir.instruction import CONSTANT, INPUT, Instruction, Params
from ...ir.tape import Tape
from ...ops.control.calls import GET, LOOP, LoopForm, TupleOp

# By input of a body: the equal input or output of another body, and its position; None if there is none.
Sources = tuple[tuple[str, int] | None, ...]


@dataclass
class SameValues:
    """Maps a body's values to those of another body, its source.

    Attributes:
        numbers: for values of the body, the equal ones of the source.
        items: for items of loops in the body that the source's loop does not return: that loop's number, and the item's.
        loops: by number of such a loop of the source, the parameters of its counterpart in the body, which returns more.
    """

    numbers: dict[int, int] = field(default_factory=dict)
    items: dict[int, tuple[int, int]] = field(default_factory=dict)
    loops: dict[int, Params] = field(default_factory=dict)

    def __contains__(self, number: int) -> bool:
        return number in self.numbers or number in self.items

    def origin(self, number: int) -> int:
        """Return the source's value that a value comes from."""
        return self.numbers[number] if number in self.numbers else self.items[number][0]


def same_values(body: Tape, source: Tape, inputs: Sources) -> SameValues:
    """Return the values that two bodies have in common; `inputs` maps the inputs to the source's values."""
    known: dict[Hashable, int] = {}
    for number, instruction in enumerate(source.instructions):
        if instruction.op is not INPUT:
            known.setdefault(_key(instruction, instruction.inputs), number)
            if instruction.op is LOOP and not instruction.params[1].saves_carries:
                known.setdefault(_key_of_loop(instruction, instruction.inputs), number)
    same = SameValues()
    for position, given in enumerate(inputs):
        if given is not None:
            kind, place = given
            same.numbers[body.inputs[position]] = (source.inputs if kind == "input" else source.outputs)[place]
    for number, instruction in enumerate(body.instructions):
        if instruction.op is INPUT or any(i not in same.numbers for i in instruction.inputs):
            continue
        operands = tuple([same.numbers[i] for i in instruction.inputs])
        found = known.get(_key(instruction, operands))
        if found is None and instruction.op is LOOP:
            found = known.get(_key_of_loop(instruction, operands))
            if found is not None and same.loops.setdefault(found, instruction.params) != instruction.params:
                continue
        if found is not None:
            same.numbers[number] = found
        elif instruction.op is GET and operands[0] in same.loops:
            same.items[number] = (operands[0], instruction.params[0])
    return same


def _key(instruction: Instruction, operands: tuple[int, ...]) -> Hashable:
    op, _, params, type_, _ = instruction
    if op is CONSTANT:
        return op, params[0].tobytes(), type_
    if isinstance(op, TupleOp) and not params[0].is_pure:
        return object()
    return op, operands, params, type_


def _key_of_loop(instruction: Instruction, operands: tuple[int, ...]) -> Hashable:
    """Equal for loops of one callee, whatever extra results they return."""
    callee, form = instruction.params
    form: LoopForm = replace(form, saves_carries=False, single_variant=False)
    return LOOP, operands, callee.extends or callee, form
