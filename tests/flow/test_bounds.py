"""Bounds of ints that data decide: the values that each may have, by its operations and by the tests on its path."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import tapediff as td
from tapediff.flow import flowed
from tapediff.flow.state.numbers.bounds import possible_ints

POINTS = np.random.default_rng(0).normal(size=(60, 6)) * 1.3


def as_digits(k):
    """The values that an int may have, one digit for each."""
    return functools.reduce(lambda total, digit: 10 * total + digit, possible_ints(k))


def few(x):
    return 1 if x[0] > 0 else 3 if x[1] > 0 else 6


def any_int(x):
    return int(x[2] * 100)


def where_less(x):
    k = few(x)
    return k if k < 3 else 0


def where_not_less(x):
    k = few(x)
    return 0 if k < 3 else k


def of_sums(x):
    k = few(x) + few(x[1:])
    return as_digits(k) if k > 7 and k <= 9 else 0


def between(x):
    k = any_int(x)
    if k >= 4:
        if k < 8:
            return as_digits(k)
    return 0


def equal_to_one(x):
    k = int(x[2] * 3)
    return as_digits(k + 1) if k == 1 else 0


def not_equal(x):
    k = few(x)
    return as_digits(k) if k != 3 else 0


def of_two_tests(x):
    k = few(x)
    return as_digits(k) if k > 1 and not k > 3 else 0


def of_its_operands(x):
    k, n = few(x), few(x[2:])
    return as_digits(k * 2 + n) if k == 1 else 0


def of_one_of_two_others(x):
    k, n = few(x), few(x[2:])
    m = min(k if x[4] > 0 else n, 5)
    return as_digits(m) if k == 1 and not n > 3 else 0


def compared_with_another(x):
    k, n = few(x), int(x[2] * 4)
    return as_digits(n) if n > k and n < 4 else 0


def counted(x):
    n = 0
    for v in x[:3]:
        if v > 0:
            n += 1
    return n


# What is asked, and all values that there may be; None where these are not known, or too many.
KNOWN = {
    few: [1, 3, 6],
    any_int: None,
    where_less: [0, 1],
    where_not_less: [0, 3, 6],
    counted: [0, 1, 2, 3],
}
PATHS = {
    of_sums: 9,
    between: 4567,
    equal_to_one: 2,
    not_equal: 136,
    of_two_tests: 3,
    of_its_operands: 358,
    of_one_of_two_others: 13,
    compared_with_another: 23,
}
EXPRESSIONS = {
    "argmax": (lambda x: int(np.argmax(x[:4])), [0, 1, 2, 3]),
    "argmin": (lambda x: int(np.argmin(x)), [0, 1, 2, 3, 4, 5]),
    "argmin of rows": (lambda x: np.argmin(np.outer(x[:3], x), axis=0)[1], [0, 1, 2]),
    "argmax of columns": (lambda x: np.argmax(np.outer(x[:3], x[:2]), axis=1)[1], [0, 1]),
    "argmax of a matrix": (lambda x: int(np.argmax(np.outer(x[:3], x[:2]))), [0, 1, 2, 3, 4, 5]),
    "searchsorted": (lambda x: int(np.searchsorted([-1.0, 0.0, 1.0], x[0])), [0, 1, 2, 3]),
    "+": (lambda x: few(x) + 2, [3, 5, 8]),
    "-": (lambda x: few(x) - few(x[1:]), [-5, -3, -2, 0, 2, 3, 5]),
    "*": (lambda x: few(x) * 2, [2, 6, 12]),
    "//": (lambda x: few(x) // 2, [0, 1, 3]),
    "%": (lambda x: any_int(x) % 3, [0, 1, 2]),
    "negative": (lambda x: -few(x), [-6, -3, -1]),
    "abs": (lambda x: abs(few(x) - 3), [0, 2, 3]),
    "min": (lambda x: min(few(x), 4), [1, 3, 4]),
    "max": (lambda x: max(few(x), 2), [2, 3, 6]),
    "clip": (lambda x: min(max(any_int(x), -1), 1), [-1, 0, 1]),
    "floor": (lambda x: math.floor(np.tanh(x[0]) * 2), [-2, -1, 0, 1, 2]),
    "int": (lambda x: int(np.sin(x[0]) * 3), [-3, -2, -1, 0, 1, 2, 3]),
    "round": (lambda x: round(np.cos(x[0])), [-1, 0, 1]),
    "bool": (lambda x: x[0] > 0, [0, 1]),
    "float": (lambda x: few(x) * 0.5, None),
}


@pytest.mark.parametrize(("asked", "known"), [*KNOWN.items(), *EXPRESSIONS.values()], ids=[*(f.__name__ for f in KNOWN), *EXPRESSIONS])
def test_the_values_that_an_int_may_have_are_known(asked, known):
    found = []

    def f(x):
        found.append(possible_ints(asked(x)))
        return x[0]

    td.record(flowed(f), np.array([0.5, -0.2, 0.3, 0.1, -0.7, 0.9]))
    assert found[-1] == known


@pytest.mark.parametrize("asked", PATHS, ids=lambda f: f.__name__)
def test_tests_on_a_path_tell_more(asked):
    """Where a path is not taken, the value is 0. What is told may be more than there is: `!=` tells nothing."""
    tape = td.record(flowed(lambda x: 1.0 * asked(x)), POINTS[0])
    assert {int(tape(p)) for p in POINTS} == {0, PATHS[asked]}


ALWAYS = {
    "<": lambda k, n: k < 7,
    "<=": lambda k, n: n <= 2 * 3,
    ">": lambda k, n: k + n > 1,
    ">=": lambda k, n: n >= 1,
    "!=": lambda k, n: not k == 2,
    "and": lambda k, n: 0 < k and n < 9,
    "or": lambda k, n: n < 1 or k < 9,
    "not": lambda k, n: not (n > 6 or k < 1),
    "chained": lambda k, n: 0 < k <= 6,
}


@pytest.mark.parametrize("name", ALWAYS)
def test_sides_that_no_path_comes_to_are_not_run(name):
    """Else a guard would tell whether there is something to print."""

    def f(x):
        if ALWAYS[name](few(x), few(x[2:])):
            return x[0]
        print("never")
        return x[1]

    assert not td.record(flowed(f), POINTS[0]).guards
