"""Turns of long loops may write to arrays of whole numbers and of bools: one turn is recorded, and reads are what NumPy has there."""

from __future__ import annotations

import numpy as np
import pytest

import tapediff as td

from . import int_array_programs as programs
from .long_loops_agree import agree, differences, name_of

pytestmark = [pytest.mark.usefixtures("short_recordings_are_long"), pytest.mark.filterwarnings("ignore:(invalid value|overflow)")]

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


def test_a_position_that_there_is_not_is_pythons_error():
    f, inside, outside = programs.runs_off_the_end, np.array([0.01, 0.1]), np.array([4.0, 0.8])
    tape = td.GuardedTape(f)
    agree(f, inside[None], tape)
    for call in (f, lambda x: td.gradient(tape, x)):
        with pytest.raises(IndexError):
            call(outside)
    agree(f, inside[None], tape)


def test_a_divisor_that_is_zero_is_pythons_error():
    f, tape = programs.divides_by_an_int, td.GuardedTape(programs.divides_by_an_int)
    agree(f, np.array([[0.0, 1e14]]), tape, rtol=1e-3)
    for call in (f, lambda x: td.gradient(tape, x)):
        with pytest.raises(ZeroDivisionError):
            call(POINTS[0])


def test_what_is_no_number_is_not_written_to_an_array_of_whole_numbers():
    f, inside, outside = programs.writes_what_is_no_number, np.array([0.1, 0.2]), np.array([9.0, 0.8])
    tape = td.GuardedTape(f)
    agree(f, inside[None], tape)
    with pytest.raises(ValueError, match="NaN"):
        f(outside)
    with pytest.raises((ValueError, td.errors.TapediffError)):
        td.gradient(tape, outside)
    agree(f, inside[None], tape)


def test_counts_that_the_caller_gives_are_those_that_the_function_begins_with():
    f, tape = programs.counts_into_an_argument, td.GuardedTape(programs.counts_into_an_argument)
    for x, counts in zip(POINTS, (np.arange(3), np.array([7, -2, 0]), np.zeros(3, int), np.arange(3))):
        value, gradient = td.value_and_gradient(tape, x, counts.copy())
        np.testing.assert_allclose(value, f(x, counts.copy()))
        np.testing.assert_allclose(gradient, differences(lambda x, counts=counts: f(x, counts.copy()), x), rtol=2e-6, atol=1e-5)


def test_the_first_of_equal_numbers_wins():
    def f(x):
        counts, total = np.zeros(3, dtype=int), 0.0
        for t in range(programs.TURNS):
            k = int(np.argmax(np.round(x * programs.TIMES[t])))
            counts[k] += 1
            total += x[k] * programs.TIMES[t]
        return total + x[0] * counts[0] - x[2] * counts[2]

    tape = td.GuardedTape(f)
    for x in ([1.0, 1.0, 1.0], [0.2, 1.7, 1.7], [2.0, 0.1, 2.0], [0.0, 0.0, 0.0]):
        x = np.array(x)
        winners = [int(np.argmax(np.round(x * t))) for t in programs.TIMES]
        counts = np.bincount(winners, minlength=3)
        expected = np.bincount(winners, weights=programs.TIMES, minlength=3) + [counts[0], 0.0, -counts[2]]
        value, gradient = td.value_and_gradient(tape, x)
        np.testing.assert_allclose(value, f(x), rtol=1e-12)
        np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("f", [programs.counts_what_is_given, programs.ints_that_are_given], ids=name_of)
def test_whole_numbers_that_the_caller_gives_are_data(f):
    rng = np.random.default_rng(20261129)
    tape = td.GuardedTape(f)
    for x in POINTS:
        kinds = rng.integers(0, 3, size=programs.TURNS)
        value, gradient = td.value_and_gradient(tape, x, kinds)
        np.testing.assert_allclose(value, f(x, kinds), rtol=1e-11)
        np.testing.assert_allclose(gradient, differences(lambda x, kinds=kinds: f(x, kinds), x), rtol=2e-6, atol=1e-5)
    assert " 1 recordings, " in tape.explain()
    with pytest.raises(IndexError):
        td.gradient(tape, POINTS[0], np.full(programs.TURNS, 3))
