"""Native loops over the rows of a batch: of jobs that threads share, and of few rows, which the calling thread does at once."""

from __future__ import annotations

import ctypes
import math
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

JOB = Layout.of_words(next=I64, rows=I64, step=I64, failed=I64, size=I64, points=PTR, gradients=PTR, values=PTR)
NEXT_ROW, ROWS, ROWS_AT_A_TIME, FAILED_ROW, JOB_SIZE, JOB_POINTS, JOB_GRADIENTS, JOB_VALUES = JOB.words()
JOB_WORDS = len(JOB.words())

# A job of calls of a kernel, whose first words are those of JOB. Which rows these are is in `indices`. Behind it stand, for each input
# and each output, the address of its first row and the bytes between rows. With `goes_on`, failed guards are noted in `statuses`.
KERNEL_JOB = Layout.of_words(
    next=I64, rows=I64, step=I64, failed=I64, kernel=PTR, state=PTR, inputs=I64, outputs=I64, indices=PTR, statuses=PTR, goes_on=I64,
)  # fmt: skip
JOB_KERNEL, KERNEL_JOB_WORDS = KERNEL_JOB.word("kernel"), len(KERNEL_JOB.words())

# The state of a builtin for few rows. Behind it stand the specifications of X, the gradients and the values, of `length`, `length` and
# 6 words; the number of rows, the first extent of each, is filled in at a call.
FEW_ROWS = Layout.of_words(function=PTR, words=PTR, size=I64, length=I64)
SPECIFICATION_WORDS = len(entry.SPECIFICATION.words())

# Of three specifications with as many dimensions as NumPy has at most.
MOST_WORDS = 3 * (SPECIFICATION_WORDS + 64)


def _rows() -> str:
    """Answers rows of a job until none is left. Rows are handed out in order, so every row before the first that failed has been
    answered when all threads have returned."""
    f = Function("tapediff_rows", I32, function=PTR, words=PTR, job=PTR, row=PTR)
    function, words, job, failed_row = f.parameters[0], f.parameters[1], JOB.at(f.parameters[2]), Location(f.parameters[3], I64)
    rows, step, size = job["rows"], job["step"], job["size"]
    points, gradients, values = (Array(job[name], F64) for name in ("points", "gradients", "values"))
    with f.repeat() as take:
        first = job.location("next").update_atomic("add", step)
        take.leave_if(first >= job.location("failed").load_atomic())
        with f.loop(first, least(first + step, rows)) as r:
            offset = r * size
            x, gradient, value = points.address(offset), gradients.address(offset), values.address(r)
            status = f.call(POINT_FUNCTION, size, x, gradient, value, words, address=function)
            with f.if_(status != 0):
                job.location("failed").update_atomic("min", r)
                failed_row.value = r
                f.return_(status)
    f.return_(0)
    return module_text(f)


@cache
def rows_function() -> Callable[..., int]:
    """Runs rows of a job through ctypes, which gives up the interpreter lock: (function, words, job, failed row) -> status."""
    return ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 4)(_ROWS.address)


def _kernel_rows() -> str:
    """As _rows, for any kernel."""
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


def _each_row() -> Function:
    """Answers all rows, up to the first that fails."""
    f = Function("tapediff_each_row", I32, few=PTR, x=PTR, gradients=PTR, values=PTR, rows=I64, row=PTR)
    few, rows = FEW_ROWS.at(f.parameters[0]), f.parameters[4]
    points, gradients, values = (Array(p, F64) for p in f.parameters[1:4])
    function, words, size = few["function"], few["words"], few["size"]
    with f.loop(0, rows) as r:
        offset = r * size
        x, gradient, value = points.address(offset), gradients.address(offset), values.address(r)
        status = f.call(POINT_FUNCTION, size, x, gradient, value, words, address=function)
        with f.if_(status != 0):
            Location(f.parameters[5], I64).value = r
            f.return_(status)
    f.return_(0)
    return f


def _few_rows(name: str, reader: Reader) -> str:
    """The builtin of (X, gradients, values, number of rows)."""
    f = Function(name, PTR, self=PTR, args=PTR, count=I64)
    self, args, count = f.parameters
    few, each, refused, row = FEW_ROWS.at(reader.state_address(f, self)), _each_row(), f.exit(), f.variable(I64, 0)
    refused.leave_if(count != 4)
    rows = f.call(LONG_AS_LONG_LONG, Array(args, PTR)[3])
    refused.leave_if(rows < 0)
    arrays = _arrays(refused, reader, args, few, rows)
    _refuse_overlaps(refused, arrays, few["size"], rows)
    status = call_without_lock(
        f, POINT.at(few["words"])["releases_gil"],
        lambda: f.call(each.signature, few.pointer, *arrays, rows, row.address),
    )  # fmt: skip
    f.return_(f.call(LONG_FROM_LONG, (row.value << 8) | (convert("sext", status, I64) & 255)))
    refused.here()
    f.return_(f.call(LONG_FROM_LONG, REFUSED))
    return module_text(each, f)


def _arrays(refused: Exit, reader: Reader, args: Value, few: Struct, rows: Value) -> list[Value]:
    """The addresses of X, the gradients and the values, checked against their specifications for so many rows."""
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
    """Leave where writing one array would change another."""
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


def few_rows_builtin(function: int, words: int, shape: tuple[int, ...]) -> Callable[..., int]:
    """A builtin of (X, gradients, values, number of rows), for points of one shape, which does all rows at once.

    Args:
        function, words: the C function of a point and its last argument, which the caller keeps alive.

    Returns:
        The builtin: 0 on success; REFUSED, a negative number, where the arrays are not float64, C-contiguous and apart; otherwise
        256 times the row that failed, and the low byte of its status.
    """
    rows, values = ValueType((0, *shape), FLOAT64), ValueType((0,), FLOAT64)
    of_rows = entry.specification(rows, written=False)
    state = [function, words, math.prod(shape), len(of_rows)]
    state += [*of_rows, *entry.specification(rows, written=True), *entry.specification(values, written=True)]
    reader = entry.BY_LAYOUT if entry.is_available() else entry.BY_PROTOCOL
    return builtin(_FEW[reader], "tapediff_few_rows", METH_FASTCALL, reader.bound(np.array(state, np.int64)))
