"""Converts native code's report on a failed guard to a GuardFailure: the guard and its outcome."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from ...ir.guard_rows import EACH, single_outcome
from ...ir.interpreter import GuardFailure
from ...ir.tape import Tape
from ..loop_ir.program import Exit, Program


class Exits:
    """The guards of a program by their ordinals; one exit may be the guards of many iterations."""

    def __init__(self, program: Program) -> None:
        exits = [e for g in program.groups for e in g.body if isinstance(e, Exit)]
        self._exits = sorted(exits, key=lambda e: e.ordinal)
        self._ordinals = [e.ordinal for e in self._exits]

    def __getitem__(self, ordinal: int) -> Exit:
        return self._exits[bisect_right(self._ordinals, ordinal) - 1]


def number_failure(item: Exit, ordinal: int, number: float) -> GuardFailure:
    """The failure of a guard on a number."""
    kind = item.kinds[(ordinal - item.ordinal) % len(item.kinds)] if item.guard_kind == EACH else item.guard_kind
    return GuardFailure(ordinal, single_outcome(kind, number))


def report_for(item: Exit, program: Program) -> np.ndarray:
    """A report with room for all values of a guard."""
    size = max(8, program.storages[item.report[0]].bytes)
    report = np.zeros(1 + -(-size // 8), np.int64)
    report[0] = size
    return report


def reported_failure(item: Exit, ordinal: int, report: np.ndarray, tape: Tape) -> GuardFailure:
    """The failure that a run has written to a report."""
    if item.guard_kind != "array":
        return number_failure(item, ordinal, float(report[1:].view(np.float64)[0]))
    recorded = np.asarray(next(g for g in tape.guards if g.ordinal == ordinal).outcome)
    # Kernels have only 64-bit floats.
    held = np.dtype(np.float64) if recorded.dtype.kind == "f" else recorded.dtype
    outcome = report[1:].view(np.uint8)[: recorded.size * held.itemsize].view(held).reshape(recorded.shape)
    return GuardFailure(ordinal, outcome.astype(recorded.dtype))
