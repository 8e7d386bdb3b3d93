"""Statements and expressions on what data choose: errors, managers, generators, keys, members, attributes."""

from __future__ import annotations

import contextlib
import functools
import math

import pytest

from flow.one_tape import POINTS, recordings


class Log:
    def __init__(self):
        self.n = 0

    def __enter__(self):
        self.n += 1
        return self

    def __exit__(self, *a):
        self.n += 2
        return a[0] is ValueError


class Mute(Log):
    def __exit__(self, *a):
        self.n += 5
        return True


def gen(v):
    yield v
    yield (v * 2)
    return v + 1


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


def caught_by_data(x):
    kind = ValueError if x[0] > 0 else KeyError
    try:
        if x[1] > 0:
            raise KeyError("a")
        s = x[2]
    except kind as e:
        s = x[3] * len(e.args)
    except (IndexError, LookupError):
        s = x[4]
    return s


def caught_by_some(x):
    kinds = tuple([k for k, v in zip((ValueError, KeyError, IndexError), x) if v > 0])
    try:
        if x[3] > 0:
            raise KeyError("a")
        if x[4] > 0:
            raise ValueError
        s = x[2]
    except kinds:
        s = x[3]
    except (ValueError, LookupError):
        s = x[5]
    return s


def managers_by_data(x):
    a, b = (Log(), Mute())
    s = x[0]
    try:
        with a if x[0] > 0 else b as m:
            s += m.n
            if x[1] > 0:
                raise ValueError
            if x[2] > 1:
                raise KeyError
            s += x[3]
    except KeyError:
        s = 9.0
    return s + a.n * x[4] + b.n * x[5]


def suppressed_by_data(x):
    s = x[0]
    with contextlib.suppress(KeyError) if x[0] > 0 else contextlib.nullcontext():
        s += 1
        if x[1] > 0 and x[0] > 0:
            raise KeyError
        s += x[2]
    return s


def from_generators(x):

    def outer():
        r = yield from gen(x[0])
        if x[1] > 0:
            r += yield from gen(x[2])
        yield from [x[3], 1.0]
        yield from (v for v in x[:3] if v > 0)
        yield r

    s = 0.0
    for v in outer():
        s = 0.5 * s + v
    return s


def from_begun(x):
    g = gen(x[0])
    first = next(g)

    def outer():
        r = yield from g
        yield (r * 2)

    s = first
    for v in outer():
        s = 0.5 * s + v
    return s


def membership(x):
    a = [v for v in x if v > 0]
    n = [math.floor(v) for v in x]
    name = "ab" if x[0] > 0 else "c"
    t = ("ab", "d") if x[1] > 0 else ["c"]
    return (
        (1 in n) * x[0]
        + (x[1] in a) * x[2]
        + (name in "abc") * x[3]
        + (name in t) * x[4]
        + (name not in ("c", "e")) * x[5]
        + (3 in range(n[0] + 3)) * x[1]
        + (n[1] in {0, 1})
        + (n[2] in {0: 1, -1: 2}) * 2
        + ((n[0], n[1]) in [(0, 0), (0, -1)]) * 3
        + ("k" in (v for v in ["k"] if x[2] > 0)) * 5
    )


def keys_of_choices(x):
    k = "a" if x[0] > 0 else "b" if x[1] > 0 else 3
    j = "a" if x[2] > 0 else 3
    b = x[3] > 0
    d = {k: x[1], "c": 2.0}
    d[j] = d.get(j, 0.5) + x[2]
    d[b] = x[4]
    d[k, j] = 1.5
    return sum(v for v in d.values()) + len(d) * x[0] + d.get(True, 3.0) + d.get((3, "a"), 5.0) + ("a" in d) * 7


def keys_of_tuples(x):
    d, k = ({}, 0)
    for v in x:
        k += 1 if v > 0 else 2 if v < -1 else 0
        key = (k, k % 2) if v < 1 else (k, "s")
        d[key] = d.get(key, 0.0) + v
    return d.get((2, 0), 1.0) + len(d) * x[0] + d.get((3, "s"), 2.0) + sum(d.values()) + d.get((1,), 4.0)


def sets_by_data(x):
    n = {math.floor(v) for v in x}
    m = {math.floor(2 * v) for v in x[:3]}
    n.update([3])
    n.update(math.floor(v) for v in x[:2])
    n |= {5}
    n -= {0}
    m &= {0, 1, 2}
    n ^= {7}
    return (
        len(n) * x[0]
        + len(m) * x[1]
        + (5 in n)
        + sum(n) * x[2]
        + len(n | m)
        + len(n & m) * 2
        + len(n - m) * 3
        + len(n ^ m) * 4
        + (n >= m) * 5
        + (n == m)
        + max(n)
    )


def views(x):
    d = {}
    for n, v in zip("abcd", x):
        if v > 0:
            d[n] = v
    e = dict(d)
    e.update(z=1.0)
    e.update({"a": 2.0})
    e |= {"q": x[5]}
    return (
        len(d.keys()) * x[0]
        + len(d.items())
        + sum(d.values())
        + ("a" in d.keys()) * x[1]
        + len(list(d))
        + sum(e.values())
        + len(e)
        + bool(d.values())
        + (d == {"a": x[0]})
        + len([*d])
        + len({**d, "c": 1})
    )


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


def deleted_attributes(x):
    d = D(x[0])
    if x[1] > 0:
        d.w = 2.0
    if x[2] > 0 and x[1] > 0:
        del d.w
    return getattr(d, "w", x[3]) + hasattr(d, "w") * x[4]


def unbound(x):
    if x[0] > 0:
        v = x[1]
    elif x[1] > 0:
        v = [x[2]]
    try:
        return 1.0 if v else 2.0
    except UnboundLocalError:
        return x[3]


def truths(x):
    v = None if x[0] > 0 else [] if x[1] > 0 else [1] if x[2] > 0 else x[3]
    w = "" if x[0] > 0 else "a"
    return (1.0 if v else 2.0) + (3.0 if not w else x[4]) + (4 if v and w else 5) + (6 if v or w else 7)


def until(x):
    s = 0.0
    for k in range(int(abs(x[0]) * 3), int(abs(x[1]) * 9), 2):
        if s > 3:
            break
        s += abs(x[k % 6])
    else:
        s = -s
    for k in range(int(x[2] * 4), -3, -1):
        s += k
    return s + len(range(int(abs(x[0]) * 3))) + sum(range(int(abs(x[1]) * 3)))


# With how many recordings they take: more than one where guards decide something.
PROGRAMS = {
    caught_by_data: 1,
    caught_by_some: 1,
    managers_by_data: 1,
    suppressed_by_data: 1,
    from_generators: 6,
    from_begun: 1,
    membership: 4,
    keys_of_choices: 9,
    keys_of_tuples: 1,
    sets_by_data: 1,
    views: 9,
    cached: 1,
    descriptors: 4,
    deleted_attributes: 4,
    unbound: 1,
    truths: 1,
    until: 1,
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_are_pythons_in_few_recordings(program):
    assert recordings(program, POINTS[:12]) <= PROGRAMS[program]
