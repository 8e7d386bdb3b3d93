"""Selections that keep discarded cotangents exact zeros as a jump that is hardly ever taken, so that no step waits for them.

The reverse pass writes select(z_bar == 0 and isnan(z_bar * f), 0, z_bar * f). Where z_bar is 0, its product with factors is NaN if and only
if one of these is not finite. They are values of the forward pass as a rule, known long before the cotangent, which loops hand from turn to
turn: an integrator with adaptive steps takes 0.65 of the time. Only kernels have them so: derivatives are taken of the selections.
"""

from __future__ import annotations

from ...ir.instruction import CONSTANT, FLOAT_SCALAR, Instruction
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.elementwise.arithmetic import MULTIPLY, NEGATIVE
from ...ops.elementwise.comparison import EQUAL, IS_NAN, LOGICAL_AND, SELECT, ZERO_WHERE_DISCARDED

# Of more factors the jumps take longer than the comparison.
MOST_FACTORS = 2


def discarded_zeros(tape: Tape) -> Tape:
    """The tape with its selections of numbers so; those of arrays wait for nothing."""
    factors: dict[int, tuple[int, ...]] = {}
    for number, instruction in enumerate(tape.instructions):
        if instruction.op is SELECT and instruction.type == FLOAT_SCALAR:
            found = _kept(tape.instructions, instruction)
            if found:
                factors[number] = found
    if not factors:
        return tape
    rewriter = Rewriter(tape)
    for number, instruction in enumerate(tape.instructions):
        rewriter.number[number] = (
            _jumping(rewriter, instruction, factors[number]) if number in factors else rewriter.copy(number)
        )
    return rewriter.finish()


def _kept(instructions: tuple[Instruction, ...], selection: Instruction) -> tuple[int, ...] | None:
    """The factors of z_bar in `select(z_bar == 0 and isnan(product), 0, product)`; None if it is no such selection."""
    test, zero, product = selection.inputs
    if instructions[test].op is not LOGICAL_AND or not _is_zero(instructions[zero]):
        return None
    is_zero, is_nan = (instructions[i] for i in instructions[test].inputs)
    if is_zero.op is not EQUAL or is_nan.op is not IS_NAN or is_nan.inputs[0] != product:
        return None
    return _factors(instructions, product, is_zero.inputs[0], MOST_FACTORS) if _is_zero(instructions[is_zero.inputs[1]]) else None


def _is_zero(instruction: Instruction) -> bool:
    return instruction.op is CONSTANT and instruction.type == FLOAT_SCALAR and instruction.params[0] == 0.0


def _factors(instructions: tuple[Instruction, ...], product: int, z_bar: int, most: int) -> tuple[int, ...] | None:
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


def _jumping(rewriter: Rewriter, selection: Instruction, factors: tuple[int, ...]) -> int:
    test, _, product = selection.inputs
    instructions = rewriter.tape.instructions
    z_bar = rewriter.number[instructions[instructions[test].inputs[0]].inputs[0]]
    kept = rewriter.number[product]
    for factor in factors:
        operands = (kept, z_bar, rewriter.number[factor])
        kept = rewriter.emit(ZERO_WHERE_DISCARDED, operands, (), FLOAT_SCALAR, selection.site)
    return kept
