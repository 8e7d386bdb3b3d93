"""CPython and NumPy as native code sees them: field offsets of their objects, the functions that it calls, builtin functions.

Source: the array object's layout is part of NumPy's stable ABI (numpy/core/include/numpy/ndarraytypes.h, PyArrayObject_fields);
the calling conventions are CPython's METH_FASTCALL and METH_NOARGS.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from ...ir.instruction import Operand
from ..jit.shared_function import SharedFunction
from ..jit.toolchain import toolchain
from ..llvm.builder import VOID, Exit, Function, external
from ..llvm.memory import Array, Layout, Struct
from ..llvm.values import F64, I32, I64, PTR, Value, select

# The `self` of a builtin function, here an array of words.
ARRAY_OBJECT = Layout(type=(8, PTR), data=(16, PTR), ndim=(24, I32), extents=(32, PTR), dtype=(56, PTR), flags=(64, I32))
FLOAT_OBJECT = Layout(type=(8, PTR), value=(16, F64))
# A td.Constant; `word` is its value as a number, 0 where it has none.
CONSTANT_OBJECT = Layout(type=(8, PTR), value=(16, PTR), word=(16, I64))
# A dtype's kind, type, byte order, an unused byte and type number. Unpickled arrays have their own dtypes, equal to NumPy's.
DTYPE_OBJECT = Layout(description=(24, I64))
DESCRIPTION_MASK = 0xFFFFFFFF00FFFFFF

# Their addresses take 8 kB on the stack of the entry. Kernels of more are called through ctypes.
MOST_ARGUMENTS = 1024

READABLE = 0x0001 | 0x0100  # C-contiguous, aligned
WRITEABLE = 0x0400

METH_FASTCALL, METH_NOARGS = 0x80, 0x04

# In the place of an extent.
ROWS = -1


def of_size(number: int) -> int:
    """In the place of an extent: the size of this number of a call, whose axes of that size have to agree."""
    return -2 - number


FLOAT_FROM_DOUBLE = external("PyFloat_FromDouble", PTR, F64)
LONG_FROM_LONG = external("PyLong_FromLong", PTR, I64)
COMPLEX_FROM_DOUBLES = external("PyComplex_FromDoubles", PTR, F64, F64)
CALL_ONE_ARGUMENT = external("PyObject_CallOneArg", PTR, PTR, PTR)
RELEASE_OBJECT = external("Py_DecRef", VOID, PTR)
SAVE_THREAD = external("PyEval_SaveThread", PTR)
RESTORE_THREAD = external("PyEval_RestoreThread", VOID, PTR)
ENSURE_LOCK = external("PyGILState_Ensure", I32)
GIVE_BACK_LOCK = external("PyGILState_Release", VOID, I32)
CALL_FUNCTION = external("PyObject_CallFunction", PTR, PTR, PTR, is_variadic=True)
LONG_AS_LONG_LONG = external("PyLong_AsLongLong", I64, PTR)
LONG_FROM_LONG_LONG = external("PyLong_FromLongLong", PTR, I64)
LONG_FROM_UNSIGNED = external("PyLong_FromUnsignedLong", PTR, I64)
THREAD_IDENT = external("PyThread_get_thread_ident", I64)
# Python's lock functions, which threads without an interpreter may use.
ACQUIRE_LOCK = external("PyThread_acquire_lock", I32, PTR, I32)
RELEASE_LOCK = external("PyThread_release_lock", VOID, PTR)
HOLD_OBJECT = external("Py_IncRef", VOID, PTR)
FETCH_ERROR = external("PyErr_Fetch", VOID, PTR, PTR, PTR)
NORMALIZE_EXCEPTION = external("PyErr_NormalizeException", VOID, PTR, PTR, PTR)
CLEAR_ERROR = external("PyErr_Clear", VOID)
SET_TRACEBACK = external("PyException_SetTraceback", I32, PTR, PTR)
GET_ITEM = external("PyDict_GetItemWithError", PTR, PTR, PTR)
SET_ITEM = external("PyDict_SetItem", I32, PTR, PTR, PTR)
DELETE_ITEM = external("PyDict_DelItem", I32, PTR, PTR)


def call_without_lock(f: Function, releases: Value, call: Callable[[], Value]) -> Value:
    """The status of a call, which releases the GIL meanwhile if `releases` is not 0."""
    status = f.variable(I32)
    with f.if_(releases != 0):
        thread = f.call(SAVE_THREAD)
        status.value = call()
        f.call(RESTORE_THREAD, thread)
    with f.else_():
        status.value = call()
    return status.value


@dataclass(frozen=True, slots=True)
class Reader:
    """The way in which an entry reads the objects of a Python call.

    Attributes:
        bound: makes the `self` of a builtin function from the state of a kernel, which it keeps alive.
        state_address: emits the address of the state in `self`.
        checked_address: emits the address of an argument's numbers. Takes the exit for a mismatch, all arguments, the number of this one,
            its SPECIFICATION, whether it is an input, and the number of rows of a batch, or the sizes of the call.
    """

    bound: Callable[[np.ndarray], object]
    state_address: Callable[[Function, Value], Value]
    checked_address: Callable[[Exit, Value, Value, Struct, Value, Value | Array | None], Value]


def check_extents(refused: Exit, extents: Array, wanted: Struct, ndim: Value, rows: Value | Array | None) -> None:
    """Leave unless the extents equal those after the specification.

    Args:
        rows: in the place of ROWS; or the sizes of the call, of which those that are negative are set to the extent.
    """
    f, expected = refused.function, Array(wanted.behind(), I64)
    with f.loop(0, ndim) as d:
        if isinstance(rows, Array):
            extent = f.variable(I64, expected[d])
            with f.if_(extent.value < 0):
                size = rows.at(of_size(0) - extent.value)
                with f.if_(size.value < 0):
                    size.value = extents[d]
                extent.value = size.value
            refused.leave_if(extents[d] != extent.value)
        else:
            extent = expected[d] if rows is None else select(expected[d] == ROWS, rows, expected[d])
            refused.leave_if(extents[d] != extent)


class MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef; it must outlive the builtin functions made from it."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


def builtin(function: SharedFunction, name: str, flags: int, self: object) -> Callable[..., Operand]:
    """A builtin function of Python that calls a C function, which gets `self` as its first argument. Flags: METH_FASTCALL, METH_NOARGS."""
    definition = toolchain.once(
        ("builtin", function.name), lambda: MethodDefinition(name.encode(), function.address, flags, None)
    )
    return _maker()(ctypes.addressof(definition), self, None)


@cache
def _maker() -> Callable[[int, object, None], Callable[..., Operand]]:
    """CPython's constructor of builtin functions: takes a definition's address, the function's self, and None for a module."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make
