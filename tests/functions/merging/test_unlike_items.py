"""Of long loops over items that are not alike a turn is recorded for each of their forms, where the order of the turns is of no importance."""

from __future__ import annotations

import numpy as np
import pytest

import tapediff as td
from tapediff.functions.merging.run_time.gone_over.entries import Over
from tapediff.functions.merging.run_time.gone_over.groups import groups_of, variants_of

from . import unlike_item_programs as programs
from .long_loops_agree import agree, differences, loops_of, name_of
from .test_items import POINTS
from .test_look_ups import FURTHER

pytestmark = [pytest.mark.usefixtures("short_recordings_are_long"), pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    monkeypatch.setattr("tapediff.functions.merging.run_time.gone_over.groups.FEWEST_TURNS", 4)


@pytest.mark.parametrize("f", programs.ONE_TURN, ids=name_of)
def test_a_turn_of_each_form_is_recorded_with_the_same_answers(f):
    tape = td.GuardedTape(f)
    agree(f, POINTS, tape)
    recorded = td.record(f, POINTS[0])
    assert 2 <= len(loops_of(recorded)) <= 12
    assert len(recorded.instructions) < 2_000


@pytest.mark.parametrize("f", programs.IN_ORDER, ids=name_of)
def test_turns_that_are_taken_in_order_have_a_path_for_each_form(f):
    tape = td.GuardedTape(f)
    agree(f, POINTS, tape)
    recorded = td.record(f, POINTS[0])
    assert len(loops_of(recorded)) == 1
    assert len(recorded.instructions) < 2_000


@pytest.mark.parametrize("f", programs.OTHERS, ids=name_of)
def test_others_have_the_same_answers(f):
    agree(f, POINTS[[0, 1, 2, 0]], td.GuardedTape(f))


@pytest.mark.usefixtures("without_comparisons")
@pytest.mark.parametrize("f", [*programs.ASKING, *programs.OTHERS, *programs.IN_ORDER, *programs.ONE_TURN[::4]], ids=name_of)
def test_nobody_sees_the_order_of_the_turns(f):
    tape = td.GuardedTape(f)
    for x in (*POINTS, *FURTHER):
        value, gradient = td.value_and_gradient(tape, x)
        np.testing.assert_allclose(value, f(x), rtol=1e-11)
        np.testing.assert_allclose(gradient, differences(f, x), rtol=1e-5, atol=1e-5 * np.abs(gradient).max())


def test_a_group_has_the_turns_whose_items_are_alike():
    groups = groups_of(Over(enumerate, (programs.RESPONSES,)))
    found = {}
    for group in groups:
        for k in range(group.length):
            turn, y = group.item([array[k] for array in group.arrays])
            found[int(turn)] = y
    assert sorted(found) == list(range(programs.TURNS))
    for k, y in enumerate(programs.RESPONSES):
        np.testing.assert_array_equal(found[k], y)


@pytest.mark.parametrize("values", [programs.RESPONSES, programs.TOGETHER, programs.AS_DICTS, programs.EVENTS, programs.MISSING])
def test_items_in_order_are_made_again_of_their_entries(values):
    found = variants_of(values)
    assert found.length == len(values)
    for k in (0, 7, len(values) - 1):
        np.testing.assert_equal(found.item([array[k] for array in found.arrays]), values[k])


@pytest.mark.parametrize("values", [
    [np.zeros(n) for n in range(100)],  # as many forms as turns
    [np.zeros(2), np.zeros(3)],  # few turns
    [np.zeros(2)] * 100,  # all alike
    [{1.0}, {2.0, 3.0}] * 100, [object()] * 100, [np.zeros(2, complex), np.zeros(3)] * 100,
])  # fmt: skip
def test_other_values_have_no_groups(values):
    assert groups_of(values) is None
