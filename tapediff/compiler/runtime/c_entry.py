"""C functions for value and gradient at a point, and what is built on them: bound builtins and loops over the rows of a matrix.

    i32 f(i64 size, const double* x, double* gradient, double* value, void* words)

Nothing is written on failure. What `tape.address` gives out is `tapediff_address`, which also says whether the value is finite;
other callers take infinities and NaN as values. A CompiledTape's function runs its kernel; a GuardedTape's runs the dispatch loop of
callees on a table whose variants are the kernels of its paths, each behind an adapter that looks like a loop kernel of one
iteration.

    words    ::= function and state of the kernel, or table and number of calls under way; size; id; callback; releases the lock
    variant  ::= function and state of the kernel; how often it has answered
    bound    ::= function, words, size, x, gradient, what to call with a status
    job      ::= next row, rows, rows at a time, first row that failed, size, X, gradients, values
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...ir.instruction import FLOAT64, ValueType
from ..jit.native_function import NativeFunction
from . import python_entry as entry
from .call_frame import END, ITERATION, NUMBERS, ONCE, STACK, frame_words, input_word, output_word
from .dispatch_loop import dispatch_loop_address
from .status import FAILURE, KEPT
from .workspaces import SLOT_COUNT

# What the functions return. Positive: the model has no value at this point, another may do; negative: the caller has to stop. A guard
# that fails says nothing about the model: a sampler that took it for a rejection would sample another posterior.
NOT_POSITIVE_DEFINITE, RECOVERABLE, NOT_FINITE = 2, 3, 4
WRONG_SIZE, MISPLACED, NO_MEMORY, GUARD_FAILED, RAISED = -1, -2, -3, -4, -5

KERNEL, STATE, SIZE, ID, CALLBACK, RELEASES_GIL = range(6)
DISPATCH_TABLE, ACTIVE = KERNEL, STATE
ANY_SIZE = -1

VARIANT_KERNEL, VARIANT_STATE, VARIANT_HITS = range(3)
NEXT_ROW, ROWS, ROWS_AT_A_TIME, FAILED_ROW, JOB_SIZE, JOB_POINTS, JOB_GRADIENTS, JOB_VALUES = range(8)
JOB_WORDS = 8

# Where a callee of a point finds how many numbers the point has: a constant input needs no stride.
SIZE_WORD = input_word(0) + 1
FRAME_WORDS = frame_words(1, 2)
ROLES = ONCE

POINT_TYPE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)

_lock = new_lock()
_functions: dict[str, NativeFunction] = {}


def function_address(name: str) -> int:
    """The address of a function of this module, which is linked when first needed and never freed."""
    known = _functions.get(name)
    if known is None:
        called: dict[str, int] = {}
        if name == "tapediff_point_on_paths":
            called["tapediff_run_decided"] = dispatch_loop_address("run_decided")
        elif name in _BEHIND:
            called[_BEHIND[name]] = function_address(_BEHIND[name])
        elif name == "tapediff_paths_kernel":
            called["tapediff_point_on_paths"] = function_address("tapediff_point_on_paths")
        known = _linked(name, called)
    return known.address


@holding(_lock)
def _linked(name: str, called: dict[str, int]) -> NativeFunction:
    known = _functions.get(name)
    if known is None:
        text = _TEXTS[name]
        known = _functions[name] = NativeFunction(text, name, set(), addresses=called, is_portable=True)
    return known


def _word(name: str, of: str, number: int, type_: str = "i64") -> str:
    """Load a word."""
    return f"%{name}_slot = getelementptr i64, ptr %{of}, i64 {number}\n%{name} = load {type_}, ptr %{name}_slot"


def _checked(sizes: str) -> str:
    """What the functions of a point begin with; continues at %run. `sizes` works out %right_size from %wanted."""
    return f"""{_word("wanted", "words", SIZE)}
{sizes}
br i1 %right_size, label %place, label %wrong_size
place:
%x_start = ptrtoint ptr %x to i64
%gradient_start = ptrtoint ptr %gradient to i64
%value_start = ptrtoint ptr %value to i64
%two = or i64 %x_start, %gradient_start
%three = or i64 %two, %value_start
%low_bits = and i64 %three, 7
%aligned = icmp eq i64 %low_bits, 0
%bytes = shl i64 %size, 3
%x_stop = add i64 %x_start, %bytes
%gradient_stop = add i64 %gradient_start, %bytes
%before = icmp ult i64 %gradient_start, %x_stop
%after = icmp ult i64 %x_start, %gradient_stop
%overlap = and i1 %before, %after
; The value would change the point that the next call reads, or a part of the gradient.
%value_after_x = icmp ule i64 %x_start, %value_start
%value_before_x = icmp ult i64 %value_start, %x_stop
%value_in_x = and i1 %value_after_x, %value_before_x
%value_after_gradient = icmp ule i64 %gradient_start, %value_start
%value_before_gradient = icmp ult i64 %value_start, %gradient_stop
%value_in_gradient = and i1 %value_after_gradient, %value_before_gradient
%value_in_one = or i1 %value_in_x, %value_in_gradient
%together = or i1 %overlap, %value_in_one
%apart = xor i1 %together, true
%placed = and i1 %aligned, %apart
br i1 %placed, label %run, label %misplaced
wrong_size:
ret i32 {WRONG_SIZE}
misplaced:
ret i32 {MISPLACED}"""


def _ask(status: str) -> str:
    """Python finds out what a failure was, and keeps it."""
    return f"""{_word("id", "words", ID)}
{_word("callback", "words", CALLBACK, "ptr")}
%found = call i32 %callback(i64 %id, i64 %size, ptr %x, i32 {status})
; An interrupt may have kept Python from answering, which must not look like success.
%silent = icmp eq i32 %found, 0
%answer = select i1 %silent, i32 {RAISED}, i32 %found"""


_PARAMETERS = "i64 %size, ptr %x, ptr %gradient, ptr %value, ptr %words"

_POINT = f"""define i32 @tapediff_point({_PARAMETERS}) nounwind {{
entry:
%inputs = alloca ptr
%outputs = alloca [2 x ptr]
%result = alloca double
%report = alloca [2 x i64]
{_checked("%right_size = icmp eq i64 %size, %wanted")}
run:
store ptr %x, ptr %inputs
store ptr %result, ptr %outputs
%second = getelementptr ptr, ptr %outputs, i64 1
store ptr %gradient, ptr %second
store i64 0, ptr %report
{_word("kernel", "words", KERNEL, "ptr")}
{_word("state", "words", STATE, "ptr")}
%status = call i32 %kernel(ptr %inputs, ptr %outputs, ptr %state, ptr %report)
%ok = icmp eq i32 %status, 0
br i1 %ok, label %success, label %failed
success:
%number = load double, ptr %result
store double %number, ptr %value
ret i32 0
failed:
%is_known = icmp sgt i32 %status, 0
br i1 %is_known, label %known, label %ask
known:
%at_guard = icmp ult i32 %status, {FAILURE}
%told = select i1 %at_guard, i32 {GUARD_FAILED}, i32 {NOT_POSITIVE_DEFINITE}
ret i32 %told
ask:
{_ask("%status")}
ret i32 %answer
}}"""


def _frame() -> str:
    """A frame for one call, all of it set: what is not named is 0."""
    inputs = 1
    words: dict[int, tuple[str, str]] = {
        END: ("i64", "1"), NUMBERS: ("ptr", "null"), STACK: ("i64", "0"), input_word(0): ("ptr", "%x"), SIZE_WORD: ("i64", "%size"),
        output_word(0, inputs): ("ptr", "%result"), output_word(1, inputs): ("ptr", "%gradient"),
    }  # fmt: skip
    lines = []
    for k in range(FRAME_WORDS):
        type_, value = words.get(k, ("i64", "0"))
        lines.append(f"%frame_{k} = getelementptr i64, ptr %frame, i64 {k}\nstore {type_} {value}, ptr %frame_{k}")
    return "\n".join(lines)


_SAME_OR_ANY = """%same_size = icmp eq i64 %size, %wanted
%any_size = icmp slt i64 %wanted, 0
%right_size = or i1 %same_size, %any_size"""

# Calls under way are counted before the table is read: a table that no new call can find is free once none is under way.
_POINT_ON_PATHS = f"""declare i32 @tapediff_run_decided(ptr, ptr)
define i32 @tapediff_point_on_paths({_PARAMETERS}) nounwind {{
entry:
%frame = alloca [{FRAME_WORDS} x i64], align 64
%result = alloca double
{_checked(_SAME_OR_ANY)}
run:
%active_slot = getelementptr i64, ptr %words, i64 {ACTIVE}
%active = atomicrmw add ptr %active_slot, i64 1 seq_cst
%table_slot = getelementptr i64, ptr %words, i64 {DISPATCH_TABLE}
%table = load atomic ptr, ptr %table_slot seq_cst, align 8
{_frame()}
%status = call i32 @tapediff_run_decided(ptr %table, ptr %frame)
%ok = icmp eq i32 %status, 0
br i1 %ok, label %success, label %failed
success:
%number = load double, ptr %result
store double %number, ptr %value
br label %done
failed:
{_ask("%status")}
br label %done
done:
%told = phi i32 [ 0, %success ], [ %answer, %failed ]
%left = atomicrmw sub ptr %active_slot, i64 1 seq_cst
ret i32 %told
}}"""

# What the entry takes for a kernel; its constants are the words of the point. It has checked the arguments.
_PATHS_KERNEL = f"""declare i32 @tapediff_point_on_paths({_PARAMETERS})
define i32 @tapediff_paths_kernel(ptr %inputs, ptr %outputs, ptr %state, ptr %report) nounwind {{
entry:
%x = load ptr, ptr %inputs
%value = load ptr, ptr %outputs
%gradient_slot = getelementptr ptr, ptr %outputs, i64 1
%gradient = load ptr, ptr %gradient_slot
{_word("words", "state", 1, "ptr")}
{_word("size", "words", SIZE)}
%status = call i32 @tapediff_point_on_paths(i64 %size, ptr %x, ptr %gradient, ptr %value, ptr %words)
%ok = icmp eq i32 %status, 0
%told = select i1 %ok, i32 0, i32 {KEPT}
ret i32 %told
}}"""

_VARIANT = f"""define i32 @tapediff_variant(ptr %frame, ptr %own, ptr %report) nounwind {{
entry:
%outputs = alloca [2 x ptr]
%inputs = getelementptr i64, ptr %frame, i64 {input_word(0)}
{_word("result", "frame", output_word(0, 1), "ptr")}
{_word("gradient", "frame", output_word(1, 1), "ptr")}
store ptr %result, ptr %outputs
%second = getelementptr ptr, ptr %outputs, i64 1
store ptr %gradient, ptr %second
{_word("kernel", "own", VARIANT_KERNEL, "ptr")}
{_word("state", "own", VARIANT_STATE, "ptr")}
%status = call i32 %kernel(ptr %inputs, ptr %outputs, ptr %state, ptr %report)
%ok = icmp eq i32 %status, 0
br i1 %ok, label %success, label %failed
success:
%iteration = getelementptr i64, ptr %frame, i64 {ITERATION}
store i64 1, ptr %iteration
%hits_slot = getelementptr i64, ptr %own, i64 {VARIANT_HITS}
%hits = atomicrmw add ptr %hits_slot, i64 1 monotonic
ret i32 0
failed:
ret i32 %status
}}"""

# Rows are handed out in order, so every row before the first that failed has been answered when all threads have returned.
_ROWS = f"""define i32 @tapediff_rows(ptr %function, ptr %words, ptr %job, ptr %row_slot) nounwind {{
entry:
{_word("rows", "job", ROWS)}
{_word("step", "job", ROWS_AT_A_TIME)}
{_word("size", "job", JOB_SIZE)}
{_word("points", "job", JOB_POINTS, "ptr")}
{_word("gradients", "job", JOB_GRADIENTS, "ptr")}
{_word("values", "job", JOB_VALUES, "ptr")}
%next_slot = getelementptr i64, ptr %job, i64 {NEXT_ROW}
%failed_slot = getelementptr i64, ptr %job, i64 {FAILED_ROW}
br label %take
take:
%first = atomicrmw add ptr %next_slot, i64 %step seq_cst
%bad = load atomic i64, ptr %failed_slot seq_cst, align 8
%some = icmp slt i64 %first, %bad
br i1 %some, label %some_rows, label %all_done
some_rows:
%stop_there = add i64 %first, %step
%is_last = icmp slt i64 %rows, %stop_there
%stop = select i1 %is_last, i64 %rows, i64 %stop_there
br label %row
row:
%r = phi i64 [ %first, %some_rows ], [ %r_next, %right ]
%offset = mul i64 %r, %size
%x = getelementptr double, ptr %points, i64 %offset
%gradient = getelementptr double, ptr %gradients, i64 %offset
%value = getelementptr double, ptr %values, i64 %r
%status = call i32 %function(i64 %size, ptr %x, ptr %gradient, ptr %value, ptr %words)
%ok = icmp eq i32 %status, 0
br i1 %ok, label %right, label %wrong
right:
%r_next = add i64 %r, 1
%more = icmp slt i64 %r_next, %stop
br i1 %more, label %row, label %take
wrong:
%worst = atomicrmw min ptr %failed_slot, i64 %r seq_cst
store i64 %r, ptr %row_slot
ret i32 %status
all_done:
ret i32 0
}}"""

_BOUND = f"""declare ptr @PyFloat_FromDouble(double)
declare ptr @PyLong_FromLong(i64)
declare ptr @PyObject_CallOneArg(ptr, ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
define ptr @tapediff_bound(ptr %self, ptr %none) nounwind {{
entry:
%value = alloca double
%bound_slot = getelementptr i8, ptr %self, i64 16
%bound = load ptr, ptr %bound_slot
{_word("function", "bound", 0, "ptr")}
{_word("words", "bound", 1, "ptr")}
{_word("size", "bound", 2)}
{_word("x", "bound", 3, "ptr")}
{_word("gradient", "bound", 4, "ptr")}
{_word("gil", "words", RELEASES_GIL)}
%long = icmp ne i64 %gil, 0
br i1 %long, label %released, label %held
released:
%thread = call ptr @PyEval_SaveThread()
%status_released = call i32 %function(i64 %size, ptr %x, ptr %gradient, ptr %value, ptr %words)
call void @PyEval_RestoreThread(ptr %thread)
br label %finished
held:
%status_held = call i32 %function(i64 %size, ptr %x, ptr %gradient, ptr %value, ptr %words)
br label %finished
finished:
%status = phi i32 [ %status_released, %released ], [ %status_held, %held ]
%ok = icmp eq i32 %status, 0
br i1 %ok, label %success, label %failure
success:
%result = load double, ptr %value
%number = call ptr @PyFloat_FromDouble(double %result)
ret ptr %number
failure:
%wide = sext i32 %status to i64
%status_object = call ptr @PyLong_FromLong(i64 %wide)
{_word("handler", "bound", 5, "ptr")}
%answer = call ptr @PyObject_CallOneArg(ptr %handler, ptr %status_object)
call void @Py_DecRef(ptr %status_object)
ret ptr %answer
}}"""



def _finite(symbol: str, inner: str) -> str:
    """A function of a point that also says whether the value is a number that a sampler can use."""
    return f"""declare i32 @{inner}({_PARAMETERS})
define i32 @{symbol}({_PARAMETERS}) nounwind {{
entry:
%status = call i32 @{inner}(i64 %size, ptr %x, ptr %gradient, ptr %value, ptr %words)
%ok = icmp eq i32 %status, 0
br i1 %ok, label %written, label %told
written:
%number = load double, ptr %value
%difference = fsub double %number, %number
%finite = fcmp oeq double %difference, 0.0
%said = select i1 %finite, i32 0, i32 {NOT_FINITE}
ret i32 %said
told:
ret i32 %status
}}"""


# What is given out as an address, by what is called behind it.
ADDRESSES = {"tapediff_point": "tapediff_address", "tapediff_point_on_paths": "tapediff_address_on_paths"}
_BEHIND = {outer: inner for inner, outer in ADDRESSES.items()}

_TEXTS = {
    **{outer: _finite(outer, inner) for outer, inner in _BEHIND.items()},
    "tapediff_point": _POINT, "tapediff_point_on_paths": _POINT_ON_PATHS, "tapediff_variant": _VARIANT,
    "tapediff_rows": _ROWS, "tapediff_bound": _BOUND, "tapediff_paths_kernel": _PATHS_KERNEL,
}  # fmt: skip


def builtin_on_paths(words: np.ndarray, shape: tuple[int, ...]) -> tuple[Any, np.ndarray]:
    """A builtin of (x, gradient) for the point that has these words, and its state; see entry.callable_for."""
    type_, kernel = ValueType(shape, FLOAT64), function_address("tapediff_paths_kernel")
    state = [kernel, words.ctypes.data, *[0] * SLOT_COUNT, 1, 1, 1, words[RELEASES_GIL]]
    state += [*entry.specification(type_, written=False), *entry.specification(type_, written=True)]
    array = np.array(state, np.int64)
    return entry.callable_for(array), array


@cache
def rows_function() -> Any:
    """Runs rows of a job through ctypes, which gives up the interpreter lock: (function, words, job, failed row) -> status."""
    return ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 4)(function_address("tapediff_rows"))


class _Words(np.ndarray):
    """Words of a bound builtin, with the objects that they are addresses in."""

    keeps: Any


@cache
def _bound_definition() -> tuple[Any, Any]:
    definition = entry.MethodDefinition(b"tapediff_bound", function_address("tapediff_bound"), entry.METH_NOARGS, None)
    return definition, entry.builtin_maker()


def bound_builtin(function: int, words: np.ndarray, x: np.ndarray, gradient: np.ndarray, failed: Any) -> Any:
    """A builtin without arguments: writes the gradient at x and returns the value, or what `failed(status)` returns."""
    values = [function, words.ctypes.data, x.size, x.ctypes.data, gradient.ctypes.data, id(failed)]
    bound = np.array(values, np.int64).view(_Words)
    bound.keeps = (words, x, gradient, failed)
    definition, make = _bound_definition()
    return make(ctypes.addressof(definition), bound, None)
