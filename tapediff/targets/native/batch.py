"""Rows of a batch that native threads share."""

from __future__ import annotations

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
from ...ir.instruction import Operand

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
    """Calls at rows. Workers hold a reference, which keeps the arrays alive.

    Args:
        run: the builtin that calls at every row; see batch_rows.batch_builtin.
        arrays: inputs and outputs.
        rows: their number.
        failure: the failure of a code of the builtin, in the thread that called it.

    Attributes:
        row_seconds: the time of a row; infinite until some have been timed.
    """

    def __init__(
        self, run: Callable[..., Operand], arrays: Sequence[Operand], rows: int, failure: Callable[[int], Failure]
    ) -> None:  # fmt: skip
        self.rows, self.row_seconds = rows, math.inf
        # The threads that help the calling one.
        self._helpers: set[int] = set()
        self.words = np.zeros(len(batch_rows.JOB.words()), np.int64)
        self._run, self._failure, self._args = run, failure, (*arrays, rows, int(self.words.ctypes.data))

    def check(self) -> int:
        """Check the arrays, before the first rows are offered. Returns REFUSED if native code cannot read or write them as they are."""
        return self._run(*self._args)

    def begin(self, first: int, stop: int, threads: int) -> None:
        """Offer the rows from `first` to `stop`."""
        self.words[:] = first, max(1, (stop - first) // (PORTIONS * threads)), stop

    def work(self) -> Failure | None:
        """Compute rows until none is left or one fails."""
        code = self._run(*self._args)
        # Exceptions are kept by thread, so each is fetched in its thread.
        return self._failure(code) if code else None

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
        self.words[batch_rows.NEXT_ROW] = self.words[batch_rows.FAILED_ROW]


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
