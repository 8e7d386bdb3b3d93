"""Programs whose state is a named tuple: its fields are variables where nothing else is asked of it, and traps for what else there is."""

from collections import namedtuple
from typing import NamedTuple

import numpy as np


class Rocket(NamedTuple):
    time: float
    height: float
    speed: float = -1.0
    burns: int = 0

    def energy(self):
        return self.height * 9.81 + 0.5 * self.speed**2

    @property
    def is_fast(self):
        return self.speed < -2.0

    def after(self, h):
        if self.is_fast:
            return self._replace(time=self.time + h, speed=0.5 * self.speed, burns=self.burns + 1)
        return Rocket(self.time + h, self.height + h * self.speed, self.speed - 9.81 * h, self.burns)


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


def lands(x):
    s = Rocket(0.0, 3.0 + x[0], x[1])
    while s.height > 0 and s.time < 2.0:
        thrust = 15.0 if s.speed < -2.0 else 0.0
        s = s._replace(time=s.time + 0.1, height=s.height + 0.1 * s.speed, speed=s.speed + 0.1 * (thrust - 9.81))
    return s.speed**2 + s.time * x[2]


def bounces(x):
    s = Rocket(speed=x[1], height=1.0 + x[0] ** 2, time=0.0)
    for _ in range(20):
        s = Rocket(s.time + 0.1, s.height + 0.1 * s.speed, s.speed - 0.981, s.burns)
        if s.height < 0:
            s = s._replace(height=-s.height, speed=-0.8 * s.speed, burns=s.burns + 1)
    return s.height + s.speed + 0.1 * s.burns * x[2]


def asks_methods(x):
    s = Rocket(0.0, x[0], x[1])
    for _ in range(4):
        s = s.after(0.3)
    return s.energy() + s.time * s.burns * x[2]


def ends(x):
    p = Point(x[0])
    for v in x[1:]:
        if v > p.a:
            p = p._replace(b=p.b * 0.5 + v)
        else:
            p = Point(b=p.b, a=v)
    return p.a * p.b


MERGE = [lands, bounces, asks_methods, ends]


def of(end):
    """A named tuple that a loop and a branch change, and what is asked of it."""

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


def by_position(p, x):
    return p[0] * x[1] + p[-1]


def taken_apart(p, x):
    a, b = p
    return a * x[1] - b


def summed(p, x):
    return sum(p) * x[1] + len(p)


def joined(p, x):
    return (p + (x[2],))[2] * p.a


def compared(p, x):
    return (p == (0.0, 1.0)) * x[1] + p.a


def type_of_a_field(p, x):
    return (2.0 if type(p.a) is float else 1.0) * x[1]


def of_another_class(p, x):
    return p.__class__(x[0], x[1]).b + Stubborn(p.a, p.b)._replace(a=x[0]).a * x[1] + Doubled(p.a, x[1]).a


def with_an_operator(p, x):
    return (Added(p.a, p.b) + x[1]).a


def assigns_a_field(x):
    p = Point(x[0], 1.0)
    try:
        if x[0] > 0.2:
            p.a = 3.0
    except AttributeError:
        return x[1]
    return p.a * x[2]


def writes_to_an_array_in_it(x):
    p = Point(x[0], x * 1.0)
    q = p
    if x[0] > 0.2:
        p.b[0] += x[2]
        p = p._replace(a=x[1])
    return p.a * p.b[0] + q.a * q.b[0]


def default_that_is_an_array(x):
    kind = namedtuple("kind", "a b", defaults=[np.ones(2)])
    p = kind(x[0])
    if x[0] > 0.2:
        p = p._replace(a=x[1])
    return p.a * p.b[0]


TRAPS = [
    *map(of, (by_position, taken_apart, summed, joined, compared, type_of_a_field, of_another_class, with_an_operator)),
    assigns_a_field, writes_to_an_array_in_it, default_that_is_an_array,
]  # fmt: skip
