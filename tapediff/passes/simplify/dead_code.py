"""Removes instructions that no output, guard or input needs.

A call that may take another path is a guard, too: what its results look like is part of the recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from ...ir.instruction import GUARD, INPUT, NUMBER, OWN, TWO, Columns, Instruction, columns_of
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.control.calls import CALL


def dead_code(tape: Tape) -> Tape:
    columns = columns_of(tape.instructions)
    if columns is not None and _all_used(columns, tape.outputs):
        return tape
    needed = _needed(tape) if columns is None else _needed_of(columns, tape.outputs)
    if all(needed):
        return tape
    rewriter = Rewriter(tape)
    rewriter.copy_all(needed)
    return rewriter.finish()


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


def _needed_of(columns: Columns, outputs: Sequence[int]) -> list[bool]:
    """The same, without making the instructions."""
    templates, takes, which, first, second = columns
    always = [_is_always_needed(i) for i in templates]
    kinds, firsts, seconds = takes.tolist(), first.tolist(), second.tolist()
    needed = [False] * which.size
    for output in outputs:
        needed[output] = True
    for number, template in zip(range(which.size - 1, -1, -1), reversed(which.tolist())):
        if not (needed[number] or always[template]):
            continue
        needed[number] = True
        kind = kinds[template]
        if kind == OWN:
            for i in templates[template].inputs:
                needed[i] = True
        elif kind != NUMBER:
            needed[firsts[number]] = True
            if kind == TWO:
                needed[seconds[number]] = True
    return needed


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
