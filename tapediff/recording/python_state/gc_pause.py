"""Runs Python's cycle collector less often while tapes are recorded and compiled."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import TypeVar

from ...base.current_recording import CURRENT
from ...base.operating_system import IMPORT_FAILURES, at_fork, raise_if_out_of_memory
from ...base.uninterrupted import require_stack
from .process_state import process

T = TypeVar("T")

# A recording makes several long-lived tuples for each operation, so that scanning young objects finds nothing. At Python's own
# threshold of 700 that took a third of the time, at this one a twentieth; garbage of user code is still found. Not a round
# number, so that no one else has set it.
FEW_OBJECTS = 50_021
# Compiling makes 100,000s of tuples and no cycles, and collecting takes a fifth of it.
MANY_OBJECTS = (1 << 30) + 21


def without_collections(function: Callable[[], T]) -> T:
    """Call a function that compiles, with the collector paused."""
    pause = object()
    require_stack()
    # Two `finally` clauses, as in Recorder._run.
    try:
        try:
            process.collector_pauses[pause] = threading.get_ident()
            _raise_threshold(MANY_OBJECTS)
            return function()
        except IMPORT_FAILURES as error:
            raise_if_out_of_memory(error)
            raise
        finally:
            process.collector_pauses.pop(pause, None)
            _pause_ends()
    finally:
        process.collector_pauses.pop(pause, None)
        _pause_ends()


def recording_begins() -> None:
    """Look for garbage less often until the last recording of any thread has ended."""
    _raise_threshold(FEW_OBJECTS)


def recording_ends() -> None:
    if not process.recordings and not process.collector_pauses:
        _lower_threshold()


# Threads may run these concurrently. Each thread enters itself in `process` before it raises the threshold, and the last one to leave
# lowers it. A race leaves at worst too low a threshold, which costs time only.


def _raise_threshold(to: int) -> None:
    threshold = gc.get_threshold()
    if 0 < threshold[0] < to:
        if threshold[0] != FEW_OBJECTS:
            process.collector_threshold = threshold
        gc.set_threshold(to, *threshold[1:])


def _lower_threshold() -> None:
    before = process.collector_threshold
    # Unless user code has set its own threshold.
    if before is not None and gc.get_threshold()[0] in (FEW_OBJECTS, MANY_OBJECTS):
        gc.set_threshold(*before)


def _pause_ends() -> None:
    if not process.collector_pauses:
        _lower_threshold()
        if CURRENT.get() is not None:
            _raise_threshold(FEW_OBJECTS)


def _in_child() -> None:
    process.forget_other_threads()
    recording_ends()


at_fork(after_in_child=_in_child)
