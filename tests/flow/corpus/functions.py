"""Branches that call functions, methods and classes of the user's."""

from __future__ import annotations

import functools
from collections import namedtuple
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

GRAVITY, LOG = 9.81, []


def inverse(v):
    return 1.0 / v


def kind_of_float(v):
    return 1.0 if type(v) is float else 2.0


def asks_in_a_function_of_its_own(x):
    def told(v):
        w = v
        return 3.0 if isinstance(w, float) and not isinstance(w, np.float64) else 2.0

    t = 0.25
    while t < 1.0 and x[0] > t:
        t = t + 0.3
    return told(t) * x[1]


def smaller(v, w):
    return w if v > w else v


names = {}
exec("def without_source(v):\n    return 2.0 if type(v) is float else 0.5\n", names)


def asked_by_a_partial(x):
    return functools.partial(kind_of_float, smaller(-0.5, x[1]))() * x[0]


def chooses_between_densities(x):
    total = 0.0
    for k in range(8):
        total += norm.logpdf(0.3 * k, x[0], 1.5) if k * x[1] > x[2] else norm.logpdf(0.1 * k, x[1], 2.0)
    return total


# Methods, properties and operators


class Particle:
    drag = 0.1

    def __init__(self, x, v, bounces=0.0):
        self.x, self.v, self.bounces = x, v, bounces

    def step(self, dt, restitution=0.8):
        """One step of Euler's method."""
        self.v -= (GRAVITY + self.drag * self.v) * dt
        self.x += self.v * dt
        if self.x < 0.0:
            self.bounce(restitution)
        return self.x

    def bounce(self, restitution):
        self.x, self.v = -self.x, -restitution * self.v
        self.bounces += 1

    @property
    def energy(self):
        return 0.5 * self.v**2 + GRAVITY * self.x

    @property
    def phase(self):
        if self.v > 0:
            return 1.0
        return -0.5 * self.v

    def is_above(self, height=0.3):
        return self.x > height

    def moved_by(self, amount):
        self.x = self.x + amount
        self.v = self.v * 0.5 - amount
        return amount


class Falling(Particle):
    def bounce(self, restitution):
        self.v = restitution * 0.1 - self.v


def distance(a, b):
    d = a.x - b.x
    if d < 0:
        return -d
    return d


def bounces(x):
    p = Particle(x[0] ** 2, x[1])
    total = 0.0
    for k in range(5):
        total += p.step(0.1) * x[k]
        if p.is_above() and p.energy > 2.0:
            total += p.energy
    return total + p.bounces * x[5]


def replaced_method(x):
    p, s = Particle(x[0], x[1]), 0.0
    for v in x:
        if v > 0.2:
            s = s + v
        p.moved_by(0.5)
        p.moved_by = lambda amount: amount
    return p.x + p.v * s


class Logged(Particle):
    def moved_by(self, amount):
        LOG.append(amount)
        self.x = self.x + amount
        return len(LOG)

    def itself(self):
        return self

    def keeps(self, box):
        box.append(self)


def by_its_own_name(x):
    p = Logged(x[0], x[1])
    q = p.itself()
    for v in x:
        if v > 0.2:
            p.step(0.1)
        q.x = q.x + 0.1
    return p.x * q.v


def kept_in_a_box(x):
    p, box = Logged(x[0], x[1]), []
    p.keeps(box)
    for v in x:
        if v > 0.2:
            p.step(0.1)
        box[0].x += 0.1
    return p.x


class Classes(Particle):
    made = 1

    @classmethod
    def count(cls, v):
        cls.made += 1
        return cls.made * v

    @staticmethod
    def twice(v):
        return 2 * v


def with_a_class_method(x):
    Classes.made = 1
    p = Classes(x[0], x[1])
    for v in x:
        if v > 0.2:
            p.x = p.count(v) + p.twice(p.x)
    return p.x * Classes.made


def named_in_an_argument(x):
    p, s = Particle(x[0], x[1]), x[2]
    if x[1] > 0:
        p.x = p.x + 1.0
    return s + p.moved_by(s := x[3] * p.v) + p.x


# Named tuples


Point = namedtuple("Point", "a b", defaults=[2.0])


class Stubborn(Point):
    def _replace(self, **named):
        return Stubborn(1.0, 2.0)


class Doubled(Point):
    def __new__(cls, a, b):
        return super().__new__(cls, 2 * a, b)


class Added(NamedTuple):
    a: float
    b: float

    def __add__(self, other):
        return Added(self.a + other, self.b)


def of(end):
    """Changes a named tuple in a loop and in a branch, and reads it by `end`."""

    def f(x):
        p = Point(x[0], 1.0)
        while p.a < 1 and p.b < 5:
            p = p._replace(a=p.a + 0.3, b=p.b + 1.0)
        q = Point(0.0, 1.0)
        if x[0] > 0.2:
            q = q._replace(a=x[1])
        return end(p, x) + end(q, x)

    f.__name__ = end.__name__
    return f


def joined(p, x):
    return (p + (x[2],))[2] * p.a


def of_another_class(p, x):
    return p.__class__(x[0], x[1]).b + Stubborn(p.a, p.b)._replace(a=x[0]).a * x[1] + Doubled(p.a, x[1]).a


def with_an_operator(p, x):
    return (Added(p.a, p.b) + x[1]).a


def default_that_is_an_array(x):
    kind = namedtuple("kind", "a b", defaults=[np.ones(2)])
    p = kind(x[0])
    if x[0] > 0.2:
        p = p._replace(a=x[1])
    return p.a * p.b[0]


PROGRAMS = [asked_by_a_partial, chooses_between_densities]
# What a careless join of both sides gets wrong.
TRAPS = [
    asks_in_a_function_of_its_own, replaced_method, by_its_own_name, kept_in_a_box, with_a_class_method, named_in_an_argument, of(joined),
    of(of_another_class), of(with_an_operator), default_that_is_an_array,
]  # fmt: skip
