"""Whether the turns of a loop only add to the variables that they hand on, so that their order makes no difference but rounding."""

from __future__ import annotations

from collections.abc import Sequence

from .....ir.instruction import FLOAT64, Operand
from .....ops.elementwise.arithmetic import ADD, SUBTRACT
from .....ops.elementwise.comparison import SELECT
from .....recording.arrays.tracked import TrackedArray
from .....recording.recorder import Recorder


def only_add(recorder: Recorder, after: Sequence[Operand]) -> bool:
    """Whether each variable behind a recorded turn is what it was plus what does not depend on any of them, or as it was.

    Args:
        after: the variables; before the turn they are the first inputs.
    """
    of = dict(zip(recorder.inputs, range(len(after))))
    for number, (op, inputs, _, _, _) in enumerate(recorder.instructions):
        found = [of[k] for k in inputs if k in of]
        if not found:
            continue
        is_step = (op is ADD and len(found) == 1) or (op is SUBTRACT and len(found) == 1 and inputs[0] in of)
        is_choice = op is SELECT and inputs[0] not in of and len(found) == 2 and found[0] == found[1]
        if not is_step and not is_choice:
            return False
        of[number] = found[0]
    return all(
        type(value) is TrackedArray and value._recorder is recorder and value._view is None and value.dtype == FLOAT64
        and of.get(value._id) == k
        for k, value in enumerate(after)
    )
