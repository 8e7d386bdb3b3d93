"""threads=: how many threads share one gradient, in every kind of target and call, and the errors of numbers that cannot be."""

import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import tapediff as td
from tapediff.base.settings import THREADS_VARIABLE
from tapediff.compiler.loop_ir.program import Bands
from tapediff.compiler.schedule import cut_into_bands

X = np.sin(np.arange(20_000.0))


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Threads are asked however little there is to do."""
    monkeypatch.delenv(THREADS_VARIABLE, raising=False)
    monkeypatch.setattr(cut_into_bands, "WORTH_ASKING", 1)
    monkeypatch.setattr(cut_into_bands, "WORTH_ASKING_AGAIN", 1)


def f(x):
    return np.sum(np.exp(x) * np.cos(x))


def gradient_of_f(x):
    return np.exp(x) * (np.cos(x) - np.sin(x))


def shared_bands(compiled):
    return [g for kernel in compiled._kernels.values() for g in kernel.program.groups if isinstance(g, Bands) and g.threads > 1]


def test_compiled_and_guarded_tapes_share_their_loops():
    """A GuardedTape on each of its paths."""
    compiled = td.compile(f, X, threads=2)
    assert shared_bands(compiled)
    assert "# on 2 threads" in compiled.source
    np.testing.assert_allclose(td.gradient(compiled, X), gradient_of_f(X), rtol=1e-13, atol=1e-14)
    safe = td.GuardedTape(lambda x: f(x) if x[0] < 1 else 2 * f(x), threads=2)
    for point, factor in ((X, 1), (X + 2.0, 2), (X, 1)):
        np.testing.assert_allclose(td.gradient(safe, point), factor * gradient_of_f(point), rtol=1e-13, atol=1e-13)
    assert all(shared_bands(variant.compiled) for variant in safe._cache.all())


def test_every_way_to_call_gives_the_same_bits():
    """Bound, in batches, by address, from the operators, and from several threads at once, of which one has the pool."""
    compiled = td.compile(f, X, threads=3)
    value, gradient = td.value_and_gradient(compiled, X)
    out = np.empty_like(X)
    assert compiled.bind(X, out)() == value
    assert out.tobytes() == gradient.tobytes()
    values, gradients = compiled.batch(np.stack([X, X + 1.0, X]))
    assert values[0] == values[2] == value
    assert gradients[2].tobytes() == gradient.tobytes()
    assert compiled(X) == value
    np.testing.assert_allclose(td.hvp(compiled, X, np.ones_like(X)), -2 * np.exp(X) * np.sin(X), rtol=1e-12, atol=1e-12)
    found, callers = [], []

    def call():
        found.extend(td.gradient(compiled, X).tobytes() for _ in range(20))

    for _ in range(4):
        callers.append(threading.Thread(target=call))
        callers[-1].start()
    for caller in callers:
        caller.join()
    assert set(found) == {gradient.tobytes()}
    assert len(found) == 80


def test_bodies_of_loops_share_their_loops_too():
    """Of td.scan and of Python loops, in both directions."""

    def looped(x):
        c, _ = td.scan(lambda c, k: (np.sin(c) * k + x, None), x, np.linspace(0.5, 1.0, 7))
        return np.sum(c * c)

    plain = td.value_and_gradient(td.compile(looped, X), X)
    for threads in (1, 2):
        compiled = td.compile(looped, X, threads=threads)
        value, gradient = td.value_and_gradient(compiled, X)
        np.testing.assert_allclose(value, plain[0], rtol=1e-12)
        np.testing.assert_allclose(gradient, plain[1], rtol=1e-12)
    tables = compiled.kernel((0,)).dispatch_tables
    groups = [g for table in tables for variant in table.variants.values() for g in variant.kernel.program.groups]
    assert any(isinstance(group, Bands) and group.threads == 2 for group in groups)


def test_two_targets_with_other_numbers_share_no_code_of_bodies():
    """One asks for threads and the other does not; each has its own."""
    body = td.subtape(lambda x: np.sum(np.tanh(x)))
    one, two = (td.compile(lambda x: body(x) * 2.0, X, threads=threads) for threads in (None, 2))
    expected = 2.0 * (1.0 - np.tanh(X) ** 2)
    for compiled in (one, two, one):
        np.testing.assert_allclose(td.gradient(compiled, X), expected, rtol=1e-12)
    layouts = {table.layout.threads for c in (one, two) for table in c.kernel((0,)).dispatch_tables}
    assert layouts <= {0, 2}


def test_products_run_on_the_threads_that_were_asked_for():
    """Of any size, none by a BLAS that has threads of its own."""
    a, b = np.random.default_rng(0).normal(size=(2, 400, 400))

    def loss(w):
        return np.sum(np.tanh(a @ w @ b))

    assert "gemm" in td.compile(loss, b).source
    compiled = td.compile(loss, b, threads=2)
    assert "gemm" not in compiled.source
    answers = [td.value_and_gradient(td.compile(loss, b, threads=n), b) for n in (1, 2, 5)]
    assert len({(value, gradient.tobytes()) for value, gradient in answers}) == 1
    np.testing.assert_allclose(answers[0][1], td.gradient(loss, b), rtol=1e-9, atol=1e-9)


def test_pickles_and_memory_budgets_keep_the_number():
    """Of compiled and guarded tapes."""
    compiled = pickle.loads(pickle.dumps(td.compile(_squares, X, threads=2, memory="10MB")))
    assert (compiled.threads, compiled.memory) == (2, 10_000_000)
    np.testing.assert_allclose(td.gradient(compiled, X), 2 * X, rtol=1e-14)
    assert shared_bands(compiled)
    safe = td.GuardedTape(_squares, threads=2)
    safe(X)
    again = pickle.loads(pickle.dumps(safe))
    np.testing.assert_allclose(td.gradient(again, X), 2 * X, rtol=1e-14)
    assert all(shared_bands(variant.compiled) for variant in again._cache.all())
    assert pickle.loads(pickle.dumps(td.compile(_squares, X))).threads == 0


def _squares(x):
    return np.sum(x * x)


def test_the_environment_says_how_many(monkeypatch):
    """Where the call does not; numba's backend has no threads, and is left alone."""
    monkeypatch.setenv(THREADS_VARIABLE, "2")
    assert shared_bands(td.compile(f, X))
    assert td.compile(f, X, threads=1).threads == 1
    assert td.GuardedTape(f)._policy.threads == 2
    monkeypatch.setenv(THREADS_VARIABLE, "many")
    with pytest.raises(td.ArgumentMismatch, match="TAPEDIFF_THREADS='many'"):
        td.compile(f, X)


@pytest.mark.parametrize("threads", [0, -1, 257, True, 1.5, "two", [2]])
def test_numbers_that_cannot_be_are_refused(threads):
    """With what was given and what is wanted."""
    with pytest.raises(td.ArgumentMismatch, match="from 1 to 256"):
        td.compile(f, X, threads=threads)
    with pytest.raises(td.ArgumentMismatch, match="from 1 to 256"):
        td.GuardedTape(f, threads=threads)


def test_numbas_backend_has_no_threads():
    """It says so."""
    with pytest.raises(td.ArgumentMismatch, match="native backend"):
        td.compile(f, X, backend="numba", threads=2)


FORKING = """
import multiprocessing, numpy as np, tapediff as td
x = np.linspace(0.0, 1.0, 1_000_000)
compiled = td.compile(lambda x: np.sum(np.exp(x)), x, threads=2)
wanted = td.gradient(compiled, x).tobytes()

def work(_):
    return td.gradient(compiled, x).tobytes() == wanted

with multiprocessing.get_context("fork").Pool(2) as pool:
    print(all(pool.map(work, range(6))), td.gradient(compiled, x).tobytes() == wanted)
"""


def test_forked_processes_give_the_same_bits():
    """They have no threads of the pool, and the process that forked goes on with its own."""
    found = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=300, check=True)
    assert found.stdout.split() == ["True", "True"]
