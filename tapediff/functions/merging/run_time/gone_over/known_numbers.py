"""What a turn of a long loop computes of nothing but the numbers that the loop goes over: for all turns at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .....ir.instruction import CONSTANT
from .....ops import Elementwise
from .....ops.arrays.indexing import GATHER
from .....recording.arrays.tracked import TrackedArray
from .....recording.recorder import Recorder

# So many numbers are computed at most.
MOST_NUMBERS = 1 << 24


class KnownNumbers:
    """The numbers of one recording.

    Args:
        recorder: of a turn.
        given: by the numbers of inputs, plain arrays with an entry for each turn.
    """

    def __init__(self, recorder: Recorder, given: Mapping[int, np.ndarray]) -> None:
        self._recorder, self._room = recorder, MOST_NUMBERS
        self._known: dict[int, np.ndarray | None] = {number: array if array.ndim == 1 else None for number, array in given.items()}

    def of(self, value: TrackedArray) -> np.ndarray | None:
        """The number by turn; None where it follows from something else."""
        if value._recorder is not self._recorder or value.shape or value._view is not None:
            return None
        pending, known = [value._id], self._known
        while pending:
            number = pending[-1]
            if number not in known:
                inputs = self._inputs(number)
                unknown = [k for k in inputs if k not in known]
                if unknown:
                    pending += unknown
                    continue
                known[number] = self._value(number)
            pending.pop()
        return known[value._id]

    def _inputs(self, number: int) -> tuple[int, ...]:
        """The operands of an instruction that is computed; none of others."""
        op, inputs, _, _, _ = self._recorder.instructions[number]
        return (inputs[1],) if op is GATHER else inputs if isinstance(op, Elementwise) else ()

    def _value(self, number: int) -> np.ndarray | None:
        instructions = self._recorder.instructions
        op, inputs, params, kind, _ = instructions[number]
        if kind.shape:
            return None
        if op is CONSTANT:
            return params[0]
        values = [self._known[k] for k in self._inputs(number)]
        known = [value for value in values if value is not None]
        self._room -= sum(value.size for value in known)
        if not known or len(known) < len(values) or self._room < 0:
            return None
        if op is GATHER:
            table, (positions,) = instructions[inputs[0]], known
            if table.op is not CONSTANT:
                return None
            size = table.params[0].size
            return np.ravel(table.params[0])[positions] if np.all((positions >= 0) & (positions < size)) else None
        try:
            return np.asarray(np.errstate(all="ignore")(op.evaluate)(*known, *params))
        except ValueError:
            return None  # an int to a negative power
