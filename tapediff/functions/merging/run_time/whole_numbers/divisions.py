"""Whether a turn of a long loop divides by a number that the loop goes over where Python, unlike NumPy, has an error for zero."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .....ir.instruction import CONSTANT, Instruction
from .....ops import Elementwise
from .....recording.recorder import Recorder
from ...plain_numbers import number_may_be_plain

# So many numbers are computed at most.
MOST_NUMBERS = 1 << 24

_DIVISIONS = frozenset("divide floor_divide remainder reciprocal".split())


@np.errstate(all="ignore")
def first_by_zero(recorder: Recorder, given: Mapping[int, np.ndarray]) -> Instruction | None:
    """The first quotient or remainder of Python's numbers whose divisor is zero in some turn, or is not known for so many turns.

    Args:
        given: by the numbers of inputs, what turns go over, where these are Python's numbers: by turn.
    """
    instructions = list(recorder.instructions)
    if not given or not any(i.op.name in _DIVISIONS for i in instructions):
        return None
    known: dict[int, np.ndarray] = dict(given)
    room = MOST_NUMBERS
    for number, instruction in enumerate(instructions):
        op, inputs, params, type_, _ = instruction
        if op is CONSTANT and not params[0].shape:
            known[number] = params[0]
        if not inputs or not isinstance(op, Elementwise) or inputs[-1] not in known:
            continue
        if op.name in _DIVISIONS and not np.all(known[inputs[-1]]):
            if all(i in known or number_may_be_plain(recorder, i) for i in inputs):
                return instruction
            continue
        if any(i not in known for i in inputs) or type_.shape:
            continue
        values = [known[i] for i in inputs]
        room -= max(value.size for value in values)
        if room < 0:
            return next((i for i in instructions[number:] if i.op.name in _DIVISIONS), None)
        try:
            known[number] = np.asarray(op.evaluate(*values, *params))
        except ValueError:
            continue  # an int to a negative power
    return None

