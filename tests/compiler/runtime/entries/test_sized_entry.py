"""The entry into kernels of arrays of many sizes: arrays of all shapes are grown and cut without Python."""

from __future__ import annotations

import mmap
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapediff as td
from tapediff.recording.arguments import size_arguments
from tapediff.targets.guarded.dispatch import Dispatch

T = np.array([0.3, -0.2, 0.1])
SIZES = (2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65)


@pytest.fixture
def no_python(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """After it is called, a call on the full path is an error."""

    def refuse(self: Dispatch, *values: Any) -> Any:
        raise AssertionError("a call through Python")

    return lambda: monkeypatch.setattr(Dispatch, "answer", refuse)


def vectors(t, x, y):
    return np.sum(np.exp(-x * t[0]) * y) + t[1]


def matrices(t, x, y):
    return np.sum(x * t[0] + y[:, None] * t[1] - t[2] * x.T)


def masks(t, x, y):
    return np.sum(np.where(x, y, t[0])) * t[1]


def ints(t, x, y):
    return np.sum(t[x] * y)


PROGRAMS = {
    "vectors": (vectors, lambda rng, n: (rng.normal(size=n), rng.normal(size=n))),
    "rows": (lambda t, x, y: np.sum(np.tanh(x @ t) * y), lambda rng, n: (rng.normal(size=(n, 3)), rng.normal(size=n))),
    "columns": (lambda t, x, y: np.sum(np.tanh(t @ x) * y), lambda rng, n: (rng.normal(size=(3, n)), rng.normal(size=n))),
    "matrices": (matrices, lambda rng, n: (rng.normal(size=(n, n)), rng.normal(size=n))),
    "stacks": (
        lambda t, x, y: np.sum(x * t[:, None]) + np.sum(y), lambda rng, n: (rng.normal(size=(n, 3, n)), rng.normal(size=(2, n // 2 + 2))),
    ),
    "masks": (masks, lambda rng, n: (rng.random(n) < 0.5, rng.normal(size=n))),
    "ints": (ints, lambda rng, n: (rng.integers(-3, 3, n), rng.normal(size=n))),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_arrays_of_all_sizes_are_grown(name: str, no_python: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    # A tape serves all sizes up to its own.
    monkeypatch.setattr(size_arguments, "FEW_ENTRIES", 10**9)
    f, data = PROGRAMS[name]
    tape, rng = td.GuardedTape(f), np.random.default_rng(0)
    points = [data(rng, n) for n in SIZES]
    expected = [td.value_and_gradient(f, T, *point) for point in points]
    # The larger sizes first, so that the tapes that serve them are there; the last call makes the way of the largest known.
    for n in (70, 90, 65, 64, 32, 66, 80):
        td.value_and_gradient(tape, T, *data(rng, n))
    no_python()
    for point, (value, gradient) in zip(points, expected):
        found = td.value_and_gradient(tape, T, *point)
        np.testing.assert_allclose(found[0], value, rtol=1e-10)
        np.testing.assert_allclose(found[1], gradient, rtol=1e-10, atol=1e-12)


def test_gradients_by_arrays_are_cut(no_python: Callable[[], None]) -> None:
    tape, rng = td.GuardedTape(vectors), np.random.default_rng(0)
    call = lambda target, point: td.gradient(target, T, *point, argnums=(0, 1, 2))
    for n in (70, 90, 65, 80):
        call(tape, (rng.normal(size=n), rng.normal(size=n)))
    points = [(rng.normal(size=n), rng.normal(size=n)) for n in SIZES]
    expected = [call(vectors, point) for point in points]
    no_python()
    for point, known in zip(points, expected):
        for found, one in zip(call(tape, point), known, strict=True):
            assert found.shape == one.shape
            np.testing.assert_allclose(found, one, rtol=1e-10)


def test_refused_calls_reach_python() -> None:
    """Strided arrays, sizes that differ, and wrong dtypes."""
    tape, rng = td.GuardedTape(vectors), np.random.default_rng(0)
    for n in (70, 90, 65):
        td.gradient(tape, T, rng.normal(size=n), rng.normal(size=n))
    x = rng.normal(size=80)
    np.testing.assert_allclose(td.gradient(tape, T, x[::2], x[1::2]), td.gradient(vectors, T, x[::2], x[1::2]))
    with pytest.raises((td.TapediffError, ValueError)):
        td.gradient(tape, T, x, x[:7])
    with pytest.raises((td.TapediffError, ValueError)):
        td.gradient(tape, T, x, x * 1j)
    with pytest.raises((td.TapediffError, ValueError)):
        td.gradient(tape, T, x, x, out=np.zeros(4))


def test_native_calls_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A size that comes often gets a tape of its own, though Python does not see its calls; not where loops end with the data."""
    monkeypatch.setattr(size_arguments, "OFTEN", 20)
    monkeypatch.setattr(size_arguments, "MOST_OWN", 2)
    t, x = np.array([0.3, 0.2]), np.linspace(1, 9, 90)
    cyclic = lambda t, x: np.sum(np.roll(np.exp(-t[0] * x), 1) * x) * t[1]
    for f, has_own in ((cyclic, True), (lambda t, x: np.sum(np.exp(x * t[0])) * t[1], False)):
        tape = td.GuardedTape(f)
        expected = {n: td.gradient(f, t, x[:n]) for n in (90, 80, 70, 60)}
        for n in (90, 80, *[70] * 30, *[60] * 30):
            np.testing.assert_allclose(td.gradient(tape, t, x[:n]), expected[n], rtol=1e-9)
        assert any("float64[70]" in str(v.reason.called_with) for v in tape._cache.all()) == has_own
        assert tape.stats.recordings == 2 + has_own


READS_NOTHING_BEYOND = """
import ctypes, mmap
import numpy as np
import tapediff as td

page, libc = mmap.PAGESIZE, ctypes.CDLL(None, use_errno=True)
area = mmap.mmap(-1, 3 * page)
address = ctypes.addressof(ctypes.c_char.from_buffer(area))
assert libc.mprotect(ctypes.c_void_p(address + 2 * page), ctypes.c_size_t(page), 0) == 0

def at_end(array):
    "A copy whose last byte is the last one that may be read."
    made = np.frombuffer(area, array.dtype, array.size, 2 * page - array.nbytes).reshape(array.shape)
    made[...] = array
    return made

def garch(t, r):
    w, a, b = np.exp(t)
    s, total = w, 0.0
    for v in r:
        total = total + np.log(s) + v**2 / s
        s = w + a * v**2 + b * s
    return total

t, rng = np.array([0.3, -0.2, 0.1]), np.random.default_rng(0)
programs = {
    "rows": (lambda t, x: np.sum(np.tanh(x @ t)), lambda n: rng.normal(size=(n, 3))),
    "column": (lambda t, x: np.sum(np.exp(t[0] * x[:, 1])) + np.sum(x[:, 2] * t[1]), lambda n: rng.normal(size=(n, 3))),
    "garch": (garch, lambda n: rng.normal(size=n)),
    "masks": (lambda t, x: np.sum(np.where(x, t[0], t[1] ** 2)), lambda n: rng.random(n) < 0.5),
    "ints": (lambda t, x: np.sum(t[x] ** 2), lambda n: rng.integers(0, 3, n)),
    "differences": (lambda t, x: np.sum(np.diff(x) ** 2 * t[0]) + np.sum(x[2:] * x[:-2]) * t[1], lambda n: rng.normal(size=n)),
}
for name, (f, data) in programs.items():
    tape = td.GuardedTape(f)
    for n in (80, 90, 85):
        td.gradient(tape, t, data(n))
    for n in range(3, 90):
        x = at_end(data(n))
        np.testing.assert_allclose(td.gradient(tape, t, x), td.gradient(f, t, np.array(x)), rtol=1e-9, atol=1e-12)
        assert tape.stats.recordings <= 4, (name, n, tape.explain())
        del x
print("done")
"""


@pytest.mark.skipif(not hasattr(mmap, "PROT_READ"), reason="mprotect is POSIX")
@pytest.mark.slow
def test_kernels_read_nothing_beyond_arrays_that_are_not_copied(tmp_path: Path) -> None:
    """In a process of its own, whose next page may not be read."""
    script = tmp_path / "reads.py"
    script.write_text(READS_NOTHING_BEYOND)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr[-2000:]
