"""Independent iterations of a loop on several threads: the same bits whatever their number, errors, interrupts, and what is not shared."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from support.in_threads import in_threads

import tapediff as td
from tapediff.compiler.codegen.callees import loop_of_callee
from tapediff.compiler.jit.toolchain import toolchain
from tapediff.compiler.runtime.callees.shared_loop import RUN_SHARED
from tapediff.transforms.lanes import rows_in_blocks

SERIES = np.random.default_rng(1).normal(size=(40, 25, 3))
POINTS = np.random.default_rng(2).uniform(0.3, 0.9, size=(3, 7))


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Threads are asked however little there is to do."""
    monkeypatch.setattr(loop_of_callee, "WORTH_SHARING", 1)


def filters(p):
    """A Kalman filter for each of forty series."""

    def one(_, ys):
        def step(state, y):
            m, P = state
            P = 0.9 * P + np.diag(np.exp(p[:3]))
            S = P + np.eye(3) * p[3]
            lower = np.linalg.cholesky(S)
            gain = np.linalg.solve(S, y - m)
            loss = 0.5 * gain @ (y - m) + np.sum(np.log(np.diagonal(lower)))
            return (0.9 * m + P @ gain, P - P @ np.linalg.solve(S, P)), loss

        _, losses = td.scan(step, (p[4:7], np.eye(3)), ys)
        return None, np.sum(losses)

    _, losses = td.scan(one, None, SERIES)
    return np.sum(losses)


def is_shared(compiled):
    return any(RUN_SHARED.name in kernel.llvm for kernel in compiled._kernels.values())


def answers(compiled):
    return [(value, *gradient) for value, gradient in (td.value_and_gradient(compiled, x) for x in POINTS)]


def test_the_same_bits_whatever_the_number_of_threads():
    alone = td.compile(filters, POINTS[0], threads=1)
    expected = answers(alone)
    assert not is_shared(alone)
    for threads in (2, 3, 7):
        compiled = td.compile(filters, POINTS[0], threads=threads)
        for _ in range(5):
            assert answers(compiled) == expected
        assert is_shared(compiled)
    np.testing.assert_allclose(expected[0][0], filters(POINTS[0]), rtol=1e-11)


def test_blocks_of_rows(monkeypatch):
    for name, value in {"FEWEST_ROWS": 24, "LEAST_BYTES": 1, "BLOCK_BYTES": 1, "SHORTEST_BLOCK": 8}.items():
        monkeypatch.setattr(rows_in_blocks, name, value)
    starts, shocks = np.linspace(1.0, 2.0, 53), np.random.default_rng(3).normal(size=(30, 53))

    def f(p):
        x, _ = td.scan(lambda x, z: (np.sin(x * p[0]) + p[1] * z, None), starts, shocks)
        return np.sum(x**2)

    both = [td.compile(f, POINTS[0], threads=threads) for threads in (1, 2)]
    assert answers(both[0]) == answers(both[1])
    assert [is_shared(compiled) for compiled in both] == [False, True]


def test_an_error_in_one_iteration_is_the_functions():
    """Whichever thread meets it; later calls are right."""
    compiled = td.compile(filters, POINTS[0], threads=2)
    expected = answers(compiled)
    bad = POINTS[0].copy()
    bad[3] = -9.0
    for _ in range(20):
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            td.value_and_gradient(compiled, bad)
    assert answers(compiled) == expected
    assert not toolchain.pending


def test_calls_of_several_threads_at_once():
    """One of them has the pool; the others run their iterations themselves."""
    compiled = td.compile(filters, POINTS[0], threads=2)
    expected, found = answers(compiled), []

    in_threads(lambda _: found.extend(answers(compiled) for _ in range(20)), range(3))
    assert len(found) == 60
    assert all(answer == expected for answer in found)


def test_what_calls_python_is_not_shared():
    """A function of the user's may not be called by a thread of the pool."""

    sine = td.primitive(lambda x: (np.sin(x), x), lambda x, bar: bar * np.cos(x))

    def f(p):
        def one(_, ys):
            m, _ = td.scan(lambda m, y: (sine(m * p[0]) + y, None), p[1] * np.ones(3), ys)
            return None, np.sum(m)

        _, sums = td.scan(one, None, SERIES)
        return np.sum(sums)

    compiled = td.compile(f, POINTS[0], threads=2)
    np.testing.assert_allclose(td.value_and_gradient(compiled, POINTS[1])[0], f(POINTS[1]), rtol=1e-11)
    assert not is_shared(compiled)


INTERRUPTED = """
import os, signal, threading, time, traceback
import numpy as np
import tapediff as td

signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell runs in the background ignores it

def f(p):
    x, _ = td.scan(lambda x, _: (np.sin(x * p[0]) + p[1], None), np.linspace(1.0, 2.0, 20_000), None, length=4_000)
    return np.sum(x)

compiled = td.compile(f, np.ones(2), threads=2)
began = time.perf_counter()
compiled(np.ones(2))
# In the middle of the second call, as nearly as the machine allows.
delay = 1.5 * (time.perf_counter() - began)

def interrupted_at():
    try:
        threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT)).start()
        while True:
            compiled(np.ones(2))
    except KeyboardInterrupt as error:
        return traceback.extract_tb(error.__traceback__)[-1].name

print(any(interrupted_at() == "_look_for_signals" for _ in range(5)))
small = td.compile(lambda x: np.sum(x * x), np.ones(3), threads=2)
print(small(np.ones(3)))
os._exit(0)
"""


@pytest.mark.skipif(os.name == "nt" or not hasattr(signal, "SIGINT"), reason="sends a signal")
def test_ctrl_c_between_bands():
    """The loop takes half a second on one core, a band of it a thirtieth of that: not at the end of a call, but where bands look."""
    found = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=300, check=True)
    assert found.stdout.split() == ["True", "3.0"]
