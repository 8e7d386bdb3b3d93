"""Functions of the C library that generated code calls; on Windows, which lacks them, replacements built on its own functions."""

from __future__ import annotations

import time
from collections.abc import Callable

from ...base.operating_system import IS_WINDOWS
from .builder import VOID, Function, Signature, external, included
from .cpu import is_x86
from .memory import Layout
from .values import I32, I64, PTR, Value


def aligned_alloc_on_windows() -> Function:
    """Aligned allocation for all memory: Windows has a separate function to free it."""
    f = Function("aligned_alloc", PTR, alignment=I64, size=I64)
    alignment, size = f.parameters
    f.return_(f.call(external("_aligned_malloc", PTR, I64, I64), size, alignment))
    return f


def realloc_on_windows() -> Function:
    f = Function("realloc", PTR, held=PTR, size=I64)
    held, size = f.parameters
    f.return_(f.call(external("_aligned_realloc", PTR, PTR, I64, I64), held, size, 64))
    return f


def free_on_windows() -> Function:
    f = Function("free", VOID, held=PTR)
    f.call(external("_aligned_free", VOID, PTR), *f.parameters)
    f.return_()
    return f


def clock_gettime_on_windows() -> Function:
    """clock_gettime by the performance counter of Windows, which ticks every 100 ns."""
    f = Function("clock_gettime", I32, clock=I32, time=PTR)
    ticks = f.variable(I64)
    f.call(external("QueryPerformanceCounter", I32, PTR), ticks.address)
    time_ = TIME.at(f.parameters[1])
    time_["seconds"], time_["nanoseconds"] = ticks.value.quotient(10_000_000), ticks.value.remainder(10_000_000) * 100
    f.return_(0)
    return f


TIME = Layout.of_words(seconds=I64, nanoseconds=I64)


def _of_c(name: str, result: str, *parameters: str, on_windows: Callable[[], Function]) -> Signature:
    return Signature(name, result, parameters, definition="\n".join(included(on_windows())) if IS_WINDOWS else "")


ALIGNED_ALLOC = _of_c("aligned_alloc", PTR, I64, I64, on_windows=aligned_alloc_on_windows)
REALLOC = _of_c("realloc", PTR, PTR, I64, on_windows=realloc_on_windows)
FREE = _of_c("free", VOID, PTR, on_windows=free_on_windows)
CLOCK_GETTIME = _of_c("clock_gettime", I32, I32, PTR, on_windows=clock_gettime_on_windows)
CYCLE_COUNTER = external("llvm.readcyclecounter", I64)
# Yields the processor to another thread.
YIELD = external("SwitchToThread" if IS_WINDOWS else "sched_yield", I32)
_PAUSE = external("llvm.x86.sse2.pause", VOID)

# The id of the monotonic clock, which differs between systems.
MONOTONIC = getattr(time, "CLOCK_MONOTONIC", 1)

# Clock ticks in a nanosecond: of the processor at about 3 GHz, where user code may read its counter.
TICKS = 3 if is_x86() else 1


def now(f: Function) -> Value:
    """The current time of the clock, in ticks."""
    if is_x86():
        return f.call(CYCLE_COUNTER)
    time_ = f.struct(TIME)
    f.call(CLOCK_GETTIME, MONOTONIC, time_.pointer)
    return time_["seconds"] * 1_000_000_000 + time_["nanoseconds"]


def spin(f: Function) -> None:
    """Tell the processor that a loop waits for other threads, if it has such an instruction."""
    if is_x86():
        f.call(_PAUSE)
