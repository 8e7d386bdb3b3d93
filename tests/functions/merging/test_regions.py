"""Branches of plain Python as sub-tapes: one tape for all paths where that changes nothing, and no wrong answers anywhere."""

import ast

import numpy as np
import pytest

import tapediff as td
from tapediff.functions.captured.outside_state import OutsideState
from tapediff.functions.merging import purity, rewrite
from tapediff.functions.merging.prepare import known_forms
from tapediff.functions.merging.regions import region_calls, region_run_time, region_values, regions
from tapediff.functions.merging.run_time import run_time
from tapediff.targets.guarded import merging
from tests.functions.merging import outside_state_programs as states
from tests.functions.merging import region_programs as programs
from tests.functions.merging.outside_state_programs import FORMS, STATES
from tests.functions.merging.region_programs import REGIONS, TRAPS
from tests.functions.merging.test_merging import POINTS, agree
from tests.random_programs.branching import function_of, points
from tests.random_programs.regions import Program


@pytest.mark.parametrize("f", [*REGIONS, *TRAPS], ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_every_program_gives_the_answers_of_its_paths(f):
    merged = td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000)
    agree(f, merged, [*POINTS[:5], POINTS[0]])


@pytest.mark.parametrize("f", REGIONS, ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_few_tapes_serve_all_paths(f):
    merged = td.GuardedTape(f, merge=True)
    rng = np.random.default_rng(0)
    agree(f, merged, [POINTS[7], *rng.normal(size=(4, 6))])
    assert merged._recorder.merging.failed is None
    assert len(merged._cache.all()) == 1, merged.explain()


def nothing(*_):
    return None


def never(*_):
    return False


def always(*_):
    return True


def last(*values):
    return values[-1]


RUN_TIME, REGION = run_time.RunTime, region_run_time.RegionCalls

# What would be if a rule were taken out: what to put in its place, and the programs that are wrong then. Most rules that are not here have a
# second one behind them.
WITHOUT = {
    "operators": ({(RUN_TIME, "operand"): last}, [
        programs.multiplies_in_a_method, programs.asks_for_truth_in_a_method, programs.compares_in_a_method,
    ]),
    "entries": ({(RUN_TIME, "entry"): lambda _, __, array, index: array[index]}, [programs.looks_up_in_a_method]),
    "attributes": ({(RUN_TIME, "attribute"): lambda _, __, owner, name: getattr(owner, name)}, [programs.asks_a_property]),
    "functions": ({(RUN_TIME, "_pure_helper"): last, (OutsideState, "is_same"): always}, [
        programs.calls_a_method_with_state, programs.calls_a_function_that_counts_by_default, programs.calls_a_closure_that_counts,
    ]),
    "methods": ({(RUN_TIME, "pure_method"): lambda _, __, owner, name, ___: getattr(owner, name), (region_values, "is_operand"): always},
                [programs.draws]),
    "what goes in": ({(region_values, "is_operand"): always, (RUN_TIME, "sequence"): last}, [programs.goes_on_with_an_iterator]),
    "iteration": ({(RUN_TIME, "sequence"): last, (RUN_TIME, "operand"): last},
                  [programs.goes_through_in_a_method, programs.unpacks_in_a_method]),
    "in place": ({(REGION, "in_place"): nothing}, [programs.adds_to_a_list_by_another_name]),
    "named tuples": ({(purity, "_OF_RECORDS"): frozenset([*purity._OF_RECORDS, "__add__"])}, [programs.adds_a_named_tuple]),
    "statements": ({(regions, "check_statements"): nothing}, [programs.stores_on_an_object]),
    "identity": ({(region_values, "identities_matter"): lambda: False, (regions, "compares_identities"): never,
                  (rewrite, "_asks_identity"): lambda *_: False}, [programs.asks_which_tuple_it_is]),
    "numbers": ({(regions, "flags"): lambda use, further=0: ast.Constant(7 + further)}, [programs.adds_bools]),
    "globals": ({(region_calls.Frozen, "changed_global"): nothing, (OutsideState, "is_same"): always}, [programs.changes_a_global_between]),
    "state": ({(OutsideState, "is_same"): always}, [
        form(read, STATES[read]) for read in (states.attribute_of_class, states.slot, states.variable_of_a_closure) for form in FORMS
    ]),
    "large arrays": ({(OutsideState, "are_arrays_same"): always}, [form(states.large_array, states.change_large) for form in FORMS[:2]]),
    "views": ({(purity, "_FIXED"): {*purity._FIXED, type({}.values())}}, [states.view_of_a_dict]),
    "modules": ({(region_run_time, "id"): nothing}, [states.equal_helpers_of_two_modules]),
    "constants": ({(region_values, "_is_simple"): always},
                  [programs.reads_a_list_that_changes, programs.calls_a_method_of_an_object_that_changes]),
}  # fmt: skip


@pytest.mark.parametrize("rule", WITHOUT)
@np.errstate(all="ignore")
def test_a_rule_that_is_taken_out_lets_a_wrong_answer_in(monkeypatch, rule):
    changes, wrong = WITHOUT[rule]
    monkeypatch.setattr(purity, "_is_plain_kind", purity._is_plain_kind.__wrapped__)  # not kept
    for (where, name), instead in changes.items():
        monkeypatch.setattr(where, name, instead, raising=name != "id")
    # Merged forms are not compared with the plain function, which would give them up.
    monkeypatch.setattr(merging.Merging, "check", nothing)
    monkeypatch.setattr(known_forms, "MOST_FORMS", 0)
    for f in wrong:
        merged = td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000)
        with pytest.raises(AssertionError):
            agree(f, merged, POINTS)


@pytest.mark.parametrize("seed", [10006, 10014, 20003, 20048])
@np.errstate(all="ignore")
def test_random_programs_give_the_answers_of_their_paths(seed):
    f = function_of(Program(seed).text())
    merged = td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000, max_tapes=1000)
    agree(f, merged, points(seed, 4))


@np.errstate(all="ignore")
def test_an_error_in_a_region_is_pythons_own():
    f = programs.an_entry_that_there_is_not
    merged = td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000)
    agree(f, merged, [*POINTS[:2], *POINTS[3:6]])
    with pytest.raises(IndexError, match="index 6 is out of bounds"):
        td.gradient(merged, POINTS[2])
    agree(f, merged, POINTS[3:6])
