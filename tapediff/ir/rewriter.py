"""Rebuilds a tape instruction by instruction: the loop that all passes share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import cast

import numpy as np

from ..base.source_location import Site
from .columns import renumber, with_used_templates
from .instruction import (
    CONSTANT,
    INPUT,
    AnyType,
    ColumnInstructions,
    GrowingInstructions,
    Instruction,
    Operand,
    Params,
    Primitive,
    ValueType,
    columns_of,
    some_of,
)
from .tape import Tape

# Calling the class costs three times as much, and every pass makes most instructions again.
_new_tuple = tuple.__new__

# Where one of so many instructions is wanted, no others are made.
SHARE_OF_FEW = 16


class Rewriter:
    """Appends instructions of a new tape; `number[i]` is where value i of the old tape is found in the new one."""

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
        """Emit an operation on values of the new tape, and work out its type; it belongs to no line of the user's."""
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
        """Emit the old instructions that are wanted, in order: `copy` in a third of the time."""
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
        """Append another tape's instructions on values that are there; gives the numbers of its outputs."""
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


class ColumnRewriter(Rewriter):
    """The same, for a tape that is kept as arrays, as the new one will be then. What is only copied is made in no other form.

    Attributes:
        columns: of the old tape; None where it is not kept so, and all is as in a Rewriter.
    """

    def __init__(self, tape: Tape) -> None:
        super().__init__(tape)
        old = tape.instructions
        self.columns = columns_of(old)
        if isinstance(old, ColumnInstructions):
            self._growing = old.growing()
            # It has what of a list is used.
            self.instructions = cast("list[Instruction]", _Appended(self._growing))
        # By new numbers, stretches that were copied: until the end they have the old numbers of their operands.
        self._copied: list[tuple[int, int]] = []

    def copy(self, old: int) -> int:
        columns = self.columns
        if columns is None:
            return super().copy(old)
        made = len(self._growing)
        self._growing.append_like(int(columns.which[old]), int(columns.first[old]), int(columns.second[old]))
        self._copied.append((made, made + 1))
        self.number[old] = made
        return made

    def copy_stretch(self, start: int, stop: int) -> int:
        """Emit some old instructions one behind the other; gives the number of the first."""
        columns = self.columns
        assert columns is not None
        begin = self._extend(columns.which[start:stop], columns.first[start:stop], columns.second[start:stop])
        self.number[start:stop] = range(begin, begin + stop - start)
        return begin

    def copy_those(self, old: np.ndarray) -> None:
        """The same for old instructions that stand apart."""
        columns, numbers = self.columns, self.number
        assert columns is not None
        begin = self._extend(columns.which[old], columns.first[old], columns.second[old])
        for made, number in enumerate(old.tolist(), begin):
            numbers[number] = made

    def _extend(self, which: np.ndarray, first: np.ndarray, second: np.ndarray) -> int:
        begin = len(self._growing)
        self._growing.extend(which, first, second)
        self._copied.append((begin, begin + which.size))
        return begin

    def final_numbers(self) -> np.ndarray:
        """By old value, the number of the new one."""
        return np.array(self.number, np.int64)

    def finish(self) -> Tape:
        old, tape, number = self.tape.instructions, self.tape, self.number
        if not isinstance(old, ColumnInstructions):
            return super().finish()
        columns = self._growing.columns
        is_copied = np.zeros(columns.which.size + 1, np.int64)
        for begin, end in self._copied:
            is_copied[begin] += 1
            is_copied[end] -= 1
        columns = with_used_templates(columns)
        renumber(columns, np.cumsum(is_copied)[:-1] > 0, self.final_numbers())
        return replace(
            tape, instructions=old.like(columns), inputs=tuple([number[i] for i in tape.inputs]),
            outputs=tuple([number[i] for i in tape.outputs]),
        )  # fmt: skip


class _Appended:
    """The instructions of a new tape, by number. Of what was copied there is what its template says, and no operands."""

    def __init__(self, growing: GrowingInstructions) -> None:
        self.growing, self.append = growing, growing.append

    def __len__(self) -> int:
        return len(self.growing)

    def __getitem__(self, number: int) -> Instruction:
        return self.growing.template_of(number)
