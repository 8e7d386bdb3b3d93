"""Batches of rows in SIMD lanes: a kernel of the value and gradient at several points at once.

Scalar operations, which fill one lane of eight, run for several rows together; each row is computed by the same
operations in the same order.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ...functions.callees.rolled_loop import rolled
from ...functions.callees.tape_callee import callee_of
from ...ir.tape import Tape
from ...ops.control.calls import CALL, CALL_VARIANT, RECALL
from ...passes.pipeline import run_passes
from ...transforms.lanes.exchange_loops import exchange_loops
from ...transforms.map_rows import RowsCannotBeMapped, map_rows
from ..backends import NATIVE, make_kernel
from .operator_tapes import vjp_tape, with_constants

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...compiler.kernel import Kernel

# Rows of a block: many rows share the fixed cost of a loop nest; fewer for small batches.
MANY, FEW = 64, 8

# Longer tapes spend their time in operations that fill the lanes already, or take too long to compile again.
LONGEST_TAPE = 1000

# A block has to be faster than single rows by this factor.
WORTH_IT = 0.9

# Ops whose rows may take different paths.
_CALLS = (CALL, CALL_VARIANT, RECALL)

# The number of timings of each way; the least counts.
TIMINGS = 5


def rows_of_block(rows: int) -> int:
    """The number of rows computed at once in batches of this size; 0 for none."""
    return MANY if rows >= MANY else FEW if rows >= FEW else 0


def mapped(tape: Tape, count: int) -> Tape | None:
    """The tape of values and gradients at `count` points, from the tape of the value; None if it branches on them or is long.

    The function is mapped over the rows before it is differentiated: recurrences then take their steps together.
    """
    ready = rolled(tape.without_aux())
    if len(ready) > LONGEST_TAPE or len(ready.inputs) != 1 or not ready.ops.isdisjoint(_CALLS):
        return None
    try:
        values = run_passes(map_rows(ready, [0], count, callee_of))
    except RowsCannotBeMapped:
        return None
    product = vjp_tape(exchange_loops(values, callee_of), (0,), True)
    return run_passes(with_constants(product, 1, [np.ones(count)]))


def block_kernel(tape: Tape, count: int, points: np.ndarray, by_rows: Callable[[np.ndarray, np.ndarray, np.ndarray], int]) -> Kernel | None:
    """The kernel of `count` rows; None if it is not faster, or differs in any bit, at the first of these points.

    Args:
        by_rows: writes (gradients, values) at points, row by row; 0 on success.
    """
    made = mapped(tape, count)
    if made is None:
        return None
    kernel = make_kernel(NATIVE, made)
    points = np.ascontiguousarray(points[:count])
    gradients, values = outputs = np.empty(points.shape), np.empty(count)
    wanted = np.empty(points.shape), np.empty(count)
    run = lambda: kernel.call(points, values, gradients)  # noqa: E731 -- its name is its use
    if by_rows(points, *wanted) or run() or any(a.tobytes() != b.tobytes() for a, b in zip(outputs, wanted)):
        return None
    return kernel if least_time(run) < WORTH_IT * least_time(lambda: by_rows(points, *wanted)) else None


def least_time(call: Callable[[], object]) -> float:
    """The shortest of a few timings."""
    return min(_timed(call) for _ in range(TIMINGS))


def _timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started
