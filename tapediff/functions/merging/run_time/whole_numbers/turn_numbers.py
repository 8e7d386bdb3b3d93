"""Whether whole numbers that a turn of a long loop computes of its own number may become larger than an int64 has them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from .....ir.instruction import BOOL, CONSTANT, INT64, Instruction, Operand, ValueType
from .....recording.recorder import Recorder
from ...plain_numbers import SIZES

# An int64 has so many bits beside its sign.
MOST_BITS = 62

_INT, _BOOL = ValueType((), INT64), ValueType((), BOOL)


def largest_in(array: Operand) -> float | None:
    """How many bits the largest whole number or bool in a plain array has; None of another array."""
    if type(array) is np.ndarray and array.dtype == BOOL:
        return 0.0
    is_plain = type(array) is np.ndarray and array.dtype == INT64 and array.size
    return math.log2(max(1, int(array.max()), -int(array.min()))) if is_plain else None


def first_beyond(recorder: Recorder, given: Mapping[int, float]) -> Instruction | None:
    """The first operation whose result may be larger, where Python's whole numbers grow.

    Args:
        given: by the numbers of inputs, how many bits the largest of them has.
    """
    sizes = dict(given)
    for number, instruction in enumerate(recorder.instructions):
        if instruction.type == _BOOL:
            sizes[number] = 0.0
        if instruction.type != _INT or number in sizes:
            continue
        known = [sizes[k] for k in instruction.inputs if k in sizes]
        if instruction.op is CONSTANT:
            sizes[number] = math.log2(max(1, abs(int(instruction.params[0]))))
        elif known and len(known) == len(instruction.inputs) and (rule := SIZES.get(instruction.op.name)) is not None:
            size = rule(known, instruction)
            if size is not None:
                sizes[number] = size
            if size is not None and size > MOST_BITS:
                return instruction
    return None
