"""Long loops that write to the same entries of an array at every turn: one turn is recorded, with the answers of all of them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import tapediff as td
from tapediff.ops.control.calls import LOOP

from . import exchange_programs as exchanges
from . import shown_state_programs as shown
from . import state_array_programs as programs
from .long_loops_agree import agree, name_of

pytestmark = pytest.mark.usefixtures("short_recordings_are_long")

POINTS = np.array([[0.4, 0.8], [0.7, 0.3], [0.9, 0.95]])


@pytest.mark.parametrize("f", programs.ONE_TURN + exchanges.ONE_TURN + shown.ONE_TURN, ids=name_of)
def test_one_turn_is_recorded_with_the_same_answers(f):
    tape = td.record(f, POINTS[0])
    assert [i.params[1].stops for i in tape.instructions if i.op is LOOP] == [False]
    whole, compiled, guarded = td.GuardedTape(f, merge=False), td.compile(f, POINTS[0]), td.GuardedTape(f)
    agree(f, POINTS, compiled, guarded, rtol=5e-6)
    for x in POINTS:
        np.testing.assert_allclose(tape(x), f(x), rtol=1e-11)
        if f is not programs.relaxation:  # of half a million operations
            np.testing.assert_allclose(td.gradient(compiled, x), td.gradient(whole, x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("f", programs.ALL_TURNS + exchanges.ALL_TURNS + shown.ALL_TURNS, ids=name_of)
def test_arrays_that_something_else_shows_are_written_turn_by_turn(f):
    tape, guarded = td.record(f, POINTS[0]), td.GuardedTape(f)
    assert not any(i.op is LOOP for i in tape.instructions)
    agree(f, POINTS, guarded, rtol=5e-6)


FIRST_OF_A_PROCESS = """
import numpy as np
import tapediff as td
from tapediff.recording import record

record.LONG = 300


def f(p):
    table = np.zeros((2, 2))
    table[0, 0] = p[0]
    for _ in range(230):
        table = 0.9 * table + 0.01 * np.outer(table[0], table[1]) + 0.1 * p[0]
    return np.sum(table)


print(len(td.record(f, np.ones(1))))
"""


def test_what_is_imported_in_a_recording_knows_numpys_functions(tmp_path):
    """Some of NumPy's functions are others while a function is recorded that fills arrays."""
    program = tmp_path / "first_of_a_process.py"
    program.write_text(FIRST_OF_A_PROCESS)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 30


def test_a_short_loop_among_long_ones_hands_on_no_parts():
    """Beside a loop of which one turn is recorded, each turn of a short one had a copy of its own, which the part of another turn did not see."""
    f = programs.hands_on_a_part_in_a_short_loop
    tape = td.record(f, POINTS[0])
    assert sum(i.op is LOOP for i in tape.instructions) == 1
    agree(f, POINTS, tape, td.GuardedTape(f), rtol=5e-6)


def test_of_two_loops_with_one_third_name_each_becomes_one_turn():
    f = exchanges.in_two_loops
    tape = td.record(f, POINTS[0])
    assert sum(i.op is LOOP for i in tape.instructions) == 2
    agree(f, POINTS, tape, td.GuardedTape(f), rtol=5e-6)
