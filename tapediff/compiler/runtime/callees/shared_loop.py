"""Loops of independent iterations on several threads.

    i32 tapediff_run_shared(ptr table, ptr frame, i64 words, i64 threads)

This is run_decided for a loop without carries, in bands of iterations, each on a copy of the frame. The number of bands depends only on the
number of iterations, and each computes the same as alone, so any number of threads gives the same bits.

The calling thread does the first iteration of a loop that has never run, since that compiles its callees. If anything fails on another
thread, the calling thread runs the loop again to raise the error itself: iterations may be done twice.
"""

from __future__ import annotations

from ...jit.shared_function import SharedFunction
from ...llvm.builder import VOID, Function, external, module_text
from ...llvm.memory import Array, Layout
from ...llvm.values import I32, I64, PTR, Value, greatest, select
from ..call_frame import CALL_FRAME
from ..python_api import THREAD_IDENT
from ..signal_checks import CLOCK, PAUSE
from ..status import PENDING
from ..thread_pool import RUN_BANDS
from .dispatch_loop import DISPATCH, DISPATCH_TABLE, RUN_DECIDED

# Each band copies the frame to its thread's stack.
MOST_WORDS = 512

# There are 16 to 31 bands, so that late threads leave work for the others; fewer only if there are fewer iterations.
FEWEST_BANDS = 16

# The arguments of all bands; `caller`: the thread that runs the loop, and `clock`: the times of its pauses, also between bands;
# `failed_here`, `failed_elsewhere`: whether a band failed on this thread, or on another one.
_CONTEXT = Layout.of_words(
    frame=PTR, table=PTR, words=I64, count=I64, rows=I64, bands=I64, caller=I64, clock=PTR, failed_here=I64, failed_elsewhere=I64
)

_LOOK = external(PAUSE.name, I64, PTR, I64, I64)
_SHARE = external(RUN_BANDS.name, VOID, PTR, PTR, I64, I64)


def _band() -> Function:
    f = Function("tapediff_band_of_iterations", VOID, context=PTR, band=I64)
    pointer, band = f.parameters
    context, words = _CONTEXT.at(pointer), f.array(I64, MOST_WORDS)
    here, elsewhere = context.location("failed_here"), context.location("failed_elsewhere")
    with f.if_((here.load_atomic() | elsewhere.load_atomic()) != 0, rarely=True):
        f.return_()
    is_caller = f.call(THREAD_IDENT) == context["caller"]
    with f.if_(is_caller), f.if_(f.call(_LOOK, context["clock"], band, context["bands"]) < 0, rarely=True):
        here.update_atomic("xchg", 1)
        f.return_()
    given = Array(context["frame"], I64)
    with f.loop(0, context["words"]) as k:
        words[k] = given[k]
    frame, first = CALL_FRAME.at(words.start), band * context["rows"]
    frame["iteration"], frame["stack"] = first, 0
    frame["end"] = select(band == context["bands"] - 1, context["count"], first + context["rows"])
    status = f.call(DISPATCH, context["table"], frame.pointer)
    with f.if_(status != 0, rarely=True):
        with f.if_(is_caller):
            here.update_atomic("xchg", 1)
        with f.else_():
            elsewhere.update_atomic("xchg", 1)
    f.return_()
    return f


def _run_shared() -> str:
    band = _band()
    f = Function("tapediff_run_shared", I32, table=PTR, frame=PTR, words=I64, threads=I64)
    table, pointer, words, threads = f.parameters
    frame, context, clock = CALL_FRAME.at(pointer), f.struct(_CONTEXT), f.struct(CLOCK)
    count = frame["end"]
    with f.if_(DISPATCH_TABLE.at(table)["current"].is_null(), rarely=True):
        frame["end"] = 1
        status = f.call(DISPATCH, table, pointer)
        with f.if_(status != 0):
            f.return_(status)
        frame["iteration"], frame["end"] = 0, count
    rows = greatest(count.quotient(FEWEST_BANDS), 1)
    bands = count.quotient(rows)
    context["frame"], context["table"], context["words"], context["count"] = pointer, table, words, count
    context["rows"], context["bands"], context["caller"] = rows, bands, f.call(THREAD_IDENT)
    context["clock"], clock["slice"] = clock.pointer, 0
    context["failed_here"], context["failed_elsewhere"] = 0, 0
    f.call(_SHARE, Value(f, f"@{band.signature.name}", PTR, 1), context.pointer, bands, threads)
    with f.if_(context.location("failed_here").load_atomic() != 0, rarely=True):
        f.return_(PENDING)
    with f.if_(context.location("failed_elsewhere").load_atomic() != 0, rarely=True):
        f.return_(f.call(DISPATCH, table, pointer))
    f.return_(0)
    return module_text(band, f)


def _addresses() -> dict[str, int]:
    return {function.name: function.address for function in (RUN_DECIDED, RUN_BANDS, PAUSE)}


RUN_SHARED = SharedFunction("tapediff_run_shared", _run_shared, _addresses)
