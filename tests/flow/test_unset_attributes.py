"""Names and attributes that a branch sets or deletes: where they are not set, Python looks further, or raises its error."""

import functools

import pytest

from flow.one_tape import POINTS, recordings


class Base:
    """Has a default, methods of each kind and a cached property."""

    n = 1

    def method(self, v):
        return v

    @staticmethod
    def static(v):
        return 5 * v

    @classmethod
    def of_class(cls, v):
        return v * cls.n

    @functools.cached_property
    def cached(self):
        self.calls = getattr(self, "calls", 0) + 1
        return 7.0


class WithFallback(Base):
    """Python asks `__getattr__` last."""

    def __getattr__(self, name):
        if name == "missing":
            return 3.0
        raise AttributeError(name)


class Slotted:
    """Has no namespace."""

    __slots__ = ("a", "b")


def shadows_methods(x):
    o = Base()
    if x[0] > 0:
        o.method = lambda v: 2 * v
    if x[1] > 0:
        o.static = o.of_class
    return o.method(x[2]) + o.static(x[3])


def caches_on_one_side(x):
    o, s = Base(), 0.0
    for v in x:
        if v > 0:
            s += o.cached * v
    return s + o.cached + o.calls * x[0]


def falls_back(x):
    o = WithFallback()
    if x[0] > 0:
        o.missing = x[1]
    if x[2] > 0:
        o.method = abs
    return o.missing * o.method(x[3]) + getattr(o, "unknown", x[4])


def deletes_a_slot(x):
    o = Slotted()
    o.a = x[0]
    if x[1] > 0:
        o.b = x[1]
    s = o.b if hasattr(o, "b") else x[2]
    try:
        del o.b
    except AttributeError:
        s += 1
    if x[3] > 0:
        del o.a
    return s * getattr(o, "a", 3.0)


def deletes_a_variable(x):
    if x[1] > 0:
        v = x[1]
    try:
        del v
    except UnboundLocalError:
        return x[2]
    return x[3]


def sets_while_the_namespace_is_held(x):
    o = Base()
    held = o.__dict__
    if x[0] > 0:
        o.n = x[1]
    return held.get("n", 5.0) * x[2] + len(held) * x[3]


def replaces_the_namespace(x):
    o = Base()
    if x[0] > 0:
        o.__dict__ = {"n": x[1]}
    return o.n * x[2]


PROGRAMS = {
    shadows_methods: 1, caches_on_one_side: 1, falls_back: 1, deletes_a_slot: 1, deletes_a_variable: 1, sets_while_the_namespace_is_held: 2,
    replaces_the_namespace: 2,
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_a_branch_sets_or_deletes_is_pythons(program):
    """Recorded at the first point; the value and gradient of each other one, where the attribute may not be set."""
    assert recordings(program, POINTS[:12]) <= PROGRAMS[program]
