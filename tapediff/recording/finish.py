"""The end of a recording: what the function returned becomes the outputs of its tape.

Comes in: a recorder, and a value: tracked, a number, an array, or a container of these. Goes out: the tape, or an error that was caught.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import asarray  # NumPy's own; see numpy_namespace.py

from ..errors import ArgumentMismatch
from ..ir.auxiliary import flatten_aux, split_result
from ..ir.containers import flatten_result
from ..ir.instruction import (
    BOOL,
    CONSTANT,
    FLOAT64,
    FLOAT_SCALAR,
    GUARD,
    INPUT,
    Computes,
    Instruction,
    Operand,
    is_tracked,
)
from ..ir.pytree import ARRAY
from ..ir.tape import Tape
from ..numpy_api.joining import stack_objects
from ..numpy_api.kinds import plain_data
from .arrays.tracked import TrackedArray
from .instruction_columns import GrowingColumns
from .python_state.caught_errors import failure_caught, refusal_caught
from .recorder import Recorder


def finished_tape(recorder: Recorder, result: Operand, has_aux: bool = False) -> Tape:
    """The tape that returns `result`: a tracked value, a number or array, or a container of these.

    Args:
        has_aux: `result` is (y, aux), where y is such a value and aux anything.
    """
    if recorder.failure is not None:
        raise failure_caught(recorder.name, recorder.failure) from recorder.failure.error
    if recorder.refusal is not None:
        raise refusal_caught(recorder.name, recorder.refusal) from recorder.refusal.error
    recorder.call_arrays.finish()
    result, aux = split_result(result, recorder.name) if has_aux else (result, None)
    leaves, treedef = flatten_result(result)
    beside, aux_tree = flatten_aux(aux, recorder.name) if has_aux else ([], None)
    outputs = [_output(recorder, leaf) for leaf in (*leaves, *beside)]
    if recorder.buffers is not None:
        recorder.buffers.finish(outputs)
    if recorder.left_out:
        _leave_out(recorder, outputs)
    is_flat = treedef == ARRAY or (treedef.kind is tuple and all(part == ARRAY for part in treedef.parts))
    instructions = recorder.instructions
    return Tape(
        instructions.finished() if isinstance(instructions, GrowingColumns) else tuple(instructions),
        tuple(recorder.inputs),
        tuple(outputs),
        recorder.name,
        tuple(recorder.active_inputs),
        treedef != ARRAY,
        None if is_flat else treedef,
        aux=aux_tree,
    )


def _leave_out(recorder: Recorder, outputs: Sequence[int]) -> None:
    """Replace unneeded instructions of sides that were left out, and what is computed from them, by zeros: they may fail elsewhere."""
    instructions = recorder.instructions
    is_needed = np.zeros(len(instructions), bool)
    is_needed[list(outputs)] = True
    made = list(instructions)
    for number in range(len(made) - 1, -1, -1):
        op, inputs, *_ = made[number]
        if is_needed[number] or op is GUARD or op is INPUT:
            is_needed[number] = True
            is_needed[list(inputs)] = True
    zero = Instruction(CONSTANT, (), (np.zeros(()),), FLOAT_SCALAR, None)
    is_left_out = [False] * len(made)
    for start, end in recorder.left_out:
        is_left_out[start:end] = [True] * (end - start)
    for number in np.flatnonzero(~is_needed).tolist():
        if is_left_out[number] or any(is_left_out[k] and not is_needed[k] for k in made[number][1]):
            is_left_out[number] = True
            instructions[number] = zero


def _output(recorder: Recorder, result: Operand) -> int:
    if type(result) is TrackedArray:
        if result._recorder is not recorder:
            result = recorder.capture(result)
        result._refresh()
        return result._id
    if issubclass(type(result), Computes):
        return _output(recorder, result.settled())
    # Python's own integers may be larger than any of NumPy's.
    result = plain_data(result)
    if is_tracked(result):
        return _output(recorder, result)
    array = asarray(float(result) if type(result) is int and abs(result) >= 2**63 else result)
    if array.dtype == object and any(is_tracked(entry) for entry in array.flat):
        return _output(recorder, stack_objects(array))
    if array.dtype == object:  # of numbers that comparisons have chosen: np.maximum([x[0], x[1]], 0.5)
        array = asarray(array.tolist())
    if array.dtype.kind not in "fiub":
        raise ArgumentMismatch(
            f"{recorder.name} returned something that is not a real number or array", got=type(result).__name__,
            fix="return a float, an array or a tuple of these",
        )  # fmt: skip
    # Kernels know int64, float64, float32 and bool: other integers and floats are converted.
    if array.dtype not in (np.float32, BOOL):
        array = array.astype(FLOAT64 if array.dtype.kind == "f" else np.int64)
    return recorder.constant(np.array(array, order="C", dtype=FLOAT64 if array.dtype == FLOAT64 else None))
