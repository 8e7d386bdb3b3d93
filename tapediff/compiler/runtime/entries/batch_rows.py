"""Native loops over the rows of a batch: in jobs that threads share, and for few rows on the calling thread at once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np

from ....ir.instruction import FLOAT64, ValueType
from ...jit.shared_function import SharedFunction
from ...llvm.builder import Exit, Function, module_text
from ...llvm.memory import Array, Layout, Location, Struct
from ...llvm.values import F64, I1, I32, I64, PTR, Value, constant, convert, least
from ..python_api import (
    LONG_AS_LONG_LONG,
    LONG_FROM_LONG,
    METH_FASTCALL,
    MOST_ARGUMENTS,
    Reader,
    builtin,
    call_without_lock,
)
from ..status import FAILURE, REFUSED
from . import python_entry as entry
from .c_entry import POINT, POINT_FUNCTION

# The evaluation of rows: one by one, by a C function of a point and its last argument; or, if `block` is not 0, `block` rows at once by a
# kernel. The rows of a block on which that kernel fails are evaluated one by one.
ROW_CALLS = Layout.of_words(function=PTR, words=PTR, size=I64, block=I64, kernel=PTR, state=PTR)
ROW_FUNCTION, ROW_WORDS, ROW_SIZE, BLOCK, BLOCK_KERNEL, BLOCK_STATE = ROW_CALLS.words()

JOB = Layout.of_words(next=I64, rows=I64, step=I64, failed=I64, size=I64, points=PTR, gradients=PTR, values=PTR)
NEXT_ROW, ROWS, ROWS_AT_A_TIME, FAILED_ROW, JOB_SIZE, JOB_POINTS, JOB_GRADIENTS, JOB_VALUES = JOB.words()
JOB_WORDS = len(JOB.words())

# A job of kernel calls; its first words are those of JOB. `indices` has its rows. After it, for each input and each output: the address of
# its first row and the bytes between rows. With `goes_on`, failed guards are noted in `statuses`.
KERNEL_JOB = Layout.of_words(
    next=I64, rows=I64, step=I64, failed=I64, kernel=PTR, state=PTR, inputs=I64, outputs=I64, indices=PTR, statuses=PTR, goes_on=I64,
)  # fmt: skip
JOB_KERNEL, KERNEL_JOB_WORDS = KERNEL_JOB.word("kernel"), len(KERNEL_JOB.words())

# The state of a builtin for few rows. After it: the specifications of X, the gradients and the values, of `length`, `length` and 6 words; a
# call fills in the number of rows, the first extent of each.
FEW_ROWS = Layout.of_words(calls=PTR, length=I64)
SPECIFICATION_WORDS = len(entry.SPECIFICATION.words())

# Words of three specifications with the most dimensions that NumPy has.
MOST_WORDS = 3 * (SPECIFICATION_WORDS + 64)


def _one_by_one() -> Function:
    """Evaluate the rows from `first` to `stop`, up to the first that fails."""
    f = Function("tapediff_one_by_one", I32, calls=PTR, x=PTR, gradients=PTR, values=PTR, first=I64, stop=I64, row=PTR)
    calls, (first, stop, row) = ROW_CALLS.at(f.parameters[0]), f.parameters[4:]
    points, gradients, values = (Array(p, F64) for p in f.parameters[1:4])
    function, words, size = calls["function"], calls["words"], calls["size"]
    with f.loop(first, stop) as r:
        offset = r * size
        x, gradient, value = points.address(offset), gradients.address(offset), values.address(r)
        status = f.call(POINT_FUNCTION, size, x, gradient, value, words, address=function)
        with f.if_(status != 0):
            Location(row, I64).value = r
            f.return_(status)
    f.return_(0)
    return f


def _each_row(one_by_one: Function) -> Function:
    """Evaluate the rows, in blocks if there is a kernel for them."""
    f = Function("tapediff_each_row", I32, calls=PTR, x=PTR, gradients=PTR, values=PTR, first=I64, stop=I64, row=PTR)
    calls, (first, stop, row) = ROW_CALLS.at(f.parameters[0]), f.parameters[4:]
    points, gradients, values = (Array(p, F64) for p in f.parameters[1:4])
    size, block = calls["size"], calls["block"]
    done = f.variable(I64, first)
    inputs, outputs, report = f.array(PTR, 1), f.array(PTR, 2), f.struct(entry.REPORT)
    report["room"] = 0
    with f.if_(block > 0), f.repeat() as take:
        start = done.value
        take.leave_if(start + block > stop)
        offset = start * size
        inputs[0], outputs[0], outputs[1] = points.address(offset), values.address(start), gradients.address(offset)
        found = f.call(entry.KERNEL, inputs.start, outputs.start, calls["state"], report.pointer, address=calls["kernel"])
        with f.if_(found != 0):
            status = f.call(one_by_one.signature, *f.parameters[:4], start, start + block, row)
            with f.if_(status != 0):
                f.return_(status)
        done.value = start + block
    f.return_(f.call(one_by_one.signature, *f.parameters[:4], done.value, stop, row))
    return f


def _rows() -> str:
    """Evaluate rows of a job until none is left. Rows are handed out in order, so when all threads have returned every row before the first
    failure has been evaluated."""
    one_by_one = _one_by_one()
    each = _each_row(one_by_one)
    f = Function("tapediff_rows", I32, calls=PTR, job=PTR, row=PTR)
    calls, job, row = f.parameters[0], JOB.at(f.parameters[1]), f.parameters[2]
    rows, step = job["rows"], job["step"]
    with f.repeat() as take:
        first = job.location("next").update_atomic("add", step)
        take.leave_if(first >= job.location("failed").load_atomic())
        arrays = [job[name] for name in ("points", "gradients", "values")]
        status = f.call(each.signature, calls, *arrays, first, least(first + step, rows), row)
        with f.if_(status != 0):
            job.location("failed").update_atomic("min", Location(row, I64).value)
            f.return_(status)
    f.return_(0)
    return module_text(one_by_one, each, f)


@cache
def rows_function() -> Callable[..., int]:
    """Run rows of a job through ctypes, which releases the GIL: (row calls, job, failed row) -> status."""
    return ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)(_ROWS.address)


def _kernel_rows() -> str:
    """_rows for any kernel."""
    f = Function("tapediff_kernel_rows", I32, job=PTR, row=PTR)
    job, failed_row = KERNEL_JOB.at(f.parameters[0]), Location(f.parameters[1], I64)
    inputs, count, rows, step = job["inputs"], job["inputs"] + job["outputs"], job["rows"], job["step"]
    indices, statuses, places = Array(job["indices"], I64), Array(job["statuses"], I64), Array(job.behind(), I64)
    pointers, report = f.array(PTR, MOST_ARGUMENTS), f.struct(entry.REPORT)
    addresses = Array(pointers.start, I64)
    with f.repeat() as take:
        first = job.location("next").update_atomic("add", step)
        take.leave_if(first >= job.location("failed").load_atomic())
        with f.loop(first, least(first + step, rows)) as r:
            index = indices[r]
            with f.loop(0, count) as k:
                addresses[k] = places[k * 2] + places[k * 2 + 1] * index
            report["room"] = 0
            status = f.call(
                entry.KERNEL, pointers.start, pointers.address(inputs), job["state"], report.pointer, address=job["kernel"]
            )
            with f.if_(status != 0):
                guard_failed = (status > 0) & status.below(FAILURE)
                with f.if_(guard_failed & (job["goes_on"] != 0)):
                    statuses[r] = convert("sext", status, I64)
                with f.else_():
                    job.location("failed").update_atomic("min", r)
                    failed_row.value = r
                    f.return_(status)
    f.return_(0)
    return module_text(f)


@cache
def kernel_rows_function() -> Callable[..., int]:
    """Runs rows of a job of a kernel through ctypes, as rows_function does: (job, failed row) -> status."""
    return ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 2)(_KERNEL_ROWS.address)


# Few rows


def _few_rows(name: str, reader: Reader) -> str:
    """The builtin of (X, gradients, values, number of rows)."""
    f = Function(name, PTR, self=PTR, args=PTR, count=I64)
    self, args, count = f.parameters
    one_by_one = _one_by_one()
    few, each, refused, row = FEW_ROWS.at(reader.state_address(f, self)), _each_row(one_by_one), f.exit(), f.variable(I64, 0)
    calls = ROW_CALLS.at(few["calls"])
    refused.leave_if(count != 4)
    rows = f.call(LONG_AS_LONG_LONG, Array(args, PTR)[3])
    refused.leave_if(rows < 0)
    arrays = _arrays(refused, reader, args, few, rows)
    _refuse_overlaps(refused, arrays, calls["size"], rows)
    status = call_without_lock(
        f, POINT.at(calls["words"])["releases_gil"],
        lambda: f.call(each.signature, calls.pointer, *arrays, 0, rows, row.address),
    )  # fmt: skip
    f.return_(f.call(LONG_FROM_LONG, (row.value << 8) | (convert("sext", status, I64) & 255)))
    refused.here()
    f.return_(f.call(LONG_FROM_LONG, REFUSED))
    return module_text(one_by_one, each, f)


def _arrays(refused: Exit, reader: Reader, args: Value, few: Struct, rows: Value) -> list[Value]:
    """The addresses of X, the gradients and the values, checked against their specifications for this number of rows."""
    f = refused.function
    recorded, words, length = Array(few.behind(), I64), f.array(I64, MOST_WORDS), few["length"]
    with f.loop(0, length * 2 + SPECIFICATION_WORDS + 1) as k:
        words[k] = recorded[k]
    addresses = []
    for k in range(3):
        specification = words.address(length * k)
        Array(specification, I64)[SPECIFICATION_WORDS] = rows
        is_input = constant(f, k == 0, I1)
        addresses.append(reader.checked_address(refused, args, constant(f, k, I64), entry.SPECIFICATION.at(specification), is_input))
    return addresses


def _refuse_overlaps(refused: Exit, arrays: list[Value], size: Value, rows: Value) -> None:
    """Leave if writing one array would change another."""
    lengths = [rows * size << 3, rows * size << 3, rows << 3]
    starts = [convert("ptrtoint", address, I64) for address in arrays]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        refused.leave_if(starts[a].below(starts[b] + lengths[b]) & starts[b].below(starts[a] + lengths[a]))


_ROWS = SharedFunction("tapediff_rows", _rows)
_KERNEL_ROWS = SharedFunction("tapediff_kernel_rows", _kernel_rows)
_FEW = {
    reader: SharedFunction(name, lambda name=name, reader=reader: _few_rows(name, reader), entry.known_objects)
    for name, reader in (("tapediff_few_rows", entry.BY_LAYOUT), ("tapediff_portable_few_rows", entry.BY_PROTOCOL))
}


def row_calls(function: int, words: int, size: int) -> np.ndarray:
    """The words of ROW_CALLS, without blocks."""
    return np.array([function, words, size, 0, 0, 0], np.int64)


def few_rows_builtin(calls: np.ndarray, shape: tuple[int, ...]) -> Callable[..., int]:
    """A builtin of (X, gradients, values, number of rows), for points of one shape. It evaluates all rows at once.

    Args:
        calls: the words of ROW_CALLS, which the caller keeps alive.

    Returns:
        The builtin: 0 on success; REFUSED, a negative number, if the arrays are not float64, C-contiguous and disjoint; otherwise 256 times
        the row that failed, plus the low byte of its status.
    """
    rows, values = ValueType((0, *shape), FLOAT64), ValueType((0,), FLOAT64)
    of_rows = entry.specification(rows, written=False)
    state = [calls.ctypes.data, len(of_rows)]
    state += [*of_rows, *entry.specification(rows, written=True), *entry.specification(values, written=True)]
    reader = entry.BY_LAYOUT if entry.is_available() else entry.BY_PROTOCOL
    return builtin(_FEW[reader], "tapediff_few_rows", METH_FASTCALL, reader.bound(np.array(state, np.int64)))
