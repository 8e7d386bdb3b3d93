"""Long loops may change the entries of dicts, short lists and objects of the function's own: one turn is recorded, with the same answers."""

from __future__ import annotations

import numpy as np
import pytest

import tapediff as td

from . import container_state_programs as programs
from .long_loops_agree import agree, loops_of, name_of

pytestmark = pytest.mark.usefixtures("short_recordings_are_long")

POINTS = np.array([[0.4, 0.8], [0.7, 0.3], [0.9, 0.95], [0.23, 1.27]])


@pytest.mark.parametrize("f", programs.ONE_TURN, ids=name_of)
def test_one_turn_is_recorded_with_the_same_answers(f):
    tape = td.record(f, POINTS[0])
    assert len(loops_of(tape)) == 1
    agree(f, POINTS, tape, td.compile(f, POINTS[0]), td.GuardedTape(f), rtol=5e-6)


@pytest.mark.parametrize("f", programs.ALL_TURNS, ids=name_of)
def test_all_turns_are_recorded_where_something_else_may_see_it(f):
    tape = td.record(f, POINTS[0])
    assert not loops_of(tape)
    agree(f, POINTS, tape, td.GuardedTape(f), rtol=5e-6)
