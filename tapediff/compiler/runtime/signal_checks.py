"""Pauses of native loops: a long loop lets Python handle signals now and then, so that Ctrl-C stops it.

A loop checks for the end of a slice of its iterations, in place of its own end: no further comparison. Between slices it calls

    i64 tapediff_pause(ptr clock, i64 iteration, i64 end)      the end of the next slice; -1 if Python has raised

This adapts the length of slices to some milliseconds, and calls Python about every 10 ms, on the main thread only, since other threads get
no signals. `clock` is three words of the loop: the time of the last pause, the slice, the time of the next call of Python. Short loops
never pause.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from ..jit.shared_function import SharedFunction
from ..jit.toolchain import MAIN, STOPS, toolchain
from ..llvm.builder import Function, external, module_text
from ..llvm.c_library import TICKS, now
from ..llvm.memory import Array, Layout
from ..llvm.values import I1, I64, PTR, Value, greatest, least, select
from .callbacks import callback_address
from .python_api import THREAD_IDENT
from .thread_pool import is_of_pool, pool_address

CLOCK = Layout.of_words(paused_at=I64, slice=I64, due=I64)

# Iterations before the first pause.
FIRST_SLICE = 128

# Thresholds for growing slices quickly, slowly, or shrinking them; and the longest delay of signals, in clock ticks. After a call of Python
# that waited for the GIL, the loop runs _SHARE times as long without one.
_QUICK, _SHORT, _LONG, _WAIT = (TICKS * n for n in (100_000, 2_000_000, 6_000_000, 8_000_000))
_SHARE = 50

_LONGEST_SLICE = 1 << 40

LOOK_FOR_SIGNALS = external("tapediff_look_for_signals", I64, I64)


def stop(threads: Iterable[int]) -> None:
    """Raise KeyboardInterrupt in the loops that these threads run now."""
    toolchain.stopping.update(threads)
    toolchain.pause_words[STOPS] = len(toolchain.stopping)


def go_on(threads: Iterable[int]) -> None:
    """Undo `stop`."""
    toolchain.stopping.difference_update(threads)
    toolchain.pause_words[STOPS] = len(toolchain.stopping)


def _look_for_signals(_: int) -> int:
    """Called by loops. Any call of Python handles signals; an exception of a handler ends the loop."""
    if threading.get_ident() in toolchain.stopping:
        raise KeyboardInterrupt
    return 1


def _pause() -> str:
    """LLVM text of the function that loops call."""
    f = Function("tapediff_pause", I64, clock=PTR, iteration=I64, end=I64)
    pointer, iteration, end = f.parameters
    clock, time, words = CLOCK.at(pointer), now(f), Array(f.external("tapediff_pause_words"), I64)
    slice_, before = clock["slice"], clock["paused_at"]
    clock["paused_at"] = time
    new_slice = f.variable(I64, FIRST_SLICE)
    with f.if_(slice_ == 0):
        clock["due"] = time + _WAIT
    with f.else_():
        new_slice.value = _next_slice(time - before, slice_)
        with f.if_(time >= clock["due"]):
            thread = f.call(THREAD_IDENT)
            asks = f.variable(I1, thread == words[MAIN])
            with f.if_(words.at(STOPS).load_atomic("monotonic") != 0, rarely=True):
                asks.value = ~is_of_pool(f, thread)
            with f.if_(asks.value):
                answer = f.call(LOOK_FOR_SIGNALS, 0)
                after = now(f)
                clock["due"] = after + greatest((after - time) * _SHARE, _WAIT)
                clock["paused_at"] = after
                with f.if_(answer == 0):
                    f.return_(-1)
            with f.else_():
                clock["due"] = time + _WAIT
    clock["slice"] = new_slice.value
    f.return_(least(iteration + new_slice.value, end))
    return module_text(f)


def _next_slice(elapsed: Value, slice_: Value) -> Value:
    """The length of the next slice, from the last one and the time that it took."""
    longer = select(elapsed < _QUICK, slice_ << 3, select(elapsed < _SHORT, slice_ << 1, slice_))
    return least(greatest(select(elapsed > _LONG, slice_ >> 1, longer), 1), _LONGEST_SLICE)


def _addresses() -> dict[str, int]:
    look = callback_address(_look_for_signals, ("i64",), "i64")
    return {LOOK_FOR_SIGNALS.name: look, "tapediff_pause_words": int(toolchain.pause_words.ctypes.data), **pool_address()}


PAUSE = SharedFunction("tapediff_pause", _pause, _addresses)
