"""Activity: which values of a tape depend differentiably on others."""

from __future__ import annotations

from ..ir.instruction import CONSTANT, GUARD, INPUT
from ..ir.tape import Tape
from ..ops.control.calls import TupleOp
from ..ops.declaration.op import Op


def active_values(tape: Tape, sources: set[int]) -> list[bool]:
    """Which values depend differentiably on the sources."""
    active: list[bool] = []
    for number, (op, inputs, _, type_, _) in enumerate(tape.instructions):
        if op is INPUT or op is CONSTANT or op is GUARD:
            active.append(number in sources)
        elif isinstance(op, TupleOp):
            active.append(any(active[i] for i in inputs))
        elif not type_.is_float or not isinstance(op, Op):
            active.append(False)
        elif callable(op.vjp):
            active.append(any(active[i] for i in inputs))
        else:
            active.append(any(active[i] and rule is not None for i, rule in zip(inputs, op.vjp)))
    return active
