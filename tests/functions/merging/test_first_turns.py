"""Of long loops whose first turn is another one, it is recorded by itself, and one of the others: with the plain function's answers."""

from __future__ import annotations

import numpy as np
import pytest

import tapediff as td

from . import first_turn_programs as programs
from .long_loops_agree import agree, loops_of, name_of

pytestmark = pytest.mark.usefixtures("short_recordings_are_long")

# At the others the first turn takes other branches, and so do most of the rest.
POINTS = np.array([[0.4, 0.8], [0.7, 0.3], [-0.9, 0.95], [1.3, 0.1], [2.1, -0.4]])


@pytest.mark.parametrize("f", programs.ONE_TURN, ids=name_of)
def test_one_of_the_other_turns_is_recorded(f):
    tape = td.record(f, POINTS[0])
    assert loops_of(tape)
    # Of a list each entry is one.
    assert len(tape) < programs.TURNS + 80
    agree(f, POINTS, tape, td.compile(f, POINTS[0]), td.GuardedTape(f))
    agree(f, POINTS[::-1], td.GuardedTape(f))


@pytest.mark.parametrize("f", programs.OTHERS, ids=name_of)
def test_what_only_seems_to_be_one_is_right_all_the_same(f):
    agree(f, POINTS[:1], td.record(f, POINTS[0]), td.compile(f, POINTS[0]))
    agree(f, [*POINTS, POINTS[0]], td.GuardedTape(f))
    agree(f, POINTS[::-1], td.GuardedTape(f))


@pytest.mark.parametrize("f", [programs.last_shock, programs.none_at_first, programs.flag, programs.filter_that_starts_itself], ids=name_of)
def test_second_derivatives_are_right(f):
    """Of the recorded form, at other points: differences of gradients, of which the step leaves half of the digits."""
    tape, steps = td.GuardedTape(f), 1e-6 * np.eye(2)
    for x in POINTS[:3]:
        expected = np.array([(td.gradient(tape, x + e) - td.gradient(tape, x - e)) / 2e-6 for e in steps])
        scale = np.abs(expected).max()
        np.testing.assert_allclose(td.hessian(tape, x), expected, rtol=1e-5, atol=1e-5 * scale)
        np.testing.assert_allclose(td.hvp(tape, x, np.array([1.0, -2.0])), expected @ [1.0, -2.0], rtol=1e-5, atol=1e-5 * scale)


def test_it_is_said_why_it_was_done():
    """The report names the loop once, as one of which one turn is recorded."""
    tape = td.GuardedTape(programs.last_shock)
    td.gradient(tape, POINTS[0])
    report = tape.explain()
    assert report.count("a loop of which one turn is recorded") == 1
    assert "no value before it" not in report
