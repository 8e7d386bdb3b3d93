"""Short loops inside the body of a loop become part of that body's code: the same bits as by the dispatch loop, and no call of it."""

import pickle

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler import loop_kernel
from tapediff.compiler.codegen import loop_function
from tapediff.compiler.jit.native_function import INLINED

ROUNDS = 12


def searches(x, turns):
    """In each round, a while loop of turns[k] turns, which carries a number, an array, an int and a bool; and one of fixed length."""

    def round_of(k, state):
        s, a = state

        def goes(inner):
            return inner[2] < turns[k]

        def turn(inner):
            t, b, count, odd = inner
            return 0.5 * t + np.where(odd, b[0] * x[0], np.sin(b[1])), 0.5 * b[::-1] + x * np.cos(t), count + 1, ~odd

        s, a, count, odd = td.while_loop(goes, turn, (s, a, 0, k % 2 == 0))
        t, _ = td.scan(lambda c, v: (np.sin(c * v), None), s, a)
        return 0.5 * t + np.where(odd, 0.1, 0.2) * count, a

    s, a = td.fori_loop(0, ROUNDS, round_of, (x[0] + 0.0, x + 0.0))
    return s + a.sum()


# No turn, one, more than there is room for at first, and more than run before signals are looked for.
POINTS = [np.array(turns) for turns in ([0] * ROUNDS, [3, 0, 1, 40, 2, 0, 0, 300, 17, 16, 15, 1], [1] * ROUNDS)]


def compiled_at(monkeypatch, most):
    monkeypatch.setattr(loop_function, "MOST_INLINED", most)
    made = []
    original = loop_kernel.LoopKernel.__init__
    monkeypatch.setattr(loop_kernel.LoopKernel, "__init__", lambda self, *args: (original(self, *args), made.append(self))[0])
    # A copy, whose callees are not compiled yet.
    compiled = td.compile(pickle.loads(pickle.dumps(td.record(searches, np.array([0.3, -0.2, 0.5]), POINTS[1]))))
    answers = [td.value_and_gradient(compiled, x, turns) for turns in POINTS for x in (np.array([0.3, -0.2, 0.5]), -np.ones(3))]
    return compiled, answers, made


def test_inner_loops_give_the_same_bits_inlined_and_not(monkeypatch):
    with monkeypatch.context() as patch:
        _, expected, apart = compiled_at(patch, -1)
    compiled, found, inlined = compiled_at(monkeypatch, loop_function.MOST_INLINED)
    for (value, gradient), (other, own) in zip(found, expected):
        assert value == other
        assert np.array_equal(gradient, own)
    assert len(inlined) < len(apart)
    assert any(INLINED in kernel.llvm for kernel in inlined)
    x, step = np.array([0.3, -0.2, 0.5]), 1e-6 * np.array([1.0, 2.0, -1.0])
    difference = searches(x + step, POINTS[2]) - searches(x - step, POINTS[2])
    # Of values near 1 with steps of 1e-6: ten digits of rounding, less six of the step.
    assert np.isclose(2.0 * step @ td.gradient(compiled, x, POINTS[2]), difference, rtol=1e-4)


def test_an_inner_loop_that_takes_too_long_says_so():
    def f(x):
        def halved(_, s):
            return td.while_loop(lambda t: t > x, lambda t: 0.5 * t, s, max_steps=9) + 1.0

        return td.fori_loop(0, 3, halved, 1.0 + 0.0 * x)

    compiled = td.compile(f, 0.1)
    assert td.gradient(compiled, 0.2) == 0.0
    for call in (compiled, lambda x: td.gradient(compiled, x)):
        with pytest.raises(td.LoopTooLong, match="max_steps=9"):
            call(1e-9)
