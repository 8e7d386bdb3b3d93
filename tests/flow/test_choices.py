"""Statements and expressions on what data choose: errors, managers, generators, keys, members, attributes."""

from __future__ import annotations

import contextlib
import functools
import math
from collections import Counter, deque

import numpy as np
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


def unjoinable_selected(x):
    a = [iter([x[1]]) if v > 0 else (w for w in [x[2]]) for v in x[:2]]
    return next(a[0]) + next(a[1])


def kwargs_of_choice(x):
    f = (lambda a, b=2.0: a * b) if x[0] > 0 else (lambda a, b=3.0, *c: a + b + len(c)) if x[1] > 0 else max
    g = functools.partial(f, x[2])
    return f(x[2], x[3]) + g(x[4])


def in_of_iterables(x):
    k = 1 if x[0] > 0 else 3

    class A:
        def __contains__(self, v):
            return v == k

    class B:
        def __iter__(self):
            return iter([k, 2])

    class C:
        def __getitem__(self, n):
            return [k, 5][n]

    return (
        (1 in A()) * x[1]
        + (3 in B()) * x[2]
        + (1 in C()) * x[3]
        + (k in (v for v in (1, 2))) * x[4]
        + (k in {1: 2}.keys())
        + (k in [1.0, 2.0]) * 2
        + (k in iter([3, 4])) * 3
        + (k in range(0, 9, 3)) * 4
        + ((k, 2) in {(1, 2)}) * 5
        + ("a" * k in ["aaa"]) * 6
    )


def unpacking_of_iterables(x):
    k = 1 if x[0] > 0 else 3

    class B:
        def __iter__(self):
            return iter([k, 2, x[1]])

    a, *b = B()
    c, d, e = (v * k for v in x[:3])
    *f, g = (v for v in x)
    h, (i, *j) = (k, {k: 2, 9: 1})
    p, q = dict.fromkeys((k, 7), 1)
    _, *s = "abc"[:k]
    return a + len(b) * b[1] + c * d - e + sum(f) * g + h * i + len(j) + p + q + len(s)


def chained(x):
    k = 1 if x[0] > 0 else 3
    a, b = ([k], [k])
    return (
        (0 < k < 2) * x[1]
        + (x[0] < x[1] < x[2] < 3) * x[2]
        + (1 <= k == k != 2)
        + (a == b) * 2
        + (a is b) * 3
        + (a is not None)
        + ((k, x[0]) < (k, x[1])) * x[3]
        + ([k] <= [1, 2]) * 4
        + ({k} <= {1, 2}) * 5
        + ("a" < "b" * k)
        + ((x[0] > 0) == (x[1] > 0)) * x[4]
        + ((x[0] > 0) is True) * 7
    )


def augmented(x):
    k, b, t, s, l = (1, x[0] > 0, (1.0,), {1}, [x[1]])
    if x[1] > 0:
        k += 2
        t += (x[2],)
        s |= {2}
        l *= 2
    else:
        k -= 4
        k **= 2
        s -= {1}
        l += [1.0, x[3]]
    k //= 2
    k %= 5
    b |= x[2] > 0
    b &= x[3] < 1
    b ^= x[4] > 0
    m = np.zeros(2)
    m[0] += x[0]
    m *= 2
    m[k % 2] -= x[1]
    o = {"a": x[0]}
    o["a"] *= k
    o.setdefault("b", []).append(k)
    return k * x[0] + sum(t) + len(s) * x[1] + sum(l) + b * x[2] + m.sum() + m[1] + o["a"] + len(o["b"])


def walrus(x):
    if (n := len([v for v in x if v > 0])) > 2 and (m := max(x)) > 1:
        s = n * m
    else:
        s = n * x[1]
    total = [(y := 0.0)] and [(y := (y * 0.5 + v)) for v in x][-1]
    while (n := (n - 1)) > 0:
        s += n
    return s + total + y


def closures(x):
    n, log = (0, [])

    def add(v, *, by=1, **more):
        nonlocal n
        n += by
        log.append(v)
        return v * by + len(more)

    def twice(f):
        return lambda *a, **k: f(*a, **k) + f(*a, **k)

    s = 0.0
    for v in x:
        if v > 0:
            s += add(v)
        elif v < -1:
            s += twice(add)(v, by=2, z=1)
    g = add if x[0] > 0 else twice(add)
    s += g(x[1], by=3)
    return s + n * x[2] + len(log) + sum(log)


def nested_functions_of_errors(x):
    out = []

    def risky(v):
        try:
            if v > 1:
                raise ValueError("big", v)
            if v < -1:
                return "low"
        except ValueError as e:
            out.append(e.args[1])
            raise KeyError("k") from e
        else:
            out.append(v)
            return "fine"
        finally:
            out.append(0.5)

    s = 0.0
    for v in x:
        try:
            s += len(risky(v))
        except KeyError as e:
            s += 10 * e.__cause__.args[1]
        except ArithmeticError:
            s += 100
    return s + sum((k * v for k, v in enumerate(out)))


def sets_and_dicts(x):
    s = {"a"}
    s.update("bc")
    s.update((n for n, v in zip("cde", x) if v > 0))
    s.discard("a" if x[3] > 0 else "b")
    d = {"a": 1.0}
    d.update(((n, v) for n, v in zip("abc", x)))
    d.update({n: v for n, v in zip("abd", x[2:]) if v > 0})
    d.update([("e", 1.0)], f=2.0)
    r = reversed({n: v for n, v in zip("abd", x) if v > 0})
    q = reversed(range(int(abs(x[0]) * 4)))
    k = d.setdefault("a" if x[0] > 0 else "z", 5.0) + d.pop("b" if x[1] > 0 else "y", 0.25)
    c = Counter("aab")
    c.update((n for n, v in zip("abc", x) if v > 0))
    c.subtract({"a": 1})
    return (
        len(s) * x[0]
        + sum(d.values())
        + len(d)
        + k
        + len(list(r)) * x[1]
        + sum(q)
        + c["a"] * x[2]
        + sum(c.values())
        + ("a" in s)
        + s.isdisjoint({"q"})
    )


def deque_ops(x):
    d = deque(maxlen=3)
    for v in x:
        if v > 0:
            d.append(v)
        else:
            d.appendleft(v)
    e = deque([1.0, 2.0], maxlen=2)
    if x[0] > 0:
        e.append(x[1])
    try:
        e.insert(1, 5.0)
    except IndexError:
        e.pop()
    f = deque(x[:3])
    f.extendleft(x[3:5])
    f.remove(x[0])
    f.reverse()
    if x[2] > 0:
        f.clear()
    return (
        sum(((k + 1) * v for k, v in enumerate(d)))
        + sum(e)
        + sum(((k + 1) * v for k, v in enumerate(f)))
        + (d[0] if d else 1.0)
        + d.count(x[0])
        + (f.index(x[1]) if x[1] in f else 9)
    )


def comparisons_of_sets(x):
    a = {n for n, v in zip("abc", x) if v > 0}
    b = {n for n, v in zip("abc", x[3:]) if v > 0}
    found = 0.0
    for p, q in ((a, b), (b, a), (a, {"a", "b"}), ({"a"}, b), (a, a | b), (a & b, b)):
        for n, holds in enumerate((p == q, p != q, p <= q, p < q, p >= q, p > q)):
            found = 0.9 * found + (n + 1) * holds
    return found * x[0] + len(a ^ b) + len(a | b) * 2 + len(a - b) * 3


def sets_of_keys(x):
    d = {n: v for n, v in zip("abc", x) if v > 0}
    return len(set(d)) * x[1] + ("a" in set(d)) + len(frozenset(d) | {"z"}) * x[2]


def stars_in_sets(x):
    w = [int(v) for v in x if v > 0]
    n, m = int(x[0]), int(x[1])
    return len({*w, 1}) * x[0] + len({*w, *w}) * x[1] + len({w[0] if w else 0, 1, 2}) + len({n, m, *(n, 1)}) * x[2] + sum({*map(int, x), *range(2)})


def one_of_three_managers(x):
    a, b, c, s = Log(), Mute(), Log(), 0.0
    with a if x[0] > 0 else b if x[1] > 0 else c if x[2] > 0 else Mute() as m:
        s += m.n
        if x[3] > 0:
            s += x[3]
    return s + a.n * x[0] + b.n * x[1] + c.n * x[2]


def loops_over_one_of_four(x):
    items = [x[1], 2.0] if x[0] > 0.5 else (x[2],) if x[0] > 0 else {3.0: "a", 4.0: "b"} if x[0] > -0.5 else range(4)
    s = 0.0
    for v in items:
        s = 0.5 * s + v
        if s > 3:
            break
    else:
        s *= 2
    return s


# With how many recordings they take: more than one where guards decide something.
PROGRAMS = {
    sets_of_keys: 12,
    one_of_three_managers: 1,
    loops_over_one_of_four: 1,
    stars_in_sets: 1,
    comparisons_of_sets: 1,
    unjoinable_selected: 4,
    kwargs_of_choice: 1,
    in_of_iterables: 2,
    unpacking_of_iterables: 2,
    chained: 1,
    augmented: 1,
    walrus: 1,
    closures: 1,
    nested_functions_of_errors: 1,
    sets_and_dicts: 12,
    deque_ops: 10,
    caught_by_some: 1,
    managers_by_data: 1,
    suppressed_by_data: 1,
    from_generators: 6,
    from_begun: 1,
    membership: 4,
    keys_of_choices: 9,
    sets_by_data: 1,
    views: 9,
    unbound: 1,
    truths: 1,
    until: 1,
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_are_pythons_in_few_recordings(program):
    assert recordings(program, POINTS[:12]) <= PROGRAMS[program]
