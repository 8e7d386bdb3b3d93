"""Loops store, of the carries that their reverse pass reads, not the large ones beside them that it does not."""

import numpy as np
import pytest

import tapediff as td
from tapediff.passes.loops.carries import saved_carries

ROWS = np.linspace(0.5, 1.5, 40)


def smoothed(u):
    return 0.5 * (np.roll(u, 1) + np.roll(u, -1))


def beside_a_number(x, reverse=False):
    def step(carry, t):
        u, a = carry
        return (smoothed(u) + a * t, np.sin(a * t)), a * np.sum(u)

    (u, a), ys = td.scan(step, (x[1:], x[0]), ROWS, reverse=reverse)
    return np.sum(u * u) + a + np.sum(ROWS * ys)


def by_counter(x):
    u = td.fori_loop(3, 43, lambda i, u: smoothed(u) * (1 + 0.01 * i), x)
    return np.sum(u * u)


def leapfrog(x):
    def step(carry, _):
        q, v = carry
        q = np.roll(q, 1)
        v = v - 0.05 * q**3
        return (q + 0.05 * v, v), None

    n = len(x) // 2
    (q, v), _ = td.scan(step, (x[:n], x[n : 2 * n]), None, length=40)
    return np.sum(q * q) + np.sum(v * v)


def in_a_loop(x):
    def outer(carry, t):
        u, a = carry
        u = td.scan(lambda u, s: (smoothed(u) + a * s, None), u, ROWS[:5])[0]
        return (u, a * np.cos(t * a)), None

    (u, a), _ = td.scan(outer, (x[1:], x[0]), ROWS[:8])
    return np.sum(u * u) + a


def with_branches(x):
    def step(carry, t):
        u, a = carry
        return td.cond(a > t, lambda u, a: (smoothed(u), 0.9 * a), lambda u, a: (u * t, a + t * a), u, a), None

    (u, a), _ = td.scan(step, (x[1:], x[0]), ROWS)
    return np.sum(u * u) + a


PROGRAMS = {
    "a number beside it": beside_a_number,
    "backwards": lambda x: beside_a_number(x, reverse=True),
    "a counter": by_counter,
    "position and speed": leapfrog,
    "a loop in a loop": in_a_loop,
    "branches": with_branches,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_answers_are_the_same_whatever_is_stored(name, monkeypatch):
    f, x = PROGRAMS[name], np.linspace(0.3, 1.1, 21)
    answers = []
    for limit in (1 << 60, 0):
        monkeypatch.setattr(saved_carries, "LARGEST_UNREAD", limit)
        compiled = td.compile(lambda x: f(x), x)  # a tape of its own: callees keep what is made of them
        td.testing.check_gradient(compiled, f, x, rtol=1e-5)
        answers.append((*td.value_and_gradient(compiled, 0.9 * x), td.hessian(compiled, x)))
    (value, gradient, hessian), (other_value, other_gradient, other_hessian) = answers
    assert value == other_value
    np.testing.assert_allclose(other_gradient, gradient, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(other_hessian, hessian, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(("name", "most"), [("a number beside it", 12), ("backwards", 12), ("a counter", 8), ("position and speed", 30)])
def test_what_nobody_reads_is_not_stored(name, most):
    """In arrays of the carry's size: it was one for each of 40 iterations, and one for each carry."""
    x = np.linspace(0.3, 1.1, 20_001)
    compiled = td.compile(PROGRAMS[name], x)
    td.gradient(compiled, x)
    assert compiled.workspace_bytes < most * x.nbytes
