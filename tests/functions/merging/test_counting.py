"""Turns of long loops may count with ints of Python's: one turn is recorded where floats are as good and exact, else all are."""

from __future__ import annotations

import numpy as np
import pytest

import tapediff as td

from . import counting_programs as programs
from . import position_programs
from .long_loops_agree import agree, loops_of, name_of

pytestmark = pytest.mark.usefixtures("short_recordings_are_long")

# At the last ones next to nothing is counted, or all.
POINTS = np.array([[0.4, 0.8], [0.7, 0.3], [-0.9, 0.95], [1e-3, 1.3], [6.0, -0.4]])


@pytest.mark.parametrize("f", programs.ONE_TURN, ids=name_of)
def test_one_turn_is_recorded_with_the_same_answers(f):
    tape = td.record(f, POINTS[0])
    assert loops_of(tape)
    assert len(tape) < 60
    agree(f, POINTS, tape, td.compile(f, POINTS[0]), td.GuardedTape(f))
    agree(f, POINTS[::-1], td.GuardedTape(f))


@pytest.mark.parametrize("f", programs.ALL_TURNS, ids=name_of)
def test_all_turns_are_recorded_where_it_has_to_stay_an_int(f):
    tape = td.record(f, POINTS[0])
    assert not loops_of(tape)
    np.testing.assert_allclose(tape(POINTS[0]), f(POINTS[0]), rtol=1e-11)
    agree(f, POINTS[[0, 1, 0]], td.GuardedTape(f))


@pytest.mark.parametrize("f", programs.OTHERS, ids=name_of)
def test_others_have_the_same_answers_too(f):
    agree(f, POINTS[:1], td.record(f, POINTS[0]), td.compile(f, POINTS[0]))
    agree(f, POINTS[[0, 1, 2, 0]], td.GuardedTape(f))


@pytest.mark.parametrize("f", position_programs.ONE_TURN, ids=name_of)
def test_one_turn_is_recorded_where_ints_are_positions(f):
    tape = td.GuardedTape(f)
    agree(f, POINTS[:4], tape)
    assert "a loop of which one turn is recorded" in tape.explain()
    agree(f, POINTS[3::-1], td.GuardedTape(f), td.compile(f, POINTS[0]))


@pytest.mark.parametrize("f", position_programs.OTHERS, ids=name_of)
def test_other_positions_give_the_same_answers(f):
    agree(f, POINTS[[0, 1, 2, 0]], td.GuardedTape(f))


def test_a_position_that_there_is_not_is_pythons_error():
    f = position_programs.runs_off_the_end
    tape = td.GuardedTape(f)
    agree(f, POINTS[:1] * 0.1, tape)
    for x in (POINTS[0], POINTS[4]):
        with pytest.raises(IndexError):
            f(x)
        with pytest.raises(IndexError):
            td.gradient(tape, x)
    agree(f, POINTS[1:2] * 0.1, tape)


def test_a_state_that_stays_zero_where_it_is_recorded_may_be_another_one_later():
    f, points = position_programs.leaves_its_first_state_elsewhere, np.array([[-0.9, 0.4], [0.8, -0.3], [0.5, 0.2], [-0.4, -0.8]])
    agree(f, points, td.compile(f, points[0]), td.GuardedTape(f))
