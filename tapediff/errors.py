"""Every error that tapediff raises. Its text has four parts: a sentence, the user's line, the value found, and how to fix it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from types import FunctionType, TracebackType
from typing import TypeAlias, TypeVar, cast

import numpy as np

from .base.current_recording import current_recorder
from .base.settings import settings
from .base.source_location import is_library_file, is_own_file, user_site

# The outcome of a guard, as Python saw it: a bool, an integer (a float where int() would raise), or the array itself.
Outcome: TypeAlias = bool | int | float | np.ndarray

Verb = TypeVar("Verb", bound=Callable[..., object])


class TapediffError(Exception):
    """Base of every error raised by tapediff itself.

    Args:
        what: one sentence on the problem.
        at: the line of the user's code; by default the one that called tapediff.
        got: the value or situation found.
        fix: how to change the code.
    """

    # Samplers ask this: True if only this point has no value, so that they may go on with another.
    is_recoverable = False

    def __init__(self, what: str, *, at: object = None, got: str | None = None, fix: str | None = None) -> None:
        at = user_site() if at is None else at
        self.what, self.at, self.got, self.fix = what, at, got, fix
        parts = [what]
        if at is not None:
            parts.append(f"  at:  {at}")
        if got is not None:
            parts.append(f"  got: {got}")
        if fix is not None:
            parts.append(f"  fix: {fix}")
        super().__init__("\n".join(parts))

    def __reduce__(self) -> tuple[object, ...]:
        return _error, (type(self), self.args, self.__dict__)


def _error(kind: type[TapediffError], args: tuple[object, ...], state: dict[str, object]) -> TapediffError:
    """Make an error from another process; the constructors take other arguments than its text."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


# Errors that mean that the model has no value at a point: not positive definite, or numpy.errstate(all="raise").
REJECTIONS = (np.linalg.LinAlgError, FloatingPointError)


def is_recoverable(raised: BaseException) -> bool:
    """True if an exception only rejects one point, so that a sampler may go on with another: by its attribute, or by its type."""
    told = getattr(raised, "is_recoverable", None)
    return isinstance(raised, REJECTIONS) if told is None else bool(told)


def rejection(raised: Exception) -> Exception:
    """Mark an exception for samplers as the rejection of a point, unless it has the attribute already."""
    if getattr(raised, "is_recoverable", None) is None:
        raised.is_recoverable = True  # type: ignore[attr-defined]  # nutpie's convention
    return raised


class RefusedByRecording(TapediffError):
    """An operation that works on plain arrays, but not on tracked ones. The recording remembers the error.

    With `is_write`, a tracked value was written to a plain array, or read at tracked positions; it might work if that array were tracked.

    With `is_conversion`, a number became Python's: where code is translated, it stays tracked.

    `called` is the library function that the user's code called, if any.

    If the user's code catches it, the recorded path differs from the plain function's. With `is_plain`, plain arrays raise
    an error of this kind too.
    """

    is_write = is_conversion = False
    called = ""

    def __init__(
        self, what: str, *, at: object = None, got: str | None = None, fix: str | None = None, is_plain: bool = False
    ) -> None:
        super().__init__(what, at=at, got=got, fix=fix)
        recorder = current_recorder()
        if recorder is not None and not is_plain:
            recorder.note_refusal(self)


class UnsupportedFunction(RefusedByRecording, TypeError):
    """A NumPy or SciPy function, method or argument that tapediff cannot differentiate."""


class UnsupportedMethod(UnsupportedFunction, AttributeError):
    """An array attribute that tracked arrays do not have; an AttributeError, so that hasattr() answers False."""


class TrackedValueEscaped(RefusedByRecording, TypeError):
    """A tracked value would leave the recording as a plain number, which would drop its gradient."""


class TrackedValueLeaked(RefusedByRecording, RuntimeError):
    """A tracked value was used outside the recording that made it."""


class GuardFailed(TapediffError):
    """A tape was replayed at a point where the recorded control flow does not hold.

    Attributes:
        ordinal: position of the guard among the guards of the tape, in recorded order.
        recorded: the outcome that the tape was recorded with.
        outcome: the outcome met now.
        turn: if Python reached that line several times: the iteration, counted from 1, and their number; else None.
    """

    def __init__(
        self, *, at: object, ordinal: int, recorded: Outcome, outcome: Outcome, turn: tuple[int, int] | None = None
    ) -> None:
        self.ordinal, self.recorded, self.outcome, self.turn = ordinal, recorded, outcome, turn
        times = f", time {turn[0]} of {turn[1]} at this line" if turn is not None else ""
        super().__init__(
            "the control flow at this point differs from the recorded one, so this tape has no answer here",
            at=at,
            got=f"recorded {describe(recorded)}, now {describe(outcome)}{times}",
            fix="use td.GuardedTape(f), which keeps one tape per path; or record a new tape at this point",
        )


class UnstableBranch(TapediffError, RuntimeError):
    """A call reached a guard again whose outcome was known: two tapes disagree about a near tie."""


class NewTape(TapediffError):
    """A GuardedTape without a tape for this path or these arguments may not record one."""


class StaleTape(TapediffError):
    """A value that a tape was recorded with has changed since: a global, a variable of a closure, an attribute, an array, a function.

    Attributes:
        name: of the changed value; empty if a check has compared results.
        tape_value: the tape's result.
        function_value: the function's present result.
    """

    def __init__(
        self, what: str, *, at: object, got: str, tape_value: object = None, function_value: object = None, name: str = "",
        fix: str = "pass what changes as an argument, td.Constant(...), instead of a global, a closure, a random number or a clock",
    ) -> None:  # fmt: skip
        self.name, self.tape_value, self.function_value = name, tape_value, function_value
        super().__init__(what, at=at, got=got, fix=fix)


class ShapeMismatch(TapediffError, ValueError):
    """An argument or output array does not have the recorded shape."""


class DtypeMismatch(TapediffError, TypeError):
    """An argument or output array does not have the recorded dtype."""


class ArgumentMismatch(TapediffError, TypeError):
    """The number or kind of arguments differs from the recorded one."""


class UnwrittenElement(TapediffError, RuntimeError):
    """An element of a td.Cache or td.Output was read before it was written, or never written."""


class NonScalarOutput(TapediffError, TypeError):
    """A gradient was asked of a function whose output is not a real scalar."""


class LoopTooLong(TapediffError, RuntimeError):
    """A loop exceeded max_steps, or the memory that the values of its iterations may take."""


class MemoryBudgetExceeded(TapediffError, MemoryError):
    """A kernel needs more memory than memory= allows, even if its loops save as little as possible."""


class NotConverged(LoopTooLong):
    """An equation was not solved at this point within its solver's iterations."""

    is_recoverable = True


class NotPositiveDefinite(TapediffError, np.linalg.LinAlgError):
    """A sparse matrix has no Cholesky factorisation; or the Hessian of random effects has none where it needs one.

    Attributes:
        index: the row whose pivot is not positive.
    """

    is_recoverable = True

    def __init__(self, what: str, *, index: int, got: str, fix: str) -> None:
        self.index = index
        super().__init__(what, got=got, fix=fix)


class Undetermined(TapediffError, np.linalg.LinAlgError):
    """A fit has no covariance: data do not determine all parameters, or the point is no minimum."""


class PosteriorError(TapediffError, ValueError):
    """A posterior was declared or called with names, shapes or values that do not fit."""

    def __init__(self, what: str, *, got: object, fix: str) -> None:
        if isinstance(got, (set, frozenset)):
            got = ", ".join(sorted(map(str, got))) or "none"
        super().__init__(what, got=getattr(got, "__qualname__", None) or str(got), fix=fix)


class NoMode(TapediffError, RuntimeError):
    """A log density has no mode that was found, or no point with a finite value."""


class RecursionTooDeep(TapediffError, RecursionError):
    """Sub-tapes call each other so deeply that Python's limit, or the stack of the thread, is exhausted."""

    def __init__(self, name: str, at: object, got: str | None = None, room: str = "sys.setrecursionlimit") -> None:
        fix = f"make room with {room}"
        if got is None and _stands_in_c():
            got = f"what Python {sys.version_info[0]}.{sys.version_info[1]} has room for, whatever the recursion limit"
            fix = "call it less deep first, as it is new paths that need room"
        elif got is None:
            got, fix = f"a recursion limit of {sys.getrecursionlimit()}", f"{fix}, 20 for each call while a path is new"
        super().__init__(
            f"calls of {name} stand too deep in each other", at=at, got=got, fix=f"{fix}; or write the recursion as td.while_loop"
        )


def _stands_in_c() -> bool:
    """True if Python ran out of stack long before its recursion limit: since 3.12 calls through C have a limit of their own."""
    depth, frame = 0, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    return depth < 0.75 * sys.getrecursionlimit()


class InvalidTape(TapediffError):
    """A tape breaks one of its own rules; a bug in tapediff or in a custom rule, never in the recorded function."""


class InvalidRule(TapediffError, TypeError):
    """A user's derivative rule, or the function that it belongs to, returned a value of the wrong kind."""


class InvalidGuardValue(TapediffError, TypeError):
    """A user's guard returned something that cannot be a key."""


class GuardWarning(UserWarning):
    """A user's guard is too coarse to distinguish paths, or so fine that every call records a tape."""


class FrozenRandomWarning(GuardWarning):
    """A function drew random numbers while it was recorded; its tape uses the same numbers at every call."""


def describe(outcome: Outcome | None) -> str:
    """The outcome of a guard as a short text; arrays by shape and number of true entries."""
    if isinstance(outcome, np.ndarray):
        if outcome.dtype == np.bool_:
            return f"a mask of shape {outcome.shape} with {int(outcome.sum())} true"
        return f"{outcome.tolist()}" if outcome.size <= 8 else f"an integer array of shape {outcome.shape}"
    return repr(outcome)


def hide_frames(error: BaseException) -> None:
    """Leave the frames of this package out of a traceback, and out of those of its causes, at the end of a call by the user.

    The caller raises the error again by a bare `raise`, which adds no frame. An error that is not tapediff's own keeps the frames in which
    it was raised. Within a recording nothing is left out; nor with TAPEDIFF_FULL_TRACEBACK=1.
    """
    if settings.full_traceback or current_recorder() is not None:
        return
    seen, pending = set[int](), [error]
    while pending:
        each = pending.pop()
        if id(each) not in seen:
            seen.add(id(each))
            each.__traceback__ = _of_user(each)
            pending += [other for other in (each.__cause__, each.__context__) if other is not None]


def hides_frames(verb: Verb) -> Verb:
    """Decorate a function, or all public methods of a class: errors leave it by `hide_frames`. Costs a call 0.07 µs."""
    if isinstance(verb, type):
        for name, method in list(vars(verb).items()):
            if isinstance(method, FunctionType) and (name == "__call__" or not name.startswith("_")):
                setattr(verb, name, hides_frames(method))
        return cast(Verb, verb)

    @wraps(verb)
    def called(*args: object, **named: object) -> object:
        try:
            return verb(*args, **named)
        except BaseException as error:
            hide_frames(error)
            raise

    return cast(Verb, called)


def _of_user(error: BaseException) -> TracebackType | None:
    """The traceback of an error without frames of this package."""
    frames, trace = list[TracebackType](), error.__traceback__
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    files = [frame.tb_frame.f_code.co_filename for frame in frames]
    own = {k for k, file in enumerate(files) if is_own_file(file)}
    # Also those of NumPy's and Python's decorators around functions of this package.
    hidden = {*own, *(k for k, file in enumerate(files) if k - 1 in own and k + 1 in own and is_library_file(file))}
    if not isinstance(error, TapediffError):
        last = next((k for k in reversed(range(len(files))) if k not in hidden), -1)
        hidden = {k for k in hidden if k < last}
    found = None
    for k in reversed(range(len(frames))):
        if k not in hidden:
            found = TracebackType(found, frames[k].tb_frame, frames[k].tb_lasti, frames[k].tb_lineno)
    return found
