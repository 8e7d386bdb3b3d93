"""Keeps Python's search for garbage cycles from taking its time while tapes are recorded and compiled."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

# A recording makes several tuples for an operation, which stay, so that looking through the new ones finds nothing. At Python's own
# threshold of 700 that took a third of the time, at this one a twentieth; what user code leaves behind is still found.
FEW_OBJECTS = 50_000

# The recordings under way in all threads, and the thresholds before the first of them.
_recordings: set[Any] = set()
_before: tuple[int, int, int] | None = None

# An interrupt may come before any line of Python. What restores a state here is therefore done twice, in two `finally` clauses, and
# doing it again changes nothing; and no lock is needed, as each step is one operation on a shared object.


def without_collections(function: Callable[[], T]) -> T:
    """What a function returns. Compiling makes hundreds of thousands of tuples and no cycles; looking through them takes a fifth of it."""
    was_enabled = gc.isenabled()
    try:
        try:
            gc.disable()
            return function()
        finally:
            if was_enabled:
                gc.enable()
    finally:
        if was_enabled:
            gc.enable()


def recording_begins(recorder: Any) -> None:
    """Look for garbage less often until the last recording of any thread has ended."""
    global _before
    _recordings.add(recorder)
    threshold = gc.get_threshold()
    if _before is None and 0 < threshold[0] < FEW_OBJECTS:
        _before = threshold
        gc.set_threshold(FEW_OBJECTS, *threshold[1:])


def recording_ends(recorder: Any) -> None:
    global _before
    _recordings.discard(recorder)
    before = _before
    if not _recordings and before is not None:
        # Unless user code has set one of its own.
        if gc.get_threshold()[0] == FEW_OBJECTS:
            gc.set_threshold(*before)
        _before = None
