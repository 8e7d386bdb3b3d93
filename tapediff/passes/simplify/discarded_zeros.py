"""Selections that keep discarded cotangents exact zeros as a rarely taken jump, so that no step waits for them.

The reverse pass writes select(z_bar == 0 and isnan(z_bar * f), 0, z_bar * f). If z_bar is 0, its product with factors is NaN if and only if
one of these is not finite. Factors are usually values of the forward pass, known long before the cotangent, which a loop carries from
iteration to iteration: an integrator with adaptive steps takes half of the time. Kernels only: derivatives are taken of the selections.

One mark serves many selections: 0 times all their factors, which is NaN if one is not finite. A factor used to compute another one, and
finite whenever that is, can be left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from ...ir.instruction import CONSTANT, FLOAT64, FLOAT_SCALAR, Instruction
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops import Elementwise
from ...ops.elementwise.arithmetic import MULTIPLY, NEGATIVE, SIGN, SPREADING
from ...ops.elementwise.comparison import (
    EQUAL,
    IS_NAN,
    LOGICAL_AND,
    NAN_TO_ZERO_WHERE_DISCARDED,
    SELECT,
    ZERO_WHERE_DISCARDED,
)

# With more factors, finding the cotangent among them takes long.
MOST_FACTORS = 8

# Selections that share a mark: its factors stay in registers or on the stack up to this number.
MOST_SHARING = 48

# Limit on the values whose finiteness is implied by others.
MOST_IMPLIED = 1000


def discarded_zeros(tape: Tape) -> Tape:
    """Rewrite scalar selections; those of arrays delay nothing, and become one instruction, to compile in a third of the time."""
    factors: dict[int, tuple[int, ...]] = {}
    for number, instruction in enumerate(tape.instructions):
        if instruction.op is SELECT and instruction.type.dtype == FLOAT64:
            z_bar = kept_cotangent(tape.instructions, instruction)
            found = () if z_bar is None else _factors(tape.instructions, instruction.inputs[2], z_bar, MOST_FACTORS)
            if z_bar is not None and (found or instruction.type.shape):
                factors[number] = found or ()
    return _Jumping(tape, factors).rewritten() if factors else tape


def kept_cotangent(instructions: Sequence[Instruction], selection: Instruction) -> int | None:
    """Return z_bar in `select(z_bar == 0 and isnan(product), 0, product)`; None for other selections."""
    test, zero, product = selection.inputs
    if instructions[test].op is not LOGICAL_AND or not _is_zero(instructions[zero]):
        return None
    is_zero, is_nan = (instructions[i] for i in instructions[test].inputs)
    if is_zero.op is not EQUAL or is_nan.op is not IS_NAN or is_nan.inputs[0] != product:
        return None
    return is_zero.inputs[0] if _is_zero(instructions[is_zero.inputs[1]]) else None


def _is_zero(instruction: Instruction) -> bool:
    return instruction.op is CONSTANT and instruction.type == FLOAT_SCALAR and instruction.params[0] == 0.0


def _factors(instructions: Sequence[Instruction], product: int, z_bar: int, most: int) -> tuple[int, ...] | None:
    """The other factors of a product of z_bar, at most so many."""
    while instructions[product].op is NEGATIVE and product != z_bar:
        (product,) = instructions[product].inputs
    if product == z_bar:
        return ()
    if instructions[product].op is not MULTIPLY or not most:
        return None
    left, right = instructions[product].inputs
    for lead, factor in ((left, right), (right, left)):
        found = _factors(instructions, lead, z_bar, most - 1)
        if found is not None:
            return (*found, factor)
    return None


class _Jumping:
    """A tape whose selections become jumps; `factors` maps scalar selections to their factors."""

    def __init__(self, tape: Tape, factors: dict[int, tuple[int, ...]]) -> None:
        self.tape, self.factors = tape, factors
        self.rewriter = Rewriter(tape)
        self.marks: dict[int, int] = {}

    def rewritten(self) -> Tape:
        chosen = [number for number in self.factors if self.tape.instructions[number].type == FLOAT_SCALAR]
        groups = {chosen[k]: chosen[k : k + MOST_SHARING] for k in range(0, len(chosen), MOST_SHARING)}
        rewriter = self.rewriter
        for number in range(len(self.tape.instructions)):
            if number in groups:
                self._share_mark(groups[number])
            if number in self.factors:
                rewriter.number[number] = self._jump(number)
            elif rewriter.number[number] < 0:
                rewriter.number[number] = rewriter.copy(number)
        return rewriter.finish()

    def _share_mark(self, group: Sequence[int]) -> None:
        """Make a mark of all the factors that do not depend on these selections."""
        first, late = group[0], set(group)
        instructions = self.tape.instructions
        for number in range(first, group[-1]):
            op, inputs = instructions[number][:2]
            if number not in late and not (op is CONSTANT or (isinstance(op, Elementwise) and late.isdisjoint(inputs))):
                late.add(number)
        sharing = [n for n in group if late.isdisjoint(self.factors[n])]
        tested = _least(instructions, {f for n in sharing for f in self.factors[n]})
        for number in _needed_from(instructions, first, tested):
            self.rewriter.number[number] = self.rewriter.copy(number)
        if sharing:
            self.marks.update(dict.fromkeys(sharing, self._mark(tested)))

    def _mark(self, factors: Sequence[int]) -> int:
        mark = self.rewriter.constant(0.0, FLOAT_SCALAR)
        for factor in factors:
            mark = self.rewriter.emit(MULTIPLY, (mark, self.rewriter.number[factor]), (), FLOAT_SCALAR, None)
        return mark

    def _jump(self, selection: int) -> int:
        (test, _, product), type_, site = self.tape.instructions[selection].inputs, *self.tape.instructions[selection][3:]
        z_bar = self.tape.instructions[self.tape.instructions[test].inputs[0]].inputs[0]
        if type_ != FLOAT_SCALAR:
            operands = (self.rewriter.number[product], self.rewriter.number[z_bar])
            return self.rewriter.emit(NAN_TO_ZERO_WHERE_DISCARDED, operands, (), type_, site)
        mark = self.marks.get(selection)
        if mark is None:
            mark = self._mark(self.factors[selection])
        operands = (self.rewriter.number[product], self.rewriter.number[z_bar], mark)
        return self.rewriter.emit(ZERO_WHERE_DISCARDED, operands, (), FLOAT_SCALAR, site)


def _least(instructions: Sequence[Instruction], factors: set[int]) -> list[int]:
    """Values that are finite only if all the factors are, in order."""
    # A sign is not NaN if its operand is finite.
    wanted = {instructions[f].inputs[0] if instructions[f].op is SIGN else f for f in factors}
    # Visit users before their operands.
    waiting, implied = [-f for f in wanted], set[int]()
    heapify(waiting)
    tested: list[int] = []
    while waiting:
        number = -heappop(waiting)
        op, inputs, _, type_, _ = instructions[number]
        if number not in implied and not (op is CONSTANT and np.isfinite(instructions[number].params[0]).all()):
            tested.append(number)
        if op in SPREADING and type_ == FLOAT_SCALAR and len(implied) < MOST_IMPLIED:
            for i in set(inputs) - implied:
                heappush(waiting, -i)
                implied.add(i)
    return sorted(set(tested))


def _needed_from(instructions: Sequence[Instruction], first: int, values: Sequence[int]) -> list[int]:
    """The instructions from `first` on that these values need, in order."""
    needed = {v for v in values if v >= first}
    for number in range(max(needed, default=-1), first - 1, -1):
        if number in needed:
            needed.update(i for i in instructions[number].inputs if i >= first)
    return sorted(needed)
