"""Nested recordings, whose operations become part of the outer one: functions differentiated inside another."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ...base.settings import log_made
from ...ir.arguments import unwrap
from ...ir.containers import is_container
from ...ir.instruction import Operand, Tree, is_tracked
from ...ir.interpreter import inline
from ...ir.pytree import holds_tracked
from ...ir.tape import Tape
from ...recording.arguments.bind_call import BoundCall
from ...recording.finish import finished_tape
from ...recording.record import plain_value
from ...recording.recorder import Recorder, current_recorder
from . import joined as joined  # which says how the sub-tapes and loops of the function are recorded


def record_nested(call: BoundCall, *, unrolls: bool = False) -> tuple[Tape, list[Operand]]:
    """Record a function now; values of an outer recording that it uses become inputs too. `unrolls`: long loops, too.

    If the function raises and the outer one catches it, the guards so far decide the outer path: they are copied to it.
    """
    recorder, started = Recorder(call.name), time.perf_counter()
    recorder.unrolls = unrolls
    try:
        tape = recorder.run(record_bound, call)
    except Exception:
        inputs = [*call.inputs, *recorder.captured]
        if recorder.guard_count and any(map(is_tracked, inputs)):
            inline(Tape(tuple(recorder.instructions), tuple(recorder.inputs), ()), inputs)
        raise
    log_made("recorded a tape", call.name, len(tape), time.perf_counter() - started, "a plain function is recorded at each call")
    return tape, [*call.inputs, *recorder.captured]


def record_bound(recorder: Recorder, call: BoundCall) -> Tape:
    """The tape of a bound call."""
    tracked = [recorder.input(plain_value(a), active=active) for a, active in zip(call.inputs, call.active)]
    return finished_tape(recorder, call.function(*tracked), call.has_aux)


def is_recorded(args: Sequence[Tree]) -> bool:
    """True if a call with these arguments is part of a recording."""
    return current_recorder() is not None or any(is_tracked(a) or (is_container(a) and holds_tracked(a)) for a in map(unwrap, args))
