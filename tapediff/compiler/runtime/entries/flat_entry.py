"""C functions of results of any shape: the arguments one behind the other in one array, the results one behind the other in another.

    i32 f(i64 n, const double* x, i64 m, double* out, void* words)

The words lead to a block, which says how the kernel of one path is called. Where there is none, sizes differ, or a guard fails, the
function of a GuardedTape asks Python, which answers and may put another block there.
"""

from __future__ import annotations

import ctypes

from ...jit.shared_function import SharedFunction
from ...llvm.builder import Function, external, module_text
from ...llvm.memory import Array, Layout, Struct
from ...llvm.values import I32, I64, PTR, Value, constant, convert, select
from ..python_api import MOST_ARGUMENTS
from ..status import FAILURE
from .c_entry import GUARD_FAILED, MISPLACED, NOT_POSITIVE_DEFINITE, RAISED, WRONG_SIZE
from .python_entry import KERNEL, REPORT

WORDS = Layout.of_words(block=PTR, active=I64, id=I64, callback=PTR, follows=I64)
BLOCK_WORD, ACTIVE = WORDS.word("block"), WORDS.word("active")

# Behind it stand for each input whether it is in x, and its place there in bytes, or else its address; and for each output its place.
BLOCK = Layout.of_words(kernel=PTR, state=PTR, n=I64, m=I64, inputs=I64, outputs=I64)

# What Python returns where it has written the results, and the status that it is told where no kernel was run.
ANSWERED, NOT_RUN = 100, 0

FLAT_TYPE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p
)
CALLBACK = external("callback", I32, I64, I64, PTR, I64, PTR, I32)


def _flat() -> str:
    f = Function("tapediff_flat", I32, n=I64, x=PTR, m=I64, out=PTR, words=PTR)
    n, x, m, out, pointer = f.parameters
    words = WORDS.at(pointer)
    start, target = convert("ptrtoint", x, I64), convert("ptrtoint", out, I64)
    overlap = start.below(target + (m << 3)) & target.below(start + (n << 3))
    with f.if_((((start | target) & 7) != 0) | overlap):
        f.return_(MISPLACED)
    # Counted before the block is read: a block that no new call can find is free once no call is under way.
    words.location("active").update_atomic("add", 1)
    status, code = f.variable(I32, NOT_RUN), f.variable(I32, WRONG_SIZE)
    block = words.location("block").load_atomic()
    with f.if_(~block.is_null()):
        recorded = BLOCK.at(block)
        with f.if_((recorded["n"] == n) & (recorded["m"] == m)):
            status.value = _run(f, recorded, start, target)
            code.value = _code(status.value)
    asks = ((code.value != 0) & (words["follows"] != 0)) | (code.value == RAISED)
    with f.if_(asks):
        found = f.call(CALLBACK, words["id"], n, x, m, out, status.value, address=words["callback"])
        # An interrupt may have kept Python from answering, which must not look like success.
        code.value = select(found == ANSWERED, 0, select(found == 0, RAISED, found))
    words.location("active").update_atomic("sub", 1)
    f.return_(code.value)
    return module_text(f)


def _run(f: Function, block: Struct, x: Value, out: Value) -> Value:
    """The status of the block's kernel."""
    inputs, outputs, places = block["inputs"], block["outputs"], Array(block.behind(), I64)
    pointers, report = f.array(PTR, MOST_ARGUMENTS), f.struct(REPORT)
    addresses = Array(pointers.start, I64)
    with f.loop(0, inputs) as k:
        addresses[k] = places[k * 2] * x + places[k * 2 + 1]
    with f.loop(0, outputs) as k:
        addresses[inputs + k] = out + places[inputs * 2 + k]
    report["room"] = 0
    return f.call(
        KERNEL, pointers.start, pointers.address(inputs), block["state"], report.pointer, address=block["kernel"]
    )


def _code(status: Value) -> Value:
    """The status of the C function; RAISED where Python has to say why."""
    failed = select(status.below(FAILURE), constant(status.code, GUARD_FAILED, I32), NOT_POSITIVE_DEFINITE)
    return select(status == 0, 0, select(status > 0, failed, RAISED))


FLAT = SharedFunction("tapediff_flat", _flat)
