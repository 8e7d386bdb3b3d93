"""Keeps Python's search for garbage cycles from taking its time while tapes are recorded and compiled."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import TypeVar

from ...base.operating_system import at_fork
from .process_state import process

T = TypeVar("T")

# A recording makes several tuples for an operation, which stay, so that looking through the new ones finds nothing. At Python's own
# threshold of 700 that took a third of the time, at this one a twentieth; garbage of user code is still found.
FEW_OBJECTS = 50_000


def without_collections(function: Callable[[], T]) -> T:
    """Call a function with the collector paused: compiling makes 100,000s of tuples and no cycles, and collecting takes a fifth of it."""
    was_enabled = gc.isenabled()
    pause = object()
    try:
        try:
            process.collector_pauses[pause] = threading.get_ident(), was_enabled
            gc.disable()
            return function()
        finally:
            process.collector_pauses.pop(pause, None)
            if was_enabled:
                gc.enable()
    finally:
        process.collector_pauses.pop(pause, None)
        if was_enabled:
            gc.enable()


def recording_begins() -> None:
    """Look for garbage less often until the last recording of any thread has ended."""
    threshold = gc.get_threshold()
    if process.collector_threshold is None and 0 < threshold[0] < FEW_OBJECTS:
        process.collector_threshold = threshold
        gc.set_threshold(FEW_OBJECTS, *threshold[1:])


def recording_ends() -> None:
    before = process.collector_threshold
    if not process.recordings and before is not None:
        # Unless user code has set one of its own.
        if gc.get_threshold()[0] == FEW_OBJECTS:
            gc.set_threshold(*before)
        process.collector_threshold = None


def _in_child() -> None:
    paused = process.collector_pauses
    process.forget_other_threads()
    if paused and not process.collector_pauses and any(was_enabled for _, was_enabled in paused.values()):
        gc.enable()
    recording_ends()


at_fork(after_in_child=_in_child)
