"""GuardedTape: a function with real Python branches, kept as one compiled tape per path and dispatched on guards."""

from __future__ import annotations

import copy
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..base.fork_locks import new_lock
from ..base.held_locks import holding
from ..compiler.runtime.status import KEPT, PENDING, REFUSED
from ..errors import ArgumentMismatch, NonScalarOutput, TrackedValueEscaped
from ..functions.path_messages import check_prescribed, site_of, warn
from ..ir.arguments import chosen_arguments, unwrap
from ..ir.instruction import FLOAT64, ValueType, is_tracked
from ..ir.interpreter import GuardFailure, inline, run
from ..ir.keys import static_key, value_key
from ..ir.outputs import check_out, deliver
from ..ir.tape import Tape
from ..numpy_api.whole_numbers import check_parameters
from ..recording.bind_call import BoundCall, bind_call, positional
from ..recording.int_arguments import ANY_INT_KEY, AnyInt, IntArguments, IntNeeded, may_be_data
from ..recording.randomness import Draws
from ..recording.record import plain_value
from ..recording.recorder import Recorder, current_recorder
from ..recording.static import Static
from .compiled_tape import raise_pending
from .derived_tapes import gradient_tape
from .fast_path import ShortWay, unknown_yet
from .guard_report import (
    LastMiss,
    Reason,
    Specialisation,
    Stats,
    budget_text,
    coarse_guard_text,
    explanation,
    last_miss,
    new_tape_error,
    new_tape_text,
    unstable,
)
from .guarded_state import guarded_state, restore_guarded
from .margins import Margin, check_fresh, margins
from .native.native_calls import GuardedCalls
from .nested_recording import record_nested
from .shared_programs import Programs
from .tape_cache import KeptTapes
from .variant import Variant

Argnums = int | Sequence[int]

# Guard values whose equality, with their type, is equality of bits.
PLAIN = (bool, int, str, type(None), np.bool_)

# explain() gives the reasons of this many recordings, the latest ones.
REASONS_KEPT = 1000


ON_NEW_TAPE = ("compile", "interpret", "raise", "warn")

# With on_new_tape="interpret": a path is worth compiling when NumPy has answered on it this often.
INTERPRETED_ANSWERS = 10


# attempt(variant, settled) gives the answer, or the GuardFailure at a guard.
Attempt = Callable[[Variant, int], Any]


class _Call(NamedTuple):
    """A call as the cache sees it."""

    bound: BoundCall
    key: tuple[Any, ...]
    specialisation: Specialisation
    args: Sequence[Any]
    argnums: tuple[int, ...]

    @property
    def takes_ints(self) -> bool:
        """Whether ints are data."""
        return any(kind is AnyInt for _, kind, _ in self.bound.static)


class _Asked(NamedTuple):
    """What the user's guard gave, where no tape could be chosen by it."""

    value: Any

_INFO = 20  # logging.INFO


@cache
def _logger() -> Any:
    """Asked for once: logging takes a lock for it, which an interrupt could leave taken."""
    return sys.modules["logging"].getLogger("tapediff")


class GuardedTape(ShortWay, GuardedCalls):
    """A function that follows its Python branches: one compiled tape for each path, recorded when it is first taken.

    Values that Python looked at while recording (`if`, `while`, `int(x)`, masks) are guards. A call runs the tape used
    last; where one of its guards comes out differently, the tape for that outcome; and where there is none, f is
    recorded again and compiled.

    Args:
        f: the function, in plain NumPy; returns a real scalar for td.gradient, anything td.record takes for safe(x).
        guard: called as guard(*args) once per call, on plain floats and read-only arrays; tapes are kept apart by what
            it returns (None, bool, number, string, array, or a tuple, enum or frozen dataclass of these). Guards found
            by recording hold all the same.
        max_tapes: how many tapes are kept; the one not used for the longest time is dropped for a new one.
        compile_after: how many answers of a new tape are replayed with NumPy before it is compiled; 0 unless given, with
            on_new_tape="interpret" 10.
        on_new_tape: what a call does for which no tape is kept. "compile": record and compile one. "interpret": record one
            and answer by replaying it with NumPy, at once. "warn": as "compile", with a GuardWarning for each tape after the
            first. "raise": NewTape, once there is a tape. May be set later, as `safe.on_new_tape = "raise"` after a warm-up.
        check_every: every so many calls the plain function is run beside its tape, once more and on plain arrays; 0 is never.
        name: what messages call the function.
        static: td.static(...), the arguments to specialise on: a tape is kept for each value that they take.

    Raises:
        UnstableBranch: two sides of a branch disagree about a near tie, so that neither can answer.
        InvalidGuardValue: the guard returned something that cannot be a key.
        NewTape: with on_new_tape="raise", no kept tape will do; the kept ones stay as they are.
        StaleTape: at a check, the function gave another value than its tape, by more than rounding.

    Inside a recording, and on tracked arguments, f runs as itself: its operations and guards become part of that
    recording. Whatever else f depends on is part of its tapes as it was when they were recorded: globals, closures,
    random numbers, clocks; check_every notices when these change. Safe to use from several threads at once.

    An int argument is data from its second value on, computed with as Python does: a step number costs no recordings but those of
    its paths. Where Python needs its value, as for range(t), it is specialised on, and recorded anew for each value.

    Cost: with one float64 array as argument and no `guard`, a hit adds 0.02 µs to the compiled tape's own call; one on another
    path, seen before from the tape used last, a partial run of that one. Otherwise these are 0.1 and 0.5 µs. Other hits take
    about 30 µs. A new path costs one recording and one compilation; a check costs one call of f and one NumPy replay.
    """

    def __init__(
        self, f: Callable[..., Any], guard: Callable[..., Any] | None = None, *,
        max_tapes: int = 64, compile_after: int | None = None, name: str | None = None,
        on_new_tape: str = "compile", check_every: int = 0, static: Static | None = None,
    ) -> None:  # fmt: skip
        if not callable(f) or isinstance(f, (Tape, GuardedTape)) or hasattr(f, "attempt"):
            raise ArgumentMismatch("td.GuardedTape takes the plain function, which it records itself",
                                   got=type(f).__name__, fix="td.GuardedTape(f)")  # fmt: skip
        if guard is not None and not callable(guard):
            raise ArgumentMismatch("guard must be a function of f's arguments", got=type(guard).__name__,
                                   fix="td.GuardedTape(f, guard=lambda x: x[0] > 1)")  # fmt: skip
        if max_tapes < 1 or (compile_after or 0) < 0 or check_every < 0:
            raise ArgumentMismatch(
                "max_tapes must be at least 1, compile_after and check_every at least 0",
                got=f"max_tapes={max_tapes}, compile_after={compile_after}, check_every={check_every}",
            )
        self.f = f if static is None else static(f)
        self.guard, self.max_tapes, self.check_every = guard, max_tapes, check_every
        self._compile_after = compile_after
        self.on_new_tape = on_new_tape
        self.name = name or getattr(f, "__name__", type(f).__name__)
        self._guard_site = "" if guard is None else site_of(guard)
        self._kept = KeptTapes()
        self._programs = Programs()
        # Held while a path is recorded and kept; calls that a kept tape answers never take it.
        self._lock = new_lock()
        self._reasons: deque[tuple[int, Reason]] = deque(maxlen=REASONS_KEPT)
        self._misses = self._recordings = 0
        self._seconds_recording = 0.0
        self._warned_budget = self._warned_coarse = self._warned_draws = False
        self._last_miss: LastMiss | None = None
        self._calls_to_check = check_every
        self._ints = IntArguments()
        self._short: Callable[..., Any] = unknown_yet
        self._shape: tuple[int, ...] = ()
        self._dtype = FLOAT64

    @property
    def on_new_tape(self) -> str:
        """What a call does for which no tape is kept: "compile", "interpret", "raise" or "warn"."""
        return self._on_new_tape

    @on_new_tape.setter
    def on_new_tape(self, chosen: str) -> None:
        if chosen not in ON_NEW_TAPE:
            raise ArgumentMismatch("on_new_tape is one of " + ", ".join(map(repr, ON_NEW_TAPE)), got=repr(chosen))
        self._on_new_tape = chosen
        default = INTERPRETED_ANSWERS if chosen == "interpret" else 0
        self.compile_after = default if self._compile_after is None else self._compile_after

    # Calls

    def answer(self, args: Sequence[Any], argnums: Argnums, out: Any, named: dict[str, Any], met: Any) -> Any:
        """See ShortWay."""
        if met == KEPT and (raised := self.take_error()) is not None:
            raise raised
        if met == PENDING:
            raise_pending()
        if named:
            args = positional(self.f, args, named)
        return self._value_and_gradient(args, argnums, out, (met.value,) if type(met) is _Asked else ())

    def _short_by_last(self, *args_and_target: Any) -> Any:
        """The short way where native code cannot choose the tape: the one used last, or last under the user's guard value."""
        *args, target = args_and_target
        variant, unknown = self._kept.last, REFUSED
        if self.guard is not None:
            value = self.guard(*[_for_guard(a) for a in args])
            unknown = _Asked(value)
            variant = self._kept.last_under.get((type(value), value)) if type(value) in PLAIN else None
            if variant is not None:
                self._kept.touch(variant)
        if variant is None or variant.call is None:
            return unknown
        met = variant.call(*args, target)
        if type(met) is float:
            variant.hits += 1
        elif type(met) is complex:
            met = self._jump(variant, met, args, target)
        return met if type(met) is float or met == PENDING else unknown

    def _jump(self, variant: Variant, missed: complex, args: Sequence[Any], target: Any) -> float | None:
        """Go from a failed guard straight to the tape that answered there before; None where the full path must look.

        `missed` is what a kernel returns for a guard: its position and the outcome it met.
        """
        settled, met = 0.0, missed
        found: Variant | None = variant
        while type(met) is complex and met.real > settled:
            settled = met.real
            found = found.jumps.get(met)
            if found is None or found.call is None:
                return None
            met = found.call(*args, target)
        if type(met) is not float:
            return None
        found.hits += 1
        self._kept.touch(found)
        if self.guard is None:
            self._kept.last = found
        return met

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The function's value: a float, an array, or a tuple as f returns it."""
        if named:
            args = positional(self.f, args, named)
        if _is_recording(args):
            bound = bind_call(self.f, args, ())
            return bound.function(*bound.inputs)
        return self._answered(self._call(args, ()), lambda call: self._attempt(call, None, None))[2][0]

    def tape_for(self, args: Sequence[Any]) -> tuple[Tape, list[Any]]:
        """The tape whose path holds at `args`, and its inputs there, for derivatives of any kind.

        Its guards are decided by NumPy's replay, as those of the tapes derived from it will be.
        """
        if _is_recording(args):
            return record_nested(bind_call(self.f, args, ()))
        call, variant, _ = self._answered(
            self._call(args, ()),
            lambda call: lambda variant, settled: variant.replay(None, call.bound.inputs, None, settled),
        )
        return variant.program.tape, [*call.bound.inputs, *variant.constants]

    def _value_and_gradient(
        self, args: Sequence[Any], argnums: Argnums, out: Any, asked: tuple[Any, ...] = ()
    ) -> tuple[Any, Any]:
        """The full path: any layout, floats, td.Constant, several gradients; another tape, or a new one."""
        numbers, several = chosen_arguments(argnums, len(args), self.name)
        if _is_recording(args):
            return self._inlined(bind_call(self.f, args, numbers), out, several)
        call = self._call(args, numbers, asked)
        inputs, numbers = call.bound.inputs, call.bound.argnums
        check_out(out, [ValueType(inputs[k].shape, inputs[k].dtype) for k in numbers], several)
        outs = None if out is None else (list(out) if several else [out])
        call, variant, (value, gradients) = self._answered(
            call, lambda call: self._attempt(call, call.bound.argnums, outs)
        )
        if numbers == (0,) and variant.is_direct and variant.compiled.seconds:
            self._shorten(call, variant)
        if out is not None:
            return value, out
        gradients = [g[()] if g.shape == () else g for g in gradients]
        return value, tuple(gradients) if several else gradients[0]

    def _shorten(self, call: _Call, variant: Variant) -> None:
        """Let the next call of this kind go the short way."""
        kernel_call = variant.compiled.kernel((0,)).call
        variant.call = self._counted(kernel_call) if self.check_every else kernel_call
        for key in call.specialisation.guard_value:
            if type(key) in PLAIN:
                self._kept.last_under[type(key), key] = variant
        self._shape, self._dtype = variant.shape, variant.dtype
        self._short = self.native_way(variant) or self._short_by_last

    def answer_at(self, x: np.ndarray) -> tuple[Variant, float, Any]:
        """The tape that answers at x, the value, and the gradient; for calls from compiled code."""
        _, variant, (value, gradients) = self._answered(
            self._call((x,), (0,)), lambda call: self._attempt(call, (0,), None)
        )
        return variant, value, gradients[0]

    def _inlined(self, call: BoundCall, out: Any, several: bool) -> tuple[Any, Any]:
        """Inside a recording: f may use its values, so nothing is kept, and the gradient's operations are recorded."""
        tape, inputs = record_nested(call)
        joint = gradient_tape(tape, call.argnums)
        tracked = any(is_tracked(value) for value in inputs)
        value, *gradients = inline(joint, inputs) if tracked else run(joint, inputs)
        return value if tracked else float(value), deliver(gradients, out, several)

    def _answered(self, call: _Call, attempts: Callable[[_Call], Attempt]) -> tuple[_Call, Variant, Any]:
        """Follow a call to its answer, with its ints as data where no recording needs them otherwise."""
        self._check_when_due(call)
        try:
            return call, *self._follow(call, attempts(call))
        except IntNeeded:
            needed = self._ints.data(call.args)
        # What plain Python raises here may have nothing to do with the ints, which are specialised on for good where it does not.
        call = self._call(call.args, call.argnums, call.specialisation.guard_value, with_data=False)
        variant, answer = self._follow(call, attempts(call))
        self._ints.specialised |= {*needed}
        return call, variant, answer

    def _call(
        self, args: Sequence[Any], argnums: tuple[int, ...], asked: tuple[Any, ...] = (), with_data: bool = True
    ) -> _Call:
        bound = bind_call(self.f, args, argnums, self._ints.data(args) if with_data else ())
        types = tuple(ValueType(a.shape, a.dtype) for a in bound.inputs)
        static = tuple(
            (position, ANY_INT_KEY if kind is AnyInt else static_key(value)) for position, kind, value in bound.static
        )
        value = asked
        if self.guard is not None and not asked:
            value = (self.guard(*[_for_guard(a) for a in args]),)
        guard_key = () if self.guard is None else value_key(value[0], self._guard_site)
        key = types, bound.active, static, guard_key
        return _Call(bound, key, Specialisation(types, bound.static, value), args, argnums)

    def _attempt(self, call: _Call, argnums: tuple[int, ...] | None, outs: Any) -> Attempt:
        """How a tape is tried: replayed with NumPy while it is new, by its kernel from then on."""

        def attempt(variant: Variant, settled: int) -> Any:
            try:
                if variant.replays >= self.compile_after:
                    return variant.attempt(argnums, call.bound.inputs, outs)
                answer = variant.replay(argnums, call.bound.inputs, outs, settled)
            except NonScalarOutput:
                # A path that has no gradient refuses the points on it, and no others.
                answer = variant.replay(None, call.bound.inputs, None, settled)
                if type(answer) is not GuardFailure:
                    raise
            variant.replays += type(answer) is not GuardFailure
            return answer

        return attempt

    # Checks against the plain function

    def _counted(self, kernel_call: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel that refuses the call at which a check is due, so that it takes the full path, which checks."""

        def call(*arguments: Any) -> Any:
            left = self._calls_to_check
            if left <= 1:
                return REFUSED
            value = kernel_call(*arguments)
            if type(value) is float:
                self._calls_to_check = left - 1
            return value

        return call

    def _check_when_due(self, call: _Call) -> None:
        """Compare the plain function with the tape kept for this point; where there is none, the next call is checked."""
        if not self.check_every:
            return
        self._calls_to_check -= 1
        if self._calls_to_check > 0:
            return
        tape = self._kept_tape(call)
        if tape is not None:
            check_fresh(tape, call.bound.function, call.bound.inputs, site_of(self.f))
            self._calls_to_check = self.check_every  # not after a failure: the next call is checked as well

    def _kept_tape(self, call: _Call) -> Tape | None:
        """The kept tape whose path holds at this point by NumPy's word; nothing is recorded or counted."""
        variant = self._kept.last_with(call.key)
        settled = 0
        while variant is not None:
            answer = variant.replay(None, call.bound.inputs, None, settled)
            if type(answer) is not GuardFailure:
                return variant.tape
            settled = answer.ordinal + 1
            variant = variant.sibling(answer)
        return None

    # Paths

    def _follow(self, call: _Call, attempt: Attempt) -> tuple[Variant, Any]:
        """Try tapes, the one used last first, until one holds at this point; record one where there is none.

        Every failed guard settles one outcome more, by the word of the tape that failed. A tape that is asked to
        reconsider one that is settled disagrees with its sibling, and the call ends: it never goes back and forth.
        """
        settled: tuple[Any, ...] = ()
        missed: tuple[Variant, GuardFailure] | None = None
        variant = self._kept.last_with(call.key)
        is_new = False
        hops: list[tuple[Variant, GuardFailure, Variant]] = []
        while True:
            if variant is None:
                variant, is_new = self._record(call, settled, missed)
            if missed is not None:
                hops.append((*missed, variant))
            answer = attempt(variant, len(settled))
            if type(answer) is not GuardFailure:
                variant.hits += not is_new
                self._kept.note_use(variant)
                for left, miss, taken in hops:
                    left.note_jump(miss, taken)
                return variant, answer
            if answer.ordinal < len(settled):
                raise unstable(variant.tape.guards[answer.ordinal], answer.outcome)
            settled = (*variant.outcomes[: answer.ordinal], answer.outcome)
            missed = (variant, answer)
            variant = variant.sibling(answer)

    def _record(
        self, call: _Call, settled: tuple[Any, ...], missed: tuple[Variant, GuardFailure] | None
    ) -> tuple[Variant, bool]:
        """A tape that starts with the settled outcomes, and whether it is new: another thread may have made it."""
        messages: list[str] = []
        variant, is_new = self._find_or_record(call, settled, missed, messages)
        # Nobody listens where nobody has imported logging, which takes 15 ms.
        if is_new and "logging" in sys.modules and _logger().isEnabledFor(_INFO):
            _logger().info(
                "recorded tape %d of %s, %d instructions in %.4f s: %s",
                variant.number, self.name, len(variant.tape), variant.seconds, variant.reason,
            )  # fmt: skip
        for message in messages:
            warn(message)
        return variant, is_new

    @holding("_lock")
    def _find_or_record(
        self, call: _Call, settled: tuple[Any, ...], missed: tuple[Variant, GuardFailure] | None, messages: list[str]
    ) -> tuple[Variant, bool]:
        found = self._kept.find(call.key, settled)
        if found is not None:
            return found, False
        self._misses += 1
        guard = missed[0].tape.guards[missed[1].ordinal] if missed is not None else None
        reason = Reason(call.specialisation, guard, missed[1].outcome if missed is not None else None)
        kept = self._kept.all()
        self._last_miss = miss = last_miss(reason, call.key, missed, call.bound.inputs, kept)
        if self._on_new_tape == "raise" and kept:
            raise new_tape_error(self.name, miss, self.f)
        draws = None if self._warned_draws else Draws((self.f,), [value for _, _, value in call.bound.static])
        started = time.perf_counter()
        tape = self._recorded(call, settled, missed)
        seconds = time.perf_counter() - started
        if draws is not None and draws.warn(self.name):  # before the tape is kept, as a warning may be an error
            self._warned_draws = True
        if missed is not None:
            check_prescribed(tape, missed[0].tape, len(settled))
        self._recordings += 1
        self._seconds_recording += seconds
        self._reasons.append((self._recordings, reason))
        is_direct = not call.bound.static
        # Where a value is specialised on, its tapes are as a rule the same but for constants.
        program = None if is_direct else self._programs.of(tape)
        variant = Variant(tape, call.key, self._recordings, reason, seconds, is_direct, program)
        self._kept.insert(variant)
        if len(self._kept.all()) > self.max_tapes and not self._warned_budget:
            self._warned_budget = True
            messages.append(budget_text(self.name, self.max_tapes, self._kept.all()))
        self._note_native_uses()
        self._kept.drop_beyond(self.max_tapes)
        self._forget_dropped()
        if self._on_new_tape == "warn" and kept:
            messages.append(new_tape_text(self.name, miss))
        if guard is not None and self.guard is not None and not self._warned_coarse:
            self._warned_coarse = True
            value = call.specialisation.guard_value[0]
            messages.append(coarse_guard_text(self.name, self._guard_site, value, guard, reason.outcome))
        return variant, True

    def _recorded(self, call: _Call, settled: tuple[Any, ...], missed: tuple[Variant, GuardFailure] | None) -> Tape:
        if not call.takes_ints:
            return Recorder(self.name, prescribed=settled).run(_recorded, call.bound)
        if missed is None:
            is_allowed = may_be_data(self.f)
        else:
            is_allowed = self._ints.allows_path(missed[0].tape, missed[1].ordinal)
        try:
            if is_allowed:
                tape = Recorder(self.name, prescribed=settled).run(_recorded, call.bound)
                check_parameters(tape)
                return tape
            error = None
        except Exception as raised:  # noqa: BLE001 -- also what the function raises of itself: plain Python decides
            error = raised
        self._misses -= 1  # the call is made again
        raise IntNeeded from error

    # Copies, in this process and in others

    def __getstate__(self) -> dict[str, Any]:
        return guarded_state(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore_guarded(self, state)

    def __deepcopy__(self, memo: dict[int, Any]) -> GuardedTape:
        copied = memo[id(self)] = GuardedTape.__new__(GuardedTape)
        # The function stays itself; where it is a method, it is that of the copied object.
        state = {
            **guarded_state(self),
            "f": copy.deepcopy(self.f, memo),
            "guard": copy.deepcopy(self.guard, memo),
            "static": None,
        }
        restore_guarded(copied, state)
        return copied

    # What it says about itself

    @property
    def stats(self) -> Stats:
        """Hits, misses, recordings, evictions and seconds so far."""
        self._note_native_uses()
        kept, tapes = self._kept, self._kept.all()
        return Stats(
            kept.dropped_hits + sum(v.hits for v in tapes), self._misses, self._recordings, kept.evictions,
            self._seconds_recording,
            kept.dropped_seconds + sum(program.compiled.seconds for program in {v.program for v in tapes}),
        )  # fmt: skip

    def explain(self) -> str:
        """What is kept and why, as text: each tape's argument types, guards, lines and outcomes, hits and seconds.

        For the last call that no tape could answer: the closest tape, the guard at which they parted, and its two sides.
        """
        return explanation(
            self.name, self.max_tapes, self.stats, self._kept.all(), list(self._reasons), self._last_miss
        )

    def margins(self, *args: Any) -> list[Margin]:
        """How far a point is from the next branch: every comparison on its path, and every kink of what f returns.

        Args:
            args: as for safe(*args).

        Returns:
            One td.Margin for each comparison that a guard depends on, in the order in which Python came to them, then one for
            each np.where, maximum, minimum, clip and absolute value that the result depends on.

        Raises:
            TrackedValueEscaped: called inside a recording.

        Cost: one replay with NumPy, or one recording where no tape is kept for the point. What is kept stays as it is.
        """
        if _is_recording(args):
            raise TrackedValueEscaped(
                "margins look at values, which a recording would not notice", fix="ask for them outside it"
            )
        call = self._call(args, ())
        tape = self._kept_tape(call)
        if tape is None:
            call = self._call(args, (), with_data=False)
            tape = Recorder(self.name).run(_recorded, call.bound)
        return margins(tape, call.bound.inputs)

    def __repr__(self) -> str:
        return f"<GuardedTape of {self.name}: {len(self._kept.all())} tapes; {self.stats}>"


def _is_recording(args: Sequence[Any]) -> bool:
    return current_recorder() is not None or any(is_tracked(unwrap(a)) for a in args)


def _recorded(recorder: Recorder, call: BoundCall) -> Tape:
    tracked = [recorder.input(plain_value(a), active=active) for a, active in zip(call.inputs, call.active)]
    return recorder.finish(call.function(*tracked))


def _for_guard(argument: Any) -> Any:
    """An argument as the user's guard sees it: what it was given, arrays read-only."""
    argument = unwrap(argument)
    if isinstance(argument, (list, tuple)) and np.asarray(argument).dtype.kind in "fiub":
        argument = np.asarray(argument)
    if isinstance(argument, np.ndarray):
        argument = argument.view()
        argument.flags.writeable = False
    return argument
