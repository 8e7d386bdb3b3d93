"""Replays: the loop over instructions, and the Python that a tape becomes once it has been replayed often."""

import tracemalloc

import numpy as np
import pytest

import tapediff as td
from tapediff.ir import interpreter
from tapediff.ir.interpreter import run, translated

RNG = np.random.default_rng(6)


def branching(x):
    total = np.sum(np.exp(-x) * x[::-1])
    for k in range(3):
        if x[k] > 0.0:
            total = total + np.sin(x[k]) * 2.0
        else:
            total = total - x[k]
    return total, np.cumsum(x), x


def looping(x):
    return td.scan(lambda c, row: (np.tanh(c + row), c), np.zeros(3), np.reshape(x, (2, 3)))


def many_outcomes(x):
    return np.sum(x[x > 0.0]) * int(x[0] * 10.0)


PROGRAMS = {"branches": branching, "loops": looping, "masks and integers": many_outcomes, "a constant": lambda x: (np.ones(3), x * 0.0)}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_translation_gives_what_the_loop_gives(name):
    """To the bit, at two points on the path; off the path both raise the same guard."""
    x = RNG.uniform(0.5, 0.59, 6)
    tape = td.record(PROGRAMS[name], x)
    replay = translated(tape)
    for point in (x, x[::-1].copy() * 1.0, x):
        for found, expected in zip(replay(tape, [point], 0), run(tape, [point]), strict=True):
            assert np.array_equal(found, expected)
            assert np.asarray(found).dtype == np.asarray(expected).dtype
    if tape.guard_count:
        raised = []
        for call in (lambda: replay(tape, [-x], 0), lambda: run(tape, [-x])):
            with pytest.raises(td.GuardFailed) as failure:
                call()
            raised.append(str(failure.value))
        assert raised[0] == raised[1]
        settled = tape.guard_count
        for found, expected in zip(replay(tape, [-x], settled), run(tape, [-x], settled), strict=True):
            assert np.array_equal(found, expected)


def test_a_tape_is_translated_after_some_replays(monkeypatch):
    """Its answers stay the same, failures included, and pickles and copies begin anew; a long tape is never translated."""
    monkeypatch.setattr(interpreter, "REPLAYS_BEFORE", 3)
    x = np.full(6, 0.4)
    tape = td.record(lambda x: np.sum(branching(x)[1]) * branching(x)[0], x)
    wanted = td.gradient(tape, x)
    for _ in range(8):
        assert np.array_equal(td.gradient(tape, x), wanted)
        assert tape(x) == pytest.approx(np.sum(np.cumsum(x)) * branching(x)[0], rel=1e-14)
        with pytest.raises(td.GuardFailed):
            tape(-x)
    assert callable(tape.derived["replay"])
    monkeypatch.setattr(interpreter, "MOST_TRANSLATED", 5)
    other = td.record(lambda x: np.sum(np.sin(x) * np.cos(x) + x * 3.0), x)
    assert len({other(x) for _ in range(8)}) == 1
    assert not callable(other.derived["replay"])


def test_a_failing_factorisation_raises_as_before(monkeypatch):
    monkeypatch.setattr(interpreter, "REPLAYS_BEFORE", 0)
    tape = td.record(lambda a: np.sum(np.linalg.cholesky(a)), np.eye(3))
    assert tape(np.eye(3)) == 3.0
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError):
            tape(-np.eye(3))
        assert tape(4.0 * np.eye(3)) == 6.0


def test_arrays_are_freed_after_their_last_use():
    """The peak of a chain of 20 operations is a few arrays."""

    def chain(x):
        for _ in range(10):
            x = np.sin(x * 1.1)
        return np.sum(x)

    x = np.linspace(0.0, 1.0, 100_000)
    tape = td.record(chain, x)
    replay = translated(tape)
    tracemalloc.start()
    found = replay(tape, [x], 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found[0] == chain(x)
    assert peak < 4 * x.nbytes
