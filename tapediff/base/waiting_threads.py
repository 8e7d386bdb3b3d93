"""Threads that wait for something to do: one is woken in 5 to 15 µs, where a ThreadPoolExecutor takes 16 to 35."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Found = TypeVar("Found")

# A thread ends after so many seconds without work.
PATIENCE = 60.0


class WaitingThread(Generic[Found]):
    """A thread, and what it does for whoever has taken it: the future of that call.

    One of two takes `_begin` once it is released: the thread, which then does the call and releases `_done`, or the caller, who
    cancels it.
    """

    def __init__(self, idle: list[WaitingThread[Found]]) -> None:
        self._idle = idle
        self._begin, self._done = threading.Lock(), threading.Lock()
        self._begin.acquire()
        self._done.acquire()
        self._call: Callable[[], Found] | None = None
        self._found: Found | None = None
        self._raised: BaseException | None = None
        self._is_abandoned = False
        threading.Thread(target=self._wait, name="tapediff", daemon=True).start()

    def begin(self, call: Callable[[], Found]) -> None:
        """Let the thread do something."""
        self._call = call
        self._begin.release()

    def cancel(self) -> bool:
        """Whether the thread has not begun, and will not; it is then free for others."""
        if not self._begin.acquire(blocking=False):
            return False
        self._free()
        return True

    def wait(self) -> None:
        """Wait until the thread has finished."""
        self._done.acquire()

    def result(self) -> Found | None:
        """What the call has returned, after `wait`; the thread is then free for others. Raises what it has raised."""
        found, raised = self._found, self._raised
        self._free()
        if raised is not None:
            raise raised
        return found

    def abandon(self) -> None:
        """Let the thread end once it has nothing to do: nobody will ask for a result."""
        self._is_abandoned = True

    def _free(self) -> None:
        self._call = self._found = self._raised = None
        self._idle.append(self)

    def _wait(self) -> None:
        while True:
            if self._begin.acquire(timeout=PATIENCE):
                self._do()
            elif self._is_left():
                return

    def _do(self) -> None:
        assert self._call is not None, "it is there before `_begin` is released"
        try:
            self._found = self._call()
        except BaseException as raised:  # noqa: BLE001 -- raised by `result`
            self._raised = raised
        self._done.release()

    def _is_left(self) -> bool:
        """Whether nobody has taken the thread, nor will: it is not among the idle ones any more."""
        if self._is_abandoned:
            return True
        try:
            self._idle.remove(self)
        except ValueError:
            return False
        return True


class WaitingThreads(Generic[Found]):
    """Threads for short calls, as many as are needed at once."""

    def __init__(self) -> None:
        self._idle: list[WaitingThread[Found]] = []

    def submit(self, call: Callable[[], Found]) -> WaitingThread[Found]:
        """Do a call in another thread."""
        try:
            thread = self._idle.pop()
        except IndexError:
            thread = WaitingThread(self._idle)
        thread.begin(call)
        return thread
