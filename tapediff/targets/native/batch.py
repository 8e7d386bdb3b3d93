"""Rows of a batch that native threads share."""

from __future__ import annotations

import ctypes
import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple, NoReturn

import numpy as np

from ...base.operating_system import available_threads
from ...base.waiting_threads import WaitingCall, WaitingThreads
from ...compiler.runtime import signal_checks as pauses
from ...compiler.runtime.entries import batch_rows
from ...errors import ArgumentMismatch
from .addressed_call import AddressedCall

# Batches shorter than this, in seconds, do not pay for another thread: on busy processors that comes late.
WAKING = 100e-6

# The most threads that share a batch.
MOST_THREADS = 64

# Each thread takes rows in about this many portions, so that none waits for another.
PORTIONS = 8

# Rows are timed in portions that grow by this factor: one row may take less time than the call that does it.
GROWTH = 8


class Failure(NamedTuple):
    """The index of a failed row, and its exception."""

    row: int
    raised: BaseException | None


def check_threads(threads: int | None) -> int | None:
    """Return it; raise ArgumentMismatch unless it is a positive number or None."""
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1):
        raise ArgumentMismatch("threads must be a positive number", got=repr(threads), fix="leave it out")
    return threads


class Job:
    """Calls at rows. Workers hold a reference, which keeps the arrays alive that its words point to.

    Args:
        call: the call of a row.
        arrays: inputs and outputs, C-contiguous and in the types of the call.
        strides: the bytes between rows of each; 0 if all share it.
        rows: their number.
        again: repeats the call at a row, and returns its exception.

    Attributes:
        row_seconds: the time of a row; infinite until some have been timed.
    """

    def __init__(
        self, call: AddressedCall, arrays: Sequence[np.ndarray], strides: Sequence[int], rows: int,
        again: Callable[[int], BaseException | None],
    ) -> None:  # fmt: skip
        self.rows, self.row_seconds = rows, math.inf
        self._call, self._arrays, self._again = call, arrays, again
        # The threads that help the calling one.
        self._helpers: set[int] = set()
        places = [word for array, stride in zip(arrays, strides) for word in (_address(array), stride)]
        self.words = np.array([0, 0, 0, 0, call.address, len(arrays), *places], np.int64)
        self._address = _address(self.words)

    def begin(self, first: int, stop: int, threads: int) -> None:
        """Offer the rows from `first` to `stop`."""
        self.words[batch_rows.NEXT_ROW], self.words[batch_rows.ROWS], self.words[batch_rows.FAILED_ROW] = first, stop, stop
        self.words[batch_rows.ROWS_AT_A_TIME] = max(1, (stop - first) // (PORTIONS * threads))

    def work(self) -> Failure | None:
        """Compute rows until none is left or one fails."""
        row = ctypes.c_int64(0)
        code = batch_rows.rows_function()(self._address, ctypes.byref(row))
        # Exceptions are kept by thread, so each is fetched in its thread.
        return failure_at(self._call, row.value, code, self._again) if code else None

    def help(self) -> Failure | None:
        """Compute rows in a thread of the pool."""
        self._helpers.add(threading.get_ident())
        try:
            return self.work()
        finally:
            self._helpers.discard(threading.get_ident())

    def stop(self) -> None:
        """Wait for the threads that have begun, after ending their loops: one could run for ever otherwise.

        Their futures do not tell which have begun, as an interrupt may come before one is stored. Threads that begin later find no rows.
        """
        self.end()
        stopped: set[int] = set()
        try:
            while helpers := set(self._helpers):
                stopped |= helpers
                pauses.stop(helpers)
                time.sleep(WAKING)
        finally:
            pauses.go_on(stopped)

    def end(self) -> None:
        """Offer no more rows."""
        self.words[batch_rows.NEXT_ROW] = self.words[batch_rows.ROWS]


def _address(array: np.ndarray) -> int:
    """The address of a contiguous array: a third of the time of `array.ctypes.data`, if it is writable."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    except (TypeError, ValueError):
        return int(array.ctypes.data)


def failure_at(call: AddressedCall, row: int, code: int, again: Callable[[int], BaseException | None]) -> Failure:
    """The failure of a row whose call in this thread returned a code."""
    return Failure(row, call.taken(code) or again(row))


def run_timed(job: Job, threads: int | None) -> list[Failure]:
    """Compute all rows of a job, timing some first, unless one fails."""
    done, count, seconds = 0, 1, 0.0
    while threads is None and done < job.rows and seconds < WAKING:
        stop, started = min(job.rows, done + count), time.perf_counter()
        failures = _share(job, done, stop, 1)
        if failures:
            return failures
        seconds = time.perf_counter() - started
        job.row_seconds, done, count = seconds / (stop - done), stop, count * GROWTH
    left = job.rows - done
    threads = threads or 1 + min(available_threads() - 1, int(min(job.row_seconds, 1.0) * left / WAKING))
    return _share(job, done, job.rows, min(threads, left)) if left else []


def _share(job: Job, first: int, stop: int, threads: int) -> list[Failure]:
    """Compute the rows from `first` to `stop`; returns the failures, including that of the first failed row."""
    threads = min(threads, MOST_THREADS)
    job.begin(first, stop, threads)
    shared: list[WaitingCall[Failure | None]] = []
    try:
        shared += [_pool(os.getpid()).submit(job.help) for _ in range(threads - 1)]
        found = [job.work()]
        if found[0] is not None and isinstance(found[0].raised, KeyboardInterrupt):
            raise found[0].raised
        # All rows before a failed one are assigned by now, so there is no need to wait for threads that have not begun.
        job.end()
        begun = [call for call in shared if not call.cancel()]
        for call in begun:
            call.wait()
    except BaseException:
        for call in shared:
            call.cancel()
        job.stop()
        raise
    found += [call.result() for call in begun]
    return [failure for failure in found if failure is not None]


@cache
def _pool(process: int) -> WaitingThreads[Failure | None]:
    """The thread pool of a process; a fork has none of its parent's threads."""
    return WaitingThreads()


def raise_first(failures: list[Failure]) -> NoReturn:
    """Raise the exception of the first failed row."""
    failure = min(failures, key=lambda failure: failure.row)
    raised = failure.raised
    if raised is None:
        raised = ArgumentMismatch(
            "a row gave two different answers", fix="do not change X from another thread during a call"
        )
    raised.row = failure.row  # type: ignore[attr-defined]  # for whoever wants to leave that row out
    raised.add_note(f"at row {failure.row} of the batch")
    raise raised
