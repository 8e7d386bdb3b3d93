"""Loops that never end are ended: by a number of iterations, or by the memory that their values take."""

import numpy as np
import pytest

import tapediff as td
from tapediff.ops.control import loop_forms


def rising(x, max_steps=None):
    """Takes 10 / x[1] iterations, which is for ever where x[1] is 0."""
    return td.while_loop(lambda s: s[1] < 10.0, lambda s: (s[0] * np.cos(0.1 * s[0]), s[1] + x[1]), (x[0], x[1] * 0.0), max_steps=max_steps)[0]


ENDS, NEVER = np.array([2.0, 1.0]), np.array([2.0, 0.0])


def value_by(target):
    return lambda x: td.value_and_gradient(target, x)[0]


def guarded(f):
    safe = td.GuardedTape(f)
    td.gradient(safe, ENDS)
    return safe


TARGETS = {
    "plain": lambda f: f,
    "function": value_by,
    "tape": lambda f: value_by(td.record(f, ENDS)),
    "compiled value": lambda f: td.compile(f, ENDS),
    "compiled": lambda f: value_by(td.compile(f, ENDS)),
    "guarded": lambda f: value_by(guarded(f)),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("most", [10, 64, 100])
def test_a_while_loop_takes_at_most_so_many_iterations(target, most):
    """LoopTooLong with its line where it goes on after them; fine where it ends just then, or is called once more."""
    call = TARGETS[target](lambda x: rising(x, most))
    step = 10.0 / most
    # Ends after exactly `most` iterations, and one later: sums of the step reach 10 then.
    for slope, ends in ((step * (1 + 1e-9), True), (step * (1 - 1e-9), False), (0.0, False), (1.0, True)):
        x = np.array([2.0, slope])
        if ends:
            assert call(x) == pytest.approx(rising(x), rel=1e-13)  # as many multiplications, each rounded
            continue
        with pytest.raises(td.LoopTooLong) as raised:
            call(x)
        assert raised.value.what == "a loop has not ended after the iterations that it may take"
        assert "test_loop_forms.py" in str(raised.value.at)
        assert "in rising" in str(raised.value.at)
        assert raised.value.got == f"max_steps={most}"


def test_no_iteration_may_be_allowed():
    """max_steps=0: fine where the test does not hold to begin with."""
    assert td.while_loop(lambda s: s < 1.0, lambda s: s * 2, 3.0, max_steps=0) == 3.0
    compiled = td.compile(lambda x: td.while_loop(lambda s: s < 1.0, lambda s: s * 2, x, max_steps=0), 3.0)
    assert compiled(4.0) == 4.0
    with pytest.raises(td.LoopTooLong):
        compiled(0.5)
    with pytest.raises(td.LoopTooLong):
        td.gradient(compiled, 0.5)


@pytest.fixture
def _little_memory(monkeypatch):
    monkeypatch.setattr(loop_forms, "MOST_BYTES", 1 << 16)
    loop_forms.saved_bytes_limit.cache_clear()
    yield
    loop_forms.saved_bytes_limit.cache_clear()


@pytest.mark.usefixtures("_little_memory")
@pytest.mark.parametrize("target", ["tape", "compiled", "guarded"])
def test_the_values_of_a_loop_that_never_ends_do_not_fill_the_memory(target):
    """LoopTooLong with the loop's line; a loop that ends is fine, and so is the next call."""
    call = TARGETS[target](rising)
    for _ in range(2):
        with pytest.raises(td.LoopTooLong) as raised:
            call(NEVER)
        assert "take too much memory" in raised.value.what
        assert "in rising" in str(raised.value.at)
        assert call(ENDS) == pytest.approx(rising(ENDS), rel=1e-13)  # ten multiplications, each rounded


@pytest.mark.usefixtures("_little_memory")
def test_a_counted_loop_says_that_its_values_take_too_much_memory():
    """Where the count is known only at run time; the value alone stores nothing."""

    def f(x, n):
        return td.fori_loop(0, n, lambda i, u: np.sin(u), x)

    compiled = td.compile(f, 1.0, td.Constant(10))
    with pytest.raises(td.LoopTooLong, match="take too much memory"):
        td.gradient(compiled, 1.0, td.Constant(100_000))
    u, slope = 1.0, 1.0
    for n in range(100_000):
        if n == 1000:
            assert td.gradient(compiled, 1.0, td.Constant(1000)) == pytest.approx(slope, rel=1e-11)  # roundings of a thousand sines
        slope *= np.cos(u)
        u = np.sin(u)
    assert compiled(1.0, td.Constant(100_000)) == pytest.approx(u, rel=1e-10)


def test_the_number_of_steps_is_checked():
    """A count, or nothing."""
    for wrong in (-1, 1.5, "3"):
        with pytest.raises(td.ArgumentMismatch, match="max_steps is a number of iterations"):
            rising(ENDS, wrong)


@pytest.mark.parametrize(("memory", "expected"), [(1 << 30, 1 << 28), (1 << 36, loop_forms.MOST_BYTES), (None, loop_forms.MOST_BYTES)])
def test_loops_may_save_a_quarter_of_the_memory_and_no_more_than_a_fixed_limit(memory, expected, monkeypatch):
    monkeypatch.setattr(loop_forms, "memory_bytes", lambda: memory)
    assert loop_forms.saved_bytes_limit.__wrapped__() == expected
