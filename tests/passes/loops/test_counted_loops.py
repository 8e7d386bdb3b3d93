"""Entries that a loop reads at positions it counts are streams, and the guards on such positions go."""

import numpy as np
import pytest
from support.agreement import agree, hessian_agrees

import tapediff as td
from tapediff.base.settings import settings
from tapediff.functions.callees.rolled_loop import rolled
from tapediff.ops.control.calls import LOOP
from tapediff.passes.loops import counted_loops as counted

RNG = np.random.default_rng(3)
DATA, TABLE, ROWS = RNG.normal(size=40), RNG.permutation(40), RNG.normal(size=(40, 3))


def entries_of_data(x):
    data = td.asarray(DATA)
    return td.fori_loop(0, 40, lambda k, s: 0.9 * s + np.sin(data[k] * x[0]), x[1])


def neighbours_by_a_table(x):
    data, table = td.asarray(DATA), td.asarray(TABLE)
    return td.fori_loop(0, 40, lambda k, s: 0.9 * s + (data[table[k]] - x[table[k] % 6]) ** 2, 0.0)


def two_counters(x):
    data = td.asarray(DATA)
    step = lambda carry, _: ((carry[0] + 1, carry[1] - 2, carry[2] + data[carry[0]] * data[carry[1]] * x[0]), None)
    return td.scan(step, (0, 39, x[1]), None, 20)[0][2]


def nested(x):
    table = td.asarray(ROWS)
    inner = lambda k, s: td.fori_loop(0, 3, lambda j, t: t + table[k, j] * x[j] * np.exp(-0.1 * t * t), s)
    return td.fori_loop(0, 20, inner, x[3])


def a_stream_in_any_order(x):
    """Also backwards, beside a counter; a table of whole numbers and a stream of them."""
    data = td.asarray(DATA)
    step = lambda c, k: ((c[0] + 1, 0.7 * c[1] + data[k] * x[0] * data[c[0]]), c[1] * data[k])
    (last, s), found = td.scan(step, (0, x[1]), TABLE, reverse=True)
    return s * last + np.sum(found)


COUNTED = (
    entries_of_data, neighbours_by_a_table, two_counters, nested, a_stream_in_any_order,
)  # fmt: skip


@pytest.mark.parametrize("f", [*COUNTED], ids=lambda f: f.__name__)
def test_values_and_derivatives_stay(f):
    points = 0.5 + 0.3 * RNG.normal(size=(3, 6))
    hessian_agrees(agree(f, *points), points[0])


@pytest.mark.skipif("counted_loops" in settings.left_out, reason="the pass is left out")
@pytest.mark.parametrize("f", COUNTED, ids=lambda f: f.__name__)
def test_the_loop_has_one_path_and_gathers_nothing_by_a_counter(f, monkeypatch):
    # Of independent iterations no loop would be left.
    monkeypatch.setattr(settings, "left_out", settings.left_out | {"independent_iterations"})
    made = rolled(td.record(f, np.full(6, 0.4)))
    loops = [i for i in made.instructions if i.op is LOOP]
    assert loops
    for loop in loops:
        body = loop.params[0].only_tape()
        assert body is not None
        assert not {"guard", "gather"} & {i.op.name for i in body.instructions}


@pytest.mark.skipif("counted_loops" in settings.left_out, reason="the pass is left out")
def test_entries_side_by_side_are_a_part_of_the_array():
    """Nothing is gathered outside of the loop either, where a slice does."""
    made = rolled(td.record(lambda x: td.fori_loop(1, 5, lambda k, s: s * x[k] + x[k - 1], 0.0), np.ones(6)))
    assert "gather" not in {i.op.name for i in made.instructions}


def test_a_position_that_data_decide_too_is_not_known():
    """The counter and the place of the least entry."""

    def f(x):
        return td.fori_loop(0, 5, lambda k, s: s * x[k] + x[k + np.argmin(x[:2])], 0.0)

    compiled = td.compile(f, np.arange(1.0, 7.0))
    for x in (np.arange(1.0, 7.0), np.arange(7.0, 1.0, -1.0)):
        expected = 0.0
        for k in range(5):
            expected = expected * x[k] + x[k + np.argmin(x[:2])]
        assert compiled(x) == pytest.approx(expected, rel=1e-13)


def test_a_decision_on_the_counter_stays_one():
    """Its guard does not hold at every iteration."""

    def f(x):
        data = td.asarray(DATA)
        return td.fori_loop(0, 40, lambda k, s: s + (data[k] * x[0] if k < 7 else np.sin(x[1] * s)), x[0])

    agree(f, np.array([0.3, 0.8]), np.array([-0.5, 0.2]))


def test_a_decision_on_data_stays_beside_positions():
    def f(x):
        data = td.asarray(DATA)
        return td.fori_loop(0, 40, lambda k, s: s + (data[k] * x[0] if data[k] * x[1] > s else 0.1), x[0])

    agree(f, np.array([0.3, 0.8]), np.array([-0.5, 0.2]))


# Each with the sign of the data at which it is the same at every iteration.
CONDITIONS = {
    "at a few": (-1.0, lambda k, y: np.logical_and(k < 5, y)), "but at a few": (1.0, lambda k, y: np.logical_or(y, k >= 5)),
    "at none": (1.0, lambda k, y: np.logical_and(y, k < 0)), "at every one": (-1.0, lambda k, y: np.logical_or(k >= 0, y)),
}  # fmt: skip


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_decision_on_the_counter_and_on_data_goes_where_the_counter_settles_it_everywhere(name):
    """Beside the counter, data decide at some iterations only, though not at the point of the recording."""
    sign, holds = CONDITIONS[name]

    def f(x):
        return td.fori_loop(0, 12, lambda k, s: s + (x[0] if holds(k, x[1] > 0.0) else 0.1 * np.sin(s)), x[0])

    agree(f, np.array([0.3, 0.8 * sign]), np.array([-0.5, -0.2 * sign]))
    by_guards, other = td.compile(td.record(f, np.array([0.3, 0.8 * sign]), merge=False)), np.array([0.3, -0.8 * sign])
    # Sums of twelve terms.
    np.testing.assert_allclose(by_guards(other), f(other), rtol=1e-13)


@pytest.mark.parametrize("bounds", [(0, 41), (-41, 0), (30, 50)])
def test_positions_that_do_not_exist_are_errors(bounds):
    data = td.asarray(DATA)

    def f(x):
        return td.fori_loop(*bounds, lambda k, s: s + data[k] * x, 0.0 * x)

    with pytest.raises(IndexError):
        td.gradient(td.GuardedTape(f), 0.5)


def test_a_last_count_that_is_asked_for_is_known():
    def f(x):
        data = td.asarray(DATA)
        count, s = td.scan(lambda c, _: ((c[0] + 3, c[1] + data[c[0]] * x[0]), None), (1, x[1]), None, 10)[0]
        return s * count

    agree(f, np.array([0.3, 0.8]))


def test_many_iterations_are_left_alone(monkeypatch):
    """Within a budget of numbers."""
    monkeypatch.setattr(counted, "MOST_NUMBERS", 100)
    agree(entries_of_data, np.array([0.3, 0.8, 0.1, 0.2, 0.3, 0.4]))


def test_hidden_states_of_tables_of_bools():
    mask = DATA > 0

    def f(x):
        data, kept = td.asarray(DATA), td.asarray(mask)
        return td.fori_loop(0, 40, lambda k, s: s + np.where(kept[k], data[k] * x[0], s * x[1]), 0.0)

    agree(f, np.array([0.3, 0.1]))
