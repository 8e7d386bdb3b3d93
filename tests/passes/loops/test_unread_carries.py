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


def in_a_nest(p):
    """Both loops hand on the number of the inner iteration; nothing reads it."""

    def row(s, x):
        return td.scan(lambda s, y: ((s[0] + np.sin(x * y * p[0]), y * p[1]), None), s, XS)[0], None

    return td.scan(row, (p[1], 0.0), XS)[0][0]


def read_in_a_nest(p):
    """The number of the inner iteration before is a factor."""

    def row(s, x):
        return td.scan(lambda s, y: ((s[0] + x * s[1] * p[0], np.sin(y * p[1])), None), s, XS)[0], None

    return td.scan(row, (p[1], 0.0), XS)[0][0]


POINTS = [np.array(p) for p in ([0.7, 0.4], [-0.6, 0.9], [1.1, -1.0])]


@pytest.mark.parametrize("f", [last_difference, recurrence, until_small, with_rows, in_a_nest, read_in_a_nest])
def test_values_and_derivatives_stay(f):
    """At a few points, up to second order."""
    hessian_agrees(agree(f, *POINTS), POINTS[0])


@pytest.mark.parametrize(("f", "carries"), [(last_difference, 1), (recurrence, 2), (until_small, 2), (with_rows, 1), (in_a_nest, 1), (read_in_a_nest, 2)])
def test_only_what_is_read_is_handed_on(f, carries):
    """Carries that the test of the loop, or one that is read, depends on are kept."""
    made = unread_carries(dead_code(td.record(f, POINTS[0])))
    assert [i.params[1].carries for i in made.all_of(LOOP)] == [carries]


@pytest.mark.parametrize("f", [last_difference, in_a_nest])
def test_a_sum_is_left(f):
    """Without what nothing reads, iterations do not need each other."""
    assert LOOP not in rolled(td.record(f, POINTS[0])).ops


def test_a_tape_without_such_loops_is_left():
    """The tape itself, where all is read."""
    tape = td.record(lambda p: td.fori_loop(0, 9, lambda k, s: s * p[0], p[1]), POINTS[0])
    made = unread_carries(dead_code(tape))
    assert unread_carries(made) is made
