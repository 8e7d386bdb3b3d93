"""The entry into kernels of arrays of many sizes: arrays of all shapes are grown and cut without Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapediff as td
from tapediff.recording.arguments import size_arguments
from tapediff.targets.guarded.paths.sized_calls import SizedRun

T = np.array([0.3, -0.2, 0.1])
SIZES = (2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65)


@pytest.fixture
def no_python(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """After it is called, a call that Python has to prepare is an error."""

    def refuse(self: SizedRun, *values: Any) -> Any:
        raise AssertionError("a call through Python")

    return lambda: monkeypatch.setattr(SizedRun, "__call__", refuse)


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
    """A size that comes often gets a tape of its own, though Python does not see its calls."""
    monkeypatch.setattr(size_arguments, "OFTEN", 20)
    monkeypatch.setattr(size_arguments, "MOST_OWN", 2)
    tape, x = td.GuardedTape(lambda x: np.sum(x**3)), np.linspace(1, 2, 90)
    for n in (90, 80, *[70] * 30, *[60] * 30):
        np.testing.assert_allclose(td.gradient(tape, x[:n]), 3 * x[:n] ** 2)
    assert [str(v.reason.called_with) for v in tape._cache.all()].count("float64[70]") == 1
    assert tape.stats.recordings == 3
