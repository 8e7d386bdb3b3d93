"""Functions that are called by their names, also by themselves, are merged with plain numbers as arguments, and no number tells it."""

import numpy as np
import pytest

from tapediff.functions.merging import rewrite
from tapediff.functions.merging.prepare import known_forms
from tapediff.functions.merging.run_time import run_time
from tapediff.functions.merging.uses import contexts
from tapediff.targets.guarded.merging import Merging
from tests.functions.merging import calling_programs as programs
from tests.functions.merging.test_merging import POINTS, agree
from tests.functions.merging.test_natural_programs import recorded

# Not where a point is on a kink of the program.
SMOOTH = POINTS[:3]


@pytest.mark.parametrize("f", programs.MERGE, ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_one_tape_serves_all_paths_through_functions_that_are_called_by_their_names(f):
    merged = recorded(f)
    agree(f, merged, [*POINTS, *POINTS[:2]])
    assert merged._recorder.merging.failed is None
    assert len(merged._cache.all()) == 1, merged.explain()


@pytest.mark.parametrize("f", programs.TRAPS, ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_without_the_comparison_no_number_tells_that_it_is_data(monkeypatch, f):
    monkeypatch.setattr(Merging, "check", lambda *_: None)
    for points in (POINTS, POINTS[4:1:-1]):
        agree(f, recorded(f), points)


# What would be if rules were taken out, and programs that are wrong then.
WITHOUT = {
    "what known functions do, and what they ask": ([(contexts, "flows_through", lambda *_: []), (rewrite, "ASK_TYPES", ())], [
        programs.asks_in_a_function_of_its_own, programs.asks_in_a_recursion,
    ]),
    "functions that are not rewritten": ([(run_time, "asks_types", lambda _: False)], [
        programs.asked_by_a_function_without_source,
    ]),
    "properties": ([(run_time, "asks_types_later", lambda _: False)], [programs.asked_by_a_property]),
}  # fmt: skip


@pytest.mark.parametrize("rule", WITHOUT)
@np.errstate(all="ignore")
def test_a_rule_that_is_taken_out_lets_a_wrong_answer_in(monkeypatch, rule):
    left_out, wrong = WITHOUT[rule]
    for where, name, instead in left_out:
        monkeypatch.setattr(where, name, instead)
    monkeypatch.setattr(Merging, "check", lambda *_: None)
    monkeypatch.setattr(known_forms, "MOST_FORMS", 0)
    for f in wrong:
        with pytest.raises(AssertionError):
            agree(f, recorded(f), POINTS)
