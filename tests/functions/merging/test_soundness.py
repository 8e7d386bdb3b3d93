"""Merged forms are right by their rules alone: here nothing compares them with the plain function."""

import functools

import numpy as np
import pytest

import tapediff as td
from tapediff.targets.guarded.merging import Merging
from tests.functions.merging import binding_traps, choice_programs, outside_state_programs, traps
from tests.functions.merging.test_merging import POINTS, agree
from tests.random_programs.branching import function_of
from tests.random_programs.stateful_branching import faults_of, outcome


@pytest.fixture(autouse=True)
def unchecked(monkeypatch):
    """Leave out the comparison of merged tapes with the plain function."""
    monkeypatch.setattr(Merging, "check", lambda *_: None)


def follows(f, points=POINTS):
    for order in (points, points[::-1]):
        agree(f, td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000), order)


@pytest.mark.parametrize("place", [traps.in_a_while, traps.in_a_branch])
def test_objects_with_code_of_their_own_keep_loops_and_branches_as_they_are(place):
    for make, added in traps.EFFECTS:
        follows(place(make, added), POINTS[:3])


@pytest.mark.parametrize("read", outside_state_programs.STATES, ids=lambda read: read.__name__)
def test_what_a_merged_body_reads_besides_its_arguments_may_change(read):
    for form in outside_state_programs.FORMS:
        f = form(read, outside_state_programs.STATES[read])
        agree(f, td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000), POINTS[:3])


@pytest.mark.parametrize("f", outside_state_programs.OTHERS, ids=lambda f: f.__name__)
def test_equal_code_and_views_are_not_taken_for_what_they_resemble(f):
    follows(f, POINTS[:4])


def test_indices_with_code_of_their_own_keep_branches():
    follows(traps.index_with_code_of_its_own)


@pytest.mark.parametrize("f", traps.ALIASES, ids=lambda f: f.__name__)
def test_arrays_that_a_loop_hands_on_are_not_written_to(f):
    for write in traps.WRITES if f.__name__.endswith("then_written") else [None]:
        follows(functools.wraps(f)(lambda x, write=write: f(x, write)), POINTS[:4])


@pytest.mark.parametrize("f", [*traps.NUMBERS, *choice_programs.CHOICES], ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_numbers_that_become_data_are_computed_with_as_python_does(f):
    merged = td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000)
    for x in (POINTS[1], *POINTS[:-2]):
        try:
            expected = f(x)
        except ZeroDivisionError as error:
            with pytest.raises(type(error)):
                td.gradient(merged, x)
        else:
            agree(f, merged, [x])
            assert np.signbit(merged(x)) == np.signbit(expected)


@pytest.mark.parametrize("f", traps.HALVES, ids=lambda f: f.__name__)
def test_bools_of_numpy_are_computed_with_in_half_precision(f):
    follows(f, POINTS[:4])


@pytest.mark.parametrize("f", binding_traps.TRAPS, ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_names_are_bound_and_expressions_evaluated_as_often_and_when_python_does(f):
    """Values of plain Python, gradients of plain recordings; whoever raises an error raises the same one."""
    merged = td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000)
    for x in (*np.random.default_rng(5).normal(size=(4, 4)), np.array([0.0, -0.0, 0.5, 1.0]), np.ones(4)):
        expected, own = outcome(lambda x=x: f(x)), outcome(lambda x=x: td.value_and_gradient(td.record(f, x), x))
        found = outcome(lambda x=x: td.value_and_gradient(merged, x))
        if isinstance(own, Exception):
            assert type(found) is type(own)
        else:
            np.testing.assert_allclose(found[0], expected, rtol=1e-12)
            np.testing.assert_allclose(found[1], own[1], rtol=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_with_state_follow_their_paths(seed):
    text, faults, _ = faults_of(seed, 6)
    assert not faults, text + "\n".join(faults)


@pytest.mark.parametrize(("kind", "seed"), [("unusual", 1), ("unusual", 1004), ("mixed", 3), ("idioms", 84), ("idioms", 143), ("effects", 3084)])
def test_random_programs_of_unusual_kinds_follow_their_paths(kind, seed):
    text, faults, _ = faults_of(seed, 3, kind=kind)
    assert not faults, text + "\n".join(faults)


def test_names_that_stand_for_something_else_later_are_looked_up_again():
    f = function_of("""
import numpy as np
largest, calls = max, []
def noted(a, b):
    calls.append(a)
    return a - b
def f(x):
    s = 0.0
    for v in x:
        s = s + largest(v, 0.5)
    return s * (1.0 + len(calls) * 0.0)
""")
    merged = td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000)
    agree(f, merged, POINTS[:3])
    f.__globals__["largest"] = f.__globals__["noted"]
    agree(f, merged, [x[:4] for x in POINTS[:3]])


def test_variables_of_comprehensions_hide_globals():
    f = function_of("""
import numpy as np
tanh = np.tanh
def f(x):
    calls = []
    def log(v):
        calls.append(v)
        return v
    s = sum([(tanh(v) if v > 0 else 0.1 * v) for tanh in [log] for v in x])
    return s * len(calls)
""")
    follows(f)
