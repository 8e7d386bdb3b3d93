"""Lists, dicts and objects of a function's own as variables: the same answers, to the bit, errors of Python's own, and traps for every rule."""

import sys
import types
import warnings

import numpy as np
import pytest

import tapediff as td
from tapediff.functions.merging import purity
from tapediff.functions.merging.prepare import known_forms
from tapediff.functions.merging.prepare.containers import as_variables, called_function, own_containers, records, uses
from tapediff.functions.merging.prepare.containers import methods as inlined
from tapediff.functions.merging.prepare.containers.nested import known_entries, lists_of_containers
from tapediff.functions.merging.run_time.container_calls import ContainerCalls
from tapediff.targets.guarded import merging
from tapediff.targets.guarded.merging import Merging
from tapediff.targets.guarded.paths.recordings import AllRecordings
from tests.functions.merging import container_programs as programs
from tests.functions.merging import method_programs as methods
from tests.functions.merging import nested_programs as nested
from tests.functions.merging.test_merging import POINTS, agree
from tests.random_programs.branching import function_of
from tests.random_programs.containers import ContainerProgram, with_variables
from tests.random_programs.stateful_branching import faults_of, outcome, points

nothing = lambda *_: None


def recorded(f):
    return td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000)


@np.errstate(all="ignore")
def test_variables_compute_what_containers_do_to_the_bit():
    """As plain Python, with nothing merged or recorded."""
    found = 0
    for seed in range(40):
        text = ContainerProgram(seed).text()
        f = function_of(text)
        rewritten = with_variables(f)
        found += rewritten is not None
        for x in points(seed, 4) if rewritten is not None else []:
            expected, got = outcome(lambda: f(x.copy())), outcome(lambda: rewritten(x.copy()))
            is_error = isinstance(expected, Exception)
            assert type(expected) is type(got) or {type(expected), type(got)} == {int, float}, text
            # NumPy adds in another order than a sum that is kept.
            is_close = "(g)" in text and not is_error and np.allclose(expected, got, rtol=1e-13, equal_nan=True)
            assert is_error or is_close or repr(expected) == repr(got), text
    assert found > 25


@pytest.mark.parametrize("seed", [13, 26, 1020])
@np.errstate(all="ignore")
def test_random_programs_with_containers_follow_their_paths(seed):
    text, faults, _ = faults_of(seed, 3, kind="containers")
    assert not faults, text + "\n".join(faults)


def beyond_the_end(x):
    levels, k = [0.5, 1.0, 2.0], 0
    for v in x:
        if v > 0.35:
            k += 1
    return levels[k] * x[0]


def no_such_key(x):
    rates, k = {1: 0.5, 2: 1.0}, 1
    for v in x:
        if v > 1.0:
            k += 1
        elif v < -1.0:
            k -= 1
    return rates[k] * x[0]


def largest_of_none(x):
    kept = []
    for v in x:
        if v > 0.9:
            kept.append(v)
    return max(kept) + x[0]


def last_of_none(x):
    kept = []
    for v in x:
        if v > 0.9:
            kept.append(v)
    return kept[-1] + x[0]


def beyond_an_array(x):
    y, e, k = td.zeros(3), abs(x[0]) + abs(x[1]), 0
    while e > 0.3:
        y[k] = e * x[2]
        e, k = e * 0.6, k + 1
    return np.sum(y) + e


@pytest.mark.parametrize(("f", "error"), [(beyond_an_array, IndexError), (largest_of_none, ValueError), (last_of_none, IndexError), (beyond_the_end, IndexError), (no_such_key, KeyError)])
def test_an_entry_that_there_is_not_is_an_error_of_pythons(f, error):
    merged = recorded(f)
    failing = [x for x in POINTS if isinstance(outcome(lambda x=x: f(x)), error)]
    others = [x for x in POINTS if not isinstance(outcome(lambda x=x: f(x)), error)]
    assert failing
    agree(f, merged, others[:2])
    for x in failing:
        with pytest.raises(error):
            td.gradient(merged, x)
    agree(f, merged, others)
    assert merged._recorder.merging.failed is None
    assert len(merged._cache.all()) == 1, merged.explain()


def test_a_class_that_changes_is_looked_at_again(monkeypatch):
    f, merged = programs.fills_a_tank, recorded(programs.fills_a_tank)
    agree(f, merged, POINTS[:3])

    def init(self, level, spilled=0.0):
        self.level, self.spilled = level * 2.0, spilled

    monkeypatch.setattr(programs.Tank, "__init__", init)
    agree(f, merged, [x[:5] for x in POINTS[:3]])


@pytest.mark.parametrize("kept", [True, False])
def test_a_method_that_changes_is_looked_at_again(monkeypatch, kept):
    """Also what it refers to; if that is not noticed, answers are wrong."""
    f = methods.bounces
    # Else the function is recorded anew as soon as what it reads has changed.
    monkeypatch.setattr(AllRecordings, "changed", nothing)
    if not kept:
        monkeypatch.setattr(records, "_behaviour", lambda _: [])
        monkeypatch.setattr(Merging, "check", nothing)
        monkeypatch.setattr(known_forms, "MOST_FORMS", 0)
        monkeypatch.setattr(merging, "TRIALS", 0)
    answers = []
    for owner, name, value in ((methods, "GRAVITY", 1.5), (methods.Particle, "drag", 0.7), (methods.Particle, "is_above", lambda *_: False)):
        records._KNOWN.clear()
        merged = recorded(f)
        agree(f, merged, POINTS[:3])
        monkeypatch.setattr(owner, name, value)
        answers.append(all(np.isclose(merged(np.r_[x, 0.0]), f(x)) for x in POINTS[:3]))
    assert all(answers) is kept
    records._KNOWN.clear()


def test_the_report_names_the_line_that_needs_a_container():
    merged = recorded(programs.changed_by_a_function)
    agree(programs.changed_by_a_function, merged, POINTS[:3])
    assert "a is used as such: bump(a); lists, dicts and objects become variables only where" in merged.explain()


# What would be if a rule were taken out, and a program that is wrong then.
WITHOUT = {
    "uses": (uses.Uses, "other", nothing, programs.changed_in_another_list),
    "aliases": (as_variables.Containers, "_changed_by_another_name", nothing, programs.by_another_name),
    "methods of classes": (records, "_is_harmless", lambda *_: True, programs.watched),
    "properties": (records, "_is_plain_attribute", lambda *_: True, programs.with_a_property_of_a_subclass),
    "loops over them": (uses.Uses, "is_gone_over", lambda *_: True, programs.while_gone_over),
    "objects seen elsewhere": (own_containers, "_seen_elsewhere", lambda *_: set(), methods.replaced_method),
    "globals of methods": (called_function, "globals_of", lambda _: (), methods.other_gravity),
    "the order of calls": (inlined.Methods, "_kept", lambda *_: [], methods.before_it_moves),
    "arguments that change": (inlined.Methods, "_stays_the_same", lambda *_: True, methods.its_own_attribute_as_an_argument),
    "methods in conditions": (inlined, "_is_certain", lambda *_: True, methods.moved_in_a_condition),
    "loops that are written out": (lists_of_containers, "_sees_later", lambda *_: False, nested.seen_by_functions_later),
    "lists that are asked whole": (known_entries, "_MAY_FAIL", (), nested.asks_no_further_ones),
    "indices": (ContainerCalls, "index", lambda _s, _p, index, *_: index, programs.from_the_end),
}


@pytest.mark.parametrize("rule", WITHOUT)
def test_a_rule_that_is_taken_out_lets_a_wrong_answer_in(monkeypatch, rule):
    owner, name, instead, f = WITHOUT[rule]
    monkeypatch.setattr(Merging, "check", nothing)
    monkeypatch.setattr(known_forms, "MOST_FORMS", 0)
    monkeypatch.setattr(merging, "TRIALS", 0)
    agree(f, recorded(f), POINTS)
    records._KNOWN.clear()
    monkeypatch.setattr(owner, name, instead)
    with pytest.raises(AssertionError):
        agree(f, recorded(f), POINTS)
    records._KNOWN.clear()


_CLASSES = """
import dataclasses, typing
class Plain:
    scale: float = 2.0
    if scale:
        shift: "Unknown"
    def method(self): return self.scale
@dataclasses.dataclass
class Data:
    scale: float
    shift: "Unknown" = 1.0
@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    scale: float = 2.0
class Record(typing.NamedTuple):
    scale: float
    shift: "Unknown" = 1.0
"""
_GENERIC = "class Generic[T]:\n scale: T = 2.0\n def method(self, v: T) -> T: return v\n"


def test_what_python_adds_to_a_class_is_known(monkeypatch):
    """Annotations, which are computed when asked for since 3.14, places, type parameters, and what dataclasses and named tuples have."""
    monkeypatch.setitem(sys.modules, "classes", types.ModuleType("classes"))
    module = vars(sys.modules["classes"])
    exec(_CLASSES + _GENERIC * (sys.version_info >= (3, 12)), module)
    kinds = [module[name] for name in ("Plain", "Data", "Frozen", "Generic") if name in module]
    for kind in kinds:
        assert purity._is_plain_kind(kind), [name for name in vars(kind) if name.startswith("__")]
    assert purity.is_record(module["Record"])
    with_code = type("WithCode", (module["Data"],), {"__replace__": lambda self, **named: self})
    assert not purity._is_plain_kind(with_code)


@pytest.mark.parametrize("line", ['label = "\\d"', "try:\n        s = s * 2.0\n    finally:\n        return s"])
def test_what_python_warned_of_when_it_compiled_a_file_is_not_said_again(line, tmp_path):
    """Nor does it keep a function from being merged where warnings are errors."""
    path = tmp_path / "warned.py"
    path.write_text(f"def f(x):\n    s = 0.0\n    for v in x:\n        if v > 0.4:\n            s = s + v * v\n        else:\n            s = s - v\n    {line}\n    return s\n")
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(path.read_text(), str(path), "exec"), names)
    guarded = td.GuardedTape(names["f"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in POINTS:
            assert guarded.value_and_gradient(x)[0] == pytest.approx(names["f"](x), rel=1e-13)
    assert "merged, as a select" in str(guarded.explain())
