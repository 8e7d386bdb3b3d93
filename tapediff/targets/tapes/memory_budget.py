"""Fits the tape of a kernel into a memory budget: limits what its loops save for the reverse pass.

The memory plan of a candidate gives its memory; a search finds how much the loops may save. Loops in blocks are in
passes/loops/checkpoint_loops.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import ArgumentMismatch, MemoryBudgetExceeded
from ...ir.tape import Tape
from ..backends import NATIVE

if TYPE_CHECKING:
    from ...compiler.loop_ir.program import Program
    from ...compiler.loop_kernel import Needed

Derive = Callable[[Tape], Tape]
Measure = Callable[[Tape], "Fitted"]

UNITS = {"": 1, "B": 1} | {
    f"{prefix}{suffix}": base**power
    for power, prefix in enumerate("kMGT", 1) for suffix, base in (("B", 1000), ("iB", 1024))
}  # fmt: skip

# The most candidates to try, each as an uncompiled program; and the part of the budget that is good enough.
MOST_CANDIDATES, GOOD_ENOUGH = 8, 0.85

# The least that loops may save.
LEAST_SAVED = 1 << 10


class Fitted(NamedTuple):
    """A tape, its program, and the memory that it needs."""

    tape: Tape
    program: Program
    needed: list[Needed]

    @property
    def bytes(self) -> int:
        return sum(each.bytes or 0 for each in self.needed)


def bytes_of(memory: str | int | None, backend: str) -> int | None:
    """A budget in bytes.

    Raises:
        ArgumentMismatch: not a number of bytes with a unit, or the backend has no memory plan.
    """
    if memory is None:
        return None
    if backend != NATIVE:
        raise ArgumentMismatch("memory= needs the native backend", got=f"backend={backend!r}", fix="leave backend= out")
    found = re.fullmatch(r"\s*([0-9.]+(?:[eE][0-9]+)?)\s*([A-Za-z]*)\s*", memory) if isinstance(memory, str) else None
    is_number = isinstance(memory, (int, np.integer)) and not isinstance(memory, bool)
    try:
        assert found or is_number
        size = float(found[1]) * UNITS[found[2]] if found else float(memory)
        assert size > 0
    except (AssertionError, KeyError, ValueError):
        fix = 'memory="200MB", with kB, MB, GB, or KiB, MiB, GiB; or a number of bytes'
        raise ArgumentMismatch("memory is a positive number of bytes", got=f"memory={memory!r}", fix=fix) from None
    return int(size)


def fitted(tape: Tape, derive: Derive, budget: int, threads: int = 0) -> Fitted:
    """The fastest candidate found within the memory budget.

    Args:
        tape: of the function.
        derive: makes the tape that a kernel computes.
        threads: the number that may share its loops.

    Raises:
        MemoryBudgetExceeded: no candidate fits.
    """
    measure = lambda tape: _measured(derive(tape), threads)  # noqa: E731 -- its name is its use
    best = measure(tape)
    if best.bytes <= budget and all(each.bytes is not None for each in best.needed):
        return best
    if (unknown := next((each for each in best.needed if each.bytes is None), None)) is not None:
        raise MemoryBudgetExceeded(
            "memory= cannot hold for a loop that saves its values for the reverse pass and whose length is known only when it runs",
            at=unknown.site, got=f"memory={budget}", fix="use td.scan, or a range() of known length; or leave memory= out",
        )  # fmt: skip
    found, least = _searched(tape, measure, budget, False)
    if found is None:
        found, other = _searched(tape, measure, budget, True)
        least = min(best, least, other, key=lambda each: each.bytes)
    if found is None:
        raise _exceeded(least, budget)
    return found


def _searched(tape: Tape, measure: Measure, budget: int, is_whole: bool) -> tuple[Fitted | None, Fitted]:
    """The best candidate that fits, if any, and the smallest of all."""
    from ...functions.callees.rolled_loop import limited

    room = float(budget)
    least = fits = None
    # Limits for loops: the largest that fits, and the smallest that does not.
    low, high = 0.0, math.inf
    for _ in range(MOST_CANDIDATES):
        found = measure(limited(tape, room, is_whole))
        least = found if least is None or found.bytes < least.bytes else least
        if found.bytes <= budget:
            fits, low = found, room
        else:
            high = room
        if high <= LEAST_SAVED or (fits is not None and fits.bytes > GOOD_ENOUGH * budget):
            break
        room = _next_room(found.bytes, budget, room, low, high)
    assert least is not None, "there is one candidate at least"
    return fits, least


def _next_room(needed: int, budget: int, room: float, low: float, high: float) -> float:
    if not low:
        return max(LEAST_SAVED, min(room / 2, room * budget / needed))
    if high == math.inf:
        return room * min(8.0, budget / max(needed, 1))
    return math.sqrt(low * high)


def _measured(tape: Tape, threads: int) -> Fitted:
    # Imported when something is first compiled, so that `import tapediff` stays fast.
    from ...compiler.loop_kernel import needed_memory
    from ...compiler.pipeline import build_program

    program = build_program(tape, threads)
    return Fitted(tape, program, needed_memory(program))


def _exceeded(least: Fitted, budget: int) -> MemoryBudgetExceeded:
    most = max(least.needed, key=lambda each: each.bytes or 0)
    site = most.site
    if site is None:
        from ...compiler.loop_kernel import largest_array

        site = largest_array(least.program)
    return MemoryBudgetExceeded(
        f"a kernel of {least.tape.name} does not fit into memory=, however little its loops save", at=site,
        got=f"{least.bytes} bytes at least, {most.bytes} of them for {most.of}; memory={budget}",
        fix=f"memory={least.bytes} or more; or smaller arrays at this line, which needs the most",
    )  # fmt: skip
