"""Converts native code's report on a failed guard to a GuardFailure: the guard and its outcome."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...ir.guard_rows import EACH, single_outcome
from ...ir.interpreter import GuardFailure
from ...ir.tape import Tape

if TYPE_CHECKING:
    from ..loop_ir.program import Program


class GuardExit(NamedTuple):
    """The parts of an exit that converting a report needs: see loop_ir.program.Exit. One may be the guards of many iterations.

    Attributes:
        bytes: the size of the value in a report.
    """

    ordinal: int
    guard_kind: str
    kinds: tuple[str, ...]
    bytes: int


class Exits:
    """The guards of a program by their ordinals."""

    def __init__(self, exits: Iterable[GuardExit]) -> None:
        self.all = sorted(exits, key=lambda e: e.ordinal)
        self._ordinals = [e.ordinal for e in self.all]

    def __getitem__(self, ordinal: int) -> GuardExit:
        return self.all[bisect_right(self._ordinals, ordinal) - 1]


def exits_of(program: Program) -> Exits:
    """The guards of a program."""
    return Exits(_exits(program))


def _exits(program: Program) -> Iterator[GuardExit]:
    from ..loop_ir.program import Exit  # there is a program, so it is imported

    for group in program.groups:
        for item in group.body:
            if isinstance(item, Exit):
                yield GuardExit(item.ordinal, item.guard_kind, item.kinds, program.storages[item.report[0]].bytes)


def number_failure(item: GuardExit, ordinal: int, number: float) -> GuardFailure:
    """The failure of a guard on a number."""
    kind = item.kinds[(ordinal - item.ordinal) % len(item.kinds)] if item.guard_kind == EACH else item.guard_kind
    return GuardFailure(ordinal, single_outcome(kind, number))


def report_for(item: GuardExit) -> np.ndarray:
    """A report with room for all values of a guard."""
    size = max(8, item.bytes)
    report = np.zeros(1 + -(-size // 8), np.int64)
    report[0] = size
    return report


def reported_failure(item: GuardExit, ordinal: int, report: np.ndarray, tape: Tape) -> GuardFailure:
    """The failure that a run has written to a report."""
    if item.guard_kind != "array":
        return number_failure(item, ordinal, float(report[1:].view(np.float64)[0]))
    recorded = np.asarray(next(g for g in tape.guards if g.ordinal == ordinal).outcome)
    # Kernels have only 64-bit floats.
    held = np.dtype(np.float64) if recorded.dtype.kind == "f" else recorded.dtype
    outcome = report[1:].view(np.uint8)[: recorded.size * held.itemsize].view(held).reshape(recorded.shape)
    return GuardFailure(ordinal, outcome.astype(recorded.dtype))
