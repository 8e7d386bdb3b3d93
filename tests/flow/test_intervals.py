"""Bounds of numbers: those of a result hold all that the operation gives for numbers within those of its operands, and nothing more."""

from __future__ import annotations

import itertools
import math
import operator
import types

import numpy as np
import pytest

from tapediff.flow.state.numbers.intervals import ANYTHING, MOST_VALUES, RULES, ends, exactly, of_array, union, where

GRID = [k / 2 for k in range(-6, 7)]
SETS = [frozenset(values) for values in ([], [0], [2], [-1.5], [-2, 1], [-3, 0, 0.5], [1, 2, 3])]
INTERVALS = [(-2, -1), (-1.5, 0), (-1, 2), (0, 0), (0.5, 3), (2, 3)]
COMPARISONS = {"less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge, "equal": operator.eq}
CLOSED = {"less": operator.le, "greater": operator.ge}
FUNCTIONS = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "minimum": min, "maximum": max, "absolute": abs, "negative": operator.neg,
    "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "rint": round, "index": float, "reshape": float, "gather": float,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "sin": math.sin, "cos": math.cos, "tanh": math.tanh, "exp": math.exp,
    "square": lambda v: v * v, "sqrt": lambda v: math.sqrt(abs(v)), "expit": lambda v: 1 / (1 + math.exp(-v)),
}  # fmt: skip
BINARY = ("add", "subtract", "multiply", "minimum", "maximum")
# Functions whose bounds are those of all of their arguments.
OF_ANY = {"sin": (-1, 1), "cos": (-1, 1), "tanh": (-1, 1), "expit": (0, 1), "exp": (0, math.inf), "square": (0, math.inf), "sqrt": (0, math.inf)}


def points(bounds):
    """Those within some bounds."""
    return list(bounds) if type(bounds) is frozenset else [v for v in GRID if bounds[0] <= v <= bounds[1]]


def hull(values):
    return min(values), max(values)


@pytest.mark.parametrize("holds", [True, False])
@pytest.mark.parametrize("name", COMPARISONS)
def test_a_comparison_leaves_the_values_for_which_it_may_have_that_outcome(name, holds):
    """Of few values these; of an interval the closed one, where it is known that there is one."""
    for found, other in itertools.product([*SETS, *INTERVALS], INTERVALS):
        left, others = where(found, name, holds, other), points(other)
        possible = [v for v in points(found) if any(COMPARISONS[name](v, w) is holds for w in others)]
        if type(found) is frozenset:
            assert left == set(possible), (found, other)
        elif name == "equal" and not holds:
            assert left == found
        else:
            opposite = {"less": operator.ge, "less_equal": operator.ge, "greater": operator.le, "greater_equal": operator.le}
            compare = CLOSED.get(name, COMPARISONS[name]) if holds else opposite[name]
            at_ends = [v for v in points(found) if any(compare(v, w) for w in others)]
            assert left == hull(at_ends) if at_ends else left[0] > left[1], (found, other)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in OF_ANY and name not in ("floor_divide", "remainder")])
def test_results_have_the_bounds_of_their_operands_results(name):
    """All values of sets; the least and the greatest one of intervals."""
    run = FUNCTIONS[name]
    for given in itertools.product([*SETS, *INTERVALS], repeat=2 if name in BINARY else 1):
        results = [run(*values) for values in itertools.product(*map(points, given))]
        found = RULES[name](*given)
        if all(type(bounds) is frozenset for bounds in given) or not results:
            assert found == set(results)
        else:
            assert found == hull(results), given


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_quotients_and_remainders_are_known_for_one_positive_divisor(name):
    for found, divisor in itertools.product([*SETS, *INTERVALS], [1, 2, 1.5]):
        left = RULES[name](found, frozenset([divisor]))
        results = [FUNCTIONS[name](v, divisor) for v in points(found)]
        if not results:
            assert left == ANYTHING
        elif type(found) is frozenset:
            assert left == set(results)
        elif name == "floor_divide":
            assert left == hull(results)
        else:
            assert left == (0, divisor - 1 if type(divisor) is int else divisor)
    for divisor in ([-2], [0], [1, 2], []):
        assert RULES[name](frozenset([4]), frozenset(divisor)) == ANYTHING
    assert RULES[name](frozenset([4]), (1, 2)) == ANYTHING
    assert RULES["floor_divide"]((-math.inf, 7), frozenset([2])) == (-math.inf, 3)


@pytest.mark.parametrize("name", OF_ANY)
def test_functions_with_bounds_of_their_own_keep_them(name):
    low, high = RULES[name](ANYTHING)
    assert (low, high) == OF_ANY[name]
    assert all(low <= FUNCTIONS[name](v) <= high for v in GRID)


def test_conversions_are_pythons():
    ints, floats = (types.SimpleNamespace(dtype=np.dtype(kind)) for kind in (int, float))
    for given in [*SETS, *INTERVALS]:
        if points(given):
            values = [int(v) for v in points(given)]
            assert RULES["convert"](given, ints) == (set(values) if type(given) is frozenset else hull(values))
            assert ends(RULES["convert"](given, floats)) == ends(given)
    assert RULES["convert"](ANYTHING, ints) == ANYTHING


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "rint", "absolute", "negative"])
def test_what_has_no_end_keeps_none(name):
    assert RULES[name]((1.5, math.inf)) == {"negative": (-math.inf, -1.5), "absolute": (1.5, math.inf)}.get(name, (FUNCTIONS[name](1.5), math.inf))


def test_unions_hold_both():
    for a, b in itertools.product([*SETS, *INTERVALS], repeat=2):
        values = [*points(a), *points(b)]
        found = RULES["select"](a, b)
        assert found == union(a, b)
        assert found == (set(values) if type(a) is type(b) is frozenset else hull(values))


def test_sets_are_of_few_values():
    """Beyond, only the least and the greatest are known; of a NaN, of what is no number, and of no values, nothing is."""
    few, many = range(MOST_VALUES), range(MOST_VALUES + 1)
    assert of_array(np.array(few)) == union(frozenset(few[:5]), frozenset(few)) == set(few)
    assert of_array(np.array(many)) == union(frozenset(many[:9]), frozenset(many)) == (0, MOST_VALUES)
    for values in ([np.nan, 1.0], [], ["a"], [1j]):
        assert of_array(np.array(values)) == ANYTHING
    assert exactly(np.float64(2.5)) == exactly(2.5) == {2.5}
    assert exactly(np.nan) == exactly("a") == ANYTHING
    assert RULES["add"](frozenset([math.inf]), frozenset([-math.inf])) == RULES["add"]((math.inf, math.inf), (-math.inf, 0)) == ANYTHING
    assert ends(frozenset()) == ANYTHING
