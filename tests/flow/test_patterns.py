"""Patterns of `match` on what data choose: objects, sequences and mappings, at the top and nested."""

from __future__ import annotations

import math

import pytest

from flow.one_tape import POINTS, recordings


class P:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = (x, y)


def some(x, k=0):
    return None if x[k] < -0.5 else [x[1], 2.0] if x[k] < 0.3 else P(x[2], x[3]) if x[k] < 1 else {"k": x[4], "n": 3}


def patterns_of_choices(x):
    match some(x):
        case None:
            return x[5]
        case [v, 2.0]:
            return v * 2
        case P(v, y=w):
            return v - w
        case {"k": v, **rest}:
            return v * len(rest)


def nested_choices(x):
    match [some(x), some(x, 1), 4]:
        case [[v, w], {"k": u}, _]:
            return v * w + u
        case [P(x=v), None | [_, _], _]:
            return v
        case [{"n": n}, other, 4] if other is not None:
            return n * x[3]
        case [None, a, b]:
            return b * x[2] + (a is None)
        case [a, P() as b, *c]:
            return len(c) * b.x
        case _:
            return x[0]


def mapping_of_data_keys(x):
    d = {}
    for v in x:
        d[math.floor(v)] = v
    match d:
        case {0: a, 1: b}:
            return a * b
        case {0: a, **rest}:
            return a + len(rest)
        case {-1: a}:
            return 2 * a
    return x[0]


# With how many recordings they take: more than one where guards decide something.
PROGRAMS = {
    patterns_of_choices: 1,
    nested_choices: 1,
    mapping_of_data_keys: 1,
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_are_pythons_in_few_recordings(program):
    assert recordings(program, POINTS[:12]) <= PROGRAMS[program]
