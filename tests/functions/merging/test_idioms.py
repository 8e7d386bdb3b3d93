"""What says in other words what statements with `if` say is merged as they are, and has the same answers where it is not."""

from __future__ import annotations

import numpy as np
import pytest

import tapediff as td
from tapediff.targets.guarded.merging import PATHS_BEFORE, RECORDINGS_BEFORE_LOOPS

from . import idiom_programs as programs
from .long_loops_agree import agree, name_of

rng = np.random.default_rng(7)
POINTS = np.vstack([[[0.4, 0.8], [0.7, 0.3], [-0.9, 0.95], [1.6, -0.4], [0.05, 0.1]], rng.normal(size=(8, 2))])


@pytest.mark.parametrize("f", programs.MERGED, ids=name_of)
def test_one_recording_serves_all_paths(f):
    tape = td.GuardedTape(f)
    agree(f, POINTS, tape)
    recordings = tape.stats.recordings
    assert recordings <= PATHS_BEFORE + RECORDINGS_BEFORE_LOOPS + 1
    agree(f, rng.normal(size=(6, 2)), tape)
    assert tape.stats.recordings == recordings


@pytest.mark.parametrize("f", [*programs.MERGED, *programs.OTHERS], ids=name_of)
@pytest.mark.usefixtures("without_comparisons")
@pytest.mark.parametrize("merge", [None, True])
def test_answers_are_those_of_the_function(f, merge):
    agree(f, POINTS, td.GuardedTape(f, merge=merge))
    agree(f, POINTS[::-1], td.GuardedTape(f, merge=merge))


@pytest.mark.parametrize("f", [*programs.MERGED, *programs.OTHERS], ids=name_of)
@pytest.mark.usefixtures("short_recordings_are_long", "without_comparisons")
def test_answers_of_long_loops_are_those_of_the_function(f):
    agree(f, POINTS, td.GuardedTape(f))


def divides(x):
    return 1.0 / (x - 1.0)


def tries_values_of(f, values):
    total, last = 0.0, 1.0
    for v in values:
        if v > 0:
            last = 2.0
        total = total + f(last * 0.5)
    return total


@pytest.mark.parametrize("merge", [None, True])
def test_a_function_that_is_given_raises_pythons_error(merge):
    def f(p):
        return tries_values_of(divides, [p[0], p[1], -1.0])

    tape = td.GuardedTape(f, merge=merge)
    agree(f, -np.abs(POINTS), tape)
    for x in POINTS[:4]:
        with pytest.raises(ZeroDivisionError):
            f(x)
        with pytest.raises(ZeroDivisionError):
            td.gradient(tape, x)
    agree(f, -np.abs(POINTS), tape)
