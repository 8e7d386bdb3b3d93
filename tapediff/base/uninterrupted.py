"""Code that must run to its end: stack space is checked before it begins, and signals wait until it has ended."""

from __future__ import annotations

import functools
import importlib
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# Each takes a Python frame and C calls. Restoring the state of a process needs 12 at most.
_CALLS = 20

_Handler = Callable[[int, FrameType | None], object]
# The C functions of the module `signal`, without conversions to enumerations, which take 20 times as long.
_C = importlib.import_module("_signal")
_SIGNALS = tuple(map(int, signal.valid_signals()))


def require_stack(calls: int = _CALLS) -> None:
    """Raise RecursionError here, where nothing has begun, rather than in the clean-up code. 2 µs."""
    if calls:
        next(map(require_stack, (calls - 1,)))


def uninterrupted(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator: delays signal handlers, and what they raise, until the function has ended. 10 µs.

    It is for calls of other packages that an exception between two of their lines would leave half done: llvmlite then frees its strings
    and modules twice, or keeps its lock, and `Thread.start` raises KeyError. Only the main thread handles signals.
    """

    @functools.wraps(function)
    def to_its_end(*args: P.args, **named: P.kwargs) -> R:
        require_stack()
        if threading.get_ident() != threading.main_thread().ident:
            return function(*args, **named)
        handlers: dict[int, _Handler] = {}
        # The signals that came, and the frames in which they did. A handler in Python could be interrupted itself.
        came: dict[int, FrameType | None] = {}
        try:
            try:
                try:
                    for number in _SIGNALS:
                        handler = _C.getsignal(number)
                        if callable(handler):
                            handlers[number] = handler
                            _C.signal(number, came.setdefault)
                    return function(*args, **named)
                finally:
                    _give_back(handlers, came)
            finally:
                _give_back(handlers, came)
        finally:
            _handle(handlers, came)

    return to_its_end


def _give_back(handlers: dict[int, _Handler], came: dict[int, FrameType | None]) -> None:
    for number, handler in handlers.items():
        # Unless the function has set its own handler.
        if _C.getsignal(number) == came.setdefault:
            _C.signal(number, handler)


def _handle(handlers: dict[int, _Handler], came: dict[int, FrameType | None]) -> None:
    """Call the handlers of the signals that came, in order, even if earlier ones raise."""
    if came:
        number = next(iter(came))
        frame = came.pop(number)
        try:
            handlers[number](number, frame)
        finally:
            _handle(handlers, came)
