"""Keeps Python's search for garbage cycles from taking its time while tapes are recorded and compiled."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# A recording makes several tuples for an operation, which stay, so that looking through the new ones finds nothing. At Python's own
# threshold of 700 that took a third of the time, at this one a twentieth; what user code leaves behind is still found.
FEW_OBJECTS = 50_000

_lock = threading.Lock()
_recordings = 0
_before: tuple[int, int, int] | None = None


@contextmanager
def collections_paused() -> Iterator[None]:
    """Compiling makes hundreds of thousands of tuples and no cycles; looking through them all takes a fifth of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def recording_begins() -> None:
    """Look for garbage less often until the last recording of any thread has ended."""
    global _recordings, _before
    with _lock:
        _recordings += 1
        threshold = gc.get_threshold()
        if _recordings == 1 and 0 < threshold[0] < FEW_OBJECTS:
            _before = threshold
            gc.set_threshold(FEW_OBJECTS, *threshold[1:])


def recording_ends() -> None:
    global _recordings, _before
    with _lock:
        _recordings -= 1
        if _recordings == 0 and _before is not None:
            # Unless user code has set one of its own.
            if gc.get_threshold()[0] == FEW_OBJECTS:
                gc.set_threshold(*_before)
            _before = None
