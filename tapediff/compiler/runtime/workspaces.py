"""LLVM text of helpers of kernels: workspaces, kept between the calls of a kernel; stacks of loops; a number for an array.

A state is the kernel's words in memory: its address, that of its constants, and slots for idle workspaces.
"""

from __future__ import annotations

import numpy as np

from ...base.operating_system import free
from ..llvm.c_library import ALIGNED_ALLOC, REALLOC

# Workspaces up to this size live on the C stack; larger ones are kept between calls, one for each call in progress.
LARGEST_STACK_WORKSPACE = 1 << 15
STATE_CONSTANTS, STATE_SLOTS, SLOT_COUNT = 1, 2, 4
STATE_WORDS = STATE_SLOTS + SLOT_COUNT

# A call takes an idle workspace out of the kernel's state, or makes one; so threads and re-entrant calls never share.
WORKSPACE_FUNCTIONS = f"""{ALIGNED_ALLOC}
define internal ptr @tapediff_acquire(ptr %state, i64 %size) noinline {{
entry:
br label %look
look:
%k = phi i64 [ {STATE_SLOTS}, %entry ], [ %next, %again ]
%slot = getelementptr i64, ptr %state, i64 %k
%held = atomicrmw xchg ptr %slot, i64 0 seq_cst
%has = icmp ne i64 %held, 0
br i1 %has, label %found, label %again
again:
%next = add i64 %k, 1
%more = icmp ult i64 %next, {STATE_WORDS}
br i1 %more, label %look, label %make
found:
%workspace = inttoptr i64 %held to ptr
ret ptr %workspace
make:
%made = call ptr @aligned_alloc(i64 64, i64 %size)
ret ptr %made
}}
define internal void @tapediff_release(ptr %state, ptr %workspace) noinline {{
entry:
%value = ptrtoint ptr %workspace to i64
br label %look
look:
%k = phi i64 [ {STATE_SLOTS}, %entry ], [ %next, %again ]
%slot = getelementptr i64, ptr %state, i64 %k
%swap = cmpxchg ptr %slot, i64 0, i64 %value seq_cst seq_cst
%kept = extractvalue {{ i64, i1 }} %swap, 1
br i1 %kept, label %done, label %again
again:
%next = add i64 %k, 1
%more = icmp ult i64 %next, {STATE_WORDS}
br i1 %more, label %look, label %drop
drop:
call void @free(ptr %workspace)
br label %done
done:
ret void
}}"""

# A stack is an address and its room in bytes; it only grows as long as the function runs that owns it.
STACK_FUNCTIONS = REALLOC + """
define internal ptr @tapediff_room(ptr %stack, i64 %bytes) noinline nounwind {
entry:
%held = load ptr, ptr %stack
%room_slot = getelementptr i64, ptr %stack, i64 1
%room = load i64, ptr %room_slot
%enough = icmp ule i64 %bytes, %room
br i1 %enough, label %keep, label %grow
keep:
ret ptr %held
grow:
%made = call ptr @realloc(ptr %held, i64 %bytes)
%failed = icmp eq ptr %made, null
br i1 %failed, label %full, label %grown
full:
ret ptr null
grown:
store ptr %made, ptr %stack
store i64 %bytes, ptr %room_slot
ret ptr %made
}
define internal void @tapediff_free_stacks(ptr %stacks, i64 %count) noinline nounwind {
entry:
br label %next
next:
%k = phi i64 [ 0, %entry ], [ %k1, %next ]
%place = shl i64 %k, 1
%stack = getelementptr i64, ptr %stacks, i64 %place
%held = load ptr, ptr %stack
call void @free(ptr %held)
%k1 = add i64 %k, 1
%more = icmp ult i64 %k1, %count
br i1 %more, label %next, label %done
done:
ret void
}"""

# FNV-1a, byte by byte. Arrays taken for the same do no harm: the guards of what runs then are looked at again.
MIX = """define internal i64 @tapediff_mix(ptr %array, i64 %bytes) noinline nounwind {
entry:
br label %look
look:
%k = phi i64 [ 0, %entry ], [ %next, %mix ]
%before = phi i64 [ -3750763034362895579, %entry ], [ %after, %mix ]
%more = icmp ult i64 %k, %bytes
br i1 %more, label %mix, label %done
mix:
%place = getelementptr i8, ptr %array, i64 %k
%byte = load i8, ptr %place
%wide = zext i8 %byte to i64
%joined = xor i64 %before, %wide
%after = mul i64 %joined, 1099511628211
%next = add i64 %k, 1
br label %look
done:
ret i64 %before
}"""


def aligned_bytes(constants: bytes) -> np.ndarray:
    """The constants in memory that starts on a cache line."""
    raw = np.zeros(len(constants) + 64, np.uint8)
    start = -raw.ctypes.data % 64
    aligned = raw[start : start + len(constants)]
    aligned[:] = np.frombuffer(constants, np.uint8)
    return aligned


def free_workspaces(state: np.ndarray) -> None:
    """Free the idle workspaces of a state that nobody will use again."""
    for k in range(STATE_SLOTS, STATE_SLOTS + SLOT_COUNT):
        if state[k]:
            free()(int(state[k]))
            state[k] = 0
