"""Dead places: variables and containers of functions that have returned. Their values need no join.

Reference counts identify them, so the garbage collector may run only where the program determines it: recordings stay reproducible.
"""

from __future__ import annotations

import functools
import gc
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType, TracebackType

from ...base.byte_code import is_held_elsewhere
from ...base.fork_locks import new_lock
from ...base.operating_system import at_fork
from ...base.source_location import is_library_file
from ..anything import Object
from .places import Place

States = dict[Object, tuple[Place, Object]]


def drop_dead(*states: States) -> None:
    """Drop places with no other reference, and then those that only they refer to."""
    if len(states) == 2 and not _has_dead(*states):
        return
    places = defaultdict[Object, set[int]](set)
    for state in states:
        for key, (place, _) in state.items():
            places[key].add(id(place))
    while True:
        dead = [key for key, found in places.items() if not is_held_elsewhere((_holder(key, states),), len(found))]
        if not dead:
            return
        for key in dead:
            del places[key]
            for state in states:
                state.pop(key, None)


def _has_dead(first: States, second: States) -> bool:
    """True if a place of two states is dead."""
    for mine, others in ((first, second), (second, first)):
        for key, (place, _) in mine.items():
            other = others.get(key)
            if not is_held_elsewhere((place.holder,), 1 if other is None or other[0] is place else 2):
                return True
    return False


def _holder(key: Object, states: tuple[States, ...]) -> Object:
    return next(state[key][0] for state in states if key in state).holder


# The garbage collector


class _Collector:
    """Counts, by thread, the recordings that disable it."""

    def __init__(self) -> None:
        self.lock, self.threads, self.was_on = new_lock(), Counter[int](), False

    @contextmanager
    def held(self) -> Generator[None]:
        """Disable automatic garbage collection."""
        with self.lock:
            if not self.threads:
                self.was_on = gc.isenabled()
                gc.disable()
            self.threads[threading.get_ident()] += 1
        try:
            yield
        finally:
            with self.lock:
                self.threads = +(self.threads - Counter([threading.get_ident()]))
                self._enable()

    def _enable(self) -> None:
        if not self.threads and self.was_on:
            gc.enable()

    def in_child(self) -> None:
        """In a forked process, forget the threads that do not exist there."""
        if self.threads:
            own = threading.get_ident()
            self.threads = +Counter({own: self.threads[own]})
            self._enable()


_collector = _Collector()
at_fork(after_in_child=_collector.in_child)
without_collector = _collector.held


# Tracebacks, which keep the variables of calls alive


def forget_frames(error: BaseException) -> None:
    """Drop the traceback of an error that nobody sees."""
    part: BaseException | None = error
    while part is not None:
        part.__traceback__ = None
        part = part.__context__


def without_variables(error: BaseException, body: FrameType | None = None) -> BaseException:
    """Give an error a traceback with the user's lines, but without the frames' variables.

    Args:
        body: includes the running calls, up to this one.
    """
    part: BaseException | None = error
    while part is not None:
        raised = [(entry.tb_frame.f_code, entry.tb_lineno) for entry in users_entries(part.__traceback__)]
        entries = [*(_running(body) if part is error else ()), *raised]
        trace: TracebackType | None = None
        for code, line in reversed(entries):
            trace = TracebackType(trace, _frame(code), -1, line)
        part.__traceback__ = trace
        part = part.__context__
    return error


def _running(body: FrameType | None) -> list[tuple[CodeType, int]]:
    found: list[tuple[CodeType, int]] = []
    frame = sys._getframe(2) if body is not None else None
    while frame is not None and frame is not body:
        if not is_library_file(frame.f_code.co_filename):
            found.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return found[::-1]


def users_entries(trace: TracebackType | None) -> Iterator[TracebackType]:
    """The entries of a traceback in the user's code."""
    while trace is not None:
        if not is_library_file(trace.tb_frame.f_code.co_filename):
            yield trace
        trace = trace.tb_next


def _empty() -> Iterator[None]:
    yield


@functools.lru_cache(maxsize=1024)
def _frame(code: CodeType) -> FrameType:
    """A frame displayed as a function's: that of a generator not yet started, which refers to no caller."""
    shown = _empty.__code__.replace(
        co_filename=code.co_filename, co_name=code.co_name, co_qualname=code.co_qualname, co_firstlineno=code.co_firstlineno
    )
    steps: Object = FunctionType(shown, {})()
    return steps.gi_frame
