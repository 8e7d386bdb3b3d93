"""Joins are as late as they can be: selects of the terms that differ, objects attribute by attribute."""

import builtins
import collections
from types import FunctionType

import numpy as np
import pytest

import tapediff as td
from flow.one_tape import recordings
from tapediff.ops.elementwise.comparison import SELECT
from tapediff.passes.simplify.dead_code import dead_code


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def moved(self, a):
        return Vector(self.x + a, self.y)


class Body:
    def __init__(self, place, speed):
        self.place, self.speed, self.hits = place, speed, 0


def ends_at_walls(p, steps=6):
    place, speed, total = Vector(p[0], 0.3), Vector(-0.2, p[1]), 0.0
    for _ in range(steps):
        place = place + speed * 0.7
        if place.x > 1.0:
            speed = -speed * 0.9
        total = total + speed.y * place.x
    return total


def objects_in_objects(p, steps=6):
    body = Body(Vector(p[0], p[1]), Vector(0.1, 0.2))
    for _ in range(steps):
        body.place = body.place + body.speed
        if body.place.x > 0.3:
            body.speed = -body.speed
            body.hits += 1
        if body.place.y > p[2]:
            body = Body(Vector(0.0, p[0]), Vector(0.3, -0.1))
    return body.place.x + body.place.y * body.hits


def an_attribute_of_one_side(p):
    a = Vector(p[0], p[1])
    if p[0] > 0:
        a = Vector(1.0, p[1])
    else:
        a.z = 3.0
    return a.x * 2 + (a.z if p[0] <= 0 else p[2])


def returned_objects(p):
    def moved(v):
        if v.x > 0:
            return Vector(-v.x * 0.5, v.y)
        return Vector(v.x + p[1], v.y * 2)

    v = Vector(p[0], p[2])
    for _ in range(5):
        v = moved(v)
    return v.x + v.y


OBJECTS = [
    ends_at_walls, objects_in_objects, an_attribute_of_one_side, returned_objects,
]  # fmt: skip


@pytest.mark.parametrize("program", OBJECTS, ids=lambda f: f.__name__)
def test_objects_are_joined_as_python_leaves_them(program):
    """Value and gradient are those of plain Python at 24 points, by one recording; other names see what is changed."""
    assert recordings(program) == 1


@pytest.mark.parametrize("program", [ends_at_walls, objects_in_objects])
def test_joined_objects_do_not_multiply(program):
    """Twice the steps take twice the instructions."""
    few, many = (len(td.record(lambda p, n=n: program(p, n), np.ones(3), merge=True)) for n in (4, 8))
    assert many < 2.2 * few


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


def moved_or_halved(p, v):
    if v > 0:
        return Vector(p.x + v, p.y)
    else:
        return Vector(p.x * 0.5, p.y - v)


def by_a_function(x):
    p = Vector(x[0], x[1])
    for v in x:
        p = moved_or_halved(p, v)
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


MADE = [by_an_expression, by_statements, one_is_kept_elsewhere, by_a_function, by_early_returns, lists_of_objects]


@pytest.mark.parametrize("program", MADE, ids=lambda f: f.__name__)
def test_objects_that_both_sides_make_are_one(program):
    """Twice as many branches are some three times as many instructions at most: a choice of objects would double at each."""
    assert recordings(program) == 1
    few, many = (len(td.record(program, np.linspace(-0.7, 0.8, n), merge=True)) for n in (6, 12))
    assert program in (one_is_kept_elsewhere, by_early_returns) or many < 2.6 * few


def common_term(p):
    total = p[2]
    if p[0] > 0:
        total += np.sin(p[1])
    else:
        total += p[1]
    return total


def one_side_adds(p):
    total = -0.0 * p[2]
    if p[0] > 0:
        total -= p[1]
    return total


def the_same_on_both(p):
    if p[0] > 0:
        y = np.exp(p[1] * p[2]) + 1.0
    else:
        y = np.exp(p[1] * p[2]) + 1.0
    return y


def factors_and_functions(p):
    return np.sin(p[0] * p[1] - 2.0) if p[2] > 0 else np.sin(p[0] * p[2] - 2.0)


def asked_again(p):
    t = p[0] > 0
    y = p[1] if t else p[2]
    return y if t else p[0] * 3.0


SELECTS = [(common_term, 1), (one_side_adds, 1), (the_same_on_both, 0), (factors_and_functions, 1), (asked_again, 1)]


@pytest.mark.parametrize(("program", "count"), SELECTS)
def test_what_both_sides_compute_is_computed_once(program, count):
    """By one select, of operands; the values are the same to the last bit."""
    assert recordings(program) == 1
    points = np.random.default_rng(4).normal(size=(8, 3))
    tape = td.record(program, points[0], merge=True)
    assert sum(i.op is SELECT for i in dead_code(tape).instructions) == count
    for p in points:
        assert np.array(tape(p)).tobytes() == np.array(program(p)).tobytes()


Point = collections.namedtuple("Point", "x y")


def the_last_one(x):
    last = None
    for v in np.concatenate([x, 2 * x, 3 * x, x + 0.1, x - 0.1, x * x - 0.2, x + 0.3, x - 0.4, 0.5 * x]):
        if v > 0:
            last = Point(v, x[0] - v)
    return x[1] if last is None else last.x * 2 + last.y


def test_a_named_tuple_or_none_stays_one_of_two():
    """Named tuples in a choice are joined entry by entry, however many there may be."""
    assert recordings(the_last_one) == 1


LIMIT = 0.25


def by_a_global(x):
    return sum(v * v if v > globals()["LIMIT"] else v for v in x)


def test_what_asks_for_globals_is_translated():
    """Unlike a function that asks for its variables. Its namespace is a small one: of very many objects not all are looked at."""
    assert recordings(FunctionType(by_a_global.__code__, {"LIMIT": LIMIT, "__builtins__": builtins})) == 1


def a_function_that_cannot_be_undone(x):
    b = bytearray(3)
    f = (lambda: x[0]) if x[0] > 0.3 else (lambda: (b.append(7), x[1])[1]) if x[1] > 0 else (lambda: x[2] * 2)
    return f() + len(b) * x[3]


def test_guards_decide_one_of_several_options_whose_state_cannot_be_joined():
    """The other options are joined."""
    assert recordings(a_function_that_cannot_be_undone) == 2
