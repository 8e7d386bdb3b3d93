"""Programs over much of Python's syntax and library, each with what data decide in all places: as plain Python, in few recordings."""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import itertools
import math
import operator
from collections import ChainMap, OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

from flow.one_tape import POINTS, recordings


@dataclasses.dataclass(order=True)
class Item:
    size: float
    name: str = "a"
    tags: list = dataclasses.field(default_factory=list, compare=False)


@dataclasses.dataclass(frozen=True)
class Key:
    k: int
    n: str = "z"


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2


class Flag(enum.Flag):
    A = 1
    B = 2


Pair = namedtuple("Pair", "a b", defaults=[2.0])


TOTAL = 0.0


def data_classes(x):
    i, j = (Item(x[0]), Item(x[1], "b" if x[2] > 0 else "a"))
    if x[3] > 0:
        i.tags.append(x[3])
        j = dataclasses.replace(j, size=x[4])
    big = max(i, j)
    l = sorted([i, j, Item(0.5)])
    return (
        big.size
        + len(big.name)
        + sum(i.tags)
        + (i < j) * x[5]
        + (i == j)
        + l[1].size * 2
        + len(dataclasses.astuple(j))
        + dataclasses.asdict(i)["size"]
    )


def named_tuples(x):
    p = Pair(x[0]) if x[1] > 0 else Pair(x[2], x[3])
    q = p._replace(b=x[4]) if x[5] > 0 else p
    a, b = q
    return a * b + p[1] + len(q) + q._asdict()["a"] + (p == q) + sum(q) + isinstance(q, tuple) + p.b * (q > p)


def enums(x):
    c = Colour.RED if x[0] > 0 else Colour.BLUE
    d = Colour(1 if x[1] > 0 else 2)
    f = Flag.A | (Flag.B if x[2] > 0 else Flag.A)
    return (
        c * x[1]
        + (c is d) * 2
        + (c == Colour.RED) * 3
        + len(c.name)
        + c.value * x[3]
        + (Flag.B in f) * x[4]
        + {Colour.RED: 1.0, Colour.BLUE: x[5]}[c]
        + (c < Colour.BLUE)
    )


class Gear(enum.IntEnum):
    ONE = 1
    TWO = 2
    THREE = 3

    @classmethod
    def _missing_(cls, value):
        MISSED.append(value)
        return cls.THREE


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


MISSED = []


def members_by_value(x):
    c, level, s = Colour.RED, Level.LOW, 0.0
    for v in x:
        if v > 0 and c < Colour.BLUE:
            c = Colour(c + 1)
        elif v < 0 and c > Colour.RED:
            c = Colour(c - 1)
        if v > 1:
            level = Level("high")
        elif v < -0.5:
            level = Level("low")
        s += v * c + (level is Level.HIGH)
    return s


def members_by_a_method(x):
    """A method of the program's own may do anything."""
    MISSED.clear()
    g = Gear.ONE
    for v in x[:4]:
        if v > 0:
            g = Gear(g + 1)
    return g * x[4] + len(MISSED)


def frozen_keys(x):
    k = Key(1 if x[0] > 0 else 2)
    d = {Key(1): x[1], Key(2): x[2]}
    d[k] += 1.0
    return d[k] * 2 + d[Key(1)] + (k == Key(2)) + len({k, Key(1)})


def strings(x):
    s = "abc" if x[0] > 0 else "hello world"
    t = s.upper() + ("!" if x[1] > 0 else "")
    w = s.split()
    c = s.replace("l", "").find("o")
    return (
        len(t) * x[0]
        + len(w)
        + c
        + s.count("l") * x[1]
        + ("lo" in s) * x[2]
        + (s < "b")
        + len(s[::2])
        + ord(s[0]) * 0.01
        + len("-".join(w))
        + s.startswith("he") * x[3]
        + len(s * 2)
        + (s[1:3] == "bc") * x[4]
        + int("12" if x[5] > 0 else "7")
        + len(f"{s:>12}|{len(t)}")
    )


def itertools_all(x):
    a = [v for v in x[:4] if v > 0]
    b = [1.0, x[5]]
    t = 0.0
    for p in (
        itertools.product(a, b),
        itertools.zip_longest(a, b, fillvalue=0.3),
        zip(a, itertools.count(2)),
        zip(a, itertools.cycle(b)),
        itertools.compress(x[:3], [v > 0 for v in x[3:]]),
        itertools.repeat(x[0], len(a)),
        zip(*itertools.tee(iter(a))),
        itertools.combinations_with_replacement(b, 2),
        itertools.chain(a, *[[v] for v in a]),
    ):
        for q in p:
            for v in q if isinstance(q, tuple) else (q,):
                t = 0.8 * t + v
    return t


def comprehensions(x):
    m = [[v * w for w in x[:3] if w > v] for v in x[3:]]
    d = {k: [v for v in r if v > 0] for k, r in enumerate(m) if r}
    s = {len(r) for r in m}
    g = sum(v for r in m for v in r if v > 0)
    return (
        sum(map(len, m)) * x[0]
        + sum(len(r) for r in d.values())
        + len(s)
        + g
        + sum((k * len(r) for k, r in d.items()))
        + max((max(r) for r in m if r), default=x[1])
    )


def globals_by_data(x):
    global TOTAL
    TOTAL = 0.0

    def add(v):
        global TOTAL
        if v > 0:
            TOTAL += v

    for v in x:
        add(v)
    r, TOTAL = (TOTAL, 0.0)
    return r


def sends(x):

    def acc():
        t, n = (0.0, 0)
        try:
            while True:
                v = yield t
                if v is None:
                    v = 0.25
                t += v if v > 0 else 0.5 * v
                n += 1
        finally:
            log.append(n)

    log = []
    g = acc()
    next(g)
    s = 0.0
    for v in x:
        s += g.send(v) if v < 1 else next(g)
    g.close()
    return s + sum(log)


def throws(x):

    def gen():
        t = 1.0
        while True:
            try:
                t = t * 0.5 + (yield t)
            except ValueError as e:
                t += len(e.args)

    g = gen()
    next(g)
    s = 0.0
    for v in x:
        s += g.send(v) if v > 0 else g.throw(ValueError("a", v))
    return s


def loops_with_else(x):
    s = 0.0
    for i, v in enumerate(x):
        for w in x[i + 1 :]:
            if w > v:
                break
            s += w
        else:
            s += 10
        k = 0
        while k < 3:
            k += 1
            if v * k > 1:
                continue
            if v * k < -2:
                break
            s += 0.1
        else:
            s -= 1
        if s > 40:
            break
    else:
        s *= 2
    return s


def finally_everywhere(x):
    log = []

    def f(v):
        for k in range(3):
            try:
                if v > k:
                    continue
                if v < -1:
                    return k + 10.0
                if v < -k:
                    break
                log.append(k)
            finally:
                log.append(0.5)
        else:
            return 1.0
        return 2.0

    return sum(f(v) for v in x) + sum(((k + 1) * v for k, v in enumerate(log)))


def recursion(x):

    def tree(k):
        return (tree(2 * k + 1), x[k], tree(2 * k + 2)) if k < 6 else None

    def insert(t, v):
        return (None, v, None) if t is None else (insert(t[0], v), t[1], t[2]) if v < t[1] else (t[0], t[1], insert(t[2], v))

    def depth(t):
        return 0 if t is None else 1 + max(depth(t[0]), depth(t[2]))

    def walk(t):
        return [] if t is None else walk(t[0]) + [t[1]] + walk(t[2])

    t = None
    for v in x[:4]:
        t = insert(t, v)
    return depth(t) * x[5] + sum(((k + 1) * v for k, v in enumerate(walk(t)))) + len(walk(tree(0)))


def caches(x):

    @functools.cache
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    return fib(7 if x[0] > 0 else 4) * x[1] + fib(int(abs(x[2]) * 3)) * x[3]


def getters(x):
    rows = [(1, x[0]), (2, x[1]), (1, x[2])] if x[3] > 0 else [(3, x[4])]
    return (
        sum(map(operator.itemgetter(1), rows))
        + max(rows, key=operator.itemgetter(1))[0]
        + sum(operator.itemgetter(0, -1)(rows[0]))
        + len(list(filter(operator.truth, rows)))
        + functools.reduce(operator.add, [r[1] for r in rows])
        + operator.methodcaller("count", rows[0])(rows)
    )


def mappings(x):
    d = defaultdict(lambda: 2.0)
    o = OrderedDict(a=x[0], b=x[1], c=x[2])
    m = ChainMap({"a": x[3]} if x[4] > 0 else {}, {"a": x[5], "b": 1.0})
    for n, v in zip("abc", x):
        if v > 0:
            d[n] += v
            o.move_to_end(n)
        else:
            o.pop(n)
    o["d"] = d["b"] if "b" in d else d["q"]
    s = sum(((k + 1) * v for k, v in enumerate(o.values()))) + len(d) + m["a"] + len(m)
    if o:
        n, v = o.popitem()
        s += v + ord(n)
    return s + len(o) + d.get("z", 0.5) + sum(d.values()) + (list(o) < ["b"]) + (dict(o) == o)


def deleted_names(x):
    v = x[0]
    if x[1] > 0:
        del v
    try:
        s = v
    except UnboundLocalError:
        s = x[2]
    w = [x[3]]
    if x[4] > 0:
        w.clear()
    try:
        s += w[0]
    except IndexError:
        s += 5
    try:
        s += {"a": 1}["a" if x[5] > 0 else "b"]
    except KeyError as e:
        s += len(e.args[0])
    return s


def copies(x):
    a = [[x[0]], [x[1]]]
    b = copy.copy(a) if x[2] > 0 else copy.deepcopy(a)
    b[0].append(x[3])
    b.append([1.0])
    c = a[:] if x[4] > 0 else list(map(list, a))
    c[1] += [x[5]]
    return sum((sum(r) * (k + 1) for k, r in enumerate(a))) + sum(map(len, b)) + sum(map(len, c)) + (a is b) + (a[0] is b[0])


def numbers(x):
    n = [int(v * 3) for v in x]
    f = [float(v) for v in n]
    return (
        sum((divmod(a, b if b else 1)[0] * v for a, b, v in zip(n, n[1:], x)))
        + sum(a % 3 + a // 2 + abs(a) + -a + (a & 3) for a in n[:1])
        + round(x[0], 1)
        + round(2.5 * n[0])
        + math.gcd(n[0], 6)
        + math.isqrt(abs(n[1]))
        + math.comb(5, abs(n[2]) % 5)
        + min(f) * max(n)
        + (n[0] == f[0])
        + (n[0] or x[1])
        + (f[1] and x[2])
        + math.copysign(1.0, x[3])
        + math.hypot(x[0], f[2])
        + n[3].bit_length()
        + f[4].is_integer()
        + complex(n[0], 1).real
        + bool(n[1])
        + int(n[2] > n[3])
        + math.floor(f[5])
        + pow(n[0], 2, 7)
    )


def starred(x):

    def f(a, b=1.0, *c, d=2.0, **e):
        return a + 2 * b + 3 * sum(c) + 4 * d + len(e) + sum(e.values())

    args = [x[0]] if x[1] > 0 else [x[0], x[2], x[3]]
    named = {"d": x[4]} if x[5] > 0 else {"q": 1.0}
    w = [v for v in x if v > 0]
    return (
        f(*args, **named)
        + f(1.0, *w)
        + f(*w, 1.0, **{"d": 3.0})
        + sum([*args, *w, *"ab"[:0]])
        + len({**named, "z": 1})
        + len({*map(int, w), 1})
    )


def sub_list(x):

    class L(list):
        def total(self):
            return sum(self)

        def append(self, v):
            super().append(2 * v)

        def __getitem__(self, k):
            return list.__getitem__(self, k) + 1 if isinstance(k, int) else list.__getitem__(self, k)

    a = L([x[0]])
    for v in x:
        if v > 0:
            a.append(v)
        if v < -1:
            a += [v]
    return a.total() + a[0] + len(a) + a[-1] + sum(a[:2])


def sub_dict(x):

    class D(dict):
        def __missing__(self, k):
            self[k] = k * 2.0
            return 0.5

        def __setitem__(self, k, v):
            super().__setitem__(k, v + 1)

    d = D()
    for k, v in enumerate(x):
        if v > 0:
            d[k % 3] = v
        else:
            d[k % 2]
    return sum(d.values()) + len(d) + d[2] + d.get(7, 0.25) + sum(d)


def arrays(x):
    a = np.zeros(4)
    b = np.asarray(x) * 2
    m = np.arange(6.0).reshape(2, 3)
    for k, v in enumerate(x):
        if v > 0:
            a[k % 4] += v
            b[k] = 0
        elif v < -1:
            a[:2] = v
            m[k % 2] *= v
        else:
            a[1:3] -= b[k : k + 2].sum()
            m[:, k % 3] = x[:2]
    c = a if x[0] > 0 else b[:4]
    c[0] = 9.0
    return a.sum() + (b * b).sum() + (m * m).sum() + c[0] + a[a > 0].sum() * 0 + np.where(a > 1, a, 2).sum() + m.T[0].max()


def whiles(x):
    n, s, log = (0, abs(x[0]) + 0.1, [])
    while s < 5 and n < 8:
        s *= 1.5 if x[n % 6] > 0 else 1.2
        if s > 4.5:
            log.append(s)
            break
        if n == 3:
            n += 2
            continue
        n += 1
        log.append(n)
    else:
        n += 10
    return n * x[1] + sum(log) + len(log)


def operators_of_classes(x):

    class V:
        def __init__(self, *v):
            self.v = v

        def __add__(self, o):
            return V(*(a + b for a, b in zip(self.v, o.v)))

        def __radd__(self, o):
            return self if o == 0 else NotImplemented

        def __mul__(self, k):
            return V(*(a * k for a in self.v))

        __rmul__ = __mul__

        def __iadd__(self, o):
            self.v = tuple((a + b for a, b in zip(self.v, o.v)))
            return self

        def __eq__(self, o):
            return self.v == o.v

        def __hash__(self):
            return 1

        def __lt__(self, o):
            return abs(self) < abs(o)

        def __abs__(self):
            return sum(a * a for a in self.v)

        def __bool__(self):
            return any(a > 0 for a in self.v)

        def __len__(self):
            return len(self.v)

        def __getitem__(self, k):
            return self.v[k]

        def __contains__(self, a):
            return a in self.v

        def __call__(self, a):
            return self.v[0] * a

        def __neg__(self):
            return V(*(-a for a in self.v))

        def __enter__(self):
            return self

        def __exit__(self, *e):
            self.v += (1.0,)

    a, b = (V(x[0], x[1]), V(x[2], x[3]))
    c = a + b if x[4] > 0 else 2 * a
    if x[5] > 0:
        c += b
    with a if x[2] > 0 else b as d:
        s = d(2.0)
    return (
        s
        + abs(sum([a, b]))
        + (a < b)
        + bool(c) * x[0]
        + max(a, b)[0]
        + len(a) * x[1]
        + (x[0] in a)
        + sum(sorted([a, c, b], key=abs)[0])
        + (-c)[1]
        + (a == c)
        + sum(v for v in b)
        + [*c][-1]
        + (not a)
    )


def exceptions_all(x):

    class E(Exception):
        def __init__(self, code, *more):
            super().__init__(code, *more)
            self.code = code

    class F(E):
        pass

    def risky(v):
        if v > 1:
            raise F(v, "x")
        if v > 0:
            raise E(2)
        if v < -1:
            [][3]
        if v < -0.5:
            {}["k"]
        return v

    s, log = (0.0, [])
    for k, v in enumerate(x):
        try:
            try:
                s += risky(v)
            except F as e:
                s += e.code
                raise
            except (IndexError, KeyError) as e:
                log.append(type(e).__name__)
            else:
                s += 0.5
            finally:
                log.append(k)
        except E as e:
            s += e.args[0] * len(e.args)
            log.append(e.__context__ is None)
    return s + sum(len(str(v)) for v in log) + len(log)


def generators_all(x):

    def evens(items):
        for k, v in enumerate(items):
            if k % 2:
                continue
            if v < -1.5:
                return "stopped"
            yield v

    def chained():
        r = yield from evens(x)
        yield (5.0 if r else 1.0)

    g = chained()
    first = next(g, 0.3)
    rest = list(g)
    p = (v * w for v in evens(x) for w in (1, 2) if v > 0)
    total = next(p, 0.7) + sum(p)
    m = map(abs, filter(lambda v: v > 0, x))
    z = dict(zip("abc", m))
    return (
        first
        + sum(((k + 1) * v for k, v in enumerate(rest)))
        + total
        + sum(z.values())
        + len(z)
        + any(v > 1 for v in evens(x))
        + max(evens(x), default=0.0)
        + sum(1 for _ in m)
    )


def matching_classes(x):

    def kind(v):
        match v:
            case int() | bool():
                return 1.0
            case float(w) if w > 1:
                return w
            case float():
                return 2.0
            case str() as s:
                return len(s)
            case [int(a), *_] | [_, int(a)]:
                return a
            case {"k": w}:
                return w
            case None:
                return 4.0
            case _:
                return 5.0

    values = [
        1 if x[0] > 0 else "ab",
        x[1],
        [int(x[2]), 2] if x[2] > 0 else (x[3], 7),
        {"k": x[4]} if x[4] > 0 else None,
        x[5] if x[0] > 1 else (),
        float(x[3]),
    ]
    return sum(((k + 1) * kind(v) for k, v in enumerate(values)))


def type_questions(x):
    v = 1 if x[0] > 0 else 2.5 if x[1] > 0 else "s" if x[2] > 0 else None
    return (
        isinstance(v, int) * x[3]
        + isinstance(v, (float, str)) * 2
        + (type(v) is str) * 3
        + (v is None) * x[4]
        + callable(v)
        + isinstance(v, type(None)) * 5
        + (type(v) in (int, float)) * 6
        + len(type(v).__name__)
        + issubclass(type(v), float) * 7
        + (type(v) is int) * 8
        + hasattr(v, "real") * x[5]
        + len(repr(v))
        + bool(v) * 9
    )


def nested_data(x):
    state = {"pos": [x[0], x[1]], "log": {"n": 0, "seen": []}, "best": None}
    for k, v in enumerate(x):
        state["pos"][k % 2] += v
        if state["pos"][0] > state["pos"][1]:
            state["log"]["n"] += 1
            state["log"]["seen"].append(k)
        if state["best"] is None or v > state["best"][0]:
            state["best"] = (v, k)
        if len(state["log"]["seen"]) > 2:
            state["log"]["seen"] = state["log"]["seen"][1:]
            state["pos"] = [p * 0.5 for p in state["pos"]]
    return sum(state["pos"]) + state["log"]["n"] * x[2] + sum(state["log"]["seen"]) + state["best"][0] * state["best"][1]


# With how many recordings they take: more than one where guards decide something.
PROGRAMS = {
    sub_list: 1,
    sub_dict: 1,
    arrays: 8,
    whiles: 1,
    operators_of_classes: 4,
    exceptions_all: 1,
    generators_all: 10,
    matching_classes: 2,
    type_questions: 4,
    nested_data: 1,
    data_classes: 8,
    named_tuples: 1,
    enums: 1,
    members_by_value: 1,
    members_by_a_method: 12,
    frozen_keys: 2,
    strings: 1,
    itertools_all: 10,
    comprehensions: 1,
    globals_by_data: 1,
    sends: 7,
    throws: 10,
    loops_with_else: 1,
    finally_everywhere: 1,
    recursion: 1,
    caches: 8,
    getters: 2,
    mappings: 6,
    deleted_names: 4,
    copies: 1,
    numbers: 12,
    starred: 4,
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_are_pythons_in_few_recordings(program):
    assert recordings(program, POINTS[:12]) <= PROGRAMS[program]
