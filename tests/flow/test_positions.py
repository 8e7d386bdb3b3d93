"""Entries and parts of sequences at positions that data decide: read, written, inserted and deleted."""

from __future__ import annotations

import operator
from collections import deque

import numpy as np
import pytest

from flow.one_tape import POINTS, recordings


def stepped_slices(x):
    n = 1 if x[0] > 0 else 2
    a = [float(k) for k in range(6)]
    a[:: n + 1] = [x[k] for k in range(len(range(0, 6, n + 1)))]
    b = [float(k) for k in range(6)]
    del b[::n]
    return sum(((k + 1) * v for k, v in enumerate(a))) + sum(b) * x[1]


def positions(x):
    n = len([v for v in x if v > 0]) % 4
    m = np.arange(24.0).reshape(4, 6)
    v = np.asarray(x) * 1.0
    return (
        m[n, 1] * x[0]
        + m[n][n]
        + m[1, n:].sum()
        + v[n] * v[-n]
        + range(3, 30, 4)[n]
        + "abcd".index("abcd"[n])
        + m[:n, 2].sum()
        + (x[n : n + 2] * 3).sum()
        + deque(x)[n]
        + (1, 2, 3, 4)[n - 4]
    )


def repeated(x):
    n = len([v for v in x if v > 0])
    a = [x[0], 1.0] * n
    b = n * (x[1],)
    c = [v for v in x if v > 1] * 2
    s = "ab" * n
    e = [0.0] * (n - 3)
    return sum(((k + 1) * v for k, v in enumerate(a))) + sum(b) + sum((k * v for k, v in enumerate(c))) + len(s) + len(e) * x[2]


def one_of_many_pairs(x):
    pairs = [(k * 7 % 30, x[k % 6]) for k in range(30)]
    n, v = pairs[int(abs(x[0]) * 20) % 30]
    return n * x[1] + v


def unpacked(x):
    a = [v for v in x if v > 0]
    t = (x[0], x[1]) if x[2] > 0 else [x[3], 2.0]
    p, q = t
    try:
        u, v, *w = a
        s = u * v + sum(w)
    except ValueError as e:
        s = x[4] * len(e.args)
    try:
        *g, h = a
        j, *k = a
        s += h + len(g) + j * len(k)
    except ValueError:
        s += 3.0
    return p + 2 * q + s


def repeated_tuples(x):
    n = len([v for v in x if v > 0])
    joined = (2.0, x[3]) + (1.0, x[0]) * n
    return sum(joined) + len(joined) * x[1] + (x[2] if type(joined) is tuple else 0.0)


def other_values_in_a_range(x):
    positions = range(int(abs(x[0]) * 10))
    return (x[1] if 2.5 in positions else x[2]) * (x[3] if "a" in positions else x[4])


# With how many recordings they take: more than one where guards decide something.
PROGRAMS = {
    stepped_slices: 2,
    positions: 1,
    repeated: 1,
    repeated_tuples: 1,
    other_values_in_a_range: 1,
    one_of_many_pairs: 1,
    unpacked: 1,
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_are_pythons_in_few_recordings(program):
    assert recordings(program, POINTS[:12]) <= PROGRAMS[program]


def unpacked_with_a_star(x):
    few, total = [v for v in x if v > 0.6], 0.0
    for number in range(4):
        try:
            if number == 0:
                *a, b = few
            elif number == 1:
                b, *a = few
            elif number == 2:
                b, *a, c = few
                b += 2 * c
            else:
                (*a, b, c), d = few, 1.0
                b += 3 * c * d
            total = 0.5 * total + b + sum(a) * len(a)
        except ValueError:
            total = 0.5 * total + 7.0
    return total


def test_stars_take_what_is_left_or_tell_of_too_few():
    assert recordings(unpacked_with_a_star) == 1


COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}


@pytest.mark.parametrize("is_negated", [False, True])
@pytest.mark.parametrize("symbol", COMPARISONS)
def test_positions_may_be_chosen_by_what_they_are_compared_with(symbol, is_negated):
    """By `if`, by np.where on both sides, and on a path; more is known of a position there."""
    compare = COMPARISONS[symbol]
    names = ["a", "bb", "ccc", "dddd", "eeeee", "ffffff"]

    def f(x):
        k = min(int(abs(x[0]) * 3), 5)
        test = not compare(k, 2) if is_negated else compare(2, k)
        chosen = [k if test else 4, 4 if test else k, int(np.where(test, k, 1)), int(np.where(test, 1, k)), int(np.where(not test, k, 5))]
        total = sum(len(names[n]) * x[j] for j, n in enumerate(chosen))
        return total + (len(names[k]) * x[1] if test else len(names[5 - k]) * x[2])

    assert recordings(f) == 1
