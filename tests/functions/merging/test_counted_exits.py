"""Long loops that data ends may use the number of their turn, also behind them: one turn is recorded, with the answers of all turns."""

from __future__ import annotations

import numpy as np
import pytest

import tapediff as td
from tapediff.ops.control.calls import LOOP

from . import counted_exit_programs as programs
from .long_loops_agree import agree, name_of

pytestmark = pytest.mark.usefixtures("short_recordings_are_long")

POINTS = np.array([[0.4, 0.8], [0.7, 0.3], [0.9, 0.95], [0.2, 1.3]])


@pytest.mark.parametrize("f", programs.MAY_END_EARLY, ids=name_of)
def test_one_turn_is_recorded_with_the_same_answers(f):
    tape = td.record(f, POINTS[0])
    assert sum(i.op is LOOP for i in tape.instructions) == 1
    agree(f, POINTS, tape, td.compile(f, POINTS[0]), td.GuardedTape(f), rtol=5e-6)


def test_a_part_up_to_the_turn_of_the_end_is_a_path_for_each_end():
    f = programs.the_part_up_to_where_it_ended
    tape, guarded = td.record(f, POINTS[0]), td.GuardedTape(f)
    assert sum(i.op is LOOP for i in tape.instructions) == 1
    agree(f, POINTS, guarded, rtol=5e-6)
    np.testing.assert_allclose(tape(POINTS[0]), f(POINTS[0]), rtol=1e-11)
    with pytest.raises(td.GuardFailed):
        tape(POINTS[1])
