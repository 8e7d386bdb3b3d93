"""From what native code says about a failed guard to a Miss: the guard and the outcome met there."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..replay import Miss
from ..tape import Tape
from .program import Exit, Program


def exits_of(program: Program) -> dict[int, Exit]:
    """The guards of a program by their ordinals."""
    return {e.ordinal: e for g in program.groups for e in g.body if isinstance(e, Exit)}


def number_miss(item: Exit, number: float) -> Miss:
    """A miss at a guard that looked at a number."""
    if item.guard_kind == "bool":
        return Miss(item.ordinal, bool(number))
    return Miss(item.ordinal, int(number) if np.isfinite(number) else float(number))


def report_for(item: Exit, program: Program) -> np.ndarray:
    """A report with room for all that a guard looked at."""
    size = max(8, program.storages[item.report[0]].bytes)
    report = np.zeros(1 + -(-size // 8), np.int64)
    report[0] = size
    return report


def reported_miss(item: Exit, report: np.ndarray, tape: Tape) -> Miss:
    """The miss that a run with such a report has left there."""
    if item.guard_kind != "array":
        return number_miss(item, float(report[1:].view(np.float64)[0]))
    recorded: Any = np.asarray(next(g for g in tape.guards if g.ordinal == item.ordinal).outcome)
    # Kernels hold floats of any size in 64 bits.
    held = np.dtype(np.float64) if recorded.dtype.kind == "f" else recorded.dtype
    outcome = report[1:].view(np.uint8)[: recorded.size * held.itemsize].view(held).reshape(recorded.shape)
    return Miss(item.ordinal, outcome.astype(recorded.dtype))
