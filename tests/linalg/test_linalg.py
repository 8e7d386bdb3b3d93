"""tapediff.linalg against scipy.linalg, call by call: values, shapes, errors; gradients and second derivatives against differences of SciPy's."""

import inspect
import pickle

import mpmath
import numpy as np
import pytest
import scipy.linalg

import tapediff as td

from linalg.calls import A, B, CALLS, DEFINITE, NEAR_ONE, RNG, STACK, TALL, THREE, TRIDIAGONAL, VECTOR, WIDE

TABLE = [(name, k) for name, calls in CALLS.items() for k in range(len(calls))]


def results(value):
    return [np.asarray(part) if isinstance(part, (int, bool)) else part for part in (value if isinstance(value, (tuple, list)) else (value,))]


def weighted(f):
    """One number, with another weight for every entry of every result."""

    def total(*args):
        parts = results(f(*args))
        return sum(np.sum(np.sin(np.arange(1.0, np.size(p) + 1.0)).reshape(np.shape(p)) * p) for p in parts)

    return total


@pytest.mark.parametrize(("name", "k"), TABLE)
def test_values_are_scipys_and_derivatives_those_of_scipys_values(name, k):
    """Gradient in every argument, and a Hessian product, along directions."""
    f, *args = CALLS[name][k]
    ours, theirs = (lambda *a: f(td.linalg, *a)), (lambda *a: f(scipy.linalg, *a))
    tape = td.record(ours, *args)
    expected, found = results(theirs(*args)), results(tape(*args))
    assert [np.shape(p) for p in found] == [np.shape(p) for p in expected]
    assert [np.asarray(p).dtype.kind for p in found] == [np.asarray(p).dtype.kind for p in expected]
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13 * np.max(np.abs(other), initial=1.0))  # two orders of operations
    total, plain, every = weighted(ours), weighted(theirs), tuple(range(len(args)))
    gradient = td.record(lambda *a: td.gradient(total, *a, argnums=every), *args)
    slopes = td.value_and_gradient(total, *args, argnums=every)[1]
    rng, step = np.random.default_rng(1), 1e-5
    directions = [rng.normal(size=a.shape) for a in args]
    at = lambda function, s: function(*[a + s * d for a, d in zip(args, directions)])
    difference = (8 * (at(plain, step) - at(plain, -step)) - (at(plain, 2 * step) - at(plain, -2 * step))) / (12 * step)
    slope = sum(np.sum(g * d) for g, d in zip(slopes, directions))
    # SciPy's rounding over the step; the fourth power of the step.
    assert slope == pytest.approx(difference, rel=1e-8, abs=1e-8)
    product = td.jvp(gradient, args, directions)[1]
    for ours_, up, down, more, less in zip(results(product), *(results(at(gradient, s * step)) for s in (1, -1, 2, -2))):
        second = (8 * (up - down) - (more - less)) / (12 * step)
        np.testing.assert_allclose(ours_, second, rtol=1e-6, atol=1e-7 * max(1.0, np.max(np.abs(second))))  # the same of gradients


GROUPS = [TABLE[k::9] for k in range(9)]


@pytest.mark.parametrize("group", range(len(GROUPS)))
def test_kernels_and_loops_give_what_replays_do(group):
    """A ninth of all calls in one kernel, at another point than recorded; inside a scan, as a sub-tape of it."""
    calls = [CALLS[name][k] for name, k in GROUPS[group]]
    starts = np.cumsum([0, *(len(args) for _, *args in calls)])
    arguments = [a for _, *args in calls for a in args]

    def all_of_them(*args):
        return sum(weighted(lambda *a, f=f: f(td.linalg, *a))(*args[i:j]) for (f, *_), i, j in zip(calls, starts, starts[1:]))

    def in_a_loop(*args):
        step = lambda total, factor: (total + all_of_them(*(a * factor for a in args)), None)
        return td.scan(step, 0.0, np.array([1.0, 1.0001]))[0]

    every = tuple(range(len(arguments)))
    moved = [a * 1.0001 for a in arguments]
    for f in (all_of_them, in_a_loop) if group == 0 else (all_of_them,):
        tape = td.record(f, *arguments)
        value, gradient = td.value_and_gradient(tape, *moved, argnums=every)
        compiled = td.compile(tape)
        fast_value, fast_gradient = td.value_and_gradient(compiled, *moved, argnums=every)
        assert fast_value == pytest.approx(value, rel=1e-11)
        for slow, fast in zip(gradient, fast_gradient):
            np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-10 * max(1.0, np.max(np.abs(slow), initial=0.0)))  # conditions of 1000
