"""The entry from Python into a kernel: one C function for all kernels, called by CPython directly with the user's arrays.

It checks that each argument is an ndarray of exactly the recorded dtype, shape and layout, reads its address from the array
object itself, and calls the kernel: 0.1 µs in all, versus 0.3 µs for a numba dispatcher and 0.5 µs for ctypes. It refuses what it does not
recognise; the caller then converts the arguments and tries again. So nothing is ever read out of bounds.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

from ....ir.arguments import Constant
from ....ir.instruction import Operand, ValueType
from ...jit.shared_function import SharedFunction
from ...llvm.builder import Exit, Function, external, module_text
from ...llvm.memory import Array, Layout, Struct
from ...llvm.values import F64, I32, I64, PTR, Value, convert, least, select
from ..python_api import (
    ARRAY_OBJECT,
    CALL_ONE_ARGUMENT,
    COMPLEX_FROM_DOUBLES,
    CONSTANT_OBJECT,
    DESCRIPTION_MASK,
    DTYPE_OBJECT,
    FLOAT_FROM_DOUBLE,
    FLOAT_OBJECT,
    LONG_FROM_LONG,
    METH_FASTCALL,
    MOST_ARGUMENTS,
    READABLE,
    RELEASE_OBJECT,
    ROWS,
    WRITEABLE,
    Reader,
    builtin,
    call_without_lock,
    check_extents,
)
from ..status import FAILURE, MOST_COMPARED, OVERLAP, REFUSED
from ..workspaces import KERNEL_STATE, SLOT_COUNT
from .portable_entry import BY_PROTOCOL, format_of

# The state of a kernel, with the numbers of its arguments. If `handler` is not null, that Python function is called with the status of a
# failure, and its result is returned. After it: the specifications of inputs and outputs, each followed by its extents.
ENTRY_STATE = KERNEL_STATE.followed_by(inputs=I64, outputs=I64, returns_value=I64, releases_gil=I64, handler=PTR)
SPECIFICATION = Layout.of_words(dtype=PTR, ndim=I64, flags=I64, bytes=I64, format=I64, may_be_constant=I64, stride=I64)
RELEASES_GIL = ENTRY_STATE.word("releases_gil")

# `i32 kernel(inputs, outputs, state, report)`; see compiler.codegen.emitter. A report begins with its capacity in bytes.
KERNEL = external("kernel", I32, PTR, PTR, PTR, PTR)
REPORT = Layout.of_words(room=I64, outcome=F64)


def specification(type_: ValueType, written: bool, *, per_row: bool = False) -> list[int]:
    """A SPECIFICATION and the extents, against which the entry checks an argument; with a first axis of rows if `per_row`."""
    flags = READABLE | (WRITEABLE if written else 0)
    dtype, extents = np.dtype(type_.dtype), (ROWS, *type_.shape) if per_row else type_.shape
    size = type_.size * dtype.itemsize
    return [id(dtype), len(extents), flags, 0 if per_row else size, format_of(dtype), 0, size if per_row else 0, *extents]


def allow_constants(state: np.ndarray, first: int) -> None:
    """Let the inputs from `first` on be passed as td.Constant; the entry reads the value from it.

    Nothing holds a reference to that value during the call, so other threads, and Python code, must not run.
    """
    position = len(ENTRY_STATE.words())
    for k in range(int(state[ENTRY_STATE.word("inputs")])):
        state[position + SPECIFICATION.word("may_be_constant")] = k >= first
        position += len(SPECIFICATION.words()) + int(state[position + SPECIFICATION.word("ndim")])


@cache
def is_available() -> bool:
    """True if this interpreter and this NumPy have the object layouts of python_api; checked on sample objects.

    False with TAPEDIFF_ENTRY=portable in the environment.
    """
    if os.environ.get("TAPEDIFF_ENTRY") == "portable" or "free-threading" in sys.version:
        return False
    array, number = np.zeros((2, 3)), 1.5
    constant = Constant(array)
    word, short = ctypes.c_int64.from_address, ctypes.c_int32.from_address
    at = {name: id(array) + offset for name, (offset, _) in ARRAY_OBJECT.fields.items()}
    extents, description = word(at["extents"]).value, id(array.dtype) + DTYPE_OBJECT.offset("description")
    return (
        word(at["type"]).value == id(np.ndarray)
        and word(at["data"]).value == array.ctypes.data
        and short(at["ndim"]).value == 2
        and (word(extents).value, word(extents + 8).value) == (2, 3)
        and word(at["dtype"]).value == id(array.dtype)
        and ctypes.string_at(description, 3) == b"fd="
        and short(description + 4).value == array.dtype.num
        and short(at["flags"]).value == array.flags.num
        and word(id(constant) + CONSTANT_OBJECT.offset("type")).value == id(Constant)
        and word(id(constant) + CONSTANT_OBJECT.offset("value")).value == id(array)
        and word(id(number) + FLOAT_OBJECT.offset("type")).value == id(float)
        and ctypes.c_double.from_address(id(number) + FLOAT_OBJECT.offset("value")).value == number
    )


def callable_for(state: np.ndarray) -> Callable[..., Operand]:
    """A builtin function of (*inputs, *output arrays) that runs the kernel described by `state`.

    Returns a float (the kernel's value, or 0.0) on success; a complex number when a guard fails: its position + 1, and the
    outcome there (NaN for arrays); an int status otherwise.
    """
    return builtin_of(_ENTRIES, state)


class Words(np.ndarray):
    """Words that native code reads, and the objects that own the addresses in them."""

    keeps: Any

    @property
    def address(self) -> int:
        return int(self.ctypes.data)


def words(numbers: Sequence[int], keeps: object = None) -> Words:
    made = np.array(numbers, np.int64).view(Words)
    made.keeps = keeps
    return made


def builtin_of(functions: dict[Reader, SharedFunction], state: np.ndarray) -> Callable[..., Operand]:
    """A builtin with this state, by the function for this interpreter."""
    reader = BY_LAYOUT if is_available() else BY_PROTOCOL
    return builtin(functions[reader], functions[reader].name, METH_FASTCALL, reader.bound(state))


def state_words(
    kernel: int, constants: int, inputs: Sequence[ValueType], written: Sequence[ValueType], *, returns_value: bool,
    releases_gil: bool = False, handler: Callable[[int], Operand] | None = None,
) -> list[int]:  # fmt: skip
    """The words of an ENTRY_STATE, and the specifications.

    Args:
        kernel: the address of a function in the form of a kernel.
        constants: an address for it.
        returns_value: its first output is a number, which is returned.
        handler: the caller keeps it alive.
    """
    asked = 0 if handler is None else id(handler)
    numbers = len(inputs), len(written), int(returns_value), int(releases_gil), asked
    specifications = [*(specification(t, False) for t in inputs), *(specification(t, True) for t in written)]
    return [kernel, constants, *[0] * SLOT_COUNT, *numbers, *chain(*specifications)]


def known_objects() -> dict[str, int]:
    """The objects of this process that the entry compares with, by the symbols that its text has for them."""
    return {
        "tapediff_constant": id(Constant),
        "tapediff_ndarray": id(np.ndarray),
        "tapediff_float": id(float),
        "tapediff_numpy_float": id(np.float64),
        "tapediff_float64": id(np.dtype(np.float64)),
    }


def _text(name: str, reader: Reader) -> str:
    """LLVM text of an entry."""
    f = Function(name, PTR, self=PTR, args=PTR, count=I64)
    self, args, count = f.parameters
    state = ENTRY_STATE.at(reader.state_address(f, self))
    inputs, outputs, returns_value = state["inputs"], state["outputs"], state["returns_value"]
    value, report, first = f.variable(F64, 0.0), f.struct(REPORT), inputs + returns_value
    starts, ends = (f.array(I64, MOST_ARGUMENTS + 1) for _ in range(2))
    report["room"], report["outcome"] = 0, math.nan
    starts[inputs] = convert("ptrtoint", value.address, I64)
    ends[inputs] = starts[inputs]
    refused, overlap = f.exit(), f.exit()
    refused.leave_if(count != inputs + outputs)
    read_arguments(refused, reader, args, count, inputs, state.behind(), starts, ends, after_inputs=returns_value)
    last = first + outputs
    leave_if_shared(overlap, starts, ends, first, last, select(outputs > MOST_COMPARED, first, last))
    given, results = starts.start, starts.address(inputs)
    status = call_without_lock(
        f, state["releases_gil"],
        lambda: f.call(KERNEL, given, results, state.pointer, report.pointer, address=state["kernel"]),
    )  # fmt: skip
    with f.if_(status == 0):
        f.return_(f.call(FLOAT_FROM_DOUBLE, value.value))
    with f.if_(status.below(FAILURE) & state["handler"].is_null()):
        f.return_(f.call(COMPLEX_FROM_DOUBLES, convert("sitofp", status, F64), report["outcome"]))
    _return_status(f, state, status)
    overlap.here()
    _return_status(f, state, OVERLAP)
    refused.here()
    _return_status(f, state, REFUSED)
    return module_text(f)


def read_arguments(
    refused: Exit, reader: Reader, args: Value, count: Value, inputs: Value, specifications: Value, starts: Array, ends: Array,
    *, after_inputs: Value | None = None, rows: Value | None = None, strides: Array | None = None,
) -> None:  # fmt: skip
    """Check the arguments of a call against their specifications; write where their memory starts and ends.

    Args:
        after_inputs: how many places to leave between inputs and outputs.
        rows: of a batch.
        strides: receives the bytes between rows.
    """
    position = refused.function.variable(PTR, specifications)
    with refused.function.loop(0, count) as k:
        wanted, is_input = SPECIFICATION.at(position.value), k < inputs
        address = convert("ptrtoint", reader.checked_address(refused, args, k, wanted, is_input, rows), I64)
        place, end = k if after_inputs is None else k + select(is_input, 0, after_inputs), address + wanted["bytes"]
        starts[place], ends[place] = address, end if rows is None else end + wanted["stride"] * rows
        if strides is not None:
            strides[k] = wanted["stride"]
        position.value = Array(wanted.behind(), I64).address(wanted["ndim"])


def leave_if_shared(shared: Exit, starts: Array, ends: Array, first: Value, last: Value, compared: Value) -> None:
    """Leave if an output shares memory with another argument: the kernel may write it before it has read all of an input.

    Args:
        first, last: the first output, and the end of all arguments.
        compared: outputs from this one on are not compared with each other; the caller compares them.
    """
    with shared.function.loop(first, last) as o, shared.function.loop(0, least(o, compared)) as k:
        shared.leave_if(starts[o].below(ends[k]) & starts[k].below(ends[o]))


def _return_status(f: Function, state: Struct, status: Value | int) -> None:
    number = f.call(LONG_FROM_LONG, convert("sext", status, I64) if isinstance(status, Value) else status)
    with f.if_(state["handler"].is_null()):
        f.return_(number)
    answer = f.call(CALL_ONE_ARGUMENT, state["handler"], number)
    f.call(RELEASE_OBJECT, number)
    f.return_(answer)


def _checked_address(refused: Exit, args: Value, k: Value, wanted: Struct, is_input: Value, rows: Value | Array | None) -> Value:
    """The address of an argument's numbers; leaves if the argument differs from its specification."""
    f = refused.function
    given = f.variable(PTR, Array(args, PTR)[k])
    with f.if_(wanted["may_be_constant"] != 0):
        constant = CONSTANT_OBJECT.at(given.value)
        with f.if_((constant["type"] == f.external("tapediff_constant")) & (constant["word"] != 0)):
            given.value = constant["value"]
    argument = given.value
    array, number, address = ARRAY_OBJECT.at(argument), FLOAT_OBJECT.at(argument), f.variable(PTR)
    with f.if_(array["type"] == f.external("tapediff_ndarray")):
        _check_array(refused, array, wanted, rows)
        address.value = array["data"]
    with f.else_():
        # NumPy's float64 is a subclass of float, with its number at the same offset.
        is_float = (number["type"] == f.external("tapediff_float")) | (number["type"] == f.external("tapediff_numpy_float"))
        is_number = is_float & is_input
        fits = is_number & (wanted["ndim"] == 0) & (wanted["dtype"] == f.external("tapediff_float64"))
        refused.leave_if(~fits)
        address.value = number.location("value").address
    return address.value


def _check_array(refused: Exit, array: Struct, wanted: Struct, rows: Value | Array | None) -> None:
    """Leave unless the array has the specified dtype, dimensions, flags and extents."""
    descriptions = [DTYPE_OBJECT.at(dtype)["description"] for dtype in (array["dtype"], wanted["dtype"])]
    same_dtype = (descriptions[0] ^ descriptions[1]) & (DESCRIPTION_MASK - (1 << 64)) == 0
    ndim, flags = wanted["ndim"], wanted["flags"]
    same_ndim = convert("sext", array["ndim"], I64) == ndim
    has_flags = convert("zext", array["flags"], I64) & flags == flags
    refused.leave_if(~(same_dtype & same_ndim & has_flags))
    check_extents(refused, Array(array["extents"], I64), wanted, ndim, rows)


BY_LAYOUT = Reader(lambda state: state, lambda f, self: ARRAY_OBJECT.at(self)["data"], _checked_address)


def for_readers(
    name: str, text: Callable[[str, Reader], str], addresses: Callable[[], dict[str, int]]
) -> dict[Reader, SharedFunction]:
    """The function of a builtin for each kind of interpreter, from its LLVM text."""
    names = {BY_LAYOUT: f"tapediff_{name}", BY_PROTOCOL: f"tapediff_portable_{name}"}
    return {reader: SharedFunction(full, lambda full=full, reader=reader: text(full, reader), addresses) for reader, full in names.items()}


_ENTRIES = for_readers("entry", _text, known_objects)
