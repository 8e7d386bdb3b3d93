"""Random programs of branches, loops, sub-tapes and writes: every target follows the plain function, on thresholds and beside them.

Values, gradients and Hessians are compared with jets, which run the program itself. `TAPEDIFF_FUZZ_EXAMPLES=2000 pytest
tests/test_control_fuzz.py` searches for longer, with fresh programs in every run.
"""

import hashlib
import os
import warnings

import numpy as np
import pytest
from random_programs import Jet, Program, Watch, function_of, points_of, reference
from support.agreement import by_numpy

import tapediff as td
from tapediff.ir.keys import outcome_key

LONG_RUN = int(os.environ.get("TAPEDIFF_FUZZ_EXAMPLES", "0"))
PROGRAMS = LONG_RUN or 12
# pytest-xdist tells all its workers the same name of the run.
RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", "").encode() or os.urandom(8)
FIRST_SEED = int.from_bytes(hashlib.sha256(RUN).digest()[:3]) if LONG_RUN else 0

# What a user's program may raise by itself: int(nan), int(inf), an index, a recursion that does not end.
OWN_ERRORS = (ValueError, OverflowError, IndexError, RecursionError, ZeroDivisionError)

# Up to some hundred operations in loops; a decision between numbers as close as this may be another one in a kernel, whose
# exp and sums differ in the last bits.
RTOL, ATOL = 1e-8, 1e-9
NEAR_TIE = 1e-9
WITH_PLAIN = True


class Expected:
    """What jets say about a program at a point; `error` is the type of what it raises."""

    def __init__(self, source, n, x, second=True):
        Watch.reset(second)
        self.error = self.value = None
        try:
            result = function_of(source, reference(n), n)(Jet.variables(x))
        except OWN_ERRORS as error:
            self.error = type(error)
            return
        jet = Jet.of(result, n)
        self.value, self.gradient, self.hessian = float(jet.v), jet.t, jet.h
        self.may_differ = not Watch.is_exact and Watch.margin < NEAR_TIE
        self.is_finite = Watch.is_finite and np.abs(jet.h).max(initial=0.0) < 1e12


def outcome(call):
    """What a call returns, or the type of the program's own error; None where a bare tape has no answer."""
    try:
        with np.errstate(all="ignore"):
            return call()
    except td.GuardFailed:
        return None
    except OWN_ERRORS as error:
        if isinstance(error, td.TapediffError):
            raise
        return type(error)


def same(a, b, slack=1.0):
    a, b = np.asarray(a, float), np.asarray(b, float)
    scale = float(np.max(np.abs(b), where=np.isfinite(b), initial=1.0))
    return a.shape == b.shape and np.allclose(a, b, rtol=slack * RTOL, atol=slack * ATOL * scale, equal_nan=True)


def disagreement(name, answer, expected):
    """What is wrong with (value, gradient) of a target; None if nothing is."""
    if answer is None:
        return None
    if isinstance(answer, type):
        right = expected.error is not None and issubclass(answer, expected.error)
        return None if right else f"{name}: {answer}, not {expected.error or expected.value}"
    if expected.error is not None:
        # A body whose results nobody uses is left out, with the errors that it would have raised.
        return None
    value, gradient = answer
    if not same(value, expected.value):
        return f"{name}: value {value!r}, not {expected.value!r}"
    if expected.is_finite and not same(gradient, expected.gradient):
        return f"{name}: gradient {gradient!r}, not {expected.gradient!r}"
    return None


class Targets:
    """A program recorded at the first point, for all ways of running it."""

    def __init__(self, source, n, at, with_hessian):
        self.source, self.n, self.with_hessian = source, n, with_hessian
        self.f = function_of(source, td, n)
        self.tape = td.record(self.f, at)
        self.tape.check()
        self.by_name = {
            "tape": self.tape,
            "compiled": td.compile(self.tape),
            "guarded": td.GuardedTape(self.f, max_tapes=12, compile_after=2),
            "interpreted": td.GuardedTape(self.f, max_tapes=40, on_new_tape="interpret", compile_after=10**9),
        }

    def wrong(self, x, expected):
        """The disagreements at a point."""
        found = []
        plain = outcome(lambda: self.f(x.copy())) if WITH_PLAIN else expected.error or expected.value
        if isinstance(plain, type) or not expected.error:
            found.append(disagreement("plain", (plain, None) if not isinstance(plain, type) else plain, self.value_only(expected)))
        for name, target in self.by_name.items():
            answer = outcome(lambda t=target: td.value_and_gradient(t, x.copy()))
            found.append(disagreement(name, answer, expected))
            if answer is None and (name not in ("tape", "compiled") or self.has_this_path(x)):
                found.append(f"{name}: a guard failed on the recorded path")
            if name == "tape":
                again = by_numpy(lambda: outcome(lambda: td.value_and_gradient(self.tape, x.copy())))
                found.append(disagreement("tape by NumPy", again, expected))
        if self.with_hessian and expected.error is None and expected.is_finite:
            for name in ("tape", "guarded"):
                hessian = outcome(lambda name=name: td.hessian(self.by_name[name], x.copy()))
                if isinstance(hessian, np.ndarray) and not same(hessian, expected.hessian, slack=100.0):
                    found.append(f"Hessian of {name}: {hessian!r}, not {expected.hessian!r}")
        return [text for text in found if text]

    def has_this_path(self, x):
        fresh = outcome(lambda: td.record(self.f, x.copy()))
        path = lambda tape: [outcome_key(guard.outcome) for guard in tape.guards]
        return isinstance(fresh, td.Tape) and path(fresh) == path(self.tape)

    @staticmethod
    def value_only(expected):
        only = object.__new__(Expected)
        only.error, only.value, only.is_finite = expected.error, expected.value, False
        return only


def failures(source, n, points, with_hessian=False):
    """The disagreements of a program at all points; of those that are near ties, none."""
    expected = [Expected(source, n, x, with_hessian) for x in points]
    start = next((k for k, e in enumerate(expected) if e.error is None and e.is_finite), None)
    if start is None:
        return []
    targets = Targets(source, n, points[start], with_hessian)
    found = []
    for x, e in zip(points, expected):
        try:
            wrong = targets.wrong(x, e)
        except td.UnstableBranch as error:
            wrong = [f"{error}"]
        if wrong and not (e.error is None and e.may_differ):
            found.append((x, wrong))
    return found


@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + PROGRAMS))
def test_a_random_program_is_followed_wherever_it_goes(seed):
    """Value, gradient and Hessian of every target, and errors, at points on and around thresholds."""
    program = Program(seed, most=12 if LONG_RUN else 5)
    rng = np.random.default_rng(seed)
    points = points_of(rng, program.n, 60 if LONG_RUN else 7)
    found = failures(program.source(), program.n, points, with_hessian=seed % 4 == 0)
    assert not found, f"at {found[0][0]!r}: {found[0][1]}\n{program.source()}"


@pytest.mark.slow
def test_jets_have_the_derivatives_of_differences():
    """The reference itself, at smooth points of random programs."""
    checked = 0
    for seed in range(50):
        program = Program(seed, most=4)
        source, rng = program.source(), np.random.default_rng(seed)
        x, f = rng.uniform(-2, 2, program.n), function_of(program.source(), reference(0), program.n)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            e = Expected(source, program.n, x)
            if e.error or not e.is_finite or Watch.margin < 1e-4 or "stop_gradient" in source:
                continue
            direction = rng.normal(size=program.n)
            # Steps are small enough to stay on the same side of every comparison, as the margin is larger.
            h = 1e-6
            ends = [float(f(x + s * h * direction)) for s in (1, -1)]
        slope, scale = e.gradient @ direction, max(1.0, np.abs(e.hessian).max() * 1e2, np.abs(e.gradient).max(), abs(e.value))
        assert abs((ends[0] - ends[1]) / (2 * h) - slope) < 1e-4 * scale, source
        checked += 1
    assert checked >= 10


def test_a_guard_on_part_of_an_array_hands_out_that_part():
    """A mask that is a slice, a row or a reversed view, in the caller and in a sub-tape: each path is found, and is right."""
    functions = (
        lambda x: np.sum(x[1:][(x > 0)[1:]] ** 2) + x[0],
        lambda x: np.sum(x[2:][(x > 0).reshape(2, 2)[1]] ** 2) + x[0],
        lambda x: np.sum(x[(x > 0)[::-1]] ** 2) + x[0],
    )
    points = np.random.default_rng(0).normal(size=(12, 4))
    for f in functions:
        inner = td.subtape(f)
        for target in (td.GuardedTape(f), td.compile(lambda x, inner=inner: inner(x) * 1.0, points[0])):
            for x in points:
                td.testing.check_gradient(target, f, x)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_float_to_specialise_on_is_told_apart_by_its_bits(dtype):
    """NaN is like NaN, and 0.0 is not -0.0; also for numbers of 32 bits."""
    sign = td.subtape(lambda v, a: v * np.copysign(2.0, a) if a == a else -v, static=td.static(argnums=1))
    safe = td.GuardedTape(lambda x: sign(x[0], x.astype(dtype)[1]))
    for second, slope in ((0.3, 2.0), (-0.3, -2.0), (0.0, 2.0), (-0.0, -2.0), (np.nan, -1.0), (0.1, 2.0), (np.nan, -1.0), (-0.0, -2.0)):
        assert td.gradient(safe, np.array([1.0, second]))[0] == slope


@pytest.mark.parametrize("seed", [6, 120, 167, 264])
@pytest.mark.slow
def test_a_path_of_a_sub_tape_may_get_more_guards_at_another_call(seed):
    """The tape of the same path with fewer guards makes way."""
    program, rng = Program(seed), np.random.default_rng(seed)
    f = function_of(program.source(), td, program.n)
    g = td.GuardedTape(f)
    for x in rng.normal(size=(8, program.n)):
        np.testing.assert_allclose(g(x), f(x.copy()), rtol=RTOL, atol=ATOL)
