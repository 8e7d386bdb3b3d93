"""The merged form of a function: one recording for all paths."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FunctionType, MethodType

from ..base.current_recording import current_recorder
from ..base.settings import settings
from ..base.source_location import Site
from ..errors import RefusedByRecording, TrackedValueEscaped, UnsupportedFunction
from ..recording.arguments.size_arguments import SizeNeeded
from ..recording.python_state.filled_arrays import Fills, may_be_filled
from ..recording.recorder import RecordedAgain, unnoticed_errors
from .anything import Object
from .builtins.natives import native
from .calls.callables import call
from .calls.packaged import with_forms
from .containers import choices as choices
from .containers.compressed import Compressed
from .containers.entries import settled_deeply
from .containers.generators import UsedAgain
from .containers.positions import inside_array
from .report import Reason, Report
from .state.callers import check_lists, leave_plain, note_callers
from .state.dead_places import without_collector
from .state.fork import exclude, in_side, is_apart
from .state.identities import AsksIdentities
from .state.joins import check_joined_arrays
from .state.numbers.large_ints import check_ints
from .state.places import Journal, undo
from .state.recursions import TooDeep
from .state.values import Restart, Unjoinable, WritesJoined, state
from .translate import is_translated, translation_of
from .users_code import users_method

# Nested blocks become functions; Python's default recursion limit counts on fewer.
DEPTH = 20_000
# Beyond so many sides, a tenth of a second, an attempt that failed is not repeated at other points.
MANY_SIDES = 300


# Errors of NumPy and Python that both sides of a branch may lead to where the path alone does not.
_OF_PROGRAMS = (ValueError, TypeError, UnboundLocalError, MemoryError, Warning)


class MergeFailed(BaseException):
    """An error of this package while all paths were recorded; no Exception, so that nothing on the way handles it."""


class Flowed:
    """A function equal to `f`, whose recording holds all paths that can be joined.

    Args:
        note: called with the report of each recording.

    Attributes:
        report: of the last recording, what is merged and what is not.
    """

    def __init__(self, f: Callable[..., Object], note: Callable[[Report], None] | None = None) -> None:
        functools.update_wrapper(self, f)
        self.f, self.report, self._note = f, Report(), note
        # The number of sides of branches that the last recording ran.
        self._sides = 0

    def __call__(self, *args: Object, **named: Object) -> Object:
        recorder = current_recorder()
        if recorder is None:
            return self.f(*args, **named)
        if state.is_recording and (recorder is state.recorder or any(recorder is inner for inner in state.recorders)):
            return call(self.f, *args, **named)
        if self.report.is_single:
            return self._alone(recorder, args, named)
        failure = None
        try:
            with unnoticed_errors(), without_collector():
                without: set[type[Restart]] = set()
                while True:
                    try:
                        return self._merged(recorder, args, named, without)
                    except (AsksIdentities, UsedAgain, WritesJoined) as again:
                        without.add(type(again))
        except Unjoinable as why:
            self.report.keep_only(why.reason)
        except TooDeep as why:
            self.report.keep_only(Reason(*why.args))
            self._give_up(recorder)
        except RefusedByRecording as error:
            if may_be_filled(error) and _may_fill(recorder):
                raise  # recorded again, with more tracked arrays
            self.report.keep_only(Reason(error.what, error.fix or "", error.at))
        except Exception as error:
            if not self._sides:
                raise
            # Plain Python decides whether the program raises it.
            failure = error
            self.report.keep_only(Reason(f"{type(error).__name__} is raised where both sides of branches are run"))
        if self._sides > MANY_SIDES:
            self._give_up(recorder)
        # Record this point's path alone; it raises the program's own errors.
        try:
            result = self._alone(recorder, args, named)
        except RefusedByRecording as error:
            if recorder.fills and not (may_be_filled(error) and _may_fill(recorder)):
                self._give_up(recorder)  # this path may need fewer tracked arrays
            raise
        if settings.raise_failures and failure is not None and not isinstance(failure, _OF_PROGRAMS):
            raise MergeFailed(f"{type(failure).__name__} is raised where all paths are recorded, and not on the path alone") from failure
        return result

    def _alone(self, recorder: Object, args: tuple[Object, ...], named: dict[str, Object]) -> Object:
        """Record this point's path, by guards; in translated form if plain Python loses a gradient, or has no other form."""
        self._needs_sizes(recorder)
        if is_made_by_translated(self.f):
            return self._translated_alone(recorder, args, named)
        try:
            return self.f(*args, **named)
        except TrackedValueEscaped as refusal:
            if not refusal.is_conversion or (may_be_filled(refusal) and _may_fill(recorder)):
                raise
            try:
                return self._translated_alone(recorder, args, named)
            except RefusedByRecording:
                raise refusal from None

    def _translated_alone(self, recorder: Object, args: tuple[Object, ...], named: dict[str, Object]) -> Object:
        """Record this point's path, by guards, in translated form; the report stays that of the merged attempt."""
        report = self.report
        try:
            return self._merged(recorder, args, named, {AsksIdentities, UsedAgain, WritesJoined}, is_alone=True)
        except Unjoinable as why:
            raise UnsupportedFunction(why.reason.what, at=why.reason.site, fix=why.reason.instead) from None
        finally:
            self.report = report

    def _needs_sizes(self, recorder: Object) -> None:
        """Raise SizeNeeded if sizes are data, as single paths are recorded for one size."""
        if recorder.is_of_sizes:
            raise SizeNeeded("the function is not merged" if self.report.only is None else self.report.only.what, is_here=False)

    def _give_up(self, recorder: Object) -> None:
        """Record single paths from now on; at once, dropping this attempt's guards, if no caller relies on them."""
        self._needs_sizes(recorder)
        if recorder.outer is None and not recorder.prescribed and not recorder.is_again:
            self.report.is_single = True
            raise RecordedAgain

    def _tapediff_rebuilt(self, rebuild: Callable[[Object], Object]) -> Object:
        """Unwrap the function for a sub-tape or a loop, which has its own paths."""
        return rebuild(self.f)

    def _merged(
        self, recorder: Object, args: tuple[Object, ...], named: dict[str, Object], without: set[type[Restart]], *, is_alone: bool = False
    ) -> Object:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, DEPTH))
        # State of an enclosing recording, such as that of a loop body's caller.
        around = dict(vars(state))
        state.reset()
        state.is_recording, state.native, state.recorder, state.before = True, native, recorder, Journal()
        self.report = state.report = Report(recorder)
        # Recordings that write to arrays are repeated with more tracked arrays.
        state.is_alone = is_alone
        state.has_identities = AsksIdentities in without
        state.joins_lists = without <= {UsedAgain}
        state.lends_generators = UsedAgain not in without
        state.raised_by_numpy = recorder.raised
        state.may_fill = _may_fill(recorder)
        state.joins_arrays = state.may_fill and not recorder.is_called and not recorder.fills
        hooks = recorder.asked, recorder.raise_where, recorder.inside, recorder.is_apart, recorder.compressed
        recorder.asked, recorder.raise_where, recorder.inside, recorder.is_apart = in_side, exclude, inside_array, is_apart
        recorder.compressed = Compressed
        result: Object = None
        try:
            note_callers(self.f, args, named)
            recorder.refusal = recorder.failure = None  # the caller restores them
            result = call(self.f, *args, **named)
            with recorder.at(_site_of(self.f)):
                result = settled_deeply(result)
            if not is_alone:
                check_ints(recorder)
            check_joined_arrays()
            check_lists()
            for check in state.checks:
                check()
            if recorder.refusal is not None or recorder.failure is not None:
                raise Unjoinable("an error is caught that only a recording raises, or that no test tells of", "test the values before")
        except (Unjoinable, Restart, Exception) as error:
            if state.sides or isinstance(error, (Unjoinable, Restart, RefusedByRecording)):
                undo(state.before)
                state.unsettled.clear()
            raise
        finally:
            self._sides, size = state.sides, len(recorder.instructions) + state.in_iterations
            try:
                leave_plain(result)
            finally:
                vars(state).clear()
                vars(state).update(around)
                recorder.asked, recorder.raise_where, recorder.inside, recorder.is_apart, recorder.compressed = hooks
                self.report.finish(recorder, size)
                if self._note is not None and not is_alone:
                    self._note(self.report)
                sys.setrecursionlimit(limit)
        return result


def is_made_by_translated(f: Object) -> bool:
    """True for functions that translated code has defined."""
    while type(f) in (MethodType, functools.partial):
        f = f.__func__ if type(f) is MethodType else f.func
    return type(f) is FunctionType and is_translated(f)


def _site_of(f: Object) -> Site | None:
    """Where a function is defined, for guards on its result."""
    code = getattr(f, "__code__", None)
    return None if code is None else Site(code, code.co_firstlineno)


def _may_fill(recorder: Object) -> bool:
    return recorder.outer is None and recorder.concrete and recorder.fills is not Fills.ALL


def translated_text(f: Object) -> str:
    """The translated function as text, or the reason that there is none."""
    while type(f) is not FunctionType:
        f = getattr(f, "__func__", None) or getattr(f, "func", None) or users_method(type(f), "__call__")
        if f is None:
            return "# not translated: it is not a function in Python"
    found = translation_of(f.__code__)
    return found.text or f"# not translated: {found.reason}"


def flowed(f: Object, note: Callable[[Report], None] | None = None) -> Object:
    """The merged form of a function; a function of this package gets the merged forms of the user's functions that it calls.

    Args:
        note: called with the report of each recording.
    """
    return with_forms(f, lambda users: users if isinstance(users, Flowed) else Flowed(users, note))
