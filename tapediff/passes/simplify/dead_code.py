"""Removes instructions that no output, guard or input needs.

A call that may take another path is a guard, too: what its results look like is part of the recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from ...ir.columns import on_numbers, own_with_operands, with_only
from ...ir.instruction import GUARD, INPUT, NUMBER, OWN, TWO, Columns, Instruction, columns_of
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.control.calls import CALL


def dead_code(tape: Tape) -> Tape:
    columns = columns_of(tape.instructions)
    if columns is not None:
        return tape if _all_used(columns, tape.outputs) else _of_columns(tape, columns)
    needed = _needed(tape)
    if all(needed):
        return tape
    rewriter = Rewriter(tape)
    rewriter.copy_all(needed)
    return rewriter.finish()


def _of_columns(tape: Tape, columns: Columns) -> Tape:
    """The same, without making the instructions."""
    needed = _needed_of(columns, tape.outputs)
    return tape if needed.all() else with_only(tape, needed, np.cumsum(needed) - 1)


def _needed(tape: Tape) -> list[bool]:
    """By instruction, whether it is needed."""
    needed = [False] * len(tape.instructions)
    for output in tape.outputs:
        needed[output] = True
    for number in range(len(tape.instructions) - 1, -1, -1):
        instruction = tape.instructions[number]
        if needed[number] or _is_always_needed(instruction):
            needed[number] = True
            for i in instruction.inputs:
                needed[i] = True
    return needed


def _needed_of(columns: Columns, outputs: Sequence[int]) -> np.ndarray:
    """The same, without making the instructions."""
    templates, _, which, *_ = columns
    count = which.size
    first, second = on_numbers(columns)
    own = own_with_operands(columns)
    # Behind all values are one for operands that are not there, and lists of operands.
    first[first < 0], second[second < 0] = count, count
    first[own] = count + 1 + np.arange(len(own))
    operands = [templates[k].inputs for k in which[own].tolist()]
    always = np.fromiter(map(_is_always_needed, templates), np.uint8, len(templates))
    needed = bytearray(always[which].tobytes() + b"\0")
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


def _is_always_needed(instruction: Instruction) -> bool:
    op, _, params, *_ = instruction
    return op is GUARD or op is INPUT or (op is CALL and params[0].may_branch)


def _all_used(columns: Columns, outputs: Sequence[int]) -> bool:
    """Whether every value is an output, or the operand of a later one: then all are needed."""
    templates, takes, which, first, second = columns
    used = np.array([i.op is GUARD or i.op is INPUT for i in templates], bool)[which]
    kinds = takes[which]
    used[first[(kinds != OWN) & (kinds != NUMBER)]] = True
    used[second[kinds == TWO]] = True
    used[list(chain.from_iterable(i.inputs for i in templates))] = True
    used[list(outputs)] = True
    return bool(used.all())
