"""Of long loops that look items up in lists one turn is recorded, and the answers are the function's own."""

from __future__ import annotations

import numpy as np
import pytest

import tapediff as td

from . import look_up_programs as programs
from .long_loops_agree import agree, differences, name_of
from .test_items import POINTS

pytestmark = [pytest.mark.usefixtures("short_recordings_are_long"), pytest.mark.filterwarnings("ignore")]

# Beside it other points, at which asking programs take other sides.
FURTHER = np.array([[6.0, 0.5], [0.4, 0.8], [5.5, -2.0]])


@pytest.mark.parametrize("f", programs.ONE_TURN, ids=name_of)
def test_one_turn_is_recorded_with_the_same_answers(f):
    tape = td.GuardedTape(f)
    agree(f, POINTS, tape)
    assert len(td.record(f, POINTS[0]).instructions) < 2_000
    agree(f, POINTS[::-1], td.GuardedTape(f))


@pytest.mark.parametrize("f", programs.OTHERS, ids=name_of)
def test_others_have_the_same_answers(f):
    agree(f, POINTS[[0, 1, 2, 0]], td.GuardedTape(f))


@pytest.mark.usefixtures("without_comparisons")
@pytest.mark.parametrize("f", [*programs.ASKING, *programs.ONE_TURN[::3], *programs.OTHERS], ids=name_of)
def test_nobody_sees_that_an_item_is_data(f):
    tape = td.GuardedTape(f)
    for x in (*POINTS, *FURTHER):
        value, gradient = td.value_and_gradient(tape, x)
        np.testing.assert_allclose(value, f(x), rtol=1e-11)
        np.testing.assert_allclose(gradient, differences(f, x), rtol=1e-5, atol=1e-5 * np.abs(gradient).max())


@pytest.mark.usefixtures("without_comparisons")
@pytest.mark.parametrize("f", programs.FAILING, ids=name_of)
def test_errors_are_pythons_own(f):
    tape, kind = td.GuardedTape(f), programs.FAILING[f]
    agree(f, POINTS, tape)
    with pytest.raises(kind):
        f(FURTHER[0])
    with pytest.raises(kind):
        td.gradient(tape, FURTHER[0])
    agree(f, POINTS, tape)


def _changed_number(data):
    data[7] = 40.0


def _changed_tuple(data):
    data[7] = (40.0, -3.0)


def _changed_list(data):
    data[7][1] = 40.0


def _changed_dict(data):
    data[7]["y"] = 40.0


def _changed_array(data):
    data[7][1] = 40.0


def _changed_deep(data):
    data[7][1][0]["y"] = 40.0


def _longer(data):
    data.append(data[0])


# What a list holds, how an item of it is read, and how it changes.
CHANGES = [
    (lambda v: v, lambda item: item, _changed_number),
    (lambda v: (0.5, v), lambda item: item[1], _changed_tuple),
    (lambda v: [0.5, v], lambda item: item[1], _changed_list),
    (lambda v: {"t": 0.5, "y": v}, lambda item: item["y"], _changed_dict),
    (lambda v: np.array([0.5, v]), lambda item: item[1], _changed_array),
    (lambda v: (0.5, [{"y": v}]), lambda item: item[1][0]["y"], _changed_deep),
    (lambda v: (0.5, v), lambda item: item[1], _longer),
]


@pytest.mark.usefixtures("without_comparisons")
@pytest.mark.parametrize("is_default", [False, True], ids=["of a closure", "of a default"])
@pytest.mark.parametrize(("made", "read", "change"), CHANGES, ids=[change.__name__ for *_, change in CHANGES])
def test_paths_of_lists_that_have_changed_are_not_mixed(made, read, change, is_default):
    """Another path of a turn, which is recorded after a list has changed, has all of the old list or all of the new one."""
    data = [made(float(v)) for v in np.sin(np.arange(programs.TURNS))]

    def of_closure(p):
        s = 0.0
        for i in range(len(data)):
            s += programs.huber(read(data[i]) - p[0])
            if s > 5.0 * p[1]:
                s = s - 0.1 * read(data[i - 3]) * (s if p[1] > 0.0 else p[0])
        return s

    def of_default(p, data=data):
        s = 0.0
        for i in range(len(data)):
            s += programs.huber(read(data[i]) - p[0])
            if p[1] > 0.0:
                s = s - 0.1 * read(data[i - 3]) * p[1]
        return s

    f = of_default if is_default else of_closure
    first, others = np.array([0.3, -0.5]), np.array([[0.3, 0.5], [0.2, 0.9], [0.4, -0.7]])
    tape = td.GuardedTape(f)
    agree(f, [first], tape)
    before = [f(x) for x in others]
    change(data)
    for x, old in zip(others, before):
        value, new = tape(x), f(x)
        assert min(abs(value - old), abs(value - new)) < 1e-9 * abs(new)
