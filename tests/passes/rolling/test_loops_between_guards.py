"""Python loops beside guards: each stretch is rolled by itself, and guards stay what they are."""

import numpy as np

import tapediff as td
from tapediff.functions.callees import rolled_loop as rolled
from tapediff.passes.pipeline import run_passes
from tests.passes.rolling.both_ways import N, X, agree, made, names, with_rolling


def in_pieces(x):
    total = x[0]
    for k in range(3):
        for i in range(N):
            total = total + np.sin(x[i] * (k + 1.0))
        if total > 100.0:
            total = total * 0.5
    return total


def test_no_loop_goes_across_a_guard():
    """Each stretch between guards is rolled by itself; the guards keep their lines, their outcomes and their order."""
    tape = td.record(in_pieces, X)
    after = made(in_pieces, X)
    assert names(after).count("sum") == 3
    assert after.guards != ()
    assert [(g.site, g.outcome, g.kind, g.ordinal) for g in after.guards] == [(g.site, g.outcome, g.kind, g.ordinal) for g in tape.guards]
    agree(in_pieces, X, X * 0.9)


def test_branches_taken_both_ways_leave_nothing_to_roll():
    """Other instructions after each outcome, in no order that repeats. See test_guards_of_loops for those that are all one way."""

    def f(x):
        total = 0.0
        for i in range(N):
            total = total + np.sin(x[i]) if x[i] > 1.5 else total - x[i]
        return total

    assert len(made(f, X)) == len(run_passes(td.record(f, X), rolled.STRAIGHTEN))


def cone(tape, number, known=None):
    """What a value is computed from, as nested tuples."""
    known = {} if known is None else known
    if number not in known:
        op, inputs, params, *_ = tape.instructions[number]
        params = tuple(p.tobytes() if isinstance(p, np.ndarray) else p for p in params)
        known[number] = op.name, params, tuple(cone(tape, i, known) for i in inputs)
    return known[number]


def branches(uses_parts):
    def f(x):
        total, parts = 0.0, []
        for i in range(N):
            total = total + np.sin(x[i]) * x[i - 1]
            parts.append(total)
        if total > 1e9:
            return total
        return total * parts[7] * parts[N // 2] if uses_parts else total**2

    return f


def test_siblings_compute_what_a_guard_looks_at_alike():
    """Whatever the tape goes on with behind the guard: bits that differ would send a call back and forth between two tapes."""
    one, other = made(branches(True), X), made(branches(False), X)
    assert "cumsum" in names(one)
    assert "cumsum" not in names(other)
    assert cone(one, one.guards[0].value) == cone(other, other.guards[0].value)


def test_a_guarded_tape_follows_branches_between_loops():
    """Loops that are rolled stand on both sides of a branch."""

    def f(x):
        total = 0.0
        for i in range(N):
            total = total + np.sin(x[i])
        c = total
        for i in range(N):
            c = 0.5 * c + (x[i] if total > 0 else x[i] ** 2)
        return c

    def run():
        safe = td.GuardedTape(f, merge=False)
        for x in (X, -X, X * 0.5, -X * 0.5):
            td.testing.check_gradient(safe, f, x)
        return safe.stats.recordings

    assert with_rolling(True, run) == 2
