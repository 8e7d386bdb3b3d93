"""Branches on data: one recording for all paths, whatever state their sides leave."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import pickle

import numpy as np
import pytest

import tapediff as td
from flow.one_tape import POINTS, recordings
from tapediff.flow.state import recursions


def huber(x):
    s = 0.0
    for v in x:
        if abs(v) < 1:
            s += v**2
        else:
            s += 2 * abs(v) - 1
    return s


class Clipped:
    def __init__(self):
        self._v = 0.0

    @property
    def v(self):
        return self._v

    @v.setter
    def v(self, new):
        self._v = new if new < 1.5 else 1.5

    def __add__(self, other):
        made = Clipped()
        made.v = self.v + (other if other > -1 else -1.0)
        return made


def properties_and_operators(x):
    total = Clipped()
    for v in x:
        total = total + v
    return total.v * 2


def match_and_walrus(x):
    s = 0.0
    for v in x:
        match int(v > 0) + int(v > 1):
            case 0:
                s -= v
            case 1 if (w := v * v) < 0.5:
                s += w
            case _:
                s += 1.0
    return s


def code_behind_an_end(x):
    total = 0.0
    for v in x:
        if v > 0.3:
            total += v
            continue
        else:
            if v < -1:
                break
            else:
                total -= 2 * v
                continue
        total += 100.0
    if total > x[0]:
        return total
    else:
        return x[1]
    return x[2] * 50


PROGRAMS = [
    code_behind_an_end, huber, properties_and_operators, match_and_walrus,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_one_tape_holds_all_paths(program):
    """Value and gradient are those of plain Python at 24 points, by one recording."""
    assert recordings(program) == 1


def test_records_and_copies_hold_all_paths():
    """In GuardedTape, and where it is asked for, td.record and td.compile; copies in other processes, too."""
    x, y = np.array([0.5, 2.0, -3.0]), np.array([-2.0, 0.1, 0.2])
    safe = td.GuardedTape(huber)
    for target in (safe, pickle.loads(pickle.dumps(safe)), td.record(huber, x, merge=True), td.compile(huber, x, merge=True)):
        np.testing.assert_allclose(td.gradient(target, y), [-2.0, 0.2, 0.4], rtol=1e-12)
        np.testing.assert_allclose(target(y) if callable(target) else td.value(target, y), huber(y))
    assert safe.stats.recordings == 1


def test_a_global_that_changes_is_seen():
    """What the function reads is compared at each call, as without the interpreter."""
    safe = td.GuardedTape(scaled)
    x = np.array([1.0, -2.0])
    for scale in (2.0, 5.0):
        SETTINGS["scale"] = scale
        assert safe(x) == scaled(x)


SETTINGS = {"scale": 2.0}


def scaled(x):
    s = 0.0
    for v in x:
        if v > 0:
            s += v * SETTINGS["scale"]
    return s


def test_effects_on_the_callers_objects_are_those_of_plain_python():
    """Once the recording has ended, with plain numbers as the values of a side that was run."""
    seen = []

    def f(x):
        seen.append("called")
        return x[0] if x[0] > 0 else -x[0]

    td.GuardedTape(f)(np.array([1.0]))
    assert seen == ["called"]


WITHOUT_SOURCE = {}
exec(  # so that there is no source
    """
def bump(box, v):
    box["n"] += v
    return box["n"]

class Counted:
    def __init__(self, box, v):
        self.v = v
        box["made"] += 1.0

    def __call__(self, box):
        box["called"] += 1.0
        return self.v
""",
    WITHOUT_SOURCE,
)


def function_without_source(x):
    box = {"n": 0.0}
    for v in x:
        if v > 0:
            WITHOUT_SOURCE["bump"](box, v)
    return box["n"] * 2


def class_without_source(x):
    box, s = {"made": 0.0, "called": 0.0}, 0.0
    for v in x:
        if v > 0:
            s += WITHOUT_SOURCE["Counted"](box, v)(box)
    return s + box["made"] + 2 * box["called"]


def looks_at_its_variables(x):
    log = []

    def double(v):
        locals()
        log.append(1.0)
        return v * 2

    s = 0.0
    for v in x:
        if v < 1:
            s += double(v)
    return s + sum(log)


def counts_in_numpys_ints(x):
    n, flag = np.sum(x > 0), x[0] > 1.0
    for v in x:
        if v > 0.5:
            n += 2
            flag |= v > 1.0
    return x[1] * n + (x[2] if flag else 0.0)


@pytest.mark.parametrize("program", [counts_in_numpys_ints], ids=lambda f: f.__name__)
def test_ints_and_bools_of_data_may_change_in_place(program):
    """They are tracked numbers, not the caller's ints."""
    assert recordings(program) == 1


@pytest.mark.parametrize("program", [function_without_source, class_without_source, looks_at_its_variables], ids=lambda f: f.__name__)
def test_what_is_not_translated_is_a_guard_on_a_side(program):
    """No journal notes what it changes."""
    assert recordings(program, POINTS[:12]) > 1


@dataclasses.dataclass
class Event:
    time: float
    size: float = 1.0


Pair = collections.namedtuple("Pair", "a b")


def dataclasses_and_named_tuples(x):
    best, pair = Event(0.0), Pair(0.0, 0.0)
    for v in x:
        if v > best.time:
            best = Event(v, size=v * 2)
        if v < pair.a:
            pair = Pair(v, pair.b + 1)
    return best.time * best.size + pair.a * pair.b


class Hero:
    potions = 2

    def __init__(self, health):
        self.health = health

    def step(self, v):
        if self.health < 2.0 and self.potions > 0:
            self.potions -= 1
            self.health += 1.5
        else:
            self.health -= abs(v)


def attribute_of_the_class(x):
    hero = Hero(2.5)
    for v in x:
        hero.step(v)
    return hero.health + 0.1 * hero.potions


@pytest.mark.parametrize("program", [dataclasses_and_named_tuples, attribute_of_the_class], ids=lambda f: f.__name__)
def test_objects_are_joined_by_their_attributes(program):
    """Also where only one side has given the object an attribute of its own."""
    assert recordings(program) == 1


def never_ends_on_some_side(x):
    def halves(v):
        return v if abs(v) < 0.01 else halves(v / 2 - 0.001) + (halves(v / 3) if v > 0.5 else 0.1)

    return halves(x[0]) + (x[1] if x[2] > 0 else x[3] ** 2)


def test_what_leads_on_too_many_ways_is_recorded_path_by_path():
    """Without guards of the attempt, which is not made again; also where a copy goes on."""
    program = never_ends_on_some_side
    guarded = td.GuardedTape(program, max_tapes=100)
    for k, point in enumerate(POINTS[:10]):
        plain = td.record(program, point, merge=False)
        value, gradient = td.value_and_gradient(guarded, point)
        assert value == plain(point)
        np.testing.assert_array_equal(gradient, td.gradient(plain, point))
        if k == 5:
            guarded = pickle.loads(pickle.dumps(guarded))
    told = guarded.explain(as_dict=True)["tapes"]
    assert {len(td.record(program, point, merge=False).guards) for point in POINTS[:10]} == {len(tape["guards"]) for tape in told}
    assert all(tape["report"]["only"] for tape in told)


def test_what_takes_too_many_instructions_on_sides_is_recorded_path_by_path(monkeypatch):
    """The limit is one of effort: the answers are the same."""
    monkeypatch.setattr(recursions, "MOST_INSTRUCTIONS", 3)

    def program(x):
        return x[0] ** 2 + x[1] if x[2] > 0 else x[3] * x[4] - x[5] + 1.0

    guarded = td.GuardedTape(program)
    for point in POINTS[:4]:
        value, gradient = td.value_and_gradient(guarded, point)
        plain = td.record(program, point, merge=False)
        assert value == plain(point)
        np.testing.assert_array_equal(gradient, td.gradient(plain, point))
    assert all("instructions" in tape["report"]["only"]["what"] for tape in guarded.explain(as_dict=True)["tapes"])


def in_single_precision(x):
    items = [x[3], 1.0]
    if x[3] >= 1.0:
        items.append(1.0)
    return sum(items) + np.float32(0.3)


FORMS = {
    "branch": lambda x: td.cond(x[1] > 0, lambda: in_single_precision(x), lambda: x[0]),
    "both": lambda x: td.cond(x[1] > 0, lambda: in_single_precision(x), lambda: in_single_precision(x * 0.5) + x[0]),
    "scan": lambda x: td.scan(lambda c, v: (c + in_single_precision(x * v), c), x[0], x)[0],
    "subtape": lambda x: td.subtape(lambda y: in_single_precision(y) * x[0])(x),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_body_that_translated_code_makes_and_that_cannot_be_merged_has_guards(form):
    """It has no untranslated form: its paths are told apart by guards while it runs in translated form."""
    f = FORMS[form]
    points = [p * 1.5 for p in POINTS[:8]]
    for p in points[:3]:
        tape = td.record(f, p, merge=True)
        for q in points:
            with contextlib.suppress(td.GuardFailed):
                np.testing.assert_allclose(tape(q), f(q.copy()), rtol=1e-6)  # single precision


WEIGHTS = np.array([1.0, 2.0, 3.0])


def unneeded_with_a_constant_of_a_left_side(x):
    s = x[0]
    if x[1] > 2.5:
        s = np.sum(x[:3] * WEIGHTS)
        print("large")
    np.sum(WEIGHTS * x[0], axis=0)
    return s


def test_what_is_computed_from_a_side_that_was_left_out_is_left_out_too(capsys):
    """Zeros stand for the side's instructions, and have other shapes."""
    recordings(unneeded_with_a_constant_of_a_left_side)  # compares values and gradients at every point
    capsys.readouterr()
