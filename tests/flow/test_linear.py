"""Sums of sizes: what is told of two lengths holds for all sizes, and lengths that are equal as sums are told to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapediff as td
from tapediff.flow.state.numbers.bounds import below, equals

MOST = 24
SIZES = range(2, MOST + 1)


def told_of(pairs: list[tuple[str, str]]) -> list[tuple[Any, Any]]:
    """What is told of a < b and of a == b in a recording for all sizes n; None for what is not."""
    found: list[tuple[Any, Any]] = []

    def f(t, x):
        collect(len(x))
        return np.sum(x * t)

    def collect(n):
        # The function is also called with plain arrays.
        if hasattr(n, "_recorder"):
            found[:] = [(below(a, b), equals(a, b)) for a, b in [[eval(text, {"n": n, "np": np}) for text in pair] for pair in pairs]]

    tape = td.GuardedTape(f, sizes=(np.zeros(1), td.spec(td.Size("n", most=MOST))), frozen=True)
    td.gradient(tape, np.ones(1), np.ones(9))
    assert tape.stats.recordings == 1, tape.explain()
    return [(a if type(a) is bool else None, b if type(b) is bool else None) for a, b in found]


EQUAL = [
    ("n - 1 + 1", "n"), ("2 + (n - 3)", "n - 1"), ("n // 2 + (n - n // 2)", "n"), ("n // 2 * 2 // 2", "n // 2"), ("3 * n - n", "n * 2"),
    ("n // 2 * 2 % 2", "0 * n"), ("-(1 - n)", "n - 1"), ("(n + 1) // 2 - 1", "(1 + n) // 2 - 1"), ("np.minimum(n, 3) + n - n", "np.minimum(n, 3)"),
]  # fmt: skip
BELOW = [
    ("n // 2", "n"), ("n - n // 2 - 1", "n"), ("n - 1", "n"), ("np.minimum(n, 3) - 1", "n"), ("n", "np.maximum(n, 5) + 1"),
    ("n // 3 + n // 2", "n"), ("n - 3 * (n // 3)", "3 + 0 * n"), ("np.minimum(n // 2, 4)", "n"),
]  # fmt: skip


def test_equal_sums_are_told() -> None:
    assert [is_equal for _, is_equal in told_of(EQUAL)] == [True] * len(EQUAL)


def test_smaller_sums_are_told() -> None:
    """By bounds of quotients, minima and maxima in terms of what they are made of."""
    assert [is_below for is_below, _ in told_of(BELOW)] == [True] * len(BELOW)


def drawn(rng: np.random.Generator, depth: int = 0) -> str:
    kind = rng.integers(7) if depth < 3 else 6
    if kind == 6:
        return "n" if rng.random() < 0.7 else str(rng.integers(-3, 9))
    a, b = drawn(rng, depth + 1), drawn(rng, depth + 1)
    if kind < 2:
        return f"({a} {'+-'[kind]} {b})"
    if kind < 4:
        return f"({a}) {('//', '%')[kind - 2]} {rng.integers(1, 5)}"
    return f"np.{('minimum', 'maximum')[kind - 4]}({a}, {b})"


@pytest.mark.parametrize("seed", range(4))
def test_what_is_told_holds_for_all_sizes(seed: int) -> None:
    """Of random sums, quotients, remainders, minima and maxima."""
    rng = np.random.default_rng(seed)
    pairs = [(f"{drawn(rng)} + 0 * n", f"{drawn(rng)} + 0 * n") for _ in range(60)]
    tells = 0
    for (a, b), (is_below, is_equal) in zip(pairs, told_of(pairs), strict=True):
        values = [(eval(a, {"n": n, "np": np}), eval(b, {"n": n, "np": np})) for n in SIZES]
        if is_below is not None:
            assert {first < second for first, second in values} == {is_below}, (a, b)
        if is_equal is not None:
            assert {first == second for first, second in values} == {is_equal}, (a, b)
        tells += (is_below is not None) + (is_equal is not None)
    assert tells > 20
