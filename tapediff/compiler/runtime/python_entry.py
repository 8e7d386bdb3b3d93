"""The way from Python into a kernel: one C function for all kernels, called by CPython directly with the user's arrays.

It checks that each argument is an ndarray of exactly the recorded dtype, shape and layout, reads its address from the array
object itself, and calls the kernel: 0.1 µs in all, where a numba dispatcher takes 0.3 µs and ctypes 0.5 µs. Whatever it does
not recognise it refuses, and the caller converts the arguments and tries again; so nothing is ever read out of bounds.

Source: the array object's layout is part of NumPy's stable ABI (numpy/core/include/numpy/ndarraytypes.h, PyArrayObject_fields);
the calling convention is CPython's METH_FASTCALL.
"""

from __future__ import annotations

import ctypes
import sysconfig
from functools import cache
from typing import Any

import numpy as np

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...ir.instruction import ValueType
from .status import FAILURE, OVERLAP, REFUSED
from .workspaces import STATE_WORDS

# Words of a kernel's state after those that the kernel itself uses.
INPUTS, OUTPUTS, RETURNS_VALUE, RELEASES_GIL = range(STATE_WORDS, STATE_WORDS + 4)
SPECIFICATIONS = STATE_WORDS + 4

# Their addresses take 8 kB on the stack. Kernels of more are called through ctypes.
MOST_ARGUMENTS = 1024

# A dtype's kind, type, byte order, an unused byte and type number. Arrays that were unpickled have dtypes of their own, equal to NumPy's.
DTYPE_WORD, DTYPE_MASK = 24, 0xFFFFFFFF00FFFFFF

_METH_FASTCALL, METH_NOARGS = 0x80, 0x04
_READABLE = 0x0001 | 0x0100  # C-contiguous, aligned
_WRITEABLE = 0x0400


def specification(type_: ValueType, written: bool) -> list[int]:
    """What the entry checks an argument against: dtype object, dimensions, flags, bytes, extents."""
    flags = _READABLE | (_WRITEABLE if written else 0)
    return [id(np.dtype(type_.dtype)), len(type_.shape), flags, type_.size * type_.dtype.itemsize, *type_.shape]


@cache
def is_available() -> bool:
    """Whether this interpreter and this NumPy lay out their objects as the entry expects; looked up on objects made for it."""
    if sysconfig.get_config_var("Py_GIL_DISABLED") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    array, number = np.zeros((2, 3)), 1.5
    word, start = ctypes.c_int64.from_address, id(array)
    extents = word(start + 32).value
    return (
        word(start + 8).value == id(np.ndarray)
        and word(start + 16).value == array.ctypes.data
        and ctypes.c_int32.from_address(start + 24).value == 2
        and (word(extents).value, word(extents + 8).value) == (2, 3)
        and word(start + 56).value == id(array.dtype)
        and ctypes.string_at(id(array.dtype) + DTYPE_WORD, 3) == b"fd="
        and ctypes.c_int32.from_address(id(array.dtype) + DTYPE_WORD + 4).value == array.dtype.num
        and ctypes.c_int32.from_address(start + 64).value == array.flags.num
        and word(id(number) + 8).value == id(float)
        and ctypes.c_double.from_address(id(number) + 16).value == number
    )


class MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef; it has to live as long as the builtin functions that are made from it."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


@cache
def builtin_maker() -> Any:
    """CPython's maker of builtin functions: of a definition's address, the function's self, and None."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make


_lock = new_lock()
_shared: dict[str, Any] = {}


def callable_for(state: np.ndarray) -> Any:
    """A builtin function of (*inputs, *output arrays) that runs the kernel described by `state`.

    Returns a float (the kernel's value, or 0.0) on success; a complex number when a guard fails: its position + 1, and the
    outcome it met (NaN for arrays); an int status otherwise.
    """
    if not _shared:
        _link()
    return builtin_maker()(ctypes.addressof(_shared["definition"]), state, None)


@holding(_lock)
def _link() -> None:
    if not _shared:
        from ..jit.native_function import NativeFunction

        native = NativeFunction(text(), "tapediff_entry", set(), addresses=_known_objects(), is_portable=True)
        definition = MethodDefinition(b"tapediff_kernel", native.address, _METH_FASTCALL, None)
        _shared.update(native=native, definition=definition)


def _known_objects() -> dict[str, int]:
    """The objects of this process that the entry compares with, by the symbols that its text has for them."""
    return {
        "tapediff_ndarray": id(np.ndarray),
        "tapediff_float": id(float),
        "tapediff_float64": id(np.dtype(np.float64)),
    }


def text() -> str:
    """LLVM text of the entry. Byte offsets: object type 8; array data 16, ndim 24, extents 32, dtype 56, flags 64; float 16."""
    return f"""
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyLong_FromLong(i64)
declare ptr @PyComplex_FromDoubles(double, double)
@tapediff_ndarray = external global i64
@tapediff_float = external global i64
@tapediff_float64 = external global i64
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
define ptr @tapediff_entry(ptr %self, ptr %args, i64 %count) nounwind {{
entry:
%value = alloca double
%report = alloca [2 x i64]
%outcome_slot = getelementptr i64, ptr %report, i64 1
%pointers = alloca [{MOST_ARGUMENTS + 1} x ptr]
%state_slot = getelementptr i8, ptr %self, i64 16
%state = load ptr, ptr %state_slot
%inputs_slot = getelementptr i64, ptr %state, i64 {INPUTS}
%inputs = load i64, ptr %inputs_slot
%outputs_slot = getelementptr i64, ptr %state, i64 {OUTPUTS}
%outputs = load i64, ptr %outputs_slot
%returns_slot = getelementptr i64, ptr %state, i64 {RETURNS_VALUE}
%returns = load i64, ptr %returns_slot
%wanted = add i64 %inputs, %outputs
%right_count = icmp eq i64 %count, %wanted
%first_output = getelementptr ptr, ptr %pointers, i64 %inputs
store double 0.0, ptr %value
store i64 0, ptr %report
store double 0x7ff8000000000000, ptr %outcome_slot
store ptr %value, ptr %first_output
br i1 %right_count, label %counted, label %refuse
counted:
%any = icmp ne i64 %wanted, 0
br i1 %any, label %argument, label %run
argument:
%k = phi i64 [ 0, %counted ], [ %k_next, %accepted ]
%spec = phi i64 [ {SPECIFICATIONS}, %counted ], [ %spec_next, %accepted ]
%object_slot = getelementptr ptr, ptr %args, i64 %k
%object = load ptr, ptr %object_slot
%type_slot = getelementptr i8, ptr %object, i64 8
%type = load i64, ptr %type_slot
%data_slot = getelementptr i8, ptr %object, i64 16
%dtype_spec = getelementptr i64, ptr %state, i64 %spec
%dtype_wanted = load i64, ptr %dtype_spec
%ndim_spec = getelementptr i64, ptr %dtype_spec, i64 1
%ndim_wanted = load i64, ptr %ndim_spec
%extents_spec = getelementptr i64, ptr %dtype_spec, i64 4
%is_array = icmp eq i64 %type, ptrtoint (ptr @tapediff_ndarray to i64)
br i1 %is_array, label %array, label %number
array:
%dtype_slot = getelementptr i8, ptr %object, i64 56
%dtype = load ptr, ptr %dtype_slot
%dtype_word_slot = getelementptr i8, ptr %dtype, i64 {DTYPE_WORD}
%dtype_word = load i64, ptr %dtype_word_slot
%wanted_object = inttoptr i64 %dtype_wanted to ptr
%wanted_word_slot = getelementptr i8, ptr %wanted_object, i64 {DTYPE_WORD}
%wanted_word = load i64, ptr %wanted_word_slot
%dtype_bits = xor i64 %dtype_word, %wanted_word
%dtype_difference = and i64 %dtype_bits, {DTYPE_MASK - (1 << 64)}
%right_dtype = icmp eq i64 %dtype_difference, 0
%ndim_slot = getelementptr i8, ptr %object, i64 24
%ndim32 = load i32, ptr %ndim_slot
%ndim = sext i32 %ndim32 to i64
%right_ndim = icmp eq i64 %ndim, %ndim_wanted
%flags_slot = getelementptr i8, ptr %object, i64 64
%flags32 = load i32, ptr %flags_slot
%flags = zext i32 %flags32 to i64
%flags_spec = getelementptr i64, ptr %dtype_spec, i64 2
%flags_wanted = load i64, ptr %flags_spec
%flags_met = and i64 %flags, %flags_wanted
%right_flags = icmp eq i64 %flags_met, %flags_wanted
%two = and i1 %right_dtype, %right_ndim
%all = and i1 %two, %right_flags
%extents_slot = getelementptr i8, ptr %object, i64 32
%extents = load ptr, ptr %extents_slot
%array_data = load ptr, ptr %data_slot
br i1 %all, label %extent, label %refuse
extent:
%d = phi i64 [ 0, %array ], [ %d_next, %extent_met ]
%more_extents = icmp slt i64 %d, %ndim_wanted
br i1 %more_extents, label %compare, label %accepted
compare:
%given_slot = getelementptr i64, ptr %extents, i64 %d
%given = load i64, ptr %given_slot
%extent_spec = getelementptr i64, ptr %extents_spec, i64 %d
%extent_wanted = load i64, ptr %extent_spec
%same_extent = icmp eq i64 %given, %extent_wanted
br i1 %same_extent, label %extent_met, label %refuse
extent_met:
%d_next = add i64 %d, 1
br label %extent
number:
%is_float = icmp eq i64 %type, ptrtoint (ptr @tapediff_float to i64)
%is_scalar = icmp eq i64 %ndim_wanted, 0
%is_input = icmp ult i64 %k, %inputs
%is_double = icmp eq i64 %dtype_wanted, ptrtoint (ptr @tapediff_float64 to i64)
%float_scalar = and i1 %is_float, %is_scalar
%float_input = and i1 %float_scalar, %is_input
%float_fits = and i1 %float_input, %is_double
br i1 %float_fits, label %accepted, label %refuse
accepted:
%data = phi ptr [ %array_data, %extent ], [ %data_slot, %number ]
%is_output = icmp uge i64 %k, %inputs
%shift = select i1 %is_output, i64 %returns, i64 0
%place = add i64 %k, %shift
%pointer_slot = getelementptr ptr, ptr %pointers, i64 %place
store ptr %data, ptr %pointer_slot
%spec_header = add i64 %spec, 4
%spec_next = add i64 %spec_header, %ndim_wanted
%k_next = add i64 %k, 1
%more = icmp ult i64 %k_next, %wanted
br i1 %more, label %argument, label %checked
checked:
%overlaps = call i1 @tapediff_overlaps(ptr %pointers, ptr %state, i64 %inputs, i64 %outputs, i64 %returns)
br i1 %overlaps, label %overlap, label %run
run:
%kernel = load ptr, ptr %state
%gil_slot = getelementptr i64, ptr %state, i64 {RELEASES_GIL}
%gil = load i64, ptr %gil_slot
%long = icmp ne i64 %gil, 0
br i1 %long, label %released, label %held
released:
%thread = call ptr @PyEval_SaveThread()
%status_released = call i32 %kernel(ptr %pointers, ptr %first_output, ptr %state, ptr %report)
call void @PyEval_RestoreThread(ptr %thread)
br label %finished
held:
%status_held = call i32 %kernel(ptr %pointers, ptr %first_output, ptr %state, ptr %report)
br label %finished
finished:
%status = phi i32 [ %status_released, %released ], [ %status_held, %held ]
%ok = icmp eq i32 %status, 0
br i1 %ok, label %success, label %failure
success:
%result = load double, ptr %value
%number_object = call ptr @PyFloat_FromDouble(double %result)
ret ptr %number_object
failure:
%is_guard = icmp ult i32 %status, {FAILURE}
br i1 %is_guard, label %guard, label %fault
guard:
%position = sitofp i32 %status to double
%outcome = load double, ptr %outcome_slot
%guard_object = call ptr @PyComplex_FromDoubles(double %position, double %outcome)
ret ptr %guard_object
fault:
%wide = sext i32 %status to i64
%status_object = call ptr @PyLong_FromLong(i64 %wide)
ret ptr %status_object
refuse:
%refusal = call ptr @PyLong_FromLong(i64 {REFUSED})
ret ptr %refusal
overlap:
%overlap_object = call ptr @PyLong_FromLong(i64 {OVERLAP})
ret ptr %overlap_object
}}
{_OVERLAPS}"""


# Whether any output array shares memory with an input: the kernel may write the one before it has read all of the other.
_OVERLAPS = f"""
define internal i1 @tapediff_overlaps(ptr %pointers, ptr %state, i64 %inputs, i64 %outputs, i64 %returns) {{
entry:
%none = icmp eq i64 %outputs, 0
br i1 %none, label %no, label %input
input:
%i = phi i64 [ 0, %entry ], [ %i_next, %input_end ]
%spec = phi i64 [ {SPECIFICATIONS}, %entry ], [ %spec_next, %input_end ]
%some = icmp ult i64 %i, %inputs
br i1 %some, label %skip, label %no
skip:
%s = phi i64 [ %i, %input ], [ %s_next, %skip ]
%out_spec = phi i64 [ %spec, %input ], [ %out_spec_next, %skip ]
%skipped = getelementptr i64, ptr %state, i64 %out_spec
%skipped_ndim_slot = getelementptr i64, ptr %skipped, i64 1
%skipped_ndim = load i64, ptr %skipped_ndim_slot
%skipped_words = add i64 %skipped_ndim, 4
%out_spec_next = add i64 %out_spec, %skipped_words
%s_next = add i64 %s, 1
%skipping = icmp ult i64 %s_next, %inputs
br i1 %skipping, label %skip, label %begin
begin:
%input_spec = getelementptr i64, ptr %state, i64 %spec
%input_ndim_slot = getelementptr i64, ptr %input_spec, i64 1
%input_ndim = load i64, ptr %input_ndim_slot
%input_bytes_slot = getelementptr i64, ptr %input_spec, i64 3
%input_bytes = load i64, ptr %input_bytes_slot
%input_slot = getelementptr i64, ptr %pointers, i64 %i
%input_start = load i64, ptr %input_slot
%input_stop = add i64 %input_start, %input_bytes
br label %output
output:
%o = phi i64 [ 0, %begin ], [ %o_next, %output_next ]
%ospec = phi i64 [ %out_spec_next, %begin ], [ %ospec_next, %output_next ]
%output_spec = getelementptr i64, ptr %state, i64 %ospec
%output_ndim_slot = getelementptr i64, ptr %output_spec, i64 1
%output_ndim = load i64, ptr %output_ndim_slot
%output_bytes_slot = getelementptr i64, ptr %output_spec, i64 3
%output_bytes = load i64, ptr %output_bytes_slot
%place = add i64 %inputs, %returns
%place_o = add i64 %place, %o
%output_slot = getelementptr i64, ptr %pointers, i64 %place_o
%output_start = load i64, ptr %output_slot
%output_stop = add i64 %output_start, %output_bytes
%before = icmp ult i64 %output_start, %input_stop
%after = icmp ult i64 %input_start, %output_stop
%both = and i1 %before, %after
br i1 %both, label %yes, label %output_next
output_next:
%output_words = add i64 %output_ndim, 4
%ospec_next = add i64 %ospec, %output_words
%o_next = add i64 %o, 1
%more_outputs = icmp ult i64 %o_next, %outputs
br i1 %more_outputs, label %output, label %input_end
input_end:
%input_words = add i64 %input_ndim, 4
%spec_next = add i64 %spec, %input_words
%i_next = add i64 %i, 1
br label %input
yes:
ret i1 true
no:
ret i1 false
}}"""
