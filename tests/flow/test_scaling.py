"""Recording takes time in proportion to the program, also where many statements may end a block early."""

import linecache
import time

import numpy as np
import pytest

import tapediff as td
from tapediff.flow.state import recursions


def with_exits(n):
    """A function with so many statements in a loop, one after the other, that may leave it on either side of a test."""
    lines = ["def f(x):", "    s = 0.0", "    for v in x:"]
    for k in range(n):
        lines += [
            f"        if v > {k / 100}:", f"            if v > {k + 1}.5: return s * {k}.0",
            "        else:", f"            if v < -{k + 1}.5: break", "        s = s + v",
        ]  # fmt: skip
    text = "\n".join([*lines, "    return s"])
    file = f"<{n} exits>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names = {}
    exec(compile(text, file, "exec"), names)
    return names["f"]


def test_exits_one_after_the_other_take_time_in_proportion():
    """Code after an exit is recorded once for all paths that reach it: once for each would be exponential."""
    x = np.linspace(-1.0, 1.0, 4)
    counts = [len(td.record(with_exits(n), x, merge=True)) for n in (8, 16, 32)]
    assert counts[2] / counts[1] < 2.3
    assert counts[1] / counts[0] < 2.3
    assert td.record(with_exits(8), x, merge=True).guard_count == 0


@pytest.mark.parametrize(
    ("limits", "reason"), [((20, 0), "more than 20 sides of branches are run"), ((5, 40), "more than 5 sides of branches are run, and 40 instr")]
)
def test_programs_of_very_many_sides_are_recorded_path_by_path(monkeypatch, limits, reason):
    """The answers stay right, a recording ends, and that of a new path takes no longer than without merging."""
    monkeypatch.setattr(recursions, "LIMITS", (limits,))
    f, rng = with_exits(8), np.random.default_rng(0)
    safe = td.GuardedTape(f, on_new_tape="interpret", compile_after=1000)
    for _ in range(20):
        x = rng.normal(size=4)
        np.testing.assert_allclose(safe(x), f(x), rtol=1e-12)
        np.testing.assert_allclose(td.gradient(safe, x), td.gradient(td.record(f, x), x), rtol=1e-12)
    assert 1 < safe.stats.recordings
    assert reason in str(safe.explain())


def test_recursions_that_data_end_in_many_ways_are_recorded_path_by_path():
    """Each call of a function that calls itself twice has two sides: they would be ever more."""

    def f(x):
        def go(v):
            return v if v < 0.7 else go(v * 0.6) + go(v * 0.5)

        return go(2 + abs(x[0]))

    g = td.GuardedTape(f, on_new_tape="interpret")
    start = time.thread_time()
    for p in ([0.1, 1.0], [0.9, 1.0], [2.0, 1.0]):
        assert g(np.array(p)) == pytest.approx(f(np.array(p)), rel=1e-12)
    # A tenth of that here; running all sides up to their limit had not ended after 22 s.
    assert time.thread_time() - start < 10.0
    assert "a function calls itself more than" in str(g.explain())


def test_a_recursion_with_one_end_is_recorded_to_a_depth():
    def f(x):
        def go(n, s):
            return s if s > 5 else go(n + 1, s + abs(x[n % 2]))

        return go(0, 0.0)

    g = td.GuardedTape(f, on_new_tape="interpret")
    for p in ([0.4, 1.0], [0.9, 2.0], [2.0, 1.0], [0.01, 0.03]):
        assert g(np.array(p)) == pytest.approx(f(np.array(p)), rel=1e-12)
    assert g.stats.recordings == 2
