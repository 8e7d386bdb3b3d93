"""Native functions that are copied into kernels: for workspaces kept between calls, arrays of run-time length, and hashes of arrays.

A state is the kernel's words in memory: its address, that of its constants, and slots for idle workspaces.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ...base.operating_system import free
from ..jit.native_function import INLINED
from ..llvm.builder import VOID, Function, Signature, included
from ..llvm.c_library import ALIGNED_ALLOC, FREE, REALLOC
from ..llvm.memory import Array, Layout
from ..llvm.values import I8, I64, NULL, PTR, convert, select

# Workspaces up to this size live on the C stack; larger ones are kept between calls, one for each call in progress.
LARGEST_STACK_WORKSPACE = 1 << 15
SLOT_COUNT = 4
KERNEL_STATE = Layout.of_words(kernel=PTR, constants=PTR, **{f"workspace{k}": PTR for k in range(SLOT_COUNT)})
STATE_CONSTANTS, STATE_SLOTS = KERNEL_STATE.word("constants"), KERNEL_STATE.word("workspace0")

# A block of memory with its size in bytes, such as an array of run-time length: at first null or a piece of the C stack, `first`, later
# on the heap.
BLOCK = Layout.of_words(memory=PTR, room=I64, first=PTR)
BLOCK_WORDS = len(BLOCK.words())
# Arrays of short loops fit in this many bytes on the stack. Functions with more than MOST_FIRST_BLOCKS blocks do not use it, as their
# stacks would be large.
FIRST_BYTES, MOST_FIRST_BLOCKS = 17 * 8, 32


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

    The first one grows a block to the given size, and returns its memory, or null if there is none. A block never shrinks while the
    function that owns it runs.
    """
    return [*included(_room()), *included(_free_blocks())]


def _room() -> Function:
    f = Function("tapediff_room", PTR, f"{INLINED} nounwind", block=PTR, bytes=I64)
    block, size = BLOCK.at(f.parameters[0]), f.parameters[1]
    found = f.variable(PTR, block["memory"])
    grown = Signature("tapediff_grown", PTR, (PTR, I64), definition="\n".join(included(_grown())))
    with f.if_(block["room"].below(size), rarely=True):
        found.value = f.call(grown, block.pointer, size)
    f.return_(found.value)
    return f


def _grown() -> Function:
    f = Function("tapediff_grown", PTR, "noinline nounwind", block=PTR, bytes=I64)
    block, size = BLOCK.at(f.parameters[0]), f.parameters[1]
    held, room, is_first = block["memory"], block["room"], block["memory"] == block["first"]
    made = f.call(REALLOC, select(is_first, NULL, held), size)
    with f.if_(~made.is_null()):
        with f.if_(is_first), f.loop(0, room.quotient(8)) as k:
            Array(made, I64).at(k).value = Array(held, I64)[k]
        block["memory"], block["room"] = made, size
    f.return_(made)
    return f


def _free_blocks() -> Function:
    f = Function("tapediff_free_stacks", VOID, "noinline nounwind", blocks=PTR, count=I64)
    blocks, count = f.parameters
    words = Array(blocks, I64)
    with f.loop(0, count) as k:
        block = BLOCK.at(words.address(k * BLOCK_WORDS))
        with f.if_(block["memory"] != block["first"]):
            f.call(FREE, block["memory"])
    f.return_()
    return f


def new_blocks(count: int) -> list[str]:
    """The lines that set up a function's blocks, `%stacks`."""
    words = BLOCK_WORDS * count
    lines = [f"%stacks = alloca [{words} x i64], align 64"]
    if count > MOST_FIRST_BLOCKS:
        return [*lines, f"call void @llvm.memset.p0.i64(ptr %stacks, i8 0, i64 {8 * words}, i1 false)"]
    lines.append(f"%first_room = alloca [{count * FIRST_BYTES} x i8], align 64")
    for k in range(count):
        lines.append(f"%first_room{k} = getelementptr i8, ptr %first_room, i64 {k * FIRST_BYTES}")
        for word, value in enumerate((f"ptr %first_room{k}", f"i64 {FIRST_BYTES}", f"ptr %first_room{k}")):
            lines.append(f"%stack{k}_{word} = getelementptr i64, ptr %stacks, i64 {k * BLOCK_WORDS + word}")
            lines.append(f"store {value}, ptr %stack{k}_{word}")
    return lines


@cache
def array_hash() -> list[str]:
    """`i64 tapediff_mix(array, bytes)`, as texts of a module: FNV-1a, byte by byte.

    Hash collisions do no harm: the guards of the variant that then runs are checked again.
    """
    f = Function("tapediff_mix", I64, "noinline nounwind", array=PTR, bytes=I64)
    array, count = f.parameters
    mixed = f.variable(I64, -3750763034362895579)
    with f.loop(0, count) as k:
        mixed.value = (mixed.value ^ convert("zext", Array(array, I8)[k], I64)) * 1099511628211
    f.return_(mixed.value)
    return included(f)


def aligned_bytes(constants: bytes) -> np.ndarray:
    """The constants, in memory aligned to a cache line."""
    raw = np.zeros(len(constants) + 64, np.uint8)
    start = -raw.ctypes.data % 64
    aligned = raw[start : start + len(constants)]
    aligned[:] = np.frombuffer(constants, np.uint8)
    return aligned


def free_workspaces(state: np.ndarray) -> None:
    """Free the idle workspaces of a state that is no longer used."""
    for k in range(STATE_SLOTS, STATE_SLOTS + SLOT_COUNT):
        if state[k]:
            free()(int(state[k]))
            state[k] = 0
