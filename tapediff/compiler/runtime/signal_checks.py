"""Pauses of native loops: now and then a loop that runs long lets Python handle signals, so that Ctrl-C ends it.

A loop runs to the end of a slice of its iterations with the one comparison that it has anyway. Between slices it calls

    i64 tapediff_pause(ptr clock, i64 iteration, i64 end)      where the next slice ends; -1 where Python has raised

which makes slices longer or shorter, so that they take some milliseconds, and calls Python about every 10 ms, in the main thread
alone, as other threads get no signals. `clock` is three words of the loop's: when it paused last, the slice, when to call Python.
Loops that are short enough never pause.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import cache

import numpy as np

from ...base.operating_system import at_fork
from ..jit.native_function import NativeFunction
from ..llvm.c_library import CLOCK, TICKS, now
from .callbacks import callback_address

CLOCK_WORDS = 3

# Iterations before the first pause.
FIRST_SLICE = 128

# Slices grow quickly, slowly, or shrink; and the longest that signals wait, in ticks of the clock. A call of Python that had to wait
# for its lock is paid for by as many times as long without one.
_QUICK, _SHORT, _LONG, _WAIT = (TICKS * n for n in (100_000, 2_000_000, 6_000_000, 8_000_000))
_SHARE = 50

# The main thread, and how many threads are to stop.
_MAIN, _STOPS = range(2)
_words = np.array([threading.main_thread().ident or 0, 0], np.int64)
_stopped: set[int] = set()


def _in_child() -> None:
    _words[_MAIN] = threading.main_thread().ident or 0
    _words[_STOPS] = 0
    _stopped.clear()


at_fork(after_in_child=_in_child)


def stop(threads: Iterable[int]) -> None:
    """Let KeyboardInterrupt be raised in the loops that these threads run now."""
    _stopped.update(threads)
    _words[_STOPS] = len(_stopped)


def go_on(threads: Iterable[int]) -> None:
    """Take that back."""
    _stopped.difference_update(threads)
    _words[_STOPS] = len(_stopped)


def _look_for_signals(_: int) -> int:
    """Called by loops. That it is called is enough for signals; what their handlers raise ends the loop."""
    if threading.get_ident() in _stopped:
        raise KeyboardInterrupt
    return 1


@cache
def pause_address() -> int:
    addresses = {
        "tapediff_look_for_signals": callback_address(_look_for_signals, ("i64",), "i64"),
        "tapediff_pause_words": int(_words.ctypes.data),
    }
    # Held by the cache of the next function.
    return _linked(tuple(addresses.items())).address


@cache
def _linked(addresses: tuple[tuple[str, int], ...]) -> NativeFunction:
    return NativeFunction(_text(), "tapediff_pause", set(), addresses=dict(addresses), is_portable=True)


def _text() -> str:
    return f"""{CLOCK}
declare i64 @PyThread_get_thread_ident()
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @tapediff_look_for_signals(i64)
@tapediff_pause_words = external global i64
define i64 @tapediff_pause(ptr %clock, i64 %iteration, i64 %end) nounwind {{
entry:
%time = alloca [2 x i64]
{now("now")}
%slice_slot = getelementptr i64, ptr %clock, i64 1
%due_slot = getelementptr i64, ptr %clock, i64 2
%slice = load i64, ptr %slice_slot
%before = load i64, ptr %clock
store i64 %now, ptr %clock
%is_first = icmp eq i64 %slice, 0
br i1 %is_first, label %begin, label %measure
begin:
%first_due = add i64 %now, {_WAIT}
store i64 %first_due, ptr %due_slot
br label %go
measure:
%elapsed = sub i64 %now, %before
%is_quick = icmp slt i64 %elapsed, {_QUICK}
%is_short = icmp slt i64 %elapsed, {_SHORT}
%is_long = icmp sgt i64 %elapsed, {_LONG}
%eight = shl i64 %slice, 3
%twice = shl i64 %slice, 1
%half = ashr i64 %slice, 1
%longer = select i1 %is_short, i64 %twice, i64 %slice
%much_longer = select i1 %is_quick, i64 %eight, i64 %longer
%other = select i1 %is_long, i64 %half, i64 %much_longer
%at_least = call i64 @llvm.smax.i64(i64 %other, i64 1)
%changed = call i64 @llvm.smin.i64(i64 %at_least, i64 {1 << 40})
%due = load i64, ptr %due_slot
%is_due = icmp sge i64 %now, %due
br i1 %is_due, label %who, label %go
who:
%ident = call i64 @PyThread_get_thread_ident()
%main = load i64, ptr @tapediff_pause_words
%is_main = icmp eq i64 %ident, %main
%stops_slot = getelementptr i64, ptr @tapediff_pause_words, i64 {_STOPS}
%stops = load atomic i64, ptr %stops_slot monotonic, align 8
%stopping = icmp ne i64 %stops, 0
%asks = or i1 %is_main, %stopping
br i1 %asks, label %ask, label %wait
wait:
%later = add i64 %now, {_WAIT}
store i64 %later, ptr %due_slot
br label %go
ask:
%answer = call i64 @tapediff_look_for_signals(i64 0)
{now("after")}
%cost = sub i64 %after, %now
%share = mul i64 %cost, {_SHARE}
%pays = call i64 @llvm.smax.i64(i64 %share, i64 {_WAIT})
%next_due = add i64 %after, %pays
store i64 %next_due, ptr %due_slot
store i64 %after, ptr %clock
%raised = icmp eq i64 %answer, 0
br i1 %raised, label %stop, label %go
stop:
ret i64 -1
go:
%new_slice = phi i64 [ {FIRST_SLICE}, %begin ], [ %changed, %measure ], [ %changed, %wait ], [ %changed, %ask ]
store i64 %new_slice, ptr %slice_slot
%reach = add i64 %iteration, %new_slice
%until = call i64 @llvm.smin.i64(i64 %reach, i64 %end)
ret i64 %until
}}"""
