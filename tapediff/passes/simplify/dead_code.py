"""Removes instructions that no output, guard or input needs.

A call that may take another path is a guard, too: what its results look like is part of the recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from ...ir.instruction import GUARD, INPUT, NUMBER, OWN, TWO, Columns, columns_of
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.control.calls import CALL


def dead_code(tape: Tape) -> Tape:
    columns = columns_of(tape.instructions)
    if columns is not None and _all_used(columns, tape.outputs):
        return tape
    needed = [False] * len(tape.instructions)
    for output in tape.outputs:
        needed[output] = True
    for number in range(len(tape.instructions) - 1, -1, -1):
        op, inputs, params, *_ = tape.instructions[number]
        if op is GUARD or op is INPUT or (op is CALL and params[0].may_branch):
            needed[number] = True
        if needed[number]:
            for i in inputs:
                needed[i] = True
    if all(needed):
        return tape
    rewriter = Rewriter(tape)
    rewriter.copy_all(needed)
    return rewriter.finish()


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
