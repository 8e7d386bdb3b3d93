"""Native loops let Python handle signals: Ctrl-C ends a loop that never ends, by whichever way it was called."""

import ctypes
import signal
import threading
import time

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.jit.toolchain import STOPS, toolchain
from tapediff.compiler.runtime.entries import c_entry as pointer

# Seconds before the signal; loops begin well before.
SOON = 0.2

# Seconds within which the loop must have ended: it looks about every 0.01, but the machine may be as busy as it likes.
AT_MOST = 60.0


def endless(x):
    """Goes on for ever where x[1] is 0."""
    return td.while_loop(lambda s: s[1] < 10.0, lambda s: (s[0] * 1.0001, s[1] + x[1]), (x[0], x[1] * 0.0))[0]


def nested(x):
    """As above, with a loop of its own in each iteration, and one around it."""

    def inner(s):
        return td.fori_loop(0, 200, lambda i, u: u * 1.0001, s[0]) * 0.98, s[1] + x[1]

    return td.fori_loop(0, 2, lambda i, u: td.while_loop(lambda s: s[1] < 10.0, inner, (u, x[1] * 0.0))[0], x[0])


def halved(x, n):
    return td.fori_loop(0, n, lambda i, u: u * 0.5 + 1.0, x)


ENDS, NEVER = np.array([1.0, 1.0]), np.array([1.0, 0.0])


@pytest.fixture(autouse=True)
def _alarm():
    """SIGALRM stands for Ctrl-C, which a test runner may want for itself."""

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def interrupted(call):
    """Whether a call that never ends is ended by a signal, and soon."""
    started = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, SOON)
    with pytest.raises(KeyboardInterrupt):
        call()
    return SOON * 0.5 < time.perf_counter() - started < AT_MOST


def by_address(tape, kind):
    """The C function, called with or without the interpreter lock; raises what it has met."""
    function = kind(ctypes.c_int32, ctypes.c_uint64, *[ctypes.c_void_p] * 4)(tape.address)
    gradient, value = np.empty(2), np.empty(1)

    def call(x):
        code = function(2, x.ctypes.data, gradient.ctypes.data, value.ctypes.data, tape.user_data)
        if code:
            assert code == pointer.RAISED
            raise tape.take_error()
        return value[0], gradient

    return call


def bound(tape):
    x, out = np.array(ENDS), np.empty(2)
    call = tape.bind(x, out)

    def at(point):
        x[:] = point
        return call(), out

    return at


def batched(tape, threads, row):
    """A batch of which one row never ends."""

    def call(x):
        rows = np.array([ENDS] * 8)
        rows[row] = x
        values, gradients = tape.batch(rows, threads=threads)
        return values[row], gradients[row]

    return call


WAYS = {
    "verb": lambda tape: lambda x: td.value_and_gradient(tape, x),
    "value": lambda tape: lambda x: (tape(x), td.gradient(tape, ENDS)),
    "bound": bound,
    "address without the lock": lambda tape: by_address(tape, ctypes.CFUNCTYPE),
    "address with the lock": lambda tape: by_address(tape, ctypes.PYFUNCTYPE),
    "batch": lambda tape: batched(tape, 1, 3),
    "batch of threads": lambda tape: batched(tape, 3, 0),
    "batch of threads, last row": lambda tape: batched(tape, 3, 7),
}


@pytest.mark.parametrize("f", [endless, nested])
@pytest.mark.parametrize("make", [lambda f: td.compile(f, ENDS), td.GuardedTape], ids=["compiled", "guarded"])
@pytest.mark.parametrize("way", WAYS)
def test_an_interrupt_ends_a_loop_that_never_ends(f, make, way):
    """KeyboardInterrupt comes out; the next call is right, and nothing is left of the interrupted one."""
    tape = make(f)
    call = WAYS[way](tape)
    known = td.value_and_gradient(f, ENDS)
    call(ENDS)
    for _ in range(2):
        assert interrupted(lambda: call(NEVER))
        value, gradient = call(ENDS)
        # 10 to 4,000 multiplications in the same order, by NumPy and in a kernel.
        np.testing.assert_allclose(value, known[0], rtol=1e-12)
        np.testing.assert_allclose(gradient, known[1], rtol=1e-12)
    assert not toolchain.pending
    assert not toolchain.outermost
    assert not toolchain.stopping
    assert toolchain.pause_words[STOPS] == 0


def test_an_interrupt_ends_the_loop_of_a_tape_that_is_replayed():
    """Loops of a Tape run natively as well."""
    tape = td.record(endless, ENDS)
    for _ in range(30):  # from some number of iterations on
        td.value_and_gradient(tape, ENDS)
    assert interrupted(lambda: td.value_and_gradient(tape, NEVER))


def test_an_interrupt_ends_scans_and_counted_loops():
    """As long as those that stop by themselves."""
    counted = td.compile(lambda x, n: td.fori_loop(0, n, lambda i, u: u * 1.0000001, x), 1.0, td.Constant(10))
    assert counted(1.0, td.Constant(3)) == pytest.approx(1.0000003)
    assert interrupted(lambda: counted(1.0, td.Constant(10**15)))


def test_a_handler_may_return_and_the_loop_goes_on():
    """Signals are handled while the loop runs, in between its iterations, and change nothing in it."""
    handled = []
    signal.signal(signal.SIGALRM, lambda *_: handled.append(time.perf_counter()))
    long = td.compile(halved, 1.0, td.Constant(10))
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    value = long(1.0, td.Constant(200_000_000))
    ended = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert value == 2.0
    assert len([at for at in handled if at < ended]) >= 2


def test_other_threads_run_python_and_change_nothing():
    """A loop in another thread is not interrupted by signals, which the main thread gets; it pauses all the same."""
    tape, found = td.compile(halved, 1.0, td.Constant(10)), []
    thread = threading.Thread(target=lambda: found.append(tape(1.0, td.Constant(200_000_000))))
    thread.start()
    assert interrupted(lambda: [time.sleep(0.01) for _ in range(1000)])
    thread.join()
    assert found == [2.0]
