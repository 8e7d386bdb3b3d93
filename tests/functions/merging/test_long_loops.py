"""Of a loop of very many turns one is recorded, with the values and gradients of all turns recorded one by one."""

from __future__ import annotations

import ast

import numpy as np
import pytest

import tapediff as td
from tapediff.functions.merging.prepare.long_loops import which_loops
from tapediff.functions.merging.run_time.gone_over.entries import Over, entries_of
from tapediff.ops.arrays.indexing import INDEX
from tapediff.recording import record
from tapediff.targets.guarded import merging
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
    monkeypatch.setattr(record, "LONG", 30_000)
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
    monkeypatch.setattr(record, "LONG", 30_000)
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


GAPS = np.random.default_rng(8).normal(size=(40, 30))
GAPS[np.random.default_rng(9).random(GAPS.shape) < 0.1] = np.nan


def filters_of_vectors(p):
    total, step = 0.0, np.array([[1.0, 1.0], [0.0, np.tanh(p[0] - p[1])]])
    for i in range(len(GAPS)):
        m, s = np.zeros(2), 10.0 * np.eye(2)
        for t in range(GAPS.shape[1]):
            m, s = step @ m, step @ s @ step.T + np.exp(p[0]) * np.eye(2)
            if not np.isnan(GAPS[i, t]):
                error, v = GAPS[i, t] - m[0], s[0, 0] + np.exp(p[1])
                m, s = m + s[0] * (error / v), s - np.outer(s[0], s[0]) / v
                total += np.log(v) + error**2 / v
    return total


def filters_of_numbers(p):
    total = 0.0
    for i in range(len(GAPS)):
        m, s = 0.0, 10.0
        for t in range(GAPS.shape[1]):
            m, s = 0.9 * m + p[1], 0.8 * s + np.exp(p[0])
            if not np.isnan(GAPS[i, t]):
                error, v = GAPS[i, t] - m, s + np.exp(p[1])
                m, s = m + s * error / v, s - s**2 / v
                total += np.log(v) + error**2 / v
    return total


@pytest.mark.parametrize(("f", "is_loop"), [(filters_of_vectors, True), (filters_of_numbers, False)], ids=["vectors", "numbers"])
def test_loops_of_operations_on_arrays_are_long_sooner(f, is_loop):
    """Those on numbers become byte code in less time."""
    guarded = td.GuardedTape(f)
    agree(f, POINTS, guarded)
    assert any(bool(loops_of(variant.tape)) for variant in guarded._cache.all()) == is_loop


SEEN = np.random.default_rng(10).random(130) > 0.2


def filter_of(values, is_seen, gain):
    """A filter of a state of two entries; `gain` of its covariance, and of the noise."""

    def f(p):
        total, m, s = 0.0, np.zeros(2), np.eye(2)
        for t in range(len(values)):
            m, s = np.array([m[0] + m[1], np.tanh(p[0]) * m[1]]), s + np.exp(p[0]) * np.eye(2)
            if is_seen[t]:
                k, size = gain(s, np.exp(p[1]) * np.eye(2))
                error = values[t] - m
                m, s = m + k @ error, s - k @ s
                total += error @ k @ error + size
        return total

    return f


def by_inverse(s, noise):
    return s @ np.linalg.inv(s + noise), np.linalg.slogdet(s + noise)[1]


def by_entries(s, noise):
    whole = s + noise
    size = whole[0, 0] * whole[1, 1] - whole[0, 1] * whole[1, 0]
    return s @ np.array([[whole[1, 1], -whole[0, 1]], [-whole[1, 0], whole[0, 0]]]) / size, np.log(size)


VALUES = np.random.default_rng(11).normal(size=(130, 2))
EARLY = {
    # What becomes byte code, and what is found in loops, is recorded as it is, as its kernel is faster.
    "matrices with gaps": (filter_of(VALUES, SEEN, by_inverse), True),
    "numbers with gaps": (filter_of(VALUES, SEEN, by_entries), False),
    "no gaps": (filter_of(VALUES, np.ones(130, bool), by_inverse), False),
}


@pytest.mark.parametrize("name", EARLY)
@pytest.mark.parametrize("is_guarded", [True, False], ids=["guarded", "compiled"])
def test_loops_that_take_long_to_compile_are_long_sooner_still(name, is_guarded, monkeypatch):
    monkeypatch.setattr(record, "LONG", 30_000)
    monkeypatch.setattr(record, "FEWER", 12)
    f, is_loop = EARLY[name]
    tape = td.GuardedTape(f) if is_guarded else td.compile(f, POINTS[0])
    agree(f, POINTS, tape)
    tapes = [variant.tape for variant in tape._cache.all()] if is_guarded else [tape.tape]
    assert any(bool(loops_of(tape)) for tape in tapes) == is_loop


TURNS_OF_LOOPS = {
    "range(N // 4)": 75, "range(int(N))": 300, "np.arange(N)": 300, "range(N % 7 + 3)": 9, "range(min(N, 20), max(N, 40))": 280,
    "list(range(N - 1))": 299, "enumerate(np.arange(N))": 300, "range(N // 0)": None, "range(int(X))": None, "np.arange(3, N)": None,
    "range(int(N, 8))": None, "range(len(ROWS) * ROWS.shape[1])": 6,
}  # fmt: skip


@pytest.mark.parametrize(("over", "turns"), TURNS_OF_LOOPS.items(), ids=TURNS_OF_LOOPS.keys())
def test_how_long_a_loop_is_can_be_told_without_running_code_of_the_users(over, turns):
    assert which_loops._turns(ast.parse(over, mode="eval").body, {"N": 300, "X": 2.5, "np": np, "ROWS": np.zeros((3, 2))}) == turns


def steps_by_newtons_method(p):
    x, total = p[0], 0.0
    for k in range(60 // 2):
        y = x
        for _ in range(30):
            slope = 1.0 - 0.05 * p[1] * (1.0 - 3.0 * y * y)
            step = (y - x - 0.05 * (p[1] * (1.0 - y * y) * y - np.sin(k * 0.1))) / slope
            y -= step
            if abs(step) < 1e-13:
                break
        x = y
        total += 0.01 * x
    return total + x


def test_loops_around_one_that_data_ends_have_one_turn_where_that_was_recorded_a_few_times(monkeypatch):
    monkeypatch.setattr(record, "LONG", 30_000)
    guarded = td.GuardedTape(steps_by_newtons_method)
    agree(steps_by_newtons_method, POINTS, guarded)
    assert guarded.explain().count("a loop of which one turn is recorded") == 1
    assert "a loop with a number of turns that each call decides, with 2 paths" in guarded.explain()


def filters_that_are_recorded_whole(p):
    """The gain is asked for at a name that only the turn's number tells, so that all turns are recorded."""
    total = FILTER(p)
    for k in range(6):
        total += p[0] ** 2 if p[0] * k > p[1] else np.sin(p[1] + k)
    return total


def _whole(p):
    gains = {f"at {t}": by_inverse for t in range(130)}
    total, m, s = 0.0, np.zeros(2), np.eye(2)
    for t in range(130):
        m, s = np.array([m[0] + m[1], np.tanh(p[0]) * m[1]]), s + np.exp(p[0]) * np.eye(2)
        if SEEN[t]:
            k, size = gains[f"at {t}"](s, np.exp(p[1]) * np.eye(2))
            m, s = m + k @ (VALUES[t] - m), s - k @ s
            total += m @ m + size
    return total


FILTER = _whole


def test_branches_are_merged_also_where_a_form_for_loops_was_left(monkeypatch):
    monkeypatch.setattr(record, "LONG", 30_000)
    monkeypatch.setattr(record, "FEWER", 12)
    f, tape = filters_that_are_recorded_whole, td.GuardedTape(filters_that_are_recorded_whole, merge=True)
    points = np.random.default_rng(12).uniform(-0.5, 0.5, size=(9, 2))
    agree(f, points, tape)
    assert not any(loops_of(variant.tape) for variant in tape._cache.all())
    assert len(tape._cache.all()) == 1


MANY = np.random.default_rng(0).normal(size=9000)


def writes_where_a_mask_says(p):
    q = p.copy()
    for v in MANY:
        q[q > 0.5] *= 0.9
        q += 0.01 * v
    return q.sum()


def test_masks_that_data_decides_are_guards_of_other_outcomes_than_bools():
    tape = td.GuardedTape(writes_where_a_mask_says)
    for x in (np.array([1.2, -0.2, 0.6, 0.1]), np.array([0.2, -0.3, -0.6, 0.9])):
        value, gradient = td.value_and_gradient(tape, x)
        np.testing.assert_allclose(value, writes_where_a_mask_says(x), rtol=1e-11)
        np.testing.assert_allclose(gradient, differences(writes_where_a_mask_says, x), rtol=1e-6)


def of_patients(count, least, most):
    """Doses that are absorbed and eliminated: so many patients, with so many visits each."""
    rng = np.random.default_rng(5)
    patients = [(rng.exponential(1.0, m), (rng.random(m) < 0.4) * 1.0, np.abs(rng.normal(1.0, 0.3, m))) for m in rng.integers(least, most, count)]

    def f(p):
        absorbed, eliminated, total = np.exp(p[0]), 0.4 * np.exp(p[1]), 0.0
        for k, (gaps, doses, seen) in enumerate(patients):
            gut, amount, rate = 0.0, 0.0, eliminated * np.exp(-0.001 * p[0] * k)
            for gap, dose, y in zip(gaps, doses, seen):
                left, stays = np.exp(-absorbed * gap), np.exp(-rate * gap)
                amount = amount * stays + gut * absorbed / (absorbed + rate) * (stays - left)
                gut = gut * left + dose
                total = total - np.log(absorbed) - 0.5 * ((y - amount) / absorbed) ** 2
            total = total - 0.5 * p[1] ** 2
        return total

    return f


@pytest.mark.slow
def test_very_many_short_loops_are_recorded_turn_by_turn(monkeypatch):
    """LLVM would take a second or more for them; byte code of all turns is there at once, and called as soon. Few loops stay loops."""
    monkeypatch.setattr(record, "LONG", 4_000)
    f = of_patients(240, 21, 24)
    tape, few = td.record(f, POINTS[0]), td.record(of_patients(30, 170, 180), POINTS[0])
    assert not loops_of(tape)
    assert loops_of(few)
    compiled = td.compile(tape)
    assert compiled.kernel((0,)).is_swept
    agree(f, POINTS, tape, compiled)
