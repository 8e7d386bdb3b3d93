"""Threads that share the bands of one loop: a pool waits in native code, and a kernel hands its loops to the idle threads.

    void tapediff_run_bands(ptr function, ptr context, i64 bands, i64 threads)

It calls `function(context, band)` for each band and returns when all have returned. The calling thread takes bands as well, so a loop never
waits for a thread to wake. There is one pool: if another kernel is using it, all bands run on the calling thread.

Any thread may take any band, so bands must be independent; their sums are added once all have ended.
"""

from __future__ import annotations

import atexit
import ctypes
import threading

import numpy as np

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...base.operating_system import at_fork
from ...base.uninterrupted import uninterrupted
from ..jit.shared_function import SharedFunction
from ..llvm.builder import VOID, Function, Signature, external, module_text
from ..llvm.c_library import TICKS, YIELD, now, spin
from ..llvm.memory import Layout, Struct
from ..llvm.values import I1, I64, PTR, Value, constant, least, select
from .python_api import ACQUIRE_LOCK, RELEASE_LOCK, THREAD_IDENT

MOST_THREADS = 256
# A ticket has a bit for each band.
MOST_BANDS = 32

# An idle thread spins this long, in clock ticks, before it waits at its lock: kernels often start another loop soon, and waking a thread
# costs the kernel 3 us, and the thread 10 to 50.
_PATIENCE = TICKS * 40_000
# A thread that waits for others' last bands yields after this many polls.
_LOOKS = 2_000
# At exit a process waits at most this many seconds for each of its threads.
_LONGEST_END = 1.0

# `ticket`: the number of the loop, and a bit for each untaken band; `done`: the number of ended bands; `busy`: 1 while a kernel uses the
# pool; `bands`, `allowed`: the number of bands, and of threads that may take part; `workers`: the number of pool threads; `ends`: 1 if they
# are to end. Words that different threads write are on separate cache lines.
POOL = Layout(
    ticket=(0, I64), done=(64, I64), busy=(128, I64), function=(192, PTR), context=(200, PTR), allowed=(208, I64),
    bands=(216, I64), workers=(224, I64), ends=(232, I64),
)
_HEAD = 256
POOL_SYMBOL = "tapediff_thread_pool"
# For each thread: 1 while it waits or is about to; its lock, one of Python's, which needs no interpreter; its Python thread id.
WORKER = Layout(waits=(0, I64), lock=(8, PTR), ident=(16, I64))
_WORKER_BYTES = 64

BAND = Signature("band", VOID, (PTR, I64))
LEADING_ZEROS, TRAILING_ZEROS = (external(f"llvm.{name}.i64", I64, I64, I1) for name in ("ctlz", "cttz"))


def _worker(pool: Struct, k: Value) -> Struct:
    place = pool.pointer.code.emit(f"mul i64 {k.ref}, {_WORKER_BYTES}")
    moved = pool.pointer.code.emit(f"getelementptr i8, ptr {pool.pointer.ref}, i64 {place}")
    first = pool.pointer.code.emit(f"getelementptr i8, ptr {moved}, i64 {_HEAD}")
    return WORKER.at(Value(pool.pointer.code, first, PTR, 1))


def _untaken(ticket: Value) -> Value:
    return ticket & ((1 << MOST_BANDS) - 1)


def _take_bands(f: Function, pool: Struct, number: Value) -> None:
    """Take bands and run them until none is left; `number` is that of the thread, 0 for the calling one.

    Each thread starts at a fixed fraction of the bands, so it mostly gets the same rows as in the previous loop, still in its cache; then
    it takes from the other end. The loop cannot end before all taken bands are counted as done, so the pool's words belong to the ticket's
    loop.
    """
    ticket, done = pool.location("ticket"), f.variable(I64, 0)
    with f.repeat() as loop:
        held = ticket.load_atomic()
        left = _untaken(held)
        # Read between the ticket and its replacement: from the same loop, if that succeeds.
        allowed = pool.location("allowed").load_atomic()
        loop.leave_if((left == 0) | (number >= allowed))
        start = (number * pool["bands"]).quotient(allowed)
        own = left.lshr(start) << start
        band = select(own == 0, 63 - f.call(LEADING_ZEROS, left, False), f.call(TRAILING_ZEROS, own, False))
        with f.if_(ticket.replace_atomic(held, held ^ (constant(f, 1, I64) << band))):
            f.call(BAND, pool["context"], band, address=pool["function"])
            done.value = done.value + 1
    with f.if_(done.value > 0):
        pool.location("done").update_atomic("add", done.value)


def _run_bands() -> str:
    f = Function("tapediff_run_bands", VOID, function=PTR, context=PTR, bands=I64, threads=I64)
    function, context, bands, threads = f.parameters
    pool = POOL.at(f.external(POOL_SYMBOL))
    with f.if_((threads > 1) & (pool["workers"] > 0)), f.if_(pool.location("busy").replace_atomic(0, 1)):
        allowed = least(threads, pool["workers"] + 1)
        pool["function"], pool["context"], pool["bands"], pool["allowed"] = function, context, bands, allowed
        pool.location("done").update_atomic("xchg", 0)
        ticket = pool.location("ticket")
        all_bands = (constant(f, 1, I64) << bands) - 1
        ticket.update_atomic("xchg", ((ticket.load_atomic().lshr(MOST_BANDS) + 1) << MOST_BANDS) | all_bands)
        _wake(f, pool, allowed)
        _take_bands(f, pool, constant(f, 0, I64))
        _wait_for_all(f, pool, bands)
        pool.location("busy").update_atomic("xchg", 0)
        f.return_()
    with f.loop(0, bands) as band:
        f.call(BAND, context, band, address=function)
    f.return_()
    return module_text(f)


def _wake(f: Function, pool: Struct, threads: Value) -> None:
    with f.loop(0, threads - 1) as k:
        worker = _worker(pool, k)
        with f.if_(worker.location("waits").load_atomic() == 1), f.if_(worker.location("waits").replace_atomic(1, 0)):
            f.call(RELEASE_LOCK, worker["lock"])


def _wait_for_all(f: Function, pool: Struct, bands: Value) -> None:
    looks = f.variable(I64, 0)
    with f.repeat() as loop:
        loop.leave_if(pool.location("done").load_atomic() == bands)
        spin(f)
        looks.value = looks.value + 1
        with f.if_(looks.value > _LOOKS):
            f.call(YIELD)


def _serve() -> str:
    """The main loop of a pool thread."""
    f = Function("tapediff_serve", VOID, number=I64)
    (number,) = f.parameters
    pool = POOL.at(f.external(POOL_SYMBOL))
    worker, until = _worker(pool, number - 1), f.variable(I64)
    worker["ident"] = f.call(THREAD_IDENT)

    def is_work() -> Value:
        return (_untaken(pool.location("ticket").load_atomic()) != 0) & (number < pool.location("allowed").load_atomic())

    with f.repeat() as serving:
        serving.leave_if(pool.location("ends").load_atomic() != 0)
        until.value = now(f) + _PATIENCE
        with f.repeat() as looking:
            with f.if_(is_work()):
                _take_bands(f, pool, number)
                until.value = now(f) + _PATIENCE
                looking.again()
            looking.leave_if(now(f) > until.value)
            spin(f)
        worker.location("waits").update_atomic("xchg", 1)
        # A loop that began earlier did not see this thread waiting; one that begins now releases the lock.
        with f.if_(is_work()), f.if_(worker.location("waits").replace_atomic(1, 0)):
            serving.again()
        f.call(ACQUIRE_LOCK, worker["lock"], 1)
    f.return_()
    return module_text(f)


def is_of_pool(f: Function, thread: Value) -> Value:
    """True for a thread of the pool. These are never interrupted: they may not wait for a lock of a thread that waits for them."""
    pool, found = POOL.at(f.external(POOL_SYMBOL)), f.variable(I1, False)
    with f.loop(0, pool["workers"]) as k:
        with f.if_(_worker(pool, k)["ident"] == thread):
            found.value = True
    return found.value


class ThreadPool:
    """The threads. They start when a kernel is made that may use them, and end with the process.

    A forked child has none until it makes such a kernel; until then its loops run on the calling thread, with the same bits.
    """

    def __init__(self) -> None:
        self.lock = new_lock()
        self._threads: list[threading.Thread] = []
        memory = np.zeros(_HEAD + MOST_THREADS * _WORKER_BYTES + 64, np.uint8)
        start = -memory.ctypes.data % 64
        self.words = memory[start : start + _HEAD + MOST_THREADS * _WORKER_BYTES].view(np.int64)
        self._python = ctypes.pythonapi
        self._python.PyThread_allocate_lock.restype = ctypes.c_void_p
        self._python.PyThread_acquire_lock.argtypes = ctypes.c_void_p, ctypes.c_int
        self._python.PyThread_release_lock.argtypes = (ctypes.c_void_p,)

    @property
    def workers(self) -> int:
        """The number of threads in addition to those that call kernels."""
        return int(self.words[POOL.word("workers")])

    @holding("lock")
    def ensure(self, threads: int) -> None:
        """Start threads up to this total, with the calling one, or as many as possible: loops give the same bits on fewer."""
        while not self.words[POOL.word("ends")] and self.workers < min(threads, MOST_THREADS) - 1:
            if not self._start(self.workers + 1):
                return

    @uninterrupted
    def _start(self, number: int) -> bool:
        lock = self._python.PyThread_allocate_lock()
        if not lock:
            return False
        self._python.PyThread_acquire_lock(lock, 1)
        at = (_HEAD + (number - 1) * _WORKER_BYTES) // 8
        self.words[at + WORKER.word("waits")], self.words[at + WORKER.word("lock")] = 0, lock
        serve = ctypes.CFUNCTYPE(None, ctypes.c_int64)(SERVE.address)
        thread = threading.Thread(target=serve, args=(number,), name=f"tapediff-{number}", daemon=True)
        try:
            thread.start()
        except (RuntimeError, MemoryError):  # "can't start new thread"
            return False
        self._threads.append(thread)
        self.words[POOL.word("workers")] = number
        return True

    def forget(self) -> None:
        """Reset in a forked child, which has none of the threads."""
        self.words[:] = 0
        self._threads.clear()

    @holding("lock")
    def end(self) -> None:
        """End the threads, as Python is about to free the memory that they read."""
        self.words[POOL.word("ends")] = 1
        for number in range(self.workers):
            at = (_HEAD + number * _WORKER_BYTES) // 8
            self._python.PyThread_release_lock(int(self.words[at + WORKER.word("lock")]))
        self.words[POOL.word("workers")] = 0
        for thread in self._threads:
            thread.join(_LONGEST_END)


pool = ThreadPool()
at_fork(after_in_child=pool.forget)
atexit.register(pool.end)


def pool_address() -> dict[str, int]:
    return {POOL_SYMBOL: int(pool.words.ctypes.data)}


RUN_BANDS = SharedFunction("tapediff_run_bands", _run_bands, pool_address)
SERVE = SharedFunction("tapediff_serve", _serve, pool_address)
