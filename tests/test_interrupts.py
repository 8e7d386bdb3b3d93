"""Ctrl-C may come before any line, and the stack or the memory may end there: afterwards nothing is recording, no lock is held, and every
call is right.

    TAPEDIFF_INTERRUPTS=10000 .venv/bin/python -m pytest tests/test_interrupts.py       # that many in all
"""

import ast
import gc
import math
import os
from pathlib import Path

import numpy as np
import pytest
from support.interrupts import Scenario, numbers_of_lines, state

import tapediff as td
from tapediff.compiler.jit.linking import Linker
from tapediff.compiler.jit.toolchain import toolchain
from tapediff.compiler.runtime.entries import c_entry as pointer
from tapediff.recording.python_state import (
    gc_pause,
    math_functions,
    numpy_namespace as namespace,
    scipy_functions,
    scipy_methods,
)
from tapediff.recording.recorder import is_recording

INTERRUPTS = int(os.environ.get("TAPEDIFF_INTERRUPTS", "140"))
# Errors at lines, and depths of the stack.
OTHERS = INTERRUPTS // 3


def branching(x):
    if x[0] > 0.0:
        return np.sum(np.sin(x) * x)
    return np.sum(x**3)


def expected(x):
    if x[0] > 0.0:
        return np.sum(np.sin(x) * x), np.cos(x) * x + np.sin(x)
    return np.sum(x**3), 3 * x**2


RIGHT, LEFT = np.array([0.5, 1.5, -0.3]), np.array([-0.5, 1.5, 0.7])


def same(met, x, factor=1.0):
    value, gradient = expected(x)
    # The same operations, of which libraries differ by a few units in the last place.
    np.testing.assert_allclose(met[0], factor * value, rtol=1e-13)
    np.testing.assert_allclose(met[1], factor * gradient, rtol=1e-13)


def both(tape, factor=1.0):
    for x in LEFT, RIGHT, LEFT:
        same(td.value_and_gradient(tape, x), x, factor)


def nothing():
    return None


def guarded():
    safe = td.GuardedTape(branching)
    td.gradient(safe, RIGHT)
    return safe


class Bound:
    """A bound call, and a place for the point."""

    def __init__(self):
        self.safe, self.x, self.g = guarded(), RIGHT.copy(), np.full(3, 7.0)
        self.call = self.safe.bind(self.x, self.g)
        self.call()
        self._native, self._lock = self.safe._native, self.safe._recorder._lock

    def at(self, x):
        self.x[:] = x
        return self.call(), self.g

    def check(self):
        for x in LEFT, RIGHT, LEFT:
            same(self.at(x), x)


class FromC:
    """A call by address, which gives a code."""

    def __init__(self, tape):
        self.tape, self.function = tape, pointer.POINT_TYPE(tape.address)
        self.g, self.value = np.full(3, 7.0), np.full(1, 5.0)
        self._native, self._lock = tape._native, getattr(getattr(tape, "_recorder", tape), "_lock", None)
        self.code(RIGHT)

    def code(self, x):
        return self.function(3, x.ctypes.data, self.g.ctypes.data, self.value.ctypes.data, self.tape.user_data)

    def act(self):
        before = self.g.copy(), self.value.copy()
        code = self.code(LEFT)
        if code == 0:
            return
        # Where the interrupt came while the exception was kept, there may be none to hand out.
        assert code in (pointer.RAISED, pointer.NO_MEMORY), code
        assert np.array_equal(self.g, before[0])
        assert self.value == before[1]
        raised = self.tape.take_error()
        assert raised is None or isinstance(raised, (KeyboardInterrupt, MemoryError, RecursionError)), repr(raised)

    def check(self):
        for x in LEFT, RIGHT, LEFT:
            assert self.code(x) == 0
            same((self.value[0], self.g), x)


def with_subtape():
    inner = td.subtape(lambda v: branching(v))
    compiled = td.compile(lambda x: 2 * inner(x), RIGHT)
    td.gradient(compiled, RIGHT)
    return compiled


def loops(x):
    """Twice, by a scan and by a while loop whose bodies branch."""

    def body(total, v):
        total = total + td.cond(v > 0.0, lambda u: u * np.sin(u), lambda u: u**3, v)
        return total, total

    total, _ = td.scan(body, x[0] * 0.0, x)
    more = td.while_loop(lambda s: s[1] < 3.0, lambda s: (s[0] * 1.5, s[1] + 1.0), (total, total * 0.0))
    return more[0]


def loops_expected(x):
    positive = x > 0.0
    return (
        1.5**3 * np.sum(np.where(positive, x * np.sin(x), x**3)),
        1.5**3 * np.where(positive, np.sin(x) + x * np.cos(x), 3 * x**2),
    )


def check_loops(target):
    for x in LEFT, RIGHT, LEFT:
        value, gradient = td.value_and_gradient(loops if target is None else target, x)
        known = loops_expected(x)
        np.testing.assert_allclose(value, known[0], rtol=1e-13)
        np.testing.assert_allclose(gradient, known[1], rtol=1e-13)


ROWS = np.array([RIGHT, LEFT, RIGHT + 0.1, LEFT - 0.1])


def check_batch(safe):
    values, gradients = safe.batch(ROWS)
    for k, row in enumerate(ROWS):
        same((values[k], gradients[k]), row)


# Code that was made before goes on using it.
_kept = []


def as_in_a_new_process():
    _kept.append((toolchain._once, toolchain.machines, toolchain.linker))
    toolchain._once, toolchain.machines, toolchain.linker = {}, None, Linker()


def first_compilation(_):
    fixed = td.compile(special, RIGHT)
    return fixed.value_and_gradient(RIGHT), fixed.bind(RIGHT, np.empty(3))(), td.GuardedTape(special).gradient(RIGHT)


def special(x):
    return np.sum(np.sin(x)) + np.sum(np.linalg.solve(np.eye(3) * 2.0, np.exp(x)))


def check_special(_):
    (value, gradient), bound, again = first_compilation(None)
    np.testing.assert_allclose(value, np.sum(np.sin(RIGHT)) + np.sum(np.exp(RIGHT)) / 2, rtol=1e-13)
    np.testing.assert_allclose(gradient, np.cos(RIGHT) + np.exp(RIGHT) / 2, rtol=1e-13)
    np.testing.assert_array_equal(gradient, again)
    assert bound == value


SCENARIOS = [
    Scenario("first compilation of a process", as_in_a_new_process, first_compilation, check_special),
    Scenario("recording", nothing, lambda _: td.record(branching, LEFT), lambda _: both(td.GuardedTape(branching))),
    Scenario("gradient of a function", nothing, lambda _: td.gradient(branching, LEFT), lambda _: both(branching)),
    Scenario("replay", lambda: td.record(branching, LEFT), lambda t: td.gradient(t, LEFT), lambda t: same(td.value_and_gradient(t, LEFT), LEFT)),
    Scenario("compilation", nothing, lambda _: td.compile(branching, LEFT), lambda _: same(td.value_and_gradient(td.compile(branching, LEFT), LEFT), LEFT)),
    Scenario("guarded miss", guarded, lambda safe: td.gradient(safe, LEFT), both),
    Scenario("bound miss", Bound, lambda bound: bound.at(LEFT), Bound.check),
    Scenario("miss by address", lambda: FromC(guarded()), FromC.act, FromC.check),
    Scenario("sub-tape miss", with_subtape, lambda tape: td.gradient(tape, LEFT), lambda tape: both(tape, 2.0)),
    Scenario("sub-tape miss by address", lambda: FromC(with_subtape()), FromC.act, lambda call: both(call.tape, 2.0)),
    Scenario("batch", guarded, lambda safe: safe.batch(ROWS, threads=2), check_batch),
    Scenario("recorded loops", nothing, lambda _: td.gradient(loops, LEFT), check_loops),
    Scenario("compiled loops", nothing, lambda _: td.gradient(td.compile(loops, RIGHT), LEFT), lambda _: check_loops(td.compile(loops, RIGHT))),
    Scenario("guarded loops", lambda: td.GuardedTape(loops), lambda safe: [td.gradient(safe, x) for x in (RIGHT, LEFT)], check_loops),
]


@pytest.fixture(autouse=True)
def _as_a_program_begins():
    """Thresholds that a recording changes."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_numpys_error_state_is_changed_by_decorators_alone():
    """A `with np.errstate` is left on a line of its own, and by a method in Python: an interrupt there would leave warnings off."""
    package = Path(td.__file__).parent
    found = []
    for path in sorted(package.rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "errstate" in text or "seterr" in text else ():
            if isinstance(node, ast.With) and any("errstate" in ast.unparse(item) for item in node.items):
                found.append(f"{path.relative_to(package)}:{node.lineno}")
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("np.seterr", "np.seterrcall"):
                found.append(f"{path.relative_to(package)}:{node.lineno}")
    assert not found


# Python itself reports and drops what interrupts a finalizer.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_an_interrupt_at_any_line_leaves_everything_as_it_was(scenario):
    """At lines of every kind that run while something is done; in full with TAPEDIFF_INTERRUPTS=10000."""
    rng = np.random.default_rng(1)
    scenario.count()  # what is made once per process is made now
    wrong = []
    for number in numbers_of_lines(scenario.count(), INTERRUPTS // len(SCENARIOS), rng):
        at, met = scenario.interrupt(number)
        if met is not None:
            wrong.append(f"{at}: {met}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_no_memory_at_any_line_leaves_everything_as_it_was(scenario):
    """As above; this one is an Exception, which more code catches."""
    rng = np.random.default_rng(2)
    scenario.count()
    wrong = []
    for number in numbers_of_lines(scenario.count(), OTHERS // len(SCENARIOS), rng):
        at, met = scenario.interrupt(number, MemoryError)
        if met is not None:
            wrong.append(f"{at}: {met}")
    assert not wrong, "\n".join(wrong)


# Frames that no scenario needs more than.
DEEPEST = 250


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_little_room_on_the_stack_leaves_everything_as_it_was(scenario):
    """RecursionError comes at any depth of what is done, also where a state is restored."""
    rng = np.random.default_rng(3)
    scenario.count()
    most = min(DEEPEST, OTHERS // len(SCENARIOS))
    met = {int(frames): scenario.overflow(int(frames)) for frames in rng.choice(np.arange(6, 6 + DEEPEST), most, replace=False)}
    wrong = [f"{frames} frames: {found}" for frames, found in sorted(met.items()) if found is not None]
    assert not wrong, "\n".join(wrong)


RESTORING = [
    (namespace, "recording_ends"), (namespace, "_put"), (namespace, "_put_others"), (gc_pause, "recording_ends"),
    (gc_pause, "_lower_threshold"), (math_functions, "put"), (scipy_methods, "put"), (scipy_functions, "put"),
]  # fmt: skip


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(("module", "name"), RESTORING, ids=lambda each: each if type(each) is str else each.__name__.split(".")[-1])
def test_an_interrupt_of_what_restores_the_state_does_no_harm(module, name, times, monkeypatch):
    """One leaves nothing behind. After two nothing is recording, calls are right, and the next recording leaves nothing behind."""
    before, original, left = state(), getattr(module, name), [0]

    def interrupted(*args, **named):
        if left[0]:
            left[0] -= 1
            raise KeyboardInterrupt
        return original(*args, **named)

    def f(x):
        left[0] = times
        return branching(x)

    monkeypatch.setattr(module, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        td.record(f, LEFT)
    assert left == [0]
    assert times == 2 or state() == before
    assert not is_recording()
    assert math.sin(0.5) == np.sin(0.5)
    both(branching)
    td.record(branching, LEFT)
    assert state() == before
