"""Turns of long loops may put whole numbers into lists: one turn is recorded, and what is read of them are Python's ints."""

from __future__ import annotations

import numpy as np
import pytest

import tapediff as td
from tapediff.recording import record

from . import int_list_programs as programs
from .long_loops_agree import agree, name_of


@pytest.fixture(autouse=True)
def _some_recordings_are_long(monkeypatch):
    """Beyond what a list costs that has an instruction for each of its entries."""
    monkeypatch.setattr(record, "LONG", 1_000)


# Other branches, positions and winners at each.
POINTS = np.array([[0.4, 0.8], [0.7, 0.3], [-0.9, 0.95], [0.05, 1.3]])


@pytest.mark.parametrize("f", programs.ONE_TURN, ids=name_of)
def test_one_turn_is_recorded_once_for_all_points(f):
    tape = td.GuardedTape(f)
    agree(f, POINTS, tape)
    assert "a loop of which one turn is recorded" in tape.explain()
    assert " 1 recordings, " in tape.explain()
    agree(f, POINTS[2:0:-1], td.compile(f, POINTS[0]))


@pytest.mark.parametrize("f", programs.OTHERS, ids=name_of)
def test_others_have_the_same_answers_too(f):
    agree(f, POINTS[[0, 1, 2, 0]], td.GuardedTape(f))


def test_a_divisor_that_is_zero_is_pythons_error():
    f, tape = programs.divides_by_zero, td.GuardedTape(programs.divides_by_zero)
    agree(f, POINTS[:2], tape)
    for call in (f, lambda x: td.gradient(tape, x)):
        with pytest.raises(ZeroDivisionError):
            call(np.array([1e4, 1.0]))
    agree(f, POINTS[1:3], tape)
