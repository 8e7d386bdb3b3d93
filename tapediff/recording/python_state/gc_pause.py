"""Keeps Python's search for garbage cycles from taking its time while tapes are recorded and compiled."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import TypeVar

from ...base.current_recording import CURRENT
from ...base.operating_system import at_fork

T = TypeVar("T")

# A recording makes several tuples for an operation, which stay, so that looking through the new ones finds nothing. At Python's own
# threshold of 700 that took a third of the time, at this one a twentieth; garbage of user code is still found.
FEW_OBJECTS = 50_000

# The recordings under way in all threads, and the thresholds before the first of them.
_recordings: set[object] = set()
_before: tuple[int, int, int] | None = None

# Who does without collections now: the thread, and whether there were any before.
_pauses: dict[object, tuple[int, bool]] = {}

# An interrupt may come before any line of Python. So states are restored twice here, in two `finally` clauses, and
# doing it again changes nothing; and no lock is needed, as each step is one operation on a shared object.


def without_collections(function: Callable[[], T]) -> T:
    """Call a function with the collector paused: compiling makes 100,000s of tuples and no cycles, and collecting takes a fifth of it."""
    was_enabled = gc.isenabled()
    pause = object()
    try:
        try:
            _pauses[pause] = threading.get_ident(), was_enabled
            gc.disable()
            return function()
        finally:
            _pauses.pop(pause, None)
            if was_enabled:
                gc.enable()
    finally:
        _pauses.pop(pause, None)
        if was_enabled:
            gc.enable()


def recording_begins(recorder: object) -> None:
    """Look for garbage less often until the last recording of any thread has ended."""
    global _before
    _recordings.add(recorder)
    threshold = gc.get_threshold()
    if _before is None and 0 < threshold[0] < FEW_OBJECTS:
        _before = threshold
        gc.set_threshold(FEW_OBJECTS, *threshold[1:])


def recording_ends(recorder: object) -> None:
    global _before
    _recordings.discard(recorder)
    before = _before
    if not _recordings and before is not None:
        # Unless user code has set one of its own.
        if gc.get_threshold()[0] == FEW_OBJECTS:
            gc.set_threshold(*before)
        _before = None


def _in_child() -> None:
    """A forked process has none of the recordings and compilations of its parent's other threads."""
    thread = threading.get_ident()
    theirs = [was_enabled for paused, was_enabled in _pauses.values() if paused != thread]
    if any(theirs) and len(theirs) == len(_pauses):
        gc.enable()
    own, recorder = set(), CURRENT.get()
    while recorder is not None:
        own.add(recorder)
        recorder = recorder.outer
    _recordings.intersection_update(own)
    recording_ends(None)


at_fork(after_in_child=_in_child)
