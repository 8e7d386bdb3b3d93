"""Batches: value and gradient at every row of a matrix, with the rows shared by native threads."""

from __future__ import annotations

import ctypes
import math
import os
import threading
import time
from functools import cache
from typing import NamedTuple, NoReturn

import numpy as np

from ...base.operating_system import available_threads
from ...base.waiting_threads import WaitingCall, WaitingThreads
from ...compiler.runtime import signal_checks as pauses
from ...compiler.runtime.entries import batch_rows
from ...errors import ArgumentMismatch, DtypeMismatch, ShapeMismatch
from ...ir.instruction import FLOAT64, Tree
from ...ir.outputs import Out
from .native_entry import NativeEntry
from .owner import Owner

# Batches shorter than this, in seconds, do not pay for another thread: on busy processors that comes late.
WAKING = 100e-6

# The most threads that share a batch.
MOST_THREADS = 64

# Each thread takes rows in about this many portions, so that none waits for another.
PORTIONS = 8

# Rows are timed in portions that grow by this factor, up to this many seconds: one row may take less time than the call that does it.
GROWTH = 8
TIMED = WAKING / 4


class Failure(NamedTuple):
    """The index of a failed row, and its exception."""

    row: int
    raised: BaseException | None


def run_batch(tape: Owner, X: Tree, out: Out, threads: int | None) -> tuple[np.ndarray, np.ndarray]:
    """See NativeCalls.batch."""
    points = _points(X)
    check_threads(threads)
    values, gradients = _results(points, out)
    entry = tape._entry(points.shape[1:])
    if len(points):
        _run(_Job(entry, points, values, gradients), threads)
    return values, gradients


def check_threads(threads: int | None) -> None:
    """Raise ArgumentMismatch unless it is a positive number or None."""
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1):
        raise ArgumentMismatch("threads must be a positive number", got=repr(threads), fix="leave it out")


def run_few(entry: NativeEntry, X: np.ndarray, out: Out) -> tuple[np.ndarray, np.ndarray] | None:
    """Run a batch on the calling thread. None if X or `out` is unusual, or if waking another thread may be faster."""
    rows = len(X)
    if rows * entry.row_seconds >= WAKING or not rows:
        return None
    points = X if X.flags.c_contiguous else X.copy()
    if out is None:
        found = np.empty(rows), np.empty(X.shape)
    elif type(out) is tuple and len(out) == 2:
        found = out
    else:
        return None
    started = time.perf_counter()
    failure = _few(entry, points, found[1], found[0])
    if failure is REFUSED:
        return None
    if failure is not None:
        raise_first([failure])
    seconds = time.perf_counter() - started
    if entry.may_use_blocks:
        entry.use_blocks(seconds, points)
    if seconds > 2 * WAKING:
        # Rows may take other paths than the timed ones.
        entry.row_seconds = seconds / rows
    return found


def _points(X: Tree) -> np.ndarray:
    if type(X) is np.ndarray and X.dtype == FLOAT64 and X.ndim and X.flags.c_contiguous and X.flags.aligned:
        return X
    points = np.asarray(X)
    if points.ndim == 0 or points.dtype.kind not in "fiub" or points.dtype.itemsize > FLOAT64.itemsize:
        raise ArgumentMismatch("X must be an array of one point per row", got=f"{points.dtype} {points.shape}")
    # Fresh memory if the threads could not read the given array.
    return np.require(points, FLOAT64, ["C", "A"])


def _results(points: np.ndarray, out: Out) -> tuple[np.ndarray, np.ndarray]:
    if out is None:
        return np.empty(len(points)), np.empty(points.shape)
    if not isinstance(out, (tuple, list)) or len(out) != 2 or not all(isinstance(a, np.ndarray) for a in out):
        raise ArgumentMismatch("out must be a pair of arrays", got=type(out).__name__, fix="out=(values, gradients)")
    for name, array, shape in (("values", out[0], points.shape[:1]), ("gradients", out[1], points.shape)):
        if array.shape != shape:
            raise ShapeMismatch(f"the {name} of out have another shape", got=f"{shape} wanted, {array.shape} given")
        if array.dtype != FLOAT64:
            raise DtypeMismatch(f"the {name} of out are not float64", got=str(array.dtype), fix="np.empty(shape)")
        if not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned):
            raise ArgumentMismatch(f"the {name} of out are read-only or not C-contiguous", fix="np.empty(shape)")
    if any(np.may_share_memory(a, b) for a, b in ((out[0], out[1]), (out[0], points), (out[1], points))):
        raise ArgumentMismatch("out shares memory with X or with itself", fix="pass arrays of their own")
    return out[0], out[1]


def _address(array: np.ndarray) -> int:
    """The address of a contiguous array: a third of the time of `array.ctypes.data`, if it is writable."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    except (TypeError, ValueError):
        return int(array.ctypes.data)


class Job:
    """Rows to compute, in the form of compiler.runtime.entries.batch_rows. Workers hold a reference, which keeps the arrays alive
    that its words point to.

    Attributes:
        rows: their number.
        row_seconds: the time of a row; infinite until some have been timed.
    """

    def __init__(self, rows: int, words: int) -> None:
        self.rows, self.row_seconds = rows, math.inf
        # The threads that help the calling one.
        self._helpers: set[int] = set()
        self.words = np.zeros(words, np.int64)
        self.address = _address(self.words)

    def begin(self, first: int, stop: int, threads: int) -> None:
        """Offer the rows from `first` to `stop`."""
        self.words[batch_rows.NEXT_ROW], self.words[batch_rows.ROWS], self.words[batch_rows.FAILED_ROW] = first, stop, stop
        self.words[batch_rows.ROWS_AT_A_TIME] = max(1, (stop - first) // (PORTIONS * threads))

    def work(self) -> Failure | None:
        """Compute rows until none is left or one fails."""
        raise NotImplementedError

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


class _Job(Job):
    """Rows of value and gradient by one argument."""

    def __init__(self, entry: NativeEntry, points: np.ndarray, values: np.ndarray, gradients: np.ndarray) -> None:
        super().__init__(len(points), batch_rows.JOB_WORDS)
        self.entry, self.points, self.values, self.gradients = entry, points, values, gradients
        self.words[batch_rows.JOB_SIZE] = points[0].size
        self.words[batch_rows.JOB_POINTS :] = _address(points), _address(gradients), _address(values)

    def work(self) -> Failure | None:
        row, entry = ctypes.c_int64(0), self.entry
        status = batch_rows.rows_function()(entry.row_calls_address, self.address, ctypes.byref(row))
        # Exceptions are kept by thread, so each is fetched in its thread.
        return Failure(row.value, entry.error_at(self.points[row.value], status)) if status else None


def _few(entry: NativeEntry, X: np.ndarray, gradients: np.ndarray, values: np.ndarray) -> Failure | None:
    """Compute all rows on the calling thread; returns the first failure, or REFUSED."""
    assert entry.few_rows is not None
    code = entry.few_rows(X, gradients, values, len(X))
    if code <= 0:
        return REFUSED if code else None
    row, low = divmod(code, 256)
    return Failure(row, entry.error_at(X[row], low - 256 if low > 127 else low))


REFUSED = Failure(-1, None)


def _run(job: _Job, threads: int | None) -> None:
    rows, done = len(job.points), 0
    failures: list[Failure] = []
    if threads is None or threads == 1:
        # The first row may have to compile.
        failures, done = _share(job, 0, 1, 1), 1
        if not failures:
            done, failures = _time_rows(job)
        # Not timed where `out` is of a subclass of np.ndarray.
        seconds = min(job.entry.row_seconds, 1.0) * (rows - done)
        threads = threads or 1 + min(available_threads() - 1, int(seconds / WAKING))
    started = time.perf_counter()
    if done < rows and not failures:
        failures = _share(job, done, rows, min(threads, rows - done))
    if failures:
        raise_first(failures)
    if job.entry.may_use_blocks:
        job.entry.use_blocks(time.perf_counter() - started, job.points)


def _time_rows(job: _Job) -> tuple[int, list[Failure]]:
    """Compute rows from the second on until the time of one is known; returns the number of rows done, and a failure among them."""
    entry, rows, done, count = job.entry, len(job.points), 1, 1
    if entry.few_rows is None:
        entry.few_rows = batch_rows.few_rows_builtin(entry.row_calls, job.points.shape[1:])
    if rows == 1:
        # Too few rows to time; the next batch will notice if it takes longer.
        entry.row_seconds = min(entry.row_seconds, WAKING / 2)
    while done < rows:
        stop = min(rows, done + count)
        started = time.perf_counter()
        failure = _few(entry, job.points[done:stop], job.gradients[done:stop], job.values[done:stop])
        seconds = time.perf_counter() - started
        if failure is not None:
            return done, [failure._replace(row=done + failure.row)] if failure is not REFUSED else []
        entry.row_seconds, done = seconds / (stop - done), stop
        if seconds > TIMED:
            break
        count *= GROWTH
    return done, []


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
        if seconds >= WAKING:
            threads = 1 + min(available_threads() - 1, int(job.row_seconds * (job.rows - done) / WAKING))
    left = job.rows - done
    return _share(job, done, job.rows, min(threads or 1, left)) if left else []


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
