"""Rebuilds a tape instruction by instruction: the loop that all passes share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
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
    """Appends instructions of a new tape; `number[i]` is the new number of the old tape's value i.

    Attributes:
        site: the user's line of the instructions that `make` emits.
    """

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.site: Site | None = None
        self._constants: dict[Hashable, int] = {}
        self.instructions: list[Instruction] = []
        self.number: list[int] = [-1] * len(tape.instructions)

    def emit(
        self, op: Primitive, inputs: tuple[int, ...], params: Params, type_: AnyType, site: Site | None
    ) -> int:
        self.instructions.append(_new_tuple(Instruction, (op, inputs, params, type_, site)))
        return len(self.instructions) - 1

    def make(self, op: Primitive, inputs: tuple[int, ...], params: Params = ()) -> int:
        """Emit an operation on values of the new tape and infer its type."""
        type_ = op.infer(*[self.instructions[i].type for i in inputs], **op.named(params))
        return self.emit(op, inputs, params, type_, self.site)

    def constant(self, value: Operand, type_: ValueType) -> int:
        """Emit a constant, unless an equal one exists."""
        array = np.array(value, dtype=type_.dtype, order="C")
        array.flags.writeable = False
        key = array.shape, array.dtype.char, array.tobytes()
        known = self._constants.get(key)
        if known is None:
            known = self._constants[key] = self.emit(CONSTANT, (), (array,), ValueType(array.shape, type_.dtype), None)
        return known

    def copy(self, old: int) -> int:
        """Emit an old instruction on the new numbers of its operands."""
        instruction, number = self.tape.instructions[old], self.number
        made = number[old] = self.keep(instruction, tuple([number[i] for i in instruction[1]]))
        return made

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


def rewritten(tape: Tape, emit: Callable[[Rewriter, Instruction, int], int | None], *ops: Primitive) -> Tape:
    """The tape with other instructions in place of some of the given ops.

    Args:
        emit: emits what replaces an old instruction, given with its number; None to copy it.
    """
    made = Rewriter(tape)
    for number, instruction in enumerate(tape.instructions):
        new = None
        if instruction.op in ops:
            made.site = instruction.site
            new = emit(made, instruction, number)
        if new is None:
            made.copy(number)
        else:
            made.number[number] = new
    return made.finish()


class BodyBuilder(Rewriter):
    """Builds the tape of an iteration, or of a call, from a part of a tape: its inputs first, in order.

    Attributes:
        inputs: the new numbers of the inputs.
    """

    def __init__(self, tape: Tape) -> None:
        super().__init__(tape)
        self.inputs: list[int] = []

    def add_input(self, type_: AnyType, site: Site | None = None) -> int:
        self.inputs.append(self.emit(INPUT, (), (len(self.inputs),), type_, site))
        return self.inputs[-1]

    def take(self, values: Iterable[int]) -> None:
        """Make old values the next inputs."""
        for old in values:
            _, _, _, type_, site = self.tape.instructions[old]
            self.number[old] = self.add_input(type_, site)

    def copy_needed(self, values: Iterable[int]) -> None:
        """Emit the old instructions that some values are computed by, from those that are there already."""
        needed = [False] * len(self.number)
        for old in values:
            needed[old] = True
        for old in range(len(needed) - 1, -1, -1):
            if needed[old] and self.number[old] < 0:
                for i in self.tape.instructions[old].inputs:
                    needed[i] = True
            else:
                needed[old] = False
        self.copy_all(needed)

    def body(self, outputs: Iterable[int]) -> Tape:
        """The tape from the inputs to some of its own values."""
        active = tuple(k for k, i in enumerate(self.inputs) if self.instructions[i].type.is_float)
        return Tape(tuple(self.instructions), tuple(self.inputs), tuple(outputs), self.tape.name, active, True)

    def body_of(self, outputs: Sequence[int]) -> Tape:
        """The tape from the inputs to old values, with all that these need."""
        self.copy_needed(outputs)
        return self.body(self.number[old] for old in outputs)


def part_of_tape(tape: Tape, inputs: Iterable[int], outputs: Sequence[int]) -> Tape:
    """The tape that computes some values of another one from others. Cost: linear in its length."""
    made = BodyBuilder(tape)
    made.take(inputs)
    return made.body_of(outputs)
