"""Attributes that data decide: whether there are any, and what is read, set and deleted."""

from __future__ import annotations

import functools
import math
import operator

import pytest

from flow.one_tape import POINTS, recordings


class Empty:
    pass


def in_a_dict_of_attributes(x):
    b = Empty()
    if x[0] > 0:
        b.r = x[2]
    return ("r" in b.__dict__) * x[1] + sum(b.__dict__.values()) + ("r" in dir(b))


def by_a_getter(x):
    b = Empty()
    if x[0] > 0:
        b.r = x[2]
    return operator.attrgetter("r")(b) if hasattr(b, "r") else x[3]


class Desc:
    def __get__(self, obj, kind=None):
        return self if obj is None else obj.v * 3


class Full(Desc):
    def __set__(self, obj, value):
        obj.v = value + 1


class D:
    a, b = (Desc(), Full())

    def __init__(self, v):
        self.v = v


def cached(x):

    class C:
        def __init__(self, v):
            self.v, self.n = (v, 0)

        @functools.cached_property
        def twice(self):
            self.n += 1
            return 2 * self.v

        def __index__(self):
            return 1

    c = C(x[0] if x[1] > 0 else x[2])
    s = c.twice + (c.twice if x[3] > 0 else 1.0)
    return s * c.n + [x[1], x[2]][c]


def descriptors(x):
    d = D(x[0])
    e = D(x[1])
    o = d if x[2] > 0 else e
    o.b = x[3]
    if x[4] > 0:
        o.a = 7.0
    return d.a + 2 * e.a + d.b * e.b + o.a


def class_attributes(x):

    class A:
        n = 0

        def __init__(self):
            type(self).n += 1

        @classmethod
        def made(cls, v):
            cls.last = v
            return cls()

        @property
        def twice(self):
            return 2 * self.w

        @twice.setter
        def twice(self, v):
            self.w = v / 2

        def __getattr__(self, name):
            if name == "lost":
                return 3.0
            raise AttributeError(name)

    a = A.made(x[0])
    if x[1] > 0:
        b = A.made(x[2])
        b.twice = x[3]
    else:
        b = a
        b.w = x[4]
    setattr(b, "q" if x[0] > 0 else "r", x[5])
    return A.n * x[0] + A.last + b.twice + a.lost + getattr(b, "q", 0.5) + (hasattr(b, "r") + hasattr(a, "none")) * x[1]


def errors_of_missing_ones(x):
    b = Empty()
    if x[0] > 0:
        b.r = x[1]
    try:
        return b.r * 2
    except AttributeError as error:
        return x[2] * len(error.name) + len(str(error)) + (error.obj is b)


# With how many recordings they take: more than one where guards decide something.
def a_method_with_a_function_as_default(x):
    class Scale:
        def of(self, v, by=lambda v: 1.0 + v * v):
            return by(v)

    return Scale().of(x[0]) * (x[1] if x[2] > 0 else x[3])


# New objects on several sides


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return type(self)(self.x + other.x, self.y + other.y)

    def __abs__(self):
        return math.hypot(self.x, self.y)


class Slotted:
    __slots__ = ("__hidden", "x", "y")
    __init__, __add__, __abs__ = Vector.__init__, Vector.__add__, Vector.__abs__


class Segment:
    __slots__ = ("end", "start")

    def __init__(self, start, end):
        self.start, self.end = start, end

    def longer(self, k):
        return Segment(self.start, self.end + Slotted(k, k))


def _sum_of_near(x, kind):
    near = [v for v in (kind(x[k], math.sin(k + x[0])) for k in range(6)) if abs(v) < 1.2]
    if near:
        total = functools.reduce(operator.add, near)
        return abs(total) + total.x
    return x[1]


def sums_of_some_with_slots(x):
    return _sum_of_near(x, Slotted)


def noted_where_it_is_made(x):
    made = []

    def new(v):
        made.append(Slotted(v, 2 * v))
        return made[-1]

    a = new(x[0]) if x[0] > 0 else new(x[1]) if x[1] > 0 else new(x[2])
    b = new(a.x + 1) if x[3] > 0 else a
    b.y = b.y + x[4]
    return sum(v.x * v.y * (k + 1) for k, v in enumerate(made)) + (b is a) * 1.5 + (made[0] is a)


def of_objects(x):
    s = Segment(Slotted(0.0, 0.0), Slotted(x[0], x[1]))
    t = None
    for k in range(5):
        if x[k] > 0:
            t = s.longer(x[k]) if t is None else t.longer(0.5 * x[5])
    return abs(s.end) if t is None else abs(t.end) + 3 * abs(s.end) + (t.start is s.start)


def in_a_long_loop_with_slots(x):
    s = Slotted(x[0], 0.0)
    for _ in range(300):
        s = Slotted(0.9 * s.x + 0.1, s.y + s.x * x[1]) if s.x < 0.5 else Slotted(0.7 * s.x, s.y)
    return s.x + s.y


PROGRAMS = {
    sums_of_some_with_slots: 1,
    noted_where_it_is_made: 1,
    of_objects: 1,
    in_a_long_loop_with_slots: 1,
    a_method_with_a_function_as_default: 1,
    errors_of_missing_ones: 1,
    in_a_dict_of_attributes: 2,
    by_a_getter: 2,
    cached: 1,
    descriptors: 4,
    class_attributes: 3,
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_attributes_are_pythons_in_few_recordings(program):
    assert recordings(program, POINTS[:12]) <= PROGRAMS[program]


class Limited:
    """A descriptor that keeps its value in the instance."""

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner):
        return instance.__dict__[self.name]

    def __set__(self, instance, value):
        instance.__dict__[self.name] = value if value < 1.0 else 1.0


class Tank:
    level = Limited()

    def __init__(self, level):
        self.level, self.flow = level, 0.0


def set_by_a_descriptor(x):
    tank = Tank(x[0])
    if x[1] > 0:
        tank.level = x[2] * 3
    tank.flow += tank.level
    return tank.flow * x[3]


def set_in_the_namespace_and_as_attribute(x):
    tank = Tank(x[0])
    if x[1] > 0:
        tank.__dict__["flow"] = x[2]
        tank.__dict__["flow"] += 1.0
    else:
        tank.flow = 2.0
    if x[2] > 0:
        del tank.__dict__["flow"]
        tank.flow = x[4]
    return tank.flow * x[3]


def changed_by_methods_of_the_namespace(x):
    tank = Tank(x[0])
    if x[1] > 0:
        tank.__dict__.update(flow=x[2])
    else:
        tank.flow = 2.0
    return tank.flow * x[3]


@pytest.mark.parametrize(
    ("program", "paths"), [(set_by_a_descriptor, 1), (set_in_the_namespace_and_as_attribute, 1), (changed_by_methods_of_the_namespace, 2)]
)
@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
def test_entries_of_a_namespace_are_attributes(program, paths):
    assert recordings(program) == paths
