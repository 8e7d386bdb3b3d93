"""Carries are dropped where nothing reads them; sums that are left need no loop."""

import numpy as np
import pytest
from support.agreement import agree, hessian_agrees

import tapediff as td
from tapediff.functions.callees.rolled_loop import rolled
from tapediff.ops.control.calls import LOOP
from tapediff.passes.loops.carries.unread_carries import unread_carries
from tapediff.passes.simplify.dead_code import dead_code

XS = np.linspace(-1.0, 2.0, 12)


def last_difference(p):
    """The last difference is handed on, and nothing reads it."""
    total, _, _ = td.scan(lambda s, x: ((s[0] + (x - p[0]) ** 2, x - p[0], s[2] + 1.0), None), (0.0, p[1], 0.0), XS)[0]
    return total * p[1]


def recurrence(p):
    """One that is read depends on another one, which is kept, too."""
    (u, _, _), _ = td.scan(lambda s, x: ((s[1] * x, np.sin(s[0] * p[0]), s[2] * s[0] + x), None), (p[1], p[0], 1.0), XS)
    return u + p[1]


def until_small(p):
    """A loop that data end, of which the test reads a carry that nothing else reads."""
    value, _, _ = td.while_loop(lambda s: s[1] > 0.1, lambda s: (s[0] * p[0], 0.5 * s[1], s[2] + s[0]), (p[1], 1.0, 0.0))
    return value


def with_rows(p):
    """Rows of a scan are read where the last values are not."""
    _, rows = td.scan(lambda s, x: ((s[0] * p[0], s[1] + x), s[0] + x), (p[1], 0.0), XS)
    return np.sum(rows * rows)


POINTS = [np.array(p) for p in ([0.7, 0.4], [-0.6, 0.9], [1.1, -1.0])]


@pytest.mark.parametrize("f", [last_difference, recurrence, until_small, with_rows])
def test_values_and_derivatives_stay(f):
    """At a few points, up to second order."""
    hessian_agrees(agree(f, *POINTS), POINTS[0])


@pytest.mark.parametrize(("f", "carries"), [(last_difference, 1), (recurrence, 2), (until_small, 2), (with_rows, 1)])
def test_only_what_is_read_is_handed_on(f, carries):
    """Carries that the test of the loop, or one that is read, depends on are kept."""
    made = unread_carries(dead_code(td.record(f, POINTS[0])))
    assert [i.params[1].carries for i in made.all_of(LOOP)] == [carries]


def test_a_sum_is_left():
    """Without what nothing reads, iterations do not need each other."""
    assert LOOP not in rolled(td.record(last_difference, POINTS[0])).ops


def test_a_tape_without_such_loops_is_left():
    """The tape itself, where all is read."""
    tape = td.record(lambda p: td.fori_loop(0, 9, lambda k, s: s * p[0], p[1]), POINTS[0])
    made = unread_carries(dead_code(tape))
    assert unread_carries(made) is made


# One row of those that a loop returns.

DATA = np.sin(np.arange(20) * 0.4)


def rows(p, reverse=False):
    def step(x, y):
        made = np.tanh(0.5 * x + y * p)
        return made, made

    return td.scan(step, p * 1.0, DATA, reverse=reverse)


def an_entry_of_the_last_row(p):
    return rows(p)[1][-1, 1]


def the_last_row(p):
    return np.sum(rows(p)[1][len(DATA) - 1] ** 2)


def a_part_of_it(p):
    return np.sum(rows(p)[1][-1, 1:] * p[1:])


def the_first_row_of_a_loop_backwards(p):
    return np.sum(rows(p, reverse=True)[1][0] ** 2)


def numbers(p):
    def step(x, y):
        made = np.sin(x * p[0]) + y
        return made, (made, x)

    _, (seen, before) = td.scan(step, p[1], DATA)
    return seen[-1] * p[2] + np.sum(before)


def another_row(p):
    return np.sum(rows(p)[1][-2])


def the_last_row_of_a_loop_backwards(p):
    return np.sum(rows(p, reverse=True)[1][-1])


def another_row_as_well(p):
    found = rows(p)[1]
    return np.sum(found[-1] * found[3])


def something_else_than_is_handed_on(p):
    return np.sum(td.scan(lambda x, y: (np.tanh(0.5 * x + y * p), x), p * 1.0, DATA)[1][-1])


ROWS = (
    an_entry_of_the_last_row, the_last_row, a_part_of_it, the_first_row_of_a_loop_backwards, numbers, another_row,
    the_last_row_of_a_loop_backwards, another_row_as_well, something_else_than_is_handed_on,
)  # fmt: skip


@pytest.mark.parametrize("f", ROWS, ids=lambda f: f.__name__)
def test_loops_of_which_a_row_is_read_have_the_right_derivatives(f):
    """At two points, up to second order."""
    points = np.array([0.4, 0.8, 1.1]), np.array([0.7, -0.3, 0.6])
    agree(f, *points)
    hessian_agrees(td.compile(f, points[0]), points[0])
