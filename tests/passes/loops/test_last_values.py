"""What only the last iteration of a while loop decides is computed behind the loop, which then needs no reverse pass."""

import numpy as np
import pytest
from support.agreement import agree, by_numpy, hessian_agrees

import tapediff as td
from tapediff.ops.control.calls import LOOP
from tapediff.targets.tapes.gradient_tape import gradient_tape


def line_search(x):
    """The points that are tried are handed on, and only the last of them is read, behind the loop."""
    slope = 2.0 * (x[0] - x[1])
    value = (x[0] - x[1]) ** 2

    def is_high(state):
        return (state[1] - x[1]) ** 2 > value - 0.3 * state[0] * slope * slope

    def halved(state):
        size = 0.5 * state[0]
        return size, x[0] - size * slope

    size, trial = td.while_loop(is_high, halved, (3.0, x[0] - 3.0 * slope))
    return trial * x[2] + size


def two_points(x):
    """Nothing of the first values is read; a second loop reads what the first one found."""
    u, v, size = 0.0 * x[0], x[1], 1.0
    _, u, v = td.while_loop(lambda s: s[0] > x[2] * x[2], lambda s: (0.5 * s[0], x[0] * s[0], np.sin(x[1] * s[0])), (size, u, v))
    _, w = td.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, u * v * s[0]), (0, u))
    return u + v * w


def ends_with_a_flag(x):
    """Two carries say how the loop has ended."""

    def turn(state):
        _, size, _ = state
        point = x[0] - size * x[1]
        is_good = point * point < 2.0 * x[0] * x[0]
        return is_good, np.where(is_good, size, 0.5 * size), point

    _, size, point = td.while_loop(lambda s: np.logical_not(s[0]), turn, (False, 4.0, x[2]))
    return point * size


FUNCTIONS = [line_search, two_points, ends_with_a_flag]
POINTS = [np.array(p) for p in ([1.3, 0.4, 0.7], [-0.6, 0.9, 0.3], [0.2, 0.1, 1.5], [2.0, -1.0, 0.01])]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_values_and_derivatives_stay(f):
    """At points where loops take from no iterations to ten."""
    tape = agree(f, *POINTS)
    hessian_agrees(tape, POINTS[0])


@pytest.mark.parametrize("f", FUNCTIONS)
def test_such_loops_have_no_reverse_pass(f):
    """As many loops in the gradient as in the function."""
    tape = td.record(f, POINTS[0])
    ours = sum(i.op is LOOP for i in gradient_tape(tape, (0,)).instructions)
    assert ours == sum(i.op is LOOP for i in tape.instructions)


def test_in_the_body_of_a_loop():
    """A descent with a search in each round: the sizes that were found are kept for the reverse pass."""

    def descent(x):
        def round_of(_, s):
            slope = 2.0 * (s - x[0]) + np.cos(s * x[1])
            value = (s - x[0]) ** 2 + np.sin(s * x[1]) / x[1]
            is_high = lambda t: (t[1] - x[0]) ** 2 + np.sin(t[1] * x[1]) / x[1] > value - 0.3 * t[0] * slope**2
            return td.while_loop(is_high, lambda t: (0.5 * t[0], s - 0.5 * t[0] * slope), (2.0, s - 2.0 * slope))[1]

        return td.fori_loop(0, 5, round_of, x[2])

    tape = agree(descent, *POINTS)
    hessian_agrees(tape, POINTS[0])
    reverse = gradient_tape(tape, (0,))
    loops = [i.params[0].variant_tape(0) for i in reverse.instructions if i.op is LOOP]
    assert [any(i.op is LOOP for i in body.instructions) for body in loops] == [True, False]


@pytest.mark.parametrize("x", [[2.0, 0.0], [2.0, 4.0]])
def test_infinities_where_no_iteration_was_add_nothing(x):
    """The root of the first value is only that of the last iteration's value if there was one."""
    x = np.array(x)

    def f(x):
        return td.while_loop(lambda s: s[0] < x[1] - 1.0, lambda s: (s[0] + 1.0, np.sqrt(s[0] * x[0])), (0.0, x[0]))[1]

    tape = td.record(f, np.array([2.0, 4.0]))
    expected = by_numpy(lambda: td.gradient(tape, x))
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(td.gradient(td.compile(tape), x), expected, rtol=1e-12)
    np.testing.assert_allclose(expected[0], 1.0 if x[1] == 0.0 else 0.5 * np.sqrt(2.0 / 2.0), rtol=1e-12)


def test_what_the_size_depends_on_keeps_its_reverse_pass():
    """The step is computed from the data, so that its derivative goes through all iterations."""

    def f(x):
        shrunk = lambda s: (s[0] * x[1], x[0] - s[0] * x[2])
        return td.while_loop(lambda s: s[0] > 0.3, shrunk, (x[2] * x[2] + 1.0, x[0]))[1]

    points = [np.array([1.0, 0.5, 0.7]), np.array([0.3, 0.8, 0.1])]
    agree(f, *points)


def test_a_division_of_ints_that_may_fail_stays_in_its_loop():
    """Behind a loop without iterations it would divide by the first value, 0."""

    def f(x):
        turn = lambda s: (s[0] + 1, x[0] * (12 // s[0]))
        return td.while_loop(lambda s: s[0] * x[1] > 0.0, lambda s: (s[0] - 1, turn(s)[1]), ((x[1] * 3).astype(int), x[0]))[1]

    agree(f, np.array([1.5, 1.0]), np.array([1.5, 0.0]))
