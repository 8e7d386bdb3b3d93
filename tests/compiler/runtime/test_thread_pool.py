"""The pool of threads: each band runs once, whoever asks and whenever; without threads= there is none."""

import ctypes
import multiprocessing
import subprocess
import sys
import threading

import numpy as np
import pytest
from support.in_threads import in_threads

from tapediff.compiler.jit.shared_function import SharedFunction
from tapediff.compiler.llvm.builder import VOID, Function, module_text
from tapediff.compiler.llvm.memory import Array
from tapediff.compiler.llvm.values import I64, PTR
from tapediff.compiler.runtime.thread_pool import MOST_BANDS, RUN_BANDS, ThreadPool, pool


def _counting() -> str:
    """A band that adds 1 to its word, after so many steps as the word in front of all says."""
    f = Function("tapediff_test_band", VOID, context=PTR, band=I64)
    context, band = f.parameters
    words, busy = Array(context, I64), f.variable(I64, 0)
    with f.loop(0, words[0]) as k:
        busy.value = (busy.value * 3) ^ k
    words.at(1 + MOST_BANDS).value = busy.value
    words.at(1 + band).update_atomic("add", 1)
    f.return_()
    return module_text(f)


BAND = SharedFunction("tapediff_test_band", _counting)


def run(words, bands, threads):
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(RUN_BANDS.address)
    call(BAND.address, words.ctypes.data, bands, threads)


def counted(steps, bands, threads):
    words = np.zeros(2 + MOST_BANDS, np.int64)
    words[0] = steps
    run(words, bands, threads)
    return words[1 : 1 + MOST_BANDS].tolist()


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_each_band_runs_once(threads):
    """For any number of bands and of threads, more of them than the pool has as well; short bands and long ones."""
    pool.ensure(4)
    for bands in (1, 2, 5, 16, 31):
        for steps in (0, 10, 3000):
            for _ in range(20):
                assert counted(steps, bands, threads) == [1] * bands + [0] * (MOST_BANDS - bands)


def test_several_threads_ask_at_once():
    """One of them has the pool, and the others run their bands themselves."""
    pool.ensure(3)

    def ask(_):
        for _ in range(300):
            assert counted(50, 16, 3) == [1] * 16 + [0] * (MOST_BANDS - 16)

    in_threads(ask)


def test_more_threads_are_started_only_when_asked_for():
    """And never fewer."""
    pool.ensure(3)
    assert pool.workers >= 2
    before = pool.workers
    pool.ensure(2)
    assert pool.workers == before


def _in_child(answers):
    found = [pool.workers, counted(10, 16, 3)]
    pool.ensure(2)
    answers.put([*found, pool.workers, counted(10, 16, 3)])


def test_a_forked_process_has_no_threads_until_it_asks():
    """Until then its bands run on the thread that calls."""
    pool.ensure(3)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_in_child, args=(answers,))
    child.start()
    assert answers.get(timeout=60) == [0, [1] * 16 + [0] * 16, 1, [1] * 16 + [0] * 16]
    child.join()


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()], ids=repr)
def test_a_thread_that_cannot_start_is_not_counted(monkeypatch, error):
    """Loops run on the others, and the next kernel tries again."""
    fresh = ThreadPool()

    def refuse(self):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        fresh.ensure(2)
    assert fresh.workers == 0
    fresh.ensure(2)
    assert fresh.workers == 1
    fresh.end()


ENDING = """
import threading, numpy as np, tapediff as td
x = np.linspace(0.0, 1.0, 200_000)
compiled = td.compile(lambda x: np.sum(np.exp(x)), x, threads=3)
stops = threading.Event()

def call():
    while not stops.is_set():
        td.gradient(compiled, x)

caller = threading.Thread(target=call, daemon=True)
caller.start()
for _ in range(50):
    td.gradient(compiled, x)
stops.set()
caller.join()
print("done", flush=True)
"""


def test_a_process_ends_while_its_threads_look_for_work():
    """Nothing that they look at is freed before they have ended."""
    for _ in range(2):
        found = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, timeout=120)
        assert (found.returncode, found.stdout.split(), found.stderr) == (0, ["done"], "")


WITHOUT = """
import threading, numpy as np, tapediff as td
compiled = td.compile(lambda x: np.sum(np.exp(x)), np.ones(100_000))
td.value_and_gradient(compiled, np.ones(100_000))
print(threading.active_count())
"""


def test_nobody_gets_threads_without_asking():
    """A process that compiles and calls a large kernel has its own thread only."""
    found = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["1"]
