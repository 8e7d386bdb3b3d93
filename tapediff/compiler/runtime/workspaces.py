"""Native functions that kernels have copies of: for workspaces kept between calls, arrays of run-time length, and hashes of arrays.

A state is the kernel's words in memory: its address, that of its constants, and slots for idle workspaces.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ...base.operating_system import free
from ..llvm.builder import VOID, Function, included
from ..llvm.c_library import ALIGNED_ALLOC, FREE, REALLOC
from ..llvm.memory import Array, Layout
from ..llvm.values import I8, I64, NULL, PTR, convert

# Workspaces up to this size live on the C stack; larger ones are kept between calls, one for each call in progress.
LARGEST_STACK_WORKSPACE = 1 << 15
SLOT_COUNT = 4
KERNEL_STATE = Layout.of_words(kernel=PTR, constants=PTR, **{f"workspace{k}": PTR for k in range(SLOT_COUNT)})
STATE_CONSTANTS, STATE_SLOTS = KERNEL_STATE.word("constants"), KERNEL_STATE.word("workspace0")
STATE_WORDS = STATE_SLOTS + SLOT_COUNT

# A block of memory on the heap with its size in bytes, such as an array of run-time length.
BLOCK = Layout.of_words(memory=PTR, room=I64)


@cache
def workspace_functions() -> list[str]:
    """`ptr tapediff_acquire(state, size)` and `void tapediff_release(state, workspace)`, as texts of a module.

    A call takes an idle workspace out of the kernel's state, or makes one; so threads and re-entrant calls never share.
    """
    return [*included(_acquire()), *included(_release())]


def _acquire() -> Function:
    f = Function("tapediff_acquire", PTR, "noinline nounwind", state=PTR, size=I64)
    state, size = f.parameters
    slots = Array(KERNEL_STATE.at(state).location("workspace0").address, PTR)
    with f.loop(0, SLOT_COUNT) as k:
        held = slots.at(k).update_atomic("xchg", NULL)
        with f.if_(~held.is_null()):
            f.return_(held)
    f.return_(f.call(ALIGNED_ALLOC, 64, size))
    return f


def _release() -> Function:
    f = Function("tapediff_release", VOID, "noinline nounwind", state=PTR, workspace=PTR)
    state, workspace = f.parameters
    slots = Array(KERNEL_STATE.at(state).location("workspace0").address, PTR)
    with f.loop(0, SLOT_COUNT) as k, f.if_(slots.at(k).replace_atomic(NULL, workspace)):
        f.return_()
    f.call(FREE, workspace)
    f.return_()
    return f


@cache
def block_functions() -> list[str]:
    """`ptr tapediff_room(block, bytes)` and `void tapediff_free_stacks(blocks, count)`, as texts of a module.

    The first makes a block as large as it is asked for, and returns its memory, or null where there is none. A block only grows as
    long as the function runs that owns it.
    """
    return [*included(_room()), *included(_free_blocks())]


def _room() -> Function:
    f = Function("tapediff_room", PTR, "noinline nounwind", block=PTR, bytes=I64)
    block, size = BLOCK.at(f.parameters[0]), f.parameters[1]
    held = block["memory"]
    with f.if_(~block["room"].below(size)):
        f.return_(held)
    made = f.call(REALLOC, held, size)
    with f.if_(~made.is_null()):
        block["memory"], block["room"] = made, size
    f.return_(made)
    return f


def _free_blocks() -> Function:
    f = Function("tapediff_free_stacks", VOID, "noinline nounwind", blocks=PTR, count=I64)
    blocks, count = f.parameters
    words = Array(blocks, I64)
    with f.loop(0, count) as k:
        f.call(FREE, BLOCK.at(words.address(2 * k))["memory"])
    f.return_()
    return f


@cache
def array_hash() -> list[str]:
    """`i64 tapediff_mix(array, bytes)`, as texts of a module: FNV-1a, byte by byte.

    Arrays of one hash do no harm: the guards of the variant that then runs are checked again.
    """
    f = Function("tapediff_mix", I64, "noinline nounwind", array=PTR, bytes=I64)
    array, count = f.parameters
    mixed = f.variable(I64, -3750763034362895579)
    with f.loop(0, count) as k:
        mixed.value = (mixed.value ^ convert("zext", Array(array, I8)[k], I64)) * 1099511628211
    f.return_(mixed.value)
    return included(f)


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
