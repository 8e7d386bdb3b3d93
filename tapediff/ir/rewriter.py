"""Rebuilds a tape instruction by instruction: the loop that all passes share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress

import numpy as np

from ..base.source_location import Site
from .instruction import CONSTANT, INPUT, AnyType, Instruction, Operand, Params, Primitive, ValueType, some_of
from .tape import Tape

# Calling the class costs three times as much, and every pass makes most instructions again.
_new_tuple = tuple.__new__

# If at most one in so many instructions is wanted, the others are not built.
SHARE_OF_FEW = 16


class Rewriter:
    """Appends instructions of a new tape; `number[i]` is the new number of the old tape's value i."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.instructions: list[Instruction] = []
        self.number: list[int] = [-1] * len(tape.instructions)

    def emit(
        self, op: Primitive, inputs: tuple[int, ...], params: Params, type_: AnyType, site: Site | None
    ) -> int:
        self.instructions.append(_new_tuple(Instruction, (op, inputs, params, type_, site)))
        return len(self.instructions) - 1

    def make(self, op: Primitive, inputs: tuple[int, ...], params: Params = ()) -> int:
        """Emit an operation on values of the new tape and infer its type; it has no user's line."""
        type_ = op.infer(*[self.instructions[i].type for i in inputs], **op.named(params))
        return self.emit(op, inputs, params, type_, None)

    def constant(self, value: Operand, type_: ValueType) -> int:
        array = np.array(value, dtype=type_.dtype, order="C")
        array.flags.writeable = False
        return self.emit(CONSTANT, (), (array,), ValueType(array.shape, type_.dtype), None)

    def copy(self, old: int) -> int:
        """Emit an old instruction on the new numbers of its operands."""
        instruction, number = self.tape.instructions[old], self.number
        return self.keep(instruction, tuple([number[i] for i in instruction[1]]))

    def copy_all(self, wanted: Sequence[bool]) -> None:
        """Emit the wanted old instructions, in order: `copy` in a third of the time."""
        number, made, instructions = self.number, self.instructions, self.tape.instructions
        count, numbers = len(made), list(compress(range(len(wanted)), wanted))
        are_few = SHARE_OF_FEW * len(numbers) <= len(wanted)
        for old, instruction in zip(numbers, some_of(instructions, numbers) if are_few else compress(instructions, wanted)):
            inputs = instruction[1]
            if len(inputs) == 2:
                i, j = inputs
                operands = (number[i], number[j])
            elif len(inputs) == 1:
                operands = (number[inputs[0]],)
            else:
                operands = tuple([number[i] for i in inputs])
            if operands != inputs:
                op, _, params, type_, site = instruction
                instruction = _new_tuple(Instruction, (op, operands, params, type_, site))
            made.append(instruction)
            number[old] = count
            count += 1

    def keep(self, instruction: Instruction, operands: tuple[int, ...]) -> int:
        """Emit an old instruction on operands of the new tape."""
        if operands != instruction[1]:
            op, _, params, type_, site = instruction
            instruction = _new_tuple(Instruction, (op, operands, params, type_, site))
        self.instructions.append(instruction)
        return len(self.instructions) - 1

    def splice(self, inner: Tape, arguments: Sequence[int]) -> list[int]:
        """Append another tape's instructions, applied to existing values; return the numbers of its outputs."""
        number: list[int] = []
        for op, inputs, params, type_, site in inner.instructions:
            if op is INPUT:
                number.append(arguments[params[0]])
            else:
                number.append(self.emit(op, tuple([number[i] for i in inputs]), params, type_, site))
        return [number[i] for i in inner.outputs]

    def finish(self) -> Tape:
        return replace(
            self.tape,
            instructions=tuple(self.instructions),
            inputs=tuple(self.number[i] for i in self.tape.inputs),
            outputs=tuple(self.number[i] for i in self.tape.outputs),
        )
