"""Tape to tape: the same outputs by fewer or better instructions. Guards keep their order, their ordinals and their lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..base.settings import settings
from ..ir.tape import Tape
from .loops.carries.saved_carries import drop_saved_carries, save_carries
from .loops.distribution.fixed_carries import fixed_carries
from .loops.distribution.hoist_from_loops import hoist_from_loops
from .loops.last_iterations.peel_last_iterations import peel_last_iterations
from .loops.save_for_backward import save_for_backward
from .parts.elementwise_by_parts import elementwise_by_parts
from .parts.join_parts import join_parts
from .parts.regular_positions import regular_positions
from .parts.rows_apart import rows_apart
from .rolling.growing_arrays import growing_arrays
from .rolling.reads_by_position import reads_by_position
from .simplify.common_subexpressions import common_subexpressions
from .simplify.dead_code import dead_code
from .simplify.discarded_zeros import discarded_zeros
from .simplify.equal_positions import equal_positions
from .simplify.fold_constants import fold_constants
from .simplify.forward_writes import forward_writes
from .simplify.read_rows_last import read_rows_last
from .simplify.sink_broadcasts import sink_broadcasts
from .simplify.stable_softplus import stable_softplus
from .simplify.sum_before_reshape import sum_before_reshape

Pass = Callable[[Tape], Tape]


class Stage(NamedTuple):
    """A pass at its place in a pipeline.

    Attributes:
        run: the pass.
        why: the reason for its place.
        preserves: passes that find nothing to do after this one, if they found nothing before it.
    """

    run: Pass
    why: str
    preserves: tuple[Pass, ...] = ()


# fmt: off
# Before Python loops are rolled.
STRAIGHTEN = (
    Stage(dead_code, "the next passes have less to read"),
    Stage(regular_positions, "slices can be forwarded, and their cotangents are slices"),
    Stage(forward_writes, "a repeated body is found by its values, not through versions of an array that it fills"),
    Stage(dead_code, "array versions without readers"),
    Stage(read_rows_last, "what is left to gather are no boxes; the derivative is that of the product of fewer rows"),
    Stage(reads_by_position, "iterations with different slices become isomorphic; what remains are arrays without known entries"),
)

# Before differentiation.
REFINE = (
    Stage(growing_arrays, "once more of their parts are entries of rolled loops; every part has a cotangent"),
    Stage(peel_last_iterations, "the reverse loop then has all cotangents in every iteration, and need not select"),
    Stage(save_carries, "the reverse loop reads them; without them loops have no derivative"),
    Stage(common_subexpressions, "one cotangent for equal values"),
    Stage(stable_softplus, "log(1 + exp(x)) overflows as written, and so would its derivative"),
)

PREPARE = (*STRAIGHTEN, *REFINE)

# After differentiation, on the joint forward and backward tape.
PIPELINE = (
    Stage(dead_code, "derivatives of inactive values, and values that only they read"),
    Stage(forward_writes, "the cotangents of writes are reads and writes of parts as well"),
    Stage(sum_before_reshape, "sums follow the reshapes that undo broadcasts; moved before them, they fuse with the loop above"),
    Stage(sink_broadcasts, "operations on the smaller arrays, where several broadcast operands meet"),
    Stage(fold_constants, "constants meet only once broadcasts are out of the way"),
    Stage(sink_broadcasts, "folding leaves fewer operands, all of which may be broadcast now"),
    Stage(common_subexpressions, "values that the rules compute again"),
    Stage(equal_positions, "cotangents of reads and writes at equal positions, which are one value by now"),
    Stage(dead_code, "values that folding and sinking replaced; before loops compare their operands", preserves=(common_subexpressions,)),
    Stage(join_parts, "cotangents of arrays that are written to and read in parts, once constants are folded"),
    Stage(dead_code, "the arrays whose parts were joined"),
    Stage(save_for_backward, "residuals, where loading is cheaper than computing again"),
    Stage(dead_code, "unread streams and items"),
    Stage(drop_saved_carries, "only now is known which loops' carries are read"),
    Stage(fixed_carries, "values of constants and streams alone can be hoisted"),
    Stage(hoist_from_loops, "loop-invariant values, once residuals are streams"),
    Stage(sink_broadcasts, "hoisted values are broadcast over the iterations"),
    Stage(common_subexpressions, "values hoisted from the loop and from its reverse"),
    Stage(dead_code, "nothing unused is compiled"),
)

# Before a tape is lowered. No derivative is taken of their results.
FINISH = (
    Stage(rows_apart, "arrays are split along slice edges, some of which bound a few rows of a frame"),
    Stage(elementwise_by_parts, "all operations are known that can run on an array's parts before it is assembled"),
    Stage(discarded_zeros, "the factors of cotangents are final"),
    Stage(dead_code, "the comparisons that the pass before replaced"),
)
# fmt: on


def run_passes(tape: Tape, stages: Sequence[Stage] = PIPELINE, *, check: bool = False) -> Tape:
    """Apply the passes in order; `check` verifies the tape after each, naming the pass that broke it."""
    # The tape that each pass left: running it again would change nothing.
    settled: dict[Pass, Tape] = {}
    for run, _, preserves in stages:
        if run.__name__ in settings.left_out or settled.get(run) is tape:
            continue
        before, tape = tape, run(tape)
        settled[run] = tape
        for other in preserves:
            if settled.get(other) is before:
                settled[other] = tape
        if check:
            tape.check()
    return tape
