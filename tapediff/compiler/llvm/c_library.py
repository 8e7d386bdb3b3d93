"""Functions of the C library that generated code calls, as LLVM text: declared, or written over those that Windows has instead."""

from __future__ import annotations

import time

from ...base.operating_system import IS_WINDOWS
from .cpu import is_x86

ALIGNED_ALLOC = "declare ptr @aligned_alloc(i64, i64)"
REALLOC = "declare ptr @realloc(ptr, i64)"
FREE = "declare void @free(ptr)"
CLOCK_GETTIME = "declare i32 @clock_gettime(i32, ptr)"

# Windows frees aligned memory by another function than other memory, so all of it is aligned.
ALIGNED_ALLOC_ON_WINDOWS = """declare ptr @_aligned_malloc(i64, i64)
define internal ptr @aligned_alloc(i64 %alignment, i64 %size) nounwind {
%made = call ptr @_aligned_malloc(i64 %size, i64 %alignment)
ret ptr %made
}"""
REALLOC_ON_WINDOWS = """declare ptr @_aligned_realloc(ptr, i64, i64)
define internal ptr @realloc(ptr %held, i64 %size) nounwind {
%made = call ptr @_aligned_realloc(ptr %held, i64 %size, i64 64)
ret ptr %made
}"""
FREE_ON_WINDOWS = """declare void @_aligned_free(ptr)
define internal void @free(ptr %held) nounwind {
call void @_aligned_free(ptr %held)
ret void
}"""
# Its performance counter ticks every 100 ns.
CLOCK_GETTIME_ON_WINDOWS = """declare i32 @QueryPerformanceCounter(ptr)
define internal i32 @clock_gettime(i32 %clock, ptr %time) nounwind {
%answer = call i32 @QueryPerformanceCounter(ptr %time)
%ticks = load i64, ptr %time
%seconds = sdiv i64 %ticks, 10000000
%rest = srem i64 %ticks, 10000000
%nanoseconds = mul i64 %rest, 100
%rest_slot = getelementptr i64, ptr %time, i64 1
store i64 %seconds, ptr %time
store i64 %nanoseconds, ptr %rest_slot
ret i32 0
}"""
if IS_WINDOWS:
    ALIGNED_ALLOC, REALLOC, FREE = ALIGNED_ALLOC_ON_WINDOWS, REALLOC_ON_WINDOWS, FREE_ON_WINDOWS
    CLOCK_GETTIME = CLOCK_GETTIME_ON_WINDOWS

# For `now`.
CLOCK = "declare i64 @llvm.readcyclecounter()" if is_x86() else CLOCK_GETTIME

# The number of the clock that nobody sets, which differs between systems.
MONOTONIC = getattr(time, "CLOCK_MONOTONIC", 1)

# Ticks of the clock in a nanosecond: of the processor at about 3 GHz, where user code may read its counter.
TICKS = 3 if is_x86() else 1


def now(name: str) -> str:
    """Text that reads the clock into %name; elsewhere than on x86 it takes room for a time at %time."""
    if is_x86():
        return f"%{name} = call i64 @llvm.readcyclecounter()"
    return f"""%{name}_called = call i32 @clock_gettime(i32 {MONOTONIC}, ptr %time)
%{name}_seconds = load i64, ptr %time
%{name}_rest_slot = getelementptr i64, ptr %time, i64 1
%{name}_rest = load i64, ptr %{name}_rest_slot
%{name}_whole = mul i64 %{name}_seconds, 1000000000
%{name} = add i64 %{name}_whole, %{name}_rest"""
