"""GuardedTape: Python's branches are followed, each path is recorded once, and no answer comes from the wrong one."""

import enum
import gc
import logging
import threading
import time
import warnings
import weakref
from dataclasses import dataclass

import numpy as np
import pytest

import tapediff as td
from tapediff.ir.interpreter import GuardFailure

A = np.array


def line(f, offset=0):
    """file:line in function, `offset` lines below the def."""
    return f"test_guarded_tape.py:{f.__code__.co_firstlineno + offset} in {f.__name__}"


def text(what, at, got, fix):
    return f"{what}\n  at:  {at}\n  got: {got}\n  fix: {fix}"


def cube_or_square(x):
    if x[0] > 1:
        return x[0] ** 3
    return x[0] ** 2


def slope(x):
    return 3 * x**2 if x > 1 else 2 * x


# Paths


@pytest.mark.parametrize("guard", [None, lambda x: x[0] > 1], ids=["automatic", "given"])
def test_each_path_is_recorded_once_and_every_answer_is_its_own(guard):
    """0.1, 1.1, 0.5: two recordings, three right gradients and values."""
    safe = td.GuardedTape(cube_or_square, guard)
    for x in (0.1, 1.1, 0.5, 3.0, 1.0, -2.0):
        value, gradient = td.value_and_gradient(safe, A([x]))
        assert value == pytest.approx(cube_or_square(A([x])), rel=1e-14)
        assert gradient == pytest.approx([slope(x)], rel=1e-14)
        assert safe(A([x])) == pytest.approx(cube_or_square(A([x])), rel=1e-14)
        assert td.gradient(safe, A([x])) == pytest.approx([slope(x)], rel=1e-14)
    assert safe.stats.recordings == safe.stats.misses == 2
    assert safe.stats.hits == 16


def wandering(x):
    """Loops and branches of every kind; piecewise smooth."""
    total, k = 0.0 * x[0], int(3 * abs(x[0]))
    for j in range(k):
        total = total + x[1] * j
    for value in x:
        if value > 0.5 or -0.5 < value < 0:
            total = total + np.sin(value)
        elif round(value) == 0:
            total = total + value**2
        else:
            total = total - max(value, -1.0)
    while total > 4:
        total = total / 2
    return total + (x[x > 0] ** 2).sum()


def difference(f, x, h=1e-6):
    return A([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


@pytest.mark.parametrize("compile_after", [0, 2])
def test_random_points_on_many_paths_agree_with_the_plain_function(compile_after):
    """Wherever no branch lies within the difference quotient's step, value and gradient are the plain function's."""
    safe = td.GuardedTape(wandering, compile_after=compile_after, max_tapes=1000)
    rng = np.random.default_rng(0)
    points = [rng.uniform(-2, 2, 3) for _ in range(60)]
    for x in [*points, *points]:
        value, gradient = td.value_and_gradient(safe, x)
        assert value == pytest.approx(wandering(x), rel=1e-13, abs=1e-13)
        coarse, fine = difference(wandering, x, 1e-5), difference(wandering, x, 1e-6)
        if np.allclose(coarse, fine, atol=1e-4):  # else a branch lies in between
            assert gradient == pytest.approx(fine, abs=1e-6)
    assert safe.stats.hits == 120 - safe.stats.misses
    assert safe.stats.misses == safe.stats.recordings == len({path(wandering, x) for x in points})


def path(f, x):
    return tuple(str(g.outcome) for g in td.record(f, x).guards)


def test_a_loop_with_a_branch_per_element_finds_its_tapes_again():
    """Eight elements, a few of the 2**8 paths: each recorded once, however the calls alternate between them."""

    def f(x):
        return sum(v**2 if v > 0 else -v for v in x)

    rng = np.random.default_rng(1)
    signs = [rng.choice([-1.0, 1.0], 8) for _ in range(12)]
    safe = td.GuardedTape(f)
    for _ in range(3):
        for s in signs:
            x = s * rng.uniform(0.5, 2, 8)
            assert td.gradient(safe, x) == pytest.approx(np.where(x > 0, 2 * x, -1.0), rel=1e-14)
    assert safe.stats.recordings == len({tuple(s) for s in signs})


def test_data_dependent_trip_counts_and_lengths_have_tapes_of_their_own():
    """The weighted sum of arrays of other lengths, and a loop that runs until a value is reached."""
    weighted = td.GuardedTape(lambda x: sum(k * v for k, v in enumerate(x)))
    for n in (5, 3, 10, 5):
        assert np.array_equal(td.gradient(weighted, np.ones(n)), np.arange(n))
    assert weighted.stats.recordings == 3

    def root(x):
        y = x
        while abs(y * y - x) > 1e-12 * x:
            y = 0.5 * (y + x / y)
        return y

    newton = td.GuardedTape(root)
    for x in (2.0, 1e6, 3.0, 0.01):
        assert td.gradient(newton, x) == pytest.approx(0.5 / np.sqrt(x), rel=1e-6)


def test_a_hit_on_another_path_is_found_whichever_tape_was_used_last():
    """All pairs of paths, of masks, integers and truth values, one after the other."""

    def f(x):
        kept = (x[x > 0] ** 2).sum()
        if x[0] > 1:
            return kept * int(x[1])
        return kept if x[1] > 0 else kept + x[0]

    def expected(x):
        gradient = np.where(x > 0, 2 * x, 0.0) * (int(x[1]) if x[0] > 1 else 1)
        return gradient + A([x[0] <= 1 and x[1] <= 0, 0.0])

    points = [A(p) for p in ((2.0, 1.5), (2.0, 3.5), (0.5, 0.5), (0.5, -0.5), (-0.5, 0.5), (-0.5, -0.5), (2.0, -1.5))]
    safe = td.GuardedTape(f)
    for first in points:
        for second in points:
            for x in (first, second):
                out = np.empty(2)
                assert np.array_equal(td.gradient(safe, x, out=out), expected(x))
                assert td.value_and_gradient(safe, x)[0] == f(x)
    assert safe.stats.recordings == len(points)
    assert safe.stats.hits == 4 * len(points) ** 2 - len(points)


def test_nan_and_infinity_as_integers_are_paths_like_others():
    """int(nan) raises in Python; what the function makes of that is its own path, found again."""

    def f(x):
        try:
            return x ** int(x)
        except ValueError:
            return 5 * x

    safe = td.GuardedTape(f)
    assert [td.gradient(safe, x) for x in (2.5, 3.5, np.nan, 2.7, np.nan)] == pytest.approx([5.0, 36.75, 5.0, 5.4, 5.0])
    assert safe.stats.recordings == 3
    with pytest.raises(OverflowError):
        td.gradient(safe, np.inf)


def test_a_guard_at_a_near_tie_is_decided_by_the_kernel_once():
    """NumPy sums pairwise and the kernel otherwise: where the last bit decides, one recording per path and no more."""
    sums = td.compile(np.sum, np.ones(4001))
    rng = np.random.default_rng(2)
    points = [p for p in rng.uniform(0, 1, (300, 4001)) if sums(p) != np.sum(p)][:5]
    assert points
    for x in points:
        for limit in (float(np.sum(x)), sums(x)):
            safe = td.GuardedTape(lambda x, limit=limit: 2 * np.sum(x) if np.sum(x) >= limit else 3 * np.sum(x))
            slopes = [td.gradient(safe, scale * x)[0] for scale in (2.0, 1.0, 0.5, 1.0, 2.0)]
            assert slopes[0] == 2.0
            assert slopes[2] == 3.0
            assert slopes[1] == slopes[3]
            assert safe.stats.recordings == 2


def test_the_outcome_a_kernel_reported_is_not_put_to_numpy_again(monkeypatch):
    """A kernel that says False where NumPy says True gets a tape on which it is False."""
    safe = td.GuardedTape(cube_or_square, compile_after=1)
    for _ in range(2):
        assert td.gradient(safe, A([2.0])) == pytest.approx([12.0])
    first = safe._cache.last
    first.call = None
    monkeypatch.setattr(
        td.CompiledTape, "attempt", disagreeing(first.compiled, td.CompiledTape.attempt, GuardFailure(0, False))
    )
    assert td.gradient(safe, A([2.0])) == [4.0]
    assert [v.outcomes for v in safe._cache.all()] == [(True,), (False,)]


def disagreeing(compiled, attempt, answer):
    return lambda self, *args: answer if self is compiled else attempt(self, *args)


def test_two_tapes_that_disagree_about_a_guard_end_the_call(monkeypatch):
    """The second tape sends the call back: UnstableBranch with the line, and no loop."""
    safe = td.GuardedTape(cube_or_square)
    td.gradient(safe, A([0.5]))
    td.gradient(safe, A([2.0]))
    low, high = safe._cache.all()
    high.call = None
    monkeypatch.setattr(td.CompiledTape, "attempt", disagreeing(low.compiled, td.CompiledTape.attempt, GuardFailure(0, True)))
    monkeypatch.setattr(td.CompiledTape, "attempt", disagreeing(high.compiled, td.CompiledTape.attempt, GuardFailure(0, False)))
    out = A([7.0])
    with pytest.raises(td.UnstableBranch) as failure:
        td.gradient(safe, A([1.0]), out=out)
    assert str(failure.value) == text(
        "two tapes disagree about this line at a near tie, so neither can answer", line(cube_or_square, 1),
        "False by the one, True by the other", "compare with a tolerance, or compute both sides and choose with np.where",
    )  # fmt: skip
    assert out == 7.0


def test_a_function_that_changes_beside_its_arguments_is_noticed_when_recorded_again():
    """Its second recording does not come to the guard that failed."""
    state = {"looks": True}

    def f(x):
        if state["looks"] and x > 1:
            return x**2
        return x**3

    safe = td.GuardedTape(f)
    td.gradient(safe, 2.0)
    state["looks"] = False
    with pytest.raises(td.UnstableBranch) as failure:
        td.gradient(safe, 0.5)
    assert str(failure.value) == text(
        "f did not come to this line again when it was recorded a second time at the same point", line(f, 1),
        "no further guard instead", "the function depends on something that changes beside its arguments; pass that as an argument",
    )  # fmt: skip
    assert td.gradient(safe, 3.0) == 6.0


# Recordings that fail


def checked(x):
    assert x[0] > 0, "x[0] must be positive"
    return np.linalg.cholesky(x[1] * np.eye(2) + np.outer(x, x) * 0)[1, 1] * x[0]


def test_a_recording_that_raises_leaves_the_cache_as_it_was():
    """The user's own AssertionError and NumPy's LinAlgError pass through; later calls are right and `out` is untouched."""
    safe = td.GuardedTape(checked)
    good, out = A([3.0, 4.0]), np.full(2, 7.0)
    with pytest.raises(AssertionError, match="must be positive"):
        td.gradient(safe, -good, out=out)
    assert safe.stats == td.GuardedTape(checked).stats.__class__(0, 1, 0, 0, 0.0, 0.0)
    for _ in range(2):
        assert td.gradient(safe, good) == pytest.approx([2.0, 0.75])
        with pytest.raises(AssertionError, match="must be positive"):
            td.gradient(safe, -good, out=out)
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            td.gradient(safe, A([1.0, -1.0]), out=out)
    assert safe.stats.recordings == 1
    assert (out == 7.0).all()
    assert not td.is_recording()


# The user's guard


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Regime:
    name: str
    limit: float


NAN = float("nan")
DISTINCT = [
    (1, 1.0, True, "1", b"1", None, np.float64(1.0), np.int64(1), np.True_, 1 + 0j),
    (0.0, -0.0, 0, False, NAN, np.float32(0.0), np.float64(-0.0), "", ()),
    ((1, 2), (1, 2.0), (True, 2), (1, (2,)), ((1,), 2)),
    (A([1.0, 2.0]), A([[1.0, 2.0]]), A([1, 2]), A([1.0, 2.0], np.float32), A([1.0, -2.0])),
    (A([0.0]), A([-0.0]), A([NAN])),
    (Colour.RED, Colour.BLUE, 1, Regime("a", 0.0), Regime("a", -0.0), Regime("a", NAN)),
    (frozenset([1, 2]), frozenset([1.0, 2]), frozenset()),
]
EQUAL = [
    (NAN, float("nan"), -NAN), (np.float64(NAN), np.float64("nan")), (A([NAN, 1.0]), A([-NAN, 1.0])), (Regime("b", NAN), Regime("b", NAN)),
    (A([1.0, 2.0, 3.0])[::2], A([1.0, 3.0])), ((1, NAN), (1, NAN)), ("ab", "".join(["a", "b"])), (Colour(1), Colour.RED),
]  # fmt: skip


@pytest.mark.parametrize("values", DISTINCT, ids=repr)
def test_guard_values_that_differ_in_type_or_bits_have_tapes_of_their_own(values):
    """1, 1.0 and True; 0.0 and -0.0; arrays by dtype, shape and bits."""
    returned = iter([*values, *values])
    safe = td.GuardedTape(lambda x: x**2, lambda x: next(returned), compile_after=100)
    assert [td.gradient(safe, 3.0) for _ in range(2 * len(values))] == [6.0] * (2 * len(values))
    assert safe.stats.recordings == len(values)


@pytest.mark.parametrize("values", EQUAL, ids=repr)
def test_guard_values_of_equal_bits_share_a_tape(values):
    """NaN equals NaN, whatever its sign."""
    returned = iter(values)
    safe = td.GuardedTape(lambda x: x**2, lambda x: next(returned), compile_after=100)
    for _ in values:
        td.gradient(safe, 3.0)
    assert safe.stats.recordings == 1


class Hashable:
    def __init__(self):
        self.value = 1

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return A([True, False])

    def __repr__(self):
        return "Hashable()"


class Subclass(int):
    pass


@dataclass
class Mutable:
    value: int

    def __hash__(self):
        return 0


INVALID = [
    ([1], "list: [1]"), ({"a": 1}, "dict: {'a': 1}"), ({1}, "set: {1}"), (Hashable(), "Hashable: Hashable()"),
    (Mutable(1), "Mutable: Mutable(value=1)"), ((1, [2]), "list: [2]"), (Subclass(1), "Subclass: 1"),
    (A([None]), "ndarray: array([None], dtype=object)"), (len, "builtin_function_or_method: <built-in function len>"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "got"), INVALID, ids=[got for _, got in INVALID])
def test_a_guard_value_that_may_change_or_has_no_bits_raises(value, got):
    """InvalidGuardValue with the whole text; nothing is recorded."""

    def guard(x):
        return value

    safe = td.GuardedTape(lambda x: x**2, guard)
    with pytest.raises(td.InvalidGuardValue) as failure:
        td.gradient(safe, 3.0)
    assert str(failure.value) == text(
        "the guard returned something that cannot be a key", line(guard), got,
        "return None, a bool, number, string or array, or a tuple, enum or frozen dataclass of these",
    )  # fmt: skip
    assert safe.stats.misses == 0


def test_a_tracked_guard_value_raises():
    """It would belong to a recording that has ended."""
    kept = []
    with pytest.raises(AssertionError):
        td.record(lambda x: kept.append(x) or fail(), 1.0)
    with pytest.raises(td.InvalidGuardValue, match="the guard returned a tracked value, which belongs to a recording"):
        td.gradient(td.GuardedTape(lambda x: x**2, lambda x: kept[0]), 1.0)


def fail():
    raise AssertionError


def test_the_guard_is_called_once_a_call_on_plain_read_only_arguments():
    """Floats as floats, arrays as views that cannot be written to, td.Constant as what it holds, others as given."""
    seen = []

    def guard(*args):
        seen.append(args)
        return args[0] > 1

    x, data = A([1.0, 2.0]), A([3, 4])
    safe = td.GuardedTape(lambda s, x, y, flag, z: s * x.sum() * y.sum() * z.sum() if flag else s, guard)
    for s in (2.0, 0.5, 2.0):
        td.gradient(safe, s, x, td.Constant(data), True, [1.0, 2.0])
    assert len(seen) == 3
    s, given, unwrapped, flag, listed = seen[0]
    assert (type(s), flag) == (float, True)
    assert np.array_equal(given, x)
    assert np.shares_memory(given, x)
    assert np.array_equal(unwrapped, data)
    assert np.array_equal(listed, [1.0, 2.0])
    for array in (given, unwrapped, listed):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9
    x[0] = 1.0  # still the caller's


def test_an_error_in_the_guard_passes_through():
    """It is the user's own."""
    with pytest.raises(ValueError, match="ambiguous"):
        td.gradient(td.GuardedTape(lambda x: x.sum(), lambda x: bool(x > 1)), np.ones(2))


def three_ways(x):
    if x[0] > 1:
        return x[0] ** 3
    if x[0] > 0:
        return x[0] ** 2
    return -x[0]


def test_a_guard_that_is_too_coarse_warns_once_and_the_answers_stay_right():
    """The warning names the line that the guard does not tell apart, and its outcomes."""

    def coarse(x):
        return bool(x[0] > 1)

    safe = td.GuardedTape(three_ways, coarse)
    assert td.gradient(safe, A([2.0])) == [12.0]
    assert td.gradient(safe, A([0.5])) == [1.0]
    with pytest.warns(td.GuardWarning) as warned:
        assert td.gradient(safe, A([-1.0])) == [-1.0]
    (warning,) = warned
    assert str(warning.message) == text(
        f"the guard of three_ways ({line(coarse)}) does not tell paths apart that Python does; each has its tape all the same",
        line(three_ways, 3), "guard value False with both True and False there",
        "let the guard return this condition too; or leave it out, as the conditions are found without it",
    )  # fmt: skip
    assert warning.filename == __file__
    for x, expected in ((0.5, 1.0), (-1.0, -1.0), (3.0, 27.0), (0.25, 0.5)):
        assert td.gradient(safe, A([x])) == [expected]
    assert safe.stats.recordings == 3

    useless = td.GuardedTape(wandering, lambda x: None)
    with pytest.warns(td.GuardWarning) as warned:
        ask(useless, np.random.default_rng(3).uniform(-2, 2, (6, 3)))
    assert len(warned) == 1


def ask(target, points):
    return [td.gradient(target, x) for x in points]


# The budget


def to_the_power_of_its_integer(x):
    return x ** int(x)


def test_the_tape_not_used_for_the_longest_time_is_dropped_and_freed():
    """With room for two: 1, 2, 1, 3 drops 2; its compiled tape is gone from memory, and it is recorded again when needed."""
    safe = td.GuardedTape(to_the_power_of_its_integer, max_tapes=2)
    td.gradient(safe, 1.5)
    td.gradient(safe, 2.5)
    dropped = weakref.ref(next(v.compiled for v in safe._cache.all() if v.outcomes == (2,)))
    td.gradient(safe, 1.6)
    with pytest.warns(td.GuardWarning):
        td.gradient(safe, 3.5)
    # The call that dropped it was under way in native code that held it.
    assert safe.stats.evictions == 1
    gc.collect()
    assert dropped() is None
    assert [v.outcomes for v in safe._cache.all()] == [(1,), (3,)]
    assert td.gradient(safe, 1.7) == 1.0
    assert td.gradient(safe, 2.5) == 5.0
    assert [v.outcomes for v in safe._cache.all()] == [(1,), (2,)]
    assert safe.stats.evictions == 2
    assert safe.stats.recordings == 4
    assert safe.stats.hits == 2


@pytest.mark.parametrize("guard", [None, lambda x: int(x), lambda x: (int(x),)])
def test_hits_of_every_kind_keep_a_tape_from_being_dropped(guard):
    """A tape that is hit again and again stays, whichever way its hits are found; those not used are dropped."""
    safe = td.GuardedTape(to_the_power_of_its_integer, guard, max_tapes=3)
    for x in (1.5, 2.5, 3.5):
        td.gradient(safe, x)
    for _ in range(3):
        for x in (1.5, 3.5):
            assert td.gradient(safe, A(x)) == pytest.approx(int(x) * x ** (int(x) - 1), rel=1e-13)
            td.value_and_gradient(safe, A(x))
    with pytest.warns(td.GuardWarning):
        td.gradient(safe, 4.5)
    assert [v.outcomes for v in safe._cache.all()] == [(1,), (3,), (4,)]


def test_the_budget_warns_once_and_names_the_line_behind_the_explosion():
    """int(x) with nine outcomes, beside an `if` with two."""

    def f(x):
        if x > 5:
            return x ** int(x)
        return 2 * x ** int(x)

    safe = td.GuardedTape(f, max_tapes=8)
    points = np.arange(12) + 0.5
    with pytest.warns(td.GuardWarning) as warned:
        gradients = ask(safe, points)
    assert gradients == pytest.approx([(1 if x > 5 else 2) * int(x) * x ** (int(x) - 1) for x in points], rel=1e-13)
    (warning,) = warned
    assert str(warning.message) == (
        "f took more than 8 paths, so tapes are dropped and recorded again, which is slow\n"
        f"  got: {line(f, 3)}, where Python looks at a value: 5 different outcomes, 5 paths\n"
        "  fix: wrap the function with the branch in td.subtape, or use td.cond, td.while_loop (for a loop whose length changes) "
        "or np.where; or give a coarser guard; or raise max_tapes if memory allows"
    )
    assert warning.filename == __file__
    assert len(safe._cache.all()) == 8


def test_the_budget_names_a_loop_a_guard_or_the_arguments():
    """Whichever the kept tapes differ in most."""

    def loop(x):
        return sum(v if v > 0 else -v for v in x)

    def warning_of(safe, points):
        with pytest.warns(td.GuardWarning) as warned:
            ask(safe, points)
        return str(warned[0].message)

    signs = np.random.default_rng(4).choice([-1.0, 1.0], (20, 6))
    by_path = td.GuardedTape(loop, max_tapes=8, compile_after=9)
    assert "<genexpr>, where Python looks at a value: 2 different" in warning_of(by_path, signs)
    by_value = td.GuardedTape(loop, lambda x: x.max(), max_tapes=3, compile_after=9)
    text = warning_of(by_value, np.arange(9.0)[:, None])
    assert "the guard given by the user, which returned 4 different values, such as np.float64(3.0)" in text
    by_shape = td.GuardedTape(loop, max_tapes=3, compile_after=9)
    text = warning_of(by_shape, [np.ones(n) for n in range(1, 7)])
    assert "the arguments, in 4 different shapes, dtypes and specialised values, such as float64[4]" in text


# What it says


def test_explain_gives_the_path_of_each_tape_and_why_it_was_recorded():
    """Argument types, specialised and guard values, file:line → outcome, hits, seconds."""

    def g(x, mode):
        if mode == "cubed" and x[0] > 1:
            return x[0] ** 3
        return x[0] ** 2

    safe = td.GuardedTape(g, lambda x, mode: len(mode))
    for x in (0.5, 0.7, 2.0):
        if x == 2.0:
            with pytest.warns(td.GuardWarning):
                td.gradient(safe, A([x]), "cubed")
        else:
            td.gradient(safe, A([x]), "cubed")
    td.gradient(safe, A([2.0]), "sq")
    lines = safe.explain().splitlines()
    assert lines[0].startswith("g: 3 of at most 64 tapes; 1 hits, 3 misses, 3 recordings, 0 evictions; 0.0")
    assert [text.split("; recorded in")[0] for text in lines[1:7]] == [
        "  tape 1: float64[1], argument 1 = 'cubed', guard = 5; 1 hits", f"    {line(g, 1)} → False",
        "  tape 2: float64[1], argument 1 = 'cubed', guard = 5; 0 hits", f"    {line(g, 1)} → True",
        "  tape 3: float64[1], argument 1 = 'sq', guard = 2; 0 hits", "    no guards",
    ]  # fmt: skip
    assert lines[7:] == [
        "recorded because", "  1: first call with float64[1], argument 1 = 'cubed', guard = 5",
        f"  2: {line(g, 1)} → True, was False", "  3: first call with float64[1], argument 1 = 'sq', guard = 2",
        "last miss", "  first call with float64[1], argument 1 = 'sq', guard = 2",
        "  closest: tape 2, for float64[1], argument 1 = 'cubed', guard = 5",
    ]  # fmt: skip
    assert repr(safe) == f"<GuardedTape of g: 3 tapes; {safe.stats}>"
    assert safe.stats.seconds_compiling > 0


def test_explain_tells_of_the_last_miss_how_close_the_closest_tape_was():
    """The tape with the longest path in common, the guard where they parted, its two sides; of missed recordings too."""
    safe = td.GuardedTape(three_ways)
    td.gradient(safe, A([2.0]))
    assert "last miss" not in safe.explain()
    td.gradient(safe, A([0.25]))
    td.gradient(safe, A([-0.5]))
    td.gradient(safe, A([3.0]))
    assert safe.explain().splitlines()[-5:] == [
        "last miss", "  called with float64[1]", "  closest: tape 2", f"  parted at {line(three_ways, 3)} → False, was True",
        "  greater(-0.5, 0.0), margin -0.5",
    ]  # fmt: skip
    failing = td.GuardedTape(checked)
    td.gradient(failing, A([3.0, 4.0]))
    with pytest.raises(AssertionError):
        td.gradient(failing, A([-1.0, 4.0]))
    assert failing.explain().splitlines()[-1] == "  greater(-1.0, 0.0), margin -1"


def test_explain_shows_only_where_long_paths_part():
    """A hundred guards, of which one tells two tapes apart."""
    safe = td.GuardedTape(lambda x: sum(v if v > 0 else -v for v in x), compile_after=9)
    x = np.ones(100)
    td.gradient(safe, x)
    x[50] = -1.0
    td.gradient(safe, x)
    explained = safe.explain()
    assert explained.count("→ True") == 1
    assert explained.count("and 99 more guards") == 2


def test_every_recording_is_logged_with_its_reason(caplog):
    """Under the name tapediff, formatted only when somebody listens."""
    safe = td.GuardedTape(cube_or_square, name="density")
    with caplog.at_level(logging.INFO, "tapediff"):
        for x in (0.5, 2.0, 0.6):
            td.gradient(safe, A([x]))
    first, second = [r.getMessage() for r in caplog.records if r.name == "tapediff"]
    assert first.startswith("recorded tape 1 of density, ")
    assert first.endswith(" s: first call with float64[1]")
    assert second.endswith(f" s: {line(cube_or_square, 1)} → True, was False")


# What a call does for which there is no tape


def test_interpreting_answers_a_new_path_at_once_and_compiles_it_when_it_is_used():
    """Ten answers by NumPy, or compile_after; value and gradient are the plain function's all along."""
    for options, answers in (({}, 10), ({"compile_after": 3}, 3), ({"compile_after": 0}, 0)):
        safe = td.GuardedTape(three_ways, on_new_tape="interpret", **options)
        for x, expected in ((2.0, 12.0), (0.5, 1.0), (-1.0, -1.0)):
            before = safe.stats.seconds_compiling
            for k in range(answers + 3):
                value, gradient = td.value_and_gradient(safe, A([x]))
                assert value == pytest.approx(three_ways(A([x])), rel=1e-15)
                assert gradient == pytest.approx([expected], rel=1e-15)
                assert (safe.stats.seconds_compiling > before) == (k >= answers)
        assert safe.stats.recordings == 3
        assert safe.stats.hits == 3 * (answers + 2)


def test_raising_names_the_guard_and_leaves_what_is_kept():
    """The first tape is recorded; other paths and other shapes raise NewTape; kept paths answer before and after."""
    safe = td.GuardedTape(three_ways, on_new_tape="raise")
    out = A([7.0])
    for _ in range(2):
        assert td.gradient(safe, A([2.0])) == [12.0]
        for ask_for in (lambda: td.gradient(safe, A([0.25]), out=out), lambda: safe(A([0.25])), lambda: td.hessian(safe, A([0.25]))):
            with pytest.raises(td.NewTape) as failure:
                ask_for()
            assert str(failure.value) == text(
                "three_ways met a path for which no tape is kept", line(three_ways, 1),
                "False, recorded True; greater(0.25, 1.0), margin -0.75",
                'record it beforehand, with on_new_tape="compile"; or compute both sides with np.where',
            )  # fmt: skip
        with pytest.raises(td.NewTape) as failure:
            td.gradient(safe, A([2.0, 2.0]))
        assert str(failure.value) == text(
            "three_ways met arguments for which no tape is kept", line(three_ways), "first call with float64[2]",
            'record it beforehand, with on_new_tape="compile"; or compute both sides with np.where',
        )  # fmt: skip
    assert out == 7.0
    assert [v.number for v in safe._cache.all()] == [1]
    assert (safe.stats.recordings, safe.stats.hits, safe.stats.misses) == (1, 1, 9)
    safe.on_new_tape = "compile"
    assert td.gradient(safe, A([0.25])) == [0.5]
    safe.on_new_tape = "raise"
    assert td.gradient(safe, A([0.75])) == [1.5]
    with pytest.raises(td.NewTape, match=r"greater\(-1.0, 0.0\), margin -1"):
        td.gradient(safe, A([-1.0]))


def test_warning_tells_of_every_tape_after_the_first():
    """Once each, with the guard and its sides; the answers are right."""
    safe = td.GuardedTape(three_ways, on_new_tape="warn")
    assert td.gradient(safe, A([2.0])) == [12.0]
    with pytest.warns(td.GuardWarning) as warned:
        slopes = ask(safe, A([[0.5], [-1.0], [0.5], [2.0]]))
    assert np.array_equal(slopes, [[1.0], [-1.0], [1.0], [12.0]])
    assert [str(w.message).splitlines()[1:3] for w in warned] == [
        [f"  at:  {line(three_ways, 1)}", "  got: False, recorded True; greater(0.5, 1.0), margin -0.5"],
        [f"  at:  {line(three_ways, 3)}", "  got: False, recorded True; greater(-1.0, 0.0), margin -1"],
    ]
    assert str(warned[0].message).startswith("three_ways met a new path, which is recorded and compiled")
    assert {w.filename for w in warned} == {__file__}
    with pytest.warns(td.GuardWarning, match="three_ways met arguments of a new kind"):
        td.gradient(safe, np.ones(2))


def test_what_to_do_for_a_new_tape_is_one_of_four():
    """Also when it is set later."""
    for choose in (
        lambda: td.GuardedTape(three_ways, on_new_tape="ignore"),
        lambda: setattr(td.GuardedTape(three_ways), "on_new_tape", None),
    ):
        with pytest.raises(td.ArgumentMismatch, match="on_new_tape is one of 'compile', 'interpret', 'raise', 'warn'"):
            choose()


# Checks against the plain function


def test_a_changed_global_is_noticed_at_the_next_check_and_until_it_is_what_it_was():
    """check_every=5: four stale answers at most, then StaleTape with both values at each call; `out` is untouched."""
    scale = [2.0]

    def f(x):
        return scale[0] * (x**2).sum() if x[0] > 0 else (x**3).sum()

    for call in (td.gradient, td.value_and_gradient, lambda safe, x, out: safe(x)):
        safe, out = td.GuardedTape(f, check_every=5), np.empty(2)
        scale[0] = 2.0
        for k in range(23):
            call(safe, A([1.0, 3.0]) * (-1) ** k, out=out)
        scale[0] = 5.0
        out[:] = 7.0
        noticed = []
        for _ in range(8):
            try:
                call(safe, A([1.0, 3.0]), out=out)
            except td.StaleTape as failure:
                noticed.append(failure)
                assert (out == 7.0).all()
            out[:] = 7.0
        assert len(noticed) == 8 - (25 - 23 - 1)
        assert (noticed[0].tape_value, noticed[0].function_value) == (20.0, 50.0)
        assert str(noticed[0]) == text(
            "f no longer computes what its tape was recorded with", line(f), "the tape gives 20.0, the function 50.0",
            "pass what changes as an argument, td.Constant(...), instead of a global, a closure, a random number or a clock",
        )  # fmt: skip
        scale[0] = 2.0
        call(safe, A([1.0, 3.0]), out=out)


def test_random_numbers_clocks_and_branches_on_changed_values_are_noticed():
    """At the first call that a kept tape answers; a function that does not change passes every check."""
    rng, state = np.random.default_rng(0), {"power": 2, "ticks": 0}

    def ticking(x):
        state["ticks"] += 1
        return x.sum() + state["ticks"]

    def longer(x):
        state["ticks"] += 1
        return x[:1] if state["ticks"] % 2 else x

    for f in (lambda x: (x * rng.normal(size=2)).sum(), ticking, longer):
        safe = td.GuardedTape(f, check_every=1)
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            safe(np.ones(2))
        with pytest.raises(td.StaleTape):
            safe(np.ones(2))
    by_state = td.GuardedTape(lambda x: x.sum() if state["power"] == 1 else x @ x, check_every=1)
    assert td.gradient(by_state, A([3.0])) == td.gradient(by_state, A([3.0])) == [6.0]
    state["power"] = 1
    with pytest.raises(td.StaleTape):
        td.hessian(by_state, A([3.0]))
    pure = td.GuardedTape(wandering, check_every=1, max_tapes=1000)
    points = np.random.default_rng(7).uniform(-2, 2, (20, 3))
    assert np.array_equal(ask(pure, points), ask(pure, points))


def test_rounding_is_no_difference():
    """Sums that cancel, near ties that kernel and NumPy decide apart, NaN, infinities, float32."""
    rng = np.random.default_rng(8)
    cancelling = td.GuardedTape(lambda x: (x - x.mean()).sum() + np.var(x) * 1e-17, check_every=1)
    for _ in range(20):
        td.gradient(cancelling, rng.normal(size=1001))
    limit = np.sum(points := rng.uniform(0, 1, 4001))
    tie = td.GuardedTape(lambda x: 2 * np.sum(x) if np.sum(x) >= limit else 3 * np.sum(x), check_every=1)
    for scale in (2.0, 0.5, 1.0, 1.0):
        td.gradient(tie, scale * points)
    values = td.GuardedTape(lambda x: (np.log(x), x / 0.0, x > 0, np.argmax(x)), check_every=1)
    for _ in range(2):
        with np.errstate(all="ignore"):
            values(A([-1.0, 0.0, np.nan, np.inf]))
    single = td.GuardedTape(lambda x: np.exp(x).sum(), check_every=1)
    for _ in range(3):
        td.gradient(single, rng.normal(size=101).astype(np.float32))


def test_checks_leave_counts_arguments_and_recordings_alone():
    """A function that writes into its argument; calls inside a recording; static and data arguments."""
    calls = []

    def f(x, y, power):
        calls.append(td.is_recording())
        x[0] = y[0] * x[0] ** power
        return x.sum()

    safe = td.GuardedTape(f, check_every=3)
    for k in range(10):
        x = A([2.0, 1.0])
        assert np.array_equal(td.gradient(safe, x, td.Constant(A([1.0 + k])), 2), [4.0 * (1 + k), 1.0])
        assert np.array_equal(x, [2.0, 1.0])
    assert calls == [True, False, False, False]
    assert (safe.stats.hits, safe.stats.misses) == (9, 1)
    td.record(lambda x: safe(x * 1.0, A([1.0]), 2), np.ones(2))
    assert calls == [True, False, False, False, True]
    with pytest.raises(td.ArgumentMismatch, match="check_every at least 0"):
        td.GuardedTape(f, check_every=-1)


# Calls of all kinds


def test_static_arguments_are_specialised_on_and_defaults_are_not_confused_with_them():
    """f(x, False) then f(x): the second has another meaning although its arrays are the same."""

    def f(x, double=True):
        return x.sum() * (2 if double else 1)

    safe = td.GuardedTape(f)
    x = np.ones(2)
    for _ in range(2):
        assert td.gradient(safe, x, False)[0] == 1
        assert td.gradient(safe, x)[0] == 2
        assert td.gradient(safe, x, True)[0] == 2
        assert td.gradient(safe, x, 0)[0] == 1
    assert safe.stats.recordings == 4
    power = td.GuardedTape(lambda x, n: np.sum(x**n))
    assert [td.gradient(power, 3.0 * x, n)[0] for n in (2, 3, 2)] == [6.0, 27.0, 6.0]


def test_data_arguments_and_several_gradients():
    """td.Constant data may change from call to call; argnums picks the gradients; floats and lists are accepted."""
    safe = td.GuardedTape(lambda x, y: np.sum(x * y) if y[0] > 0 else np.sum(x * x * y))
    x = A([1.0, 2.0])
    for y in (A([3.0, 4.0]), A([5.0, 6.0]), A([-1.0, 2.0])):
        assert np.array_equal(td.gradient(safe, x, td.Constant(y)), y if y[0] > 0 else 2 * x * y)
        assert np.array_equal(td.gradient(safe, x, y), y if y[0] > 0 else 2 * x * y)
        by_y, by_x = td.gradient(safe, x, y, argnums=(1, 0))
        assert np.array_equal(by_x, y if y[0] > 0 else 2 * x * y)
        assert np.array_equal(by_y, x if y[0] > 0 else x * x)
        assert np.array_equal(td.gradient(safe, x.tolist(), y, argnums=1), x if y[0] > 0 else x * x)
    with pytest.raises(td.ArgumentMismatch):
        td.gradient(safe, x, td.Constant(A([1.0, 1.0])), argnums=1)
    with pytest.raises(td.DtypeMismatch):
        td.gradient(safe, A([1, 2]), x)


def test_out_receives_the_gradient_and_without_it_the_gradient_is_fresh():
    """Also where out is strided or is the argument itself; a wrong out is refused before anything is computed."""
    safe = td.GuardedTape(lambda x: (x**3).sum() if x[0] > 0 else (x**2).sum())
    x = A([1.0, 2.0])
    for _ in range(2):
        out, strided, argument = np.empty(2), np.empty(4)[::2], x.copy()
        for target in (out, strided):
            assert td.gradient(safe, x, out=target) is target
            assert np.array_equal(target, [3.0, 12.0])
        assert np.array_equal(td.gradient(safe, argument, out=argument), [3.0, 12.0])
    first = td.gradient(safe, x)
    kept = first.copy()
    second = td.gradient(safe, 2 * x)
    assert np.array_equal(first, kept)
    assert not np.shares_memory(first, second)
    assert first.flags.writeable
    for wrong, error in (
        (np.empty(3), td.ShapeMismatch),
        (np.empty(2, np.float32), td.DtypeMismatch),
        ([0.0, 0.0], td.ArgumentMismatch),
    ):
        with pytest.raises(error):
            td.gradient(safe, -x, out=wrong)
    assert safe.stats.recordings == 1


def test_the_value_may_be_anything_that_a_tape_returns():
    """An array, a tuple, a constant; a gradient of these raises."""
    safe = td.GuardedTape(lambda x: (x[::2], x.sum(), 3.0) if x[0] > 0 else x)
    x = A([1.0, 2.0, 3.0])
    part, total, constant = safe(x)
    assert np.array_equal(part, [1.0, 3.0])
    assert not np.shares_memory(part, x)
    assert (total, constant) == (6.0, 3.0)
    assert np.array_equal(safe(-x), -x)
    with pytest.raises(td.NonScalarOutput):
        td.gradient(safe, x)
    flat = td.GuardedTape(lambda x: 2.0)
    assert flat(x) == 2.0
    assert np.array_equal(td.gradient(flat, x), np.zeros(3))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("compile_after", [0, 5])
def test_types_of_values_and_gradients_are_those_of_the_arguments(dtype, compile_after):
    """Both dtypes at once; each has its tape, and the replay's types are the kernel's."""
    safe = td.GuardedTape(lambda x: (x * x).sum(), compile_after=compile_after)
    td.gradient(safe, np.ones(2))
    for _ in range(2):
        value, gradient = td.value_and_gradient(safe, np.ones(2, dtype))
        assert type(value) is (float if dtype is np.float64 else np.float32)
        assert gradient.dtype == dtype
        assert np.array_equal(gradient, [2.0, 2.0])


def test_a_new_tape_is_replayed_until_it_has_been_used_often_enough():
    """compile_after=2: two answers by NumPy, the third compiled; the same numbers."""
    safe = td.GuardedTape(cube_or_square, compile_after=2)
    for k in range(4):
        assert td.gradient(safe, A([3.0])) == pytest.approx([27.0], rel=1e-15)
        assert (safe.stats.seconds_compiling > 0) == (k >= 2)


def test_what_cannot_be_guarded_is_refused():
    """A tape is one path already; a guard must be a function; a budget must have room for a tape."""
    tape = td.record(cube_or_square, A([1.0]))
    for target in (tape, td.compile(tape), td.GuardedTape(cube_or_square), 3.0):
        with pytest.raises(td.ArgumentMismatch, match="takes the plain function"):
            td.GuardedTape(target)
    with pytest.raises(td.ArgumentMismatch, match="guard must be a function"):
        td.GuardedTape(cube_or_square, True)
    with pytest.raises(td.ArgumentMismatch, match="max_tapes must be at least 1"):
        td.GuardedTape(cube_or_square, max_tapes=0)


# Inside recordings, and derivatives of higher order


def test_inside_a_recording_its_branches_become_guards_of_that_recording():
    """As a value and as a gradient; nothing tracked is kept."""
    inner = td.GuardedTape(lambda y: y**3 if y > 1 else y**2)
    td.gradient(inner, 2.0)
    for g, expected in (
        (lambda x: inner(x) * x, lambda x: 4 * x**3 if x > 1 else 3 * x**2),
        (lambda x: td.gradient(inner, x) * x, lambda x: 9 * x**2 if x > 1 else 4 * x),
        (lambda x: td.value_and_gradient(inner, x)[0] * x, lambda x: 4 * x**3 if x > 1 else 3 * x**2),
    ):
        outer = td.GuardedTape(g)
        for x in (2.0, 0.5, 3.0, 0.25):
            assert td.gradient(outer, x) == pytest.approx(expected(x), rel=1e-13)
        assert outer.stats.recordings == 2
        with pytest.raises(td.GuardFailed):
            td.gradient(td.record(g, 2.0), 0.5)
    assert inner.stats.recordings == 1


def test_values_of_an_outer_recording_in_the_closure_are_not_baked():
    """grad(x * grad(y ↦ x * y)): the inner function's tape would hold x as a constant."""
    for x in (3.0, 4.0):
        assert td.gradient(lambda x: td.gradient(td.GuardedTape(lambda y: x * y**2), 1.0) * x, x) == 4 * x
        assert td.gradient(lambda x: td.GuardedTape(lambda y: x * y)(2.0) * x, x) == 4 * x
    scale = [2.0]
    shared = td.GuardedTape(lambda y: scale[0] * y**2)
    assert td.gradient(shared, 1.0) == 4.0

    def f(x):
        scale[0] = x
        return td.gradient(shared, 1.0) * x

    assert td.gradient(f, 3.0) == 12.0
    assert not td.is_recording()


def test_jacobian_and_hessian_follow_the_path_too():
    """Each at points of both paths, with the tapes kept."""
    scalar = td.GuardedTape(lambda x: (x**3).sum() if x[0] > 1 else (x**2).sum())
    vector = td.GuardedTape(lambda x: x**3 if x[0] > 1 else x**2)
    for x in (A([2.0, 3.0]), A([0.5, 3.0]), A([4.0, 1.0])):
        high = x[0] > 1
        assert td.hessian(scalar, x) == pytest.approx(np.diag(6 * x if high else [2.0, 2.0]))
        assert td.jacobian(vector, x) == pytest.approx(np.diag(3 * x**2 if high else 2 * x))
    assert scalar.stats.recordings == vector.stats.recordings == 2


def test_a_function_may_use_another_guarded_tape():
    """The other one's cache is not touched by the recording, and serves plain calls as before."""
    inner = td.GuardedTape(lambda y: y**3 if y > 1 else y**2)
    outer = td.GuardedTape(lambda x: inner(x) + inner(x / 2))
    for x in (4.0, 1.5, 0.5, 4.0):
        expected = (3 * x**2 if x > 1 else 2 * x) + (1.5 * (x / 2) ** 2 if x > 2 else x / 2)
        assert td.gradient(outer, x) == pytest.approx(expected, rel=1e-14)
    assert inner(2.0) == 8.0


# Threads


def test_two_threads_missing_at_once_record_once():
    """Both wait for the one recording, and both answers are right."""
    calls, barrier, answers = [], threading.Barrier(4), {}

    def slow(x):
        calls.append(threading.get_ident())
        time.sleep(0.05)
        return x[0] ** 3 if x[0] > 1 else x[0] ** 2

    safe = td.GuardedTape(slow)

    def work(k, x):
        barrier.wait()
        answers[k] = td.gradient(safe, A([x]))[0]

    for x in (2.0, 0.5):
        threads = [threading.Thread(target=work, args=(k, x)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == dict.fromkeys(range(4), slope(x))
    assert len(calls) == safe.stats.recordings == 2
    assert safe.stats.hits == 6


def test_hits_on_changing_paths_from_several_threads_are_right():
    """Four threads alternate between paths, with a budget too small for all of them."""
    safe, errors = td.GuardedTape(to_the_power_of_its_integer, max_tapes=3, compile_after=1), []
    for x in (1.5, 2.5, 3.5):
        td.gradient(safe, x)
    with pytest.warns(td.GuardWarning):
        td.gradient(safe, 4.5)

    def work(seed):
        rng = np.random.default_rng(seed)
        for x in rng.choice([1.25, 2.5, 3.5, 4.5], 60):
            expected = int(x) * x ** (int(x) - 1)
            if abs(td.gradient(safe, x) - expected) > 1e-12 * expected:
                errors.append(x)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(safe._cache.all()) <= 3


# Paths whose result does not depend on the arguments, or has no gradient


@pytest.mark.parametrize("result", [0, 1, True, 2.5, np.int32(3), np.array(4)], ids=repr)
@pytest.mark.parametrize("order", [(2.0, -1.0, 2.0, -1.0, 3.0), (-1.0, 2.0, -1.0, 2.0, -2.0)])
@pytest.mark.parametrize("compile_after", [0, 2])
def test_a_path_that_returns_a_plain_number_has_a_zero_gradient(result, order, compile_after):
    """And the other paths theirs, whichever was met first, replayed or compiled, also by way of a C function."""

    def f(x):
        if x[0] > 0:
            return x[0] ** 3 * x[1]
        return result

    safe = td.GuardedTape(f, compile_after=compile_after)
    for first in order:
        x = np.array([first, 0.5])
        expected = [3 * first**2 * 0.5, first**3] if first > 0 else [0.0, 0.0]
        value, gradient = td.value_and_gradient(safe, x)
        assert value == pytest.approx(float(f(x)), rel=1e-15)
        np.testing.assert_allclose(gradient, expected, rtol=1e-15)
        np.testing.assert_allclose(td.hessian(safe, x)[0, 1], 3 * first**2 if first > 0 else 0.0, rtol=1e-15)
        assert safe(x) == pytest.approx(float(f(x)), rel=1e-15)
    values, gradients = safe.batch(np.array([[k, 0.5] for k in order]))
    np.testing.assert_allclose(values, [float(f(np.array([k, 0.5]))) for k in order], rtol=1e-15)
    assert not gradients[[k < 0 for k in order]].any()


@pytest.mark.parametrize("wrong", [np.argmax, lambda x: x > 0, lambda x: x, lambda x: (x[0], x[1])], ids=["int", "mask", "array", "tuple"])
@pytest.mark.parametrize("order", [(2.0, -1.0, 2.0, 3.0), (-1.0, 2.0, -1.0, 2.0)])
@pytest.mark.parametrize("compile_after", [0, 2])
def test_a_path_without_a_gradient_refuses_its_own_points_alone(wrong, order, compile_after):
    """An error on one path says nothing of the others, whichever was met first."""
    safe = td.GuardedTape(lambda x: x[0] ** 2 * x[1] if x[0] > 0 else wrong(x), compile_after=compile_after)
    for first in order:
        x = np.array([first, 0.5])
        if first > 0:
            assert td.gradient(safe, x)[1] == first**2
        else:
            with pytest.raises(td.NonScalarOutput):
                td.gradient(safe, x)
