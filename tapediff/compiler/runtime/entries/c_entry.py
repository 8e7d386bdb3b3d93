"""C functions for value and gradient at a point, and builtins bound to fixed arrays.

    i32 f(i64 size, const double* x, double* gradient, double* value, void* fields)

Nothing is written on failure. `tape.address` gives out `tapediff_address`, which also checks that the value is finite; other callers accept
infinities and NaN as values. A CompiledTape's function runs its kernel; a GuardedTape's runs the dispatch loop of callees on a table whose
variants are the kernels of its paths, each in an adapter to a loop kernel of one iteration.
"""

from __future__ import annotations

import ctypes

from ...jit.shared_function import SharedFunction
from ...llvm.builder import Function, external, module_text
from ...llvm.memory import Array, Layout, Location
from ...llvm.values import F64, I32, I64, PTR, Value, convert, select
from ..call_frame import CALL_FRAME, ONCE, frame_words, input_word, output_word
from ..callees.dispatch_loop import DISPATCH, RUN_DECIDED
from ..status import AGAIN, FAILURE, PENDING
from .python_entry import KERNEL as KERNEL_FUNCTION, REPORT

# Status codes of the functions. Positive: the model has no value at this point, another may do; negative: the caller has to stop. A guard
# that fails says nothing about the model: a sampler that took it for a rejection would sample another posterior.
NOT_POSITIVE_DEFINITE, RECOVERABLE, NOT_FINITE = 2, 3, 4
WRONG_SIZE, MISPLACED, NO_MEMORY, GUARD_FAILED, RAISED = -1, -2, -3, -4, -5

# The fields of a point: one kernel, or the kernels of several paths with the number of active calls.
POINT = Layout.of_words(kernel=PTR, state=PTR, size=I64, id=I64, callback=PTR, releases_gil=I64)
PATHS_POINT = Layout.of_words(table=PTR, active=I64, size=I64, id=I64, callback=PTR, releases_gil=I64)
KERNEL, STATE, SIZE, ID, CALLBACK, RELEASES_GIL = POINT.words()
DISPATCH_TABLE, ACTIVE = PATHS_POINT.word("table"), PATHS_POINT.word("active")
ANY_SIZE = -1

# A kernel as a variant of a dispatch loop, and its number of hits.
PATH = Layout.of_words(kernel=PTR, state=PTR, hits=I64)
VARIANT_KERNEL, VARIANT_STATE, VARIANT_HITS = PATH.words()

BOUND = Layout.of_words(function=PTR, fields=PTR, size=I64, x=PTR, gradient=PTR, handler=PTR)

# The frame word with the size of a point: a constant input does not need its stride.
SIZE_WORD = input_word(0) + 1
FRAME_WORDS = frame_words(1, 2)
LAYOUT = ONCE

POINT_TYPE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
POINT_FUNCTION = external("point", I32, I64, PTR, PTR, PTR, PTR)
CALLBACK_FUNCTION = external("callback", I32, I64, I64, PTR, I32)


# Functions of a point


class _PointFunction(Function):
    """A function of a point that is being written."""

    def __init__(self, name: str) -> None:
        super().__init__(name, I32, size=I64, x=PTR, gradient=PTR, value=PTR, fields=PTR)
        self.size, self.x, self.gradient, self.value, self.fields = self.parameters

    def check(self, right_size: Value) -> None:
        """Leave if the size is wrong, or the arrays are not aligned or share memory: writing one would change another."""
        with self.if_(~right_size):
            self.return_(WRONG_SIZE)
        x, gradient, value = (convert("ptrtoint", p, I64) for p in (self.x, self.gradient, self.value))
        bytes_ = self.size << 3
        unaligned = ((x | gradient | value) & 7) != 0
        overlap = gradient.below(x + bytes_) & x.below(gradient + bytes_)
        value_inside = [~value.below(start) & value.below(start + bytes_) for start in (x, gradient)]
        with self.if_(unaligned | overlap | value_inside[0] | value_inside[1]):
            self.return_(MISPLACED)

    def ask(self, status: Value) -> Value:
        """Let Python find the reason of a failure, and keep it; return the status."""
        point = POINT.at(self.fields)
        found = self.call(CALLBACK_FUNCTION, point["id"], self.size, self.x, status, address=point["callback"])
        # An interrupt may have prevented Python's reply, which must not look like success.
        return select(found == 0, RAISED, found)


def _point() -> str:
    f = _PointFunction("tapediff_point")
    point, value = POINT.at(f.fields), Location(f.value, F64)
    f.check(f.size == point["size"])
    inputs, outputs, result, report = f.variable(PTR, f.x), f.array(PTR, 2), f.variable(F64), f.struct(REPORT)
    outputs[0], outputs[1] = result.address, f.gradient
    report["room"] = 0
    status = f.call(
        KERNEL_FUNCTION, inputs.address, outputs.start, point["state"], report.pointer, address=point["kernel"]
    )
    with f.if_(status == 0):
        value.value = result.value
        f.return_(0)
    with f.if_(status > 0):
        with f.if_(status.below(FAILURE)):
            f.return_(GUARD_FAILED)
        f.return_(NOT_POSITIVE_DEFINITE)
    f.return_(f.ask(status))
    return module_text(f)


def _point_on_paths() -> str:
    f = _PointFunction("tapediff_point_on_paths")
    point, result = PATHS_POINT.at(f.fields), f.variable(F64)
    wanted = point["size"]
    f.check((f.size == wanted) | (wanted < 0))
    # Counted before the table is read: a table that no new call can find is free once no call is under way.
    active = point.location("active")
    active.update_atomic("add", 1)
    table = point.location("table").load_atomic()
    frame = f.struct(CALL_FRAME, 8 * FRAME_WORDS)
    words = Array(frame.pointer, I64)
    for k in range(FRAME_WORDS):
        words[k] = 0
    frame["end"] = 1
    words[SIZE_WORD] = f.size
    addresses = Array(frame.pointer, PTR)
    addresses[input_word(0)] = f.x
    addresses[output_word(0, 1)], addresses[output_word(1, 1)] = result.address, f.gradient
    told = f.variable(I32, 0)
    status = f.call(DISPATCH, table, frame.pointer)
    with f.if_(status == 0):
        Location(f.value, F64).value = result.value
    with f.else_():
        told.value = f.ask(status)
    active.update_atomic("sub", 1)
    f.return_(told.value)
    return module_text(f)


def _variant() -> str:
    """An adapter from a kernel to a loop kernel of one iteration; see compiler.loop_kernel."""
    f = Function("tapediff_variant", I32, frame=PTR, own=PTR, report=PTR)
    frame, path, report = f.parameters[0], PATH.at(f.parameters[1]), f.parameters[2]
    addresses, outputs = Array(frame, PTR), f.array(PTR, 2)
    for k in range(2):
        outputs[k] = addresses[output_word(k, 1)]
    status = f.call(
        KERNEL_FUNCTION, addresses.address(input_word(0)), outputs.start, path["state"], report, address=path["kernel"]
    )
    with f.if_(status == 0):
        CALL_FRAME.at(frame)["iteration"] = 1
        path.location("hits").update_atomic("add", 1, "monotonic")
    f.return_(select(status == PENDING, AGAIN, status))
    return module_text(f)


_FUNCTIONS = {
    "tapediff_point": SharedFunction("tapediff_point", _point),
    "tapediff_point_on_paths": SharedFunction("tapediff_point_on_paths", _point_on_paths, lambda: {RUN_DECIDED.name: RUN_DECIDED.address}),
    "tapediff_variant": SharedFunction("tapediff_variant", _variant),
}


def function_address(name: str) -> int:
    """The address of a function of this module."""
    return _FUNCTIONS[name].address


