"""Removes instructions that no output, guard or input needs.

A call that may take another path is a guard, too: the form of its results is part of the recording.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ir.instruction import GUARD, INPUT, Columns, Instruction, columns_of
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.control.calls import CALL
from ..columns import on_numbers, operands_of, own_with_operands, with_only

# Rounds from the assumption that all is needed; beyond them, instructions are processed one by one.
MOST_ROUNDS = 6


def dead_code(tape: Tape) -> Tape:
    columns = columns_of(tape.instructions)
    if columns is not None:
        return _of_columns(tape, columns)
    needed = _needed(tape)
    if all(needed):
        return tape
    rewriter = Rewriter(tape)
    rewriter.copy_all(needed)
    return rewriter.finish()


def _of_columns(tape: Tape, columns: Columns) -> Tape:
    """dead_code without building the instructions."""
    needed = _in_rounds(columns, tape.outputs)
    if needed is None:
        needed = _needed_of(columns, tape.outputs)
    return tape if needed.all() else with_only(tape, needed, np.cumsum(needed) - 1)


def _needed(tape: Tape) -> list[bool]:
    """Return, by instruction, True if it is needed."""
    needed: list[bool] = _always_needed(tape.instructions).tolist()
    for output in tape.outputs:
        needed[output] = True
    for number in range(len(tape.instructions) - 1, -1, -1):
        if needed[number]:
            for i in tape.instructions[number].inputs:
                needed[i] = True
    return needed


def _in_rounds(columns: Columns, outputs: Sequence[int]) -> np.ndarray | None:
    """The same, as an array; None if a chain of dead instructions is longer than the rounds."""
    of, _, counts = operands_of(columns)
    always = _always_needed(columns.templates)[columns.which]
    always[list(outputs)] = True
    needed = np.ones(always.size, bool)
    for _ in range(MOST_ROUNDS):
        again = always.copy()
        again[of[np.repeat(needed, counts)]] = True
        if np.array_equal(again, needed):
            return needed
        needed = again
    return None


def _needed_of(columns: Columns, outputs: Sequence[int]) -> np.ndarray:
    """_needed without building the instructions."""
    templates, _, which, *_ = columns
    count = which.size
    first, second = on_numbers(columns)
    own = own_with_operands(columns)
    # Two further ranges of numbers: one for absent operands, and one for lists of operands.
    first[first < 0], second[second < 0] = count, count
    first[own] = count + 1 + np.arange(len(own))
    operands = [templates[k].inputs for k in which[own].tolist()]
    needed = bytearray(_always_needed(templates)[which].tobytes() + b"\0")
    for output in outputs:
        needed[output] = 1
    for number, i, j in zip(range(count - 1, -1, -1), first[::-1].tolist(), second[::-1].tolist()):
        if needed[number]:
            if i <= count:
                needed[i] = needed[j] = 1
            else:
                for k in operands[i - count - 1]:
                    needed[k] = 1
    return np.frombuffer(needed, bool, count)


def _always_needed(instructions: Sequence[Instruction]) -> np.ndarray:
    always = [op is GUARD or op is INPUT or (op is CALL and params[0].may_branch) for op, _, params, _, _ in instructions]
    return np.array(always, bool)
