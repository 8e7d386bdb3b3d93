"""PathRecorder: records and keeps a tape for a call that none of the recorded tapes answers."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from traceback import walk_tb
from typing import TYPE_CHECKING

import numpy as np

from ...base.held_locks import holding
from ...errors import (
    GuardFailed,
    LoopTooLong,
    MemoryBudgetExceeded,
    NewTape,
    RecursionTooDeep,
    RefusedByRecording,
    StaleTape,
    TapediffError,
    UnstableBranch,
)
from ...functions.callees.path_messages import check_prescribed, warn
from ...functions.merging.plain_numbers import check_numbers
from ...functions.merging.rules import Refused
from ...ir.instruction import Guard, Outcome, Tree
from ...ir.interpreter import GuardFailure
from ...ir.tape import Tape
from ...numpy_api.whole_numbers import check_parameters
from ...recording.arguments.bind_call import BoundCall
from ...recording.arguments.int_arguments import IntNeeded, may_be_data
from ...recording.python_state.draws.drawn_guards import DrawnGuards
from ...recording.python_state.filled_arrays import Fills
from ...recording.python_state.process_state import process
from ...recording.recorder import Recorder, RecordingStopped, current_recorder
from ..evaluate.evaluation import Evaluation
from ..evaluate.nested_recording import record_bound
from ..evaluate.shared_programs import Programs
from ..tapes.own_errors import raise_own_error
from .keyed_call import GuardedFunction, KeyedCall
from .merging import Expected, Merging
from .policy import Policy
from .reason import Reason
from .report import LastFailure, last_failure
from .staleness import is_surely_fresh, refuse_if_asked
from .tape_cache import TapeCache
from .variant import NEW, Answer, CompiledProgram, Variant

if TYPE_CHECKING:
    from logging import Logger

# explain() gives the reasons of this many recordings, the latest ones.
REASONS_KEPT = 1000

# The tape that came closest, and where it failed.
Missed = tuple[Variant, GuardFailure]

_INFO = 20  # logging.INFO

# What a call may raise in any form.
_NOT_CAUSED = (GuardFailed, NewTape, UnstableBranch, LoopTooLong, MemoryBudgetExceeded, RecursionTooDeep)


class FormChanged(Exception):
    """The function is recorded in another form from now on; the call starts again."""


class _Stopped(Exception):
    """A recording has shown enough of where the function looks at values, or of its loops.

    Attributes:
        tape: its beginning, without outputs.
        is_of_loops: it was stopped because of its loops.
    """

    def __init__(self, recorder: Recorder, is_of_loops: bool) -> None:
        super().__init__()
        self.tape, self.is_of_loops = _beginning(recorder), is_of_loops


def _beginning(recorder: Recorder) -> Tape:
    """What has been recorded so far, without outputs."""
    return Tape(tuple(recorder.instructions), tuple(recorder.inputs), (), recorder.name)


class PathRecorder:
    """Records the paths of one function.

    Args:
        lock: held while a path is recorded.
        note_effects: called behind every run of the function, with the lock held: what it has changed itself is no change.

    Attributes:
        misses: calls that no recorded tape answered.
        recordings, seconds_recording: tapes recorded, and the time it took.
        reasons: why each tape was recorded, by its number.
        last_failure: the last call that no tape answered.
        changed: the name of what the function reads otherwise than when the tapes before these were recorded.
        others: gives all tapes of the function, also those of other values of what it reads.
    """

    def __init__(
        self, function: GuardedFunction, policy: Policy, cache: TapeCache, programs: Programs[CompiledProgram],
        lock: threading.RLock, note_effects: Callable[[], None],
    ) -> None:  # fmt: skip
        self._function, self._policy, self._cache = function, policy, cache
        self.merging = Merging(function, policy.merge)
        self._programs = programs
        self.changed = ""
        self.others: Callable[[], Sequence[Variant]] = cache.all
        # Held while a path is recorded and kept; calls that a recorded tape answers never take it.
        self._lock, self._note_effects = lock, note_effects
        self.misses = self.recordings = 0
        self.seconds_recording = 0.0
        self.reasons: deque[tuple[int, Reason]] = deque(maxlen=REASONS_KEPT)
        self.last_failure: LastFailure | None = None
        # The tape that was recorded last in the plain form.
        self._plain: Tape | None = None
        # What the first answer of the merged form has to be.
        self._expected: Expected | None = None
        # The tapes of the plain form, while it is not sure that there is another one; and of a merged form that did not pay.
        self._set_aside: list[Variant] = []
        self._merged_aside: list[Variant] = []
        # Why the plain form was recorded where another one is recorded in its place.
        self._cause: Reason | None = None
        # Which arrays were tracked in the latest recording; and which are from the first attempt on. Tapes with others have other guards.
        self._filled = self._fills = Fills.NOTHING

    def variant(self, call: KeyedCall, decided: tuple[Outcome, ...], missed: Missed | None) -> tuple[Variant, bool]:
        """A tape that starts with the decided outcomes, and whether it is new: another thread may have recorded it.

        Raises:
            FormChanged: the function is recorded in another form from now on, so that outcomes decided before mean nothing.
        """
        messages: list[str] = []
        variant, is_new = self._find_or_record(call, decided, missed, messages)
        # Nobody listens where nobody has imported logging, which takes 15 ms.
        if is_new and "logging" in sys.modules and _logger().isEnabledFor(_INFO):
            _logger().info(
                "recorded tape %d of %s, %d instructions in %.4f s: %s",
                variant.number, self._function.name, len(variant.tape), variant.seconds, variant.reason,
            )  # fmt: skip
        for message in messages:
            warn(message)
        return variant, is_new

    @holding("_lock")
    def _find_or_record(
        self, call: KeyedCall, decided: tuple[Outcome, ...], missed: Missed | None, messages: list[str]
    ) -> tuple[Variant, bool]:
        if missed is not None and missed[0].form != self.merging.version:
            if any(variant.form != self.merging.version for variant in self._cache.all()):
                self._cache.clear()
            raise FormChanged  # in another thread
        self._restore_plain()
        found = self._cache.find(call.key, decided)
        if found is not None:
            return found, False
        try:
            return self._record_new(call, decided, missed, messages), True
        finally:
            self._note_effects()

    def _record_new(self, call: KeyedCall, decided: tuple[Outcome, ...], missed: Missed | None, messages: list[str]) -> Variant:
        failure = self._note_failure(call, missed)
        self._policy.allow_recording(self._function, failure, self.others())
        try:
            variant = self._record_form(call, decided, missed, failure.reason)
        except _Stopped as stopped:
            if stopped.is_of_loops:
                self.merging.take_loops(stopped.tape)
            else:
                self.merging.note(stopped.tape, call.key, self._policy.max_tapes)
            self._cause = failure.reason
            raise FormChanged from None
        except FormChanged:
            self._cause = failure.reason
            raise
        self._cache.insert(variant)
        messages += self._policy.warnings(self._function, call, failure, self._cache.all(), self.merging.first_reason())
        self._cache.drop_beyond(self._policy.max_tapes)
        return variant

    def _record_form(self, call: KeyedCall, decided: tuple[Outcome, ...], missed: Missed | None, reason: Reason) -> Variant:
        was_merged = self.merging.is_on
        variant = self._record(call, decided, missed, reason)
        if variant.form == self.merging.version:
            if not self.merging.note(variant.tape, call.key, self._policy.max_tapes):
                return variant
            self._change_form(variant, was_merged)
        raise FormChanged  # here, or by an error in another thread

    def _change_form(self, variant: Variant, was_merged: bool) -> None:
        """Leave the tapes of the form of a new tape, which is not kept."""
        if self._merged_aside:
            self._use(self._merged_aside)
            # It has been compared already.
            self._merged_aside, self.merging.trials_left = [], 0
            return
        if not was_merged:
            self.merging.compare_again(self._cache.all())
            self._set_aside = self._set_aside or [*self._cache.all(), variant]
        self._cache.clear()
        self._plain = variant.tape

    def _use(self, variants: Sequence[Variant]) -> None:
        """Go back to tapes of another form."""
        self._cache.clear()
        for variant in variants:
            variant.form = self.merging.version
        self._cache.restore(variants)
        self._cache.drop_beyond(self._policy.max_tapes)

    def _restore_plain(self) -> None:
        """Go back to the tapes of the plain form, where no branch of the function is merged in the end."""
        if self._set_aside and self.merging.is_plain:
            self._use(self._set_aside)
            self._set_aside = []

    @holding("_lock")
    def noted(self, run: Callable[[], None]) -> None:
        """Run something that calls the function."""
        try:
            run()
        finally:
            self._note_effects()

    # The first answers of a merged form

    def plain_result(self, call: KeyedCall) -> tuple[Tree, float] | None:
        """What the plain function gives, and in how many seconds, while answers are compared with it. Raises its errors."""
        if not self.merging.trials_left:
            return None
        found: list[tuple[Tree, float]] = []

        def run() -> None:
            function, started = np.errstate(all="ignore")(call.bound.function), time.perf_counter()
            result = function(*[np.array(value, order="C")[()] for value in call.bound.inputs])
            found.append((result, time.perf_counter() - started))

        self.noted(run)
        return found[0]

    @holding("_lock")
    def agrees(self, call: KeyedCall, variant: Variant, answer: Answer, result: Tree, seconds: float) -> bool:
        """Compare an answer of a merged form with the plain function's; where they differ, the call is to be made again, by paths.

        Args:
            result: of the plain function, in so many seconds.
        """
        merging = self.merging
        if not merging.trials_left or variant.form != merging.version:
            return True
        merging.note_trial(seconds)
        try:
            if isinstance(answer, Evaluation) or not is_surely_fresh(variant.tape, answer[0], result):
                self.noted(lambda: merging.check(variant.tape, call, None))
        except StaleTape as differs:
            merging.fail(str(differs))
            self._cache.clear()
            return False
        if merging.payoff is not None:
            merging.payoff.look(variant, call)
        if not merging.trials_left:
            self._end_trial()
        return True

    @holding("_lock")
    def is_as_expected(self, call: KeyedCall, variant: Variant, answer: Answer) -> bool:
        """Whether the first answer of a merged form is the plain function's; where it is not, the call is to be made again, by paths."""
        expected = self._expected
        if expected is None or expected.bound is not call.bound or expected.tape is not variant.tape:
            return True
        self._expected = None
        try:
            if isinstance(answer, Evaluation) or not expected.is_met(answer):
                self.noted(lambda: self.merging.check(variant.tape, call, expected.plain))
        except Exception as error:  # noqa: BLE001 -- of the comparison, which no user is to see
            self.merging.fail(str(error) if isinstance(error, StaleTape) else f"{type(error).__name__}: {error}")
            self._cache.clear()
            return False
        return True

    def _end_trial(self) -> None:
        may_record = self._policy.on_new_tape != "raise"
        if may_record and self.merging.weigh(self._policy.max_tapes):
            self._merged_aside = self._cache.all()
            self._use(self._set_aside)
        self.merging.payoff = None
        self._set_aside = []

    def _note_failure(self, call: KeyedCall, missed: Missed | None) -> LastFailure:
        self.misses += 1
        guard = missed[0].tape.guards[missed[1].ordinal] if missed is not None else None
        changed = self.changed if guard is None and not self._cache.all() else ""
        reason = Reason(call.specialisation, guard, missed[1].outcome if missed is not None else None, changed)
        cause, self._cause = self._cause, None
        if cause is not None and missed is None and cause.called_with == call.specialisation:
            reason = cause
        self.last_failure = last_failure(reason, call.key, missed, call.bound.inputs, self._cache.all())
        return self.last_failure

    def _record(self, call: KeyedCall, decided: tuple[Outcome, ...], missed: Missed | None, reason: Reason) -> Variant:
        warned, static, form = self._policy.warned, call.bound.static, self.merging.version
        drawn = DrawnGuards((self._function.f,), [value for _, _, value in static])
        started, (asks, _) = time.perf_counter(), process.asked_if_recording
        try:
            tape = self._form(call, decided, missed)
        except RefusedByRecording as refusal:
            raise_own_error(refusal, lambda: call.bound.function(*[np.array(value, order="C")[()] for value in call.bound.inputs]))
            raise
        seconds = time.perf_counter() - started
        if self.merging.is_plain:
            drawn.refuse(tape, lambda: Recorder(self._function.name, fills=self._filled).run(record_bound, call.bound))
        if not drawn.draws.have_advanced():
            refuse_if_asked(tape, asks, call.bound.function, call.bound.inputs)
        # Before the tape is kept, as a warning may be an error.
        if "draws" not in warned and drawn.draws.warn(self._function.name):
            warned.add("draws")
        if missed is not None:
            self._check_prescribed(tape, missed[0], len(decided))
        self.recordings += 1
        self.seconds_recording += seconds
        # Where a value is specialised on, its tapes are as a rule the same but for constants.
        program = self._programs.of(tape) if static or self.changed else self._policy.program(tape)
        is_direct = not static and not program.lifted
        variant = Variant(tape, call.key, self.recordings, reason, seconds, is_direct, program)
        variant.form, variant.fills = form, self._filled  # of a form, the version that Merging counts
        if self._cache.was_dropped(variant):
            variant.reason = replace(reason, is_again=True)
            if self.last_failure is not None:
                self.last_failure = replace(self.last_failure, reason=variant.reason)
        self.reasons.append((self.recordings, variant.reason))
        return variant

    @holding("_lock")
    def plain_path(self, call: KeyedCall, guard: Guard, outcome: Outcome) -> Variant:
        """The path that the plain function takes at a call, to be replayed once and not kept, where tapes disagree about a guard."""
        recorder, started = Recorder(self._function.name, fills=self._fills), time.perf_counter()
        recorder.merges = self._policy.merge
        try:
            tape = recorder.run(record_bound, call.bound)
        finally:
            self._note_effects()
        seconds, reason = time.perf_counter() - started, Reason(call.specialisation, guard, outcome)
        self.recordings += 1
        self.seconds_recording += seconds
        self.reasons.append((self.recordings, reason))
        variant = Variant(tape, call.key, self.recordings, reason, seconds, False, self._policy.program(tape))
        variant.form, variant.rare = self.merging.version, NEW
        return variant

    def _check_prescribed(self, tape: Tape, missed: Variant, count: int) -> None:
        """Raises an error unless the recording came to the guards that it was to come to.

        Where it tracks more arrays than the tape whose place it takes, it has others, and all tapes are recorded afresh.
        """
        try:
            check_prescribed(tape, missed.tape, count)
        except UnstableBranch:
            if self._filled <= max(missed.fills, self._fills):
                raise
            self._fills = self._filled
            self._set_aside, self._merged_aside = [], []
            self._cache.clear()
            self.merging.version += 1
            raise FormChanged from None

    def _form(self, call: KeyedCall, decided: tuple[Outcome, ...], missed: Missed | None) -> Tape:
        """Record the call in the merged form of the function, if there is one."""
        merged, self._plain, plain = self.merging.form(call), None, self._plain
        if merged is None:
            return self._tape(call, call.bound, decided, missed)
        try:
            # Sides that are not taken may overflow.
            tape = np.errstate(all="ignore")(self._tape)(call, merged, decided, missed)
            is_in_vain = self.merging.leave_in_vain(tape)
            if not is_in_vain:
                self._expected = self.merging.expected(tape, call, plain)
        except (IntNeeded, _Stopped):
            raise
        except Exception as error:
            if not isinstance(error, Refused):
                self._tape(call, call.bound, (), None)  # raises an error of the function's own again
            self.merging.lower(error)
            self._cache.clear()
            raise FormChanged from error
        if is_in_vain:
            raise FormChanged
        return tape

    def caused(self, error: BaseException) -> bool:
        """Give up what led to an error at a call; whether the merged form did, so that the call is to be made again."""
        if not self.merging.is_on or not isinstance(error, Exception) or isinstance(error, _NOT_CAUSED):
            return False
        is_known = isinstance(error, TapediffError) or _is_of_an_operation(error)
        return is_known and self.merging.lower(error)

    def _tape(self, call: KeyedCall, bound: BoundCall, decided: tuple[Outcome, ...], missed: Missed | None) -> Tape:
        """Record a call; raises IntNeeded where an int that would be data has to be specialised on."""
        along, fills = ((), self._fills) if missed is None else (missed[0].tape.guards, max(missed[0].fills, self._fills))
        recorder = Recorder(
            self._function.name, prescribed=decided, along=along, longest=self.merging.longest, fills=fills
        )
        recorder.merges = self._policy.merge
        recorder.stops = lambda: self.merging.stops(_beginning(recorder), recorder)
        if current_recorder() is None:
            recorder.look_at(self.merging.wants_loops, self.merging.lengths_to_look_at())
        if not call.takes_ints:
            return self._recorded(recorder, bound)
        if missed is None:
            is_allowed = may_be_data(self._function.f)
        else:
            is_allowed = self._function.ints.allows_path(missed[0].tape, missed[1].ordinal)
        try:
            if is_allowed:
                tape = self._recorded(recorder, bound)
                check_parameters(tape)
                return tape
            error = None
        except (Refused, _Stopped):
            raise
        except Exception as raised:  # noqa: BLE001 -- also an error of the function's own: plain Python decides
            error = raised
        self.misses -= 1  # the call is made again
        raise IntNeeded from error

    def _recorded(self, recorder: Recorder, bound: BoundCall) -> Tape:
        try:
            tape = recorder.run(record_bound, bound)
        except (Exception, RecordingStopped):
            if recorder.is_stopped:
                raise _Stopped(recorder, recorder.is_long) from None
            raise
        if recorder.is_stopped:
            raise _Stopped(recorder, recorder.is_long)  # the function has caught it
        check_numbers(recorder)
        self._filled = recorder.fills
        return tape


def _is_of_an_operation(error: Exception) -> bool:
    """Whether a callee of the merged form was recorded at a call, and an operation refuses what is data there and was Python's before.

    So it is with an int to the power of -1, or the negative of a bool. What the recording of the plain function raises is its own.
    """
    if not isinstance(error, (TypeError, ValueError)):
        return False
    codes = [frame.f_code for frame, _ in walk_tb(error.__traceback__)]
    return Recorder.apply.__code__ in codes and PathRecorder._form.__code__ not in codes


@cache
def _logger() -> Logger:
    """Asked for once: logging takes a lock for it, which an interrupt could leave taken."""
    return sys.modules["logging"].getLogger("tapediff")
