"""What merging takes before the first answer: recordings, rewritings, and how that answer is compared."""

import math

import numpy as np
import pytest

import tapediff as td
from tapediff.functions.merging import rewrite
from tapediff.recording import record
from tapediff.targets.guarded import merging, record_path
from tapediff.targets.guarded.variant import Variant

POINTS = np.random.default_rng(4).normal(size=(4, 12))


def robust(x):
    total = 0.0
    for v in x:
        if abs(v) < 1.0:
            total += v * v
        else:
            total += abs(v)
    return total


def in_two_loops(x):
    total = robust(x)
    for v in x:
        if v > total:
            total = total * 1.5
    return total


def catches_everything(x):
    total = 0.0
    for v in x:
        try:
            is_small = v < 0.5
            if is_small:
                total += v
            else:
                total += v * v
        except BaseException:  # noqa: BLE001 -- it is the test
            total += 1000.0
    return total


def collects(x):
    kept = []
    for v in x:
        if v > 0.0:
            kept.append(v * v)
    return sum(kept) + x[0]


@pytest.mark.parametrize("f", [robust, in_two_loops, catches_everything, collects])
def test_a_first_recording_that_is_stopped_changes_no_answer(f, monkeypatch):
    monkeypatch.setattr(merging, "LONGEST_COMPARED", 8)
    merged = td.GuardedTape(f, merge=True, on_new_tape="interpret")
    for x in POINTS:
        value, gradient = td.value_and_gradient(merged, x)
        expected = td.value_and_gradient(td.record(f, x), x)
        # Sums in another order.
        np.testing.assert_allclose(value, expected[0], rtol=1e-13)
        np.testing.assert_allclose(gradient, expected[1], rtol=1e-13)


def test_no_more_of_a_long_function_is_recorded_without_merging_than_tells_where_it_branches(monkeypatch):
    monkeypatch.setattr(merging, "LONGEST_COMPARED", 8)
    calls = []

    def watched(x):
        calls.append(0)
        total = 0.0
        for v in x:
            calls[-1] += 1
            if abs(v) < 1.0:
                total += v * v
            else:
                total += abs(v)
        return total

    merged = td.GuardedTape(watched, merge=True, on_new_tape="interpret")
    td.gradient(merged, POINTS[0])
    assert calls[0] < len(POINTS[0]) <= calls[1]
    assert merged.explain().startswith("watched: 1 of")


def settles(x, turns=60):
    values = x
    for _ in range(turns):
        new = np.stack([0.5 * values[k] + 0.1 * np.sin(values[k - 1]) for k in range(len(x))])
        if np.max(np.abs(new - values)) < 1e-7:
            break
        values = new
    return np.sum(values)


def clips_an_outlier(x):
    total = 0.0
    for k in range(100):
        for v in x:
            total = total * 0.5 + (1.0 if v > 2.0 + 10 * abs(k - 3) else v)
    return total


@pytest.mark.parametrize(
    ("f", "recordings"), [(settles, 2), (lambda x: settles(x[:2]), 1), (clips_an_outlier, 1)], ids=["long", "short", "branch"]
)
def test_a_long_loop_that_a_value_ends_is_merged_in_its_first_recording(f, recordings):
    x = np.where(np.arange(12) == 5, 2.5, POINTS[0] / 4)
    guarded = td.GuardedTape(f, on_new_tape="interpret", compile_after=1000)
    value = guarded(x)
    assert guarded.stats.recordings == recordings
    np.testing.assert_allclose(value, f(x), rtol=1e-13)


def growth(v):
    return 1.0 + v * v


def decline(v):
    return 1.0 - 0.5 * v


STEP = growth


def chosen_by_a_global(x):
    total = 0.0
    for v in x:
        if v > 0.0:
            total += STEP(v)
        else:
            total += 0.5 * v
    return total


def rewritings(monkeypatch, f):
    """How often a function is rewritten from here on; a list that grows."""
    made, rewritten = [], rewrite.Rewriter.rewritten

    def noted(self):
        made.extend([0] * (self._facts.code is f.__code__))
        return rewritten(self)

    monkeypatch.setattr(rewrite.Rewriter, "rewritten", noted)
    return made


def test_a_function_is_rewritten_once_for_all_recordings_as_long_as_its_names_stand_for_the_same(monkeypatch):
    made = rewritings(monkeypatch, chosen_by_a_global)
    for step, expected in ((growth, 1), (growth, 0), (decline, 1), (growth, 0)):
        monkeypatch.setitem(globals(), "STEP", step)
        made.clear()
        tape = td.record(chosen_by_a_global, POINTS[0], merge=True)
        assert not tape.guard_count
        assert len(made) == expected
        for x in POINTS:
            assert np.isclose(tape(x), chosen_by_a_global(x), rtol=1e-13)  # sums in another order


def logarithms(x):
    total = 0.0
    for v in x:
        if v > 0.0:
            total += math.log(v + 1.0)
        else:
            total += math.exp(v)
    return total


def thresholds(x):
    weight = 1.0
    for v in x:
        if v > 0.0:
            weight = weight * 0.5
        if weight < 0.2:
            weight = 0.2
    return weight * x[0]


@pytest.mark.parametrize(
    ("f", "start", "expected"),
    [
        (logarithms, np.ones(12), 2),  # the other side, which is not reached, looks at a value besides
        (thresholds, np.ones(12), 3),  # what was a plain number is data, and a branch asks for it
    ],
)
def test_what_a_merged_recording_shows_is_recorded_again_only_where_it_makes_another_form(f, start, expected):
    calls = []

    def counted(x):
        calls.append(0)
        return f(x)

    tape = td.record(counted, start, merge=True)
    assert len(calls) == expected
    for x in POINTS:
        assert np.isclose(tape(x), f(x), rtol=1e-13)  # sums in another order


def test_a_gradient_that_differs_from_the_plain_ones_is_not_given(monkeypatch):
    """The kernel of the merged form, which is what answers, is compared."""
    attempt = Variant.attempt

    def wrong(self, argnums, inputs, outs):
        value, gradients = attempt(self, argnums, inputs, outs)
        return (value, gradients) if self.tape.guards else (value, [2.0 * g for g in gradients])

    monkeypatch.setattr(Variant, "attempt", wrong)
    # Nor does the replay agree.
    monkeypatch.setattr(merging.Merging, "check", lambda *_: fail())
    merged = td.GuardedTape(robust, merge=True)
    expected = td.gradient(td.record(robust, POINTS[0]), POINTS[0])
    np.testing.assert_allclose(td.gradient(merged, POINTS[0]), expected, rtol=1e-13)  # sums in another order
    assert "no branches are merged" in merged.explain()


def fail():
    raise ArithmeticError("it differs")


NUMBERS = np.random.default_rng(6).normal(size=4000).tolist()


def bends_both_ways(p):
    s = 0.0
    for v in NUMBERS:
        r = v - p[0] * np.sin(p[1] * v)
        s += r * r if abs(r) < 1.0 else 2.0 * abs(r) - 1.0
    return s


def bends_later(p):
    s = 0.0
    for k, v in enumerate(NUMBERS):
        r = v - p[0] * np.sin(p[1] * v)
        s += r * r if abs(r) < 1.0 else 2.0 * abs(r) - 1.0
        if k > 1000 and r > p[1]:
            s += p[0]
    return s


@pytest.fixture
def stops(monkeypatch):
    """How many instructions the recordings had that were stopped."""
    found, stopped = [], record_path._Stopped.__init__

    def noted(self, recorder, is_of_loops):
        found.append(len(recorder.instructions))
        stopped(self, recorder, is_of_loops)

    monkeypatch.setattr(record_path._Stopped, "__init__", noted)
    return found


@pytest.mark.parametrize("longest", [300, 10**9])
def test_branches_of_long_loops_that_go_both_ways_are_merged_at_once(longest, monkeypatch, stops):
    """Whether the first recording is stopped for its branches or for its loop, one more is enough, with one path of the turn."""
    monkeypatch.setattr(merging, "LONGEST_COMPARED", longest)
    monkeypatch.setattr(record, "LONG", 2_000)
    tape = td.GuardedTape(bends_both_ways)
    for x in np.array([[0.5, 1.0], [1.5, -0.7]]):
        value, gradient = td.value_and_gradient(tape, x)
        np.testing.assert_allclose(value, bends_both_ways(x), rtol=1e-12)
        steps = 1e-6 * np.eye(2)
        np.testing.assert_allclose(gradient, [(bends_both_ways(x + e) - bends_both_ways(x - e)) / 2e-6 for e in steps], rtol=1e-6)
    assert len(stops) == 1
    assert "a loop of which one turn is recorded" in tape.explain()
    assert "paths" not in tape.explain().split("branches that are merged")[1]


def test_a_merged_recording_that_finds_another_branch_is_stopped(monkeypatch, stops):
    monkeypatch.setattr(merging, "LONGEST_COMPARED", 300)
    monkeypatch.setattr(record, "LONG", 10**9)
    tape, x = td.GuardedTape(bends_later), np.array([0.5, 1.0])
    value, _ = td.value_and_gradient(tape, x)
    np.testing.assert_allclose(value, bends_later(x), rtol=1e-12)
    whole = len(td.record(bends_later, x, merge=False))
    assert len(stops) >= 2
    assert all(length < whole / 2 for length in stops)


def test_a_function_that_takes_long_runs_beside_few_answers(monkeypatch):
    """Seconds that the plain function takes are as good as further calls."""
    merged = td.GuardedTape(robust, merge=True)
    td.gradient(merged, POINTS[0])
    state = merged._recorder.merging
    left = state.trials_left
    assert left >= merging.TRIALS - 1
    now = [0.0]

    def clock():
        now[0] += 3.0 * merging.SECONDS_OF_TRIAL
        return now[0]

    monkeypatch.setattr(record_path.time, "perf_counter", clock)
    td.gradient(merged, POINTS[0])
    assert state.trials_left == left - 4
    td.gradient(merged, POINTS[1])
    assert state.trials_left == 0
