"""The user's guard: a function of the arguments whose value decides which tape answers."""

import enum
from dataclasses import dataclass

import numpy as np
import pytest
from support.guarded import (
    A,
    ask,
    line,
    text,
    three_ways,
    wandering,
)

import tapediff as td


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


def test_a_guard_that_is_too_coarse_warns_once_and_the_answers_stay_right():
    """The warning names the line that the guard does not tell apart, and its outcomes."""

    def coarse(x):
        return bool(x[0] > 1)

    safe = td.GuardedTape(three_ways, coarse, merge=False)
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

    useless = td.GuardedTape(wandering, lambda x: None, merge=False)
    with pytest.warns(td.GuardWarning) as warned:
        ask(useless, np.random.default_rng(3).uniform(-2, 2, (6, 3)))
    assert len(warned) == 1


@pytest.mark.parametrize("is_first", [True, False])
def test_static_arguments_that_are_equal_but_of_other_types_have_tapes_of_their_own(is_first):
    """At any position; those that are the same again find their tape."""
    factors = {bool: 2.0, int: 3.0, str: 5.0, type(None): 7.0, tuple: 11.0}

    def scaled(option, x):
        return np.sum(x) * factors[type(option)] * (2.0 if isinstance(option, tuple) and type(option[0]) is bool else 1.0)

    f = scaled if is_first else lambda x, option: scaled(option, x)
    safe = td.GuardedTape(f, static=td.static(argnums=(0 if is_first else 1,)))
    values = (1, True, "1", None, (1,), (True,))
    for _ in range(3):
        for option in values:
            args = (option, np.ones(2)) if is_first else (np.ones(2), option)
            assert safe(*args) == scaled(option, np.ones(2))
    assert safe.stats.recordings == len(values)


@pytest.mark.parametrize("is_first", [True, False])
def test_ints_that_change_become_data_at_any_position(is_first):
    """So that a counter does not need a tape for each of its values."""
    f = (lambda k, x: np.sum(x) * k) if is_first else (lambda x, k: np.sum(x) * k)
    safe = td.GuardedTape(f)
    for k in range(2, 12):
        assert safe(*((k, np.ones(2)) if is_first else (np.ones(2), k))) == 2.0 * k
    assert safe.stats.recordings <= 2
