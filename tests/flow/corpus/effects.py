"""Operands, functions and arrays with effects that no syntax shows, and numbers whose type matters."""

from __future__ import annotations

import collections
import functools

import numpy as np

from tests.random_programs.branching import function_of

LIST = [0.3, 0.5, 0.7]
K = 3


class Multiplied:
    """Counts its uses in every operator and conversion."""

    def __init__(self):
        self.uses = 0

    def used(self, *_):
        self.uses += 1
        return 0.1 * self.uses

    __mul__ = __rmul__ = __add__ = __radd__ = __float__ = __abs__ = used

    def __len__(self):
        self.used()
        return self.uses

    def __iter__(self):
        return iter([self.used()])

    def __bool__(self):
        self.used()
        return self.uses % 2 == 0

    def __lt__(self, other):
        return bool(self)

    def __index__(self):
        self.used()
        return self.uses % 3


class Float(float):
    """A float that counts how often it is added."""

    def __init__(self, value):
        self.uses = 0

    def __radd__(self, other):
        self.uses += 1
        return other + 0.3 * self.uses


class Pair(collections.namedtuple("Pair", "a b")):
    made = 0

    def __new__(cls, a):
        Pair.made += 1
        return super().__new__(cls, a, Pair.made)


class LikeNumpy:
    """Looks like a function of NumPy's, and counts."""

    def __init__(self):
        functools.update_wrapper(self, np.mean)
        self.uses = 0

    def __call__(self, v):
        self.uses += 1
        return 1.0 * self.uses


# What an iteration adds, by an object that counts its uses.
EFFECTS = [
    (Multiplied, lambda v, o: v * o), (Multiplied, lambda v, o: 0.1 * len(o)), (Multiplied, lambda v, o: abs(o)),
    (Multiplied, lambda v, o: float(o)), (Multiplied, lambda v, o: sum([w for w in o])), (Multiplied, lambda v, o: sum(o)),  # noqa: C416
    (Multiplied, lambda v, o: 1.0 if o else 2.0), (Multiplied, lambda v, o: 1.0 if not o else 2.0), (Multiplied, lambda v, o: 1.0 if o < 3 else 2.0),
    (Multiplied, lambda v, o: LIST[o]), (Multiplied, lambda v, o: sum([o, 0.1])), (Multiplied, lambda v, o: 1.0 if o and True else 2.0),
    (lambda: Float(2.0), lambda v, o: 0.3 + o),
    (lambda: np.frompyfunc(LikeNumpy(), 1, 1), lambda v, o: 0.2 * o(1.0)), (lambda: np.vectorize(LikeNumpy()), lambda v, o: 0.2 * o(1.0)),
    (LikeNumpy, lambda v, o: 0.2 * o(1.0)), (lambda: Pair, lambda v, o: 0.2 * o(v).b), (lambda: iter([0.1, 1.0, 0.3]), lambda v, o: sum([w for w in o]) + 0.1),  # noqa: C416
]  # fmt: skip


def in_a_while(make, added):
    def f(x):
        Pair.made = 0
        o, v = make(), abs(x[0]) + 0.1
        while v < 4.0:
            v = v + added(v, o)
        return v * x[1]

    return f


def in_a_branch(make, added):
    def f(x):
        Pair.made = 0
        o, s = make(), 0.0
        for v in x:
            if v > 0:
                s = s + added(v, o)
        return s * x[1]

    return f


def first_is_written(y):
    y[0] += 1.0


def adds_in_place(y):
    y += 1.0


def sorts(y):
    y.sort()


def writes_by_out(y):
    np.multiply(y, 2.0, out=y)


WRITES = [first_is_written, adds_in_place, sorts, writes_by_out]


def grown_then_written(x, write):
    y, t = x * 1.0, abs(x[0])
    z = y
    while t < 1.0:
        y = y * 2.0
        t = t + 0.3
    write(y)
    return np.sum(z**2) + t


def swapped_then_written(x, write):
    y, z, t = x * 1.0, x * 2.0, abs(x[0])
    a = z
    while t < 1.0:
        y, z = z, y
        t = t + 0.3
    write(y)
    return np.sum(z**2) + 2 * np.sum(a**2) + t


def bound_then_written(x, write):
    y, z, t = x * 1.0, x * 2.0, abs(x[0])
    while t < 1.0:
        z = y
        t = t + 0.3
    write(y)
    return np.sum(z**2) + 2 * np.sum(y**2) + t


def an_array_without_axes(x, write):
    a = np.array(abs(x[0]))
    b = a
    while a < 3:
        a += 1.0
    return b * x[1]


def an_array_without_axes_in_a_branch(x, write):
    a = np.array(abs(x[0]))
    b = a
    if a > 0.5:
        return x[0]
    while a < 3:
        a += 1.0
    return b * x[1]


def same_object(x, write):
    best = first = None
    for v in x:
        if v > 0.3:
            if first is None:
                first = v
            best = v
    return x[0] if first is best else x[1] * 2


def are_one(a, b):
    if a > b:
        return 2.0
    return 1.0 if a is b else 0.0


def same_object_in_a_helper(x, write):
    a = b = x[0]
    if x[1] > 0:
        b = a
    return are_one(a, b) * x[2]


def a_view_without_axes(x, write):
    y = x * 1.0
    a = y[2, ...]
    while a < 3:
        a += 1.0
    return y[2] * x[1]


def written_by_a_third_argument(x, write):
    y, v = x * 1.0, abs(x[0])
    while v < 3.0:
        z = np.clip(y, 0, 1, y)
        v = v + 0.5 + 0 * np.sum(z)
    return np.sum(y**2)


ALIASES = [
    grown_then_written,
    swapped_then_written,
    bound_then_written,
    an_array_without_axes,
    an_array_without_axes_in_a_branch,
    same_object,
    same_object_in_a_helper,
    a_view_without_axes,
    written_by_a_third_argument,
]


def fibonacci(x):
    a, b = (1, 1)
    for v in [*x[:2]] * 45:
        if v > -100:
            a, b = (b, a + b)
    return x[0] * ((b - a - 2880067194370816119) * 1.0)


def minus_zero2(x):
    n = 0
    if x[0] > 0:
        n = 1
    return np.arctan2(n * -1, -1.0) * x[1]


def np_floor_divide(x):
    n = 0
    if x[0] > 0:
        n = 3
    return x[1] * np.floor_divide(7, n)


def np_remainder(x):
    n = 0
    if x[0] > 0:
        n = 3
    return x[1] * np.remainder(7, n)


def np_square(x):
    n = 2000000011
    if x[0] > 0:
        n = 2000000012
    return x[1] * (np.multiply(np.square(n), n) * 1e-30)


def np_arange(x):
    n = 2
    if x[0] > 0:
        n = 3
    return x[1] * np.sum(np.arange(n) // 2)


def int8_array(x):
    n = 100
    if x[0] > 0:
        n = 101
    return x[1] * np.sum(n * np.array([1, 2], np.int8))


def augment_list(x):
    n, counts = (2, [0, 1])
    if x[0] > 0:
        n = 3
    counts[0] += n
    return x[1] * (counts[0] // 2) + x[2] * (7 // counts[0]) + x[3] * 2 ** (-counts[0])


def bool_not_or(x):
    y = False
    if x[0] > 0:
        y = not x[1] > 0 or x[2] > 0
    return x[3] * (y + y)


def bool_plain_or(x):
    if x[0] > 0:
        y = x[1] > 0 or K > 0
    else:
        y = x[1] > 1 or K > 0
    return x[3] * (y + y)


def hz(v):
    if v > 0:
        return 1.0
    return 0.0


def halves_of_a_choice(x):
    c = np.bool_(True)
    if x[0] > 0:
        c = np.bool_(False)
    return x[1] * np.exp(c)


def halves_of_an_array(x):
    c, s = np.array([True, False]), x[1]
    if x[0] > 0:
        s = np.sum(np.cumsum(x))
        c = np.array([True, True])
    return s * np.sum(np.exp(c))


IN_PLACES = {
    f"{place.__name__}.{k}": place(*effect) for place in (in_a_while, in_a_branch) for k, effect in enumerate(EFFECTS)
}
WRITTEN = {
    f"{f.__name__}.{w.__name__}": functools.partial(f, write=w)
    for f in ALIASES
    if f.__name__.endswith("then_written")
    for w in WRITES
}


# Effects of the user's classes


class Counting(list):
    """A list that counts how often it is asked for an entry."""

    asked = 0

    def __getitem__(self, k):
        self.asked += 1
        return 0.1 * self.asked

    @property
    def gain(self):
        return self[0]

    def method(self, v):
        return self[0] * v

    def __call__(self, v):
        return self[0] * v


def while_of(added):
    """A loop that data ends; an iteration adds `added`, an expression of v, o, vectorized and box."""
    return function_of(f"""
import numpy as np
from tests.flow.corpus.effects import Counting, added
def f(x):
    v, o = abs(x[0]) + 0.1, Counting()
    vectorized, box = np.vectorize(o.method), ([0.0],)
    while v < 3.0:
        v = v + {added} + 0.5
    return v * x[1]
""")


def iterates(x):
    v, items = abs(x[0]) + 0.1, iter([0.1, 0.9, 0.2, 0.3])
    while v < 3.0:
        for w in items:
            v = v + w
            break
        v = v + 0.5
    return v


def inverse(v):
    return 1.0 / v


def divides_by_what_a_helper_gives(x):
    return sum(map(inverse, [hz(x[0])]))  # called by map


def added(box):
    box[0][0] += 0.1
    return box[0][0]


WHILES = {added: while_of(added) for added in ("o(0.1)", "vectorized(0.1)", "o.method(0.1)", "added(box)")}


# What a careless join of both sides gets wrong.
TRAPS = [
    fibonacci, minus_zero2, np_floor_divide, np_remainder, np_square, np_arange, int8_array, augment_list, bool_not_or, bool_plain_or,
    halves_of_a_choice, halves_of_an_array, iterates, divides_by_what_a_helper_gives,
]  # fmt: skip
CASES = {
    **IN_PLACES,
    **WRITTEN,
    **WHILES,
}  # fmt: skip
