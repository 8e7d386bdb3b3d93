"""Numbers as arrays of float64, whole numbers and bools have them once they are written there, and whole numbers as int gives them."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log2

import numpy as np

from .....ir.instruction import BOOL, CONSTANT, FLOAT64, INT64, Operand, Tree
from .....ops.arrays.reductions import ARGMAX, ARGMIN
from .....ops.elementwise.arithmetic import CONVERT
from .....ops.elementwise.comparison import NOT_EQUAL, SELECT
from .....recording.arrays.numbers import LARGEST_INT
from .....recording.arrays.tracked import TrackedArray
from ...plain_numbers import may_be_plain, note_plain

# Arrays of these are data to whose entries turns of long loops write.
WRITTEN = (FLOAT64, INT64, BOOL)

# A float that is written to an array of whole numbers is cut off towards zero: larger ones are NumPy's error, or any number.
LARGEST_CUT = float(1 << 53)

# Of longer expressions it is not looked for whether they are whole numbers.
MOST_PARTS = 64

# Sums of so many numbers up to LARGEST_INT are no larger.
LARGEST_SUM = float(LARGEST_INT * MOST_PARTS)


def as_stored(value: Tree, dtype: np.dtype, holds: Callable[[Operand], object] | None = None) -> Operand | None:
    """A number, or a row, as an array has it to which it is written, apart from its variable; None where that is not known.

    Args:
        dtype: of the array.
        holds: asks whether a float that is data is one which NumPy cuts off; None where that cannot be asked.
    """
    kind = type(value)
    if kind in (TrackedArray, np.ndarray) and (kind is np.ndarray or value.shape or value._view is None or dtype == FLOAT64):
        return _of_array(value, dtype, holds)
    if kind not in _NUMBERS or abs(int(value) if kind is int else 0) > LARGEST_CUT:
        return None
    if dtype == INT64 and not -LARGEST_CUT < value < LARGEST_CUT:
        return None
    return np.float64(value) if dtype == FLOAT64 else np.int64(value) if dtype == INT64 else np.bool_(value)


def _of_array(value: Operand, dtype: np.dtype, holds: Callable[[Operand], object] | None) -> Operand | None:
    if value.dtype == dtype:
        return value.copy() if value.shape else value if dtype == FLOAT64 else _entry(value)
    if dtype == FLOAT64 or (dtype == INT64 and value.dtype == BOOL):
        return _entry(value.astype(dtype)) if value.dtype == (INT64 if dtype == FLOAT64 else BOOL) else None
    # Rows of other kinds are cut off by some statements, and refused by others.
    if value.shape or type(value) is not TrackedArray or value.dtype not in WRITTEN:
        return None
    if dtype == BOOL:
        return _entry(NOT_EQUAL(value, 0))
    if not is_surely_whole(value) and not (holds is not None and holds(np.abs(value) < LARGEST_CUT)):
        return None
    return _entry(CONVERT(value, dtype=INT64))


def _entry(value: Operand) -> Operand:
    """A number of NumPy's that was computed of what may be one of Python's."""
    if type(value) is TrackedArray and may_be_plain(value):
        value = CONVERT(value, dtype=value.type.dtype)
        value._recorder.plain_numbers[value._id] = False
    return value


def is_surely_whole(value: TrackedArray) -> bool:
    """Whether a float that is data is a whole number at every point: chosen from constants, or a sum of such."""
    recorder, pending = value._recorder, [value._id]
    for number in pending:
        instruction = recorder.instructions[number]
        name, inputs = instruction.op.name, instruction.inputs
        if len(pending) > MOST_PARTS:
            return False
        if instruction.op is CONSTANT:
            constant = instruction.params[0]
            if constant.shape or not abs(constant) <= LARGEST_INT or constant != int(constant):
                return False
        elif instruction.op is SELECT:
            pending += inputs[1:]
        elif name in ("add", "subtract", "negative"):
            pending += inputs
        elif not (instruction.op is CONVERT and (recorder.instructions[inputs[0]].type.dtype == BOOL or number in recorder.bits)):  # type: ignore[union-attr]  # of one value
            return False
    return True


def as_int(value: Tree, holds: Callable[..., bool]) -> TrackedArray | None:
    """int(value) of a whole number or bool that is data, as one of Python's that is data; None of anything else."""
    if type(value) is not TrackedArray or value.type.shape or value._view is not None or value.type.dtype not in (INT64, BOOL):
        return None
    recorder, instruction = value._recorder, value._recorder.instructions[value._id]
    largest = LARGEST_SUM
    if value.type.dtype == BOOL:
        value, largest = CONVERT(value, dtype=INT64), 1
    elif instruction.op in (ARGMAX, ARGMIN):
        largest = recorder.instructions[instruction.inputs[0]].type.size
    elif recorder.turn_numbers.get(value._id, inf) > LARGEST_SUM and not holds(lambda: np.abs(value) <= largest):
        return None
    recorder.turn_numbers.setdefault(value._id, float(largest))
    recorder.bits.setdefault(value._id, log2(max(1, largest)))
    return note_plain(value)


_NUMBERS = (float, int, bool, np.float64, np.int64, np.bool_)
