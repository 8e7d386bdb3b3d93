"""Long loops in long loops: one turn of each is recorded, with the values and gradients of all turns."""

from __future__ import annotations

import numpy as np
import pytest

import tapediff as td
from tapediff.functions.merging.prepare.long_loops import which_loops
from tapediff.functions.merging.run_time import loops, turn_entries
from tapediff.functions.merging.run_time.gone_over import entries
from tapediff.ops.control.calls import LOOP
from tapediff.recording import record
from tapediff.targets.tapes import slow_recordings

from . import table_programs as programs
from .long_loops_agree import agree, name_of

POINTS = np.array([[0.4, 0.8], [0.7, 0.3], [0.9, 0.9]])


@pytest.fixture(autouse=True)
def short_recordings_are_long(monkeypatch):
    monkeypatch.setattr(record, "LONG", 300)
    for module in (which_loops, loops, turn_entries):
        monkeypatch.setattr(module, "SHORTEST", 20)
    nest = which_loops.OF_NUMBERS._replace(shortest=20)
    monkeypatch.setattr(slow_recordings, "OF_NUMBERS", nest)
    for module in (slow_recordings, entries):
        monkeypatch.setattr(module, "OF_ARRAYS", nest)


@pytest.mark.parametrize("f", programs.ONE_TURN, ids=name_of)
def test_one_turn_is_recorded_with_the_same_answers(f):
    tape = td.record(f, POINTS[0])
    found = [i for i in tape.instructions if i.op is LOOP]
    # One for the table; where its border is filled by a loop before it, that may be one as well.
    assert 1 <= len(found) <= 2
    assert not any(loop.params[1].stops for loop in found)
    whole, compiled, guarded = td.GuardedTape(f, merge=False), td.compile(f, POINTS[0]), td.GuardedTape(f)
    agree(f, POINTS, compiled, guarded)
    for x in POINTS:
        np.testing.assert_allclose(tape(x), f(x), rtol=1e-11)
        np.testing.assert_allclose(td.gradient(compiled, x), td.gradient(whole, x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(td.hessian(compiled, x), td.hessian(whole, x), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("f", programs.ALL_TURNS, ids=name_of)
def test_turns_that_change_what_others_know_are_recorded_one_by_one(f):
    tape = td.record(f, POINTS[0])
    assert not any(i.op is LOOP and i.params[1].length == programs.ROWS for i in tape.instructions)
    agree(f, POINTS, td.compile(f, POINTS[0]), td.GuardedTape(f))


@pytest.mark.parametrize("f", programs.SAME_ROWS, ids=name_of)
def test_rows_that_are_the_same_by_two_indices_are_no_variables(f):
    agree(f, POINTS, td.compile(f, POINTS[0]), td.GuardedTape(f))
