"""What a tape does with values that Python looked at while recording: a guard, a value of its own, or an error; there is no fourth case."""

import contextlib
import inspect
import itertools
import math
import operator
import re
import warnings
from math import sin
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.special
import scipy.stats
from numpy import asarray as asarray_by_name

import tapediff as td
from tapediff.recording.finish import finished_tape
from tapediff.recording.recorder import Recorder
from tapediff.targets.tapes.gradient_tape import gradient_tape

# A looking line is marked with this, so that a test knows which one an error must name.
MARK = "# looks"
REFUSAL = "the control flow at this point differs from the recorded one, so this tape has no answer here"
REMEDY = "use td.GuardedTape(f), which keeps one tape per path; or record a new tape at this point"
RUN_AS = pytest.mark.parametrize("run_as", [lambda tape: tape, td.compile], ids=["tape", "compiled"])


def place(f):
    """file:line in function of the marked line of f."""
    lines, first = inspect.getsourcelines(f)
    number = next(first + k for k, line in enumerate(lines) if MARK in line)
    return f"test_guards.py:{number} in {f.__name__}"


def text(what, at, got, fix):
    return f"{what}\n  at:  {at}\n  got: {got}\n  fix: {fix}"


# Escapes that are guards: function, point recorded at, point of the other path, recorded outcome, outcome there.


def an_if(x):
    if x > 0:  # looks
        return x**2
    return -3 * x


def a_while(x):
    y = x
    while y < 100:  # looks
        y = y * x
    return y


def an_or(x):
    return (x or 1.0) * 3  # looks


def an_and(x):
    return x * 2 if (x > 0 and x < 1) else x**3  # looks


def a_chain(x):
    return x**2 if 0 < x < 1 else x**3  # looks


def a_not(x):
    return x * 5 if not x else x**2  # looks


def membership(x):
    return 2 * x if x in [1.0, 2.0] else 5 * x  # looks


def membership_in_tracked(x):
    return x[0] * 2 if 3.0 in x else x[0] * 5  # looks


def builtin_max(x):
    return max(x, 1.0) * 3  # looks


def builtin_min(x):
    return min(x, 1.0) * 3  # looks


def builtin_sorted(x):
    return sorted(list(x))[1] * 2  # noqa: C414 # looks


def any_of(x):
    if np.any(x > 2):  # looks
        return (x**2).sum()
    return x.sum()


def close_to(x):
    return x.sum() if np.allclose(x, 1) else (x**2).sum()  # looks


def an_assert(x):
    assert x > 0  # looks
    return x**2


def to_int(x):
    return x ** int(x)  # looks


def to_int_by_floor(x):
    return x * math.floor(x)  # looks


def to_round(x):
    return x * round(x)  # looks


def a_range(x):
    return sum([x * k for k in range(int(x))], 0.0 * x)  # looks


def to_index(x):
    return x[0] * operator.index(np.argmax(x))  # looks


def list_index(x):
    return [1.0, 10.0, 100.0][np.argmax(x)] * x[0]  # looks


def a_mask(x):
    return np.kron(x[x > 0], 1.0).sum()  # looks


def the_nonzero(x):
    return np.kron(x[np.nonzero(x)], 1.0).sum()  # looks


def a_mask_written_to(x):
    y = x * 1.0
    y[y > 0] = x[:1]  # looks
    return y.sum()


A = np.array
GUARDS = [
    (an_if, 2.0, -2.0, "True", "False"),
    (a_while, 5.0, 200.0, "True", "False"),
    (an_or, 2.0, 0.0, "True", "False"),
    (an_and, 0.5, -1.0, "True", "False"),
    (a_chain, 0.5, 2.0, "True", "False"),
    (a_not, 2.0, 0.0, "True", "False"),
    (membership, 1.0, 3.0, "True", "False"),
    (membership_in_tracked, A([1.0, 3.0]), A([1.0, 2.0]), "True", "False"),
    (builtin_max, 2.0, 0.5, "False", "True"),
    (builtin_min, 2.0, 0.5, "True", "False"),
    (builtin_sorted, A([1.0, 2.0, 3.0]), A([3.0, 1.0, 2.0]), "False", "True"),
    (any_of, A([1.0, 3.0]), A([1.0, 2.0]), "True", "False"),
    (close_to, A([1.0, 1.0]), A([3.0, 4.0]), "True", "False"),
    (an_assert, 2.0, -2.0, "True", "False"),
    (to_int, 2.5, 3.5, "2", "3"),
    (to_int, 2.5, -2.5, "2", "-2"),
    (to_int, 2.5, np.nan, "2", "nan"),
    (to_int_by_floor, 2.5, 3.5, "2", "3"),
    (to_round, 2.2, 3.3, "2", "3"),
    (to_round, 2.5, 3.5, "2", "4"),
    (a_range, 2.5, 4.5, "2", "4"),
    (to_index, A([1.0, 2.0]), A([2.0, 1.0]), "1", "0"),
    (list_index, A([1.0, 2.0, 0.0]), A([2.0, 1.0, 5.0]), "1", "2"),
    (a_mask, A([1.0, -1.0, 2.0]), A([-1.0, 3.0, 4.0]), "a mask of shape (3,) with 2 true", "a mask of shape (3,) with 2 true"),
    (the_nonzero, A([1.0, 0.0, 2.0]), A([3.0, 4.0, 5.0]), "a mask of shape (3,) with 2 true", "a mask of shape (3,) with 3 true"),
    (a_mask_written_to, A([1.0, -1.0]), A([-1.0, -1.0]), "a mask of shape (2,) with 1 true", "a mask of shape (2,) with 0 true"),
]  # fmt: skip


@RUN_AS
@pytest.mark.parametrize(
    ("f", "at", "elsewhere", "recorded", "met"), GUARDS, ids=lambda v: getattr(v, "__name__", None)
)
def test_a_tape_refuses_another_path_and_names_the_line(f, at, elsewhere, recorded, met, run_as):
    """GuardFailed with the whole text; `out` and the arguments untouched; the tape answers again where it holds."""
    tape = run_as(td.record(f, at))
    before = td.value_and_gradient(tape, at)
    x, out = np.array(elsewhere), np.full(np.shape(elsewhere), 7.0)
    kept = x.copy()
    with pytest.raises(td.GuardFailed) as failure:
        td.gradient(tape, x, out=out)
    turn = failure.value.turn
    assert (turn is not None) == (f in (a_while, a_chain, builtin_sorted))
    times = f", time {turn[0]} of {turn[1]} at this line" if turn is not None else ""
    assert str(failure.value) == text(REFUSAL, place(f), f"recorded {recorded}, now {met}{times}", REMEDY)
    assert (out == 7.0).all()
    assert np.array_equal(x, kept, equal_nan=True)
    with pytest.raises(td.GuardFailed):
        tape(x)
    assert np.array_equal(before[1], td.gradient(tape, at))
    assert before[0] == tape(at)


# Escapes that are values: no guard decides, the replay computes them anew.

VALUES = [
    ("argmax", lambda x: x[np.argmax(x)] ** 2, A([1.0, 2.0, 3.0]), A([5.0, 1.0, 2.0]), [10.0, 0.0, 0.0]),
    ("argmin", lambda x: x[np.argmin(x)] ** 2, A([1.0, 2.0, 3.0]), A([5.0, 1.0, 2.0]), [0.0, 2.0, 0.0]),
    ("argsort", lambda x: (x[np.argsort(x)] * A([1.0, 2.0, 3.0])).sum(), A([1.0, 2.0, 3.0]), A([5.0, 1.0, 2.0]), [3.0, 1.0, 2.0]),
    ("sort", lambda x: (np.sort(x) * A([1.0, 2.0, 3.0])).sum(), A([1.0, 2.0, 3.0]), A([5.0, 1.0, 2.0]), [3.0, 1.0, 2.0]),
    ("median", lambda x: np.median(x), A([1.0, 2.0, 3.0]), A([5.0, 1.0, 2.0]), [0.0, 0.0, 1.0]),
    ("mask as factor", lambda x: np.sum(x * (x > 0)), A([1.0, -1.0]), A([-1.0, 3.0]), [0.0, 1.0]),
    ("where", lambda x: np.where(x > 0, x**2, -x).sum(), A([1.0, -1.0]), A([-1.0, 3.0]), [-1.0, 6.0]),
    ("maximum", lambda x: np.maximum(x, 1.0).sum(), A([2.0, 0.0]), A([0.0, 2.0]), [0.0, 1.0]),
    ("abs", lambda x: abs(x).sum(), A([2.0, -2.0]), A([-2.0, 2.0]), [-1.0, 1.0]),
    ("clip", lambda x: np.clip(x, 0, 1).sum(), A([0.5, 2.0]), A([2.0, 0.5]), [0.0, 1.0]),
    ("count as factor", lambda x: x.sum() * np.count_nonzero(x > 0), A([2.0, 2.0]), A([2.0, -1.0]), [1.0, 1.0]),
]  # fmt: skip


@RUN_AS
@pytest.mark.parametrize(("f", "at", "elsewhere", "expected"), [v[1:] for v in VALUES], ids=[v[0] for v in VALUES])
def test_comparisons_and_indices_used_as_values_are_recomputed(f, at, elsewhere, expected, run_as):
    """Recorded at A and replayed at B, where they come out differently: the gradient is that of B."""
    tape = run_as(td.record(f, at))
    value, gradient = td.value_and_gradient(tape, elsewhere)
    assert np.array_equal(gradient, expected)
    assert value == pytest.approx(f(elsewhere), rel=1e-15)


def looked_up(x):
    return PIECES[np.searchsorted(GRID, x)] * x  # looks


GRID, PIECES = A([0.0, 1.0, 2.0]), A([0.0, 5.0, 9.0, 0.0])


@RUN_AS
def test_a_tracked_position_in_a_plain_array_is_a_guard(run_as):
    """Indexing a plain array asks the tracked position for a Python integer."""
    tape = run_as(td.record(looked_up, 0.5))
    assert td.gradient(tape, 0.7) == 5.0
    with pytest.raises(td.GuardFailed) as failure:
        td.gradient(tape, 1.5)
    assert str(failure.value) == text(REFUSAL, place(looked_up), "recorded 1, now 2", REMEDY)


# Escapes that are errors.


def to_float(x):
    return float(x[0]) ** 2  # looks


def by_item(x):
    return x[0].item() ** 2  # looks


def by_tolist(x):
    return sum(x.tolist())  # looks


def math_sin(x):
    return sin(x[0])  # looks


def to_ndarray(x):
    return asarray_by_name(x).sum()  # looks


OUTSIDE = np.arange(2.0)


def into_ndarray(x):
    y = OUTSIDE
    y[0] = x[0] * 2  # looks
    return y.sum()


def slice_into_ndarray(x):
    y = OUTSIDE
    y[:] = x  # looks
    return y.sum()


def dictionary_key(x):
    return {1.0: 2.0}[x[0]] * x[0]  # looks


def set_member(x):
    return len({x[0]}) * x[0]  # looks


def as_text(x):
    return x[0] * len(str(x[0]))  # looks


def as_format(x):
    return x[0] * len(f"{x[0]:.3f}")  # looks


def as_complex(x):
    return x[0] * complex(x[0]).real  # looks


SCALAR = "<tracked float64[]>, the result of index(...)"
ARRAY = "<tracked float64[2]>, the result of an argument"
FLOAT_FIX = (
    "leave float() out, call math's functions by these names (math.log; after `from math import log` they refuse tracked values) or NumPy's, and keep arrays of tracked values tracked: td.zeros(n) or np.stack([...]) instead of "
    "storing into a plain array"
)
WRITE_FIX = (
    "make an array that is written to in the recorded function, by np.zeros(n), np.array(y) where y.copy() stands, or td.zeros(n); "
    "or join its entries by np.stack([...]) or np.concatenate([...])"
)
NDARRAY_FIX = (
    "call np.array and np.asarray by these names, which keep values tracked (after `from numpy import array` they are not); "
    "use np.stack([...]) or np.concatenate([...]) to join arrays and td.zeros(...) for one to write into"
)
HASH = "a dictionary key or set member (hash)"
HASH_FIX = "compare with `if x == ...`, which is guarded; or key on int(x)"
TEXT_FIX = "print(x) shows type, value and origin while recording; td.debug.print(\"x = {}\", x) prints at every replay"
ERRORS = [
    (to_float, "a Python float", SCALAR, FLOAT_FIX),
    (
        by_item,
        "a Python number (item)",
        SCALAR,
        "use x[i], or x.reshape(()) for an array of one element, which stay tracked",
    ),
    (by_tolist, "a list (tolist)", ARRAY, "use list(x), whose elements stay tracked"),
    (math_sin, "a Python float", SCALAR, FLOAT_FIX),
    (to_ndarray, "a plain ndarray", ARRAY, NDARRAY_FIX),
    (into_ndarray, "a Python float", "<tracked float64[]>, the result of multiply(...)", WRITE_FIX),
    (slice_into_ndarray, "a plain ndarray", ARRAY, WRITE_FIX),
    (dictionary_key, HASH, SCALAR, HASH_FIX),
    (set_member, HASH, SCALAR, HASH_FIX),
    (as_text, "text (str or format)", SCALAR, TEXT_FIX),
    (as_format, "text (str or format)", SCALAR, TEXT_FIX),
    (
        as_complex,
        "a complex number",
        SCALAR,
        "write x + 0j or x + 1j * y, and np.exp for cmath.exp; td.zeros(n, complex) is an array to write to",
    ),
]


@pytest.mark.parametrize(("f", "into", "got", "fix"), ERRORS, ids=[e[0].__name__ for e in ERRORS])
def test_a_value_that_would_lose_its_gradient_raises(f, into, got, fix):
    """TrackedValueEscaped with the whole text, while recording."""
    with pytest.raises(td.TrackedValueEscaped) as failure:
        td.record(f, A([1.0, 2.0]), merge=False)
    what = f"a tracked value was converted to {into}, which would drop its gradient"
    assert str(failure.value) == text(what, place(f), got, fix)


def scipy_logpdf(x):
    return scipy.stats.maxwell.logpdf(x).sum()  # looks


@pytest.mark.parametrize(("f", "spelling"), [
    (scipy_logpdf, "write its log density with NumPy; tapediff.stats has"),
])  # fmt: skip
def test_scipy_functions_that_convert_their_argument_raise_and_name_the_spelling_that_works(f, spelling):
    """The error is raised inside SciPy but names the user's line."""
    with pytest.raises(td.TapediffError) as failure:
        td.record(f, A([1.0, 2.0]))
    assert f"\n  at:  {place(f)}\n" in str(failure.value)
    assert spelling in str(failure.value)


def test_isinstance_answers_as_for_the_plain_value():
    """Library code that checks for arrays and floats takes its usual path."""
    seen = {}

    def f(x, y):
        seen.update(array=isinstance(x, np.ndarray), scalar=isinstance(y, float), not_array=isinstance(y, np.ndarray))
        seen.update(element=isinstance(x[0], float), mask=isinstance(x > 0, np.ndarray))
        return x.sum() + y

    td.record(f, A([1.0]), 2.0)
    assert seen == {"array": True, "scalar": True, "not_array": False, "element": True, "mask": True}


def caught(x):
    with np.errstate(all="raise"):
        try:
            return np.log(x)  # looks
        except FloatingPointError:
            return 7.0 * x


def caught_around(x):
    try:
        with np.errstate(divide="raise"):
            s = x / np.maximum(x, 0.0)
    except ArithmeticError:
        s = 7.0 * x
    return s


def _divided(x):
    with np.errstate(all="raise"):
        return x / np.maximum(x, 0.0)


def caught_of_helper(x):
    try:
        return _divided(x)
    except Exception:  # noqa: BLE001 -- as in people's code
        return 7.0 * x


def suppressed(x):
    s = 7.0 * x
    with contextlib.suppress(FloatingPointError), np.errstate(invalid="raise"):
        s = x / np.maximum(x, 0.0)
    return s


def caught_on_a_side(x):
    s = x
    try:
        if x < 3.0:
            s = _divided(x)
    except FloatingPointError:
        s = 7.0 * x
    return s


def caught_of_array(x):
    y = np.ones(3)
    with np.errstate(all="raise"):
        try:
            y = y * x / np.maximum(x, 0.0)
        except FloatingPointError:
            y = y * 7.0
    return y.sum()


def caught_warning(x):
    with warnings.catch_warnings():
        s = x * 1.0
        warnings.simplefilter("error")
        try:
            s = s / np.maximum(x, 0.0)
        except RuntimeWarning:
            s = 7.0 * x
    return s


CATCHING = [caught, caught_around, caught_of_helper, suppressed, caught_on_a_side, caught_of_array, caught_warning]


@pytest.mark.parametrize("f", CATCHING, ids=lambda f: f.__name__)
@pytest.mark.parametrize("first", [-4.0, 2.0])
def test_an_error_that_depends_on_values_cannot_be_caught_inside(f, first):
    """`except FloatingPointError` lets Python see values without a guard, so a tape of it would be wrong elsewhere."""
    target = td.GuardedTape(f)
    for x in (first, 2.0, -4.0):
        with pytest.raises(td.UnsupportedFunction, match=r"catches the|caught an error"):
            target(x)


def test_the_message_names_the_operation_and_the_handler():
    with pytest.raises(td.UnsupportedFunction) as failure:
        td.record(caught, 4.0)
    handler = inspect.getsourcelines(caught)[1] + 4
    assert str(failure.value) == text(
        "caught catches the FloatingPointError that log(...) raises at some points, which depend on values that a tape cannot guard",
        place(caught), f"an `except` at {Path(__file__).name}:{handler} in caught, and NumPy asked to raise errors",
        "test the values before the call, with an `if`; or catch the error outside the recorded function",
    )  # fmt: skip


def reads_a_key(x):
    try:
        return {"a": x * 2.0}["b"]
    except KeyError:
        return np.log(x) if x > 0 else 3.0 * x


def branches(x):
    return x / 3.0 if x > 0 else x * 2.0


@pytest.mark.parametrize("f", [reads_a_key, branches], ids=lambda f: f.__name__)
def test_where_all_errors_are_raised_other_functions_are_recorded_as_ever(f):
    target = td.GuardedTape(f)
    with np.errstate(all="raise"):
        for x in (-4.0, 2.0, -1.0, 3.0):
            assert target(x) == pytest.approx(f(x))
    with np.errstate(all="raise"), pytest.raises(td.UnsupportedFunction):
        td.GuardedTape(lambda x: _caught_outside(x))(2.0)


def _caught_outside(x):
    try:
        return np.log(x)
    except FloatingPointError:
        return 7.0 * x


# How guards are evaluated.


def two_guards(x):
    if x[0] > 0:
        if np.log(x[0]) > x[1]:
            return x.sum()
        return (x**2).sum()
    return (x**3).sum()


@RUN_AS
def test_the_first_guard_that_fails_ends_the_replay(run_as):
    """What follows is outside its domain (here log of a negative number) and is not looked at; no warning is given."""
    tape = run_as(td.record(two_guards, A([3.0, 1.0])))
    with pytest.raises(td.GuardFailed) as failure:
        td.gradient(tape, A([-1.0, 9.0]))
    assert (failure.value.ordinal, failure.value.recorded, failure.value.outcome) == (0, True, False)
    with pytest.raises(td.GuardFailed) as failure:
        td.gradient(tape, A([3.0, 9.0]))
    assert failure.value.ordinal == 1


@RUN_AS
def test_nan_makes_every_comparison_false_as_in_python(run_as):
    """Never the sign of a difference: with NaN, neither x > 0 nor x <= 0 holds."""
    positive = run_as(td.record(lambda x: x**2 if x > 0 else -x, 1.0))
    with pytest.raises(td.GuardFailed):
        td.gradient(positive, np.nan)
    not_positive = run_as(td.record(lambda x: -x if not x > 0 else x**2, -1.0))
    assert td.gradient(not_positive, np.nan) == -1.0
    differs = run_as(td.record(lambda x: x * 2 if x != x else x * 3, 1.0))
    with pytest.raises(td.GuardFailed):
        td.gradient(differs, np.nan)


@RUN_AS
@pytest.mark.parametrize(("at", "held"), [(0.0, [0.0, -0.0]), (1.0, [1.0, 5e-324])])
def test_comparisons_at_ties_and_signed_zeros_are_those_of_python(at, held, run_as):
    """x > 0 at 0.0, -0.0 and the smallest number above."""
    tape = run_as(td.record(lambda x: x**2 if x > 0 else -x, at))
    for x in (0.0, -0.0, 5e-324, 1.0):
        if x in held and (x > 0) == (at > 0):
            td.gradient(tape, x)
        elif (x > 0) != (at > 0):
            with pytest.raises(td.GuardFailed):
                td.gradient(tape, x)


@RUN_AS
def test_a_guard_looks_at_an_intermediate_value(run_as):
    """The condition is on a sum, which comes out differently although every argument kept its sign."""
    tape = run_as(td.record(lambda x: np.sum(np.exp(x)) if np.sum(np.exp(x)) > 10 else x.sum(), A([2.0, 2.0])))
    assert td.gradient(tape, A([2.5, 1.0])) == pytest.approx(np.exp([2.5, 1.0]))
    with pytest.raises(td.GuardFailed):
        td.gradient(tape, A([1.0, 1.0]))


def constant_guard(x):
    limit = td.full(3, 2.0)
    if limit.sum() > 1 and x.shape[0] > 2:
        return x.sum()
    return x.sum() * 2


def test_a_guard_on_constants_costs_nothing():
    """It is on the recorded tape, and neither on the optimised one nor in the kernel."""
    tape = td.record(constant_guard, np.ones(3))
    assert len(tape.guards) == 1
    assert gradient_tape(tape, (0,)).guards == ()
    assert "return guard(" not in td.compile(tape).source


def test_guards_keep_their_order_and_their_lines_through_every_pass():
    """Also where the instructions around them are folded, shared and reordered."""
    tape = td.record(two_guards, A([3.0, 1.0]))
    optimised = gradient_tape(tape, (0,))
    assert [(g.ordinal, g.kind, str(g)) for g in optimised.guards] == [(g.ordinal, g.kind, str(g)) for g in tape.guards]
    lines = re.findall(r"return guard\(.*# (test_guards\.py:\d+)", td.compile(tape).source)
    assert lines == [str(g.site).split(" in ")[0] for g in tape.guards]


def test_a_value_looked_at_twice_is_one_guard():
    """In a loop on the same condition, the first guard settles it."""

    def f(x):
        positive = x > 0
        return sum(x if positive else -x for _ in range(5))

    assert len(td.record(f, 1.0).guards) == 1


def test_looking_at_prescribed_outcomes_overrules_numpy():
    """The recorder gives Python the outcomes it was told, in order, and asks NumPy only after them."""
    tape = td.record(two_guards, A([1.0, 5.0]), prescribed=[True, True])
    assert [g.outcome for g in tape.guards] == [True, True]
    assert tape.guards[1].kind == "bool"
    assert [g.outcome for g in td.record(two_guards, A([1.0, 5.0]), prescribed=[True]).guards] == [True, False]


def test_an_outcome_of_another_kind_is_not_prescribed():
    """Nor are those after it."""
    tape = td.record(two_guards, A([1.0, 5.0]), prescribed=[1, True])
    assert [g.outcome for g in tape.guards] == [g.outcome for g in td.record(two_guards, A([1.0, 5.0])).guards]


def test_an_outcome_of_another_line_is_not_prescribed():
    """Two tests of the same kind, of which a global variable leaves one out."""
    asks = [True]

    def f(x):
        y = x[0] * 2 if asks[0] and x[0] > 0 else x[0]
        return y if x[1] > 0 else -y

    known = td.record(f, A([1.0, 1.0]))
    asks[0] = False
    recorder = Recorder(prescribed=[True, True], along=known.guards)
    tape = recorder.run(lambda recorder: finished_tape(recorder, f(recorder.input(A([1.0, -1.0]), active=True))))
    assert [g.outcome for g in tape.guards] == [False]


@RUN_AS
def test_an_error_of_int_that_the_function_catches_is_a_guard(run_as):
    """int() raises for NaN and infinities, which is a decision on the value."""

    def f(x):
        try:
            k = int(x[0])
        except (ValueError, OverflowError):
            k = 10
        return k * x[1]

    for first, other in itertools.permutations((2.5, np.nan, np.inf, -np.inf, 3.0), 2):
        tape = run_as(td.record(f, A([first, 1.0])))
        assert tape(A([first, 2.0])) == f(A([first, 2.0]))
        with pytest.raises(td.GuardFailed):
            tape(A([other, 2.0]))
    guarded = td.GuardedTape(f)
    for first in (np.nan, 2.5, np.inf, 3.0, np.nan, -np.inf, 2.0):
        assert td.value_and_gradient(guarded, A([first, 2.0]))[0] == f(A([first, 2.0]))


# Shape, dtype, number and kind of arguments.


@RUN_AS
def test_another_shape_dtype_or_number_of_arguments_raises(run_as):
    """Recorded against given, whole texts; nothing is written to out."""
    tape = run_as(td.record(lambda x: (x**2).sum() / len(x), np.ones(3)))
    out = np.full(5, 7.0)
    with pytest.raises(td.ShapeMismatch) as shape:
        td.gradient(tape, np.ones(5), out=out)
    assert shape.value.what == "argument 0 of <lambda> has another shape than recorded"
    assert shape.value.got == "recorded (3,), given (5,)"
    assert shape.value.fix == "record a tape for this shape, or use td.GuardedTape(f), which keeps one per shape"
    assert (out == 7.0).all()
    with pytest.raises(td.DtypeMismatch) as dtype:
        td.gradient(tape, np.ones(3, np.float32))
    assert dtype.value.got == "recorded float64, given float32"
    with pytest.raises(td.ArgumentMismatch) as count:
        td.gradient(tape, np.ones(3), np.ones(3))
    assert count.value.what == "the tape of <lambda> takes 1 arguments, 2 were given"
    for bad in (
        np.ones(3, int),
        np.ones(3, bool),
        np.ones(3, complex),
        np.array([1.0, 2.0, None]),
        np.ma.ones(3),
        "abc",
    ):
        with pytest.raises(td.DtypeMismatch):
            td.gradient(tape, bad)
    assert np.array_equal(td.gradient(tape, np.full(3, 3.0)), [2.0, 2.0, 2.0])


@RUN_AS
def test_any_layout_of_the_recorded_shape_is_accepted(run_as):
    """Fortran order, strides, read-only, big-endian and lists hold the same numbers."""
    f = lambda x: (x * np.arange(6.0).reshape(2, 3)).sum() * x[0, 1]
    tape = run_as(td.record(f, np.ones((2, 3))))
    x = np.random.default_rng(0).normal(size=(2, 3))
    expected = td.gradient(tape, x)
    read_only = x.copy()
    read_only.flags.writeable = False
    strided = np.zeros((4, 6))
    strided[::2, ::2] = x
    for same in (
        np.asfortranarray(x),
        read_only,
        strided[::2, ::2],
        x[:, ::-1][:, ::-1],
        x.astype(">f8"),
        x.tolist(),
        x.T.copy().T,
    ):
        assert np.array_equal(td.gradient(tape, same), expected)


def test_neighbouring_integers_beyond_the_precision_of_a_float_are_told_apart():
    """An integer argument is compared as an integer: 2**53 and 2**53 + 1 are the same double."""
    large = 2**53

    def f(x, n):
        return x * 2.0 if int(n[0]) == large else x * 3.0

    compiled = td.compile(f, 1.0, td.Constant(np.array([large])))
    assert td.gradient(compiled, 1.0, td.Constant(np.array([large]))) == 2.0
    with pytest.raises(td.GuardFailed):
        td.gradient(compiled, 1.0, td.Constant(np.array([large + 1])))
