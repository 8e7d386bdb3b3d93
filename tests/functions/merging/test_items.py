"""Of long loops over items that are alike one turn is recorded, whatever the items are made of; and items that were Python's stay so."""

from __future__ import annotations

import numpy as np
import pytest

import tapediff as td
from tapediff.functions.merging.run_time.gone_over.items import items_of

from . import item_programs as programs
from .long_loops_agree import agree, differences, name_of

pytestmark = [pytest.mark.usefixtures("short_recordings_are_long"), pytest.mark.filterwarnings("ignore")]

POINTS = np.array([[0.4, 0.8], [0.71, -0.33], [-0.9, 1.95], [2.5, 0.2]])


@pytest.mark.parametrize("f", programs.ONE_TURN, ids=name_of)
def test_one_turn_is_recorded_with_the_same_answers(f):
    tape = td.GuardedTape(f)
    agree(f, POINTS, tape)
    assert "a loop of which one turn is recorded" in tape.explain()
    agree(f, POINTS[::-1], td.GuardedTape(f))
    v = np.array([0.3, -0.7])
    for x in POINTS:
        steps = [td.gradient(tape, x + h * v) for h in (1e-6, -1e-6)]
        expected = (steps[0] - steps[1]) / 2e-6
        np.testing.assert_allclose(td.hvp(tape, x, v), expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("f", programs.OTHERS, ids=name_of)
def test_others_have_the_same_answers(f):
    agree(f, POINTS[[0, 1, 2, 0]], td.GuardedTape(f))


@pytest.mark.usefixtures("without_comparisons")
@pytest.mark.parametrize("f", programs.ASKING, ids=name_of)
def test_nobody_sees_that_an_item_is_data(f):
    tape = td.GuardedTape(f)
    for x in (*POINTS, np.array([6.0, 0.5]), POINTS[0], np.array([5.5, -2.0])):
        value, gradient = td.value_and_gradient(tape, x)
        np.testing.assert_allclose(value, f(x), rtol=1e-11)
        np.testing.assert_allclose(gradient, differences(f, x), rtol=1e-5, atol=1e-5 * np.abs(gradient).max())


@pytest.mark.usefixtures("without_comparisons")
@pytest.mark.parametrize("f", programs.BY_ZERO, ids=name_of)
def test_divisions_by_zero_are_pythons_errors(f):
    tape = td.GuardedTape(f)
    agree(f, POINTS, tape)
    with pytest.raises(ZeroDivisionError):
        f(np.array([6.0, 0.5]))
    with pytest.raises(ZeroDivisionError):
        td.gradient(tape, np.array([6.0, 0.5]))
    agree(f, POINTS, tape)


def test_an_error_of_the_function_itself_on_another_path_leaves_its_form():
    f, tape = programs.roots_of_negative_numbers, td.GuardedTape(programs.roots_of_negative_numbers)
    agree(f, POINTS, tape)
    with pytest.raises(ValueError, match="domain"):
        td.gradient(tape, np.array([6.0, 0.5]))
    agree(f, [np.array([6.0, 50.0])], tape)
    assert "a loop of which one turn is recorded" in tape.explain()


@pytest.mark.parametrize("f", programs.BY_OTHERS, ids=name_of)
def test_other_divisions_have_one_turn(f):
    tape = td.GuardedTape(f)
    agree(f, POINTS, tape)
    assert "a loop of which one turn is recorded" in tape.explain()


def test_items_are_made_again_of_their_entries():
    for values in (programs.PAIRS, programs.LISTED, programs.VISITS, programs.ROWS, programs.RECORDS, programs.FLAGGED, programs.VECTORS):
        found = items_of(values)
        for k in (0, 7, len(values) - 1):
            made = found.item([array[k] for array in found.arrays])
            assert type(made) is type(values[k])
            np.testing.assert_equal(made, values[k])


class Sub(tuple):
    """May be made of its entries in another way."""


@pytest.mark.parametrize("values", [
    [(1, 2), (3,)], [(1, 2.0), (3.0, 2)], [np.zeros(2), np.zeros(3)], [np.zeros(2), np.zeros(2, np.float32)], [np.float32(1.0), np.float32(2.0)],
    [{"a": 1}, {"b": 1}], [1, None], ["a", "b"], [Sub((1, 2)), Sub((3, 4))], [2**70, 1], [1j, 2j], [np.array(1.0), np.array(2.0)], [True, 1],
    [((((((1,),),),),),)] * 2, [{1}, {2}], [object()] * 2,
])  # fmt: skip
def test_other_items_stay_what_they_are(values):
    assert items_of(values) is None


def test_a_list_of_large_arrays_is_not_copied(monkeypatch):
    monkeypatch.setattr("tapediff.functions.merging.run_time.gone_over.items.MOST_BYTES", 100)
    assert items_of([np.zeros(5)] * 2) is not None
    assert items_of([np.zeros(5)] * 3) is None
