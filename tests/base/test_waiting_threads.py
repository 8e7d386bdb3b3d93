"""Threads that wait for calls: results, exceptions, cancelled calls, and their end."""

import threading
import time

import pytest

from tapediff.base import waiting_threads
from tapediff.base.waiting_threads import WaitingThreads


def test_calls_are_done_by_threads_that_are_used_again():
    pool, main = WaitingThreads(), threading.get_ident()
    seen = set()
    for k in range(20):
        thread = pool.submit(lambda k=k: (threading.get_ident(), k))
        thread.wait()
        ident, found = thread.result()
        assert found == k
        seen.add(ident)
    assert len(seen) == 1
    assert main not in seen


def test_several_calls_have_a_thread_each():
    """They wait for each other, so that one thread alone would never finish."""
    pool, meeting = WaitingThreads(), threading.Barrier(4)
    threads = [pool.submit(meeting.wait) for _ in range(4)]
    for thread in threads:
        thread.wait()
    assert sorted(thread.result() for thread in threads) == [0, 1, 2, 3]


def test_what_a_call_raises_is_raised_by_its_result():
    pool = WaitingThreads()

    def failing():
        raise KeyError("x")

    thread = pool.submit(failing)
    thread.wait()
    with pytest.raises(KeyError):
        thread.result()
    again = pool.submit(lambda: 7)
    again.wait()
    assert again is thread
    assert again.result() == 7


def test_a_call_is_cancelled_or_done_never_both():
    pool, done, cancelled = WaitingThreads(), [], 0
    for k in range(500):
        thread = pool.submit(lambda k=k: done.append(k))
        if k % 3 == 0:
            time.sleep(1e-5)  # so that some have begun
        if thread.cancel():
            cancelled += 1
        else:
            thread.wait()
            thread.result()
    assert len(done) + cancelled == 500


def test_idle_and_abandoned_threads_end(monkeypatch):
    monkeypatch.setattr(waiting_threads, "PATIENCE", 0.05)
    pool, before = WaitingThreads(), threading.active_count()
    idle, abandoned = pool.submit(lambda: 1), pool.submit(lambda: 2)
    idle.wait()
    assert idle.result() == 1
    abandoned.abandon()
    end = time.monotonic() + 20.0
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.05)
    assert threading.active_count() <= before
    again = pool.submit(lambda: 3)
    again.wait()
    assert again.result() == 3
