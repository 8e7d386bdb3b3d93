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
    NUMBER,
    OWN,
    AnyType,
    ColumnInstructions,
    Columns,
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
        self.columns = columns_of(tape.instructions)
        # By new number, the old number of what was copied, or -1 minus the place of another one among those.
        self._copied_from: list[int] = []
        self._others: list[Instruction] = []
        if self.columns is not None:
            # It has what of a list is used.
            self.instructions = cast("list[Instruction]", _Appended(tape, self.columns, self._copied_from, self._others))

    def copy(self, old: int) -> int:
        if self.columns is None:
            return super().copy(old)
        made = self.number[old] = len(self._copied_from)
        self._copied_from.append(old)
        return made

    def copy_stretch(self, start: int, stop: int) -> None:
        """Emit some old instructions one behind the other."""
        begin = len(self._copied_from)
        self._copied_from += range(start, stop)
        self.number[start:stop] = range(begin, begin + stop - start)

    def copy_those(self, old: Sequence[int]) -> None:
        """The same for old instructions that stand apart."""
        numbers = self.number
        for made, number in enumerate(old, len(self._copied_from)):
            numbers[number] = made
        self._copied_from += old

    def final_numbers(self) -> np.ndarray:
        """By old value, the number of the new one."""
        return np.array(self.number, np.int64)

    def finish(self) -> Tape:
        old, tape, number = self.tape.instructions, self.tape, self.number
        if not isinstance(old, ColumnInstructions):
            return super().finish()
        return replace(
            tape, instructions=old.like(self._finished(old.columns)), inputs=tuple([number[i] for i in tape.inputs]),
            outputs=tuple([number[i] for i in tape.outputs]),
        )  # fmt: skip

    def _finished(self, columns: Columns) -> Columns:
        templates, takes, which, first, second = columns
        origins = np.array(self._copied_from, np.int64)
        is_copied, others = origins >= 0, np.full(len(self._others), OWN, np.int8)
        source = np.where(is_copied, origins, 0)
        made = Columns(
            [*templates, *self._others], np.concatenate([takes, others]),
            np.where(is_copied, which[source], len(templates) - 1 - origins).astype(np.int32),
            np.where(is_copied, first[source], -1).astype(np.int32), np.where(is_copied, second[source], -1),
        )  # fmt: skip
        made = with_used_templates(made)
        renumber(made, is_copied, self.final_numbers())
        return made


class _Appended:
    """The instructions of a new tape, by number. Of what was copied there is what its template says, and no operands."""

    def __init__(self, tape: Tape, columns: Columns, origins: list[int], others: list[Instruction]) -> None:
        self.tape, self.templates, self.takes, self.which = tape, columns.templates, columns.takes, columns.which
        self.origins, self.others = origins, others

    def append(self, instruction: Instruction) -> None:
        self.others.append(instruction)
        self.origins.append(-len(self.others))

    def __len__(self) -> int:
        return len(self.origins)

    def __getitem__(self, number: int) -> Instruction:
        origin = self.origins[number]
        if origin < 0:
            return self.others[-1 - origin]
        template = self.which[origin]
        return some_of(self.tape.instructions, [origin])[0] if self.takes[template] == NUMBER else self.templates[template]
