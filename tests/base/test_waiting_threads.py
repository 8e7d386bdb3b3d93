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

    call = pool.submit(failing)
    call.wait()
    with pytest.raises(KeyError):
        call.result()
    again = pool.submit(lambda: 7)
    again.wait()
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


def test_idle_threads_end(monkeypatch):
    monkeypatch.setattr(waiting_threads, "PATIENCE", 0.05)
    pool, before = WaitingThreads(), set(threading.enumerate())
    calls = [pool.submit(lambda k=k: k) for k in range(2)]
    for k, call in enumerate(calls):
        call.wait()
        assert call.result() == k
    for thread in set(threading.enumerate()) - before:
        thread.join(20.0)
        assert not thread.is_alive()
    again = pool.submit(lambda: 4)
    again.wait()
    assert again.result() == 4


def test_where_no_thread_can_be_started_the_call_waits_for_one_that_can(monkeypatch):
    pool = WaitingThreads()

    def refuse(_):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        cancelled, waits = pool.submit(lambda: 1), pool.submit(lambda: 2)
        assert cancelled.cancel()
    call = pool.submit(lambda: 3)
    for each, found in ((waits, 2), (call, 3)):
        each.wait()
        assert each.result() == found
