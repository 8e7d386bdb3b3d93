"""Decides in advance how the adjoint of each operation treats cotangents of discarded values, as of np.where or np.maximum.

The rules are those of transforms/reverse.py; transforms/cotangents.py explains the qualities of cotangents. Here a mask needs no operands
of its own: a cotangent of -0.0 marks a value that was not chosen, or that nothing has used. All cotangents begin as -0.0, and sums of -0.0
alone stay -0.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ....ir.instruction import INPUT, Instruction
from ....ir.tape import Tape
from ....ops.arrays.indexing import INDEX
from ....ops.arrays.regions import Region, cover
from ....ops.declaration.op import Elementwise, Op, Rule, declared_op
from ....ops.elementwise.comparison import SELECT
from ....passes.activity import active_values
from ....passes.columns import as_columns, first_two
from ....transforms.reverse import multiplies_by_finite
from .kink_squares import KinkSquare

# Modes: what an adjoint does in addition to the rule. GUARDED: add 0 instead of NaN where the cotangent is 0. CHOSEN: add -0.0 where the
# cotangent is -0.0, and only there. Or both.
PLAIN, GUARDED, CHOSEN = 0, 1, 2
MODES = 4

# Qualities.
ABSENT, MAYBE_DISCARDED, NONZERO = range(3)


class Chosen(NamedTuple):
    """A cotangent where a mask holds, or where it does not.

    Attributes:
        mask: its value number, or an unused number if several masks hold.
    """

    mask: int
    where: bool
    quality: int


def adjoint_modes(tape: Tape, sources: set[int], squares: Mapping[int, KinkSquare | None]) -> bytearray:
    """The mode of each instruction's adjoint."""
    if not any(isinstance(op, Op) and op.masks and op is not INDEX for op in tape.ops) and not _reads_parts(tape):
        return bytearray(len(tape.instructions))
    return _Modes(tape, sources, squares).found()


def _reads_parts(tape: Tape) -> bool:
    """True if entries are read from a value that is not an input. Inputs only need their own cotangents."""
    if INDEX not in tape.ops:
        return False
    columns = as_columns(tape.instructions)
    is_index, is_input = (np.array([i.op is op for i in columns.templates], bool)[columns.which] for op in (INDEX, INPUT))
    return not bool(is_input[first_two(columns)[0][is_index]].all())


# _SINGLY: visit one by one. Else bits: 1 and 2, the first and second operand get a cotangent; 4, there may be others. 0: none does.
_SINGLY = 8


def _way(template: Instruction) -> int:
    """Encode the way in which instructions with this template pass on a cotangent."""
    op = template.op
    if op is INPUT or not isinstance(op, Op):
        return 0
    if op.masks or callable(op.vjp):
        return _SINGLY
    return sum(1 << k for k, rule in enumerate(op.vjp[:2]) if rule is not None) | (4 if len(op.vjp) > 2 else 0)


def _rules(template: Instruction) -> Sequence[Rule]:
    vjp = declared_op(template).vjp
    return () if callable(vjp) else vjp


class _Modes:
    """Carries qualities from the output to the inputs.

    Attributes:
        quality: by value, the quality of the cotangents that no mask chose.
        chosen: by value, the cotangents that a mask chose.
        parts: by value, the regions that are read.
    """

    def __init__(self, tape: Tape, sources: set[int], squares: Mapping[int, KinkSquare | None]) -> None:
        self.tape, self.active, self.squares = tape, active_values(tape, sources), squares
        self.quality = bytearray(len(tape.instructions))
        self.quality[tape.outputs[0]] = NONZERO
        self.chosen: dict[int, list[Chosen]] = {}
        self.parts: dict[int, list[Region]] = {}
        self.modes = bytearray(len(tape.instructions))
        self.masks = len(tape.instructions)
        # By value, True if `chosen`, `parts` or `squares` has it.
        self.is_noted = bytearray(len(tape.instructions))
        for number in squares:
            self.is_noted[number] = 1

    def found(self) -> bytearray:
        # One more entry, for missing operands.
        active, quality, is_noted = [*self.active, False], self.quality, self.is_noted
        columns = as_columns(self.tape.instructions)
        templates, which = columns.templates, columns.which.tolist()
        first, second = (each.tolist() for each in first_two(columns))
        ways = [_way(template) for template in templates]
        for number in range(len(which) - 1, -1, -1):
            way = ways[which[number]]
            if not way or not active[number]:
                continue
            if way == _SINGLY or quality[number] != NONZERO or is_noted[number]:
                self._visit(number, self.tape.instructions[number])
                continue
            # Most values are used by operations that discard nothing: their operands are NONZERO.
            if way & 1 and active[first[number]]:
                quality[first[number]] = NONZERO
            if way & 2 and active[second[number]]:
                quality[second[number]] = NONZERO
            if way & 4:
                for i, rule in zip(templates[which[number]].inputs[2:], _rules(templates[which[number]])[2:]):
                    if rule is not None and active[i]:
                        quality[i] = NONZERO
        return self.modes

    def _visit(self, number: int, instruction: Instruction) -> None:
        op = instruction.op
        assert isinstance(op, Op)
        total = self._total(number, instruction)
        if op is SELECT:
            self._choose(number, instruction, total)
            return
        square = self.squares.get(number)
        if isinstance(total, Chosen) and isinstance(op, Elementwise) and square is None:
            self._pass_chosen(number, instruction, total)
            return
        quality = MAYBE_DISCARDED if isinstance(total, Chosen) else total
        if not quality:
            # The quality is ABSENT, as after both sides of one mask: pass -0.0 to the operands.
            self.modes[number] = CHOSEN
            return
        if quality == MAYBE_DISCARDED and self._multiplies(instruction):
            self.modes[number] = GUARDED
        passed = MAYBE_DISCARDED if op.masks and op is not INDEX else quality
        for i in self._operands(instruction) if square is None else square.differentiated:
            if op is not INDEX:
                self.quality[i] = max(self.quality[i], passed)
            elif self.tape.instructions[i].op is not INPUT:
                self.parts.setdefault(i, []).append(instruction.params[0])
                self.is_noted[i] = 1
                if passed == MAYBE_DISCARDED:
                    self.quality[i] = max(self.quality[i], passed)

    def _operands(self, instruction: Instruction) -> list[int]:
        active, op = self.active, instruction.op
        assert isinstance(op, Op)
        if callable(op.vjp):
            return [i for i in instruction.inputs if active[i]]
        return [i for i, rule in zip(instruction.inputs, op.vjp) if active[i] and rule is not None]

    def _multiplies(self, instruction: Instruction) -> bool:
        op = instruction.op
        return isinstance(op, Elementwise) and not op.linear and not multiplies_by_finite(self.tape, instruction)

    def _total(self, number: int, instruction: Instruction) -> int | Chosen:
        """The quality of the summed cotangents of a value."""
        quality, chosen, parts = self.quality[number], self.chosen.pop(number, []), self.parts.pop(number, None)
        if parts is not None:
            is_whole = quality != MAYBE_DISCARDED and not chosen and cover(parts, instruction.type.shape)
            quality = max(quality, NONZERO if is_whole else MAYBE_DISCARDED)
        if not chosen:
            return quality
        if quality or len({each.mask for each in chosen}) > 1:
            return quality or MAYBE_DISCARDED
        sides = [max(each.quality for each in chosen if each.where is where) for where in {each.where for each in chosen}]
        if len(sides) == 1:
            return chosen[0]._replace(quality=sides[0])
        return min(sides)

    def _choose(self, number: int, instruction: Instruction, before: int | Chosen) -> None:
        mask, *values = instruction.inputs
        self.modes[number] = PLAIN if not isinstance(before, Chosen) and before else CHOSEN
        for i, where in zip(values, (True, False)):
            if not self.active[i] or not before:
                continue
            if not isinstance(before, Chosen):
                self._add(i, Chosen(mask, where, before), instruction)
            elif before.mask != mask:
                self.masks += 1
                self._add(i, before._replace(mask=self.masks, where=True), instruction)
            elif before.where is where:
                self._add(i, before, instruction)

    def _add(self, operand: int, chosen: Chosen, instruction: Instruction) -> None:
        if self.tape.instructions[operand].type.shape == instruction.type.shape:
            self.chosen.setdefault(operand, []).append(chosen)
            self.is_noted[operand] = 1
        else:
            self.quality[operand] = max(self.quality[operand], MAYBE_DISCARDED)

    def _pass_chosen(self, number: int, instruction: Instruction, z_bar: Chosen) -> None:
        op = instruction.op
        assert isinstance(op, Op)
        is_guarded = z_bar.quality == MAYBE_DISCARDED and self._multiplies(instruction)
        self.modes[number] = CHOSEN | GUARDED if is_guarded else CHOSEN
        passed = z_bar._replace(quality=MAYBE_DISCARDED) if op.masks else z_bar
        for i in self._operands(instruction):
            self._add(i, passed, instruction)
