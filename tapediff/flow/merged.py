"""The merged form of a function: recorded once for all its paths."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable

from ..base.current_recording import current_recorder
from ..errors import RefusedByRecording
from ..recording.arrays.tracked import TrackedArray
from ..recording.python_state.filled_arrays import may_be_filled
from ..recording.recorder import unnoticed_errors
from .anything import Object
from .builtins.natives import native
from .calls.callables import call
from .containers import choices as choices
from .containers.entries import settled_deeply
from .containers.positions import inside
from .state.dead_places import without_collector
from .state.fork import exclude, in_side
from .state.joins import check_joined_arrays
from .state.large_ints import check_ints
from .state.values import Unjoinable, at_this_point, plain_ints, state

# Blocks of nested statements are functions: Python's limit is for programs without them.
DEPTH = 20_000


class Flowed:
    """A function that gives what `f` gives; a recording of it holds all paths that can be joined.

    Attributes:
        f: the function.
        reason: why the last recording was one of a single path; empty if it was not.
    """

    def __init__(self, f: Callable[..., Object]) -> None:
        functools.update_wrapper(self, f)
        self.f, self.reason = f, ""

    def __call__(self, *args: Object, **named: Object) -> Object:
        recorder = current_recorder()
        if recorder is None or state.is_recording:
            return self.f(*args, **named)
        try:
            with unnoticed_errors(), without_collector():
                self.reason = ""
                return self._merged(recorder, args, named)
        except Unjoinable as why:
            self.reason = str(why)
        except RefusedByRecording as error:
            if may_be_filled(error):
                raise  # it is recorded again, with arrays that may be written to
            self.reason = f"{type(error).__name__}: {error}"
        # The path of this point alone, which raises what the function raises.
        return self.f(*args, **named)

    def _merged(self, recorder: Object, args: tuple[Object, ...], named: dict[str, Object]) -> Object:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, DEPTH))
        state.reset()
        state.is_recording, state.native = True, native
        # A recording that writes to arrays is made again with more of them tracked.
        state.joins_arrays = recorder.outer is None and recorder.concrete and not recorder.fills
        recorder.asked = in_side
        recorder.raise_where, recorder.inside = exclude, inside
        result: Object = None
        try:
            result = settled_deeply(call(self.f, *args, **named))
            check_ints(recorder)
            check_joined_arrays()
            return result
        finally:
            # Those of the caller's objects are as plain Python leaves them.
            kept = _reached(result)
            for place in state.unsettled.values():
                left = at_this_point(place.get())
                place.set(left if id(place.holder) in kept else plain_ints(left))
            state.reset()
            recorder.asked = None
            recorder.raise_where = recorder.inside = None
            sys.setrecursionlimit(limit)


def _reached(result: Object) -> set[int]:
    """The containers and objects that a result consists of: their numbers are of the tape."""
    found: dict[int, Object] = {}
    pending = [result]
    while pending:
        value = pending.pop()
        if id(value) in found or type(value) is TrackedArray:
            continue
        found[id(value)] = value
        if isinstance(value, (list, tuple)):
            pending += value
        else:
            pending += (value if isinstance(value, dict) else getattr(value, "__dict__", {})).values()
    return set(found)


def flowed(f: Callable[..., Object]) -> Flowed:
    """The merged form of a function."""
    return f if isinstance(f, Flowed) else Flowed(f)
