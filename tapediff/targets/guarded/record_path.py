"""PathRecorder: records and keeps a tape for a call without a recorded path."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...base.held_locks import holding
from ...base.settings import is_logged, log_made
from ...errors import (
    TrackedValueEscaped,
    UnstableBranch,
)
from ...functions.callees.path_messages import check_prescribed, warn
from ...ir.instruction import Guard, Outcome
from ...ir.interpreter import GuardFailure
from ...ir.tape import Tape
from ...numpy_api.whole_numbers import check_parameters
from ...recording.arguments.bind_call import BoundCall
from ...recording.arguments.int_arguments import IntNeeded, depends_on_ints_only, may_be_data
from ...recording.arguments.size_arguments import SizeNeeded
from ...recording.own_errors import raise_own_error
from ...recording.python_state.draws.drawn_guards import DrawnGuards
from ...recording.python_state.filled_arrays import Fills
from ...recording.python_state.process_state import process
from ...recording.recorder import Recorder
from ..evaluate.joined import joined
from ..evaluate.nested_recording import record_bound
from ..evaluate.shared_programs import Programs
from .keyed_call import GuardedFunction, KeyedCall
from .policy import Policy
from .reason import LastFailure, Reason
from .report import last_failure
from .staleness import refuse_if_asked
from .tape_cache import TapeCache
from .variant import NEW, CompiledProgram, Variant

# Single paths are recorded from now on where merged tapes, with so many guards each, answered at most so many calls each, and recording so
# many of them took so many instructions: long recordings that are not used again cost more than what their merged branches save.
MANY_GUARDS, FEW_HITS = 16, 3
TAPES_AND_SIZES = ((2, 100_000), (3, 60_000), (4, 30_000))

# The tape with the longest common path, and its failed guard.
Missed = tuple[Variant, GuardFailure]

class FormChanged(Exception):
    """The set of tracked arrays has changed; the call starts over."""


class PathRecorder:
    """Records the paths of one function.

    Args:
        lock: held while a path is recorded.
        note_effects: called after every run of the function, with the lock held: changes by the function itself do not count.

    Attributes:
        changed: the name of the environment variable that differs from earlier recordings.
        others: returns all tapes of the function, including those of other environments.
    """

    def __init__(
        self, function: GuardedFunction, policy: Policy, cache: TapeCache, programs: Programs[CompiledProgram],
        lock: threading.RLock, note_effects: Callable[[], None],
    ) -> None:  # fmt: skip
        self._function, self._policy, self._cache = function, policy, cache
        self._programs = programs
        self.changed = ""
        self.others: Callable[[], Sequence[Variant]] = cache.all
        # Held while a path is recorded and kept; calls with a recorded tape never take it.
        self._lock, self._note_effects = lock, note_effects
        # The arrays tracked in the latest recording; and from the first attempt on. Tapes with others have other guards.
        self._filled = self._fills = Fills.NOTHING
        # How often that set has changed.
        self._version = 0
        # Of the latest recording.
        self._report: Any = None
        # Of single paths, where merged recordings cost too much; and the mean size of these.
        self._single: Any = None
        self._merged_size = 0.0

    def variant(self, call: KeyedCall, decided: tuple[Outcome, ...], missed: Missed | None) -> tuple[Variant, bool]:
        """Return a tape that starts with the decided outcomes, and True if it is new: another thread may have recorded it.

        Raises:
            FormChanged: other arrays are tracked from now on, so that earlier outcomes mean nothing.
        """
        messages: list[str] = []
        variant, failure = self._find_or_record(call, decided, missed, messages)
        if failure is not None and is_logged():
            of = f" (tape {failure.closest} differs in: {failure.differs})" if failure.differs else ""
            log_made(f"recorded tape {variant.number}", self._function.name, len(variant.tape), variant.seconds, f"{variant.reason}{of}")
        for message in messages:
            warn(message)
        return variant, failure is not None

    @holding("_lock")
    def _find_or_record(
        self, call: KeyedCall, decided: tuple[Outcome, ...], missed: Missed | None, messages: list[str]
    ) -> tuple[Variant, LastFailure | None]:
        """The tape; and if it is new, the call that had none."""
        if missed is not None and missed[0].form != self._version:
            raise FormChanged  # by another thread
        found = self._cache.find(call.key, decided)
        if found is not None:
            return found, None
        try:
            return self._record_new(call, decided, missed, messages)
        finally:
            self._note_effects()

    def _record_new(
        self, call: KeyedCall, decided: tuple[Outcome, ...], missed: Missed | None, messages: list[str]
    ) -> tuple[Variant, LastFailure]:
        if self._changes_merging():
            self._cache.clear()
            self._version += 1
            raise FormChanged
        failure = self._note_failure(call, missed)
        self._policy.allow_recording(self._function, failure, self.others())
        variant = self._record(call, decided, missed, failure.reason)
        self._cache.insert(variant)
        messages += self._policy.warnings(self._function, call, failure, self._cache.all())
        self._cache.drop_beyond(self._policy.max_tapes)
        return variant, failure

    def _changes_merging(self) -> bool:
        """Decide whether merged recordings cost too much; and where single paths are even longer, merge again. Each is tried once."""
        found = self._cache.all()
        if self._single is not None:
            is_longer = bool(found) and len(found[-1].tape) > self._merged_size
            self._single = None if is_longer else self._single
            return is_longer
        if self._merged_size or len(found) < TAPES_AND_SIZES[0][0] or sum(variant.hits for variant in found) > FEW_HITS * len(found):
            return False
        reports = [variant.report for variant in found]
        if any(report is None or report.only is not None or len(report.guards) < MANY_GUARDS for report in reports):
            return False
        size = sum(report.size for report in reports)
        if not any(len(found) >= tapes and size >= least for tapes, least in TAPES_AND_SIZES):
            return False
        self._merged_size, self._single = size / len(found), reports[-1].of_single()
        return True

    @holding("_lock")
    def noted(self, run: Callable[[], None]) -> None:
        """Run something that calls the function, and note its side effects."""
        try:
            run()
        finally:
            self._note_effects()

    def _note_failure(self, call: KeyedCall, missed: Missed | None) -> LastFailure:
        counts = self._function.counts
        counts.misses += 1
        guard = missed[0].tape.guards[missed[1].ordinal] if missed is not None else None
        changed = self.changed if guard is None and not self._cache.all() else ""
        reason = Reason(call.specialisation, guard, missed[1].outcome if missed is not None else None, changed)
        found = counts.last_failure = last_failure(reason, call.key, missed, call.bound.inputs, self._cache.all())
        return found

    def _record(self, call: KeyedCall, decided: tuple[Outcome, ...], missed: Missed | None, reason: Reason) -> Variant:
        warned, static = self._policy.warned, call.bound.static
        drawn = DrawnGuards((self._function.f,), [value for _, _, value in static])
        started, (asks, _) = time.perf_counter(), process.asked_if_recording
        try:
            tape = self._tape(call, decided, missed)
        except TrackedValueEscaped as refusal:
            raise_own_error(refusal, lambda: call.bound.function(*[np.array(value, order="C")[()] for value in call.bound.inputs]))
            raise
        seconds = time.perf_counter() - started
        drawn.refuse(tape, lambda: self._recorder(self._filled).run(record_bound, self._bound(call)))
        if not drawn.draws.have_advanced():
            refuse_if_asked(tape, asks, call.bound.function, call.bound.inputs)
        # Before the tape is kept, as a warning may be an error.
        if "draws" not in warned and drawn.draws.warn(self._function.name):
            warned.add("draws")
        if missed is not None:
            self._check_prescribed(tape, missed[0], len(decided))
        # Tapes for other values of a specialised argument usually differ in constants alone.
        program = self._programs.of(tape) if static or self.changed else self._policy.program(tape)
        variant = self._counted(tape, call, reason, seconds, not static and not program.lifted, program)
        variant.fills, variant.report = self._filled, self._report
        return variant

    def _counted(
        self, tape: Tape, call: KeyedCall, reason: Reason, seconds: float, is_direct: bool, program: CompiledProgram
    ) -> Variant:  # fmt: skip
        counts = self._function.counts
        counts.recordings += 1
        counts.seconds_recording += seconds
        variant = Variant(tape, call.key, counts.recordings, reason, seconds, is_direct, program)
        variant.form = self._version
        if self._cache.was_dropped(variant):
            variant.reason = replace(reason, is_again=True)
            if counts.last_failure is not None:
                counts.last_failure = replace(counts.last_failure, reason=variant.reason)
        counts.reasons.append((counts.recordings, variant.reason))
        return variant

    @holding("_lock")
    def plain_path(self, call: KeyedCall, guard: Guard, outcome: Outcome) -> Variant:
        """The path that the plain function takes at a call, replayed once and not kept, when tapes disagree about a guard."""
        recorder, started = self._recorder(self._fills), time.perf_counter()
        try:
            tape = recorder.run(record_bound, call.bound)
        finally:
            self._note_effects()
        seconds, reason = time.perf_counter() - started, Reason(call.specialisation, guard, outcome)
        variant = self._counted(tape, call, reason, seconds, False, self._policy.program(tape))
        variant.rare = NEW
        return variant

    def _check_prescribed(self, tape: Tape, missed: Variant, count: int) -> None:
        """Raise unless the recording has the guards that it should have.

        If it tracks more arrays than the tape it replaces, its guards differ, and all tapes are recorded again.
        """
        try:
            check_prescribed(tape, missed.tape, count)
        except UnstableBranch:
            if self._filled <= max(missed.fills, self._fills):
                raise
            self._fills = self._filled
            self._cache.clear()
            self._version += 1
            raise FormChanged from None

    def _bound(self, call: KeyedCall) -> BoundCall:
        """The call to record: of the function with all its paths, unless merging is off."""
        if not self._policy.merge:
            return call.bound
        # If merging failed once, it is not tried again, and tapes have the guards of plain Python.
        reports = (variant.report for variant in self._cache.all())
        self._report = self._single or next((report for report in reports if report is not None and report.is_single), None)
        if self._report is not None:
            return call.bound
        return self._function.bound(joined(self._function.f, self._note), call)

    def _note(self, report: Any) -> None:
        self._report = report

    def _recorder(self, fills: Fills, decided: tuple[Outcome, ...] = (), along: Sequence[Guard] = ()) -> Recorder:
        recorder = Recorder(self._function.name, prescribed=decided, along=along, fills=fills)
        recorder.merges = self._policy.merge
        recorder.returns_first_entries = not self._function.settles_results
        return recorder

    def _tape(self, call: KeyedCall, decided: tuple[Outcome, ...], missed: Missed | None) -> Tape:
        """Record a call; raises IntNeeded or SizeNeeded if Python needs the value of an int or size that is data."""
        along, fills = ((), self._fills) if missed is None else (missed[0].tape.guards, max(missed[0].fills, self._fills))
        recorder, bound, extents = self._recorder(fills, decided, along), self._bound(call), call.extents
        if extents is None and not call.takes_ints:
            return self._recorded(recorder, bound)
        why, error = self._refused(call, bound, missed), None
        if not why:
            recorder.is_of_sizes = extents is not None
            try:
                tape = self._recorded(recorder, bound)
                if extents is None:
                    check_parameters(tape)
                    return tape
                why = self._needs_sizes(tape)
                if not why:
                    self._function.sizes.note_tape(*call.in_own_sizes, tape)
                    return tape
            except SizeNeeded as raised:
                why = raised.why
            except Exception as raised:  # noqa: BLE001 -- also an error of the function's own: plain Python decides
                error, why = raised, f"{type(raised).__name__}: {raised}"
        self._function.counts.misses -= 1  # the call starts over
        raise (IntNeeded() if extents is None else SizeNeeded(why, missed is not None)) from error

    def _refused(self, call: KeyedCall, bound: BoundCall, missed: Missed | None) -> str:
        """Why a path is not recorded with ints or sizes as data; empty if it is."""
        at = None if missed is None else (missed[0].tape, missed[1].ordinal)
        if call.extents is None:
            is_allowed = may_be_data(self._function.f) if at is None else self._function.ints.allows_path(*at)
            return "" if is_allowed else "Python needs ints"
        if bound is call.bound:
            return "branches are not merged"
        is_allowed = at is None or self._function.sizes.allow_path(call.in_own_sizes[0], *at)
        return "" if is_allowed or at is None else f"branches at {at[0].guards[at[1]].site}"

    def _needs_sizes(self, tape: Tape) -> str:
        """Why a tape holds for one value of a size; empty if it does not."""
        report = self._report
        if report is None or report.only is not None:
            return "the function is not merged" if report is None else report.only.what
        for guard in tape.guards:
            if type(guard.outcome) is not bool and depends_on_ints_only(tape, guard.ordinal):
                _, reason = report.guards.get(guard.ordinal, (None, None))
                return f"{guard.site}: {'Python needs the size' if reason is None else reason.what}"
        return ""

    def _recorded(self, recorder: Recorder, bound: BoundCall) -> Tape:
        tape = recorder.run(record_bound, bound)
        self._filled = recorder.fills
        return tape
