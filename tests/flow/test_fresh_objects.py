"""Objects that both sides of a branch have made: one takes the place of both where nothing else refers to them."""

import numpy as np
import pytest

import tapediff as td
from flow.one_tape import recordings
from tapediff.flow import flowed


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def moved(self, a):
        return Vector(self.x + a, self.y)


def by_an_expression(x):
    p = Vector(x[0], x[1])
    for v in x:
        p = p.moved(v) if p.x < 1 else Vector(v, p.y + 1)
    return p.x * p.y


def by_statements(x):
    p = Vector(x[0], x[1])
    for v in x:
        if v > 0:
            p = Vector(p.x + v, p.y)
            p.y += 1
        else:
            q = Vector(p.x * 2, p.y - v)
            p = q
    return p.x * p.y


def one_is_kept_elsewhere(x):
    p = Vector(x[0], x[1])
    h = None
    for v in x[:4]:
        if v > 0:
            p = Vector(p.x + v, p.y)
            h = p
        else:
            p = Vector(p.x * 2, p.y - v)
        p.x += 1
    return p.x * p.y + (h.x if h is not None else 0)


def lists(x):
    s = [x[0], x[1]]
    for v in x:
        if v > 0:
            s = [s[0] + v, s[1]]
        else:
            s = [s[1], s[0] - v]
            s[0] += 1
    return s[0] * s[1]


def step(p, v):
    if v > 0:
        return Vector(p.x + v, p.y)
    else:
        return Vector(p.x * 0.5, p.y - v)


def by_a_function(x):
    p = Vector(x[0], x[1])
    for v in x:
        p = step(p, v)
    return p.x * p.y


def by_early_returns(x):
    def st(p, v):
        if v > 0:
            return Vector(p.x + v, p.y)
        if v < -1:
            return Vector(p.x, p.y + v)
        return Vector(p.x * 0.5, p.y - v)

    p = Vector(x[0], x[1])
    for v in x:
        p = st(p, v)
    return p.x * p.y


def lists_of_objects(x):
    p = [Vector(x[0], x[1]), 0.0]
    for v in x:
        p = [Vector(p[0].x + v, p[0].y), p[1]] if v > 0 else [Vector(p[0].x, p[0].y + v), p[1] + 1]
    return p[0].x * p[0].y + p[1]


@pytest.mark.parametrize(
    "program",
    [by_an_expression, by_statements, one_is_kept_elsewhere, lists, by_a_function, by_early_returns, lists_of_objects],
    ids=lambda f: f.__name__,
)
def test_values_are_those_of_python(program):
    """By one recording, also where something else refers to one of the objects."""
    assert recordings(program) == 1


@pytest.mark.parametrize(
    "program", [by_an_expression, by_statements, lists, by_a_function, lists_of_objects], ids=lambda f: f.__name__
)
def test_a_recording_grows_with_the_branches(program):
    """Twice as many branches are at most twice as many instructions and some: a choice of objects would be ever more."""
    few, many = (len(td.record(flowed(program), np.linspace(-0.7, 0.8, n))) for n in (6, 12))
    assert many < 2.6 * few
