"""A pool of idle threads: waking one takes 5 to 15 µs, where a ThreadPoolExecutor takes 16 to 35."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from .uninterrupted import uninterrupted

Found = TypeVar("Found")

# A thread ends after so many seconds without work.
PATIENCE = 60.0


class WaitingCall(Generic[Found]):
    """A call that a thread runs, unless the caller cancels it: whichever takes `_begin` first decides."""

    def __init__(self, call: Callable[[], Found]) -> None:
        self._call = call
        self._begin, self._done = threading.Lock(), threading.Lock()
        self._done.acquire()
        self._found: Found | None = None
        self._raised: BaseException | None = None

    def cancel(self) -> bool:
        """Cancel the call. True if it has not begun, and will not."""
        return self._begin.acquire(blocking=False)

    def wait(self) -> None:
        """Wait until the call has ended; it must have begun."""
        self._done.acquire()

    def result(self) -> Found | None:
        """The result of the call, after `wait`. Raises what it raised."""
        if self._raised is not None:
            raise self._raised
        return self._found

    def do(self) -> None:
        """Run the call in this thread, unless it is cancelled."""
        if not self._begin.acquire(blocking=False):
            return
        try:
            self._found = self._call()
        except BaseException as raised:  # noqa: BLE001 -- raised by `result`
            self._raised = raised
        self._done.release()


class WaitingThreads(Generic[Found]):
    """Threads for short calls, as many as are needed at once.

    The number of threads needed follows from the waiting calls and the idle threads, so an interrupt of the caller, at any place, leaves
    no thread uncounted.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[WaitingCall[Found]] = SimpleQueue()
        # The numbers of the threads that wait for a call, or are about to begin one. Each adds and removes its own.
        self._idle: set[int] = set()

    def submit(self, call: Callable[[], Found]) -> WaitingCall[Found]:
        """Run a call in another thread. If no thread can be started, it waits until it is cancelled."""
        waiting = WaitingCall(call)
        self._calls.put(waiting)
        self._have_enough()
        return waiting

    def _have_enough(self) -> None:
        if self._calls.qsize() > len(self._idle):
            with suppress(RuntimeError, MemoryError):  # "can't start new thread"
                self._start()

    @uninterrupted
    def _start(self) -> None:
        threading.Thread(target=self._serve, name="tapediff", daemon=True).start()

    def _serve(self) -> None:
        own = threading.get_ident()
        while True:
            self._idle.add(own)
            try:
                call = self._calls.get(timeout=PATIENCE)
            except Empty:
                self._idle.discard(own)
                return
            self._idle.discard(own)
            # This thread may have missed a call that came between the two lines above.
            self._have_enough()
            call.do()
            del call
