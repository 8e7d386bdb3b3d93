"""The loop over the rows of a batch, which threads may share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from ....ir.instruction import Operand
from ...llvm.builder import Function, module_text
from ...llvm.memory import Array, Layout, Location
from ...llvm.values import I32, I64, PTR, Value, convert, least, select
from ..python_api import LONG_AS_LONG_LONG, LONG_FROM_LONG, MOST_ARGUMENTS, Reader, call_without_lock
from ..status import REFUSED
from . import python_entry as entry
from .address_call import CALL, CALL_FUNCTION, RUN

# Rows that threads share: the next one, how many a thread takes at a time, and where to stop: the first that failed, if any.
JOB = Layout.of_words(next=I64, step=I64, failed=I64)
NEXT_ROW, ROWS_AT_A_TIME, FAILED_ROW = JOB.words()

# The state of a builtin. After it: the specifications of inputs and outputs.
BATCH = Layout.of_words(call=PTR, inputs=I64, arguments=I64)


def _each_row() -> Function:
    """Call for each row, in blocks if the call has a kernel for them, up to the first that fails; its number is written to `row`.

    The rows of a block on which that kernel fails, and those that fill none, are computed one by one.
    """
    f = Function("tapediff_each_row", I32, addresses=PTR, strides=PTR, arguments=I64, rows=I64, call=PTR, row=PTR)
    addresses, strides = Array(f.parameters[0], I64), Array(f.parameters[1], I64)
    arguments, rows, pointer, row = f.parameters[2:]
    call, report, first = CALL.at(pointer), f.struct(entry.REPORT), Location(row, I64)
    block, outputs = call["block"], Array(addresses.start, PTR).address(call["inputs"])
    report["room"], first.value = 0, 0

    def advance(count: Value | int) -> None:
        with f.loop(0, arguments) as k:
            addresses[k] = addresses[k] + strides[k] * count

    with f.repeat() as take:
        left = rows - first.value
        take.leave_if(left == 0)
        is_block, failed = (block > 0) & (block <= left), f.variable(I32, 1)
        count = select(is_block, block, left)
        with f.if_(is_block):
            failed.value = f.call(
                entry.KERNEL, addresses.start, outputs, call["block_state"], report.pointer, address=call["block_kernel"]
            )
        with f.if_(failed.value == 0):
            advance(count)
        with f.else_(), f.loop(0, count) as r:
            code = f.call(CALL_FUNCTION, addresses.start, pointer)
            with f.if_(code != 0):
                first.value += r
                f.return_(code)
            advance(1)
        first.value += count
    f.return_(0)
    return f


def _shared_rows(each: Function) -> Function:
    """Compute rows of a job until none is left. Rows are handed out in order, so when all threads have returned every row before the first
    failure has been computed."""
    f = Function("tapediff_shared_rows", I32, job=PTR, starts=PTR, strides=PTR, arguments=I64, call=PTR, row=PTR)
    job, starts, strides, row = JOB.at(f.parameters[0]), *(Array(p, I64) for p in f.parameters[1:3]), Location(f.parameters[5], I64)
    arguments, call = f.parameters[3:5]
    addresses, step = f.array(I64, MOST_ARGUMENTS), job["step"]
    with f.repeat() as take:
        first, stop = job.location("next").update_atomic("add", step), job.location("failed").load_atomic()
        take.leave_if(first >= stop)
        with f.loop(0, arguments) as k:
            addresses[k] = starts[k] + strides[k] * first
        count = least(first + step, stop) - first
        code = f.call(each.signature, addresses.start, strides.start, arguments, count, call, row.address)
        with f.if_(code != 0):
            row.value += first
            job.location("failed").update_atomic("min", row.value)
            f.return_(code)
    f.return_(0)
    return f


def _text(name: str, reader: Reader) -> str:
    """The builtin of (inputs, outputs, number of rows, address of the JOB)."""
    f = Function(name, PTR, self=PTR, args=PTR, count=I64)
    self, args, count = f.parameters
    each = _each_row()
    batch, shared_rows, refused, row = BATCH.at(reader.state_address(f, self)), _shared_rows(each), f.exit(), f.variable(I64)
    arguments, call = batch["arguments"], batch["call"]
    refused.leave_if(count != arguments + 2)
    rows, shared = (f.call(LONG_AS_LONG_LONG, Array(args, PTR)[arguments + k]) for k in range(2))
    refused.leave_if(rows < 0)
    inputs, starts, ends, strides = batch["inputs"], *(f.array(I64, MOST_ARGUMENTS) for _ in range(3))
    entry.read_arguments(refused, reader, args, arguments, inputs, batch.behind(), starts, ends, rows=rows, strides=strides)
    entry.leave_if_shared(refused, starts, ends, inputs, arguments, arguments)

    def run() -> Value:
        code = f.variable(I32)
        with f.if_(shared == 0):
            code.value = f.call(each.signature, starts.start, strides.start, arguments, rows, call, row.address)
        with f.else_():
            job = convert("inttoptr", shared, PTR)
            code.value = f.call(shared_rows.signature, job, starts.start, strides.start, arguments, call, row.address)
        return code.value

    code = call_without_lock(f, CALL.at(call)["releases_gil"] | shared, run)
    with f.if_(code == 0):
        f.return_(f.call(LONG_FROM_LONG, 0))
    f.return_(f.call(LONG_FROM_LONG, (row.value << 8) | (convert("sext", code, I64) & 255)))
    refused.here()
    f.return_(f.call(LONG_FROM_LONG, REFUSED))
    return module_text(each, shared_rows, f)


def _calls_it() -> dict[str, int]:
    return {**entry.known_objects(), RUN.name: RUN.address}


_BATCH = entry.for_readers("batch", _text, _calls_it)


def batch_builtin(call: int, inputs: int, specifications: Sequence[list[int]], keeps: object) -> Callable[..., Operand]:
    """A builtin of (inputs, outputs, number of rows, job) that calls for every row.

    Its last argument is the address of a JOB whose rows it takes, without the GIL; or 0: it computes all rows.

    Args:
        call: the address of a CALL.
        specifications: of inputs and outputs; those without rows are shared by all.
        keeps: an object to keep alive.

    Returns:
        The builtin: 0 on success; REFUSED, a negative number, if an array differs from its specification, or an output shares memory with
        another argument; otherwise 256 times the row that failed, plus the low byte of its code.
    """
    return entry.builtin_of(_BATCH, entry.words([call, inputs, len(specifications), *chain(*specifications)], keeps))
