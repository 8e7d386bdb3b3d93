"""The exceptions of native calls, which native code tells by codes."""

from __future__ import annotations

import threading

import numpy as np

from ...base.fork_locks import new_lock
from ...base.held_locks import drop_oldest, holding
from ...compiler.runtime.callbacks import take_pending
from ...compiler.runtime.entries import c_entry
from ...errors import GuardFailed, InvalidTape, ShapeMismatch, is_recoverable

# The most pending exceptions; older ones are dropped, as some threads never fetch theirs.
MOST_ERRORS = 64


class OtherResults(ShapeMismatch):
    """Paths have results of different types."""


class Errors:
    """The exceptions raised in native calls of one tape: the latest of each thread."""

    def __init__(self) -> None:
        self._by_thread: dict[int, BaseException] = {}
        self._lock = new_lock()

    @holding("_lock")
    def keep(self, raised: BaseException) -> None:
        """Keep the exception of a call in this thread."""
        self._by_thread.pop(threading.get_ident(), None)
        self._by_thread[threading.get_ident()] = raised
        drop_oldest(self._by_thread, MOST_ERRORS)

    @holding("_lock")
    def take(self, *, any_thread: bool = False) -> BaseException | None:
        """Take this thread's exception; with `any_thread`, if it has none, the latest of any other."""
        found = self._by_thread.pop(threading.get_ident(), None)
        if found is None and any_thread and self._by_thread:
            found = self._by_thread.popitem()[1]
        # An interrupt may have come while the exception was stored.
        return take_pending() if found is None else found


def keep_error(errors: Errors, raised: BaseException) -> int:
    """Keep an exception; returns its status code."""
    errors.keep(raised)
    if is_recoverable(raised):
        return c_entry.NOT_POSITIVE_DEFINITE if isinstance(raised, np.linalg.LinAlgError) else c_entry.RECOVERABLE
    if isinstance(raised, (GuardFailed, OtherResults)):
        return c_entry.GUARD_FAILED if isinstance(raised, GuardFailed) else c_entry.WRONG_SIZE
    return c_entry.NO_MEMORY if isinstance(raised, MemoryError) else c_entry.RAISED


def lost_error() -> BaseException:
    return InvalidTape("native code says that Python has raised an exception, and none is kept")
