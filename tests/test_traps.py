"""Functions on which engines that record once and replay give wrong numbers: here each gives the right one, or a clear error.

Every case is recorded at its first input and asked at its second, through every target. A Tape may refuse with GuardFailed or
ShapeMismatch; a GuardedTape and td.grad answer as the plain function does.
"""

import asyncio
import copy
import functools
import gc
import itertools
import math
import os
import pickle
import threading
import time

import numpy as np
import pytest
import scipy.special
from support.in_threads import in_threads

import tapediff as td

A = np.array
EYE = np.eye(2)
ONES = np.ones((2, 2))
nan, inf = np.nan, np.inf


def case(name, f, at, elsewhere, expected):
    return pytest.param(f, at, elsewhere, expected, id=name)


def table(*cases):
    return pytest.mark.parametrize(("f", "at", "elsewhere", "expected"), cases)


def agrees(gradient, expected, x):
    # The kernel's functions are within a few ulp of NumPy's; Newton's iteration and its derivative lose a few more.
    return np.shape(gradient) == np.shape(x) and np.allclose(gradient, expected, rtol=1e-12, atol=1e-14, equal_nan=True)


def check_everywhere(f, at, elsewhere, expected):
    """Recorded at `at`, asked at `elsewhere`, by all targets, more than once, and back again at `at`."""
    if isinstance(expected, type):
        check_refusal(f, at, elsewhere, expected)
        return
    safe, grad = td.GuardedTape(f), td.grad(f)
    for target in (functools.partial(td.gradient, safe), grad):
        first = target(at)
        for _ in range(5):
            gradient = target(elsewhere)
            assert agrees(gradient, expected, elsewhere), gradient
        assert np.array_equal(target(at), first, equal_nan=True) or agrees(target(at), first, at)
    for tape in (td.record(f, at), td.compile(f, at)):
        try:
            gradient = td.gradient(tape, elsewhere)
        except (td.GuardFailed, td.ShapeMismatch):
            continue
        assert agrees(gradient, expected, elsewhere), gradient
    with np.errstate(all="ignore"):  # recording warns where plain NumPy does; replays never
        assert agrees(td.gradient(td.compile(f, elsewhere), elsewhere), expected, elsewhere)


def check_refusal(f, at, elsewhere, expected):
    """The error that the plain function raises, or tapediff's own; never a number, in whatever order it is asked."""
    safe, grad = td.GuardedTape(f, merge=False), td.grad(f, merge=False)
    for target in (functools.partial(td.gradient, safe), grad, lambda x: td.gradient(f, x)):
        for x in (elsewhere, at, elsewhere):
            if x is at and not issubclass(expected, td.TapediffError):
                target(x)
                continue
            with pytest.raises(expected) as refusal:
                target(x)
            assert not isinstance(refusal.value, td.TapediffError) or "\n  fix: " in str(refusal.value)
    if not issubclass(expected, td.TapediffError):
        for tape in (td.record(f, at), td.compile(f, at)):
            with pytest.raises((expected, td.GuardFailed)):
                td.gradient(tape, elsewhere)


# Control flow, conversions, in-place writes, numerics, shapes


def while_below_100(x):
    y = x
    while y < 100:
        y *= x
    return y


def raises_and_catches(x):
    try:
        if x < 0:
            raise ValueError("negative")
        return np.log(x)
    except ValueError:
        return 10 * x


def appends(x):
    terms, step = [], x
    while step > 1:
        terms.append(step)
        step = step / 2
    return sum(terms)


def asserts(x):
    assert x > 0
    return x**2


def newton(x):
    y = x
    while abs(y * y - x) > 1e-14 * x:
        y = 0.5 * (y + x / y)
    return y


def neighbours(x):
    return sum(k * v if v > w else w for k, (v, w) in enumerate(itertools.pairwise(x)))


def is_array(x):
    return (x**2).sum() if isinstance(x, np.ndarray) else 100 * x.sum()


def pieces(x):
    return np.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v**2]).sum()


@table(
    case("if", lambda x: x**2 if x > 0 else -3 * x, 2.0, -2.0, -3.0),
    case("while", while_below_100, 2.0, 5.0, 75.0),
    case("or", lambda x: (x or 1.0) * 3, 2.0, 0.0, 0.0),
    case("chained comparison", lambda x: x**2 if 0 < x < 1 else x**3, 0.5, 2.0, 12.0),
    case("max", lambda x: max(x, 1.0) * 1.0, 2.0, 0.5, 0.0),
    case("min", lambda x: min(x, 1.0) * 1.0, 2.0, 0.5, 1.0),
    case("sorted", lambda x: sorted(list(x))[1] * 2, A([1.0, 2.0, 3.0]), A([3.0, 1.0, 2.0]), [0.0, 0.0, 2.0]),  # noqa: C414
    case("abs", lambda x: abs(x), 2.0, -2.0, -1.0),
    case("round", lambda x: x * round(x), 2.2, 3.3, 3.0),
    case("int", lambda x: x ** int(x), 2.5, 3.5, 36.75),
    case("float", lambda x: float(x) ** 2, 2.0, 3.0, td.TrackedValueEscaped),
    case("in", lambda x: 2 * x if x in [1.0, 2.0] else 5 * x, 1.0, 3.0, 5.0),
    case("dictionary key", lambda x: {1.0: 2.0, 3.0: 7.0}[x] * x, 1.0, 3.0, td.TrackedValueEscaped),
    case("mask", lambda x: np.sum(x[x > 0] ** 2), A([1.0, -1.0, 2.0]), A([-1.0, 3.0, 4.0]), [0.0, 6.0, 8.0]),
    case("argmax", lambda x: x[np.argmax(x)] ** 2, A([1.0, 2.0, 3.0]), A([5.0, 1.0, 2.0]), [10.0, 0.0, 0.0]),
    case("try and except", raises_and_catches, 2.0, -2.0, 10.0),
    case("append in a loop", appends, 5.0, 20.0, 1.9375),
    case("isinstance", is_array, A([1.0, 2.0]), A([3.0, 4.0]), [6.0, 8.0]),
    case("allclose", lambda x: x.sum() if np.allclose(x, 1) else (x**2).sum(), A([1.0, 1.0]), A([3.0, 4.0]), [6.0, 8.0]),
    case("array_equal", lambda x: x.sum() if np.array_equal(x, A([1.0, 1.0])) else (x**2).sum(), A([1.0, 1.0]), A([3.0, 4.0]), [6.0, 8.0]),
    case("assert", asserts, 2.0, -2.0, AssertionError),
    case("isnan", lambda x: 0.0 if np.isnan(x) else x**2, 2.0, nan, 0.0),
    case("sinc by hand", lambda x: np.sin(x) / x if x != 0 else 1.0, 1.0, 0.0, 0.0),
    case("Newton until converged", newton, 2.0, 1e6, 0.0005),
    case("length of its text", lambda x: x * len(str(x)), 2.0, 3.25, td.TrackedValueEscaped),
    case("searchsorted", lambda x: A([0.0, 5.0, 9.0])[np.searchsorted(A([0.0, 1.0]), x)] * x, 0.5, 1.5, 9.0),
    case("interp", lambda x: np.interp(x, A([0.0, 1.0, 2.0]), A([0.0, 5.0, 9.0])), 0.5, 1.5, 4.0),
    case("piecewise", pieces, A([1.0, -1.0]), A([-2.0, 3.0]), [-1.0, 6.0]),
    case("clip", lambda x: np.sum(np.clip(x, 0, 1) * A([1.0, 3.0])), A([0.5, 2.0]), A([2.0, 0.5]), [0.0, 3.0]),
    case("nonzero", lambda x: (x[np.nonzero(x)] ** 2).sum(), A([1.0, 0.0, 2.0]), A([3.0, 4.0, 5.0]), [6.0, 8.0, 10.0]),
    case("unique", lambda x: (np.unique(x) ** 2).sum(), A([1.0, 2.0, 3.0]), A([3.0, 1.0, 2.0]), [6.0, 2.0, 4.0]),
    case("math.sin", lambda x: math.sin(x), 1.0, 2.0, math.cos(2.0)),
    case("np.array of tracked scalars", lambda x: np.array([x, 2 * x]).sum(), 1.0, 2.0, 3.0),
    case("nested np.array", lambda x: (np.array([[x, 1 - x], [1 - x, x]]) @ A([1.0, 3.0]))[0], 1.0, 2.0, -2.0),
    case("dot", lambda x: np.dot(x, x), A([1.0, 2.0]), A([3.0, 4.0]), [6.0, 8.0]),
    case("item", lambda x: x.sum().item() ** 2, A([1.0, 2.0]), A([3.0, 4.0]), td.TrackedValueEscaped),
    case("tolist", lambda x: sum(x.tolist()), A([1.0, 2.0]), A([3.0, 4.0]), td.TrackedValueEscaped),
    case("np.asarray", lambda x: np.asarray(x).sum(), A([1.0, 2.0]), A([3.0, 4.0]), [1.0, 1.0]),
    case("there and back to float32", lambda x: (x.astype(np.float32) ** 2).sum().astype(float), A([1.0, 2.0]), A([3.0, 4.0]), [6.0, 8.0]),
    case("scipy.special", lambda x: scipy.special.gammaln(x), 2.5, 3.5, scipy.special.digamma(3.5)),
    case("deepcopy", lambda x: copy.deepcopy(x) ** 2, 2.0, 3.0, 6.0),
    case("any", lambda x: x.sum() if (x > 2).any() else (x**2).sum(), A([1.0, 3.0]), A([1.0, 2.0]), [2.0, 4.0]),
    case("all", lambda x: x.sum() if np.all(x > 0) else (x**2).sum(), A([1.0, 3.0]), A([-1.0, 2.0]), [-2.0, 4.0]),
    case("floor", lambda x: x * math.floor(x), 2.5, -2.5, -3.0),
    case("floor division", lambda x: x * (x // 1), 2.5, 3.5, 3.0),
    case("range", lambda x: sum(x * k for k in range(int(x))), 2.5, 4.5, 6.0),
    case("slice to int", lambda x: x[: int(x[0])].sum() * x[0], A([2.0, 1.0, 1.0]), A([3.0, 1.0, 1.0]), [8.0, 3.0, 3.0]),
    case("min with key", lambda x: min(x, key=lambda v: (v - 3) ** 2) * 2, A([1.0, 3.0]), A([3.0, 1.0]), [2.0, 0.0]),
    case("enumerate and zip", neighbours, A([1.0, 2.0, 1.0]), A([2.0, 1.0, 3.0]), [0.0, 0.0, 1.0]),
    case("any builtin", lambda x: x.sum() if any(v > 2 for v in x) else (x**2).sum(), A([1.0, 3.0]), A([1.0, 2.0]), [2.0, 4.0]),
    case("match", lambda x: matched(x), 1.0, 3.0, 5.0),
)  # fmt: skip
def test_control_flow_and_conversions(f, at, elsewhere, expected):
    """Recorded at the first input, right at the second."""
    check_everywhere(f, at, elsewhere, expected)


def matched(x):
    match int(x):
        case 1:
            return 2 * x
        case n if n > 2:
            return 5 * x
    return x


def into_tracked_zeros(x):
    y = np.zeros_like(x)
    y[0] = x[0] * 2
    y[1] = x[1] * y[0]
    return y.sum()


def into_zeros(x):
    y = np.zeros(2)
    y[0] = x[0] * 2
    return (y**2).sum()


def into_td_zeros(x):
    y = td.zeros(2)
    y[0] = x[0] * 2
    y[1] = x[1]
    return (y**2).sum()


def overwrites_a_copy(x):
    y = x.copy()
    y[0] = 5
    return np.sum(y**2)


def adds_in_place(x):
    y = x * 1
    y += x
    return (y**2).sum()


def into_a_buffer(x):
    buffer = np.empty(2)
    buffer[:] = x
    return (buffer**2).sum()


def through_views(x):
    y = x * 1.0
    y.reshape(2, 2)[0, :] = x[2:]
    y[::-1][0] *= 2
    return (y.reshape(2, 2).T @ A([1.0, 2.0])).sum()


def writes_under_a_mask(x):
    y = x * 1.0
    y[y < 0] = 0.0
    return (y**2).sum()


def writes_where_found(x):
    y = x * 1.0
    y[np.argmax(x)] = 0.0
    return (y**2).sum()


def swaps(x):
    y = x * 1.0
    y[0], y[1] = y[1] * 1.0, y[0] * 1.0
    return (y * A([1.0, 10.0])).sum()


def swaps_views(x):
    y = x * 1.0
    first, second = y[:1], y[1:]
    y[:1], y[1:] = second, first
    return (y * A([1.0, 10.0])).sum()


def writes_its_argument(x):
    x[0] = x[1] * 3
    return x.sum()


def reads_views(x):
    return (x.reshape(2, 2).T[0] * A([3.0, 1.0])).sum() + x[1::2] @ A([4.0, 1.0])


@table(
    case("into zeros_like", into_tracked_zeros, A([1.0, 2.0]), A([3.0, 4.0]), [10.0, 6.0]),
    case("into np.zeros", into_zeros, A([1.0, 2.0]), A([3.0, 4.0]), [24.0, 0.0]),
    case("into td.zeros", into_td_zeros, A([1.0, 2.0]), A([3.0, 4.0]), [24.0, 8.0]),
    case("overwriting a copy", overwrites_a_copy, A([1.0, 2.0]), A([3.0, 4.0]), [0.0, 8.0]),
    case("+=", adds_in_place, A([1.0, 2.0]), A([3.0, 4.0]), [24.0, 32.0]),
    case("into a plain buffer", into_a_buffer, A([1.0, 2.0]), A([3.0, 4.0]), [6.0, 8.0]),
    case("views", reads_views, A([1.0, 2.0, 3.0, 4.0]), A([4.0, 3.0, 2.0, 1.0]), [3.0, 4.0, 1.0, 1.0]),
    case("writing through views", through_views, A([1.0, 2.0, 3.0, 4.0]), A([4.0, 3.0, 2.0, 1.0]), [0.0, 0.0, 3.0, 5.0]),
    case("writing under a mask", writes_under_a_mask, A([1.0, -2.0]), A([-3.0, 4.0]), [0.0, 8.0]),
    case("writing where argmax says", writes_where_found, A([1.0, 2.0]), A([4.0, 3.0]), [0.0, 6.0]),
    case("swapping", swaps, A([1.0, 2.0]), A([3.0, 4.0]), [10.0, 1.0]),
    case("swapping views", swaps_views, A([1.0, 2.0]), A([3.0, 4.0]), [0.0, 11.0]),
    case("writing into the argument", writes_its_argument, A([1.0, 2.0]), A([3.0, 4.0]), [0.0, 4.0]),
)  # fmt: skip
def test_writing_in_place(f, at, elsewhere, expected):
    """As NumPy's arrays and views would, and the caller's array stays as it was."""
    before = elsewhere.copy()
    check_everywhere(f, at, elsewhere, expected)
    assert np.array_equal(elsewhere, before)


def manual_logsumexp(x):
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


@table(
    case("log at 0", lambda x: np.log(x), 1.0, 0.0, inf),
    case("abs at 0", lambda x: abs(x), 1.0, 0.0, 0.0),
    case("x**0 at 0", lambda x: x**0, 1.0, 0.0, 0.0),
    case("x**2 at 0", lambda x: x**2, 1.0, 0.0, 0.0),
    case("x**3 below 0", lambda x: x**3, 1.0, -2.0, 12.0),
    case("0**y", lambda y: 0.0**y, 1.0, 2.0, 0.0),
    case("std of a constant", lambda x: np.std(x), A([1.0, 2.0, 4.0]), A([2.0, 2.0, 2.0]), [0.0, 0.0, 0.0]),
    case("norm at 0", lambda x: np.linalg.norm(x), A([3.0, 4.0]), A([0.0, 0.0]), [0.0, 0.0]),
    case("where hides log at 0", lambda x: np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0), 1.0, 0.0, 0.0),
    case("where hides log at 0, undefended", lambda x: np.where(x > 0, np.log(x), 0.0), 1.0, 0.0, 0.0),
    case("where hides sin(x)/x at 0", lambda x: np.where(x != 0, np.sin(x) / x, 1.0), 1.0, 0.0, 0.0),
    case("log(1 + exp(x)) at 1000", lambda x: np.log(1 + np.exp(x)), 1.0, 1000.0, 1.0),
    case("prod with a zero", lambda x: np.prod(x), A([1.0, 2.0, 3.0]), A([0.0, 2.0, 3.0]), [6.0, 0.0, 0.0]),
    case("prod with two zeros", lambda x: np.prod(x), A([1.0, 2.0, 3.0]), A([0.0, 0.0, 3.0]), [0.0, 0.0, 0.0]),
    case("solve of a singular matrix", lambda x: np.linalg.solve(x, A([1.0, 2.0])).sum(), EYE, ONES, np.linalg.LinAlgError),
    case("inv of a singular matrix", lambda x: np.linalg.inv(x).sum(), EYE, ONES, np.linalg.LinAlgError),
    case("cholesky of no positive definite", lambda x: np.linalg.cholesky(x).sum(), EYE, -EYE, np.linalg.LinAlgError),
    case("max of NaN", lambda x: np.max(x), A([1.0, 2.0]), A([nan, 1.0]), [1.0, 0.0]),
    case("max of a tie", lambda x: np.max(x), A([1.0, 2.0]), A([2.0, 2.0]), [0.5, 0.5]),
    case("maximum at a tie", lambda x: np.maximum(x, 1.0), 2.0, 1.0, 0.5),
    case("x/x at 0", lambda x: x / x, 1.0, 0.0, nan),
    case("exp(x)/exp(x) at 1000", lambda x: np.exp(x) / np.exp(x), 1.0, 1000.0, nan),
    case("remainder below 0", lambda x: x % 2, 1.5, -1.5, 1.0),
    case("fmod below 0", lambda x: np.fmod(x, 2), 1.5, -1.5, 1.0),
    case("saturated tanh", lambda x: np.tanh(1e3 * x), 0.001, 10.0, 0.0),
    case("x**x at 0", lambda x: x**x, 1.0, 0.0, -inf),
    case("sqrt at 0", lambda x: np.sqrt(x), 1.0, 0.0, inf),
    case("arcsin at 1", lambda x: np.arcsin(x), 0.5, 1.0, inf),
    case("logaddexp at -inf", lambda x: np.logaddexp(x, -inf), 1.0, 2.0, 1.0),
    case("logsumexp with -inf", lambda x: td.special.logsumexp(x), A([1.0, 2.0]), A([-inf, 2.0]), [0.0, 1.0]),
    case("logsumexp by hand with -inf", manual_logsumexp, A([1.0, 2.0]), A([-inf, 2.0]), [0.0, 1.0]),
    case("NaN only where it reaches", lambda x: x[0] ** 2 + np.sin(x[1]), A([1.0, 2.0]), A([3.0, nan]), [6.0, nan]),
    case("xlogy at 0", lambda x: scipy.special.xlogy(0.0, x), 1.0, 0.0, 0.0),
)  # fmt: skip
def test_numerics(f, at, elsewhere, expected):
    """At the edge of the domain, at ties, and beyond overflow."""
    check_everywhere(f, at, elsewhere, expected)


ROW = A([[1.0, 2.0, 3.0]])
FORTRAN = np.asfortranarray(np.arange(6.0).reshape(2, 3))


@table(
    case("another length", lambda x: np.sum(x**2) / len(x), A([1.0, 2.0, 3.0]), A([1.0, 2.0, 3.0, 4.0, 5.0]), [0.4, 0.8, 1.2, 1.6, 2.0]),
    case("length in a loop", lambda x: math.prod(x.shape) * x.sum(), A([1.0, 2.0]), A([1.0, 2.0, 3.0, 4.0]), [4.0, 4.0, 4.0, 4.0]),
    case("broadcast over rows", lambda x: ((x + np.ones((4, 3))) ** 2).sum(), A([1.0, 2.0, 3.0]), A([3.0, 2.0, 1.0]), [32.0, 24.0, 16.0]),
    case("column times row", lambda x: (x * np.ones((1, 3))).sum(), np.ones((4, 1)), 2 * np.ones((4, 1)), 3 * np.ones((4, 1))),
    case("another rank", lambda x: (x + np.zeros(3)).sum(), A([1.0, 2.0, 3.0]), A([5.0]), [3.0]),
    case("no dimensions", lambda x: np.sin(x) / 2, A(1.0), A(2.0), np.cos(2.0) / 2),
    case("empty", lambda x: np.sum(x**2), np.ones(0), np.ones(0), []),
    case("negative strides", lambda x: np.sum(x**2 * A([0.0, 1.0, 2.0])), np.ones(3)[::-1], A([4.0, 5.0, 6.0])[::-1], [0.0, 10.0, 16.0]),
    case("Fortran order", lambda x: (x * ROW).sum() * x[0, 1], np.ones((2, 3)), FORTRAN, [[1.0, 36.0, 3.0], [1.0, 2.0, 3.0]]),
    case("same array twice", lambda x: (x * x).sum(), A([1.0, 2.0]), A([3.0, 4.0]), [6.0, 8.0]),
    case("output shape changes", lambda x: x[x > 0].sum() * x[x > 0].shape[0], A([1.0, -1.0]), A([1.0, 1.0]), [2.0, 2.0]),
)  # fmt: skip
def test_shapes_and_layouts(f, at, elsewhere, expected):
    """Shapes are part of a tape; layouts are not."""
    check_everywhere(f, at, elsewhere, expected)


# Closures, state and leaks: what a tape holds is what f was when it was recorded


def test_randomness_clocks_and_counters_are_as_they_were_when_recorded():
    """Documented: a tape is frozen. What changes is passed as an argument."""
    rng = np.random.default_rng(0)
    safe = td.GuardedTape(lambda x: x * rng.normal())
    with pytest.warns(td.FrozenRandomWarning):
        first = td.gradient(safe, 1.0)
    assert td.gradient(safe, 2.0) == first
    fed = td.GuardedTape(lambda x, noise: x * noise)
    assert [td.gradient(fed, 1.0, td.Constant(noise)) for noise in (0.5, 0.25)] == [0.5, 0.25]
    clock = td.GuardedTape(lambda x: x * time.perf_counter())
    assert td.gradient(clock, 1.0) == td.gradient(clock, 1.0)


def test_arrays_of_the_closure_are_copied_when_recorded():
    """Changing them later, in place, does not change the tape; td.compile refuses then, unless frozen; td.Constant data are current."""
    scale = A([2.0, 3.0])
    compiled = td.compile(lambda x: (x * scale).sum(), np.ones(2))
    scale[0] = 99.0
    with pytest.raises(td.StaleTape):
        td.gradient(compiled, np.ones(2))
    scale[0] = 2.0
    for make in (td.record, lambda f, x: td.compile(f, x, frozen=True)):
        tape = make(lambda x: (x * scale).sum(), np.ones(2))
        scale[0] = 99.0
        assert np.array_equal(td.gradient(tape, np.ones(2)), [2.0, 3.0])
        scale[0] = 2.0
    data = td.GuardedTape(lambda x, s: (x * s).sum())
    for value in (2.0, 99.0):
        scale[0] = value
        assert td.gradient(data, np.ones(2), td.Constant(scale))[0] == value


@pytest.mark.parametrize("use", [
    lambda t: t * 2, lambda t: np.sin(t), lambda t: bool(t > 1), lambda t: int(t), lambda t: np.ones(2) + t,
    lambda t: td.gradient(lambda y: y * t, 1.0), lambda t: td.record(lambda y: y * t, 1.0),
    lambda t: td.GuardedTape(lambda y: y * t)(1.0),
    lambda t: td.gradient(td.GuardedTape(lambda y: y**2), t), lambda t: td.GuardedTape(lambda y: y**2)(t), lambda t: [t] * 2 + [t + 1],
])  # fmt: skip
def test_a_value_kept_beyond_its_recording_is_refused(use):
    """Stashed in a global, memoised, in a default argument or a generator: using it raises and names the leak."""
    kept = []

    def f(x):
        kept.append(x * 2)
        return x**2

    td.record(f, 3.0)
    with pytest.raises(td.TrackedValueLeaked, match="used after its recording ended"):
        use(kept[0])


def test_a_leaked_value_does_not_wire_two_recordings_together():
    """Memoised in the first recording, used in the second."""
    memo = {}

    def f(x):
        return memo.setdefault("square", x * x) * x

    assert td.gradient(f, 2.0) == 12.0
    with pytest.raises(td.TrackedValueLeaked):
        td.gradient(f, 3.0)

    def remembers(x, seen=[]):  # noqa: B006
        seen.append(x)
        return seen[0] * x

    safe = td.GuardedTape(remembers)
    td.gradient(safe, 2.0)
    with pytest.raises(td.TrackedValueLeaked):
        td.gradient(safe, np.ones(2))


def test_a_cached_helper_cannot_take_tracked_values():
    """functools.lru_cache hashes its arguments; a tracked one would be a stale key."""

    @functools.lru_cache
    def helper(v):
        return v * 2

    with pytest.raises(td.TrackedValueEscaped, match="dictionary key"):
        td.gradient(lambda x: helper(x), 2.0)


def test_auxiliary_output_is_plain():
    """has_aux: nothing tracked leaves the recording."""
    gradient, aux = td.grad(lambda x: (x**2, {"double": x * 2, "parts": [x, (x + 1,)]}), has_aux=True)(3.0)
    assert gradient == 6.0
    assert aux == {"double": 6.0, "parts": [3.0, (4.0,)]}
    assert type(aux["double"]).__module__ in ("numpy", "builtins")


def test_exceptions_while_recording_leave_nothing_behind():
    """Five failed recordings, nested ones among them, then a gradient."""

    def fails(x):
        td.gradient(lambda y: y * x, 1.0)
        raise KeyError("the user's own")

    for _ in range(5):
        for run in (
            lambda: td.gradient(fails, 1.0),
            lambda: td.gradient(lambda x: td.gradient(fails, x), 1.0),
            lambda: td.grad(fails)(1.0),
        ):
            with pytest.raises(KeyError):
                run()
    assert not td.is_recording()
    assert td.gradient(lambda x: x**2, 3.0) == 6.0


def test_a_generator_that_outlives_its_recording_is_refused():
    """It would go on recording onto a finished tape."""
    kept = []

    def f(x):
        squares = (x * k for k in range(3))
        kept.append(squares)
        return next(squares) + x

    td.gradient(f, 2.0)
    with pytest.raises(td.TrackedValueLeaked):
        next(kept[0])


def test_a_pickled_tracked_value_is_refused():
    """Its text or bytes would carry the value away from its derivative."""
    with pytest.raises(td.TrackedValueEscaped, match="a pickle"):
        td.gradient(lambda x: pickle.loads(pickle.dumps(x)), 2.0)


# Nesting


@pytest.mark.parametrize(
    "grad", [td.grad, lambda f: lambda x: td.gradient(f, x), lambda f: lambda x: td.gradient(td.GuardedTape(f), x)]
)
def test_derivatives_of_derivatives_are_not_confused(grad):
    """Perturbation confusion, third derivatives, and inner functions that close over the outer variable."""
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert grad(lambda x: x * grad(lambda y: x * y)(2.0))(3.0) == 6.0
    assert grad(grad(grad(lambda x: x**4)))(2.0) == 48.0
    assert grad(lambda x: grad(lambda y: y * x)(x) * x)(3.0) == 6.0
    assert grad(lambda x: grad(lambda y: y**2 * x if y > x else y**3)(2 * x))(1.0) == pytest.approx(8.0)
    assert grad(grad(lambda x: x**3 if x > 1 else x**2))(0.5) == 2.0
    assert grad(grad(lambda x: x**3 if x > 1 else x**2))(2.0) == 12.0


def test_one_grad_of_a_grad_follows_branches_at_every_order():
    """The same function object asked on both sides of its branch."""
    second = td.grad(td.grad(lambda x: x**3 if x > 1 else x**2))
    assert [second(x) for x in (0.5, 2.0, 0.5, 3.0)] == [2.0, 12.0, 2.0, 18.0]


def test_a_compiled_tape_can_be_differentiated_again():
    """Its Hessian, and its gradient inside another function."""
    compiled = td.compile(lambda x: (x**3).sum(), np.ones(2))
    x = A([2.0, 3.0])
    assert np.allclose(td.hessian(compiled, x), np.diag(6 * x))
    assert np.allclose(td.gradient(lambda x: (td.gradient(compiled, x) ** 2).sum(), x), 36 * x**3)


# Aliasing


@pytest.mark.parametrize("make", [td.record, td.compile, lambda f, *args: td.GuardedTape(f)])
def test_results_are_never_views_of_arguments_constants_or_each_other(make):
    """Writing to one changes nothing else; a broadcast gradient is an array of its own."""
    x = A([1.0, 2.0, 3.0, 4.0])
    identity = make(lambda x: x[::2], x)
    part = identity(x)
    part[:] = 99.0
    assert np.array_equal(identity(x), [1.0, 3.0])
    assert np.array_equal(x, [1.0, 2.0, 3.0, 4.0])
    jacobian = td.jacobian(make(lambda x: x * 1.0, x), x)
    jacobian[:] = 0.0
    total = make(lambda x: x.sum(), x)
    ones = td.gradient(total, x)
    ones[0] = 99.0
    assert np.array_equal(td.gradient(total, x), np.ones(4))
    weights = np.ones(4)
    linear = make(lambda x: (x * weights).sum(), x)
    td.gradient(linear, x)[:] = 99.0
    assert np.array_equal(td.gradient(linear, x), np.ones(4))
    square = make(lambda x: (x * x).sum() / 2, x)
    td.gradient(square, x)[:] = 99.0
    assert np.array_equal(x, [1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize("make", [td.record, td.compile, lambda f, *args: td.GuardedTape(f)])
def test_the_same_or_overlapping_arguments_are_independent(make):
    """f(x, x) by its first argument; a[:-1] and a[1:]; the gradient written over the argument."""
    x, a = A([1.0, 2.0, 3.0]), A([1.0, 2.0, 3.0, 4.0])
    product = make(lambda u, v: (u * v).sum(), x, x)
    assert np.array_equal(td.gradient(product, x, x), x)
    first, second = td.gradient(product, a[:-1], a[1:], argnums=(0, 1))
    assert np.array_equal(first, a[1:])
    assert np.array_equal(second, a[:-1])
    out = a[:-1]
    td.gradient(product, a[:-1], a[1:], out=out)
    assert np.array_equal(a, [2.0, 3.0, 4.0, 4.0])


def test_two_guarded_tapes_share_no_memory():
    """Interleaved calls of two functions of the same shape."""
    one, two = td.GuardedTape(lambda x: (x**2).sum()), td.GuardedTape(lambda x: (x**3).sum())
    x = A([1.0, 2.0])
    g, h = td.gradient(one, x), td.gradient(two, x)
    again = td.gradient(one, 2 * x)
    assert np.array_equal(g, 2 * x)
    assert np.array_equal(h, 3 * x**2)
    assert np.array_equal(again, 4 * x)


# Kinds of input and output

TARGETS = pytest.mark.parametrize("gradient", [
    lambda f, x: td.gradient(f, x), lambda f, x: td.grad(f)(x), lambda f, x: td.gradient(td.GuardedTape(f), x),
    lambda f, x: td.gradient(td.compile(f, x), x),
], ids=["function", "grad", "guarded", "compiled"])  # fmt: skip


@TARGETS
@pytest.mark.parametrize("x", [
    A([1, 2]), A([True, False]), A([1.0, 2.0], dtype=object), A([1j, 2.0]), np.ma.array([1.0, 2.0], mask=[True, False]),
    np.zeros(2, [("a", float)]), 3, True, "3.0", None, [1, 2], np.ones(2, np.float16), {1.0},
], ids=lambda v: f"{type(v).__name__} {getattr(v, 'dtype', '')}")  # fmt: skip
def test_arguments_that_are_no_real_floats_are_refused(gradient, x):
    """TypeError with a fix, not a truncated or empty gradient."""
    with pytest.raises(td.DtypeMismatch, match="fix: "):
        gradient(lambda x: (x * x).sum(), x)


@TARGETS
def test_lists_big_endian_and_float32_arguments(gradient):
    """Converted where that is exact; the gradient has the argument's dtype."""
    f = lambda x: (x * x).sum()
    assert np.array_equal(gradient(f, [1.0, 2.0]), [2.0, 4.0])
    assert np.array_equal(gradient(f, A([1.0, 2.0], ">f8")), [2.0, 4.0])
    single = gradient(f, A([1.0, 2.0], np.float32))
    assert single.dtype == np.float32
    assert np.array_equal(single, [2.0, 4.0])


@TARGETS
@pytest.mark.parametrize(("f", "error"), [
    (lambda x: (x > 1).sum(), td.NonScalarOutput), (lambda x: (x > 1)[0], td.NonScalarOutput),
    (lambda x: x * 1j, td.NonScalarOutput), (lambda x: (x[0], x[1]), td.NonScalarOutput), (lambda x: "text", td.ArgumentMismatch),
    (lambda x: None, td.ArgumentMismatch), (lambda x: x[:1], td.NonScalarOutput), (lambda x: x, td.NonScalarOutput),
    (lambda x: {"a": x[0]}, td.NonScalarOutput),
], ids=["count", "bool", "complex", "tuple", "str", "None", "shape (1,)", "array", "dict"])  # fmt: skip
def test_outputs_that_are_no_real_scalar_are_refused(gradient, f, error):
    """TypeError; shape (1,) counts as an array."""
    with pytest.raises(error, match="fix: ") as refusal:
        gradient(f, A([1.0, 2.0]))
    assert isinstance(refusal.value, TypeError)


def test_constants_are_kept_apart_by_type_and_bits():
    """0.0 and -0.0, 1 and True, float32's 0.1 and its neighbours in float64."""

    def f(x):
        return x * 0.0 + np.copysign(1.0, x * -0.0) * x + np.float32(0.1) * x + 0.1 * x + True * x + 1 * x

    assert td.gradient(f, 2.0) == np.copysign(1.0, -0.0) + float(np.float32(0.1)) + 0.1 + 2.0
    tape = td.record(lambda x: np.arctan2(x * 0.0, -1.0) + np.arctan2(x * -0.0, -1.0), 2.0)
    for target in (tape, td.compile(tape)):
        assert target(2.0) == 0.0


def test_names_from_the_user_never_reach_generated_code():
    """A function called like an injection compiles like any other."""
    f = lambda x: x**2
    f.__name__ = "x;import os\n#"
    compiled = td.compile(f, 2.0)
    assert td.gradient(compiled, 3.0) == 6.0
    assert "import" not in compiled.source.splitlines()[0]


@pytest.mark.slow
def test_long_chains_record_compile_and_are_freed():
    """3000 operations deep and 1000 wide: neither recursion nor nesting."""

    def chain(x):
        for _ in range(3000):
            x = x * 0.999 + 0.001
        return x

    assert td.gradient(td.compile(chain, 1.0), 2.0) == pytest.approx(0.999**3000, rel=1e-12)
    assert td.gradient(lambda x: sum(x[k] * k for k in range(1000)), np.ones(1000))[7] == 7.0
    gc.collect()


# Threads, tasks, processes


def test_threads_record_for_themselves():
    """A recording belongs to its thread: no operation of one lands on the tape of another."""
    barrier = threading.Barrier(4)

    def work(k):
        barrier.wait()
        for _ in range(20):
            assert td.gradient(lambda x: sum((x * j) ** 2 for j in range(20)) * k, 1.0) == 2 * k * sum(j * j for j in range(20))

    in_threads(work)


def test_a_tracked_value_in_another_thread_is_refused():
    """It is used outside the recording that made it, although that is not finished."""

    def f(x):
        with pytest.raises(td.TrackedValueLeaked, match="was used in another thread or task than the one recording it"):
            in_threads(lambda _: x * 2, [0])
        return x**2

    assert td.gradient(f, 3.0) == 6.0


def test_tasks_that_switch_while_recording_are_kept_apart():
    """A coroutine suspended within a recording, while another task differentiates."""

    async def other(results):
        for _ in range(5):
            results.append((td.is_recording(), td.gradient(lambda x: x**3, 2.0)))
            await asyncio.sleep(0)

    async def main():
        results = []

        async def recording():
            from tapediff.base.current_recording import CURRENT
            from tapediff.recording.finish import finished_tape
            from tapediff.recording.python_state.process_state import process
            from tapediff.recording.recorder import Recorder

            recorder = Recorder("f")
            recorder._begin(None)
            x = recorder.input(3.0, active=True)
            y = x
            for _ in range(5):
                y = y * x
                await asyncio.sleep(0)
            tape = finished_tape(recorder, y)
            CURRENT.set(None)
            process.recordings.discard(recorder)
            recorder._end()
            return tape

        tape, _ = await asyncio.gather(recording(), other(results))
        return tape, results

    tape, results = asyncio.run(main())
    assert td.gradient(tape, 2.0) == 6 * 2.0**5
    assert results == [(False, 12.0)] * 5


@pytest.mark.parametrize("size", [3, 30_000])
def test_one_kernel_called_from_several_threads_gives_every_caller_its_own_answer(size):
    """Also where the work is long enough to give up the interpreter lock."""
    safe = td.GuardedTape(lambda x: np.sum(np.exp(np.sin(x) * x)) if x[0] > 0 else np.sum(np.cos(x) ** 2), merge=False)
    points = [np.linspace(s * 0.1, s, size) for s in (1.0, -1.0, 2.0, -2.0)]
    expected = [td.gradient(safe, x) for x in points]

    def work(k):
        for j in range(40):
            assert np.array_equal(td.gradient(safe, points[(j + k) % 4]), expected[(j + k) % 4])

    in_threads(work)
    assert safe.stats.recordings == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_kernel_compiled_before_a_fork_runs_in_the_child():
    """And the child records a path of its own."""
    safe = td.GuardedTape(lambda x: x**3 if x > 1 else x**2)
    assert td.gradient(safe, 2.0) == 12.0
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = int(not (td.gradient(safe, 3.0) == 27.0 and td.gradient(safe, 0.5) == 1.0))
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert safe.stats.recordings == 1
