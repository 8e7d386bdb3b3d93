"""Calls of the routines with one matrix per lane, for stacks of small matrices, instead of a loop over them."""

from __future__ import annotations

from ..loop_ir.program import RoutineCall
from ..math.simd import Code
from .dense.lanes import PREFIX
from .dense.stacked import LARGEST_ORDER

# By routine, the operands of the call that its version in lanes reads.
_OPERANDS = {
    "cholesky": (0,), "cholesky_pullback": (0, 1), "triangular_solve": (0, 1), "lu_factor": (0,), "lu_solve": (0, 1),
    "lu_solve_columns": (0, 1), "inverse": (0,), "cofactors": (1,), "det": (0,),
}  # fmt: skip

# Routines that exist only in lanes.
_ALWAYS = ("det",)

# Limits on the order if below LARGEST_ORDER: above them one matrix at a time is faster. Four matrices per lane fill the first-level cache.
_LARGEST_ORDER = {"cholesky_pullback": 10}


def is_in_lanes(call: RoutineCall) -> bool:
    """True if a call has one matrix per lane. The second size of a solve is its number of columns."""
    if call.routine not in _OPERANDS or (call.count == 1 and call.routine not in _ALWAYS):
        return False
    columns = call.sizes[1] if "_solve" in call.routine else 1
    return 0 < call.sizes[0] <= _LARGEST_ORDER.get(call.routine, LARGEST_ORDER) and 0 < columns <= LARGEST_ORDER


def call_in_lanes(code: Code, call: RoutineCall, operands: list[str], result: str) -> str:
    """Append the call; return the name of an i1, true if it failed on any matrix."""
    places = _OPERANDS[call.routine]
    advances = [call.advances[k] for k in places] + [call.advances[-1]] if call.advances else [0] * (len(places) + 1)
    symbol = PREFIX + "_".join([call.routine.removesuffix("_columns"), *map(str, _sizes(call))])
    arguments = [f"ptr {operands[k]}" for k in places] + [f"ptr {result}", *(f"i64 {k}" for k in (call.count, *advances))]
    return code.call_external(symbol, arguments, "i1")


def _sizes(call: RoutineCall) -> tuple[int, ...]:
    if call.routine != "triangular_solve":
        return call.sizes
    n, k, is_lower, stride, _, is_unit = call.sizes
    return n, k, is_lower, int(n > 1 and stride == 1), is_unit
