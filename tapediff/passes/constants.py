"""Evaluates instructions whose operands are all constants, and drops what changes nothing."""

from __future__ import annotations

import numpy as np

from ..instruction import CONSTANT, GUARD, INPUT, RECORD, Instruction
from ..ops.arithmetic import DIVIDE, MULTIPLY, NEGATIVE
from ..ops.comparison import SELECT
from ..ops.shape import BROADCAST, RESHAPE, TRANSPOSE
from ..replay import check_guard
from ..tape import Tape
from .rewrite import Rewriter

# A folded constant lives in memory as long as the tape: a broadcast scalar stays an instruction.
LARGEST_GROWTH = 4096

# These cost nothing in a kernel, while a folded one would be a second copy of the data.
VIEWS = (TRANSPOSE, RESHAPE, BROADCAST)


def fold_constants(tape: Tape) -> Tape:
    rewriter = Rewriter(tape)
    numbers, new = rewriter.number, rewriter.instructions
    with np.errstate(all="ignore"):
        for number, instruction in enumerate(tape.instructions):
            op, inputs, *_ = instruction
            operands = tuple([numbers[i] for i in inputs])
            # Nearly all instructions of a long tape read no constant, and are done with here.
            is_plain = operands and op is not SELECT and op is not NEGATIVE
            for operand in operands:
                if new[operand][0] is CONSTANT:
                    is_plain = False
            numbers[number] = (
                rewriter.keep(instruction, operands) if is_plain else _folded(rewriter, number, instruction, operands)
            )
    return rewriter.finish()


def _folded(rewriter: Rewriter, number: int, instruction: Instruction, operands: tuple[int, ...]) -> int:
    op, _, params, type_, site = instruction
    if op is CONSTANT or op is INPUT or type_.dtype is RECORD:
        return rewriter.copy(number)
    values = [_constant_value(rewriter, i) for i in operands]
    if all(value is not None for value in values):
        if op is GUARD:
            check_guard(params, values[0], site)
            return -1
        is_view = op in VIEWS and type_.size > 64
        if not is_view and type_.size <= max(LARGEST_GROWTH, sum(value.size for value in values)):  # type: ignore[union-attr]
            return rewriter.constant(op.evaluate(*[v[()] for v in values], *params), type_)  # type: ignore[index]
    for k in (0, 1) if op is MULTIPLY else (1,) if op is DIVIDE else ():
        value = values[k]
        if value is not None and value.shape == () and value == 1.0:
            other = operands[1 - k]
            if rewriter.instructions[other].type == type_:
                return other
    if op is SELECT:
        chosen = _chosen(values[0], operands)
        if chosen is not None and rewriter.instructions[chosen].type == type_:
            return chosen
    if op is NEGATIVE:
        inner = rewriter.instructions[operands[0]]
        if inner.op is NEGATIVE:
            return inner.inputs[0]
    return rewriter.copy(number)


def _chosen(condition: np.ndarray | None, operands: tuple[int, ...]) -> int | None:
    """The operand of a selection that is the same everywhere."""
    if operands[1] == operands[2]:
        return operands[1]
    if condition is not None and condition.shape == ():
        return operands[1 if condition else 2]
    return None


def _constant_value(rewriter: Rewriter, number: int) -> np.ndarray | None:
    op, _, params, *_ = rewriter.instructions[number]
    return params[0] if op is CONSTANT else None
