"""Merged forms do not depend on which branches are merged, nor on the order of the points; and the benchmarks' problems are merged whole."""

import itertools

import numpy as np
import pytest

import tapediff as td
from benchmarks.merged_problems import MERGED_PROBLEMS
from tapediff.functions.merging.regions import region_calls
from tapediff.functions.merging.regions.regions import EARLY_LOADS, FIRST_PLAIN, ONLY_DATA, REGION
from tapediff.functions.merging.rules import Breach, in_users_words
from tapediff.targets.guarded.merging import Merging
from tests.functions.merging import loop_programs, programs, region_programs, write_programs
from tests.functions.merging.test_merging import POINTS

# The last parts of the places that are given up: a form of a region, or first the select.
FORMS = [[()], [(REGION,)], [(), (REGION,)], [(ONLY_DATA,), (FIRST_PLAIN,)], [(), (EARLY_LOADS,)]]


def merging_of(merged):
    return merged._recorder.merging.functions


def guarded(f, **settings):
    return td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000, **settings)


@pytest.fixture(autouse=True)
def unchecked(monkeypatch):
    monkeypatch.setattr(Merging, "check", lambda *_: None)


def answers(merged, points):
    return [td.value_and_gradient(merged, x.copy()) for x in points]


def same(found, expected):
    for (value, gradient), (other, own) in zip(found, expected):
        assert np.array_equal(value, other, equal_nan=True)
        # The same terms; which of them are added first depends on where they meet.
        assert np.allclose(gradient, own, rtol=1e-12, atol=1e-14, equal_nan=True)


DEMOTED = [
    programs.huber, programs.flags, loop_programs.breaks, write_programs.swaps, region_programs.bucket_with_helpers, region_programs.epidemic,
    region_programs.nested_loops, region_programs.reads_a_dataclass,
]  # fmt: skip


@pytest.mark.parametrize("f", DEMOTED, ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_any_branch_may_be_given_up_without_a_change_of_the_values(f):
    points = POINTS[:3]
    merged = guarded(f)
    expected = answers(merged, points)
    for x, (value, _) in zip(points, expected):
        assert value == f(x)
    sites = [(code, place) for code, places in merging_of(merged).sites.items() for place in dict.fromkeys(places)]
    assert sites
    for (code, place), forms in itertools.product(sites, FORMS):
        without = guarded(f)
        for form in forms:
            merging_of(without).refused[code, (*place[:2], *form)] = Breach("calls", place[0], "it is given up for this test")
        same(answers(without, points), expected)


@pytest.mark.parametrize("f", region_programs.REGIONS, ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_paths_may_be_recorded_in_any_order(f):
    points = POINTS[:3]
    expected = answers(guarded(f), points)
    for order in ([1, 2, 0], [2, 1, 0]):
        found = answers(guarded(f), [points[k] for k in order])
        same(found, [expected[k] for k in order])


@pytest.mark.parametrize("problem", MERGED_PROBLEMS, ids=lambda problem: problem.name)
def test_the_problems_of_the_benchmarks_take_one_tape(problem):
    merged = guarded(problem.function)
    for x in problem.points[:2]:
        merged(x.copy())
    assert len(merged._cache.all()) == 1, merged.explain()


@np.errstate(all="ignore")
def test_a_region_with_many_constants_is_given_up_at_its_limit(monkeypatch):
    monkeypatch.setattr(region_calls, "MOST_CALLEES", 6)
    made = []
    monkeypatch.setattr(region_calls, "RecordedCallee", lambda *args: made.append(args) or RECORDED(*args))
    merged = guarded(region_programs.has_many_constants)
    points = POINTS[:3]
    same(answers(merged, points), [td.value_and_gradient(td.record(region_programs.has_many_constants, x), x) for x in points])
    assert len(made) <= 6 * len(merging_of(merged).refused) > 0
    assert any("more than 6 different values" in reason for reason in merging_of(merged).reasons())


RECORDED = region_calls.RecordedCallee


@pytest.mark.parametrize(("made", "users"), [
    (".state1.d.rotate(1)", "d.rotate(1)"),
    ("x = .whole12.q[0] + a.b1.c", "x = q[0] + a.b1.c"),
    ("it calls .loop of Foo", "it calls .loop of Foo"),
    (".merging.check_turns((17, 8, 11), .turns.2)", "what stands there"),
    ("(.owners[0] if .index.of23 == 0 else .owners[1]).append(w)", "what stands there"),
    ("min([.free[0], .free[1]])", "min([free[0], free[1]])"),
])
def test_reports_have_the_names_of_the_function(made, users):
    assert in_users_words(made) == users
