"""Writing into tracked arrays: the same values as NumPy on plain arrays, and right gradients."""

import numpy as np
import pytest
from support.written_programs import CASES, numerical

import tapediff as td
from tapediff.numpy_api.dispatch import WRITERS


def check(f, point, bits=0, step=1e-6):
    """Value as NumPy's on plain arrays, by replay and kernel, where recorded and beside; gradient by both and the guarded tape."""
    elsewhere = point * 1.001
    tape, before = td.record(f, point), point.copy()
    tape.check()
    compiled = td.compile(td.record(f, point))
    weights = np.cos(np.arange(np.size(f(point.copy())))).reshape(np.shape(f(point.copy())))

    def total(x):
        return np.sum(f(x) * weights)

    scalar = td.record(total, point)
    guarded = td.GuardedTape(total)
    native = td.compile(scalar)
    for at in (point, elsewhere):
        expected = np.asarray(f(at.copy()))
        assert np.array_equal(np.signbit(tape(at)), np.signbit(expected))
        np.testing.assert_allclose(tape(at), expected, rtol=2.0**bits * 2.3e-16 if bits else 0.0, atol=0.0)
        # A kernel's exp and sin, and its sums, may differ in the last bits.
        np.testing.assert_allclose(compiled(at), expected, rtol=1e-13, atol=1e-13)
        wanted = numerical(total, at, step)
        for target in (scalar, native, guarded):
            tolerance = 2e-7 if step == 1e-6 else 1e-4
            np.testing.assert_allclose(td.gradient(target, at), wanted, rtol=tolerance, atol=tolerance)
    assert np.array_equal(point, before)


@pytest.mark.parametrize("name", CASES)
def test_writing_gives_what_numpy_gives(name):
    """Values equal to those of the same function on plain arrays; gradients equal to finite differences; the argument unchanged."""
    check(*CASES[name])


def test_every_function_that_changes_its_argument_has_a_case(monkeypatch):
    reached = set()
    for function, implementation in list(WRITERS.items()):
        monkeypatch.setitem(WRITERS, function, lambda *a, f=function, i=implementation, **k: reached.add(f) or i(*a, **k))
    for f, point, *_ in CASES.values():
        with np.errstate(all="ignore"):
            td.record(f, point)
    assert reached == set(WRITERS)


def sorted_by_swaps(x):
    y = x.copy()
    for i in range(len(y)):
        for j in range(len(y) - 1 - i):
            if y[j] > y[j + 1]:
                y[j], y[j + 1] = y[j + 1], y[j]
    return np.sum(y * np.arange(len(y)))


def written_on_some_paths(x):
    y = td.zeros(4)
    for i in range(4):
        if x[i] > 0:
            y[i] = x[i] ** 2
        elif i > 0:
            y[i - 1 : i + 1] += y[i - 1] * x[i]
    while np.sum(y) < 3.0:
        y += 0.5
        y[1:] += 0.25 * x[0] ** 2
    return np.sum(y * np.arange(1.0, 5.0))


@pytest.mark.parametrize("f", [sorted_by_swaps, written_on_some_paths])
def test_writes_on_other_paths_follow_the_branches(f):
    """A GuardedTape, replayed and compiled, at points that each take another path."""
    rng = np.random.default_rng(3)
    for guarded in (td.GuardedTape(f), td.GuardedTape(f, compile_after=1)):
        for _ in range(12):
            x = rng.normal(size=4)
            for _ in range(2):
                value, gradient = td.value_and_gradient(guarded, x)
                assert value == pytest.approx(f(x.copy()), rel=1e-14)
                np.testing.assert_allclose(gradient, numerical(f, x, 1e-6), rtol=1e-7, atol=1e-7)


def test_second_derivatives_go_through_writes():
    """The Hessian of a recurrence is the difference quotient of its gradient; the Jacobian of a fill is triangular."""

    def f(x):
        y = x.copy()
        for i in range(1, 4):
            y[i] *= y[i - 1] + x[0]
        y[1:3] += y[2:] * y[0]
        return np.sum(y**2)

    def filled(x):
        y = td.zeros(4)
        for i in range(4):
            y[i] = np.sum(x[: i + 1] ** 2)
        return y

    x = np.array([0.3, -0.8, 1.1, 0.6])
    rows = [(td.gradient(f, x + step) - td.gradient(f, x - step)) / 2e-5 for step in 1e-5 * np.eye(4)]
    np.testing.assert_allclose(td.hessian(f, x), rows, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(td.jacobian(filled, x), np.tril(np.ones((4, 4))) * 2.0 * x, rtol=1e-14)


def test_a_function_inside_another_writes_into_its_own_argument_only():
    def inner(y):
        y *= 2.0
        y[0] = y[1] * y[2]
        return np.sum(y**2)

    def outer(x):
        x[1] = 3.0 * x[0]
        slope = td.gradient(inner, x)
        return np.sum(slope * x) + x[1]

    x = np.array([0.5, 2.0, -1.0])
    before = x.copy()
    np.testing.assert_allclose(td.gradient(outer, x), numerical(outer, x.copy(), 1e-6), rtol=1e-7)
    np.testing.assert_allclose(td.gradient(td.compile(td.record(outer, x)), x), numerical(outer, x.copy(), 1e-6), rtol=1e-7)
    assert np.array_equal(x, before)
