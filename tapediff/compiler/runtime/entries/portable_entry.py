"""Reads the arguments of calls from Python through CPython's public functions alone, for interpreters whose objects have another
layout than `python_entry` knows, such as free-threaded builds.

It takes an array's buffer, which has type, extents and address, and refuses it if not contiguous. That takes 0.15 µs for each array;
reading the fields of the array object takes 0.01.

Source: PyObject_GetBuffer, PyObject_Type, PyFloat_AsDouble and the layout of Py_buffer are in CPython's stable ABI.
"""

from __future__ import annotations

import numpy as np

from ...llvm.builder import VOID, Exit, Function, external
from ...llvm.memory import Array, Layout, Struct
from ...llvm.values import F64, I8, I32, I64, PTR, Value, constant, convert, select
from ..python_api import MOST_ARGUMENTS, RELEASE_OBJECT, Reader, check_extents

BUFFER = Layout(address=(0, PTR), ndim=(36, I32), format=(40, PTR), extents=(48, PTR), internal=(72, PTR))

# Flags: C-contiguous, with a format; and writable.
READ = 0x0004 | 0x0038
WRITE = READ | 0x0001

GET_BUFFER = external("PyObject_GetBuffer", I32, PTR, PTR, I32)
RELEASE_BUFFER = external("PyBuffer_Release", VOID, PTR)
FORGET_ERROR = external("PyErr_Clear", VOID)
TYPE_OF = external("PyObject_Type", PTR, PTR)
AS_DOUBLE = external("PyFloat_AsDouble", F64, PTR)
ITEM_OF_TUPLE = external("PyTuple_GetItem", PTR, PTR, I64)
AS_ADDRESS = external("PyLong_AsVoidPtr", PTR, PTR)


def _state_address(f: Function, bound: Value) -> Value:
    """The address of the state in a tuple that begins with it."""
    return f.call(AS_ADDRESS, f.call(ITEM_OF_TUPLE, bound, 0))


def format_of(dtype: np.dtype) -> int:
    """The buffer format character of native, aligned numbers of this dtype."""
    return ord(np.empty(0, dtype).data.format or "B")


def _checked_address(refused: Exit, args: Value, k: Value, wanted: Struct, is_input: Value, rows: Value | Array | None) -> Value:
    """The address of an argument's numbers; a float's is that of a copy on the stack."""
    f = refused.function
    argument, number = Array(args, PTR)[k], f.array(F64, MOST_ARGUMENTS).address(k)
    type_, address = f.call(TYPE_OF, argument), f.variable(PTR, number)
    # The argument keeps it.
    f.call(RELEASE_OBJECT, type_)
    with f.if_(type_ == f.external("tapediff_ndarray")):
        address.value = _address_in_buffer(refused, argument, wanted, is_input, rows)
    with f.else_():
        is_number = ((type_ == f.external("tapediff_float")) | (type_ == f.external("tapediff_numpy_float"))) & is_input
        fits = is_number & (wanted["ndim"] == 0) & (wanted["dtype"] == f.external("tapediff_float64"))
        refused.leave_if(~fits)
        Array(number, F64)[0] = f.call(AS_DOUBLE, argument)
    return address.value


def _address_in_buffer(refused: Exit, array: Value, wanted: Struct, is_input: Value, rows: Value | Array | None) -> Value:
    """Releases the buffer at once: an array's memory does not move while the caller holds the array."""
    f = refused.function
    buffer = f.struct(BUFFER)
    flags = select(is_input, constant(f, READ, I32), constant(f, WRITE, I32))
    with f.if_(f.call(GET_BUFFER, array, buffer.pointer, flags) != 0):
        f.call(FORGET_ERROR)
        refused.leave()
    format_, ndim = Array(buffer["format"], I8), wanted["ndim"]
    # One character and the end of the string, so no mark of another byte order or alignment.
    same_format = (convert("zext", format_[0], I64) == wanted["format"]) & (convert("zext", format_[1], I64) == 0)
    same_ndim = convert("sext", buffer["ndim"], I64) == ndim
    extents, address = buffer["extents"], buffer["address"]
    f.call(RELEASE_BUFFER, buffer.pointer)
    refused.leave_if(~(same_format & same_ndim))
    check_extents(refused, Array(extents, I64), wanted, ndim, rows)
    return address


BY_PROTOCOL = Reader(lambda state: (int(state.ctypes.data), state), _state_address, _checked_address)
