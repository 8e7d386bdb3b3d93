"""Merging: which form of a guarded function is recorded, its plain one or that with branches as selects."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...base.source_location import Site
from ...errors import (
    ArgumentMismatch,
    GuardFailed,
    StaleTape,
)
from ...functions.callees.path_messages import site_of
from ...functions.merging.merged_function import MOST_ATTEMPTS, MergedFunctions, is_of_mask, is_of_positions
from ...functions.merging.prepare.closures import users_functions
from ...functions.merging.prepare.long_loops.which_loops import Nest
from ...functions.merging.prepare.source import lines_that_end_loops
from ...functions.merging.prepare.state_changes import first_change
from ...functions.merging.rules import Refused
from ...ir.instruction import FLOAT64, Guard, Operand, Tree, UserFunction, ValueType
from ...ir.interpreter import run
from ...ir.serialize import State
from ...ir.tape import Tape
from ...recording import record
from ...recording.arguments.bind_call import BoundCall
from ...recording.record import lengths_to_look_at
from ...recording.recorder import Recorder
from ..margins import apart
from ..tapes.gradient_tape import gradient_tape
from ..tapes.long_loops import LoopCalls
from ..tapes.slow_recordings import fewest_turns, fewest_turns_of_long
from .keyed_call import CallKey, GuardedFunction, KeyedCall
from .payoff import Payoff
from .staleness import check_fresh, is_surely_fresh
from .variant import Answer, Variant

# Branches are merged when the recordings have taken so many paths.
PATHS_BEFORE = 3
# Or at once, when a line has had so many outcomes of either kind in one recording: hardly two calls take the same path.
OUTCOMES_AT_ONCE = 16
# Recordings of more instructions, with a loop that a value has ended after many turns, take too long for there to be more of them.
LONGEST_PATH = 1_000
# After so many recordings of one form more, on other paths, one turn is recorded of the loops in which they part.
RECORDINGS_BEFORE_LOOPS = 2
# If these have so many turns, by themselves and in a nest; where it is asked, of what the latest recording had.
PARTING, AT = Nest(10, 20), (0.25, 0.5, 0.75)
# And for good when so many more have been recorded since the merged form was found not to pay.
PATHS_AGAIN = 16
# So many calls after a change the plain function is run beside its tape: up to the tenth one, if each call before has recorded a path.
TRIALS = 7
# Fewer where the plain function takes long: each of these seconds is as good as a call more.
SECONDS_OF_TRIAL = 0.2
# A merged tape that parts as often as before is worth its recording where it is so many times as long.
WORTH_OF_LENGTH = 0.5
# Gradients of longer tapes take too long with NumPy.
LONGEST_COMPARED = 5_000
# Two forms of a gradient add in other orders.
SAME_GRADIENT = 1e-7


class Merging:
    """The form of one guarded function that is recorded.

    Args:
        wanted: True: from the first recording that looks at a value; None: after a few paths, or one on which a branch
            goes either way many times; False: never.

    Attributes:
        is_on: the merged form is recorded.
        failed: why nothing is merged any more; None while something may be.
        trials_left: calls that are still compared with the plain function.
        version: of the form, which changes with it.
        payoff: what the calls that are compared tell about the costs of both forms; None where that decides nothing.
        returned: the tapes of the paths are used again, because the merged form does not pay.
        weighed: how the costs compare.
    """

    def __init__(self, function: GuardedFunction, wanted: bool | None) -> None:
        if wanted not in (True, False, None):
            raise ArgumentMismatch("merge is True, False or None", got=repr(wanted), fix="merge=True")
        self._function, self.wanted = function, wanted
        self._loops = LoopCalls()
        self.functions = MergedFunctions(self._loops.while_loop, scan=self._loops.scan)
        self.is_on = False
        self.failed: str | None = None
        self.trials_left = 0
        # Counts the forms, so that outcomes of one are not taken for those of another.
        self.version = 0
        self.payoff: Payoff | None = None
        self.returned, self.weighed = False, ""
        self._attempts = 0
        # This is a copy of one that was merged; and the merged form is used for good.
        self._was_merged = self._is_final = False
        # The merged form that was recorded last had no branch merged.
        self._had_none = False
        # It is recorded for its long loops alone.
        self._is_for_loops = False
        # How often the plain form was recorded, for each kind of call.
        self._paths: Counter[CallKey] = Counter()
        # How often the form that is recorded now was; and how many instructions it had, while it is asked for the loops of these paths.
        self._recordings, self._length = 0, 0
        # The length of the latest tape of the plain form.
        self._plain_length = 0
        # The loops of the paths have been asked for.
        self._has_parted = False

    @property
    def longest(self) -> int | None:
        """Beyond so many instructions it is asked whether a recording is stopped: the first plain one, or one of a merged form."""
        is_first = not self.is_on and not self.functions.has_guards and not self._paths
        is_asked = self.failed is None and self.wanted is not False
        return LONGEST_COMPARED if is_asked and (is_first or self.is_on) else None

    def stops(self, beginning: Tape, recorder: Recorder) -> bool:
        """Whether another form would be recorded next, so that the rest of a long recording is of no use.

        Where it comes from loops that will make it much longer, these are noted.
        """
        if self.is_on:
            return self.functions.tells_news(beginning.guards)
        if self.wanted:
            return True
        if not _is_due_at_once(beginning) or self._changes_more():
            return False
        if recorder.look is not None:
            lines, (_, count) = recorder.users_lines(), Counter(guard.site for guard in beginning.guards).most_common(1)[0]
            if len(beginning) * self.functions.turns_around(lines) > record.LONG * count:
                self.functions.note_long_loops(lines, fewest_turns_of_long(recorder))
        return True

    def _changes_more(self) -> bool:
        """Whether the function changes more than its results."""
        return any(map(first_change, users_functions(self._function.f)))

    def lengths_to_look_at(self) -> list[int]:
        """At how many instructions wants_loops is asked."""
        ours = [int(self._length * part) for part in AT] if self._length else []
        return ours + [length for length in lengths_to_look_at() if length > max(ours, default=0)]

    def wants_loops(self, recorder: Recorder) -> bool:
        """Whether a recording that has become long, or takes ever another path, comes from loops of which one turn can be recorded.

        These are noted.
        """
        if self.wanted is False or self.failed is not None or self._changes_more():
            return False
        is_short = len(recorder.instructions) <= self._length
        self._has_parted |= is_short
        least = PARTING if is_short else fewest_turns(recorder, bool(self.functions.long_loops))
        if least is None:
            return False
        if self.functions.note_long_loops(recorder.users_loops(), least):
            return self._merged() is not None
        # A recording that has become as long again without a loop of one turn will not have one.
        return self._is_in_vain and len(recorder.instructions) >= record.LONG

    def take_loops(self, beginning: Tape) -> None:
        """Record one turn of these loops from now on; the first answer is compared with the plain function's.

        Args:
            beginning: of the recording that has become long. Lines that have looked at values with either outcome do so in most turns.
        """
        if self._is_in_vain:
            self._leave()
            return
        guards = [guard for guard in beginning.guards if type(guard.outcome) in (bool, int)]
        outcomes = {(guard.site, guard.outcome) for guard in guards}
        both_ways = [guard for guard in guards if (guard.site, not guard.outcome) in outcomes]
        self.functions.note_guards(both_ways)
        self._is_for_loops = not (self.is_on or both_ways)
        self.is_on = self._changes()
        if not self.functions.lines:
            self.trials_left = 0

    def note_trial(self, seconds: float) -> None:
        """Note that a call was compared with the plain function, which has taken so many seconds for it."""
        self.trials_left = max(self.trials_left - 1 - int(seconds / SECONDS_OF_TRIAL), 0)

    @property
    def is_plain(self) -> bool:
        """Whether the plain function is recorded."""
        return not self.is_on or self._merged() is None

    def _merged(self) -> UserFunction | None:
        """The merged form of the function; None if there is none, or it cannot be made."""
        try:
            return self.functions.of(self._function.f)
        except Exception as error:  # noqa: BLE001 -- of the rewriting, which no user is to see
            self.fail(f"{type(error).__name__}: {error}")
            return None

    def form(self, call: KeyedCall) -> BoundCall | None:
        """The call of the merged form of the function; None where the plain one is to be recorded."""
        if not self.is_on:
            return None
        self._loops.has_any = False
        merged = self._merged()
        if merged is None or not all(value.dtype in _DTYPES for value in map(np.asarray, call.bound.inputs)):
            return None
        return self._function.bound(merged, call)

    def note(self, tape: Tape, key: CallKey, most_paths: int) -> bool:
        """Note where a recording looked at values; whether another form is to be recorded now, as this one is to be dropped.

        Args:
            key: of the call.
            most_paths: how many tapes are kept.
        """
        if self.wanted is False or self.failed is not None:
            return False
        is_news = self.functions.note_guards(tape.guards)
        self._recordings += 1
        parts = self._recordings > RECORDINGS_BEFORE_LOOPS and not self._has_parted and tape.guard_count >= PARTING.turns
        self._length = len(tape) if parts else 0
        if self.is_on:
            self._is_for_loops &= not is_news
            return is_news and self._changes()
        self._paths[key] += 1
        self._plain_length = len(tape)
        if self.returned:
            return self._paths.total() >= min(PATHS_AGAIN, most_paths) and self._returns_for_good()
        is_due = self.wanted or self._was_merged or self._paths[key] >= PATHS_BEFORE or _is_due_at_once(tape)
        if not self.functions.has_guards or not is_due:
            return False
        if self._had_none and not is_news:
            return False
        self._is_for_loops, self.is_on = False, self._changes()
        return self.is_on

    def _changes(self) -> bool:
        was_on = self.is_on
        if self._merged() is None:
            return was_on and not self.is_on
        self.trials_left = TRIALS
        self.version += 1
        self._recordings = 0
        return True

    def _returns_for_good(self) -> bool:
        self.weighed = f"{self.weighed}; after {self._paths.total()} more recordings it is used for good"
        self.is_on, self.returned, self._is_final = self._changes(), False, True
        return self.is_on

    def compare_again(self, known: Sequence[Variant]) -> None:
        """Weigh the costs of both forms in the calls that are compared; `known`: the tapes of paths."""
        if self.wanted is None and not (self._was_merged or self._is_final):
            self.payoff = Payoff(known)

    def weigh(self, most_paths: int) -> bool:
        """Whether the merged form, which has been compared now, is to be left because it does not pay."""
        payoff, self.payoff = self.payoff, None
        if payoff is None:
            return False
        self.returned, self.weighed = payoff.verdict(most_paths)
        if self.returned:
            self.is_on = False
            self._paths.clear()
            self.version += 1
        return self.returned

    def leave_in_vain(self, tape: Tape) -> bool:
        """Go back to the plain form if none of the branches that a recording of the merged form came to is merged, and no loop; or if it
        parts as often as before, by branches that are not merged, and is no shorter for its loops."""
        is_in_vain = self._is_in_vain or not any(self.functions.sites.values())
        is_shorter = self._loops.has_any and len(tape) < WORTH_OF_LENGTH * self._plain_length
        parts = self.wanted is None and not is_shorter and _parts_often(tape) and not self.functions.has_news(tape.guards)
        self._had_none = self.is_on and (is_in_vain or parts)
        if self._had_none:
            self._leave()
        return self._had_none

    @property
    def _is_in_vain(self) -> bool:
        """Whether the merged form is recorded for its long loops, and all their turns were."""
        return self.is_on and self._is_for_loops and not self._loops.has_any

    def _leave(self) -> None:
        """Go back to the plain form."""
        self.is_on, self.trials_left, self.payoff, self._had_none = False, 0, None, True
        self.functions.sites.clear()
        self.version += 1

    def lower(self, error: Exception) -> bool:
        """Give up what led to an error while the merged form was recorded or compared; whether there was such a form."""
        if not self.is_on:
            return False
        self._attempts += 1
        self.version += 1
        if isinstance(error, Refused) and self._attempts <= MOST_ATTEMPTS:
            self.functions.refuse(error)
            return True
        if not isinstance(error, Refused) and self.functions.leave_entries():
            return True
        self.fail(f"{type(error).__name__}: {error}")
        return True

    def fail(self, why: str) -> None:
        """Merge nothing any more."""
        # Tapes of the plain form stay what they are.
        self.version += self.is_on
        self.is_on, self.failed, self.trials_left, self.payoff = False, why, 0, None

    def expected(self, tape: Tape, call: KeyedCall, plain: Tape | None) -> Expected | None:
        """What the first answer of a merged tape has to be, where it was recorded; where that is no gradient, compare its replay.

        Args:
            plain: a tape of the plain function that holds there, for its gradient.

        Raises:
            StaleTape: they differ.
        """
        if not call.bound.argnums or tape.output_types != _A_NUMBER or tape.aux is not None:
            return self.check(tape, call, plain)
        function = np.errstate(all="ignore")(call.bound.function)
        result = function(*[np.array(value, order="C")[()] for value in call.bound.inputs])
        return Expected(tape, call.bound, plain, result, _gradients_of(plain, call.bound.argnums, call, len(tape)))

    def check(self, tape: Tape, call: KeyedCall, plain: Tape | None) -> None:
        """Compare the replay of a merged tape with the plain function at the point of a call, as `expected`."""
        check_fresh(tape, call.bound.function, call.bound.inputs, site_of(self._function.f))
        wrt = tuple(k for k, is_active in enumerate(call.bound.active) if is_active)
        if tape.output_types != _A_NUMBER:
            return
        theirs = _gradients_of(plain, wrt, call, len(tape))
        ours = None if theirs is None else _gradients_of(tape, wrt, call, 0)
        for mine, other in zip(ours or (), theirs or ()):
            if not _is_close(np.asarray(mine), np.asarray(other)):
                at = site_of(self._function.f)
                raise StaleTape("the gradient of the merged form differs", at=at, got=f"{mine} and {other}", tape_value=mine,
                                function_value=other)  # fmt: skip

    @property
    def state(self) -> State:
        """What a copy in another process has to know."""
        return {"was_merged": self.is_on, "returned": self.returned, "weighed": self.weighed, "failed": self.failed}

    def restore(self, state: State) -> None:
        self._was_merged, self.returned = state["was_merged"], state["returned"]
        self.weighed, self.failed = state["weighed"], state["failed"]

    def first_reason(self) -> str:
        """Why the first branch that stays one does so; empty where merging was not tried."""
        if self.failed is not None:
            return self.failed
        return next(iter(self.functions.reasons()), "")

    def report(self, tapes: Sequence[Tape]) -> Sequence[str]:
        """What explain() says of it; `tapes`: all that are kept."""
        if self.failed is not None:
            return [f"no branches are merged: {self.failed}"]
        if self.returned:
            return [f"branches can be merged, but one tape for each path is faster: {self.weighed}"]
        report = self.functions.report(tapes) if self.is_on or self.functions.refused else []
        return [*report, f"  the merged form stays: {self.weighed}"] if self.weighed and self.is_on else report


class Expected(NamedTuple):
    """What the first gradient by a merged tape has to be: so its kernel is compared, and nothing is replayed for that.

    Attributes:
        bound: the call that it was recorded for.
        plain: as of Merging.expected.
        result: what the plain function gave.
        gradients: those of the plain tape; None where there is none, or it is long.
    """

    tape: Tape
    bound: BoundCall
    plain: Tape | None
    result: Tree
    gradients: Sequence[Operand] | None

    def is_met(self, answer: Answer) -> bool:
        """Whether an answer is this one but for rounding."""
        value, gradients = answer
        if not is_surely_fresh(self.tape, value, self.result):
            return False
        return all(_is_close(np.asarray(mine), np.asarray(other)) for mine, other in zip(gradients, self.gradients or ()))


def _gradients_of(tape: Tape | None, wrt: tuple[int, ...], call: KeyedCall, length: int) -> Sequence[Operand] | None:
    """The gradients by the replay of a tape at a call; None where it does not hold there, is long, or compared with a long one."""
    if tape is None or max(len(tape), length) > LONGEST_COMPARED:
        return None
    try:
        return run(gradient_tape(tape, wrt), call.bound.inputs)[1:]
    except GuardFailed:
        return None


_A_NUMBER = (ValueType((), FLOAT64),)

Method = TypeVar("Method", bound=Callable[..., Any])


def again_unmerged(method: Method) -> Method:
    """A method of a GuardedTape that answers in full: with the tapes for what the function reads now, and called again where a merged
    branch has met what it was not made for, at run time."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        self.refresh()
        while True:
            try:
                return method(self, *args, **named)
            except Exception as error:
                if not self.went_unmerged(error):
                    raise

    return call  # type: ignore[return-value]  # of the same signature


def _is_due_at_once(tape: Tape) -> bool:
    """Whether hardly two calls take the path of a recording, or one that begins like it."""
    if _parts_often(tape) or (tape.looks_at_arrays and any(map(_is_hardly_met_again, tape.guards))):
        return True
    return not tape.outputs and _is_in_long_loop(tape)


def _is_hardly_met_again(guard: Guard) -> bool:
    """Whether a guard is on positions, or on a mask of many entries."""
    return is_of_positions(guard) or (is_of_mask(guard) and np.size(guard.outcome) >= OUTCOMES_AT_ONCE)


def _is_in_long_loop(beginning: Tape) -> bool:
    """Whether a recording has come to many turns of a loop that a value is to end."""
    counts = Counter(guard.site for guard in beginning.guards if type(guard.outcome) is bool and isinstance(guard.site, Site))
    return any(count > OUTCOMES_AT_ONCE and site.line in lines_that_end_loops(site.code) for site, count in counts.items())


def _parts_often(tape: Tape) -> bool:
    """Whether many calls of one branch have gone either way, or a long tape has a loop of many turns that a value has ended."""
    if tape.guard_count <= OUTCOMES_AT_ONCE:
        return False
    outcomes = [(guard.site, guard.outcome) for guard in tape.guards if type(guard.outcome) is bool]
    counts, last = Counter(outcomes), dict(outcomes)
    fewest = 1 if len(tape) > LONGEST_PATH else OUTCOMES_AT_ONCE
    return any(
        min(count, other) >= OUTCOMES_AT_ONCE or (count == fewest == 1 and last[site] is outcome and other >= OUTCOMES_AT_ONCE)
        for (site, outcome), count in counts.items()
        for other in [counts[site, not outcome]]
    )


_DTYPES = (FLOAT64, np.dtype(np.int64), np.dtype(np.bool_))


@np.errstate(all="ignore")
def _is_close(ours: Any, theirs: Any) -> bool:
    same = (ours == theirs) | ((ours != ours) & (theirs != theirs))
    largest = np.max(np.abs(theirs), initial=0.0, where=np.isfinite(theirs))
    return bool(np.all(same | (apart(ours, theirs) <= SAME_GRADIENT * largest)))
