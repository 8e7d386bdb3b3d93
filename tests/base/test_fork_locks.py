"""Processes that fork while other threads record, compile or run: children do all of it, and never wait for those threads."""

import os
import subprocess
import sys

import pytest

START = """
import os, sys, threading, time, multiprocessing
import numpy as np
import tapediff as td

def fresh(k):
    "A function that no process has compiled before."
    step = td.subtape(lambda v: v * (1.0 + k) if v > 0 else v)
    def f(x):
        if x[0] > 1:
            return np.sum(np.exp(x * 0.01) * (k + 2.0)) + step(x[1])
        return np.sum(np.sin(x) * (k + 3.0)) + step(x[2])
    return f

def works(k):
    guarded = td.GuardedTape(fresh(k))
    for x in (np.array([2.0, 3.0, 4.0]), np.array([0.5, 3.0, -4.0])):
        got = td.gradient(guarded, x)
        h = 1e-6
        want = [(fresh(k)(x + h * e) - fresh(k)(x - h * e)) / (2 * h) for e in np.eye(3)]
        # Central differences of smooth functions of size 10, with errors of about 10 * 1e-16 / 1e-6.
        if not np.allclose(got, want, atol=1e-6):
            return False
    return True

def children(count, work, seconds=250):
    "How many of the children that are forked end well in time."
    good = 0
    for k in range(count):
        time.sleep(0.03 * k)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 0 if work(k) else 2
            finally:
                os._exit(code)
        limit = time.monotonic() + seconds
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                good += status == 0
                break
            if time.monotonic() > limit:
                os.kill(child, 9)
                os.waitpid(child, 0)
                break
            time.sleep(0.01)
    return good

def beside(goes_on, call):
    "What a call gives while another thread calls a function of a number without a pause."
    is_going = True
    def go_on():
        k = 1000.0
        while is_going:
            goes_on(k)
            k += 1
    thread = threading.Thread(target=go_on)
    thread.start()
    time.sleep(0.3)
    found = call()
    is_going = False
    thread.join()
    return found
"""


def run(program, tmp_path):
    """What a program prints as a process of its own."""
    file = tmp_path / "program.py"
    file.write_text(START + program)
    result = subprocess.run([sys.executable, "-W", "ignore", str(file)], capture_output=True, text=True, timeout=1500, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout.split()


pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.mark.slow
def test_children_compile_that_were_forked_while_another_thread_compiled(tmp_path):
    """Four children, forked at different moments of a thread that records and compiles without a pause; none hangs."""
    program = """
print(beside(works, lambda: children(4, works)))
print(works(-1))
"""
    assert run(program, tmp_path) == ["4", "True"]


def test_children_collect_garbage_as_their_parent_did(tmp_path):
    """A parent's thread that records or compiles has put collections off; its child has no such thread."""
    program = """
import gc
before = gc.get_threshold()
print(beside(works, lambda: children(4, lambda k: gc.isenabled() and gc.get_threshold() == before)))
"""
    assert run(program, tmp_path) == ["4"]


def test_children_run_batches_that_were_forked_during_one(tmp_path):
    """A child has none of the threads that its parent shares rows with, and makes its own."""
    program = """
compiled = td.compile(lambda x: np.sum(np.exp(-x * x)), np.zeros(50))
X = np.random.default_rng(0).normal(size=(2000, 50))
want = td.value_and_gradient(compiled, X[7])
def batch(k):
    values, gradients = compiled.batch(X, threads=2)
    return values[7] == want[0] and np.array_equal(gradients[7], want[1]) and works(k)
print(beside(lambda _: batch(-1), lambda: children(2, batch)))
print(batch(-2))
"""
    assert run(program, tmp_path) == ["2", "True"]


def test_a_child_that_is_forked_inside_a_recorded_function_goes_on_recording(tmp_path):
    """The thread that forks holds locks itself, which its child goes on holding, and gives back."""
    program = """
def forked(k):
    @td.subtape
    def part(v):
        global child
        child = os.fork()
        return v * 2.0 if v > 0 else v
    f = lambda x: part(x[0]) + np.sum(x)
    gradient = td.gradient(td.GuardedTape(f), np.array([1.0, 2.0]))
    good = np.array_equal(gradient, [3.0, 1.0]) and works(k)
    if child == 0:
        os._exit(0 if good else 1)
    return good and os.waitpid(child, 0)[1] == 0
print(forked(1.0))
"""
    assert run(program, tmp_path) == ["True"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_multiprocessing_compile_however_they_are_started(tmp_path, method):
    """While a thread of the parent compiles."""
    program = f"""
def pooled():
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        return pool.map_async(works, [1.0, 2.0]).get(120)
if __name__ == "__main__":
    works(0.5)
    print(beside(works, pooled))
"""
    assert run(program, tmp_path) == ["[True,", "True]"]
