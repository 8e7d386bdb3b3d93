"""td.record, and recordings of functions with their branches merged."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from ..errors import RefusedByRecording
from ..ir.instruction import Outcome, Tree, UserFunction
from ..ir.tape import Tape
from ..recording.arrays.tracked import TrackedArray
from ..recording.python_state.process_state import process
from ..recording.record import plain_call, plain_result
from ..recording.record import record as record_plain
from ..recording.recorder import Recorder, RecordingStopped, current_recorder

if TYPE_CHECKING:
    from .tapes.long_loops import LongLoops


def record(
    f: UserFunction, *args: Tree, prescribed: Sequence[Outcome] = (), has_aux: bool = False, merge: bool | Literal["flow"] | None = None,
    **named: Tree,
) -> Tape:  # fmt: skip
    """Run a function once on tracked arrays and return the tape of its operations.

    Args:
        f: a function of float arrays or floats, in plain NumPy; returns a real number, an array, or a container of these.
        args: where to record: floats or float arrays of any shape, which may be differentiated; integers, booleans and values
            wrapped in td.Constant are data, which may change from call to call. Where Python needs an integer it is guarded. Tuples,
            lists, dicts, named tuples and dataclasses of these; what else is in them (strings, None, bools) is part of their structure,
            which the tape is for.
        prescribed: outcomes for the first guards (used by GuardedTape).
        has_aux: f returns (y, aux), as the tape will: derivatives are of y, and aux may be any container. What in it depends on the
            arguments is recomputed at each call; the rest stays as it is.
        merge: True: record the function with its branches and loops on data merged, where that is proven to change nothing; see
            docs/guards.md. None: only of long loops one turn is recorded; see docs/control_flow.md. False: every operation is.
            "flow": by the interpreter of td.GuardedTape(f, merge="flow").
        named: further arguments by name. The tape takes by position those that f does, and all by name.

    Returns:
        The tape, valid wherever its guards hold.

    Raises:
        DtypeMismatch: no argument is real floating point, or one is no number at all.
        UnsupportedFunction, TrackedValueEscaped: naming the user's line and the fix; also where nothing can be merged that looks at data.

    Cost: one call of f, plus about 2 µs per operation; merged, a few of them.
    """
    if merge == "flow":
        # Imported where it is asked for, as below.
        from ..flow import flowed

        f, merge = flowed(f), False
    (asks, _), draws = process.asked_if_recording, process.warnings_of_draws
    try:
        tape = _recorded(f, args, named, prescribed, has_aux, merge)
    except RefusedByRecording as refusal:
        # Imported where it is asked for, as below.
        from .tapes.own_errors import raise_own_error

        raise_own_error(refusal, lambda: plain_result(f, *args, has_aux=has_aux, **named))
        raise
    if process.asked_if_recording[0] != asks and process.warnings_of_draws == draws:
        # Imported where it is asked for, as above.
        from .guarded.staleness import refuse_if_asked

        refuse_if_asked(tape, asks, *plain_call(f, *args, has_aux=has_aux, **named))
    return tape


def _recorded(
    f: UserFunction, args: Sequence[Tree], named: dict[str, Tree], prescribed: Sequence[Outcome], has_aux: bool, merge: bool | None
) -> Tape:
    """The tape of a function, in the form that is asked for."""
    if not merge:
        if merge is False or current_recorder() is not None or prescribed:
            return record_plain(f, *args, prescribed=prescribed, has_aux=has_aux, **named)
        return _with_long_loops(f, args, has_aux, named)
    results: list[Tree] = []
    plain = record_plain(_with_merged_bodies(f, results), *args, prescribed=prescribed, has_aux=has_aux, **named)
    if not plain.guards:
        return plain
    # Imported where it is asked for: recording alone loads neither passes nor compiler.
    from .tapes.merged_tape import merged_tape

    answer = lambda tape: tape(*args, **named)  # noqa: E731 -- used in the next lines
    is_known = type(results[-1]) is TrackedArray and current_recorder() is None
    value = results[-1]._value if is_known else answer(plain)
    return merged_tape(f, lambda form: record_plain(form, *args, has_aux=has_aux, **named), answer, plain, value)


def _with_long_loops(f: UserFunction, args: Sequence[Tree], has_aux: bool, named: dict[str, Tree]) -> Tape:
    """The tape of a function; of its long loops one turn is recorded, and reads of plain arrays at positions from data are gathers."""
    found: list[LongLoops] = []

    def look(recorder: Recorder) -> bool:
        # Imported where it is asked for, as below.
        from .tapes.long_loops import LongLoops

        found.append(LongLoops(f))
        return found[-1].are_wanted(recorder)

    def recorded(form: UserFunction, look: Callable[[Recorder], bool] | None) -> Tape:
        return record_plain(form, *args, has_aux=has_aux, look=look, **named)

    result = lambda: plain_result(f, *args, has_aux=has_aux, **named)  # noqa: E731 -- used in the next lines
    try:
        tape = recorded(f, look)
    except RecordingStopped:
        return found[-1].tape(recorded, result)
    if not tape.looks_at_arrays:
        return tape
    # Imported where it is asked for, as above.
    from .tapes.plain_reads import tape_of_gathers

    return tape_of_gathers(f, tape, lambda form: recorded(form, None), result)


def _with_merged_bodies(f: UserFunction, results: list[Tree]) -> UserFunction:
    """A function whose sub-tapes and loops have merged bodies; what it returns is appended to `results`."""

    @functools.wraps(f)
    def call(*args: Tree, **named: Tree) -> Tree:
        recorder = current_recorder()
        if recorder is not None:
            recorder.merges = True
        results.append(f(*args, **named))
        return results[-1]

    return call
