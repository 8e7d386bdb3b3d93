"""Recordings that fail leave the tapes that are there as they were."""

import threading

import numpy as np
import pytest
from support.guarded import A, checked

import tapediff as td
from tapediff.targets.guarded import record_path


def test_a_recording_that_raises_leaves_the_cache_as_it_was():
    """The user's own AssertionError and NumPy's LinAlgError pass through; later calls are right and `out` is untouched."""
    safe = td.GuardedTape(checked)
    good, out = A([3.0, 4.0]), np.full(2, 7.0)
    with pytest.raises(AssertionError, match="must be positive"):
        td.gradient(safe, -good, out=out)
    assert safe.stats == td.GuardedTape(checked).stats.__class__(0, 1, 0, 0, 0.0, 0.0)
    for _ in range(2):
        assert td.gradient(safe, good) == pytest.approx([2.0, 0.75])
        with pytest.raises(AssertionError, match="must be positive"):
            td.gradient(safe, -good, out=out)
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            td.gradient(safe, A([1.0, -1.0]), out=out)
    assert safe.stats.recordings == 1
    assert (out == 7.0).all()
    assert not td.is_recording()


LOCK = threading.Lock()


def locked(x):
    """A guard for each entry, as a lock is no value that branches join."""
    total = 0.0
    for v in x:
        if v > 0:
            with LOCK:
                total += v * v
        else:
            total -= 0.5 * v
    return total


@pytest.mark.parametrize("size", [0, 10**9])
def test_merged_recordings_that_are_long_and_serve_one_call_each_give_way_to_single_paths(monkeypatch, size):
    monkeypatch.setattr(record_path, "MANY_GUARDS", 4)
    monkeypatch.setattr(record_path, "TAPES_AND_SIZES", ((4, size),))
    g, rng = td.GuardedTape(locked, on_new_tape="interpret"), np.random.default_rng(0)
    for _ in range(12):
        x = rng.normal(size=8)
        assert np.isclose(g(x), locked(x))
        np.testing.assert_allclose(td.gradient(g, x), np.where(x > 0, 2 * x, -0.5))
        if g._recorder._single is not None:
            g._recorder._merged_size = 1e9
    assert g.stats.recordings > 6
    assert ("only the path of this point is recorded" in str(g.explain())) is (size == 0)
    assert "the `with` of a lock" in str(g.explain())


def test_single_paths_that_are_longer_give_way_to_merged_recordings(monkeypatch):
    monkeypatch.setattr(record_path, "MANY_GUARDS", 4)
    monkeypatch.setattr(record_path, "TAPES_AND_SIZES", ((2, 0),))
    g, rng = td.GuardedTape(locked, on_new_tape="interpret"), np.random.default_rng(0)
    forms = []
    for _ in range(8):
        assert np.isclose(g(x := rng.normal(size=8)), locked(x))
        forms.append(g._recorder._single is not None)
        if forms[-1]:
            g._recorder._merged_size = 1e-9
    assert forms == [False, False, True, *[False] * 5]
