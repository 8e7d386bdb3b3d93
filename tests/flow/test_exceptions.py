"""Errors that data decide: one recording holds the paths with and without them."""

from __future__ import annotations

import contextlib
import math
import re
import traceback

import numpy as np
import pytest

import tapediff as td
from tapediff.errors import UnsupportedFunction
from tapediff.flow import flowed
from tapediff.flow.state import fork
from tapediff.flow.state.values import Choice

from .exception_programs import (
    ONE_RECORDING,
    OTHERS,
    Box,
    Failure,
    Object,
    Special,
    Suppressing,
    caught_by_nothing,
    change,
    change_and_fail,
    jumps,
    lists_that_grow,
    nested,
    own_managers,
    printed,
    recursion,
)

RNG = np.random.default_rng(5)
POINTS = [RNG.normal(size=6) * 1.3 for _ in range(24)]


def outcome_of(f, p):
    """The value, or the class and the arguments of the error."""
    try:
        with np.errstate(all="ignore"):
            return f(p)
    except Exception as error:  # noqa: BLE001 -- compared
        return type(error), *map(argument, error.args)


def argument(value):
    """An error's argument, rounded; of math's functions the text without the value, which it has since Python 3.14."""
    a = plain(value)
    if isinstance(a, str):
        return re.sub(r"expected .*, got .*", "math domain error", a)
    return np.round(float(a), 12) if isinstance(a, (float, np.ndarray)) else a


def plain(value):
    """A value as plain Python has it."""
    if type(value) is Choice:
        return next(plain(option) for option, when in zip(value.options, value.conditions) if when._value)
    return value._value if hasattr(value, "_value") else value


def gradient_of(f, p):
    """The gradient by a tape of this point's path; by central differences where there is none, or no error of Python's."""
    with np.errstate(all="ignore"):
        with contextlib.suppress(UnsupportedFunction):
            found = td.gradient(td.record(f, p, merge=False), p)
            if np.all(np.isfinite(found)):
                return found, 1e-10
        h = 1e-6
        return np.array([(f(p + h * e) - f(p - h * e)) / (2 * h) for e in np.eye(len(p))]), 1e-5


def compare(f, points=POINTS):
    """Compare a function with its merged form, value and gradient or error; the number of recordings."""
    g = td.GuardedTape(flowed(f), merge=False, on_new_tape="interpret", compile_after=1000, max_tapes=1000)
    for p in points:
        expected, found = outcome_of(f, p.copy()), outcome_of(g, p)
        assert (type(expected) is tuple) == (type(found) is tuple), (f.__name__, p, expected, found)
        if type(expected) is tuple:
            if expected[0] is UnboundLocalError:
                found, expected = found[:1], expected[:1]  # the name is not known
            assert found == expected, (f.__name__, p, found, expected)
            continue
        np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=f"{f.__name__} {p}")
        if not np.isfinite(expected):
            continue
        reference, tolerance = gradient_of(f, p)
        np.testing.assert_allclose(td.gradient(g, p), reference, rtol=tolerance, atol=tolerance, err_msg=f"{f.__name__} {p}")
    return g.stats.recordings


@pytest.mark.parametrize("f", ONE_RECORDING, ids=lambda f: f.__name__)
def test_one_recording_holds_paths_with_errors(f):
    """Value and gradient are those of plain Python at all points."""
    assert compare(f) == 1


@pytest.mark.parametrize("f", OTHERS, ids=lambda f: f.__name__)
def test_errors_are_those_of_plain_python(f):
    """Value, gradient and error, in however many recordings."""
    compare(f)


def test_what_cannot_be_undone_is_done_once(capsys):
    """A recording prints what the plain function prints."""
    for p in POINTS:
        outcome_of(printed, p)
        expected = capsys.readouterr().out
        td.record(flowed(printed), p, merge=False)
        assert capsys.readouterr().out == expected


@pytest.mark.parametrize("f", [nested, jumps, own_managers, printed, lists_that_grow, recursion], ids=lambda f: f.__name__)
def test_guards_give_the_same(f, monkeypatch):
    """Where no error is pending, guards decide each."""
    monkeypatch.setattr(fork, "attempt_around", lambda test: None)
    compare(f, POINTS[:12])


def test_loops_that_raise_one_error_are_handled_once():
    """The handler of many alike errors runs once, on a side of its own."""
    calls = []

    def f(x):
        s = 0.0
        try:
            for v in x:
                s += math.sqrt(v + 1)
        except ValueError:
            calls.append(None)
            s *= 2
        return s

    td.record(flowed(f), np.linspace(0.1, 1.0, 50), merge=False)
    assert not calls  # undone: the path is not taken


# Effects on the caller's objects


def state_of(box):
    return [plain(v) for v in (box.n, *box.items, *box.table.values())]


@pytest.mark.parametrize("f", [change, change_and_fail], ids=lambda f: f.__name__)
def test_objects_of_the_caller_are_as_in_python(f):
    """What a recording leaves in them, also where an error leaves the function."""
    for p in POINTS:
        ours, pythons = Box(), Box()
        expected = outcome_of(lambda x: f(pythons, x), p)
        found = outcome_of(lambda x: td.record(flowed(lambda y: f(ours, y)), x, merge=False), p)
        if type(expected) is tuple:
            assert found == expected
        for mine, other in zip(state_of(ours), state_of(pythons), strict=True):
            assert (mine is None) == (other is None)
            if mine is not None:
                np.testing.assert_allclose(float(mine), other, rtol=1e-12)


def test_the_traceback_shows_the_line_that_raised():
    """Of an error that was pending, too."""
    p = np.array([-3.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="math domain error") as found:
        td.record(flowed(caught_by_nothing), p, merge=False)
    assert "s += math.sqrt(v)  # here" in "".join(traceback.format_exception(found.value))


# Random programs


class _Writer:
    """Writes a random function of nested statements."""

    def __init__(self, seed):
        self.rng, self.lines = np.random.default_rng(seed), []

    def pick(self, *options):
        return options[self.rng.integers(len(options))]

    def number(self):
        return f"{self.rng.uniform(-1.2, 1.2):.2f}"

    def value(self):
        return self.pick("a", "b", "v", "c[0]", "c[1]", "o.z", self.number(), f"x[{self.rng.integers(6)}]")

    def test(self):
        return f"{self.value()} {self.pick('<', '>')} {self.pick('v', self.number())}"

    def expression(self):
        kind = self.rng.integers(9)
        p, q = self.value(), self.value()
        return (
            f"{p} + {q}", f"{p} * 0.5 - {q}", f"math.sqrt({p} + 0.9)", f"math.log({p} + 1.5) + {q}", f"({p} if {self.test()} else {q})",
            f"g({p})", f"{p} - math.asin({q} * 0.7)", f"h({p})", f"{p} / (2.0 if {self.test()} else 0.0)",
        )[kind]  # fmt: skip

    def block(self, indent, depth, in_loop, in_handler):
        for _ in range(self.rng.integers(1, 4)):
            self.statement(indent, depth, in_loop, in_handler)

    def put(self, indent, text):
        self.lines.append("    " * indent + text)

    def statement(self, indent, depth, in_loop, in_handler):
        kinds = ["assign"] * 4 + ["raise", "jump", "assert"]
        if depth:
            kinds += ["try"] * 5 + ["if"] * 2 + ["for", "with", "own with"]
        kind = self.pick(*kinds)
        if kind == "assign":
            target = self.pick("a", "b", "c[0]", "c[1]", "o.z", "a", "b")
            self.put(indent, f"{target} {self.pick('=', '+=')} {self.expression()}")
        elif kind == "assert":
            self.put(indent, f"assert {self.test()}")
        elif kind == "raise":
            self.put(indent, f"if {self.test()}:")
            bare = ["raise"] if in_handler else []
            self.put(indent + 1, self.pick("raise KeyError('k')", "raise ValueError", f"raise Failure({self.value()})", "raise Special(1.0)", *bare))
        elif kind == "jump":
            self.put(indent, f"if {self.test()}:")
            self.put(indent + 1, self.pick(f"return {self.value()}", *(["break", "continue"] if in_loop else [])))
        elif kind == "if":
            self.put(indent, f"if {self.test()}:")
            self.block(indent + 1, depth - 1, in_loop, in_handler)
            if self.rng.random() < 0.5:
                self.put(indent, "else:")
                self.block(indent + 1, depth - 1, in_loop, in_handler)
        elif kind == "for":
            self.put(indent, f"for v in x[{self.rng.integers(3)}:{self.rng.integers(3, 6)}]:")
            self.block(indent + 1, depth - 1, True, in_handler)
            if self.rng.random() < 0.3:
                self.put(indent, "else:")
                self.block(indent + 1, depth - 1, in_loop, in_handler)
        elif kind == "with":
            self.put(indent, f"with contextlib.suppress({self.pick('ValueError', 'KeyError', 'Failure, AssertionError')}):")
            self.block(indent + 1, depth - 1, in_loop, in_handler)
        elif kind == "own with":
            self.put(indent, f"with Suppressing({self.pick('ValueError', 'KeyError', 'Failure, AssertionError')}) as m:")
            self.block(indent + 1, depth - 1, in_loop, in_handler)
            self.put(indent, "a += m.count")
        else:
            self.put(indent, "try:")
            self.block(indent + 1, depth - 1, in_loop, in_handler)
            has_finally = self.rng.random() < 0.35
            kinds = ["ValueError", "KeyError", "Special", "(Failure, AssertionError)", "ArithmeticError", "Exception"]
            chosen = [k for k in kinds if self.rng.random() < 0.35] or ([] if has_finally else ["Exception"])
            for kind in chosen:
                self.put(indent, f"except {kind} as e:")
                self.block(indent + 1, depth - 1, in_loop, True)
                if "Failure" in kind:
                    self.put(indent + 1, "b += e.value if isinstance(e, Failure) else 0.5")
            if chosen and self.rng.random() < 0.4:
                self.put(indent, "else:")
                self.block(indent + 1, depth - 1, in_loop, in_handler)
            if has_finally:
                self.put(indent, "finally:")
                self.block(indent + 1, 0, False, False)

    def function(self):
        self.put(0, "def f(x):")
        for line in ("a = b = 0.5", "v = x[0]", "c = [0.0, 1.0]", "o = Object()", "o.z = 0.25"):
            self.put(1, line)
        self.put(1, "def g(w):")
        self.put(2, f"if w > {self.number()}:")
        self.put(3, self.pick("raise Failure(w)", "raise ValueError", "c[0] += w"))
        self.put(2, "return w * 0.5")
        self.put(1, "def h(w):")
        self.put(2, "nonlocal a")
        self.put(2, "try:")
        self.put(3, "return math.sqrt(w)")
        self.put(2, f"except {self.pick('ValueError', 'KeyError')}:")
        self.put(3, "a += 1")
        self.put(3, "return 0.1")
        for _ in range(4):
            is_caught = self.rng.random() < 0.8
            if is_caught:
                self.put(1, "try:")
            self.statement(1 + is_caught, 3, False, False)
            if is_caught:
                self.put(1, f"except {self.pick('Exception', '(ValueError, ArithmeticError, Failure, AssertionError, KeyError)')}:")
                self.put(2, f"b += {self.value()}")
        self.put(1, "return a + 2 * b + 3 * c[0] + 5 * c[1] + 7 * o.z")
        return "\n".join(self.lines) + "\n"


def random_function(seed, folder):
    """A random function, with its text in a file."""
    text, path = _Writer(seed).function(), folder / f"random_{seed}.py"
    path.write_text(text)
    names = {"math": math, "contextlib": contextlib, "Failure": Failure, "Special": Special, "Suppressing": Suppressing, "Object": Object}
    exec(compile(text, str(path), "exec"), names)
    return names["f"], text


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_do_what_python_does(seed, tmp_path):
    """Nested statements with errors from tests, calls and functions of the math module."""
    f, text = random_function(seed, tmp_path)
    try:
        compare(f, POINTS[:6])
    except AssertionError as error:
        raise AssertionError(text) from error


def ends_where_it_cannot_be_joined(x):
    total, k = 0.0, 0
    source = iter([1.0] * 1000)
    while total < 30.0 and k < 300:
        v = abs(x[k % 6]) + 0.001 * k
        k += 1
        try:
            w = math.sqrt(v - 0.2)
            if v > 0.5:
                total += v * w * next(source)
            else:
                total += 0.1 * v * next(source)
        except ValueError:
            total += 0.01
    return total


def test_a_loop_ends_where_nothing_but_its_handler_goes_on():
    """The handler's state is not that of the iterations that cannot be joined."""
    guarded = td.GuardedTape(ends_where_it_cannot_be_joined, max_tapes=100)
    for point in POINTS[:4]:
        value, gradient = td.value_and_gradient(guarded, point)
        plain = td.record(ends_where_it_cannot_be_joined, point, merge=False)
        np.testing.assert_allclose(value, ends_where_it_cannot_be_joined(point), rtol=1e-12)
        np.testing.assert_allclose(gradient, td.gradient(plain, point), rtol=1e-9)
