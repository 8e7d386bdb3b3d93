"""How long loops have to be for one turn of them to be recorded: not very, where all of their turns would take long to compile."""

from __future__ import annotations

import numpy as np

from ...functions.callees.rolled_loop import prepared_straight, rolled_apart
from ...functions.merging.prepare.long_loops.which_loops import OF_ARRAYS, OF_NUMBERS, Nest
from ...ir.instruction import CONSTANT, GUARD, ValueType
from ...ir.tape import Tape
from ...recording import record
from ...recording.recorder import Recorder
from .long_tapes import INSTRUCTIONS_FOR_ONE, operations_on_arrays

# Of recordings for which LLVM would take milliseconds an operation, and how many on arrays their beginning has beside what repeats.
OF_SLOW, FEWEST_ON_ARRAYS = Nest(10, 100), 300

# Operations on arrays take so many times as long to record.
SLOWER = 3


def fewest_turns(recorder: Recorder, is_again: bool) -> Nest | None:
    """How long the loops in a nest have to be; None where no loop needs to be one yet.

    Args:
        is_again: some of its loops are known, so that it has been recorded before.
    """
    count = len(recorder.instructions)
    if count >= record.LONG or is_again:
        return fewest_turns_of_long(recorder)
    if not recorder.is_of_arrays:
        return None
    if count >= record.LONG // SLOWER:
        return OF_NUMBERS
    return OF_SLOW if count < 2 * record.LONG // record.FEWER and _is_slow(_beginning(recorder)) else None


def fewest_turns_of_long(recorder: Recorder) -> Nest:
    """The same, of a recording that has become long, or will."""
    return OF_ARRAYS if recorder.is_of_arrays else OF_NUMBERS


def _is_slow(tape: Tape) -> bool:
    """Whether a tape is of operations on arrays that are found in no loops, and become no byte code."""
    count = operations_on_arrays(rolled_apart(tape))
    if count < FEWEST_ON_ARRAYS or INSTRUCTIONS_FOR_ONE * count < len(tape.instructions):
        return False
    # Imported when the first such tape is recorded, as all of the compiler.
    from ...compiler.bytecode.sweeps.program import swept

    return swept(prepared_straight(tape), None) is None


def _beginning(recorder: Recorder) -> Tape:
    """What has been recorded so far, with all that nothing has used yet as outputs."""
    instructions = tuple(recorder.instructions)
    is_used = np.zeros(len(instructions), bool)
    for instruction in instructions:
        is_used[list(instruction.inputs)] = True
    outputs = [
        k for k, i in enumerate(instructions)
        if not is_used[k] and isinstance(i.type, ValueType) and i.op is not CONSTANT and i.op is not GUARD
    ]  # fmt: skip
    return Tape(instructions, tuple(recorder.inputs), tuple(outputs), recorder.name, returns_tuple=True)
