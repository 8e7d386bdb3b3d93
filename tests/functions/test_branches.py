"""Structured control flow: recorded once, differentiated to any order, the same inside and outside recordings."""


import numpy as np
import pytest
from support.agreement import agree, hessian_agrees, recordings_of

import tapediff as td

RNG = np.random.default_rng(0)


def test_cond_runs_the_branch_taken():
    """The untaken branch is outside its domain, and is never run."""
    ran = []

    def log(v):
        ran.append("log")
        return np.log(v)

    f = lambda x: td.cond(x[0] > 0, log, lambda v: v * 2, x[0]) * x[1]
    agree(f, np.array([-1.0, 2.0]), np.array([-2.0, 3.0]))
    assert ran == []
    agree(f, np.array([-1.0, 2.0]), np.array([2.0, 3.0]), np.array([-2.0, 3.0]))


def test_cond_closes_over_tracked_values_and_nests():
    def f(x):
        a, b = x[0] * 2, np.sin(x)
        return td.cond(
            a > 0,
            lambda v: v * a + b[0],
            lambda v: td.cond(x[1] > 0, lambda w: w * b[1], lambda w: w**3 * a, v * 2),
            x[2],
        )

    points = RNG.normal(size=(12, 3))
    tape = agree(f, *points)
    hessian_agrees(tape, *points[:6])


def test_cond_in_a_loop_shares_its_variants():
    def f(x):
        total = 0.0
        for k in range(6):
            total = total + td.cond(x[k] > 0, lambda v: v**2, lambda v: -v, x[k])
        return total

    tape = agree(f, *RNG.normal(size=(5, 6)))
    assert recordings_of(tape) == [2]


def test_switch():
    def f(x):
        k = np.argmax(x)
        return td.switch(k, [lambda v: v[0] ** 2, lambda v: np.sin(v[1]), lambda v: v[2] * v[0]], x)

    agree(f, *(np.roll([3.0, 1.0, 2.0], k) for k in range(3)))
    assert td.switch(1, [abs, lambda v: v * 2], 3.0) == 6.0
    with pytest.raises(IndexError, match="2 branches, and was asked for number 5"):
        td.switch(5, [abs, abs], 1.0)
    compiled = td.compile(lambda x: td.switch(np.argmax(x), [lambda v: v, lambda v: v * 2], x[0]), np.array([1.0, 0.0, -1.0]))
    with pytest.raises(IndexError, match="number 2"):
        td.gradient(compiled, np.array([1.0, 0.0, 3.0]))


def test_builtins_as_branches_and_dicts_in_any_order():
    f = lambda x: td.cond(x[2] > 0, max, min, x[0], x[1]) + td.subtape(max)(x[0] * 2, x[2])
    agree(f, *RNG.normal(size=(6, 3)))

    def g(x):
        picked = td.cond(x[0] > 0, lambda: {"a": x[0], "b": x[1]}, lambda: {"b": x[2], "a": x[1]})
        last, _ = td.scan(lambda c, t: ({"b": c["a"] * t, "a": c["b"]}, None), picked, x)
        return last["a"] - last["b"]

    agree(g, *RNG.normal(size=(4, 3)))


def test_branches_must_agree():
    f = lambda x: np.sum(td.cond(x[0] > 0, lambda v: v, lambda v: v[:1], x))
    compiled = td.compile(f, np.ones(2))
    with pytest.raises(td.ShapeMismatch):
        td.gradient(compiled, -np.ones(2))
