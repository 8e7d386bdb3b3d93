"""td.record: the tape of one path of a function, or of all that can be merged."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import ArgumentMismatch, RefusedByRecording, TrackedValueEscaped, hide_frames
from ..ir.instruction import Outcome, Tree, UserFunction
from ..ir.tape import Tape
from ..recording.own_errors import raise_own_error
from ..recording.python_state.process_state import process
from ..recording.record import LONG, plain_call, plain_result, record as record_as_it_runs
from ..recording.recorder import RecordingStopped, current_recorder
from .evaluate.joined import joined


def record(
    f: UserFunction, /, *args: Tree, prescribed: Sequence[Outcome] = (), has_aux: bool = False, merge: bool | None = None, **named: Tree,
) -> Tape:  # fmt: skip
    """Run a function once on tracked arrays and return the tape of its operations.

    Args:
        f: a function of float arrays or floats, in plain NumPy; returns a real number, an array, or a container of these.
        args: where to record: floats or float arrays of any shape, which may be differentiated; integers, booleans and values
            wrapped in td.Constant are data, which may change from call to call. If Python needs an integer, it is guarded. Tuples,
            lists, dicts, named tuples and dataclasses of these; what else is in them (strings, None, bools) is part of their structure,
            which is fixed on the tape.
        prescribed: outcomes for the first guards (used by GuardedTape).
        has_aux: f returns (y, aux), as the tape will: derivatives are of y, and aux may be any container. Its parts that depend
            on the arguments are recomputed at each call; the rest is fixed.
        merge: True: a tape of all paths that can be merged: both sides of a branch on data are run; see docs/guards.md. None: only
            if it would have more than 30,000 operations, of which long loops become few, if it reads whole arrays of
            positions, see docs/control_flow.md, or converts numbers: float(x), x.item(), x.tolist(). False: never.
        named: further arguments by name. The tape takes by position those that f does, and all by name.

    Returns:
        The tape, valid wherever its guards hold.

    Raises:
        DtypeMismatch: no argument is real floating point, or one is not a number at all.
        UnsupportedFunction, TrackedValueEscaped: naming the user's line and the fix.
        ArgumentMismatch: merge is not one of these.

    Cost: one call of f, plus about 2 µs per operation; with merged paths, a few calls.
    """
    try:
        if merge is not None and type(merge) is not bool:
            raise ArgumentMismatch(
                "merge is True, False or None", got=repr(merge), fix="merge=True: one tape of all paths that can be joined"
            )
        (asks, _), draws = process.asked_if_recording, process.warnings_of_draws
        try:
            tape = _recorded(f, args, named, prescribed, has_aux, merge)
        except TrackedValueEscaped as refusal:
            raise_own_error(refusal, lambda: plain_result(f, *args, has_aux=has_aux, **named))
            raise
        if process.asked_if_recording[0] != asks and process.warnings_of_draws == draws:
            # Imported on demand, as below.
            from .guarded.staleness import refuse_if_asked

            refuse_if_asked(tape, asks, *plain_call(f, *args, has_aux=has_aux, **named))
        return tape
    except Exception as error:
        hide_frames(error)
        raise


def _recorded(
    f: UserFunction, args: Sequence[Tree], named: dict[str, Tree], prescribed: Sequence[Outcome], has_aux: bool, merge: bool | None
) -> Tape:
    """The tape of a function, in the requested form."""
    if not merge:
        is_asked = merge is None and current_recorder() is None and not prescribed
        longest = LONG if is_asked else None
        try:
            tape = record_as_it_runs(f, *args, prescribed=prescribed, has_aux=has_aux, longest=longest, merges=merge is None, **named)
        except RecordingStopped:
            pass
        except TrackedValueEscaped as refusal:
            # Where both sides of branches are run, numbers that Python converts stay tracked.
            if not is_asked or not refusal.is_conversion:
                raise
            try:
                return record_as_it_runs(joined(f), *args, prescribed=prescribed, has_aux=has_aux, **named)
            except RefusedByRecording:
                raise refusal from None
        else:
            if not (is_asked and tape.looks_at_arrays):
                return tape
    return record_as_it_runs(joined(f), *args, prescribed=prescribed, has_aux=has_aux, **named)
