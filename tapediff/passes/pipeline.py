"""Tape to tape: the same outputs by fewer or better instructions. Guards keep their order, their ordinals and their lines."""

from __future__ import annotations

from collections.abc import Callable

from ..base.settings import settings
from ..ir.tape import Tape
from .loops.hoist_from_loops import hoist_from_loops
from .loops.peel_last_iterations import peel_last_iterations
from .loops.save_for_backward import save_for_backward
from .loops.saved_carries import drop_saved_carries, save_carries
from .simplify.common_subexpressions import common_subexpressions
from .simplify.dead_code import dead_code
from .simplify.fold_constants import fold_constants
from .simplify.forward_writes import forward_writes
from .simplify.sink_broadcasts import sink_broadcasts
from .simplify.stable_softplus import stable_softplus
from .simplify.sum_before_reshape import sum_before_reshape

Pass = Callable[[Tape], Tape]

# Before Python loops are rolled: what was written to arrays instead of the arrays.
STRAIGHTEN: tuple[Pass, ...] = (dead_code, forward_writes, dead_code)

# Before differentiation: one cotangent for equal values, and rewrites that make values and derivatives right where the written
# form overflows.
REFINE: tuple[Pass, ...] = (peel_last_iterations, save_carries, common_subexpressions, stable_softplus)

PREPARE: tuple[Pass, ...] = (*STRAIGHTEN, *REFINE)

# After differentiation, on the joint forward and backward tape.
PIPELINE: tuple[Pass, ...] = (
    dead_code, forward_writes, sum_before_reshape, sink_broadcasts, fold_constants, sink_broadcasts, common_subexpressions,
    dead_code, save_for_backward, dead_code, drop_saved_carries, hoist_from_loops, sink_broadcasts, common_subexpressions, dead_code,
)  # fmt: skip


def run_passes(tape: Tape, passes: tuple[Pass, ...] = PIPELINE, *, check: bool = False) -> Tape:
    """Apply the passes in order; `check` verifies the tape after each, naming the pass that broke it."""
    # The tape that each pass left: it would find nothing more to do there.
    settled: dict[Pass, Tape] = {}
    for each in passes:
        if each.__name__ in settings.left_out or settled.get(each) is tape:
            continue
        before, tape = tape, each(tape)
        settled[each] = tape
        if each is dead_code and settled.get(common_subexpressions) is before:
            settled[common_subexpressions] = tape
        if check:
            tape.check()
    return tape
