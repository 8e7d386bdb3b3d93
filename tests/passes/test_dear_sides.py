"""Dear sides of branches run only where they are taken, and give what the paths give."""

import numpy as np
import pytest

import tapediff as td
from tapediff.passes import dear_sides, demand

MATRIX = np.random.default_rng(0).normal(size=(6, 6))
STIFF = MATRIX @ MATRIX.T + 6.0 * np.eye(6)
POINTS = [*np.random.default_rng(1).normal(size=(8, 6)), np.zeros(6), -np.ones(6)]


def two_dear_sides(x):
    k = np.outer(x, x)
    if x[0] > 0:
        r, s = np.sum((STIFF + k) @ MATRIX), x[3]
    else:
        r, s = np.sum(MATRIX @ k @ MATRIX), np.sum(np.exp(k @ x))
    return r * s + x[2]


def sides_within_sides(x):
    s = np.sum(x * x)
    if x[0] > 0:
        k = np.outer(x, x) + STIFF
        if x[1] > 0:
            r = np.sum(k @ k)
        elif x[2] > 0:
            r = np.sum(np.log(np.diagonal(np.linalg.cholesky(k))))
        else:
            r = x[3]
        r = r + x[4] * k[1, 2]
    elif x[1] > 0:
        r = np.sum(np.tanh(MATRIX @ np.outer(x, x)))
    else:
        r = x[2]
    return r * x[5] + s


def scan_on_one_side(x):
    r = x[2]
    if x[0] > 0:
        def step(c, a):
            c = c + 0.1 * np.tanh(c) * a
            return c, c * c

        c, squares = td.scan(step, x[1], np.arange(50.0))
        r = c + np.sum(squares) * 1e-3
    return r * x[3]


def position_on_one_side(x):
    r = x[1]
    if x[0] > 0:
        order = np.argsort(x)
        r = np.sum((MATRIX @ x)[order] * x) + x[order[2]]
    return r


PROGRAMS = [
            two_dear_sides, sides_within_sides, scan_on_one_side, position_on_one_side,
            ]  # fmt: skip


@pytest.fixture
def all_dear(monkeypatch):
    """Everything that is needed on one side only is a call."""
    monkeypatch.setattr(demand, "DEAR", 0.5)
    monkeypatch.setattr(dear_sides, "LEAST_GATHERED", 0.5)


@pytest.fixture
def calls(monkeypatch):
    """The numbers of members of the calls that are made."""
    made, call = [], dear_sides._Gathering._call

    def counted(self, side, condition):
        made.append(len(side.members))
        call(self, side, condition)

    monkeypatch.setattr(dear_sides._Gathering, "_call", counted)
    return made


def agrees(f):
    """One tape of all paths gives what a tape of each path gives, whichever point it was recorded at."""
    for order in (POINTS, POINTS[::-1]):
        g = td.GuardedTape(f)
        for x in [*order, *order[:2]]:
            own = td.record(f, x, merge=False)
            value, gradient = td.value_and_gradient(g, x)
            # The order of sums differs, and of products in factors.
            np.testing.assert_allclose(value, f(x), rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(g(x), f(x), rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(gradient, td.gradient(own, x), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_sides_give_what_their_paths_give(f, calls):
    agrees(f)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_all_that_is_of_one_side_may_be_a_call(f, calls, all_dear):
    agrees(f)
    assert calls


@pytest.mark.parametrize("f", PROGRAMS[:4], ids=lambda f: f.__name__)
def test_second_derivatives_are_those_of_the_paths(f, all_dear):
    g = td.GuardedTape(f)
    for x in POINTS[:4]:
        # As for gradients.
        np.testing.assert_allclose(td.hvp(g, x, POINTS[5]), td.hvp(td.record(f, x, merge=False), x, POINTS[5]), rtol=1e-7, atol=1e-9)


def test_a_side_is_computed_only_where_it_is_taken():
    """Forward and backward: a function that counts its calls."""
    ran = []

    @td.primitive(compiled=False)
    def counted(a):
        ran.append("forward")
        return np.sum(a @ a), a

    @counted.backward
    def counted_back(a, z_bar):
        ran.append("backward")
        return z_bar * (a.sum(1)[None, :] + a.sum(0)[:, None])

    def f(x):
        return np.where(x[0] > 0, counted(np.outer(x, x)), x[1]) + x[2]

    compiled = td.compile(f, POINTS[0])
    for x in POINTS:
        ran.clear()
        td.value_and_gradient(compiled, x)
        assert set(ran) == ({"forward", "backward"} if x[0] > 0 else set())


def test_a_derivative_that_is_infinite_on_the_other_side_does_not_count():
    def f(x):
        if x[0] > 0:
            r = np.sum(np.sqrt(x @ STIFF @ x) * (STIFF @ np.outer(np.log(x[0]) * x, x)))
        else:
            r = x[1]
        return r + x[2]

    g = td.GuardedTape(f)
    td.gradient(g, np.ones(6))
    np.testing.assert_array_equal(td.gradient(g, np.zeros(6)), [0, 1, 1, 0, 0, 0])


def test_a_factorisation_fails_only_where_it_is_taken():
    def f(x):
        r = x[1]
        if x[0] > 0:
            r = np.sum(np.log(np.diagonal(np.linalg.cholesky(np.eye(6) * x[0]))))
        return r + x[2]

    g = td.GuardedTape(f)
    for x in (np.ones(6), -np.ones(6), np.ones(6)):
        assert td.value_and_gradient(g, x)[0] == f(x)
    assert g.stats.recordings == 1


def test_cheap_sides_stay_selects(calls):
    def f(x):
        s = 0.0
        for v in x:
            s = s + (0.5 * v * v if abs(v) < 1 else abs(v) - 0.5)
        return s

    agrees(f)
    assert not calls


def test_a_side_reads_entries_of_an_array_that_another_side_keeps_to_itself():
    """The second side gets the entries, not the array, which was never given."""
    numbers = np.sin(np.arange(40) * 1.7) * 2

    def program(p):
        times = [k * p[0] for k in range(20) if numbers[k] * p[1] > -0.5]
        states = [np.sin(k) * p[2] for k in range(20) if numbers[k] * p[1] > -0.5]
        return np.interp(p[1] * 30, times, states, right=p[2])

    points = np.random.default_rng(1).uniform(0.3, 1.6, (6, 3))
    tape = td.record(program, points[0], merge=True)
    compiled = td.compile(tape)
    for point in points:
        np.testing.assert_allclose(td.gradient(compiled, point), td.gradient(tape, point), rtol=1e-10, atol=1e-12)
