"""Branches of plain Python as selects and loops: one tape for all paths where that changes nothing, and no wrong answers anywhere."""

import contextlib
import math

import numpy as np
import pytest

import tapediff as td
from tapediff.functions.merging.rules import RULES
from tapediff.recording import record
from tapediff.targets.guarded.merging import TRIALS
from tests.functions.merging import (
    choice_programs,
    container_programs,
    loop_programs,
    method_programs,
    named_tuple_programs,
    nested_programs,
    programs,
    reduction_programs,
    row_programs,
    state_programs,
    store_programs,
    write_programs,
)
from tests.functions.merging.programs import divides_by_a_number_that_is_zero, huber, unbound_on_one_side
from tests.random_programs.branching import Program, function_of, points

PROGRAMS = (
    programs, loop_programs, state_programs, write_programs, store_programs, reduction_programs, container_programs, method_programs,
    row_programs, nested_programs, choice_programs, named_tuple_programs,
)  # fmt: skip
MERGE, TRAPS = ([f for group in PROGRAMS for f in getattr(group, kind)] for kind in ("MERGE", "TRAPS"))
POINTS = [
    np.array(x) for x in (
        [0.4, -0.3, 1.2, 0.8, -1.1, 0.1], [-0.6, 0.9, -0.2, 1.7, 0.3, -0.9], [1.4, 0.2, 0.6, -0.7, -0.1, 2.1], [0.0, 0.5, 1.0, -0.5, 0.3, 0.2],
        [-0.2, -0.4, -0.9, -0.1, -0.3, -0.6], [0.3, 0.6, 0.7, 0.9, 1.1, 1.6], [0.3, 0.25, -1.0, -0.5, 1.0, 1.5], [2.0, -2.0, 2.0, -2.0, 2.0, -2.0],
    )
]  # fmt: skip


def agree(f, merged, points):
    """At every point value and gradient are those of the function, recorded for that point alone."""
    for x in points:
        value, gradient = td.value_and_gradient(merged, x.copy())
        # The same operations; sums of terms that are masked may be in another order.
        assert np.isclose(value, f(x), rtol=1e-12, atol=1e-14, equal_nan=True), (x, value, f(x))
        own = td.gradient(td.record(f, x), x)
        assert np.allclose(gradient, own, rtol=1e-10, atol=1e-12, equal_nan=True), (x, gradient, own)


@pytest.mark.parametrize("f", [*MERGE, *TRAPS], ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_every_program_gives_the_answers_of_its_paths(f):
    merged = td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000)
    agree(f, merged, POINTS)
    agree(f, merged, POINTS[::-1])
    assert "Error" not in (merged._recorder.merging.failed or ""), "of the rewriting"


@pytest.mark.parametrize("f", MERGE, ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_few_tapes_serve_all_paths_natively(f):
    merged = td.GuardedTape(f, merge=True)
    agree(f, merged, POINTS)
    assert len(merged._cache.all()) <= 2, merged.explain()
    assert merged.stats.recordings <= 5


def test_sums_in_steps_of_the_sides_stay_sums_over_all_turns():
    def robust(x):
        s = 0.0
        for k in range(100):
            r = x[0] * LEVELS[k] - x[1]
            if abs(r) < 1.0:
                s = s + 0.5 * r * r
            else:
                s = s + abs(r) - 0.5
        return s

    merged = td.GuardedTape(robust, merge=True)
    agree(robust, merged, POINTS[:3])
    (variant,) = merged._cache.all()
    compiled = td.compile(variant.tape)
    td.gradient(compiled, POINTS[0])
    assert "loop_" not in compiled.source, compiled.source  # the call of a recurrence


LEVELS = np.random.default_rng(1).normal(size=100)


def test_merging_begins_after_a_few_paths():
    rng = np.random.default_rng(0)
    guarded = td.GuardedTape(huber, merge=None, on_new_tape="interpret", compile_after=1000)
    agree(huber, guarded, [rng.normal(size=12) for _ in range(12)])
    assert guarded.stats.recordings == 4
    never = td.GuardedTape(huber, merge=False, on_new_tape="interpret", compile_after=1000)
    agree(huber, never, [rng.normal(size=12) for _ in range(12)])
    assert never.stats.recordings == 12


def test_errors_of_the_program_are_its_own():
    merged = td.GuardedTape(divides_by_a_number_that_is_zero, merge=True)
    agree(divides_by_a_number_that_is_zero, merged, POINTS[:2])
    with pytest.raises(ZeroDivisionError):
        td.gradient(merged, -np.ones(6))
    agree(divides_by_a_number_that_is_zero, merged, POINTS[:3])
    merged = td.GuardedTape(unbound_on_one_side, merge=True)
    agree(unbound_on_one_side, merged, POINTS[:2])
    with pytest.raises(UnboundLocalError):
        td.gradient(merged, -np.ones(6))


@pytest.mark.parametrize("f", [*loop_programs.FAIL, *state_programs.FAIL, *reduction_programs.FAIL], ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_programs_that_fail_at_some_points_do_so_with_their_own_errors(f):
    merged = td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000)
    errors = 0
    for x in [*POINTS, *POINTS[::-1]]:
        try:
            f(x)
        except (UnboundLocalError, TypeError, ValueError) as error:
            errors += 1
            with pytest.raises(type(error)):
                td.gradient(merged, x)
        else:
            agree(f, merged, [x])
    assert errors


def test_the_report_names_every_branch_and_why_it_stays():
    f = function_of("""
def f(x):
    kept, s = [], 0.0
    for v in x:
        if v > 0:
            kept.append(v)
        if v > 1:
            s = s + v
    return s + max(kept, default=0.0)
""")
    merged = td.GuardedTape(f, merge=True, on_new_tape="interpret")
    agree(f, merged, [p[:3] for p in POINTS])
    text = merged.explain()
    assert "f, line 7: merged" in text, text
    assert "f, line 6: kept.append(v); only assignments to variables can be undone" in text, text


@pytest.mark.parametrize("seed", range(12))
@np.errstate(all="ignore")
def test_random_programs_give_the_answers_of_their_paths(seed):
    f = function_of(Program(seed).text())
    merged = td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000, max_tapes=1000)
    assert merged._recorder.merging.failed is None
    agree(f, merged, points(seed, 8))


def test_merged_tapes_are_recorded_again_after_pickling():
    import pickle

    merged = td.GuardedTape(huber, merge=True, on_new_tape="interpret", compile_after=1000)
    agree(huber, merged, POINTS)
    agree(huber, pickle.loads(pickle.dumps(merged)), POINTS)


SEEN, SCALE = [], [1.0]


def counted(x):
    SEEN.append(type(x) is np.ndarray)
    s = 0.0
    for v in x:
        if v > 0:
            s = s + v**2
    return s * SCALE[0]


@pytest.mark.parametrize("ask", [td.gradient, lambda f, x: f(x), lambda f, x: td.gradient(f, x, argnums=(0,)), td.hessian], ids=range(4))
def test_the_first_calls_are_compared_with_the_plain_function_however_they_are_made(ask):
    merged = td.GuardedTape(counted, merge=True)
    rng = np.random.default_rng(0)
    ask(merged, np.ones(4))
    runs = []
    for _ in range(24):
        SEEN.clear()
        ask(merged, rng.normal(size=4))
        runs.append(sum(SEEN))
    assert runs[:TRIALS].count(0) <= 1
    assert sum(runs[TRIALS + 1 :]) == 0, "afterwards kernels answer alone"


def test_a_form_that_differs_from_the_function_is_given_up():
    merged = td.GuardedTape(counted, merge=True, frozen=True)
    rng = np.random.default_rng(0)
    td.gradient(merged, np.ones(4))
    try:
        SCALE[0] = 3.0
        x = rng.normal(size=4)
        assert np.allclose(td.gradient(merged, x), 6.0 * np.maximum(x, 0.0))
        assert "no longer computes" in merged.explain()
    finally:
        SCALE[0] = 1.0


def refuses_large_values(x):
    if not isinstance(x, np.ndarray) or x.size > 4:
        raise ValueError("four values at most")
    s = 0.0
    for v in x:
        if v > 0:
            s = s + v
    return s


def test_an_error_of_the_function_leaves_its_branches_merged():
    merged = td.GuardedTape(refuses_large_values, merge=True, on_new_tape="interpret", compile_after=1000)
    agree(refuses_large_values, merged, [p[:4] for p in POINTS])
    with pytest.raises(ValueError, match="four values at most"):
        td.gradient(merged, np.ones(6))
    agree(refuses_large_values, merged, [p[:3] for p in POINTS])
    assert merged._recorder.merging.failed is None
    assert len(merged._cache.all()) == 2, "one for each length"


def has_a_long_condition(x):
    v = x[0] + x[1]
    return (np.exp(np.exp(np.sin(np.exp(np.sin(np.exp(np.sin(v))))))) if v > 0 else v) * x[2]


def asks_a_number(x):
    return x[1] if x[0] else x[2]


def doubled_near_one(v):
    return 2.0 * v if math.isclose(v, 1.0) else v


def calls_what_asks_whether_numbers_are_close(x):
    return (doubled_near_one(x[1]) if x[0] > 0 else x[2]) * x[3]


def reads_more_each_time(x):
    total = 0.0
    for i in range(210):
        rate = x[0] * x[0]
        for j in range(i):
            rate = rate + 0.1 * x[1] * x[1] / (1.5 + 0.1 * i - 0.05 * j)
        total = total + np.log(rate)
    return total


def needs_what_a_mask_selects(x):
    return np.sum(np.diff(x[x > 0]) ** 2)


@pytest.mark.slow
@np.errstate(all="ignore")
def test_every_rule_keeps_a_trap_out(monkeypatch):
    met = set()
    with monkeypatch.context() as patch:
        patch.setattr(record, "LONG", 12_000)
        merged = td.GuardedTape(reads_more_each_time)
        td.gradient(merged, POINTS[0])
        met |= {breach.rule for breach in merged._recorder.merging.functions.refused.values()}
        assert "turns" in met
    others = [needs_what_a_mask_selects, has_a_long_condition, asks_a_number, calls_what_asks_whether_numbers_are_close, *choice_programs.CHOICES[:1]]
    for f in [*others, divides_by_a_number_that_is_zero, unbound_on_one_side, *TRAPS]:
        merged = td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000)
        for x in POINTS[:2]:  # what is refused is known at the second path
            with contextlib.suppress(ZeroDivisionError, UnboundLocalError):
                td.gradient(merged, x)
        met |= {breach.rule for breach in merged._recorder.merging.functions.refused.values()}
        if met == {*RULES}:
            break
    assert set(RULES) - met == set()
