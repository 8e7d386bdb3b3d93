"""Batches: value and gradient at every row, in native threads, for fixed tapes and for tapes that branch."""

import os
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache

import numpy as np
import pytest
from support.in_threads import in_threads
from support.side_by_side import times_as_long
from support.three_paths import branching, points, smooth

import tapediff as td
from tapediff.base.waiting_threads import WaitingCall, WaitingThreads
from tapediff.targets.native import batch, mapped_batch, row_calls

MAKERS = pytest.mark.parametrize(
    "make", [lambda f: td.compile(f, np.ones(3)), td.GuardedTape], ids=["compiled", "guarded"]
)
THREADS = pytest.mark.parametrize("threads", [None, 1, 2, 5])


@MAKERS
@THREADS
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 64, 1000])
def test_every_row_is_answered_as_by_itself(make, threads, rows):
    """The same bits as td.value_and_gradient, for any number of rows and threads."""
    tape, X = make(smooth), points(rows)
    values, gradients = tape.batch(X, threads=threads)
    assert values.shape == (rows,)
    assert gradients.shape == (rows, 3)
    for x, value, gradient in zip(X, values, gradients):
        expected, of_gradient = td.value_and_gradient(tape, x)
        assert value == expected
        assert np.array_equal(gradient, of_gradient)


@THREADS
def test_rows_may_be_on_different_paths(threads):
    """Each path is recorded once, whichever thread meets it first; every answer counts."""
    safe, X = td.GuardedTape(branching, merge=False), points(500)
    values, gradients = safe.batch(X, threads=threads)
    # Sums of three numbers of size one in another order, which may nearly cancel.
    np.testing.assert_allclose(values, [branching(x) for x in X], rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(gradients, [td.gradient(branching, x) for x in X], rtol=1e-14, atol=1e-14)
    stats = safe.stats
    assert stats.recordings == 3
    # Threads that wait for a recording find it made, which is a hit.
    assert stats.hits == 497


def test_results_go_where_they_are_wanted():
    """Into given arrays, which are returned."""
    X, out = points(20), (np.empty(20), np.empty((20, 3)))
    tape = td.compile(smooth, np.ones(3))
    values, gradients = tape.batch(X, out=out, threads=2)
    assert values is out[0]
    assert gradients is out[1]
    fresh = tape.batch(X)
    assert np.array_equal(fresh[0], values)
    assert np.array_equal(fresh[1], gradients)


@pytest.mark.parametrize("make", [lambda f: td.compile(f, np.ones(0)), td.GuardedTape], ids=["compiled", "guarded"])
@THREADS
def test_points_may_be_empty(make, threads):
    """Rows of no numbers have a value each; in the first batch, and in those that are known."""
    tape, X, out = make(lambda x: np.sum(x) + 1.0), np.ones((20, 0)), (np.zeros(20), np.zeros((20, 0)))
    for given in (None, out, None, out):
        values, gradients = tape.batch(X, threads=threads, out=given)
        assert np.array_equal(values, np.ones(20))
        assert gradients.shape == (20, 0)
        assert np.array_equal(tape.batch_values(X, threads=threads), np.ones(20))


def test_points_may_have_any_shape_and_layout():
    """Matrices and numbers as rows; lists, integers, float32 and Fortran order are converted."""
    tape = td.compile(lambda a: np.sum(a**2), np.ones((2, 2)))
    X = np.arange(12).reshape(3, 2, 2)
    for given in (X, X.tolist(), X.astype(np.float32), np.asfortranarray(X.astype(float)), X[::-1][::-1]):
        values, gradients = tape.batch(given)
        assert np.array_equal(values, np.sum(X**2, axis=(1, 2)))
        assert np.array_equal(gradients, 2.0 * X)
    numbers = td.GuardedTape(lambda a: a**2 if a > 0 else -a)
    values, gradients = numbers.batch([-1.0, 2.0, 3.0])
    assert np.array_equal(values, [1.0, 4.0, 9.0])
    assert np.array_equal(gradients, [-1.0, 4.0, 6.0])


@THREADS
def test_the_first_row_that_fails_is_raised_with_its_number(threads):
    """By a guard, a factorisation or an exception of the user's code; the same row for any number of threads."""
    X = np.full((300, 3), 2.0)
    X[[137, 138, 250], 0] = 0.0
    with pytest.raises(td.GuardFailed, match="in branching") as caught:
        td.compile(branching, np.full(3, 2.0)).batch(X, threads=threads)
    assert caught.value.row == 137
    assert caught.value.__notes__ == ["at row 137 of the batch"]

    def picky(x):
        if x[0] == 0.0:
            raise ValueError("the user says no")
        return np.sum(np.linalg.cholesky(np.eye(2) * x[0]))

    with pytest.raises(ValueError, match="says no") as caught:
        td.GuardedTape(picky).batch(X, threads=threads)
    assert caught.value.row == 137
    X[5, 0] = -1.0
    with pytest.raises(np.linalg.LinAlgError) as caught:
        td.GuardedTape(picky).batch(X, threads=threads)
    assert caught.value.row == 5


def test_a_tape_is_as_good_as_before_after_a_failure():
    """Nothing of a failed batch stays."""
    safe, X = td.GuardedTape(lambda x: np.log(x[int(x[0])])), np.ones((40, 3))
    X[20, 0] = 7.0
    with pytest.raises(IndexError):
        safe.batch(X, threads=2)
    X[20, 0] = 1.0
    assert np.array_equal(safe.batch(X, threads=2)[0], np.zeros(40))
    assert safe.take_error() is None


def test_batches_may_run_inside_each_other_and_side_by_side():
    """More batches than threads, and a function that calls a batch when it is recorded: nobody waits for ever."""
    inner = td.compile(smooth, np.ones(3))

    def f(x):
        return np.sum(x) + inner.batch(np.ones((50, 3)), threads=8)[0][0] * int(x[0])

    safe = td.GuardedTape(f, max_tapes=4)

    def work(k):
        X = np.random.default_rng(k).integers(0, 8, size=(30, 3)) + 0.5
        expected = [np.sum(x) + smooth(np.ones(3)) * int(x[0]) for x in X]
        np.testing.assert_allclose(safe.batch(X, threads=8)[0], expected, rtol=1e-14)  # rounding

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", td.GuardWarning)
        in_threads(work, range(3))


def test_no_thread_goes_on_after_an_interrupt_of_the_handing_out(monkeypatch):
    """Ctrl-C may come when a thread has begun and nobody has kept its future: the rows are the caller's again when the call ends."""
    began, finished, results = threading.Event(), threading.Event(), (np.empty(8), np.empty((8, 3)))

    class Pool:
        def submit(self, help_):
            executor.submit(help_)
            assert began.wait(60.0)
            raise KeyboardInterrupt

    def slow(job):
        began.set()
        time.sleep(0.2)  # long beside the way to the end of the call
        found = work(job)
        finished.set()
        return found

    work = batch.Job.work
    safe = td.GuardedTape(lambda x: np.sum(np.sin(x)))
    with ThreadPoolExecutor(1) as executor, monkeypatch.context() as patch:
        patch.setattr(batch, "_pool", cache(lambda process: Pool()))
        patch.setattr(batch.Job, "work", slow)
        with pytest.raises(KeyboardInterrupt):
            safe.batch(np.ones((8, 3)), threads=2, out=results)
        assert finished.is_set()
    values, _ = safe.batch(np.ones((8, 3)), threads=2)
    np.testing.assert_allclose(values, 3 * np.sin(1.0), rtol=1e-14)  # a sum of three, in one order or another


def test_interrupts_leave_no_threads(monkeypatch):
    """Wherever they come in the handing out, each thread is among the idle ones again, so that there are hardly more than a batch needs."""
    safe, X, pool = td.GuardedTape(lambda x: np.sum(np.sin(x))), np.ones((8, 3)), WaitingThreads()
    safe.batch(X, threads=4)
    monkeypatch.setattr(batch, "_pool", lambda process: pool)
    before = threading.active_count()

    def interrupted(*_):
        raise KeyboardInterrupt

    def settle():
        end = time.monotonic() + 20.0
        while (len(pool._idle) < threading.active_count() - before or pool._calls.qsize()) and time.monotonic() < end:
            time.sleep(1e-3)

    for owner, name in ((WaitingCall, "cancel"), (WaitingCall, "wait"), (WaitingCall, "result"), (batch.Job, "end"), (batch.Job, "work")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, interrupted)
            for _ in range(5):
                with suppress(KeyboardInterrupt):  # a call that is cancelled has no end to wait for, and no result
                    safe.batch(X, threads=4)
                settle()
        values, _ = safe.batch(X, threads=4)
        settle()
        np.testing.assert_allclose(values, 3 * np.sin(1.0), rtol=1e-14)  # a sum of three, in one order or another
    # Three, and as many for those that were about to be idle; of 25 interrupts.
    assert threading.active_count() - before <= 6


def test_fewer_threads_do_where_no_more_can_be_started(monkeypatch):
    safe, X = td.GuardedTape(lambda x: np.sum(np.sin(x))), np.ones((64, 3))
    started, start = [], threading.Thread.start

    def refuse(thread):
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(batch, "_pool", cache(lambda process: WaitingThreads()))
    monkeypatch.setattr(threading.Thread, "start", refuse)
    for _ in range(2):
        values, _ = safe.batch(X, threads=5)
        np.testing.assert_allclose(values, 3 * np.sin(1.0), rtol=1e-14)  # a sum of three, in one order or another
    mapped = td.GuardedTape(lambda x: np.sin(x)).batch_values(X, threads=5)
    np.testing.assert_allclose(mapped, np.sin(X), rtol=1e-14)  # libraries' sines


def test_what_is_no_batch_is_refused():
    """Other shapes and kinds, places that cannot be written to, and nonsensical numbers of threads."""
    tape, X = td.compile(smooth, np.ones(3)), points(4)
    for wrong, error in ((points(4, size=2), td.ShapeMismatch), (np.ones(3), td.ShapeMismatch)):
        with pytest.raises(error):
            tape.batch(wrong)
    for wrong in (5.0, X + 1j, np.array(["a"])):
        with pytest.raises(td.ArgumentMismatch, match=r"one point per row|of numbers"):
            tape.batch(wrong)
    values, gradients = np.zeros(4), np.zeros((4, 3))
    read_only = np.zeros(4)
    read_only.flags.writeable = False
    for out, error in (
        (gradients, td.ArgumentMismatch),
        ((gradients, values), td.ShapeMismatch),
        ((values.astype(np.float32), gradients), td.DtypeMismatch),
        ((read_only, gradients), td.ArgumentMismatch),
    ):
        with pytest.raises(error):
            tape.batch(X, out=out)
    for threads in (0, -1, 1.5, True):
        with pytest.raises(td.ArgumentMismatch, match="threads"):
            tape.batch(X, threads=threads)


def test_arrays_to_be_filled_are_refused():
    def fill(y, u):
        y[()] = np.sum(u**2) if u[0] > 0.0 else np.sum(u)

    X = points(4)
    for tape in (td.compile(fill, td.Output(()), X[0]), td.GuardedTape(fill)):
        with pytest.raises(td.ArgumentMismatch, match=r"takes no td\.Output"):
            tape.batch(td.Output(()), X)
        with pytest.raises(td.ArgumentMismatch, match=r"takes no td\.Output"):
            tape.batch_values(X, td.Cache(np.zeros(3)))


def test_two_threads_share_the_work():
    """Each does about half, as the interpreter lock is released: told by processor times, whatever else the machine does."""
    A = np.random.default_rng(0).normal(size=(500, 25))
    tape, X = td.compile(lambda b: np.sum(np.logaddexp(0.0, A @ b)), np.ones(25)), points(20_000, size=25)
    out = np.empty(20_000), np.empty((20_000, 25))

    def share_of_the_other():
        whole, own = time.process_time(), time.thread_time()
        tape.batch(X, out=out, threads=2)
        return 1 - (time.thread_time() - own) / (time.process_time() - whole)

    tape.batch(X[:2], threads=2)  # compiles
    # Two threads that are ready to run get equal shares of one processor, too; with the lock held the other would come too late, always.
    assert any(share_of_the_other() > 0.2 for _ in range(20))


# Few rows


@MAKERS
def test_few_rows_are_done_at_once_on_the_calling_thread(make, monkeypatch):
    """From the second batch on without the machinery of threads; the same bits, fresh arrays or given ones."""
    tape, X = make(branching_above), np.abs(points(20)) + 2.0
    values, gradients = tape.batch(X)
    monkeypatch.setattr(batch, "WAKING", 10.0)  # so that no pause of a busy machine counts
    monkeypatch.setattr(batch, "_share", None)
    monkeypatch.setattr(batch, "_pool", None)
    for rows in (1, 2, 20):
        found = tape.batch(X[:rows])
        assert np.array_equal(found[0], values[:rows])
        assert np.array_equal(found[1], gradients[:rows])
        out = np.empty(rows), np.empty((rows, 3))
        assert tape.batch(X[:rows], out=out)[0] is out[0]
        assert np.array_equal(out[1], gradients[:rows])


def branching_above(x):
    return np.sum(np.sin(x) * x) if x[0] > 0.5 else np.log(x[0])


@MAKERS
@pytest.mark.parametrize("row", [0, 1, 9])
def test_few_rows_fail_like_many(make, row):
    """The exception of the first row that fails, again and again, with its number; later batches are fine."""

    def picky(x):
        return np.sum(np.linalg.cholesky(np.eye(2) * x[0]))

    tape, X = make(picky), np.full((10, 3), 2.0)
    good = tape.batch(X)
    for _ in range(3):
        bad = X.copy()
        bad[[row, 9], 0] = -1.0
        with pytest.raises(np.linalg.LinAlgError) as caught:
            tape.batch(bad)
        assert caught.value.row == row
        assert np.array_equal(tape.batch(X)[1], good[1])
    assert tape.take_error() is None


def test_few_rows_on_new_paths_are_recorded():
    """A path that is first taken in a batch of few rows, and exceptions of user code there."""

    def f(x):
        if x[0] > 5.0:
            raise ValueError("too far")
        return np.sum(x**2) if x[0] > 0.0 else np.sum(x**3)

    safe, X = td.GuardedTape(f, merge=False), np.ones((4, 2))
    safe.batch(X)
    X[2] = -2.0
    values, gradients = safe.batch(X)
    assert np.array_equal(values, [2.0, 2.0, -16.0, 2.0])
    assert np.array_equal(gradients[2], [12.0, 12.0])
    X[1] = 6.0
    with pytest.raises(ValueError, match="too far") as caught:
        safe.batch(X)
    assert caught.value.row == 1
    assert safe.stats.recordings == 2


def test_few_rows_check_their_arrays():
    """Results that overlap, or are of another kind, are refused as for many rows; other layouts and dtypes of X are converted."""
    tape, X = td.compile(smooth, np.ones(3)), points(4)
    expected = tape.batch(X)
    memory = np.zeros(40)
    for out in (
        (memory[:4], memory[3:15].reshape(4, 3)),
        (np.zeros(3), np.zeros((4, 3))),
        (np.zeros(4, np.float32), np.zeros((4, 3))),
        (np.zeros(4), np.zeros((4, 3)), np.zeros(1)),
        (None, None),
    ):
        with pytest.raises((td.ArgumentMismatch, td.ShapeMismatch, td.DtypeMismatch)):
            tape.batch(X, out=out)
    for given in (np.asfortranarray(X), X.tolist(), X[::-1][::-1], X.view(Subclass)):
        assert np.array_equal(tape.batch(given)[1], expected[1])
    own = X.copy()
    for values, gradients in ((np.zeros(4).view(Subclass), np.zeros((4, 3)).view(Subclass)), (np.zeros(8)[::2], np.zeros((3, 4)).T), (own[:, 0], own)):
        for tape_again in (tape, td.compile(smooth, np.ones(3))):
            own[:] = X
            out = np.zeros(4) if gradients is own else values, gradients
            assert np.array_equal(tape_again.batch(own, out=out)[1], expected[1])
            assert np.array_equal(out[0], expected[0])
    assert tape.batch(X[:0])[1].shape == (0, 3)


class Subclass(np.ndarray):
    pass


def test_few_rows_may_be_done_by_interpreters_of_unknown_layout():
    """Where the fields of arrays are not known, they are read through the buffer protocol."""
    program = (
        "import numpy as np, tapediff as td\n"
        "from tapediff.targets.native import batch\n"
        "tape, X = td.compile(lambda x: np.sum(x**3), np.ones(3)), np.arange(12.0).reshape(4, 3)\n"
        "first = tape.batch(X)\n"
        "batch._share, batch.WAKING = None, 10.0\n"
        "again = tape.batch(X)\n"
        "assert np.array_equal(first[0], again[0]) and np.array_equal(again[1], 3 * X**2)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "TAPEDIFF_ENTRY": "portable"})


def test_a_batch_of_few_rows_costs_about_as_much_as_few_calls(monkeypatch):
    """Waking a thread, or handing rows out, takes as long as a hundred."""
    tape, X, x, out = td.compile(smooth, np.ones(3)), points(3), np.ones(3), np.empty(3)
    monkeypatch.setattr(batch, "WAKING", 10.0)
    tape.batch(X)

    def batches():
        for _ in range(100):
            tape.batch(X)

    def calls():
        for _ in range(100):
            tape.value_and_gradient(x, out=out)

    # 5 to 10; with three rows of 0.1 µs each. It was 150 with the rows handed out.
    assert times_as_long(batches, calls, limit=25) < 25


def test_few_rows_of_any_layout_are_run_at_once(monkeypatch):
    """Copied, where the kernel could not read them; nothing else is done on the way."""
    compiled, X = td.compile(lambda x: np.sum(np.sin(x) * x), np.ones(3)), np.random.default_rng(0).normal(size=(6, 3))
    compiled.batch(X)
    expected = compiled.batch(X[:3])
    monkeypatch.setattr(mapped_batch, "row_arguments", None)
    for given in (np.asfortranarray(X)[:3], np.repeat(X, 2, axis=1)[:3, ::2], np.repeat(X, 2, axis=0)[:6:2], X[2::-1][::-1]):
        for found, wanted in zip(compiled.batch(given), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_one_thread_that_is_asked_for_may_answer_rows_in_blocks(monkeypatch):
    """As batches do for which none is asked for; with the same bits."""
    monkeypatch.setattr(row_calls, "WORTH_COMPILING", 0.0)
    tape, X = td.compile(smooth, np.ones(3)), points(64)
    first = tape.batch(X, threads=1)
    (known,) = tape._native.rows.values()
    assert known.tape is None  # it is decided
    for one, other in zip(first, tape.batch(X, threads=1)):
        assert one.tobytes() == other.tobytes()


def test_a_tape_of_float32_takes_rows_of_float32():
    """In its own dtype; and an array that is both given and written to is read first."""
    compiled = td.compile(lambda x: np.sum(np.sin(x) * x), np.ones(3, np.float32))
    X = np.random.default_rng(2).normal(size=(5, 3)).astype(np.float32)
    expected = np.array([compiled.gradient(x) for x in X])
    for _ in range(2):
        values, gradients = compiled.batch(X)
        assert values.dtype == gradients.dtype == np.float32
        assert np.array_equal(gradients, expected)
    _, written = compiled.batch(X, out=(np.empty(5, np.float32), X))
    assert written is X
    assert np.array_equal(X, expected)


@pytest.mark.parametrize("make", [td.compile, lambda f, p: td.GuardedTape(f)])
def test_a_row_of_a_list_of_numbers_is_a_list(make):
    """A list of nothing but numbers would be an array."""
    A = np.array([[0.3, 0.5, -0.2], [1.0, -0.7, 0.4]])
    of_list = make(lambda p: np.sin(p[0]) * p[1] ** 2, [np.array(1.0), np.array(1.0)])
    values, gradients = of_list.batch([*A])
    np.testing.assert_allclose(values, np.sin(A[0]) * A[1] ** 2, rtol=1e-14)  # a few roundings
    assert isinstance(gradients, list)
    np.testing.assert_allclose(gradients, [np.cos(A[0]) * A[1] ** 2, 2 * np.sin(A[0]) * A[1]], rtol=1e-14)
