"""Sides that cannot be run: each is a guard where it stands, all else has one recording, and equal outcomes come to equal guards."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import os
import random
import signal
import threading

import numpy as np
import pytest

import tapediff as td
from flow.one_tape import POINTS, gradient_at
from tapediff.flow import flowed
from tapediff.flow.state.dead_places import without_collector

LOCK = threading.Lock()


class Missing(BaseException):
    """No Exception: only the program itself raises it."""


def prints_in_a_loop(x):
    s = 0.0
    for v in x:
        if v > 0.5:
            s += v * v
        elif v < -1.8:
            print("low")
            s -= 1.0
        else:
            s += abs(v)
    return s


def prints_deep_inside(x):
    s, n = 0.0, 0
    for v in x[:3]:
        if v > 0:
            for w in x[3:]:
                if w > v:
                    n += 1
                    if n > 3:
                        print("many")
                        s += 10.0
                else:
                    s += v * w
    return s + n


def draws(x):
    s = x[0]
    if x[1] > 0.3:
        s = s * 2 if x[2] > 0 else s * 3
        if x[3] > 1.0:
            random.seed(1)
            s += 0.0 * random.random() + x[4]
    return s


def after_break(x):
    s = 0.0
    for v in x:
        if v < -1.0:
            break
        s += v if v > 0 else 2 * v
    else:
        print("to the end")
        s *= 3.0
    return s * s


class Meter:
    def __init__(self):
        self.total, self.alarms = 0.0, 0

    def add(self, v):
        self.total += v if v > 0 else 0.5 * v
        if self.total > 2.5:
            self.alarm()

    def alarm(self):
        print("alarm")
        self.alarms += 1
        self.total = 0.0


def in_a_method(x):
    meter = Meter()
    for v in x:
        meter.add(v)
    return meter.total + meter.alarms


def on_both_sides(x):
    if x[0] > 0:
        print("up")
        s = x[1]
    else:
        print("down")
        s = -x[1]
    return s * x[2] if x[3] > 0 else s


def a_lock(x):
    s = 0.0
    for v in x:
        if v > 1.2:
            with LOCK:
                s += v
        elif v > 0:
            s += 2 * v
    return s


def takes_from_an_iterator(x):
    ids, s = itertools.count(3), 0.0
    for v in x:
        if v > 1.4:
            s += next(ids) * v
        elif v < 0:
            s -= v
    return s


def raises_to_nobody(x):
    s = 0.0
    for v in x:
        if v > 100.0:
            raise Missing
        if v > 0:
            if v > 50.0:
                raise ValueError(v)
            s += v
        else:
            s -= 1.0 / (1.0 + v * v)
    return s


def fills_a_set(x):
    kinds, s = set(), 0.0
    for v in x:
        if abs(v) > 1.9:
            kinds.add("far")
        s += v if v > 0 else -2 * v
    return s + len(kinds)


def fills_a_set_deep_inside(x):
    kinds, s = set(), 0.0
    for v in x[:4]:
        if v > 0:
            s += v
            if v > 1.0:
                kinds.add("far")
    return s * (1 + len(kinds))


@functools.lru_cache
def table(k):
    return k * 0.5


def caches(x):
    s = 0.0
    for k, v in enumerate(x):
        if v > 1.3:
            s += table(k) * v
        elif v > 0:
            s += v
    return s


def looks_at_identities(x):
    a, b = [1.0], [2.0]
    chosen = a if x[0] > 0 else b
    s = x[1] if x[2] > 0 else -x[1]
    if id(chosen) == id(a):
        s += x[3]
    return s


def within_a_loop_that_data_end(x):
    t, s = abs(x[0]) + 1.0, 0.0
    if x[1] > 1.0:
        print("before")
    while t > 0.2:
        t, s = (0.5 * t, s + t) if t > x[2] else (0.6 * t, s)
    if s > 3.0:
        print("behind")
    return s + t


def nobody_returns(x):
    def part(v, depth):
        if depth == 0:
            if v > 2.0:
                print("deep")
                return 1.0
            return v
        return part(v + 0.1, depth - 1) if v > 0 else 0.5 * part(v - 0.1, depth - 1)

    return part(x[0], 3) * part(x[1], 2)


def within_an_attempt(x):
    s = 0.0
    for v in x:
        try:
            if v < -1.0:
                raise ValueError
            if v > 1.5:
                print("high")
            s += v
        except ValueError:
            s -= 2.0
    return s


def sums(x, step):
    """The states before each iteration."""
    return list(itertools.accumulate(x, step, initial=0.0))


def alarms(x):
    def step(total, v):
        total = total + (v if v > 0 else 0.5 * v)
        return 0.0 if total > 2.5 else total

    return tuple(s == 0.0 for s in sums(x, step)[1:])


def deep(x):
    n, found = 0, []
    for v in x[:3]:
        for w in x[3:]:
            n += v > 0 and w > v
            found.append(v > 0 and w > v and n > 3)
    return tuple(found)


def loop_sum(x):
    t, s = abs(x[0]) + 1.0, 0.0
    while t > 0.2:
        t, s = (0.5 * t, s + t) if t > x[2] else (0.6 * t, s)
    return s


def one_of_four(v):
    return "low" if v < -0.5 else "middle" if v < 0.5 else "high" if v < 1 else "top"


def known_to_other_code(x):
    """Python's own code has to know each part of what it is given."""
    return len(",".join([one_of_four(x[0]), "x"])) * x[1] + len("/".join(("y", one_of_four(x[2]))))


def spread_to_other_code(x):
    name = one_of_four(x[0])
    several = (1,) if name == "low" else (2, 3) if name == "middle" else () if name == "high" else (3, 4, 5)
    return sum([*several]) * x[1] + len(",".join(map(str, several)))


def captured_by_one_of_several_patterns(x):
    """Which pattern fits decides what is captured."""
    match (1 if x[0] > 0 else 3), (2 if x[1] > 0 else 5):
        case (1, v) | (v, 2):
            return v * x[2]
        case (_, v):
            return v * x[3]


def captured_with_a_guard(x):
    match [1 if x[0] > 0 else 3, 2 if x[1] > 0 else 5, x[2]]:
        case [3, 5, v] | [1, v, _] | [v, 2, _] if v > 1:
            return v * x[2]
        case [v, *_]:
            return v * x[3]


def reached(v, depth):
    return v > 2.0 if depth == 0 else reached(v + 0.1 if v > 0 else v - 0.1, depth - 1)


# With what decides its guards.
PROGRAMS = [
    (prints_in_a_loop, lambda x: tuple(x < -1.8)),
    (prints_deep_inside, deep),
    (draws, lambda x: x[1] > 0.3 and x[3] > 1.0),
    (after_break, lambda x: not (x < -1.0).any()),
    (in_a_method, alarms),
    (on_both_sides, lambda x: x[0] > 0),
    (a_lock, lambda x: tuple(x > 1.2)),
    (takes_from_an_iterator, lambda x: tuple(x > 1.4)),
    (raises_to_nobody, lambda x: ()),
    (fills_a_set, lambda x: tuple(abs(x) > 1.9)),
    (fills_a_set_deep_inside, lambda x: tuple(x[:4] > 1.0)),
    (caches, lambda x: tuple(x > 1.3)),
    (looks_at_identities, lambda x: x[0] > 0),
    (within_a_loop_that_data_end, lambda x: (x[1] > 1.0, loop_sum(x) > 3.0)),
    (nobody_returns, lambda x: (reached(x[0], 3), reached(x[1], 2))),
    (within_an_attempt, lambda x: tuple(x > 1.5)),
    (known_to_other_code, lambda x: (one_of_four(x[0]), one_of_four(x[2]))),
    (spread_to_other_code, lambda x: one_of_four(x[0])),
    (captured_by_one_of_several_patterns, lambda x: (x[0] > 0, x[1] > 0)),
    (captured_with_a_guard, lambda x: (x[0] > 0, x[1] > 0, x[2] > 1)),
]


@pytest.mark.parametrize(("program", "key"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_a_side_that_cannot_be_run_is_one_guard_where_it_stands(program, key):
    """One recording for each way in which such sides are taken or not."""
    g = td.GuardedTape(flowed(program), merge=False, on_new_tape="interpret", compile_after=1000, max_tapes=1000)
    for p in POINTS:
        # Only the order of additions differs.
        np.testing.assert_allclose(g(p), program(p.copy()), rtol=1e-10, atol=1e-12)
        # Differences of 1e-6 are good for six digits.
        np.testing.assert_allclose(td.gradient(g, p), gradient_at(program, p), rtol=1e-4, atol=1e-5)
    assert g.stats.recordings <= len({key(p) for p in POINTS})


@pytest.mark.parametrize("program", [program for program, _ in PROGRAMS], ids=lambda p: p.__name__)
def test_equal_outcomes_come_to_equal_guards(program):
    """Recordings at two points are equal up to the first guard that has another outcome."""
    tapes = [td.record(flowed(program), p.copy()) for p in POINTS[:6]]
    for one, other in itertools.pairwise(tapes):
        for a, b in zip(one.guards, other.guards):
            assert (a.site, a.kind, a.ordinal) == (b.site, b.kind, b.ordinal)
            if a.outcome != b.outcome:
                break
        else:
            assert len(one.instructions) == len(other.instructions)


def list_that_grows(x):
    found, t = [], abs(x[0]) + 1.0
    while t > 0.1:
        found.append(t)
        t *= 0.6 if x[1] > 0 else 0.7
    return sum(found)


def test_a_loop_that_only_guards_can_end_has_few():
    """One on the first, the second, the fourth test and so on."""
    g = td.GuardedTape(flowed(list_that_grows), merge=False, on_new_tape="interpret", compile_after=1000, max_tapes=1000)
    for p in POINTS:
        # Only the order of additions differs.
        np.testing.assert_allclose(g(p), list_that_grows(p.copy()), rtol=1e-10)
        np.testing.assert_allclose(td.gradient(g, p), gradient_at(list_that_grows, p), rtol=1e-10)
    # Up to 4, 8 and 16 iterations.
    assert g.stats.recordings <= 3


class Interrupted(BaseException):
    """Raised by the handler of a signal."""


def test_an_interruption_is_no_error_of_a_side():
    """It ends the recording, wherever it comes."""

    def interrupt(*_):
        raise Interrupted

    def f(x):
        if x[0] > 0:
            while True:
                pass
        return x[1]

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(Interrupted):
            td.record(flowed(f), -np.ones(2))
    finally:
        signal.signal(signal.SIGALRM, before)


def test_the_collector_of_garbage_is_as_it_was():
    """A recording keeps it from running by itself."""
    seen = []

    def f(x):
        seen.append(gc.isenabled())
        return x[0]

    td.record(flowed(f), np.ones(1))
    assert seen == [False]
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("own", [0, 1])
@pytest.mark.parametrize("others", [0, 1])
def test_a_forked_process_waits_for_no_recording_of_other_threads(own, others):
    """The collector of garbage stays off there only while the thread that forked records."""
    held, done = threading.Event(), threading.Event()

    def hold():
        with without_collector():
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    if others:
        thread.start()
        held.wait()
    with without_collector() if own else contextlib.nullcontext():
        child = os.fork()
        if not child:
            os._exit(gc.isenabled())
    done.set()
    if others:
        thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == (not own)
    assert gc.isenabled()


def handles_what_numpy_raises(x):
    s = x[0]
    if x[1] > 0:
        try:
            with np.errstate(divide="raise"):
                s = s / np.maximum(x[2], 0.0)
        except FloatingPointError:
            s = x[3]
    return s


def test_errors_that_numpy_is_asked_to_raise_are_raised_or_refused():
    """No tape can tell when they are; what is recorded is right where it is recorded."""
    for p in POINTS:
        text = ""
        try:
            found = td.record(flowed(handles_what_numpy_raises), p, merge=False)(p)
        except td.TapediffError as refusal:
            text, found = str(refusal), None
        if found is None:
            assert "FloatingPointError" in text
        else:
            assert found == pytest.approx(handles_what_numpy_raises(p), rel=1e-12)
