"""Whether a merged form pays: by a clock of the tests' own, so that both forms take the times that are asked for."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import tapediff as td
from tapediff.targets.guarded import payoff
from tapediff.targets.guarded.merging import PATHS_AGAIN, TRIALS


def three_ways(x):
    s = x[2] * 0.0
    for k in range(2):
        if x[k] > 0:
            s = s + x[k] ** 2
        else:
            s = s - x[k]
    return s


def slope(x):
    return np.array([*np.where(x[:2] > 0, 2 * x[:2], -1.0), 0.0])


def many_ways(x):
    s = 0.0
    for v in x:
        if v > 0:
            s = s + v**2
        else:
            s = s - v
    return s


FEW = [np.array(x) for x in ([1.0, 2.0, 0.0], [1.0, -2.0, 0.0], [-1.0, 2.0, 0.0])]


@pytest.fixture
def times(monkeypatch):
    """Seconds of the merged form and of a tape of a path, which the clock shows in turns."""
    now, readings, taken = [0.0], [0], [0.02, 0.002]

    def clock():
        readings[0] += 1
        if readings[0] % 2 == 0:
            now[0] += taken[readings[0] // 2 % 2 == 0]
        return now[0]

    monkeypatch.setattr(payoff, "clock", clock)
    return taken


def ask(guarded, points, gradient=slope):
    for x in points:
        # The same terms, masked ones added as zeros.
        assert np.allclose(td.gradient(guarded, x), gradient(x), rtol=1e-12)


def asked(**settings):
    """A function of which three paths repeat, called until the merged form has been compared."""
    guarded = td.GuardedTape(three_ways, merge=None, **settings)
    ask(guarded, FEW)
    assert guarded._recorder.merging.is_on
    ask(guarded, FEW * 6)
    assert not guarded._recorder.merging.trials_left
    return guarded


def test_a_merged_form_that_is_slow_is_left_where_few_paths_repeat(times):
    guarded = asked()
    assert not guarded._recorder.merging.is_on
    assert guarded.stats.recordings == 4
    assert len(guarded._cache.all()) == 3, "the tapes of the paths, as they were"
    assert "one tape for each path is faster: a call takes 10 times as long" in guarded.explain(), guarded.explain()
    ask(guarded, [*FEW, -np.ones(3), *FEW] * 3)
    assert guarded.stats.recordings == 5, "the fourth path, and nothing again"
    assert len(guarded._cache.all()) == 4


@pytest.mark.parametrize("merged", [0.002, 0.0029, 0.0001])
def test_a_merged_form_that_takes_at_most_one_and_a_half_times_as_long_stays(times, merged):
    times[:] = merged, 0.002
    guarded = asked()
    assert guarded._recorder.merging.is_on
    assert f"the merged form stays: a call takes {merged / 0.002:.2g} times as long" in guarded.explain(), guarded.explain()


def test_a_merged_form_stays_where_nearly_every_call_takes_a_new_path(times):
    rng = np.random.default_rng(0)
    guarded = td.GuardedTape(many_ways, merge=None)
    points = rng.normal(size=(30, 12))
    points[5:8] = points[0]  # one of the known paths, so that times are taken
    ask(guarded, points, lambda x: np.where(x > 0, 2 * x, -1.0))
    merging = guarded._recorder.merging
    assert merging.is_on
    assert not merging.trials_left
    assert guarded.stats.recordings == 4
    assert "paths are expected" in guarded.explain(), guarded.explain()


def halved(x):
    s = x[0]
    while s > 1.0:
        s = 0.5 * s
    return s


@pytest.mark.parametrize(("seconds", "stays"), [(1e9, False), (-1e9, True)])
def test_telling_paths_apart_ends_after_a_while(times, monkeypatch, seconds, stays):
    monkeypatch.setattr(payoff, "LOOKING", seconds)
    guarded = td.GuardedTape(halved, max_tapes=6)
    ask(guarded, [np.array([x]) for x in (3.0, 5.0, 9.0, 3.0, *[17.0] * TRIALS)], lambda x: 0.5 ** np.ceil(np.log2(x)))
    assert not guarded._recorder.merging.trials_left
    assert guarded._recorder.merging.is_on == stays, "what was not looked at may be paths of their own"


def test_recordings_are_weighed_against_slower_calls(times, monkeypatch):
    monkeypatch.setattr(payoff, "CALLS_AHEAD", 0)
    guarded = td.GuardedTape(three_ways, merge=None)
    ask(guarded, [*FEW, *[-np.ones(3), FEW[0]] * 8])
    assert guarded._recorder.merging.is_on
    assert "take longer than 0 calls save" in guarded.explain(), guarded.explain()


def test_paths_that_go_on_are_merged_for_good(times):
    rng = np.random.default_rng(1)
    guarded = td.GuardedTape(many_ways, merge=None, on_new_tape="compile")
    gradient = lambda x: np.where(x > 0, 2 * x, -1.0)
    few = [np.ones(8), -np.ones(8), np.resize([1.0, -1.0], 8)]
    ask(guarded, few * 7, gradient)
    merging = guarded._recorder.merging
    assert not merging.is_on
    guarded.on_new_tape = "interpret"
    before = guarded.stats.recordings
    ask(guarded, rng.normal(size=(40, 8)), gradient)
    assert merging.is_on
    assert guarded.stats.recordings == before + PATHS_AGAIN, "that of the merged form was kept"
    assert "for good" in guarded.explain()
    ask(guarded, few * 10, gradient)
    assert guarded.stats.recordings == before + PATHS_AGAIN


def test_nothing_is_left_where_it_could_not_be_recorded_again(times):
    guarded = td.GuardedTape(three_ways, merge=None)
    ask(guarded, FEW)
    guarded.on_new_tape = "raise"
    ask(guarded, FEW * 6)
    assert guarded._recorder.merging.is_on
    ask(guarded, [-np.ones(3)])


def test_what_is_asked_for_stays(times):
    guarded = td.GuardedTape(three_ways, merge=True)
    ask(guarded, FEW * 7)
    assert guarded._recorder.merging.is_on


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))], ids=["copy", "pickle"])
def test_copies_know_what_was_decided(times, copied):
    times[:] = 0.002, 0.002
    merged = copied(asked(on_new_tape="interpret"))
    ask(merged, FEW)
    assert merged.stats.recordings == 4 + 2, "of one path, and of the merged form"
    times[:] = 0.02, 0.002
    other = copied(asked())
    assert len(other._cache.all()) == 3
    ask(other, FEW * 8)
    assert other.stats.recordings == 4
    assert "one tape for each path is faster" in other.explain()


@pytest.mark.parametrize("kept", [1, 2])
def test_paths_count_though_their_tapes_were_dropped(kept):
    guarded = td.GuardedTape(three_ways, merge=None, max_tapes=kept, on_new_tape="interpret")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", td.GuardWarning)
        ask(guarded, FEW)
    assert guarded._recorder.merging.is_on
    ask(guarded, FEW * 7)
    assert guarded.stats.recordings == 4


def test_a_recording_of_the_merged_form_has_the_reason_of_the_path_in_whose_place_it_is():
    guarded = td.GuardedTape(three_ways, merge=None, on_new_tape="warn")
    with pytest.warns(td.GuardWarning, match="met a new path") as warned:
        ask(guarded, FEW)
    assert len(warned) == 2, "of the second path, and of the merged form"
    reasons = [str(reason) for _, reason in guarded._recorder.reasons]
    assert reasons[2] == reasons[3]
    assert "three_ways → False, was True" in reasons[3]


def test_margins_of_merged_branches_are_those_of_their_guards():
    merged, plain = td.GuardedTape(three_ways, merge=True), td.GuardedTape(three_ways, merge=False)
    x = np.array([0.5, -0.25, 1.0])
    ask(merged, [x, *FEW])
    assert merged.margins(x) == plain.margins(x)
    assert [(m.kind, m.left, m.outcome) for m in merged.margins(x)] == [("guard", 0.5, True), ("guard", -0.25, False)]
    assert len(merged._cache.all()) == 1


def test_no_merged_form_is_recorded_where_recordings_are_forbidden():
    guarded = td.GuardedTape(three_ways, merge=None, on_new_tape="raise")
    ask(guarded, FEW[:1])
    for x in FEW[1:]:
        with pytest.raises(td.NewTape):
            td.gradient(guarded, x)
    assert guarded.stats.recordings == 1
    asked_for = td.GuardedTape(three_ways, merge=True, on_new_tape="raise")
    ask(asked_for, FEW * (TRIALS // 3 + 2))
    assert asked_for.stats.recordings == 2, "in place of the first one"


def test_settings_of_merging_are_part_of_a_token():
    tokens = {td.GuardedTape(three_ways, merge=merge).__dask_tokenize__() for merge in (True, False, None)}
    assert len(tokens) == 3


@pytest.mark.parametrize(
    ("calls", "paths", "share"), [("abc", 6.0, 1.0), ("aab", 2.0, 1 / 3), ("aabb", 2.0, 0.0), ("aabcd", 5.5, 3 / 5), ("aabbcde", 6.0, 3 / 7)]
)
def test_paths_that_were_never_met_are_estimated_from_those_met_once_and_twice(calls, paths, share):
    """By Chao's estimate without bias, f1 (f1 - 1) / (2 (f2 + 1)): none where one path was met once."""
    assert payoff.Payoff([])._paths(calls) == pytest.approx((paths, paths, share), rel=1e-12)
