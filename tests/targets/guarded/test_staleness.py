"""Staleness: checks against the plain function notice what changed beside the arguments."""

import warnings

import numpy as np
import pytest
from support.guarded import A, ask, line, text, wandering

import tapediff as td
from tapediff.recording.recorder import current_recorder


def test_a_changed_global_is_noticed_at_the_next_check_and_until_it_is_what_it_was():
    """check_every=5: four stale answers at most, then StaleTape with both values at each call; `out` is untouched."""
    scale = [2.0]

    def f(x):
        return scale[0] * (x**2).sum() if x[0] > 0 else (x**3).sum()

    for call in (td.gradient, td.value_and_gradient, lambda safe, x, out: safe(x)):
        safe, out = td.GuardedTape(f, check_every=5, frozen=True), np.empty(2)
        scale[0] = 2.0
        for k in range(23):
            call(safe, A([1.0, 3.0]) * (-1) ** k, out=out)
        scale[0] = 5.0
        out[:] = 7.0
        noticed = []
        for _ in range(8):
            try:
                call(safe, A([1.0, 3.0]), out=out)
            except td.StaleTape as failure:
                noticed.append(failure)
                assert (out == 7.0).all()
            out[:] = 7.0
        assert len(noticed) == 8 - (25 - 23 - 1)
        assert (noticed[0].tape_value, noticed[0].function_value) == (20.0, 50.0)
        assert str(noticed[0]) == text(
            "f no longer computes what its tape was recorded with", line(f), "the tape gives 20.0, the function 50.0",
            "pass what changes as an argument, td.Constant(...), instead of a global, a closure, a random number or a clock",
        )  # fmt: skip
        scale[0] = 2.0
        call(safe, A([1.0, 3.0]), out=out)


def test_random_numbers_clocks_and_branches_on_changed_values_are_noticed():
    """At the first call that a kept tape answers; a function that does not change passes every check."""
    rng, state = np.random.default_rng(0), {"power": 2, "ticks": 0}

    def ticking(x):
        state["ticks"] += 1
        return x.sum() + state["ticks"]

    def longer(x):
        state["ticks"] += 1
        return x[:1] if state["ticks"] % 2 else x

    for f in (lambda x: (x * rng.normal(size=2)).sum(), ticking, longer, lambda x: (x, x * rng.normal())):
        safe = td.GuardedTape(f, check_every=1, frozen=True)
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            safe(np.ones(2))
        with pytest.raises(td.StaleTape):
            safe(np.ones(2))
    by_state = td.GuardedTape(lambda x: x.sum() if state["power"] == 1 else x @ x, check_every=1, frozen=True)
    assert td.gradient(by_state, A([3.0])) == td.gradient(by_state, A([3.0])) == [6.0]
    state["power"] = 1
    with pytest.raises(td.StaleTape):
        td.hessian(by_state, A([3.0]))
    pure = td.GuardedTape(wandering, check_every=1, max_tapes=1000, compile_after=0)
    points = np.random.default_rng(7).uniform(-2, 2, (20, 3))
    assert np.array_equal(ask(pure, points), ask(pure, points))


def test_rounding_is_no_difference():
    """Sums that cancel, near ties that kernel and NumPy decide apart, NaN, infinities, float32."""
    rng = np.random.default_rng(8)
    cancelling = td.GuardedTape(lambda x: (x - x.mean()).sum() + np.var(x) * 1e-17, check_every=1)
    for _ in range(20):
        td.gradient(cancelling, rng.normal(size=1001))
    limit = np.sum(points := rng.uniform(0, 1, 4001))
    tie = td.GuardedTape(lambda x: 2 * np.sum(x) if np.sum(x) >= limit else 3 * np.sum(x), check_every=1)
    for scale in (2.0, 0.5, 1.0, 1.0):
        td.gradient(tie, scale * points)
    values = td.GuardedTape(lambda x: (np.log(x), x / 0.0, x > 0, np.argmax(x)), check_every=1)
    for _ in range(2):
        with np.errstate(all="ignore"):
            values(A([-1.0, 0.0, np.nan, np.inf]))
    single = td.GuardedTape(lambda x: np.exp(x).sum(), check_every=1)
    for _ in range(3):
        td.gradient(single, rng.normal(size=101).astype(np.float32))


def test_checks_leave_counts_arguments_and_recordings_alone():
    """A function that writes into its argument; calls inside a recording; static and data arguments."""
    calls = []

    def f(x, y, power):
        calls.append(current_recorder() is not None)
        x[0] = y[0] * x[0] ** power
        return x.sum()

    safe = td.GuardedTape(f, check_every=3)
    for k in range(10):
        x = A([2.0, 1.0])
        assert np.array_equal(td.gradient(safe, x, td.Constant(A([1.0 + k])), 2), [4.0 * (1 + k), 1.0])
        assert np.array_equal(x, [2.0, 1.0])
    assert calls == [True, False, False, False]
    assert (safe.stats.hits, safe.stats.misses) == (9, 1)
    td.record(lambda x: safe(x * 1.0, A([1.0]), 2), np.ones(2))
    assert calls == [True, False, False, False, True]
    with pytest.raises(td.ArgumentMismatch, match="check_every at least 0"):
        td.GuardedTape(f, check_every=-1)
