"""Lengths of compressed arrays: the smaller and the larger of two, whatever is known of them."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import tapediff as td
from tapediff.recording.arrays import compressed_lengths
from tapediff.recording.arrays.compressed_lengths import greater, lesser


@pytest.mark.parametrize("known", ["nothing", "a < b", "b < a", "both"])
def test_the_smaller_and_the_larger_length(known: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where only one of a < b and b < a is told."""
    for a, b in itertools.product(range(3), repeat=2):

        def is_below(x: int, y: int, a: int = a, b: int = b) -> object:
            is_told = known == "both" or (known == "a < b" and (x, y) == (a, b)) or (known == "b < a" and (x, y) == (b, a))
            return x < y if is_told else None

        recorder = SimpleNamespace(compressed=SimpleNamespace(is_below=is_below))
        monkeypatch.setattr(compressed_lengths, "current_recorder", lambda recorder=recorder: recorder)
        assert lesser(a, b) == min(a, b)
        assert greater(a, b) == max(a, b)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_cuts_by_data_of_arrays_of_few_entries(n: int) -> None:
    """Where no entry is left, too."""

    def f(t, r):
        m = len(r) // 2 if t[0] > 0 else len(r) - 1
        a = np.concatenate([r[m:], r[:m]])
        return np.sum(np.concatenate([[t[0]], a[:-1]]) ** 2) + len(a)

    tape, r = td.GuardedTape(f), np.arange(1.0, n + 1)
    for t in (np.array([0.5]), np.array([-0.5])):
        value, gradient = td.value_and_gradient(tape, t, r)
        np.testing.assert_allclose(value, f(t, r), rtol=1e-14)
        np.testing.assert_allclose(gradient, 2 * t, rtol=1e-14)
