"""Of a loop of very many turns one is recorded, with the values and gradients of all turns recorded one by one."""

from __future__ import annotations

import numpy as np
import pytest

import tapediff as td
from tapediff.functions.merging.run_time.gone_over.entries import Over, entries_of
from tapediff.ops.arrays.indexing import INDEX
from tapediff.recording import record
from tapediff.targets.guarded import merging, record_path
from tapediff.targets.tapes.long_loops import LongLoops

from . import branch_of_turn_programs as branches
from . import long_loop_programs as programs
from . import long_while_programs as whiles
from . import numbered_turn_programs as numbered
from . import window_programs as windows
from .long_loops_agree import agree, differences, loops_of, name_of

POINTS = np.array([[0.3, 0.7], [-0.4, 1.1], [0.9, -0.2]])


@pytest.fixture(autouse=True)
def short_recordings_are_long(monkeypatch):
    monkeypatch.setattr(record, "LONG", 500)
    monkeypatch.setattr(record_path, "LONG", 500)


@pytest.mark.parametrize("f", programs.ONE_TURN + whiles.ONE_TURN + windows.ONE_TURN + numbered.ONE_TURN + branches.ONE_TURN, ids=name_of)
def test_one_turn_is_recorded_with_the_same_answers(f):
    tape, whole = td.record(f, POINTS[0]), td.record(f, POINTS[0], merge=False)
    assert loops_of(tape)
    assert not any(loop.params[1].stops for loop in loops_of(tape))
    # The entries of lists are values of their own.
    assert sum(i.op is not INDEX for i in tape.instructions) < 80 < len(whole)
    assert not loops_of(whole)
    compiled, guarded = td.compile(f, POINTS[0]), td.GuardedTape(f)
    for x in POINTS:
        value, gradient = td.value_and_gradient(compiled, x)
        np.testing.assert_allclose(value, f(x), rtol=1e-12)
        np.testing.assert_allclose(tape(x), f(x), rtol=1e-12)
        np.testing.assert_allclose(gradient, differences(f, x), rtol=2e-6, atol=2e-6 * np.abs(gradient).max())
        value, of_guarded = td.value_and_gradient(guarded, x)
        np.testing.assert_allclose(value, f(x), rtol=1e-12)
        np.testing.assert_allclose(of_guarded, gradient, rtol=1e-10)
        if not whole.guards:
            np.testing.assert_allclose(td.gradient(whole, x), gradient, rtol=1e-10)
    np.testing.assert_allclose(td.hessian(compiled, x), td.hessian(td.GuardedTape(f, merge=False), x), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("f", whiles.COUNTED_BY_DATA, ids=name_of)
def test_loops_that_data_ends_are_loops(f):
    compiled = td.compile(f, POINTS[0])
    assert [loop.params[1].stops for loop in loops_of(compiled.tape)] == [True]
    assert len(compiled.tape) < 80
    agree(f, POINTS, compiled)


@pytest.mark.parametrize("f", whiles.MAY_END_EARLY, ids=name_of)
def test_guarded_tapes_record_one_turn_of_a_while_that_counts_and_may_end_early(f, monkeypatch):
    # The branches are merged long before the recording of the loop as one that data ends has become long.
    monkeypatch.setattr(record_path, "LONG", 30_000)
    monkeypatch.setattr(merging, "LONGEST_COMPARED", 300)
    guarded = td.GuardedTape(f, merge=True)
    agree(f, POINTS, guarded)
    (variant,) = guarded._cache.all()
    assert loops_of(variant.tape)
    assert not any(loop.params[1].stops for loop in loops_of(variant.tape))
    assert not variant.tape.guards
    assert "a loop of which one turn is recorded" in guarded.explain()


@pytest.mark.parametrize("f", whiles.ENDS_EARLY, ids=name_of)
def test_guarded_tapes_record_a_while_that_mostly_ends_early_as_one_that_data_ends(f, monkeypatch):
    monkeypatch.setattr(record_path, "LONG", 30_000)
    monkeypatch.setattr(merging, "OUTCOMES_AT_ONCE", 2)
    guarded = td.GuardedTape(f, merge=True)
    agree(f, POINTS, guarded)
    assert "a loop with a number of turns that each call decides" in guarded.explain()


@pytest.mark.parametrize("f", programs.ALL_TURNS + whiles.ALL_TURNS + windows.ALL_TURNS + branches.ALL_TURNS, ids=name_of)
def test_all_turns_are_recorded_where_one_is_not_enough(f):
    x = POINTS[0]
    tape = td.record(f, x)
    assert not loops_of(tape)
    assert len(tape) > programs.TURNS
    guarded = td.GuardedTape(f)
    value, gradient = td.value_and_gradient(guarded, x)
    np.testing.assert_allclose([value, tape(x)], f(x), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(f, x), rtol=2e-6, atol=1e-6)


def test_long_loops_within_long_loops_are_loops():
    f, x = whiles.long_whiles_in_long_whiles, POINTS[1]
    tape = td.record(f, POINTS[0])
    (outer,) = loops_of(tape)
    (body,) = (variant.tape for variant in outer.params[0].variants.values())
    assert [loop.params[1].length for loop in (outer, *loops_of(body))] == [210, 210]
    np.testing.assert_allclose(tape(x), f(x), rtol=1e-12)
    np.testing.assert_allclose(td.gradient(tape, x), differences(f, x), rtol=1e-6, atol=1e-6)


def test_the_sum_of_a_list_of_rows_is_one_of_rows():
    f, x = programs.sums_of_lists_of_rows, POINTS[1]
    tape = td.record(f, POINTS[0])
    assert loops_of(tape)
    np.testing.assert_allclose(tape(x), f(x), rtol=1e-12)
    np.testing.assert_allclose(td.gradient(tape, x), differences(f, x), rtol=1e-6)


def test_an_argument_is_gone_through_by_its_entries():
    x = np.linspace(-1.0, 1.0, 500)
    tape = td.record(programs.of_entries, x)
    assert loops_of(tape)
    np.testing.assert_allclose(td.gradient(tape, x), td.gradient(td.record(programs.of_entries, x, merge=False), x), rtol=1e-12)


def test_a_used_up_iterator_is_none_that_can_be_gone_through_again():
    def sums(p, items):
        total = 0.0
        for t in items:
            total += p[0] * t + p[1] * t * t
        return total

    items = iter(programs.FLOATS)

    def f(p):
        return sums(p, items)

    tape = td.record(f, POINTS[0])
    np.testing.assert_allclose(tape(POINTS[0]), sums(POINTS[0], programs.FLOATS), rtol=1e-12)
    items = iter(programs.FLOATS)
    np.testing.assert_allclose(td.GuardedTape(f)(POINTS[0]), sums(POINTS[0], programs.FLOATS), rtol=1e-12)
    items = iter(programs.FLOATS)
    tape = td.record(lambda p: programs.takes_the_next(p, items), POINTS[0])
    np.testing.assert_allclose(tape(POINTS[0]), programs.takes_the_next(POINTS[0], iter(programs.FLOATS)), rtol=1e-12)


def test_an_error_of_the_loop_is_the_users_own_and_leaves_no_recording():
    def beyond(p):
        total = 0.0
        for i in range(programs.TURNS):
            total += p[0] * programs.TIMES[i + 3] * p[1]
        return total

    for _ in range(2):
        with pytest.raises(IndexError, match="out of bounds"):
            td.record(beyond, POINTS[0])
        with pytest.raises(IndexError, match="out of bounds"):
            td.gradient(td.GuardedTape(beyond), POINTS[0])
    assert loops_of(td.record(programs.zipped, POINTS[0]))


def test_a_function_that_catches_everything_is_recorded_again():
    def cautious(p):
        total = 0.0
        try:
            for t in programs.TIMES:
                total += p[0] * t * t + p[1]
        except BaseException:  # noqa: BLE001 -- which it is to be tried with
            return -1.0 * p[0]
        return total

    x = POINTS[1]
    np.testing.assert_allclose(td.record(cautious, POINTS[0])(x), cautious(x), rtol=1e-12)
    np.testing.assert_allclose(td.gradient(td.GuardedTape(cautious), x), differences(cautious, x), rtol=1e-6)


def test_endless_ranges_take_no_memory():
    assert entries_of(range(10**12)) is None
    assert entries_of(Over(zip, [range(10**12), programs.TIMES])) is None
    assert entries_of(Over(zip, [range(10**3), programs.TIMES])).length == programs.TURNS


def test_short_loops_are_recorded_turn_by_turn(monkeypatch):
    monkeypatch.setattr(record, "LONG", 10_000)
    assert not loops_of(td.record(programs.zipped, POINTS[0]))


def test_loops_that_are_known_to_be_short_are_not_tried(monkeypatch):
    """The recording of 30 times 30 turns is not stopped to begin again."""
    monkeypatch.delattr(LongLoops, "tape")

    def nested(p):
        n, total = 30, 0.0
        rates = np.linspace(-1.0, 1.0, n)
        for i in range(1, n):
            for rate in rates:
                total = np.tanh(p[0] * total + p[1] * rate) + TIMES[i]
        return total

    TIMES = programs.TIMES
    tape = td.record(nested, POINTS[0])
    assert not loops_of(tape)
    assert len(tape) > 3 * 29 * 30
    np.testing.assert_allclose(tape(POINTS[1]), nested(POINTS[1]), rtol=1e-12)


def test_lists_of_what_a_loop_gave_are_parts_of_its_array():
    """Also where they were cut, joined, or changed; and the list is the user's own."""

    def lists(p):
        kept, other = [], [p[0]]
        for t in TIMES:
            kept.append(np.sin(t * p[0]))
            other.append(p[1] * other[-1] + 0.1 * t)
        changed = kept[:50] + other[100:]
        changed[3] = p[0] * 1.0
        mixed = [v for pair in zip(kept, other) for v in pair]
        backwards = kept[::-1]
        first = np.sum(np.array(changed) * np.arange(len(changed))) + np.mean(np.stack(backwards)[:7])
        return first + np.sum(mixed * np.cos(np.arange(len(mixed)))) + np.sum(np.array([kept, kept])[1, 5:9])

    TIMES = programs.TIMES
    tape, whole = td.record(lists, POINTS[0]), td.record(lists, POINTS[0], merge=False)
    assert loops_of(tape)
    for x in POINTS:
        np.testing.assert_allclose(tape(x), lists(x), rtol=1e-12)
        np.testing.assert_allclose(td.gradient(tape, x), td.gradient(whole, x), rtol=1e-10)


def test_an_array_that_is_changed_after_it_was_made_of_a_list_leaves_the_list():
    def f(p):
        kept = []
        for t in programs.TIMES:
            kept.append(t * p[0] + p[1])
        made = np.array(kept)
        made[0] = 5.0 * p[1]
        return np.sum(made) + kept[0]

    tape = td.record(f, POINTS[0])
    assert loops_of(tape)
    np.testing.assert_allclose(tape(POINTS[1]), f(POINTS[1]), rtol=1e-12)
