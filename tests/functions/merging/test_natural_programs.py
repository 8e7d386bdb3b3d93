"""Programs as people write them have one tape for all paths, and the traps of what lets them get the answers of their paths."""

import numpy as np
import pytest

import tapediff as td
from tapediff.functions.merging import plain_numbers
from tapediff.functions.merging.prepare import known_forms
from tapediff.functions.merging.regions import region_calls
from tapediff.functions.merging.run_time import run_time
from tapediff.recording import aliases
from tapediff.targets.guarded.merging import Merging
from tests.functions.merging import natural_programs as programs
from tests.functions.merging.natural_programs import MERGE, TRAPS
from tests.functions.merging.test_merging import POINTS, agree


def recorded(f):
    return td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000)


@pytest.mark.parametrize("f", [*MERGE, *TRAPS], ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_every_program_gives_the_answers_of_its_paths(f):
    merged = recorded(f)
    agree(f, merged, [*POINTS, *POINTS[:2]])
    if f in MERGE:
        assert merged._recorder.merging.failed is None
        assert len(merged._cache.all()) == 1, merged.explain()
    else:
        agree(f, recorded(f), POINTS[4:1:-1])


def best_index(x):
    best, value = None, -1e9
    for k in range(6):
        if x[k] > value:
            best, value = k, x[k]
    return x[best] * 2.0 + value


def best_index_as_advised(x):
    best, value = 0, -1e9
    for k in range(6):
        if x[k] > value:
            best, value = k, x[k]
    return x[best] * 2.0 + value


def test_the_advice_for_an_index_is_one_that_merges():
    tapes = {}
    for f in (best_index, best_index_as_advised):
        merged = recorded(f)
        agree(f, merged, POINTS)
        tapes[f] = len(merged._cache.all())
        is_advised = "let it be an int from the start" in merged.explain()
        assert is_advised == (f is best_index)
    assert tapes[best_index] > 1
    assert tapes[best_index_as_advised] == 1


# What would be if a rule were taken out, and a program that is wrong then.
WITHOUT = {
    "beside": ([(run_time, "is_wide", lambda _: True), (plain_numbers, "unlike_python", lambda _: None)], [
        programs.steps_beside_float32, programs.steps_beside_what_is_float32_at_times,
    ]),
    "in place": ([(region_calls, "holds", lambda _: False), (aliases, "holds", lambda _: False)], [
        programs.adds_in_place_after_it, programs.adds_to_the_other_name, programs.writes_in_another_function,
        programs.adds_to_the_first_array, programs.adds_to_what_a_loop_gives,
    ]),
}


@pytest.mark.parametrize("rule", WITHOUT)
@np.errstate(all="ignore")
def test_a_rule_that_is_taken_out_lets_a_wrong_answer_in(monkeypatch, rule):
    changes, wrong = WITHOUT[rule]
    for where, name, instead in changes:
        monkeypatch.setattr(where, name, instead)
    monkeypatch.setattr(Merging, "check", lambda *_: None)
    monkeypatch.setattr(known_forms, "MOST_FORMS", 0)
    for f in wrong:
        with pytest.raises(AssertionError):
            agree(f, recorded(f), POINTS)
