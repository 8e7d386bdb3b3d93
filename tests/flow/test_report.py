"""Reports: every guard has its line, the line of its cause and what to write instead; merged branches are counted by line."""

from __future__ import annotations

import ast
import inspect
import json
import linecache
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import tapediff as td
from flow import test_guards
from flow.one_tape import POINTS
from flow.running import Log, loaded
from tapediff import flow
from tapediff.base.settings import settings
from tapediff.flow import flowed, operators, translated_text
from tapediff.flow.merged import MergeFailed
from tapediff.flow.report import Report


def report_of(f, p=POINTS[0]):
    """The report of one recording."""
    g = flowed(f)
    td.record(g, p.copy())
    return g.report


# Branches of every kind, in one that cannot be undone


def by_elif(x):
    s = 0.0
    for v in x:
        if v > 9.0:
            s += v
        elif v < 0.0:  # guard
            print(end="")  # cause
            s -= v
        else:
            s += 2.0 * v
            s += 1.0
    return s


def by_a_long_test(x):
    s = x[0]
    if (  # guard
        s > 0.1
        and x[1] < 5.0
    ):
        s *= 2.0
        print(end="")  # cause
        s += 1.0
    else:
        s = -s
    return s


def by_an_expression(x):
    s = x[0] if x[1] > 9.0 else 0.0
    s += (
        x[0] if x[1] < 2.0 else print(end="") or 1.0  # guard cause
    )
    return s


def by_a_break(x):
    s = 0.0
    for v in x:
        if v < -9.0:
            break
        s += v
    else:
        print(end="")  # cause
        s *= 3.0
    return s


def by_a_loop(x):
    kept, t = {}, abs(x[0]) + 1.0
    while t > 0.1:  # guard cause
        kept[len(kept)] = [t]
        t *= 0.6 if x[1] > 0 else 0.7
    return sum(map(sum, kept.values()))


def within_a_with(x):
    s = 0.0
    with np.errstate(over="ignore"):
        if x[0] > 0.0:  # guard
            with test_guards.LOCK:  # cause
                s += x[0]
        s += x[1]
    return s


class Meter:
    def add(self, v):
        if v > 1.0:  # guard
            self.alarm()
        return v

    def alarm(self):
        print(end="")  # cause


def by_methods(x):
    meter = Meter()
    return sum([meter.add(v) for v in x])


def by_a_lambda(x):
    step = lambda v: print(end="") or v if v > 0 else -v  # guard cause
    return step(x[0]) + step(x[1])


def by_a_generator(x):
    def steps():
        for v in x:
            if v > 0:  # guard cause
                yield v
            else:
                yield -v

    given = steps()
    return next(given) + sum(given)


def by_objects(x):
    best = None
    for k in range(60):
        if x[k % 6] > 0.01 * k:  # guard cause
            best = object()
    return x[0] + (best is None)


def by_an_iterator(x):
    s, given = 0.0, map(abs, x)
    for v in given:  # guard cause
        if v > 1:
            break
    for v in given:
        s += v
    return s


def by_a_part_of_a_header(x):
    s = 0.0
    for v in (  # guard
        x[0],
        x[0] if x[1] < 0.2 else print(end="") or 1.0,  # cause
    ):
        s += v
    return s


BRANCHES = [
    (by_elif, "print() may change something outside"),
    (by_a_long_test, "print() may change something outside"),
    (by_a_part_of_a_header, "print() may change something outside"),
    (by_an_expression, "print() may change something outside"),
    (by_a_loop, "a dict of new objects changes its length in a loop"),
    (within_a_with, "the `with` of a lock may change something outside"),
    (by_a_lambda, "print() may change something outside"),
    (by_a_generator, "Python needs a data-dependent value here"),
    (by_an_iterator, "the end of a loop over a generator or an iterator depends on data"),
    (by_objects, "a value may be one of more than 48 things"),
]


def marked(f, mark):
    """The lines of a function with a word in their comment, as the report writes them."""
    lines, first = inspect.getsourcelines(f)
    return {f"test_report.py:{first + k}" for k, text in enumerate(lines) if mark in text.partition("  # ")[2]}


@pytest.mark.parametrize(("program", "what"), BRANCHES, ids=lambda p: getattr(p, "__name__", ""))
def test_a_guard_has_the_line_of_its_test_and_of_its_cause(program, what):
    """Each with what to write instead."""
    told = [each for p in POINTS[:6] for each in report_of(program, p).as_dict()["guards"] if each["what"].startswith(what)]
    assert told
    for each in told:
        assert each["instead"]
        assert each["line"].split()[0] in marked(program, "cause")
        assert {at.split()[0] for at in each["at"]} <= marked(program, "guard")
        assert each["line"].split()[-1] in (program.__name__, "<lambda>" if program is by_a_lambda else "steps")


@pytest.mark.parametrize("program", [p for p, _ in test_guards.PROGRAMS] + [p for p, _ in BRANCHES] + [by_a_break, by_methods])
def test_every_guard_of_a_tape_has_a_reason_at_its_own_line(program):
    """None is left out, and none is there that the tape has not; also after its passes in a GuardedTape."""
    for p in POINTS[:4]:
        g = flowed(program)
        tape = td.record(g, p.copy())
        assert [(guard.ordinal, str(guard.site)) for guard in tape.guards] == [(k, str(at)) for k, (at, _) in g.report.guards.items()]


def test_the_cause_may_be_in_another_function():
    """In a method that a method calls."""
    (each,) = report_of(by_methods, POINTS[0] + 1.5).as_dict()["guards"]
    assert each["line"] == f"{marked(Meter.alarm, 'cause').pop()} in alarm"
    assert set(each["at"]) == {f"{marked(Meter.add, 'guard').pop()} in add"}


# What is merged


def huber(x):
    s = 0.0
    for v in x:
        if abs(v) < 1.0:
            s += 0.5 * v * v
        else:
            s += abs(v) - 0.5
    return s


def modes(x):
    mode, s = "fill", 0.0
    for v in x:
        if mode == "fill":
            s += v
            if s > 1.0:
                mode = "drain"
        else:
            s -= v
    return s


def halved(x):
    t, s = abs(x[0]) + 1.0, 0.0
    while t > 0.2:
        if t > x[1]:
            s += t
        t *= 0.5
    return s


def long_loop(x):
    s = x[0]
    for v in np.linspace(0.0, 1.0, 5000):
        s += v * x[1] if s > x[2] else v * x[3]
    return s


def found(f, p=POINTS[0]):
    first = inspect.getsourcelines(f)[1]
    merged = report_of(f, p).as_dict()["merged"]
    return {(int(m["line"].split(":")[1].split()[0]) - first, m["form"]): (m["times"], m["iterations"]) for m in merged}


def test_branches_are_counted_by_line():
    """As often as they are computed, whatever the point."""
    for p in POINTS[:4]:
        assert found(huber, p) == {(3, "select"): (6, None)}
    assert found(modes)[5, "choice"] == (6, None)


def test_a_loop_is_counted_once_however_often_it_was_tried():
    """Its body is recorded again and again until its carries are known; branches in it are counted once."""
    assert found(halved) == {(2, "loop"): (1, None), (3, "select"): (1, None)}
    (loop,) = [each for (_, form), each in found(long_loop).items() if form == "loop"]
    assert loop[0] == 1
    assert loop[1] > 4900


def test_a_loop_recorded_iteration_by_iteration_tells_why():
    """The reason is that of the loop that could not be one instruction."""
    (each,) = report_of(by_a_loop).as_dict()["iterations"]
    assert each["loop"] == each["line"]
    assert each["what"] == "a dict of new objects changes its length in a loop"
    assert each["instead"]


def raises(x):
    s = 0.0
    for v in x:
        if v > 100.0:
            raise ValueError(v)  # cause
        if v < -100.0:
            s = v / (0.0 if v < -200.0 else 1.0)
        s += v if v > 0 else 2.0 * v
    return s


def test_errors_are_not_among_what_parts_tapes():
    """The plain function raises them there, too; they come last."""
    report = report_of(raises)
    assert all(reason.raises for _, reason in report.guards.values())
    lines = report.lines()
    assert lines[0] == "merged"
    assert f"  {marked(raises, 'cause').pop()} in raises: ValueError is raised" in lines


# Recordings of one path


def large(x):
    n = 1
    for v in x:
        n = n * (2 if v > -9.0 else 3**20)  # cause
    return x[0] * (n % 7)


def test_a_recording_of_one_path_tells_why():
    """Nothing is merged then, and all guards are due to that."""
    g = flowed(large)
    tape = td.record(g, POINTS[0].copy())
    told = g.report.as_dict()
    assert told["only"]["what"] == "an int may be too large for 64 bits"
    assert told["only"]["line"] == f"{marked(large, 'cause').pop()} in large"
    assert told["guards"] == told["merged"] == []
    assert tape.guards
    assert not g.report.guards


def of_the_last_object(x):
    for k in range(3000):
        last = [x[k % 6] * k]
    return last[0]


def of_an_unknown_type(x):
    return x[0] if type((x[0] > 0) | (x[1] > 0)) is bool else x[1]


def of_a_method_of_floats(x):
    s = x[0] if x[1] > 9 else 1.0
    return x[0] * float.fromhex(s.hex())


@pytest.mark.parametrize(
    ("program", "what", "instead"),
    [
        (of_the_last_object, "an object that an iteration of a loop makes is read in the next one or after the loop", "keep numbers, not the object"),
        (of_an_unknown_type, "code needs a number's type, Python's or NumPy's, which depends on data", "convert the number with float() before"),
        (of_a_method_of_floats, "float64.hex is not available on tracked arrays", "not supported; docs/supported.md lists what is"),
    ],
    ids=["object", "type", "method"],
)  # fmt: skip
def test_a_refusal_is_told_with_what_to_write_instead(program, what, instead):
    """Those of recordings, too."""
    assert report_of(program).lines()[2:4] == [f"    {what}", f"    Instead: {instead}"]


def test_code_without_a_source_tells_so():
    """Its own branches are guards, by its own lines."""
    text = "def twice(v):\n    return 2 * v if v > 0 else -v\n\ndef main(x):\n    return twice(x[0]) + twice(x[1])\n"
    module = loaded(text, Log())
    linecache.cache.pop(module.__file__)
    told = report_of(module.main).as_dict()
    assert {each["what"].split(":")[0] for each in told["guards"]} == {"twice() is not translated"}
    assert sum(len(each["ordinals"]) for each in told["guards"]) == 2


def test_code_without_a_source_may_check_a_type_that_depends_on_data():
    """The refusal tells why there is none."""
    module = loaded("def twice(v):\n    return 2 * v\n", Log())
    linecache.cache.pop(module.__file__)
    twice = module.twice
    each = report_of(lambda x: twice(1 if x[0] > 0 else 2.0) * x[1]).as_dict()["only"]
    assert each["what"].startswith("twice() is not translated, and may check the type of a number, which depends on data: ")
    assert each["what"].endswith("cannot be read")


def test_a_report_is_of_the_last_recording():
    """Recordings share nothing; a tape that is evaluated changes nothing."""
    g = flowed(lambda x: x[0] if x[1] > 0 else print(end="") or x[2])
    tape = td.record(g, POINTS[0].copy())
    first = g.report.as_dict()
    tape(POINTS[0])
    assert g.report.as_dict() == first
    td.record(g, POINTS[1].copy())
    assert g.report.as_dict()["guards"] == first["guards"]


def test_reports_are_for_programs_too():
    """Of plain values only."""
    for program in (by_elif, by_a_loop, halved, large, raises):
        told = report_of(program).as_dict()
        assert json.loads(json.dumps(told)) == told


def after_the_branch(x):
    t, s = abs(x[0]) + 1.0, 0.0
    mode = "low" if t < 2.0 else "high"
    for v in x:
        s += v if v > 0.0 else 2.0 * v
    if s > 99.0:
        print("high")
        s = 0.0
    while t > 0.1:
        t *= 0.5
    if s < -99.0:
        raise ValueError(s)
    return s * t if mode == "low" else s


def test_the_text_tells_the_main_cause_first():
    """The whole text."""
    first = inspect.getsourcelines(after_the_branch)[1]
    assert report_of(after_the_branch).lines() == [
        "1 guard: where one comes out otherwise, a tape of its own is needed",
        f'  test_report.py:{first + 6} in after_the_branch: `print("high")`',
        "    print() may change something outside, which cannot be undone where the branch is not taken",
        "    Instead: call it before or after the branch",
        f"    guards: test_report.py:{first + 5} in after_the_branch (1)",
        "merged",
        f"  test_report.py:{first + 2} in after_the_branch: both sides are computed, and objects are chosen, 1 time",
        f"  test_report.py:{first + 4} in after_the_branch: both sides are computed, and numbers are chosen, 6 times",
        f"  test_report.py:{first + 8} in after_the_branch: one loop instruction, 3 carries, ended by data, 1 time",
        f"  test_report.py:{first + 12} in after_the_branch: both sides are computed, and objects are chosen, 1 time",
        f"  test_report.py:{first + 12} in after_the_branch: both sides are computed, and numbers are chosen, 1 time",
        "errors that the plain function raises, too",
        f"  test_report.py:{first + 11} in after_the_branch: ValueError is raised",
    ]
    assert Report().lines() == []


def many_causes(x):
    s = 0.0
    s += (x[0] > 0 and print(end="")) or 1.0
    s += (x[1] > 0 and print(end="")) or 1.0
    s += (x[2] > 0 and print(end="")) or 1.0
    s += (x[3] > 0 and print(end="")) or 1.0
    s += (x[4] > 0 and print(end="")) or 1.0
    s += (x[5] > 0 and print(end="")) or 1.0
    s += (x[0] > x[1] and print(end="")) or 1.0
    s += (x[0] > x[2] and print(end="")) or 1.0
    s += (x[0] > x[3] and print(end="")) or 1.0
    s += (x[0] > x[4] and print(end="")) or 1.0
    return s + x[0]


def test_the_text_fits_on_a_screen():
    """Of many causes some are listed."""
    lines = report_of(many_causes).lines()
    assert "  and 2 more" in lines
    assert len(lines) < 40


def test_every_refusal_says_what_to_write_instead():
    """In the interpreter's own text: a sentence on what the program does, and a second one."""
    calls = Counter()
    for file in Path(flow.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Unjoinable", "refuse", "decide"):
                calls[node.func.id] += 1
                is_whole = len(node.args) >= 2 or any(isinstance(argument, ast.Starred) for argument in node.args)
                assert is_whole, f"{file}:{node.lineno}"
    assert calls["Unjoinable"] > 20


STRAIGHT = [
    "if s: s = 1", "for v in x: break", "while s: continue", "def g(): return 1", "try: s = 1\n        except ValueError: s = 2", "with s: s = 1",
]  # fmt: skip
ENDING = [
    "if s: return s", "if s: break", "if s: raise s", "for v in x: return s", "for v in x: pass\n        else: continue", "while s: raise s",
    "try: s = 1\n        except ValueError: break", "with s: continue", "match s:\n            case 1: break",
]  # fmt: skip


@pytest.mark.parametrize(("statement", "is_split"), [*((s, False) for s in STRAIGHT), *((s, True) for s in ENDING)])
def test_blocks_are_split_after_statements_that_may_end_them(statement, is_split):
    """And after no others: each part is a function."""
    text = f"def main(x):\n    s = x\n    for w in x:\n        {statement}\n        s = w\n    return s\n"
    assert ("_flow_.sequence(" in translated_text(loaded(text, Log()).main)) is is_split


def test_a_translated_function_can_be_read():
    """As text; where there is none, why."""
    text = translated_text(huber)
    assert text.startswith("def _function_(x):")
    assert "_flow_.if_(" in text
    assert compile(text, "huber", "exec")
    assert "_flow_.if_(" in translated_text(Meter().add)
    assert translated_text(abs) == "# not translated: it is not a function in Python"
    namespace = {}
    exec("def f(x):\n    return x", namespace)
    assert translated_text(namespace["f"]).startswith("# not translated: ")


@pytest.mark.parametrize("is_raised", [False, True], ids=["recorded_path_by_path", "raised"])
def test_errors_of_this_package_are_raised_where_tests_run(is_raised, monkeypatch):
    """Without the setting they cost recordings only, and nobody would see them."""

    def attribute(value, name):
        raise KeyError(name)

    def f(x):
        s = x[0] if x[1] > 0 else x[2]
        return s * x.size

    monkeypatch.setattr(settings, "raise_failures", is_raised)
    monkeypatch.setattr(operators, "attribute", attribute)
    safe = td.GuardedTape(f)
    if is_raised:
        with pytest.raises(MergeFailed, match="KeyError"):
            safe(np.ones(3))
    else:
        assert safe(np.ones(3)) == 3.0
        assert "KeyError is raised where both sides of branches are run" in safe.explain()
