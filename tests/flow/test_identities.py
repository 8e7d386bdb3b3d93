"""Identity: numbers and tuples that branches have joined are told from each other as in Python."""

from __future__ import annotations

import pytest

from flow.one_tape import recordings


class Obj:
    pass


def tuples(x):
    a = (x[0], x[1])
    b = (x[2], x[3])
    t = a if x[4] > 0 else b
    return x[0] if t is a else x[1]


def numbers(x):
    a = x[0] * 2
    b = x[1] * 2
    if x[4] > 0:
        t = a
    else:
        t = b
    return (x[0] if t is a else x[1]) + (2 * x[2] if t is b else x[3])


def a_bool(x):
    t = bool(x[4] > 0)
    return x[0] if t is True else x[1]


def all_others(x):
    pts = [(v * 1.0, k) for k, v in enumerate(x)]
    b = min(pts, key=lambda p: abs(p[0]))
    return sum(x[k] for k, p in enumerate(pts) if p is not b)


def in_a_list(x):
    a = x[0] * 2
    b = x[1] * 2
    L = [a, b]
    t = a if x[4] > 0 else b
    n = next(k for k, v in enumerate(L) if v is t)
    return x[n]


def an_attribute(x):
    o = Obj()
    o.best = None
    L = [v * 2 for v in x]
    for v in L:
        if o.best is None or v > o.best:
            o.best = v
    return sum(k * v for k, v in enumerate(L) if v is o.best)


def two_choices(x):
    a = (x[0] * 1, 2)
    b = (x[1] * 1, 3)
    c = (x[2] * 1, 4)
    t = (a if x[3] > 0 else b) if x[4] > 0 else c
    u = a if x[5] > 0 else t
    return (t is u) * x[0] + (2 * x[1] if u is c else x[2])


def a_nan_in_a_list(x):
    missing = float("nan")
    t = missing
    if x[0] > 0:
        t = x[1]
    return x[0] if t in [missing] else t


def position_of_a_nan(x):
    nan = float("nan")
    a = [1.0, nan, x[0]]
    t = nan if x[1] > 0 else 1.0
    return x[a.index(t)]


def carries_of_loops(x):
    s = x[0] * 1.0
    first = s
    k = 0
    while k < 4 and s < 1.0:
        s = s + abs(x[k])
        k += 1
    return x[1] if s is first else x[2]


def entries_in_loops(x):
    L = [v * 1.0 for v in x]
    w = L[0]
    k = 0
    while k < 40 and w < 1.0 + x[0]:
        w = L[k % 6]
        k += 1
    return x[1] if w is L[2] else x[0]


def a_sorted_entry(x):
    L = [v * 1.0 for v in x]
    b = sorted(L)[0]
    return sum(k * x[k] for k in range(6) if L[k] is b)


ONE = [
    tuples,
    numbers,
    a_bool,
    all_others,
    in_a_list,
    an_attribute,
    two_choices,
    a_nan_in_a_list,
    position_of_a_nan,
]


@pytest.mark.parametrize("f", ONE, ids=lambda f: f.__name__)
def test_joined_values_are_told_from_each_other(f):
    """By one recording."""
    assert recordings(f) == 1


@pytest.mark.parametrize("f", [carries_of_loops, entries_in_loops, a_sorted_entry], ids=lambda f: f.__name__)
def test_what_loops_and_sorting_move_is_told_for_each_path(f):
    """Which object an instruction for many has taken is not known."""
    recordings(f)
